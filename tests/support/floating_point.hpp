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
  return _mm_getcsr() & ~0x3Fu;
#else
  return static_cast<std::uint32_t>(std::fegetround());
#endif
}

// Subnormals count as zero while this lives, as in a program that was linked with -ffast-math.
class FlushToZero {
 public:
#if defined(__x86_64__)
  FlushToZero() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040u); }
  ~FlushToZero() { _mm_setcsr(before_); }
#else
  FlushToZero() : before_(0) {}
#endif
  FlushToZero(const FlushToZero&) = delete;
  FlushToZero& operator=(const FlushToZero&) = delete;

 private:
  unsigned before_;
};

}  // namespace heed::test
