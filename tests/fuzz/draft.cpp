#include "fuzz/draft.hpp"

#include <algorithm>

#include "content.hpp"

namespace heed::fuzz {
namespace {

std::size_t size(Int n) { return static_cast<std::size_t>(n); }

heed_tensor tensor(const Strides& s, heed_type type) { return {present(), s.batch, s.head, s.token, type}; }
heed_tensor_out tensor_out(const Strides& s, heed_type type) { return {present(), s.batch, s.head, s.token, type}; }

heed_index draw_index(Input& in) { return {present(), in.flag() ? HEED_INT32 : HEED_INT64}; }

// Entry b of an array that table_rows may have put in another order.
void set_row(const Draft& d, std::vector<Int>& values, Int b, Int value) {
  const Int row = d.table_rows.empty() ? b : d.table_rows[size(b)];
  if (values.size() <= size(row)) values.resize(size(row + 1), 3);
  values[size(row)] = value;
}

// Lengths, begins, positions, ragged starts: what each sequence has.
void draw_sequences(Draft& d, const Sizes& s, Input& in) {
  heed_attention_args& a = d.args;
  const std::uint8_t flags = in.byte();
  const bool paged = s.page_size > 0;
  const bool ragged_keys = !paged && (flags & 1) != 0;
  const bool lengths = (flags & 2) != 0, begins = (flags & 4) != 0, offsets = (flags & 8) != 0;
  if (!ragged_keys && (flags & 16) != 0) {
    a.table_rows = draw_index(in);
    a.table_row_count = s.B + in.between(0, 2);
    for (Int b = 0; b < s.B; ++b) d.table_rows.push_back(a.table_row_count - 1 - b);
  }
  if ((flags & 32) != 0) {
    a.q_indptr = draw_index(in);
    d.q_indptr = {in.between(0, 2)};
    for (Int b = 0; b < s.B; ++b) d.q_indptr.push_back(d.q_indptr.back() + in.between(0, std::min<Int>(s.Lq, 250)));
  }
  if (ragged_keys) {
    a.kv_indptr = draw_index(in);
    d.kv_indptr = {in.between(0, 2)};
  }
  if (lengths) a.kv_lengths = draw_index(in);
  if (begins) a.key_begin = draw_index(in);
  if (offsets) a.key_offset = draw_index(in);
  a.alignment = in.pick({HEED_BOTTOM_RIGHT, HEED_TOP_LEFT, HEED_OFFSETS});
  if (a.alignment == HEED_OFFSETS) a.offsets = static_cast<const std::int64_t*>(present());
  for (Int b = 0; b < s.B; ++b) {
    Int length = s.Lkv;
    if (ragged_keys) {
      length = std::max<Int>(0, s.Lkv - in.between(0, 20));
      d.kv_indptr.push_back(d.kv_indptr.back() + length);
    }
    if (lengths) {
      length = std::max<Int>(0, in.flag() ? length - in.between(0, 20) : length * in.between(0, 8) / 8);
      set_row(d, d.kv_lengths, b, length);
    }
    if (begins) {
      const Int begin = std::min(length, in.between(0, 150));
      set_row(d, d.key_begin, b, s.panels ? begin / 16 * 16 : begin);
    }
    if (offsets) set_row(d, d.key_offset, b, in.once_in(16) ? Int{1} << 60 : in.between(-20, 200));
    if (a.alignment == HEED_OFFSETS) d.offsets.push_back(in.once_in(16) ? -(Int{1} << 60) : 4 * in.between(-20, 200));
    d.far_positions = d.far_positions ||
                      (offsets && *std::max_element(d.key_offset.begin(), d.key_offset.end()) > 1000) ||
                      (!d.offsets.empty() && d.offsets.back() < -1000);
  }
}

void draw_pages(Draft& d, const Sizes& s, Input& in) {
  heed_attention_args& a = d.args;
  const Int each = (s.Lkv + s.page_size - 1) / s.page_size,
            rows = a.table_rows.data == nullptr ? s.B : a.table_row_count;
  a.page_size = s.page_size;
  a.page_count = 1 + std::min<Int>(each * s.B, in.between(0, 40));
  a.kv_panels = s.panels ? 1 : 0;
  const bool table = in.flag();
  const Int step = in.between(0, 6), gap = in.between(0, 1);
  std::vector<Int>& ids = table ? d.block_table : d.page_indices;
  if (!table) d.page_indptr = {in.between(0, 1)};
  if (!table) ids.resize(size(d.page_indptr[0]));
  for (Int row = 0; row < rows; ++row) {
    for (Int n = 0; n < each + gap; ++n) {
      const Int page = (row * each + n) * (step + 1) % (a.page_count + (step == 6 ? 1 : 0));
      ids.push_back(page == a.page_count ? -1 : page);
    }
    if (!table) d.page_indptr.push_back(static_cast<Int>(ids.size()));
  }
  if (table) {
    a.block_table = draw_index(in);
    a.block_table_stride = each + gap;
  } else {
    a.page_indices = draw_index(in);
    a.page_indptr = draw_index(in);
  }
}

void draw_tensors(Draft& d, const Sizes& s, Input& in) {
  heed_attention_args& a = d.args;
  const bool ragged = !d.q_indptr.empty();
  const Int q_batches = ragged ? 1 : s.B, q_tokens = ragged ? d.q_indptr.back() : s.Lq;
  a.q = tensor(draw_strides(in, q_batches, s.Hq, q_tokens, s.D), s.q);
  a.out = tensor_out(draw_strides(in, q_batches, s.Hq, q_tokens, s.Dv), s.out);
  const Int batches = s.page_size > 0 ? a.page_count : d.kv_indptr.empty() ? s.B : 1;
  const Int tokens = s.page_size > 0 ? s.page_size : d.kv_indptr.empty() ? s.Lkv : d.kv_indptr.back();
  const Int columns = s.panels ? s.page_size * s.D : s.D;
  const Int v_columns = s.panels ? s.page_size * ((s.Dv + 15) / 16 * 16) : s.Dv;
  a.k = tensor(draw_strides(in, batches, s.Hkv, s.panels ? 1 : tokens, columns), s.k);
  a.v = tensor(draw_strides(in, batches, s.Hkv, s.panels ? 1 : tokens, v_columns), s.v);
  if (s.k == HEED_INT8) a.k_scales = tensor(draw_strides(in, batches, s.Hkv, tokens, 1), HEED_F32);
  if (s.v == HEED_INT8) a.v_scales = tensor(draw_strides(in, batches, s.Hkv, tokens, 1), HEED_F32);
  d.in_place = s.D == s.Dv && s.q == s.out && in.once_in(4);
  const std::uint8_t lse = in.byte();
  if (lse % 4 == 0) return;
  a.lse = static_cast<float*>(present());
  if (lse % 4 != 3) return;
  const Strides strides = draw_strides(in, q_batches, s.Hq, q_tokens, 1);
  a.lse_stride_batch = strides.batch;
  a.lse_stride_head = strides.head;
  a.lse_stride_token = strides.token;
}

void draw_scores(Draft& d, const Sizes& s, Input& in) {
  heed_attention_args& a = d.args;
  const std::uint8_t flags = in.byte();
  a.has_scale = flags & 1;
  a.scale = in.pick({0.5f, -0.25f, 0.0f, 1.0f});
  a.softcap = (flags & 2) != 0 ? in.pick({2.0f, 30.0f}) : 0.0f;
  if ((flags & 4) != 0) a.alibi_slopes = static_cast<const float*>(present());
  if ((flags & 8) != 0) {
    a.bias = tensor(draw_strides(in, s.B, s.Hq, s.Lq, s.Lkv), static_cast<heed_type>(in.between(HEED_F32, HEED_BF16)));
  }
  if ((flags & 16) != 0) a.sinks = static_cast<const float*>(present());
  if ((flags & 32) != 0) a.score_callback = test::change;
  if ((flags & 64) != 0) a.mask_callback = test::ask;
  d.wild_callback = (flags & 64) != 0 && in.once_in(4);
}

void draw_exclusion(Draft& d, const Sizes& s, Input& in) {
  heed_attention_args& a = d.args;
  const std::uint8_t flags = in.byte();
  a.causal = flags & 1;
  a.has_window = (flags >> 1) & 1;
  a.window_left = in.once_in(4) ? INT64_MAX - in.between(0, 3) : in.between(-1, 150);
  a.window_right = in.once_in(4) ? INT64_MAX - in.between(0, 3) : in.between(-1, 20);
  if ((flags & 4) != 0) {
    a.mask_kind = (flags & 8) != 0 ? HEED_BIT_MASK : HEED_BYTE_MASK;
    const Int columns = a.mask_kind == HEED_BIT_MASK ? (s.Lkv + 7) / 8 : s.Lkv;
    const Strides strides = draw_strides(in, s.B, s.Hq, s.Lq, columns);
    a.mask = present();
    a.mask_stride_batch = strides.batch;
    a.mask_stride_head = strides.head;
    a.mask_stride_token = strides.token;
  }
}

heed_state state_of(const Draft& d, const Sizes& s) {
  float* const mark = static_cast<float*>(present());
  const bool ragged = !d.q_indptr.empty();
  return {ragged ? 1 : s.B, s.Hq, ragged ? d.q_indptr.back() : s.Lq, s.Dv, mark, mark, mark, 0, 0, 0, 0, 0, 0};
}

}  // namespace

Draft draw_call(const Sizes& s, Input& in) {
  Draft d;
  heed_attention_args& a = d.args;
  a.struct_size = sizeof a;
  a.B = s.B;
  a.Hq = s.Hq;
  a.Hkv = s.Hkv;
  a.Lq = s.Lq;
  a.Lkv = s.Lkv;
  a.D = s.D;
  a.Dv = s.Dv;
  d.seed = in.byte();
  d.kind = in.pick({test::Kind::kTame, test::Kind::kTame, test::Kind::kHostile, test::Kind::kWide});
  draw_sequences(d, s, in);
  if (s.page_size > 0) draw_pages(d, s, in);
  draw_tensors(d, s, in);
  draw_scores(d, s, in);
  draw_exclusion(d, s, in);
  const std::uint8_t states = in.byte();
  if ((states & 1) != 0) {
    a.start = &d.start;
    d.start = state_of(d, s);
  }
  if ((states & 6) == 2) {
    a.end = &d.end;
    d.end = state_of(d, s);
    d.start_is_end = (states & 1) != 0 && (states & 8) != 0;
    a.sinks = nullptr;
  } else if ((states & 6) == 4) {
    a.inspect = tensor_out(draw_strides(in, s.B, s.Hq, s.Lq, s.Lkv), HEED_F32);
    a.inspect_what = static_cast<heed_inspect>(in.between(HEED_SCORES_SCALED, HEED_WEIGHTS));
  }
  a.executor.threads = in.pick<std::int32_t>({0, 1, 2, 3, 5, 16});
  d.order = in.pick({Order::kLastFirst, Order::kOddFirst, Order::kHalf, Order::kOnThreads});
  d.no_memory = in.once_in(16);
  return d;
}

}  // namespace heed::fuzz
