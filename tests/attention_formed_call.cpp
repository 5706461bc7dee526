#include <algorithm>
#include <cmath>
#include <cstring>

#include "attention_forms.hpp"
#include "reference/attended.hpp"
#include "support/storage.hpp"

namespace heed::test {
namespace {

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

const float* row_of(const heed_tensor& t, std::int64_t b, std::int64_t h, std::int64_t i) {
  return static_cast<const float*>(t.data) + b * t.stride_batch + h * t.stride_head + i * t.stride_token;
}

bool is_paged(Storage storage) { return storage == Storage::kPageTable || storage == Storage::kPageList; }

}  // namespace

FormedCall::Place FormedCall::of_query(std::int64_t b, std::int64_t i) const {
  if (form_.storage == Storage::kRagged) return {0, q_ends_[size(b)] + i};
  return {b, i};
}

FormedCall::Place FormedCall::of_slot(std::int64_t b, std::int64_t slot) const {
  if (form_.storage == Storage::kDense) return {b, slot};
  if (form_.storage == Storage::kRagged) return {0, kv_ends_[size(b)] + slot};
  const std::int64_t pages = (args.Lkv + form_.page_size - 1) / form_.page_size;
  return {pages_[size(b * pages + slot / form_.page_size)], slot % form_.page_size};
}

heed_index FormedCall::index(const std::vector<std::int64_t>& entries) {
  if (form_.index == HEED_INT64) return {wide_.emplace_back(entries).data(), HEED_INT64};
  return {narrow_.emplace_back(entries.begin(), entries.end()).data(), HEED_INT32};
}

FormedCall::FormedCall(const heed_attention_args& dense, const Form& form) : args(dense), form_(form) {
  const std::int64_t B = dense.B, Lq = dense.Lq;
  if (form.storage == Storage::kRagged) {
    for (std::int64_t b = 0; b <= B; ++b) {
      q_ends_.push_back(1 + b * Lq);
      kv_ends_.push_back(2 + b * dense.Lkv);
    }
    args.q_indptr = index(q_ends_);
    args.kv_indptr = index(kv_ends_);
  }
  lay_out_keys(dense);
  const bool ragged = form.storage == Storage::kRagged;
  q_.make(form.q, ragged ? 1 : B, dense.Hq, ragged ? q_ends_.back() : Lq, dense.D, form.tokens_first);
  out_.make(form.out, ragged ? 1 : B, dense.Hq, ragged ? q_ends_.back() : Lq, dense.Dv, form.tokens_first);
  lse_.assign(size(ragged ? q_ends_.back() * dense.Hq : B * dense.Hq * Lq), float_of(0x4B1D4B1Du));
  copy_queries(dense);
  copy_keys(dense, dense.k, k_, k_scales_);
  copy_keys(dense, dense.v, v_, v_scales_);
  args.q = q_.view<heed_tensor>();
  args.k = k_.view<heed_tensor>();
  args.v = v_.view<heed_tensor>();
  if (form.k == HEED_INT8) args.k_scales = k_scales_.view<heed_tensor>();
  if (form.v == HEED_INT8) args.v_scales = v_scales_.view<heed_tensor>();
  args.out = out_.view<heed_tensor_out>();
  args.lse = lse_.data();
  args.lse_stride_batch = args.lse_stride_head = args.lse_stride_token = 0;
  if (dense.bias.data != nullptr) copy_bias(dense);
  if (dense.mask_kind != HEED_NO_MASK) copy_mask(dense);
}

// Where keys and values go: two slots behind the last sequence's, and two pages that no table lists.
void FormedCall::lay_out_keys(const heed_attention_args& dense) {
  std::int64_t batches = dense.B, tokens = dense.Lkv + 2;
  if (form_.storage == Storage::kRagged) {
    batches = 1;
    tokens = kv_ends_.back() + 2;
  } else if (is_paged(form_.storage)) {
    const std::int64_t pages = (dense.Lkv + form_.page_size - 1) / form_.page_size;
    args.page_size = form_.page_size;
    args.page_count = batches = dense.B * pages + 2;
    tokens = form_.page_size;
    for (std::int64_t n = 0; n < dense.B * pages; ++n) pages_.push_back(n + 1);
    Random random(static_cast<std::uint64_t>(form_.page_size));
    for (std::size_t n = pages_.size(); n > 1; --n) {
      std::swap(pages_[n - 1], pages_[size(random.between(0, static_cast<std::int64_t>(n) - 1))]);
    }
    std::vector<std::int64_t> table = pages_, ends;
    for (std::int64_t b = 0; b < dense.B; ++b) {  // entries behind the last page that is needed are never read
      const std::int64_t length = reference::index_or(dense.kv_lengths, b, dense.Lkv);
      const std::int64_t needed = (length + form_.page_size - 1) / form_.page_size;
      std::fill(table.begin() + b * pages + needed, table.begin() + (b + 1) * pages, std::int64_t{0x7FFFFFF});
    }
    for (std::int64_t b = 0; b <= dense.B; ++b) ends.push_back(b * pages);
    if (form_.storage == Storage::kPageTable) {
      table.push_back(0);  // so that it is somewhere without entries
      args.block_table = index(table);
      args.block_table_stride = pages;
    } else {
      table.push_back(0);
      args.page_indices = index(table);
      args.page_indptr = index(ends);
    }
  }
  k_.make(form_.k, batches, dense.Hkv, tokens, dense.D, form_.tokens_first);
  v_.make(form_.v, batches, dense.Hkv, tokens, dense.Dv, !form_.tokens_first);
  if (form_.k == HEED_INT8) k_scales_.make(HEED_F32, batches, dense.Hkv, tokens, 1, !form_.tokens_first);
  if (form_.v == HEED_INT8) v_scales_.make(HEED_F32, batches, dense.Hkv, tokens, 1, form_.tokens_first);
}

void FormedCall::drop_page(std::int64_t b, std::int64_t n) {
  if (!is_paged(form_.storage)) return;
  const std::int64_t pages = (args.Lkv + form_.page_size - 1) / form_.page_size;
  const std::int64_t length = reference::index_or(args.kv_lengths, b, args.Lkv);
  if (n * form_.page_size >= length) return;
  if (form_.index == HEED_INT64) wide_.front()[size(b * pages + n)] = -1;
  if (form_.index == HEED_INT32) narrow_.front()[size(b * pages + n)] = -1;
}

void FormedCall::store(TensorMemory& to, unsigned char* at, const float* x, std::int64_t n) {
  for (std::int64_t d = 0; d < n; ++d) {
    const Code code = encoded(to.type, x[d]);
    put(to.type, at + size(d) * bytes_of(to.type), code);
    possible_ = possible_ && (is_nan(x[d]) || bits_of(decoded(to.type, code)) == bits_of(x[d]));
  }
}

// Codes with a power of two as their scale, which costs no bit; or, where all are 0 or of one magnitude, that.
void FormedCall::store_int8(TensorMemory& to, TensorMemory& scales, std::int64_t b, std::int64_t h, std::int64_t t,
                            const float* x) {
  const auto fits = [&](float scale) {
    return std::all_of(x, x + to.columns, [&](float v) {
      const float code = v / scale;
      return std::abs(code) <= 127.0f && code == std::nearbyint(code) && !(code == 0.0f && std::signbit(code));
    });
  };
  float scale = 1.0f;
  while (!fits(scale) && scale > 0x1p-20f) scale *= 0.5f;
  if (!fits(scale)) {
    scale = *std::max_element(x, x + to.columns);
    same_bits_ = false;
    possible_ = possible_ && is_finite(scale) && scale > 0.0f && fits(scale);
    if (!possible_) return;
  }
  for (std::int64_t d = 0; d < to.columns; ++d) {
    put(HEED_INT8, to.at(b, h, t) + d, static_cast<Code>(static_cast<int>(x[d] / scale)));
  }
  put(HEED_F32, scales.at(b, h, t), bits_of(scale));
}

void FormedCall::copy_queries(const heed_attention_args& dense) {
  for (std::int64_t b = 0; b < dense.B; ++b) {
    for (std::int64_t h = 0; h < dense.Hq; ++h) {
      for (std::int64_t i = 0; i < dense.Lq; ++i) {
        const Place to = of_query(b, i);
        store(q_, q_.at(to.batch, h, to.token), row_of(dense.q, b, h, i), dense.D);
      }
    }
  }
}

void FormedCall::copy_keys(const heed_attention_args& dense, const heed_tensor& from, TensorMemory& to,
                           TensorMemory& scales) {
  for (std::int64_t b = 0; b < dense.B; ++b) {
    const std::int64_t end = reference::index_or(dense.kv_lengths, b, dense.Lkv);
    for (std::int64_t h = 0; h < dense.Hkv; ++h) {
      for (std::int64_t slot = reference::index_or(dense.key_begin, b, 0); slot < end; ++slot) {
        const Place at = of_slot(b, slot);
        const float* x = row_of(from, b, h, slot);
        if (to.type == HEED_INT8) {
          store_int8(to, scales, at.batch, h, at.token, x);
        } else {
          store(to, to.at(at.batch, h, at.token), x, to.columns);
        }
      }
    }
  }
}

void FormedCall::copy_bias(const heed_attention_args& dense) {
  bias_.make(form_.q, dense.B, dense.Hq, dense.Lq, dense.Lkv, false);
  for (std::int64_t b = 0; b < dense.B; ++b) {
    for (std::int64_t h = 0; h < dense.Hq; ++h) {
      for (std::int64_t i = 0; i < dense.Lq; ++i) {
        store(bias_, bias_.at(b, h, i), row_of(dense.bias, b, h, i), dense.Lkv);
      }
    }
  }
  args.bias = bias_.view<heed_tensor>();
}

// The dense mask is one of bytes.
void FormedCall::copy_mask(const heed_attention_args& dense) {
  const std::int64_t row = form_.bit_mask ? (dense.Lkv + 7) / 8 : dense.Lkv;
  mask_.assign(size(dense.B * dense.Hq * dense.Lq * row), 0);
  args.mask_kind = form_.bit_mask ? HEED_BIT_MASK : HEED_BYTE_MASK;
  args.mask_stride_token = row;
  args.mask_stride_head = dense.Lq * row;
  args.mask_stride_batch = dense.Hq * dense.Lq * row;
  unsigned char* to = mask_.data();
  for (std::int64_t n = 0; n < dense.B * dense.Hq * dense.Lq; ++n, to += row) {
    const std::int64_t b = n / dense.Lq / dense.Hq, h = n / dense.Lq % dense.Hq, i = n % dense.Lq;
    const unsigned char* from = static_cast<const unsigned char*>(dense.mask) + b * dense.mask_stride_batch +
                                h * dense.mask_stride_head + i * dense.mask_stride_token;
    for (std::int64_t slot = 0; slot < dense.Lkv; ++slot) {
      if (!form_.bit_mask) to[slot] = from[slot];
      if (form_.bit_mask && from[slot] != 0) to[slot / 8] = static_cast<unsigned char>(to[slot / 8] | 1 << slot % 8);
    }
  }
  args.mask = mask_.data();
}

void FormedCall::spoil(std::int64_t b, std::int64_t h, std::int64_t i, float x, Random& random) {
  const heed_attention_args was = args;
  heed_attention_args unmasked = was;
  unmasked.mask_kind = HEED_NO_MASK;
  const reference::Sequence sequence(was, b), without_mask(unmasked, b);
  const std::int64_t kv_head = h / (args.Hq / args.Hkv);
  std::vector<std::int64_t> kept, decided_by_mask;
  for (std::int64_t slot = 0; slot < args.Lkv; ++slot) {
    if (reference::attended(sequence, h, i, slot)) kept.push_back(slot);
    if (reference::attended(without_mask, h, i, slot)) decided_by_mask.push_back(slot);
  }
  const auto spoil_keys = [&](TensorMemory& memory) {
    TensorMemory old = memory;
    memory.fill(x);
    for (const std::int64_t slot : kept) {
      const Place at = of_slot(b, slot);
      std::memcpy(memory.at(at.batch, kv_head, at.token), old.at(at.batch, kv_head, at.token),
                  size(memory.columns) * bytes_of(memory.type));
    }
  };
  const std::vector<unsigned char> old_mask = mask_;
  TensorMemory old_q = q_, old_bias = bias_;
  if (args.bias.data != nullptr) {
    bias_.fill(x);
    const std::size_t element = bytes_of(bias_.type);
    for (std::int64_t slot = 0; slot < args.Lkv; ++slot) {
      const unsigned char* old = old_bias.at(b, h, i) + size(slot) * element;
      const bool excludes = decoded(bias_.type, code_at(bias_.type, old)) == -kInfinity;
      if (excludes || std::binary_search(kept.begin(), kept.end(), slot)) {
        std::memcpy(bias_.at(b, h, i) + size(slot) * element, old, element);
      }
    }
  }
  for (TensorMemory* memory : {&k_, &v_, &k_scales_, &v_scales_}) {
    if (!memory->bytes.empty()) spoil_keys(*memory);
  }
  q_.fill(x);
  const Place query = of_query(b, i);
  std::memcpy(q_.at(query.batch, h, query.token), old_q.at(query.batch, h, query.token),
              size(args.D) * bytes_of(q_.type));
  if (args.mask_kind == HEED_NO_MASK) return;
  for (unsigned char& byte : mask_) byte = static_cast<unsigned char>(random.between(0, 255));
  const std::int64_t row = b * args.mask_stride_batch + h * args.mask_stride_head + i * args.mask_stride_token;
  for (const std::int64_t slot : decided_by_mask) {
    const std::size_t at = size(row + (form_.bit_mask ? slot / 8 : slot));
    const auto bits = static_cast<unsigned char>(form_.bit_mask ? 1 << slot % 8 : 255);
    mask_[at] = static_cast<unsigned char>((mask_[at] & ~bits) | (old_mask[at] & bits));
  }
}

Result FormedCall::run() {
  Result result;
  heed_status status;
  if (heed_attention(&args, &status) != HEED_OK) {
    result.failure = describe(form_) + ": the call failed: " + status.message;
    return result;
  }
  return result_of(args);
}

}  // namespace heed::test
