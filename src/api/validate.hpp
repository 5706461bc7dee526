// Every rule that an argument must keep, with the message for a caller who broke it.
#pragma once

#include "plan/problem.hpp"

namespace heed::api {

// Fills problem from args; or returns the error, with nothing else done.
heed_code make_problem(const heed_attention_args* args, Problem* problem, heed_status* status);

// The parts that the kernels' arguments share.
struct MatrixShape {
  const char* name;
  const void* data;
  std::int64_t rows, cols, stride;
  heed_type type;
};
// last: the last type (in the order of heed_type) that the matrix may have.
heed_code check_matrix(const MatrixShape& matrix, heed_status* status, heed_type last = HEED_F32);

inline MatrixShape shape_of(const char* name, const heed_matrix& m) {
  return {name, m.data, m.rows, m.cols, m.stride, m.type};
}
inline MatrixShape shape_of(const char* name, const heed_matrix_out& m) {
  return {name, m.data, m.rows, m.cols, m.stride, m.type};
}

}  // namespace heed::api
