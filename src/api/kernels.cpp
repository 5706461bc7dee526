#include <cinttypes>
#include <cmath>

#include "api/checks.hpp"
#include "api/memory.hpp"
#include "api/status.hpp"
#include "api/validate.hpp"
#include "driver/attention.hpp"
#include "driver/kernels.hpp"

using namespace heed;

namespace {

constexpr heed_allocator kDefaultAllocator{};

Rows rows_of(const heed_matrix& m) { return {m.data, m.rows, m.cols, m.stride == 0 ? m.cols : m.stride, m.type}; }
MutableRows rows_of(const heed_matrix_out& m) {
  return {static_cast<float*>(m.data), m.rows, m.cols, m.stride == 0 ? m.cols : m.stride};
}

heed_code check_equal(const char* a_name, std::int64_t a, const char* b_name, std::int64_t b, heed_status* status) {
  if (a == b) return HEED_OK;
  return api::fail(status, HEED_INVALID_ARGUMENT, "%s: is %" PRId64 ", must equal %s = %" PRId64, a_name, a, b_name, b);
}

heed_code out_of_memory(std::size_t bytes, heed_status* status) {
  return api::fail(status, HEED_OUT_OF_MEMORY, "malloc: no memory for %zu bytes", bytes);
}

// What attention's Dv is.
heed_code check_columns(const heed_matrix& v, heed_status* status) {
  if (v.cols <= api::kLargestDimension) return HEED_OK;
  return api::fail(status, HEED_INVALID_ARGUMENT, "v.cols: %" PRId64 " is more than 2^24", v.cols);
}

template <class... Matrices>
heed_code check_present(heed_status* status, const Matrices*... matrices) {
  if (((matrices != nullptr) && ...)) return HEED_OK;
  return api::fail(status, HEED_INVALID_ARGUMENT, "arguments: a matrix is null");
}

}  // namespace

float heed_dot(const float* a, const float* b, int64_t n) noexcept {
  if (n < 0 || (n > 0 && (a == nullptr || b == nullptr))) return __builtin_nanf("");
  return dispatch::table().dot[dispatch::f32](a, b, n);
}

float heed_softmax(const float* x, float* weights, int64_t n) noexcept {
  if (n < 0 || (n > 0 && (x == nullptr || weights == nullptr))) return __builtin_nanf("");
  return dispatch::table().softmax[dispatch::f32](x, weights, n);
}

heed_code heed_scores(const heed_matrix* q, const heed_matrix* k, float scale, const heed_matrix_out* s,
                      heed_status* status) noexcept {
  heed_code code = HEED_OK;
  const dispatch::Table* table = api::table_or_fail(status, &code);
  if (table == nullptr) return code;
  HEED_RETURN_IF_FAILED(check_present(status, q, k, s));
  HEED_RETURN_IF_FAILED(api::check_matrix(api::shape_of("q", *q), status, api::kFloatTypes));
  HEED_RETURN_IF_FAILED(api::check_matrix(api::shape_of("k", *k), status, api::kRoundedTypes));
  HEED_RETURN_IF_FAILED(api::check_matrix_out(api::shape_of("s", *s), status));
  HEED_RETURN_IF_FAILED(check_equal("k.cols", k->cols, "q.cols", q->cols, status));
  HEED_RETURN_IF_FAILED(check_equal("s.rows", s->rows, "q.rows", q->rows, status));
  HEED_RETURN_IF_FAILED(check_equal("s.cols", s->cols, "k.rows", k->rows, status));
  const std::size_t bytes = static_cast<std::size_t>(scores_floats(rows_of(*q))) * sizeof(float);
  api::Scratch scratch(kDefaultAllocator, bytes);
  if (scratch.data() == nullptr) return out_of_memory(bytes, status);
  run_scores(*table, rows_of(*q), rows_of(*k), scale, rows_of(*s), static_cast<float*>(scratch.data()));
  return api::succeed(status);
}

heed_code heed_weighted_sum(const heed_matrix* weights, const heed_matrix* v, const heed_matrix* accumulator,
                            const heed_matrix_out* out, heed_status* status) noexcept {
  heed_code code = HEED_OK;
  const dispatch::Table* table = api::table_or_fail(status, &code);
  if (table == nullptr) return code;
  HEED_RETURN_IF_FAILED(check_present(status, weights, v, out));
  HEED_RETURN_IF_FAILED(api::check_matrix(api::shape_of("weights", *weights), status));
  HEED_RETURN_IF_FAILED(api::check_matrix(api::shape_of("v", *v), status, api::kRoundedTypes));
  HEED_RETURN_IF_FAILED(api::check_matrix_out(api::shape_of("out", *out), status));
  HEED_RETURN_IF_FAILED(check_equal("v.rows", v->rows, "weights.cols", weights->cols, status));
  HEED_RETURN_IF_FAILED(check_equal("out.rows", out->rows, "weights.rows", weights->rows, status));
  HEED_RETURN_IF_FAILED(check_equal("out.cols", out->cols, "v.cols", v->cols, status));
  HEED_RETURN_IF_FAILED(check_columns(*v, status));
  Rows start{};
  if (accumulator != nullptr) {
    HEED_RETURN_IF_FAILED(api::check_matrix(api::shape_of("accumulator", *accumulator), status));
    HEED_RETURN_IF_FAILED(check_equal("accumulator.rows", accumulator->rows, "out.rows", out->rows, status));
    HEED_RETURN_IF_FAILED(check_equal("accumulator.cols", accumulator->cols, "out.cols", out->cols, status));
    start = rows_of(*accumulator);
  }
  alignas(64) float scratch[kWeightedSumFloats];
  run_weighted_sum(*table, rows_of(*weights), rows_of(*v), start, rows_of(*out), scratch);
  return api::succeed(status);
}

heed_code heed_attend(const heed_matrix* s, const heed_matrix* v, const heed_matrix_out* out, float* lse,
                      heed_status* status) noexcept {
  heed_code code = HEED_OK;
  const dispatch::Table* table = api::table_or_fail(status, &code);
  if (table == nullptr) return code;
  HEED_RETURN_IF_FAILED(check_present(status, s, v, out));
  HEED_RETURN_IF_FAILED(api::check_matrix(api::shape_of("s", *s), status));
  HEED_RETURN_IF_FAILED(api::check_matrix(api::shape_of("v", *v), status, api::kRoundedTypes));
  HEED_RETURN_IF_FAILED(api::check_matrix_out(api::shape_of("out", *out), status));
  HEED_RETURN_IF_FAILED(check_equal("v.rows", v->rows, "s.cols", s->cols, status));
  HEED_RETURN_IF_FAILED(check_equal("out.rows", out->rows, "s.rows", s->rows, status));
  HEED_RETURN_IF_FAILED(check_equal("out.cols", out->cols, "v.cols", v->cols, status));
  HEED_RETURN_IF_FAILED(check_columns(*v, status));
  if (lse != nullptr) HEED_RETURN_IF_FAILED(api::check_matrix({"lse", lse, s->rows, 1, 1, HEED_F32}, status));
  if (s->rows == 0) return api::succeed(status);

  // One head of attention whose scores are there already.
  heed_run run;
  Problem& problem = run.problem;
  problem = {};
  heed_attention_args& args = problem.args;
  args.B = args.Hq = args.Hkv = args.D = 1;
  args.Lq = s->rows;
  args.Lkv = s->cols;
  args.Dv = v->cols;
  // Without keys or columns a pointer may be null, which to the driver would mean that scores are to be computed, or
  // that a page is absent.
  static constexpr float kNothing = 0.0f;
  args.v = {v->cols == 0 ? &kNothing : v->data, 0, 0, rows_of(*v).stride, v->type};
  args.out = {out->data, 0, 0, rows_of(*out).stride, HEED_F32};
  args.lse = lse;
  args.lse_stride_token = 1;
  problem.group = 1;
  problem.scores = s->cols == 0 ? &kNothing : static_cast<const float*>(s->data);
  problem.scores_row = rows_of(*s).stride;
  run.table = table;
  Plan plan;
  make_plan(shape_of(args), plan);
  run.plan = &plan;
  std::int64_t workers = 0;
  const auto bytes = static_cast<std::size_t>(schedule_run(run, &workers));
  api::Scratch scratch(kDefaultAllocator, bytes);
  if (scratch.data() == nullptr) return out_of_memory(bytes, status);
  begin_run(run, scratch.data(), workers);
  (void)run_all(run);  // in this thread
  return api::succeed(status);
}

heed_code heed_convert(const heed_matrix* from, const heed_matrix_out* to, heed_status* status) noexcept {
  heed_code code = HEED_OK;
  const dispatch::Table* table = api::table_or_fail(status, &code);
  if (table == nullptr) return code;
  HEED_RETURN_IF_FAILED(check_present(status, from, to));
  HEED_RETURN_IF_FAILED(api::check_matrix(api::shape_of("from", *from), status, api::kRoundedTypes));
  HEED_RETURN_IF_FAILED(api::check_matrix_out(api::shape_of("to", *to), status, api::kRoundedTypes));
  HEED_RETURN_IF_FAILED(check_equal("to.rows", to->rows, "from.rows", from->rows, status));
  HEED_RETURN_IF_FAILED(check_equal("to.cols", to->cols, "from.cols", from->cols, status));
  run_convert(*table, rows_of(*from), to->data, to->type, rows_of(*to).stride);
  return api::succeed(status);
}

heed_code heed_quantize_int8(const heed_matrix* x, int8_t* codes, int64_t codes_stride, float* scales,
                             heed_status* status) noexcept {
  HEED_RETURN_IF_FAILED(api::check_isa(status));
  HEED_RETURN_IF_FAILED(check_present(status, x));
  HEED_RETURN_IF_FAILED(api::check_matrix(api::shape_of("x", *x), status));
  const int64_t stride = codes_stride == 0 ? x->cols : codes_stride;
  HEED_RETURN_IF_FAILED(
      api::check_matrix_out({"codes", codes, x->rows, x->cols, stride, HEED_INT8}, status, api::only(HEED_INT8)));
  HEED_RETURN_IF_FAILED(api::check_matrix({"scales", scales, x->rows, 1, 1, HEED_F32}, status));
  quantize_rows(rows_of(*x), codes, stride, scales);
  return api::succeed(status);
}

heed_code heed_alibi_slopes(int64_t heads, float* slopes, heed_status* status) noexcept {
  HEED_RETURN_IF_FAILED(api::check_isa(status));
  if (heads < 0) return api::fail(status, HEED_INVALID_ARGUMENT, "heads: is %" PRId64 ", must be at least 0", heads);
  if (heads > 0 && slopes == nullptr) return api::fail(status, HEED_INVALID_ARGUMENT, "slopes: is null");
  int64_t power = 1;  // the largest power of two <= heads
  while (power <= heads / 2) power *= 2;
  for (int64_t h = 0; h < heads; ++h) {
    const double exponent = h < power ? -8.0 * static_cast<double>(h + 1) / static_cast<double>(power)
                                      : -4.0 * static_cast<double>(2 * (h - power) + 1) / static_cast<double>(power);
    slopes[h] = static_cast<float>(std::exp2(exponent));
  }
  return api::succeed(status);
}
