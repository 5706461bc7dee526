#include "driver/few_keys.hpp"

#include "arithmetic.hpp"
#include "integers.hpp"
#include "plan/problem.hpp"

namespace heed {

bool has_few_keys(const heed_attention_args& a) {
  const auto types = a.q.type | a.k.type | a.v.type | a.out.type;
  return a.Lkv <= kPanel && a.D <= kFewKeysD && types == HEED_F32 && a.softcap == 0.0f && a.alibi_slopes == nullptr &&
         a.sinks == nullptr && a.score_callback == nullptr && a.mask_callback == nullptr;
}

void run_few_keys(const heed_attention_args& a, const dispatch::Table& table) {
  constexpr std::int64_t kFar = std::int64_t{1} << 20;  // beyond any query or key of a plain problem
  FewKeys t;
  t.q_head = a.q.stride_head;
  t.q_row = a.q.stride_token;
  t.k_row = a.k.stride_token;
  t.v_row = a.v.stride_token;
  t.out_head = a.out.stride_head;
  t.out_row = a.out.stride_token;
  t.lse_head = a.Lq;  // contiguous, as it is unless somebody asks for something else
  t.lse_row = 1;
  t.heads = group_of(a);
  t.rows = a.Lq;
  t.keys = a.Lkv;
  t.D = a.D;
  t.Dv = a.Dv;
  t.scale = scale_of(a);

  // The ranges of Problem::keys_of.
  const std::int64_t position = a.alignment == HEED_TOP_LEFT ? 0 : a.Lkv - a.Lq;
  t.first = -kFar;
  t.last = a.causal != 0 ? position + 1 : kFar;
  if (a.has_window != 0) {
    if (a.window_left >= 0) t.first = position - least(a.window_left, kFar);
    if (a.window_right >= 0) t.last = least(t.last, position + 1 + least(a.window_right, kFar));
  }

  for (std::int64_t b = 0; b < a.B; ++b) {
    for (std::int64_t kv_head = 0; kv_head < a.Hkv; ++kv_head) {
      const std::int64_t head = kv_head * t.heads;
      t.q = static_cast<const float*>(a.q.data) + b * a.q.stride_batch + head * a.q.stride_head;
      t.k = static_cast<const float*>(a.k.data) + b * a.k.stride_batch + kv_head * a.k.stride_head;
      t.v = static_cast<const float*>(a.v.data) + b * a.v.stride_batch + kv_head * a.v.stride_head;
      t.out = static_cast<float*>(a.out.data) + b * a.out.stride_batch + head * a.out.stride_head;
      t.lse = a.lse == nullptr ? nullptr : a.lse + (b * a.Hq + head) * a.Lq;
      table.few_keys[dispatch::f32](t);
    }
  }
}

}  // namespace heed
