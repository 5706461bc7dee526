// Fetches what is needed next.
#pragma once

#include "kernels/kernels.hpp"
#include "simd/floats.hpp"

namespace heed::HEED_ROW {
namespace {

// The lines of an Ahead, evenly over a kernel's work, since more at once than the processor's queue of misses holds
// stop it; and in the order of their addresses: in that of their use, from key to key, a memory's page would be opened
// for each line.
class LinesAhead {
 public:
  // work: all that is going to be done, in whatever unit.
  HEED_INLINE LinesAhead(const Ahead& ahead, std::int64_t work) {
    if (ahead.rows <= 0 || work == 0) return;
    line_ = reinterpret_cast<std::uintptr_t>(ahead.data);
    if (ahead.pieces != nullptr) {
      piece_ = ahead.pieces + ahead.first / ahead.piece_rows;
      piece_rows_ = ahead.piece_rows;
      rows_here_ = piece_rows_ - ahead.first % piece_rows_;
      line_ = reinterpret_cast<std::uintptr_t>(*piece_) +
              static_cast<std::uintptr_t>(ahead.first % piece_rows_) * static_cast<std::uintptr_t>(ahead.stride);
    }
    bytes_ = static_cast<std::uintptr_t>(ahead.bytes);
    row_end_ = line_ + bytes_;
    to_next_row_ = static_cast<std::uintptr_t>(ahead.stride) - bytes_;
    left_ = ahead.rows * ((ahead.bytes + kLine - 1) / kLine);
    pace_ = left_ * kOne / work + 1;
  }

  // With 4 lanes the processor is an old one, and gets small code, as what emulates one. Anew each time: from when
  // nothing is left GCC 12 would use a second copy of the kernel's loop.
  HEED_INLINE bool any() const {
    if (HEED_X86_LANES < 8) return false;
    std::int64_t left = left_;
    asm volatile("" : "+r"(left));
    return left > 0;
  }

  // For a loop whose steps do so much work each, and that calls fetch() after each steps() of them.
  HEED_INLINE void set_step(std::int64_t work, std::int64_t most_steps) {
    if (left_ <= 0) return;
    const std::int64_t pace = pace_ * work;
    steps_ = 1;
    while (pace * steps_ < kFewLines * kOne && steps_ < most_steps) steps_ *= 2;
    lines_ = pace * steps_ < kOne ? 1 : pace * steps_ / kOne;
  }
  HEED_INLINE std::int64_t steps() const { return steps_; }

  HEED_INLINE void fetch() {
    std::uintptr_t line = line_;
    std::int64_t n = left_ < lines_ ? left_ : lines_;
    left_ -= n;
#pragma GCC unroll 1
    do {
      HEED_FETCH(line);
      line += kLine;
      if (__builtin_expect(line >= row_end_, 0)) {
        line = row_end_ + to_next_row_;
        if (--rows_here_ == 0) {
          line = reinterpret_cast<std::uintptr_t>(*++piece_);
          rows_here_ = piece_rows_;
        }
        row_end_ = line + bytes_;
      }
    } while (--n > 0);
    line_ = line;
  }

 private:
  static constexpr std::int64_t kLine = 64, kFewLines = 4, kOne = 1 << 16;  // pace_: lines / kOne
  std::uintptr_t line_ = 0, row_end_ = 0, to_next_row_ = 0, bytes_ = 0;
  std::int64_t left_ = 0, pace_ = 0, lines_ = 0, steps_ = 0;
  const void* const* piece_ = nullptr;
  std::int64_t piece_rows_ = 0, rows_here_ = INT64_MAX;
};

}  // namespace
}  // namespace heed::HEED_ROW
