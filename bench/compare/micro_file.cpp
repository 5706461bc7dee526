// Files for single kernels: ragged rows of dot products and softmaxes, weighted sums, joined partial results, and
// softmax along an axis.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "bounds.hpp"
#include "file_case.hpp"
#include "heed/reference.hpp"
#include "numbers.hpp"

namespace heed::compare {
namespace {

// The numbers of a tensor as floats, which hold those of every smaller type: dot and softmax have no argument for one.
std::shared_ptr<const std::vector<float>> widened(const Safetensors& file, const std::string& name) {
  const Tensor& tensor = tensor_of(file, name);
  auto x = std::make_shared<std::vector<float>>(static_cast<std::size_t>(tensor.elements));
  const heed_matrix from{tensor.bytes.data(), 1, tensor.elements, 0, type_of(tensor, name)};
  const heed_matrix_out to{x->data(), 1, tensor.elements, 0, HEED_F32};
  heed_status status;
  if (heed_convert(&from, &to, &status) != HEED_OK) throw Unsupported(status.message);
  return x;
}

// Row r is [offsets[r], offsets[r + 1]).
std::vector<std::int64_t> row_offsets(const Safetensors& file, std::int64_t elements) {
  const std::vector<std::int64_t> offsets = integers(tensor_of(file, "offset"), "offset");
  const bool ends = !offsets.empty() && offsets.front() == 0 && offsets.back() == elements;
  if (!ends || !std::is_sorted(offsets.begin(), offsets.end()))
    throw FileError("tensor 'offset': not the beginnings of rows");
  return offsets;
}

Output output(const char* name, std::size_t n, std::vector<double> expected) {
  if (expected.size() != n) throw FileError(std::string("tensor '") + name + "': its size does not fit");
  return {name, std::vector<double>(n), std::move(expected), std::vector<double>(n), std::vector<float>(n)};
}

std::vector<double> expected_of(const Safetensors& file, const std::string& name) {
  return doubles(tensor_of(file, name), name);
}

Computation dot(const Safetensors& file, const Attributes&) {
  const auto a = widened(file, "a"), b = widened(file, "b");
  if (a->size() != b->size()) throw FileError("tensors 'a' and 'b' differ in size");
  const auto offsets = row_offsets(file, static_cast<std::int64_t>(a->size()));
  Computation computation;
  computation.kernel = "dot";
  Output y = output("y", offsets.size() - 1, expected_of(file, "y"));
  for (std::size_t r = 0; r + 1 < offsets.size(); ++r) {
    const std::int64_t first = offsets[r], n = offsets[r + 1] - first;
    double magnitude = 0;
    for (std::int64_t i = first; i < first + n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      magnitude += std::fabs(static_cast<double>((*a)[at]) * (*b)[at]);
    }
    y.reference[r] = reference::dot(a->data() + first, b->data() + first, n);
    y.tolerance[r] = dot_bound(n, magnitude);
  }
  computation.outputs = {std::move(y)};
  computation.run = [a, b, offsets](std::vector<Output>& outputs, heed_status*) {
    for (std::size_t r = 0; r + 1 < offsets.size(); ++r)
      outputs[0].got[r] = heed_dot(a->data() + offsets[r], b->data() + offsets[r], offsets[r + 1] - offsets[r]);
    return heed_code{HEED_OK};
  };
  return computation;
}

// Reference and tolerances of one row of a softmax.
void expect_softmax(const float* x, std::int64_t n, double* weights, double* tolerance, double* lse) {
  *lse = reference::softmax(x, weights, n);
  double largest = -std::numeric_limits<double>::infinity();
  for (std::int64_t j = 0; j < n; ++j) largest = std::max<double>(largest, x[j]);
  for (std::int64_t j = 0; j < n; ++j) {
    // With x_j = max = -inf or a NaN the weight is exact: 0 or NaN.
    const double below_max = largest - x[j];
    tolerance[j] = std::isnan(below_max) ? 0 : weight_bound(n, below_max, weights[j]);
  }
}

Computation softmax_rows(const Safetensors& file, const Attributes&) {
  const auto x = widened(file, "x");
  const auto offsets = row_offsets(file, static_cast<std::int64_t>(x->size()));
  Computation computation;
  computation.kernel = "softmax";
  Output p = output("p", x->size(), expected_of(file, "p"));
  Output lse = output("lse", offsets.size() - 1, expected_of(file, "lse"));
  for (std::size_t r = 0; r + 1 < offsets.size(); ++r) {
    const std::int64_t first = offsets[r], n = offsets[r + 1] - first;
    expect_softmax(x->data() + first, n, p.reference.data() + first, p.tolerance.data() + first, &lse.reference[r]);
    lse.tolerance[r] = lse_bound(n, lse.reference[r]);
  }
  computation.outputs = {std::move(p), std::move(lse)};
  computation.run = [x, offsets](std::vector<Output>& outputs, heed_status*) {
    for (std::size_t r = 0; r + 1 < offsets.size(); ++r)
      outputs[1].got[r] =
          heed_softmax(x->data() + offsets[r], outputs[0].got.data() + offsets[r], offsets[r + 1] - offsets[r]);
    return heed_code{HEED_OK};
  };
  return computation;
}

// x of shape [outer, n, inner], softmax over n: rows with a stride, gathered into contiguous ones.
Computation onnx_softmax(const Safetensors& file, const Attributes& attributes) {
  const Tensor& tensor = tensor_of(file, "x");
  const auto x = widened(file, "x");
  const auto rank = static_cast<std::int64_t>(tensor.shape.size());
  const std::int64_t axis = attributes.integer("axis", -1) + (attributes.integer("axis", -1) < 0 ? rank : 0);
  if (axis < 0 || axis >= rank) throw FileError("attribute axis: no such axis");
  const std::int64_t n = tensor.shape[static_cast<std::size_t>(axis)];
  std::int64_t inner = 1;
  for (std::int64_t a = axis + 1; a < rank; ++a) inner *= tensor.shape[static_cast<std::size_t>(a)];

  const auto y = expected_of(file, "y");
  if (y.size() != x->size()) throw FileError("tensor 'y': its size does not fit");
  const std::int64_t rows = n == 0 ? 0 : tensor.elements / n;
  auto gathered = std::make_shared<std::vector<float>>();
  std::vector<double> expected;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t j = 0; j < n; ++j) {
      const auto at = static_cast<std::size_t>(((r / inner) * n + j) * inner + r % inner);
      gathered->push_back((*x)[at]);
      expected.push_back(y[at]);
    }
  }
  Computation computation;
  computation.kernel = "softmax";
  Output weights = output("y", gathered->size(), std::move(expected));
  double lse = 0;
  for (std::int64_t r = 0; r < rows; ++r)
    expect_softmax(gathered->data() + r * n, n, weights.reference.data() + r * n, weights.tolerance.data() + r * n,
                   &lse);
  if (attributes.has("atol_y")) weights.tolerance = {attributes.number("atol_y", 0)};
  computation.outputs = {std::move(weights)};
  computation.run = [gathered, rows, n](std::vector<Output>& outputs, heed_status*) {
    for (std::int64_t r = 0; r < rows; ++r) heed_softmax(gathered->data() + r * n, outputs[0].got.data() + r * n, n);
    return heed_code{HEED_OK};
  };
  return computation;
}

// out = alpha * acc + sum of w * v. heed's accumulator has no factor: alpha * acc is rounded once, here.
Computation weighted_sum(const Safetensors& file, const Attributes&) {
  const Tensor& v = tensor_of(file, "v");
  const heed_type type = type_of(v, "v");
  if (v.shape.size() != 2) throw FileError("tensor 'v': not a matrix");
  const std::int64_t n = v.shape[0], Dv = v.shape[1];
  const auto w = std::make_shared<const std::vector<float>>(floats(tensor_of(file, "w", {n}), "w"));
  const std::vector<float> acc = floats(tensor_of(file, "acc", {Dv}), "acc");
  const float alpha = floats(tensor_of(file, "alpha", {1}), "alpha")[0];
  auto accumulator = std::make_shared<std::vector<float>>(acc);
  for (float& a : *accumulator) a *= alpha;
  const auto rows = std::make_shared<const std::vector<std::byte>>(v.bytes);

  Computation computation;
  computation.kernel = "weighted_sum";
  Output out = output("out", static_cast<std::size_t>(Dv), expected_of(file, "out"));
  const std::vector<double> wide = widen(type, v.bytes.data(), v.elements);
  for (std::int64_t d = 0; d < Dv; ++d) {
    const auto column = static_cast<std::size_t>(d);
    double sum = static_cast<double>(alpha) * acc[column], magnitude = std::fabs(sum);
    for (std::int64_t j = 0; j < n; ++j) {
      const double term = (*w)[static_cast<std::size_t>(j)] * wide[static_cast<std::size_t>(j * Dv + d)];
      sum += term;
      magnitude += std::fabs(term);
    }
    out.reference[column] = sum;
    out.tolerance[column] = sum_bound(n, magnitude);
  }
  computation.outputs = {std::move(out)};
  computation.run = [w, rows, accumulator, n, Dv, type](std::vector<Output>& outputs, heed_status* status) {
    const heed_matrix weights{w->data(), 1, n, 0, HEED_F32}, values{rows->data(), n, Dv, 0, type};
    const heed_matrix start{accumulator->data(), 1, Dv, 0, HEED_F32};
    const heed_matrix_out out_row{outputs[0].got.data(), 1, Dv, 0, HEED_F32};
    return heed_weighted_sum(&weights, &values, &start, &out_row, status);
  };
  return computation;
}

// Two partial results over disjoint keys are joined by attending to both: their lse are the scores, their out the
// values.
Computation merge(const Safetensors& file, const Attributes&) {
  const Tensor& first = tensor_of(file, "o1");
  if (first.shape.size() != 2) throw FileError("tensor 'o1': not a matrix");
  const std::int64_t rows = first.shape[0], Dv = first.shape[1];
  const std::vector<float> o1 = floats(first, "o1"), o2 = floats(tensor_of(file, "o2", {rows, Dv}), "o2");
  const std::vector<float> lse1 = floats(tensor_of(file, "lse1", {rows}), "lse1");
  const std::vector<float> lse2 = floats(tensor_of(file, "lse2", {rows}), "lse2");
  auto scores = std::make_shared<std::vector<float>>(), parts = std::make_shared<std::vector<float>>();

  Computation computation;
  computation.kernel = "attend (merge)";
  Output out = output("out", o1.size(), expected_of(file, "out"));
  Output lse = output("lse", lse1.size(), expected_of(file, "lse"));
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto row = static_cast<std::size_t>(r);
    scores->insert(scores->end(), {lse1[row], lse2[row]});
    parts->insert(parts->end(), o1.begin() + r * Dv, o1.begin() + (r + 1) * Dv);
    parts->insert(parts->end(), o2.begin() + r * Dv, o2.begin() + (r + 1) * Dv);
    lse.reference[row] =
        reference::attend(scores->data() + 2 * r, parts->data() + 2 * r * Dv, 2, Dv, out.reference.data() + r * Dv);
    lse.tolerance[row] = merge_lse_bound(lse.reference[row]);
    for (std::int64_t i = r * Dv; i < (r + 1) * Dv; ++i) {
      const auto at = static_cast<std::size_t>(i);
      out.tolerance[at] = merge_bound(std::fabs(static_cast<double>(lse1[row]) - lse2[row]), o1[at], o2[at]);
    }
  }
  computation.outputs = {std::move(out), std::move(lse)};
  computation.run = [scores, parts, rows, Dv](std::vector<Output>& outputs, heed_status* status) {
    heed_code code = HEED_OK;
    for (std::int64_t r = 0; r < rows && code == HEED_OK; ++r) {
      const heed_matrix s{scores->data() + 2 * r, 1, 2, 0, HEED_F32};
      const heed_matrix v{parts->data() + 2 * r * Dv, 2, Dv, 0, HEED_F32};
      const heed_matrix_out o{outputs[0].got.data() + r * Dv, 1, Dv, 0, HEED_F32};
      code = heed_attend(&s, &v, &o, outputs[1].got.data() + r, status);
    }
    return code;
  };
  return computation;
}

struct Kind {
  const char* name;
  Computation (*computation)(const Safetensors& file, const Attributes& attributes);
  Names names;
};
const Kind kKinds[] = {
    {"dot", dot, {{"a", "b", "offset", "y", "abs", "cond"}, {}}},
    {"softmax_rows", softmax_rows, {{"x", "offset", "p", "lse", "row_class"}, {}}},
    {"onnx_softmax", onnx_softmax, {{"x", "y", "ref_y"}, {"axis", "axis_is_default", "atol_y"}}},
    {"weighted_sum", weighted_sum, {{"w", "v", "acc", "alpha", "out", "abs"}, {}}},
    {"merge", merge, {{"o1", "o2", "lse1", "lse2", "out", "lse"}, {}}},
};

}  // namespace

Case micro_case(const Safetensors& file, const std::string& kind) {
  for (const Kind& known : kKinds) {
    if (known.name != kind) continue;
    refuse_other_names(file, known.names);
    Case c;
    c.computations.push_back(known.computation(file, Attributes(file.metadata)));
    return c;
  }
  throw Unsupported("kind " + kind);
}

}  // namespace heed::compare
