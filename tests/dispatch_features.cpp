// Detection, fed with invented processors.
#include <catch2/catch_test_macros.hpp>

#include "dispatch/features.hpp"

using namespace heed::dispatch;

namespace {

constexpr std::uint32_t kFma = 1u << 12, kOsxsave = 1u << 27, kAvx = 1u << 28, kF16c = 1u << 29;  // leaf 1, ecx
constexpr std::uint32_t kAvx2 = 1u << 5;                                                          // leaf 7, ebx
constexpr std::uint32_t kAvx512 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;           // F, DQ, CD, BW, VL
constexpr std::uint32_t kYmm = avx2 | fma | f16c, kAll = kYmm | avx512;

int xcr0_reads = 0;
template <std::uint64_t Value>
std::uint64_t xcr0() {
  ++xcr0_reads;
  return Value;
}

X86 full() { return {7, kFma | kOsxsave | kAvx | kF16c, kAvx2 | kAvx512, xcr0<0xE7>}; }

}  // namespace

TEST_CASE("A processor with everything has everything") { CHECK(features_of(full()) == kAll); }

TEST_CASE("AVX-512 bits without the system's support leave the AVX2 level") {
  X86 cpu = full();
  cpu.xgetbv = xcr0<0x7>;
  CHECK(features_of(cpu) == kYmm);
}

TEST_CASE("AVX-512 counts with all of its five parts") {
  for (int bit = 0; bit < 32; ++bit) {
    if ((kAvx512 >> bit & 1u) == 0) continue;
    X86 cpu = full();
    cpu.leaf7_ebx &= ~(1u << bit);
    INFO("without bit " << bit);
    CHECK(features_of(cpu) == kYmm);
  }
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
  CHECK(features_of(cpu) == (avx2 | f16c | avx512));
  cpu = full();
  cpu.leaf1_ecx &= ~kF16c;
  CHECK(features_of(cpu) == (avx2 | fma | avx512));
  cpu = full();
  cpu.leaf7_ebx &= ~kAvx2;
  CHECK(features_of(cpu) == (fma | f16c | avx512));
  cpu = full();
  cpu.leaf1_ecx &= ~kAvx;
  CHECK(features_of(cpu) == 0);
}

namespace {

// What each state of XCR0 leaves of a processor that has everything: x87, SSE, AVX, AVX-512 (opmask, upper halves,
// upper registers), and one that heed doesn't use.
struct Saved {
  const char* what;
  std::uint64_t (*xgetbv)();
  std::uint32_t left;
};
const Saved kSaved[] = {{"nothing", xcr0<0x0>, 0},
                        {"x87", xcr0<0x1>, 0},
                        {"x87 and SSE", xcr0<0x3>, 0},
                        {"x87 and AVX without SSE", xcr0<0x5>, 0},
                        {"AVX only", xcr0<0x4>, 0},
                        {"SSE and AVX", xcr0<0x6>, kYmm},
                        {"x87, SSE and AVX", xcr0<0x7>, kYmm},
                        {"AVX-512 without AVX", xcr0<0xE3>, 0},
                        {"AVX-512 partly enabled: opmask", xcr0<0x27>, kYmm},
                        {"AVX-512 partly enabled: upper halves", xcr0<0x47>, kYmm},
                        {"AVX-512 partly enabled: no upper registers", xcr0<0x67>, kYmm},
                        {"AVX-512 partly enabled: no upper halves", xcr0<0xA7>, kYmm},
                        {"AVX-512 partly enabled: no opmask", xcr0<0xC7>, kYmm},
                        {"AVX-512", xcr0<0xE7>, kAll},
                        {"all but SSE and AVX", xcr0<~std::uint64_t{6}>, 0},
                        {"AVX-512 in the wrong half of the word", xcr0<std::uint64_t{0xE0} << 32 | 0x7>, kYmm},
                        {"AVX in the wrong half of the word", xcr0<std::uint64_t{6} << 32>, 0},
                        {"all", xcr0<~std::uint64_t{0}>, kAll}};

}  // namespace

TEST_CASE("Without the system's part of it no feature counts, and others' parts change nothing") {
  for (const Saved& saved : kSaved) {
    for (const std::uint32_t bits : {0u, kAvx512, 1u << 16}) {  // none, whole, F without BW and VL
      INFO(saved.what);
      X86 cpu = full();
      cpu.leaf7_ebx = kAvx2 | bits;
      cpu.xgetbv = saved.xgetbv;
      CHECK(features_of(cpu) == (bits == kAvx512 ? saved.left : saved.left & ~std::uint32_t{avx512}));
    }
  }
}

// A hypervisor may hide any of the bits, whatever processor there is.
TEST_CASE("Of any set of bits, a feature counts exactly if it and all that it stands on are there") {
  const std::uint32_t bits[] = {kFma, kOsxsave, kAvx, kF16c};
  for (const std::uint32_t max_leaf : {0u, 1u, 6u, 7u, 0x1Fu}) {
    for (std::uint32_t set = 0; set < 32; ++set) {
      X86 cpu{max_leaf, 0, (set & 16) != 0 ? kAvx2 : ~kAvx2, xcr0<0x7>};  // all others of leaf 7 where AVX2 is not
      for (int n = 0; n < 4; ++n) cpu.leaf1_ecx |= (set >> n & 1) != 0 ? bits[n] : 0;
      const bool ymm = max_leaf >= 1 && (cpu.leaf1_ecx & kOsxsave) != 0 && (cpu.leaf1_ecx & kAvx) != 0;
      const bool has_fma = ymm && (set & 1) != 0, has_f16c = ymm && (set & 8) != 0;
      const bool has_avx2 = ymm && (set & 16) != 0 && max_leaf >= 7;
      INFO("highest leaf " << max_leaf << ", bits " << set);
      CHECK(features_of(cpu) == ((has_avx2 ? avx2 : 0u) | (has_fma ? fma : 0u) | (has_f16c ? f16c : 0u)));
    }
  }
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
