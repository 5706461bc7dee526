#include "driver/exclusion.hpp"

#include <cstring>

#include "integers.hpp"

namespace heed {
namespace {

// Eight bytes of a mask, the first one lowest, on any processor.
std::uint64_t word_of(const unsigned char* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? word : __builtin_bswap64(word);
}

// Bit x is on if byte x of eight is not zero: every non-zero byte carries into its top bit, and one multiplication
// gathers the top bits.
std::uint64_t bits_of_bytes(std::uint64_t bytes) {
  constexpr std::uint64_t kLow7 = 0x7F7F7F7F7F7F7F7Full, kTop = 0x8080808080808080ull;
  const std::uint64_t top = (((bytes & kLow7) + kLow7) | bytes) & kTop;
  return ((top >> 7) * 0x0102040810204080ull) >> 56;
}

Attended of_byte_mask(const unsigned char* mask, std::int64_t keys) {
  Attended attended{};
  std::int64_t j = 0;
  for (; j + 8 <= keys; j += 8) {
    attended.words[j / 64] |= bits_of_bytes(word_of(mask + j)) << (j % 64);
  }
  for (; j < keys; ++j) attended.words[j / 64] |= std::uint64_t{mask[j] != 0} << (j % 64);
  return attended;
}

// Reads only the bytes that hold bits of the keys.
Attended of_bit_mask(const unsigned char* mask, std::int64_t first, std::int64_t keys) {
  Attended attended{};
  for (std::int64_t j = 0; j < keys; j += 64) {
    const std::int64_t bit = first + j, last = first + least(j + 64, keys) - 1;
    unsigned char bytes[9] = {};
    std::memcpy(bytes, mask + bit / 8, static_cast<std::size_t>(last / 8 - bit / 8 + 1));
    const int shift = static_cast<int>(bit % 8);
    std::uint64_t word = word_of(bytes) >> shift;
    if (shift > 0) word |= std::uint64_t{bytes[8]} << (64 - shift);
    attended.words[j / 64] = word;
  }
  return attended;
}

// Asks the callback for ever smaller rectangles; a single pair that it calls HEED_SOME counts as attended.
void ask(const heed_attention_args& args, std::int64_t head, std::int64_t position, std::int64_t key_position,
         std::int64_t begin, std::int64_t end, Attended* attended) {
  const heed_rectangle answer =
      args.mask_callback(args.mask_context, head, position, position + 1, key_position + begin, key_position + end);
  if (answer == HEED_ALL || (answer == HEED_SOME && end - begin == 1)) return;
  if (answer == HEED_SOME) {
    const std::int64_t middle = begin + (end - begin) / 2;
    ask(args, head, position, key_position, begin, middle, attended);
    ask(args, head, position, key_position, middle, end, attended);
    return;
  }
  const Attended gone = range(begin, end);
  for (int w = 0; w < kAttendedWords; ++w) attended->words[w] &= ~gone.words[w];
}

}  // namespace

Attended range(std::int64_t begin, std::int64_t end) {
  Attended attended{};
  for (int w = 0; w < kAttendedWords; ++w) {
    const std::int64_t low = most(begin - w * 64, 0), high = least(end - w * 64, 64);
    if (low < high) attended.words[w] = (~std::uint64_t{0} >> (64 - (high - low))) << low;
  }
  return attended;
}

Span span_of(const Attended& attended) {
  Span span{0, 0};
  for (int w = kAttendedWords - 1; w >= 0; --w) {
    if (attended.words[w] == 0) continue;
    if (span.end == 0) span.end = w * 64 + 64 - __builtin_clzll(attended.words[w]);
    span.begin = w * 64 + __builtin_ctzll(attended.words[w]);
  }
  return span;
}

Attended attended_keys(const Problem& problem, const Sequence& sequence, std::int64_t head, std::int64_t i,
                       const KeyRange& row, std::int64_t begin, std::int64_t end) {
  const heed_attention_args& args = problem.args;
  const std::int64_t low = most(row.begin, begin) - begin, high = least(row.end, end) - begin;
  Attended attended = range(low, high);
  if (low >= high) return attended;
  const std::int64_t slot = sequence.begin + begin;
  if (args.mask_kind == HEED_BYTE_MASK) {
    attended.clear_except(of_byte_mask(problem.mask_row(sequence, head, i) + slot, end - begin));
  } else if (args.mask_kind == HEED_BIT_MASK) {
    attended.clear_except(of_bit_mask(problem.mask_row(sequence, head, i), slot, end - begin));
  }
  if (args.mask_callback != nullptr && !attended.none()) {
    ask(args, head, sequence.position + i, sequence.key_position + begin, low, high, &attended);
  }
  return attended;
}

}  // namespace heed
