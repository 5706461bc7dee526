// Every rule that an argument must keep, with the message for a caller who broke it.
#pragma once

#include "api/strides.hpp"
#include "plan/problem.hpp"

namespace heed::api {

// Fills problem from args; or returns the error, with nothing else done.
// items: whoever calls runs the items, so no executor is needed.
heed_code make_problem(const heed_attention_args* args, Problem* problem, heed_status* status, bool items = false);

// No rule is broken, as a glance shows: small sizes, ordinary strides, no layout, mask, bias, scales or states. Else
// make_problem looks at every rule. struct_size isn't looked at.
bool is_plain(const heed_attention_args& args);

// Fields that a struct's caller knows and this library doesn't must be zero.
heed_code check_newer(const void* data, std::size_t known, std::size_t size, heed_status* status);

// Checks what a plan looks at, and copies it.
heed_code check_plan_args(const heed_attention_args* args, heed_attention_args* copy, heed_status* status);

// "name" + "part: ..." unless it is there and aligned to its elements.
heed_code check_address(const char* name, const char* part, const void* data, std::int64_t element_bytes,
                        heed_status* status);
inline heed_code check_floats(const char* name, const float* data, heed_status* status) {
  return check_address(name, "", data, sizeof(float), status);
}
heed_code check_sizes(std::int64_t B, std::int64_t Hq, std::int64_t Lq, std::int64_t Dv, const char* prefix,
                      heed_status* status);

// copy: the state with its strides filled in. One that is written must not overlap itself.
heed_code check_state(const char* name, const heed_state* state, heed_state* copy, heed_status* status);
heed_code check_state_out(const char* name, const heed_state* state, heed_state* copy, heed_status* status);
Axes axes_of(const heed_state& state);  // of m and l

// Which types an argument may have: a bit for each.
using Types = std::uint32_t;
constexpr Types only(heed_type type) { return Types{1} << type; }
inline constexpr Types kFloatTypes = only(HEED_F32) | only(HEED_F16) | only(HEED_BF16);
inline constexpr Types kRoundedTypes = kFloatTypes | only(HEED_FP8_E4M3) | only(HEED_FP8_E5M2);
inline constexpr Types kStoredTypes = kRoundedTypes | only(HEED_INT8);

inline constexpr const char* kTypeNames[] = {"f32", "f16", "bf16", "int8", "fp8 e4m3", "fp8 e5m2"};
constexpr bool is_type(heed_type type) { return type >= HEED_F32 && type <= HEED_FP8_E5M2; }
constexpr bool is_one_of(heed_type type, Types types) { return is_type(type) && (types & only(type)) != 0; }

// The parts that the kernels' arguments share.
struct MatrixShape {
  const char* name;
  const void* data;
  std::int64_t rows, cols, stride;
  heed_type type;
};
heed_code check_matrix(const MatrixShape& matrix, heed_status* status, Types types = only(HEED_F32));
heed_code check_matrix_out(const MatrixShape& matrix, heed_status* status, Types types = only(HEED_F32));

inline MatrixShape shape_of(const char* name, const heed_matrix& m) {
  return {name, m.data, m.rows, m.cols, m.stride, m.type};
}
inline MatrixShape shape_of(const char* name, const heed_matrix_out& m) {
  return {name, m.data, m.rows, m.cols, m.stride, m.type};
}

}  // namespace heed::api
