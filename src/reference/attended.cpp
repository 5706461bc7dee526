#include "attended.hpp"

#include <cmath>

#include "score.hpp"

namespace heed::reference {
namespace {

// Causal: key j is attended when j <= i', both as positions.
bool not_in_future(const heed_attention_args& args, std::int64_t query, std::int64_t key) {
  return !args.causal || key <= query;
}

// Window: i' - left <= j <= i' + right, where -1 is unlimited. Written with differences, which cannot overflow.
bool inside_window(const heed_attention_args& args, std::int64_t query, std::int64_t key) {
  if (!args.has_window) return true;
  const bool left = args.window_left == -1 || query - key <= args.window_left;
  const bool right = args.window_right == -1 || key - query <= args.window_right;
  return left && right;
}

bool mask_allows(const Sequence& sequence, std::int64_t head, std::int64_t i, std::int64_t slot) {
  const heed_attention_args& args = sequence.args;
  if (args.mask_kind == HEED_NO_MASK) return true;
  const unsigned char* row = static_cast<const unsigned char*>(args.mask) + sequence.b * args.mask_stride_batch +
                             head * args.mask_stride_head + i * args.mask_stride_token;
  if (args.mask_kind == HEED_BIT_MASK) return row[slot / 8] >> slot % 8 & 1;  // least significant bit first
  return row[slot] != 0;
}

// A bias of -inf excludes; any other bias, however negative, is part of a score.
bool bias_allows(const Sequence& sequence, std::int64_t head, std::int64_t i, std::int64_t slot) {
  return bias(sequence, head, i, slot) != -HUGE_VAL;
}

// The callback answers for rectangles of positions; the smallest one is a single pair.
bool callback_allows(const heed_attention_args& args, std::int64_t head, std::int64_t query, std::int64_t key) {
  if (!args.mask_callback) return true;
  const heed_rectangle answer = args.mask_callback(args.mask_context, head, query, query + 1, key, key + 1);
  return answer == HEED_ALL || answer == HEED_SOME;
}

}  // namespace

bool attended(const Sequence& sequence, std::int64_t head, std::int64_t i, std::int64_t slot) {
  if (!sequence.key_exists(slot)) return false;
  const std::int64_t query = sequence.query_position(i);
  const std::int64_t key = sequence.key_position(slot);
  return not_in_future(sequence.args, query, key) && inside_window(sequence.args, query, key) &&
         mask_allows(sequence, head, i, slot) && bias_allows(sequence, head, i, slot) &&
         callback_allows(sequence.args, head, query, key);
}

}  // namespace heed::reference
