#include "api/validate.hpp"

#include <cstddef>
#include <cstring>

#include "api/checks.hpp"

namespace heed::api {

bool Checks::sizes() {
  if (at_least("B", a_.B, 0) || at_least("Hq", a_.Hq, 0) || at_least("Hkv", a_.Hkv, 0) || at_least("Lq", a_.Lq, 0) ||
      at_least("Lkv", a_.Lkv, 0) || at_least("D", a_.D, 1) || at_least("Dv", a_.Dv, 1)) {
    return true;
  }
  if (a_.D > kLargestDimension) return invalid("D: %" PRId64 " is more than 2^24", a_.D);
  if (a_.Dv > kLargestDimension) return invalid("Dv: %" PRId64 " is more than 2^24", a_.Dv);
  const bool small = ((a_.B | a_.Hq | a_.Hkv | a_.Lq | a_.Lkv | a_.D | a_.Dv) >> 15) == 0;  // four of them: below 2^60
  return !small && (product("Lq", a_.Lq) || product("Lkv", a_.Lkv));
}

// All elements of a tensor of `length` tokens can be counted, as if no axis were empty: strides are products of some of
// the axes. The factor that makes them too many is named.
bool Checks::product(const char* name, std::int64_t length) {
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
    if (factor.value == 0) continue;
    if (count > kLargestExtent / factor.value) {
      return invalid("%s: %" PRId64 " is too large: the problem has more than 2^60 elements", factor.name,
                     factor.value);
    }
    count *= factor.value;
  }
  return false;
}

bool Checks::heads() {
  if (a_.Hq == 0) return false;
  if (a_.Hkv == 0) return invalid("Hkv: is 0 while Hq is %" PRId64, a_.Hq);
  if (a_.Hq % a_.Hkv != 0) return invalid("Hq: %" PRId64 " is not a multiple of Hkv = %" PRId64, a_.Hq, a_.Hkv);
  return false;
}

namespace {

// The first version ended where the rows of tables begin now.
constexpr std::size_t kFirstVersionBytes = offsetof(heed_attention_args, table_rows);

constexpr std::size_t kStructAlignment = 8, kMostNewerBytes = 1 << 16;
static_assert(alignof(heed_attention_args) == kStructAlignment && alignof(heed_cache_config) == kStructAlignment);

// Copies the caller's struct: fields that it is too old to know are zero; fields that it is too new for must be zero.
heed_code copy_args(const heed_attention_args* args, heed_attention_args* copy, heed_status* status) {
  if (args == nullptr) return fail(status, HEED_INVALID_ARGUMENT, "args: is null");
  const std::size_t size = args->struct_size;
  if (size == 0) return fail(status, HEED_INVALID_ARGUMENT, "struct_size: is 0, set it to sizeof(heed_attention_args)");
  if (size < kFirstVersionBytes) {
    return fail(status, HEED_INVALID_ARGUMENT, "struct_size: %zu is smaller than the first version's struct", size);
  }
  if (const heed_code code = check_newer(args, sizeof *args, size, status); code != HEED_OK) return code;
  std::size_t known = size < sizeof *copy ? size : sizeof *copy;
  asm("" : "+r"(known));  // not a constant: the C library's memcpy is faster than what GCC puts in its place
  std::memcpy(static_cast<void*>(copy), args, known);
  std::memset(reinterpret_cast<unsigned char*>(copy) + known, 0, sizeof *copy - known);
  return HEED_OK;
}

}  // namespace

heed_code check_newer(const void* data, std::size_t known, std::size_t size, heed_status* status) {
  // A size inside a field would leave half a pointer, and one that nobody set is not to be followed into foreign
  // memory.
  if (size % kStructAlignment != 0 || size > known + kMostNewerBytes) {
    return fail(status, HEED_INVALID_ARGUMENT, "struct_size: %zu is the size of no version's struct", size);
  }
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (std::size_t i = known; i < size; ++i) {
    if (bytes[i] == 0) continue;
    return fail(status, HEED_UNSUPPORTED, "struct_size: byte %zu of the struct is set, and newer than this library", i);
  }
  return HEED_OK;
}

heed_code make_problem(const heed_attention_args* args, Problem* problem, heed_status* status, bool items) {
  if (const heed_code code = copy_args(args, &problem->args, status); code != HEED_OK) return code;
  heed_attention_args& a = problem->args;
  if (items) a.executor = {};
  if (!is_plain(a)) HEED_RETURN_IF_FAILED(Checks(a, status).run());
  if (a.lse_stride_batch == 0 && a.lse_stride_head == 0 && a.lse_stride_token == 0) {  // the default: contiguous
    const bool ragged = a.q_indptr.data != nullptr;                                    // then [token][Hq]
    a.lse_stride_batch = a.Hq * a.Lq;
    a.lse_stride_head = ragged ? 1 : a.Lq;
    a.lse_stride_token = ragged ? a.Hq : 1;
  }
  problem->scores = nullptr;
  problem->has_start = a.start != nullptr;
  problem->has_end = a.end != nullptr;
  if (a.start != nullptr) (void)check_state("start", a.start, &problem->start, nullptr);
  if (a.end != nullptr) (void)check_state("end", a.end, &problem->end, nullptr);
  problem->group = group_of(a);
  problem->scale = scale_of(a);
  return HEED_OK;
}

heed_code check_plan_args(const heed_attention_args* args, heed_attention_args* copy, heed_status* status) {
  if (const heed_code code = copy_args(args, copy, status); code != HEED_OK) return code;
  return Checks(*copy, status).run_for_plan();
}

heed_code check_address(const char* name, const char* part, const void* data, std::int64_t element_bytes,
                        heed_status* status) {
  if (data == nullptr) return fail(status, HEED_INVALID_ARGUMENT, "%s%s: is null", name, part);
  if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(element_bytes) != 0) {
    return fail(status, HEED_INVALID_ARGUMENT, "%s%s: the address is not a multiple of the element's size", name, part);
  }
  return HEED_OK;
}

heed_code check_matrix(const MatrixShape& m, heed_status* status, Types types) {
  if (!is_one_of(m.type, types)) {
    return fail(status, HEED_INVALID_ARGUMENT, "%s.type: %d is not a type%s", m.name, static_cast<int>(m.type),
                is_type(m.type) ? " that it may have" : "");
  }
  if (m.rows < 0)
    return fail(status, HEED_INVALID_ARGUMENT, "%s.rows: is %" PRId64 ", must be at least 0", m.name, m.rows);
  if (m.cols < 0)
    return fail(status, HEED_INVALID_ARGUMENT, "%s.cols: is %" PRId64 ", must be at least 0", m.name, m.cols);
  const std::int64_t stride = m.stride == 0 ? m.cols : m.stride;
  // Of nothing, too: loops count rows.
  if (m.rows > kLargestExtent)
    return fail(status, HEED_INVALID_ARGUMENT, "%s.rows: %" PRId64 " is more than 2^60", m.name, m.rows);
  HEED_RETURN_IF_FAILED(check_reach(m.name, {{1, 0}, {1, 0}, {m.rows, stride}, m.cols}, status));
  if (m.rows == 0 || m.cols == 0) return HEED_OK;
  return check_address(m.name, ".data", m.data, element_bytes(m.type), status);
}

heed_code check_matrix_out(const MatrixShape& m, heed_status* status, Types types) {
  HEED_RETURN_IF_FAILED(check_matrix(m, status, types));
  if (m.stride == 0 || m.rows < 2 || m.stride >= m.cols || m.stride <= -m.cols) return HEED_OK;
  return fail(status, HEED_INVALID_ARGUMENT,
              "%s.stride: is %" PRId64 " for %" PRId64 " columns, so that results would be written over each other",
              m.name, m.stride, m.cols);
}

}  // namespace heed::api
