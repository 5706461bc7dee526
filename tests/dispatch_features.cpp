// Detection, fed with invented processors.
#include <catch2/catch_test_macros.hpp>

#include "dispatch/features.hpp"

using namespace heed::dispatch;

namespace {

constexpr std::uint32_t kFma = 1u << 12, kOsxsave = 1u << 27, kAvx = 1u << 28, kF16c = 1u << 29;  // leaf 1, ecx
constexpr std::uint32_t kAvx2 = 1u << 5;                                                          // leaf 7, ebx
constexpr std::uint32_t kAvx512 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;           // F, DQ, CD, BW, VL
constexpr std::uint32_t kAll = avx2 | fma | f16c;

int xcr0_reads = 0;
template <std::uint64_t Value>
std::uint64_t xcr0() {
  ++xcr0_reads;
  return Value;
}

X86 full() { return {7, kFma | kOsxsave | kAvx | kF16c, kAvx2, xcr0<0x7>}; }

}  // namespace

TEST_CASE("A processor with everything has everything") { CHECK(features_of(full()) == kAll); }

TEST_CASE("AVX-512 bits without the system's support leave the AVX2 level") {
  X86 cpu = full();
  cpu.leaf7_ebx |= kAvx512;
  CHECK(features_of(cpu) == kAll);
}

TEST_CASE("A system that doesn't save the upper halves leaves the baseline") {
  X86 cpu = full();
  cpu.xgetbv = xcr0<0x3>;
  CHECK(features_of(cpu) == 0);
  cpu.xgetbv = xcr0<0x5>;
  CHECK(features_of(cpu) == 0);
  cpu.xgetbv = xcr0<0xE7>;
  CHECK(features_of(cpu) == kAll);
}

TEST_CASE("XGETBV is not executed where the system hasn't enabled it") {
  X86 cpu = full();
  cpu.leaf1_ecx &= ~kOsxsave;
  xcr0_reads = 0;
  CHECK(features_of(cpu) == 0);
  CHECK(xcr0_reads == 0);
  CHECK(features_of(full()) == kAll);
  CHECK(xcr0_reads == 1);
}

TEST_CASE("Each feature needs its own bit") {
  X86 cpu = full();
  cpu.leaf1_ecx &= ~kFma;
  CHECK(features_of(cpu) == (avx2 | f16c));
  cpu = full();
  cpu.leaf1_ecx &= ~kF16c;
  CHECK(features_of(cpu) == (avx2 | fma));
  cpu = full();
  cpu.leaf7_ebx &= ~kAvx2;
  CHECK(features_of(cpu) == (fma | f16c));
  cpu = full();
  cpu.leaf1_ecx &= ~kAvx;
  CHECK(features_of(cpu) == 0);
}

TEST_CASE("Leaves above the highest are not trusted") {
  X86 cpu = full();
  cpu.max_leaf = 6;
  CHECK(features_of(cpu) == (fma | f16c));
  cpu.max_leaf = 0;
  xcr0_reads = 0;
  CHECK(features_of(cpu) == 0);
  CHECK(xcr0_reads == 0);
  CHECK(features_of({}) == 0);
}
