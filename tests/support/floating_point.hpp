// The floating-point environment of this thread.
#pragma once

#include <cfenv>
#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace heed::test {

// Control bits, without the exception flags, which any operation may raise.
inline std::uint32_t control_word() {
#if defined(__x86_64__)
  std::uint16_t x87 = 0;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  return (_mm_getcsr() & ~0x3Fu) | std::uint32_t{x87} << 16;
#else
  return static_cast<std::uint32_t>(std::fegetround());
#endif
}

// What a caller may have set.
struct FloatingPoint {
  const char* name;
  bool flush_to_zero;        // subnormal results
  bool subnormals_are_zero;  // operands
  int rounding;
};
inline constexpr FloatingPoint kDefault{"default", false, false, FE_TONEAREST};
inline constexpr FloatingPoint kFlushing[] = {
    {"FTZ", true, false, FE_TONEAREST}, {"DAZ", false, true, FE_TONEAREST}, {"FTZ and DAZ", true, true, FE_TONEAREST}};
inline constexpr FloatingPoint kRounding[] = {{"rounding down", false, false, FE_DOWNWARD},
                                              {"rounding up", false, false, FE_UPWARD},
                                              {"rounding to zero", false, false, FE_TOWARDZERO},
                                              {"rounding down, FTZ and DAZ", true, true, FE_DOWNWARD}};

// This thread's setting while this lives; all exceptions masked, no flag raised.
class Setting {
 public:
  explicit Setting(const FloatingPoint& setting) {
    std::feholdexcept(&before_);
    std::fesetround(setting.rounding);
#if defined(__x86_64__)
    const unsigned word = _mm_getcsr() & ~0x8040u;
    _mm_setcsr(word | (setting.flush_to_zero ? 0x8000u : 0) | (setting.subnormals_are_zero ? 0x40u : 0));
#endif
  }
  ~Setting() { std::fesetenv(&before_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  std::fenv_t before_;
};

// Subnormals count as zero while this lives, as in a program that was linked with -ffast-math.
class FlushToZero : Setting {
 public:
  FlushToZero() : Setting(kFlushing[2]) {}
};

}  // namespace heed::test
