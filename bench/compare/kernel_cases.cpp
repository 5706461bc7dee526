// The kernels one by one, on the numbers of a problem's first head. What one kernel takes from another (scores,
// weights) is computed by the reference and rounded, so that every row gets the same inputs.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "bounds.hpp"
#include "heed/reference.hpp"
#include "numbers.hpp"
#include "problem.hpp"

namespace heed::compare {
namespace {

constexpr std::int64_t kMostPairs = std::int64_t{1} << 20;  // rows beyond it are left out: they would show nothing new

struct Head {
  std::int64_t rows, n, D, Dv;
  float scale;
  std::vector<float> q, k, v, scores, weights;  // contiguous
};
using SharedHead = std::shared_ptr<const Head>;

std::vector<float> gather(const heed_tensor& tensor, std::int64_t tokens, std::int64_t D) {
  std::vector<float> rows;
  const float* data = static_cast<const float*>(tensor.data);
  for (std::int64_t t = 0; t < tokens; ++t)
    rows.insert(rows.end(), data + t * tensor.stride_token, data + t * tensor.stride_token + D);
  return rows;
}

SharedHead first_head(const heed_attention_args& args) {
  auto head = std::make_shared<Head>();
  head->rows = std::min(args.Lq, std::max<std::int64_t>(1, kMostPairs / std::max<std::int64_t>(1, args.Lkv)));
  head->n = args.Lkv;
  head->D = args.D;
  head->Dv = args.Dv;
  head->scale = args.has_scale ? args.scale : static_cast<float>(1 / std::sqrt(static_cast<double>(args.D)));
  head->q = gather(args.q, head->rows, args.D);
  head->k = gather(args.k, args.Lkv, args.D);
  head->v = gather(args.v, args.Lkv, args.Dv);
  std::vector<double> scores(static_cast<std::size_t>(head->rows * head->n));
  std::vector<double> weights(scores.size());
  reference::scores(head->q.data(), head->k.data(), head->rows, head->n, head->D, head->scale, scores.data());
  head->scores = to_floats(scores);
  for (std::int64_t r = 0; r < head->rows; ++r)
    reference::softmax(head->scores.data() + r * head->n, weights.data() + r * head->n, head->n);
  head->weights = to_floats(weights);
  return head;
}

Output output(const char* name, std::int64_t n, const Expectation& expected) {
  Output o;
  o.name = name;
  o.reference.resize(static_cast<std::size_t>(n));
  o.tolerance.resize(static_cast<std::size_t>(n));
  o.got.resize(static_cast<std::size_t>(n));
  if (expected.values.size() == static_cast<std::size_t>(n)) o.expected = expected.values;
  return o;
}

heed_matrix matrix(const std::vector<float>& data, std::int64_t rows, std::int64_t cols) {
  return {data.data(), rows, cols, 0, HEED_F32};
}
heed_matrix_out matrix_out(std::vector<float>& data, std::int64_t rows, std::int64_t cols) {
  return {data.data(), rows, cols, 0, HEED_F32};
}

// Query row 0 with each key: dot products of pairs.
Computation dots(SharedHead head) {
  Computation computation;
  computation.kernel = "dot";
  Output o = output("dot", head->rows > 0 ? head->n : 0, {});
  for (std::size_t j = 0; j < o.got.size(); ++j) {
    const float* k = head->k.data() + static_cast<std::int64_t>(j) * head->D;
    double magnitude = 0;
    for (std::int64_t d = 0; d < head->D; ++d)
      magnitude += std::fabs(static_cast<double>(head->q[static_cast<std::size_t>(d)]) * k[d]);
    o.reference[j] = reference::dot(head->q.data(), k, head->D);
    o.tolerance[j] = dot_bound(head->D, magnitude);
  }
  computation.outputs = {std::move(o)};
  computation.run = [head](std::vector<Output>& outputs, heed_status*) {
    std::vector<float>& got = outputs[0].got;
    for (std::size_t j = 0; j < got.size(); ++j)
      got[j] = heed_dot(head->q.data(), head->k.data() + static_cast<std::int64_t>(j) * head->D, head->D);
    return heed_code{HEED_OK};
  };
  return computation;
}

Computation scores(SharedHead head, const Expectation& expected) {
  Computation computation;
  computation.kernel = "scores";
  Output o = output("scores", head->rows * head->n, expected);
  std::vector<float> q = head->q, k = head->k;
  for (float& x : q) x = std::fabs(x);
  for (float& x : k) x = std::fabs(x);
  const double magnitude_scale = std::fabs(head->scale);
  reference::scores(q.data(), k.data(), head->rows, head->n, head->D, magnitude_scale, o.tolerance.data());
  for (double& bound : o.tolerance) bound = dot_bound(head->D + 1, bound);  // one rounding more: scale * q
  reference::scores(head->q.data(), head->k.data(), head->rows, head->n, head->D, head->scale, o.reference.data());
  computation.outputs = {std::move(o)};
  computation.run = [head](std::vector<Output>& outputs, heed_status* status) {
    const heed_matrix q_rows = matrix(head->q, head->rows, head->D), keys = matrix(head->k, head->n, head->D);
    const heed_matrix_out s = matrix_out(outputs[0].got, head->rows, head->n);
    return heed_scores(&q_rows, &keys, head->scale, &s, status);
  };
  return computation;
}

Computation softmax(SharedHead head, const KernelExpectations& expected) {
  Computation computation;
  computation.kernel = "softmax";
  Output weights = output("weights", head->rows * head->n, expected.weights);
  Output lse = output("lse", head->rows, expected.lse);
  for (std::int64_t r = 0; r < head->rows; ++r) {
    const float* x = head->scores.data() + r * head->n;
    double* w = weights.reference.data() + r * head->n;
    double* bound = weights.tolerance.data() + r * head->n;
    const auto row = static_cast<std::size_t>(r);
    lse.reference[row] = reference::softmax(x, w, head->n);
    lse.tolerance[row] = lse_bound(head->n, lse.reference[row]);
    const float largest = head->n ? *std::max_element(x, x + head->n) : 0.0f;
    for (std::int64_t j = 0; j < head->n; ++j)
      bound[j] = weight_bound(head->n, static_cast<double>(largest) - x[j], w[j]);
  }
  computation.outputs = {std::move(weights), std::move(lse)};
  computation.run = [head](std::vector<Output>& outputs, heed_status*) {
    for (std::int64_t r = 0; r < head->rows; ++r) {
      const std::int64_t first = r * head->n;
      outputs[1].got[static_cast<std::size_t>(r)] =
          heed_softmax(head->scores.data() + first, outputs[0].got.data() + first, head->n);
    }
    return heed_code{HEED_OK};
  };
  return computation;
}

// sum over j of w[j] |v[j][d]|, which the rounding errors of column d are proportional to.
double magnitude_of(const Head& head, const double* w, std::int64_t d) {
  double sum = 0;
  for (std::int64_t j = 0; j < head.n; ++j) sum += w[j] * std::fabs(head.v[static_cast<std::size_t>(j * head.Dv + d)]);
  return sum;
}

Computation weighted_sum(SharedHead head, const Expectation& expected) {
  Computation computation;
  computation.kernel = "weighted_sum";
  Output o = output("out", head->rows * head->Dv, expected);
  const std::vector<double> weights(head->weights.begin(), head->weights.end());
  for (std::int64_t r = 0; r < head->rows; ++r) {
    const double* w = weights.data() + r * head->n;
    reference::weighted_sum(w, head->v.data(), head->n, head->Dv, nullptr, o.reference.data() + r * head->Dv);
    for (std::int64_t d = 0; d < head->Dv; ++d)
      o.tolerance[static_cast<std::size_t>(r * head->Dv + d)] = sum_bound(head->n, magnitude_of(*head, w, d));
  }
  // A file's out comes from exact weights, these are rounded: one rounding more, which the bound's (n + 1) holds.
  computation.outputs = {std::move(o)};
  computation.run = [head](std::vector<Output>& outputs, heed_status* status) {
    const heed_matrix w = matrix(head->weights, head->rows, head->n), v = matrix(head->v, head->n, head->Dv);
    const heed_matrix_out out = matrix_out(outputs[0].got, head->rows, head->Dv);
    return heed_weighted_sum(&w, &v, nullptr, &out, status);
  };
  return computation;
}

Computation attend(SharedHead head, const KernelExpectations& expected) {
  Computation computation;
  computation.kernel = "attend";
  Output out = output("out", head->rows * head->Dv, expected.out);
  Output lse = output("lse", head->rows, expected.lse);
  std::vector<double> errors(static_cast<std::size_t>(head->n));
  for (std::int64_t r = 0; r < head->rows; ++r) {
    const float* s = head->scores.data() + r * head->n;
    const auto row = static_cast<std::size_t>(r);
    lse.reference[row] = reference::attend(s, head->v.data(), head->n, head->Dv, out.reference.data() + r * head->Dv);
    lse.tolerance[row] = lse_bound(head->n, lse.reference[row]);
    const float largest = head->n ? *std::max_element(s, s + head->n) : 0.0f;
    for (std::int64_t j = 0; j < head->n; ++j)
      errors[static_cast<std::size_t>(j)] =
          2 * weight_bound(head->n, 1.25 * (static_cast<double>(largest) - s[j]), std::exp(s[j] - lse.reference[row]));
    for (std::int64_t d = 0; d < head->Dv; ++d)
      out.tolerance[static_cast<std::size_t>(r * head->Dv + d)] =
          magnitude_of(*head, errors.data(), d) + dot_bound(head->n + 1, 0);
  }
  computation.outputs = {std::move(out), std::move(lse)};
  computation.run = [head](std::vector<Output>& outputs, heed_status* status) {
    const heed_matrix s = matrix(head->scores, head->rows, head->n), v = matrix(head->v, head->n, head->Dv);
    const heed_matrix_out o = matrix_out(outputs[0].got, head->rows, head->Dv);
    return heed_attend(&s, &v, &o, outputs[1].got.data(), status);
  };
  return computation;
}

}  // namespace

std::vector<Computation> kernel_computations(const Problem& problem, const KernelExpectations& expected) {
  std::vector<Computation> computations;
  if (problem.args.B == 0 || problem.args.Hq == 0) return computations;  // no head
  const SharedHead head = first_head(problem.args);
  computations.push_back(dots(head));
  computations.push_back(scores(head, expected.scores));
  computations.push_back(softmax(head, expected));
  computations.push_back(weighted_sum(head, expected.out));
  computations.push_back(attend(head, expected));
  return computations;
}

}  // namespace heed::compare
