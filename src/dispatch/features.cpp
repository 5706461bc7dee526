#include "dispatch/features.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace heed::dispatch {
namespace {

constexpr bool bit(std::uint64_t word, int index) { return ((word >> index) & 1u) != 0; }

}  // namespace

// Bit positions: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, CPUID; volume 1, 13.3 (XCR0).
std::uint32_t features_of(const X86& cpu) {
  const bool osxsave = cpu.max_leaf >= 1 && bit(cpu.leaf1_ecx, 27);  // else XGETBV itself is an invalid instruction
  const std::uint64_t xcr0 = osxsave ? cpu.xgetbv() : 0;
  const bool ymm = bit(xcr0, 1) && bit(xcr0, 2) && bit(cpu.leaf1_ecx, 28);  // the system saves the upper halves
  const std::uint32_t leaf7 = cpu.max_leaf >= 7 ? cpu.leaf7_ebx : 0;        // below 7 the leaf holds something else
  const bool zmm = ymm && bit(xcr0, 5) && bit(xcr0, 6) && bit(xcr0, 7);  // and masks, upper halves and upper registers
  std::uint32_t found = 0;
  if (ymm && bit(leaf7, 5)) found |= avx2;
  if (ymm && bit(cpu.leaf1_ecx, 12)) found |= fma;
  if (ymm && bit(cpu.leaf1_ecx, 29)) found |= f16c;
  if (zmm && bit(leaf7, 16) && bit(leaf7, 17) && bit(leaf7, 28) && bit(leaf7, 30) && bit(leaf7, 31)) found |= avx512;
  return found;
}

#if defined(__x86_64__)
std::uint32_t features() {
  X86 cpu;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(0, &eax, &ebx, &ecx, &edx)) cpu.max_leaf = eax;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx)) cpu.leaf1_ecx = ecx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) cpu.leaf7_ebx = ebx;
  cpu.xgetbv = [] {
    std::uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return std::uint64_t{high} << 32 | low;
  };
  return features_of(cpu);
}
#else
std::uint32_t features() { return 0; }
#endif

}  // namespace heed::dispatch
