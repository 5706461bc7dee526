// Rules of tensors and options.
#include <cmath>

#include "api/checks.hpp"

namespace heed::api {

bool Checks::type(const char* name, heed_type type, Types types) {
  if (is_one_of(type, types)) return false;
  if (!is_type(type)) return invalid("%s.type: %d is not a type", name, static_cast<int>(type));
  return invalid("%s.type: %s is not a type that it may have", name, kTypeNames[type]);
}

template <class Tensor>
Axes Checks::query_axes(const Tensor& t, std::int64_t columns) const {
  const bool ragged = a_.q_indptr.data != nullptr;
  return {{ragged ? 1 : a_.B, t.stride_batch},
          {a_.Hq, t.stride_head},
          {ragged ? index_at(a_.q_indptr, a_.B) : a_.Lq, t.stride_token},
          columns};
}

// The tokens before the first sequence are nobody's.
template <class Tensor>
Axes Checks::written_axes(const Tensor& t, std::int64_t columns) const {
  Axes axes = query_axes(t, columns);
  if (a_.q_indptr.data != nullptr) axes.token.count -= index_at(a_.q_indptr, 0);
  return axes;
}

template <class Tensor>
bool Checks::rows(const char* name, const Tensor& t, std::int64_t columns) {
  if (type(name, t.type, kFloatTypes)) return true;
  const Axes axes = query_axes(t, columns);
  if (no_rows() || axes.empty()) return false;
  return address(name, t.data, element_bytes(t.type)) || reach(name, axes);
}

std::int64_t Checks::longest() const {
  if (a_.kv_indptr.data == nullptr && a_.kv_lengths.data == nullptr) return a_.Lkv;
  std::int64_t longest = 0;
  for (std::int64_t b = 0; b < a_.B && longest < a_.Lkv; ++b) longest = length(b) > longest ? length(b) : longest;
  return longest;
}

bool Checks::keys(const char* name, const heed_tensor& t, Types types, std::int64_t stride_token,
                  std::int64_t columns) {
  if (type(name, t.type, types)) return true;
  const bool ragged = a_.kv_indptr.data != nullptr;
  if (no_keys() || no_rows() || longest() == 0) return false;
  const std::int64_t batches = paged() ? a_.page_count : ragged ? 1 : a_.B;
  const std::int64_t tokens = paged() ? a_.page_size : ragged ? index_at(a_.kv_indptr, a_.B) : a_.Lkv;
  return address(name, t.data, element_bytes(t.type)) ||
         reach(name, {{batches, t.stride_batch}, {a_.Hkv, t.stride_head}, {tokens, stride_token}, columns});
}

bool Checks::scales(const char* name, const char* of, const heed_tensor& t, heed_type of_type) {
  if (of_type != HEED_INT8) {
    if (t.data != nullptr) return invalid("%s: is given although %s is not int8", name, of);
    return false;
  }
  return keys(name, t, only(HEED_F32), t.stride_token, 1);
}

bool Checks::types() {
  return type("q", a_.q.type, kFloatTypes) || type("k", a_.k.type, kStoredTypes) ||
         type("v", a_.v.type, kStoredTypes) || type("out", a_.out.type, kFloatTypes);
}

bool Checks::out() {
  if (rows("out", a_.out, a_.Dv)) return true;
  if (no_rows()) return false;
  return overlap("out", written_axes(a_.out, a_.Dv)) || over_queries();
}

// The output may take the place of the queries, row by row. Where the first row lies tells whether it does: of a ragged
// batch nothing need lie at the tensors' own addresses.
bool Checks::over_queries() {
  const heed_tensor& q = a_.q;
  const heed_tensor_out& out = a_.out;
  const Axes from = query_axes(q, a_.D), to = query_axes(out, a_.Dv);
  const auto first_row = [token = static_cast<std::uint64_t>(index_or(a_.q_indptr, 0, 0))](const auto& t) {
    const auto bytes = static_cast<std::uint64_t>(element_bytes(t.type));
    return reinterpret_cast<std::uintptr_t>(t.data) + token * static_cast<std::uint64_t>(t.stride_token) * bytes;
  };
  if (first_row(out) != first_row(q) || to.empty()) return false;
  const auto same = [](const Axis& a, const Axis& b) { return a.count == 1 || a.stride == b.stride; };
  if (out.type == q.type && a_.D == a_.Dv && same(from.batch, to.batch) && same(from.head, to.head) &&
      same(from.token, to.token)) {
    return false;
  }
  return invalid("out.data: is that of q, but with another type, stride or dimension");
}

bool Checks::panel_tensors() {
  if (a_.kv_panels == 0 || no_keys() || no_rows() || longest() == 0 || a_.page_count == 0) return false;
  return panel_strides("k", a_.k, a_.D) || panel_strides("v", a_.v, (a_.Dv + kPanel - 1) / kPanel * kPanel);
}

bool Checks::tensors() {
  if (rows("q", a_.q, a_.D) || keys("k", a_.k, kStoredTypes, key_stride(a_.k, a_.D), a_.D) ||
      keys("v", a_.v, kStoredTypes, key_stride(a_.v, a_.Dv), a_.Dv) || (a_.end == nullptr && out()) ||
      scales("k_scales", "k", a_.k_scales, a_.k.type) || scales("v_scales", "v", a_.v_scales, a_.v.type)) {
    return true;
  }
  if (a_.lse != nullptr && a_.end == nullptr && !no_rows()) {
    const heed_tensor_out lse{a_.lse, a_.lse_stride_batch, a_.lse_stride_head, a_.lse_stride_token, HEED_F32};
    const Axes axes = query_axes(lse, 1);
    const bool contiguous = lse.stride_batch == 0 && lse.stride_head == 0 && lse.stride_token == 0;
    if (address("lse", a_.lse, 4) || reach("lse", axes) || (!contiguous && overlap("lse", written_axes(lse, 1))))
      return true;
  }
  if (a_.inspect.data == nullptr || no_rows() || a_.Lkv == 0) return false;
  if (a_.inspect_what < HEED_SCORES_SCALED || a_.inspect_what > HEED_WEIGHTS) {
    return invalid("inspect_what: %d is not a view", static_cast<int>(a_.inspect_what));
  }
  if (a_.inspect.type != HEED_F32) return invalid("inspect.type: must be f32");
  const heed_tensor_out& view = a_.inspect;
  const Axes axes{{a_.B, view.stride_batch}, {a_.Hq, view.stride_head}, {a_.Lq, view.stride_token}, a_.Lkv};
  return address("inspect", view.data, 4) || reach("inspect", axes) || overlap("inspect", axes);
}

bool Checks::scores() {
  if (a_.has_scale != 0 && !std::isfinite(a_.scale)) return invalid("scale: must be finite");
  if (!(a_.softcap >= 0.0f) || std::isinf(a_.softcap)) return invalid("softcap: must be finite and not negative");
  if (a_.alibi_slopes != nullptr && address("alibi_slopes", a_.alibi_slopes, 4)) return true;
  if (a_.sinks != nullptr && address("sinks", a_.sinks, 4)) return true;
  if (a_.bias.data == nullptr || no_rows()) return false;
  return type("bias", a_.bias.type, kFloatTypes) || address("bias", a_.bias.data, element_bytes(a_.bias.type)) ||
         reach("bias",
               {{a_.B, a_.bias.stride_batch}, {a_.Hq, a_.bias.stride_head}, {a_.Lq, a_.bias.stride_token}, a_.Lkv});
}

bool Checks::exclusion() {
  if (a_.alignment < HEED_BOTTOM_RIGHT || a_.alignment > HEED_OFFSETS) {
    return invalid("alignment: %d is not an alignment", static_cast<int>(a_.alignment));
  }
  if (a_.alignment == HEED_OFFSETS && a_.B > 0) {
    if (a_.offsets == nullptr) return invalid("offsets: is null while alignment asks for them");
    for (std::int64_t b = 0; b < a_.B; ++b) {
      if (a_.offsets[b] < -kLargestPosition || a_.offsets[b] > kLargestPosition) {
        return invalid("offsets[%" PRId64 "]: %" PRId64 " is beyond 2^61", b, a_.offsets[b]);
      }
    }
  }
  if (a_.has_window != 0) {
    if (at_least("window_left", a_.window_left, -1) || at_least("window_right", a_.window_right, -1)) return true;
  }
  if (a_.mask_kind < HEED_NO_MASK || a_.mask_kind > HEED_BIT_MASK) {
    return invalid("mask_kind: %d is not a kind of mask", static_cast<int>(a_.mask_kind));
  }
  if (a_.mask_kind == HEED_NO_MASK) return false;
  if (no_rows() || no_keys()) return false;
  return address("mask", a_.mask, 1) || reach("mask", {{a_.B, a_.mask_stride_batch},
                                                       {a_.Hq, a_.mask_stride_head},
                                                       {a_.Lq, a_.mask_stride_token},
                                                       a_.mask_kind == HEED_BIT_MASK ? a_.Lkv / 8 + 1 : a_.Lkv});
}

bool Checks::threads() {
  if (a_.executor.threads < 0 || a_.executor.threads > kMostThreads) {
    return invalid("executor.threads: %d is not between 0 and %d", static_cast<int>(a_.executor.threads),
                   static_cast<int>(kMostThreads));
  }
  return false;
}

bool Checks::calls() {
  if (threads()) return true;
  if (a_.executor.threads > 1 && a_.executor.parallel_for == nullptr) {
    return invalid("executor.parallel_for: is null while threads is %d", static_cast<int>(a_.executor.threads));
  }
  if ((a_.allocator.allocate == nullptr) != (a_.allocator.release == nullptr)) {
    return invalid("allocator: allocate and release must be given together");
  }
  return false;
}

}  // namespace heed::api
