// Attention over a cache, and over what its model holds.
#include "executors.hpp"
#include "fuzz/cache_story.hpp"
#include "fuzz/rows.hpp"

namespace heed::fuzz {
namespace {

std::size_t size(Int n) { return static_cast<std::size_t>(n); }

}  // namespace

// The same call over what the model holds, in blocks of just that size.
heed_attention_args Story::row_major(const HeldSequence& s, heed_attention_args args) {
  rows_.clear();
  const auto block = [&](const void* data, std::size_t bytes) {
    rows_.emplace_back(bytes);
    if (bytes > 0) std::memcpy(rows_.back().data(), data, bytes);
    return rows_.back().data();
  };
  const auto rows = [&](const HeldRows& held, Int columns, heed_type type, heed_tensor* scales) {
    const unsigned char* codes = block(held.codes.data(), held.codes.size());
    if (type == HEED_INT8) *scales = {block(held.scales.data(), held.scales.size() * 4), 0, 1, config_.Hkv, HEED_F32};
    return heed_tensor{codes, 0, columns, config_.Hkv * columns, type};
  };
  args.B = 1;
  args.Hkv = config_.Hkv;
  args.Lkv = s.length;
  args.D = config_.D;
  args.Dv = config_.Dv;
  args.k = rows(s.k, config_.D, config_.k_type, &args.k_scales);
  args.v = rows(s.v, config_.Dv, config_.v_type, &args.v_scales);
  position_ = s.dropped;
  args.key_offset = {&position_, HEED_INT64};
  return args;
}

// A batch of the cache's sequences, in any order and more than once.
void Story::attend(Input& in) {
  std::vector<Int> batch;
  bool open = true;
  for (Int n = in.between(0, 3); n > 0; --n) {
    batch.push_back(in.between(0, 5));
    open = open && model_.find(batch.back()) != nullptr;
  }
  heed_attention_args args{};
  args.struct_size = sizeof args;
  args.Hq = config_.Hkv * in.between(1, 3);
  args.Lq = in.once_in(4) ? in.between(1, 20) : 1;
  args.causal = in.byte() % 2;
  args.has_window = in.once_in(4) ? 1 : 0;
  args.window_left = in.between(0, 60);
  args.window_right = -1;
  const auto B = static_cast<Int>(batch.size());
  const heed_code bound = heed_cache_bind(cache_, batch.data(), B, &args, &status_);
  expect(expect_status(bound, status_, {"sequences", "cache"}) == open, "bind takes a closed sequence, or no open one");
  if (!open) return;
  const Int q_floats = args.Hq * args.Lq * config_.D, out_floats = args.Hq * args.Lq * config_.Dv;
  const Block q(size(B * q_floats) * 4), out(size(B * out_floats) * 4), alone(size(out_floats) * 4);
  fill(q.data(), q.size(), HEED_F32, test::Kind::kTame, in.byte());
  args.q = {q.data(), q_floats, args.Lq * config_.D, config_.D, HEED_F32};
  args.out = {out.data(), out_floats, args.Lq * config_.Dv, config_.Dv, HEED_F32};
  args.executor.threads = in.pick<std::int32_t>({1, 3});
  args.executor.parallel_for = test::odd_first;
  const std::vector<const test::Table*> rows = rows_of(in.byte());
  const test::ForcedRow forced(*rows[in.byte() % rows.size()]);
  expect(expect_status(heed_attention(&args, &status_), status_), "attention over a cache was refused");
  heed_attention_args plain{};
  plain.struct_size = sizeof plain;
  plain.Hq = args.Hq;
  plain.Lq = args.Lq;
  plain.causal = args.causal;
  plain.has_window = args.has_window;
  plain.window_left = args.window_left;
  plain.window_right = -1;
  plain.q = args.q;
  plain.out = {alone.data(), out_floats, args.Lq * config_.Dv, config_.Dv, HEED_F32};
  for (Int b = 0; b < B; ++b) {
    plain.q.data = reinterpret_cast<const float*>(q.data()) + b * q_floats;
    const heed_attention_args one = row_major(*model_.find(batch[size(b)]), plain);
    expect(expect_status(heed_attention(&one, &status_), status_), "attention over rows was refused");
    expect(std::memcmp(alone.data(), out.data() + size(b * out_floats) * 4, alone.size()) == 0,
           "attention over a cache gives other bits than over rows");
  }
}

}  // namespace heed::fuzz
