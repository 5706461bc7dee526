#include "api/validate.hpp"

#include <cinttypes>
#include <cmath>

#include "api/status.hpp"

namespace heed::api {
namespace {

constexpr std::int64_t kLargestDimension = std::int64_t{1} << 24;
constexpr std::int64_t kLargestExtent = std::int64_t{1} << 60;  // elements: their bytes still fit
constexpr std::int64_t kLargestPosition = std::int64_t{1} << 61;
constexpr std::int32_t kMostThreads = 4096;

// One error ends the checks: each returns true when it has failed.
class Checks {
 public:
  Checks(const heed_attention_args& args, heed_status* status) : a_(args), status_(status) {}

  heed_code run() {
    if (sizes() || heads() || tensors() || options() || later() || calls()) return code_;
    return HEED_OK;
  }

 private:
  bool invalid(const char* message) {
    code_ = fail(status_, HEED_INVALID_ARGUMENT, "%s", message);
    return true;
  }

  template <class... Values>
  bool invalid(const char* format, Values... values) {
    code_ = fail(status_, HEED_INVALID_ARGUMENT, format, values...);
    return true;
  }

  bool unsupported(const char* what) {
    code_ = fail(status_, HEED_UNSUPPORTED, "%s: not supported by this version", what);
    return true;
  }

  bool at_least(const char* name, std::int64_t value, std::int64_t least) {
    if (value >= least) return false;
    return invalid("%s: is %" PRId64 ", must be at least %" PRId64, name, value, least);
  }

  bool sizes() {
    if (at_least("B", a_.B, 0) || at_least("Hq", a_.Hq, 0) || at_least("Hkv", a_.Hkv, 0) || at_least("Lq", a_.Lq, 0) ||
        at_least("Lkv", a_.Lkv, 0) || at_least("D", a_.D, 1) || at_least("Dv", a_.Dv, 1)) {
      return true;
    }
    if (a_.D > kLargestDimension) return invalid("D: %" PRId64 " is more than 2^24", a_.D);
    if (a_.Dv > kLargestDimension) return invalid("Dv: %" PRId64 " is more than 2^24", a_.Dv);
    return product("Lq", a_.Lq) || product("Lkv", a_.Lkv);
  }

  // All elements of a tensor of `length` tokens can be counted. The factor that makes them too many is named.
  bool product(const char* name, std::int64_t length) {
    struct Factor {
      const char* name;
      std::int64_t value;
    };
    const Factor factors[] = {{"B", a_.B},
                              a_.Hq > a_.Hkv ? Factor{"Hq", a_.Hq} : Factor{"Hkv", a_.Hkv},
                              {name, length},
                              a_.D > a_.Dv ? Factor{"D", a_.D} : Factor{"Dv", a_.Dv}};
    std::int64_t count = 1;
    for (const Factor& factor : factors) {
      if (factor.value == 0) return false;
      if (count > kLargestExtent / factor.value) {
        return invalid("%s: %" PRId64 " is too large: the problem has more than 2^60 elements", factor.name,
                       factor.value);
      }
      count *= factor.value;
    }
    return false;
  }

  bool heads() {
    if (a_.Hq == 0) return false;
    if (a_.Hkv == 0) return invalid("Hkv: is 0 while Hq is %" PRId64, a_.Hq);
    if (a_.Hq % a_.Hkv != 0) return invalid("Hq: %" PRId64 " is not a multiple of Hkv = %" PRId64, a_.Hq, a_.Hkv);
    return false;
  }

  bool type(const char* name, heed_type type) {
    if (type < HEED_F32 || type > HEED_INT8) return invalid("%s.type: %d is not a type", name, static_cast<int>(type));
    if (type != HEED_F32) {
      code_ = fail(status_, HEED_UNSUPPORTED, "%s.type: only f32 is supported by this version", name);
      return true;
    }
    return false;
  }

  bool address(const char* name, const void* data) {
    if (data == nullptr) return invalid("%s.data: is null", name);
    if (reinterpret_cast<std::uintptr_t>(data) % alignof(float) != 0) {
      return invalid("%s.data: the address is not a multiple of the element's size", name);
    }
    return false;
  }

  // The farthest element is less than 2^60 elements away.
  bool strides(const char* name, std::int64_t batch, std::int64_t head, std::int64_t token, std::int64_t heads,
               std::int64_t tokens) {
    std::int64_t reach = 0;
    const std::int64_t axes[3][2] = {{batch, a_.B}, {head, heads}, {token, tokens}};
    for (const auto& [stride, count] : axes) {
      std::int64_t distance = 0;
      if (__builtin_mul_overflow(stride, count - 1, &distance) || distance <= -kLargestExtent ||
          distance >= kLargestExtent || __builtin_add_overflow(reach, distance < 0 ? -distance : distance, &reach) ||
          reach >= kLargestExtent) {
        return invalid("%s.stride: the tensor reaches further than 2^60 elements", name);
      }
    }
    return false;
  }

  template <class Tensor>
  bool tensor(const char* name, const Tensor& t, std::int64_t heads, std::int64_t tokens) {
    if (type(name, t.type)) return true;
    if (a_.B == 0 || heads == 0 || tokens == 0) return false;
    return address(name, t.data) || strides(name, t.stride_batch, t.stride_head, t.stride_token, heads, tokens);
  }

  bool tensors() {
    if (tensor("q", a_.q, a_.Hq, a_.Lq) || tensor("k", a_.k, a_.Hkv, a_.Lkv) || tensor("v", a_.v, a_.Hkv, a_.Lkv) ||
        tensor("out", a_.out, a_.Hq, a_.Lq)) {
      return true;
    }
    if (a_.lse == nullptr || a_.B == 0 || a_.Hq == 0 || a_.Lq == 0) return false;
    return address("lse", a_.lse) ||
           strides("lse", a_.lse_stride_batch, a_.lse_stride_head, a_.lse_stride_token, a_.Hq, a_.Lq);
  }

  bool options() {
    if (a_.has_scale != 0 && !std::isfinite(a_.scale)) return invalid("scale: must be finite");
    if (!(a_.softcap >= 0.0f) || std::isinf(a_.softcap)) return invalid("softcap: must be finite and not negative");
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
    return false;
  }

  // What the struct has a place for and this version does not serve.
  bool later() {
    if (a_.softcap != 0.0f) return unsupported("softcap");
    if (a_.alibi_slopes != nullptr) return unsupported("alibi_slopes");
    if (a_.bias.data != nullptr) return unsupported("bias");
    if (a_.score_callback != nullptr) return unsupported("score_callback");
    if (a_.has_window != 0) return unsupported("window");
    if (a_.kv_lengths.data != nullptr) return unsupported("kv_lengths");
    if (a_.key_begin.data != nullptr) return unsupported("key_begin");
    if (a_.key_offset.data != nullptr) return unsupported("key_offset");
    if (a_.mask_kind != HEED_NO_MASK) return unsupported("mask");
    if (a_.mask_callback != nullptr) return unsupported("mask_callback");
    if (a_.k_scales.data != nullptr) return unsupported("k_scales");
    if (a_.v_scales.data != nullptr) return unsupported("v_scales");
    if (a_.q_indptr.data != nullptr) return unsupported("q_indptr");
    if (a_.kv_indptr.data != nullptr) return unsupported("kv_indptr");
    if (a_.block_table.data != nullptr) return unsupported("block_table");
    if (a_.page_indices.data != nullptr) return unsupported("page_indices");
    if (a_.inspect.data != nullptr) return unsupported("inspect");
    return false;
  }

  bool calls() {
    if (a_.executor.threads < 0 || a_.executor.threads > kMostThreads) {
      return invalid("executor.threads: %d is not between 0 and %d", static_cast<int>(a_.executor.threads),
                     static_cast<int>(kMostThreads));
    }
    if (a_.executor.threads > 1 && a_.executor.parallel_for == nullptr) {
      return invalid("executor.parallel_for: is null while threads is %d", static_cast<int>(a_.executor.threads));
    }
    if ((a_.allocator.allocate == nullptr) != (a_.allocator.release == nullptr)) {
      return invalid("allocator: allocate and release must be given together");
    }
    return false;
  }

  const heed_attention_args& a_;
  heed_status* status_;
  heed_code code_ = HEED_OK;
};

// Copies the caller's struct: fields that it is too old to know are zero; fields that it is too new for must be zero.
heed_code copy_args(const heed_attention_args* args, heed_attention_args* copy, heed_status* status) {
  if (args == nullptr) return fail(status, HEED_INVALID_ARGUMENT, "args: is null");
  const std::size_t size = args->struct_size;
  if (size == 0) return fail(status, HEED_INVALID_ARGUMENT, "struct_size: is 0, set it to sizeof(heed_attention_args)");
  if (size < sizeof(heed_attention_args)) {
    return fail(status, HEED_INVALID_ARGUMENT, "struct_size: %zu is smaller than the first version's struct", size);
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(args);
  for (std::size_t i = sizeof(heed_attention_args); i < size; ++i) {
    if (bytes[i] != 0) {
      return fail(status, HEED_UNSUPPORTED, "struct_size: byte %zu of the struct is set, and newer than this library",
                  i);
    }
  }
  *copy = *args;
  return HEED_OK;
}

}  // namespace

heed_code make_problem(const heed_attention_args* args, Problem* problem, heed_status* status) {
  if (const heed_code code = copy_args(args, &problem->args, status); code != HEED_OK) return code;
  heed_attention_args& a = problem->args;
  if (const heed_code code = Checks(a, status).run(); code != HEED_OK) return code;
  if (a.lse_stride_batch == 0 && a.lse_stride_head == 0 && a.lse_stride_token == 0) {  // the default: contiguous
    a.lse_stride_batch = a.Hq * a.Lq;
    a.lse_stride_head = a.Lq;
    a.lse_stride_token = 1;
  }
  problem->group = a.Hkv > 0 ? a.Hq / a.Hkv : 0;
  problem->scale = a.has_scale != 0 ? a.scale : static_cast<float>(1.0 / std::sqrt(static_cast<double>(a.D)));
  return HEED_OK;
}

heed_code check_matrix(const MatrixShape& m, heed_status* status) {
  if (m.type < HEED_F32 || m.type > HEED_INT8) {
    return fail(status, HEED_INVALID_ARGUMENT, "%s.type: %d is not a type", m.name, static_cast<int>(m.type));
  }
  if (m.type != HEED_F32) {
    return fail(status, HEED_UNSUPPORTED, "%s.type: only f32 is supported by this version", m.name);
  }
  if (m.rows < 0)
    return fail(status, HEED_INVALID_ARGUMENT, "%s.rows: is %" PRId64 ", must be at least 0", m.name, m.rows);
  if (m.cols < 0)
    return fail(status, HEED_INVALID_ARGUMENT, "%s.cols: is %" PRId64 ", must be at least 0", m.name, m.cols);
  const std::int64_t stride = m.stride == 0 ? m.cols : m.stride;
  std::int64_t reach = 0;
  if (m.rows > kLargestExtent || m.cols > kLargestExtent ||
      (m.rows > 1 &&
       (__builtin_mul_overflow(stride, m.rows - 1, &reach) || reach >= kLargestExtent || reach <= -kLargestExtent))) {
    return fail(status, HEED_INVALID_ARGUMENT, "%s: reaches further than 2^60 elements", m.name);
  }
  if (m.rows == 0 || m.cols == 0) return HEED_OK;
  if (m.data == nullptr) return fail(status, HEED_INVALID_ARGUMENT, "%s.data: is null", m.name);
  if (reinterpret_cast<std::uintptr_t>(m.data) % alignof(float) != 0) {
    return fail(status, HEED_INVALID_ARGUMENT, "%s.data: the address is not a multiple of the element's size", m.name);
  }
  return HEED_OK;
}

}  // namespace heed::api
