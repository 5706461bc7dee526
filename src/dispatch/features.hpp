// What the processor and the operating system offer, as far as a row of the ISA table may need it.
#pragma once

#include <cstdint>

namespace heed::dispatch {

// One bit per feature that a row's `needs` may name.
enum Feature : std::uint32_t {
  avx2 = 1u << 0,
  fma = 1u << 1,
  f16c = 1u << 2,
  avx512 = 1u << 3,  // what every processor with AVX-512 has since Skylake: F, CD, DQ, BW, VL
};

// The registers that decide, so that detection is a pure function which tests feed with invented processors.
struct X86 {
  std::uint32_t max_leaf = 0;           // CPUID.0:EAX
  std::uint32_t leaf1_ecx = 0;          // CPUID.1:ECX
  std::uint32_t leaf7_ebx = 0;          // CPUID.7.0:EBX
  std::uint64_t (*xgetbv)() = nullptr;  // reads XCR0; called only when the operating system has enabled it
};

std::uint32_t features_of(const X86& cpu);

// Of the machine that this runs on.
std::uint32_t features();

}  // namespace heed::dispatch
