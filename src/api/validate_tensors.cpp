// Rules of tensors and options.
#include <cmath>

#include "api/checks.hpp"

namespace heed::api {

bool Checks::type(const char* name, heed_type type, Types types) {
  if (is_one_of(type, types)) return false;
  if (!is_type(type)) return invalid("%s.type: %d is not a type", name, static_cast<int>(type));
  return invalid("%s.type: %s is not a type that it may have", name, kTypeNames[type]);
}

bool Checks::address(const char* name, const void* data, std::int64_t element_bytes) {
  if (data == nullptr) return invalid("%s.data: is null", name);
  if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(element_bytes) != 0) {
    return invalid("%s.data: the address is not a multiple of the element's size", name);
  }
  return false;
}

// The farthest element is less than 2^60 elements away.
bool Checks::strides(const char* name, std::int64_t batch, std::int64_t head, std::int64_t token, std::int64_t batches,
                     std::int64_t heads, std::int64_t tokens) {
  std::int64_t reach = 0;
  const std::int64_t axes[3][2] = {{batch, batches}, {head, heads}, {token, tokens}};
  for (const auto& [stride, count] : axes) {
    std::int64_t distance = 0;
    if (count < 2) continue;
    if (__builtin_mul_overflow(stride, count - 1, &distance) || distance <= -kLargestExtent ||
        distance >= kLargestExtent || __builtin_add_overflow(reach, distance < 0 ? -distance : distance, &reach) ||
        reach >= kLargestExtent) {
      return invalid("%s.stride: the tensor reaches further than 2^60 elements", name);
    }
  }
  return false;
}

// A stride of 0 shares an input's elements; an output's would be written over each other.
bool Checks::overwrites(const char* name, std::int64_t batch, std::int64_t head, std::int64_t token,
                        std::int64_t batches, std::int64_t heads, std::int64_t tokens) {
  if (batches == 0 || heads == 0 || tokens == 0) return false;
  const char* axis = batch == 0 && batches > 1  ? "batch"
                     : head == 0 && heads > 1   ? "head"
                     : token == 0 && tokens > 1 ? "token"
                                                : nullptr;
  if (axis == nullptr) return false;
  return invalid("%s.stride_%s: is 0, so that results would be written over each other", name, axis);
}

template <class Tensor>
bool Checks::rows(const char* name, const Tensor& t) {
  if (type(name, t.type, kFloatTypes)) return true;
  const bool ragged = a_.q_indptr.data != nullptr;
  const std::int64_t tokens = ragged ? index_at(a_.q_indptr, a_.B) : a_.Lq;
  if (no_rows() || tokens == 0) return false;
  return address(name, t.data, element_bytes(t.type)) ||
         strides(name, t.stride_batch, t.stride_head, t.stride_token, ragged ? 1 : a_.B, a_.Hq, tokens);
}

std::int64_t Checks::longest() const {
  if (a_.kv_indptr.data == nullptr && a_.kv_lengths.data == nullptr) return a_.Lkv;
  std::int64_t longest = 0;
  for (std::int64_t b = 0; b < a_.B && longest < a_.Lkv; ++b) longest = length(b) > longest ? length(b) : longest;
  return longest;
}

bool Checks::keys(const char* name, const heed_tensor& t, Types types, std::int64_t stride_token) {
  if (type(name, t.type, types)) return true;
  const bool ragged = a_.kv_indptr.data != nullptr;
  if (no_keys() || no_rows() || longest() == 0) return false;
  const std::int64_t batches = paged() ? a_.page_count : ragged ? 1 : a_.B;
  const std::int64_t tokens = paged() ? a_.page_size : ragged ? index_at(a_.kv_indptr, a_.B) : a_.Lkv;
  return address(name, t.data, element_bytes(t.type)) ||
         strides(name, t.stride_batch, t.stride_head, stride_token, batches, a_.Hkv, tokens);
}

bool Checks::scales(const char* name, const char* of, const heed_tensor& t, heed_type of_type) {
  if (of_type != HEED_INT8) {
    if (t.data != nullptr) return invalid("%s: is given although %s is not int8", name, of);
    return false;
  }
  return keys(name, t, only(HEED_F32), t.stride_token);
}

bool Checks::types() {
  return type("q", a_.q.type, kFloatTypes) || type("k", a_.k.type, kStoredTypes) ||
         type("v", a_.v.type, kStoredTypes) || type("out", a_.out.type, kFloatTypes);
}

bool Checks::out() {
  const heed_tensor_out& t = a_.out;
  const bool ragged = a_.q_indptr.data != nullptr;
  return rows("out", t) || overwrites("out", t.stride_batch, t.stride_head, t.stride_token, ragged ? 1 : a_.B, a_.Hq,
                                      ragged ? index_at(a_.q_indptr, a_.B) : a_.Lq);
}

bool Checks::panel_tensors() {
  if (a_.kv_panels == 0 || no_keys() || no_rows() || longest() == 0) return false;
  return panel_strides("k", a_.k, a_.D) || panel_strides("v", a_.v, (a_.Dv + kPanel - 1) / kPanel * kPanel);
}

bool Checks::tensors() {
  if (rows("q", a_.q) || keys("k", a_.k, kStoredTypes, key_stride(a_.k, a_.D)) ||
      keys("v", a_.v, kStoredTypes, key_stride(a_.v, a_.Dv)) || (a_.end == nullptr && out()) ||
      scales("k_scales", "k", a_.k_scales, a_.k.type) || scales("v_scales", "v", a_.v_scales, a_.v.type)) {
    return true;
  }
  const bool ragged = a_.q_indptr.data != nullptr;
  if (a_.lse != nullptr && a_.end == nullptr && !no_rows()) {
    const std::int64_t batches = ragged ? 1 : a_.B, tokens = ragged ? index_at(a_.q_indptr, a_.B) : a_.Lq;
    const std::int64_t batch = a_.lse_stride_batch, head = a_.lse_stride_head, token = a_.lse_stride_token;
    const bool contiguous = batch == 0 && head == 0 && token == 0;
    if (address("lse", a_.lse, 4) || strides("lse", batch, head, token, batches, a_.Hq, tokens) ||
        (!contiguous && overwrites("lse", batch, head, token, batches, a_.Hq, tokens))) {
      return true;
    }
  }
  if (a_.inspect.data == nullptr || no_rows() || a_.Lkv == 0) return false;
  if (a_.inspect_what < HEED_SCORES_SCALED || a_.inspect_what > HEED_WEIGHTS) {
    return invalid("inspect_what: %d is not a view", static_cast<int>(a_.inspect_what));
  }
  if (a_.inspect.type != HEED_F32) return invalid("inspect.type: must be f32");
  const heed_tensor_out& view = a_.inspect;
  return address("inspect", view.data, 4) ||
         strides("inspect", view.stride_batch, view.stride_head, view.stride_token, a_.B, a_.Hq, a_.Lq) ||
         overwrites("inspect", view.stride_batch, view.stride_head, view.stride_token, a_.B, a_.Hq, a_.Lq);
}

bool Checks::scores() {
  if (a_.has_scale != 0 && !std::isfinite(a_.scale)) return invalid("scale: must be finite");
  if (!(a_.softcap >= 0.0f) || std::isinf(a_.softcap)) return invalid("softcap: must be finite and not negative");
  if (a_.alibi_slopes != nullptr && address("alibi_slopes", a_.alibi_slopes, 4)) return true;
  if (a_.sinks != nullptr && address("sinks", a_.sinks, 4)) return true;
  if (a_.bias.data == nullptr || no_rows()) return false;
  return type("bias", a_.bias.type, kFloatTypes) || address("bias", a_.bias.data, element_bytes(a_.bias.type)) ||
         strides("bias", a_.bias.stride_batch, a_.bias.stride_head, a_.bias.stride_token, a_.B, a_.Hq, a_.Lq);
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
  return address("mask", a_.mask, 1) ||
         strides("mask", a_.mask_stride_batch, a_.mask_stride_head, a_.mask_stride_token, a_.B, a_.Hq, a_.Lq);
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
