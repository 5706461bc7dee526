#include "kernel_problem.hpp"

#include <algorithm>
#include <cmath>

#include "error_bounds.hpp"

namespace heed::bench {
namespace {

constexpr std::int64_t kSampledKeys = 512;

}  // namespace

KernelProblem::KernelProblem(const Operation& operation, std::int64_t D, std::int64_t L, const Setting& setting)
    : Problem(operation, D),
      L_(L),
      copy_floats_(copy_bytes(operation, D, L) / static_cast<std::int64_t>(sizeof(float))),
      scale_(static_cast<float>(1.0 / std::sqrt(static_cast<double>(D)))),
      numbers_(setting.numbers.of(HEED_F32)) {
  const Kind kind = operation.kind;
  const bool one_number_per_key = kind == Kind::kDot || kind == Kind::kScores || kind == Kind::kSoftmax;
  q_.resize(static_cast<std::size_t>(kind == Kind::kSoftmax ? 0 : std::max(D, L)));
  std::copy_n(numbers_.floats() + numbers_.size_bytes() / sizeof(float) - q_.size(), q_.size(), q_.begin());
  out_.resize(static_cast<std::size_t>(one_number_per_key ? L : D));
  const auto keys = static_cast<double>(L), columns = static_cast<double>(D);
  facts_.pairs = keys;
  if (kind == Kind::kSoftmax) {
    facts_.operations = 0.0;                    // no agreed number: the roof is its memory traffic
    facts_.bytes = 3.0 * sizeof(float) * keys;  // read for the maximum, read again, written
  } else {
    facts_.operations = 2.0 * columns * keys;
    facts_.bytes = sizeof(float) * keys * columns;
  }
  // A row of scores was just written: it comes from a cache, unless none can hold it.
  const bool streams =
      kind != Kind::kSoftmax || static_cast<std::size_t>(copy_floats_) * sizeof(float) > setting.machine.llc_bytes / 2;
  // What softmax reads twice lies in its cache once, and what it writes is part of its results.
  const double counted_again = kind == Kind::kSoftmax ? 2.0 * sizeof(float) * keys : 0.0;
  place(setting, static_cast<double>((q_.size() + out_.size()) * sizeof(float)) - counted_again,
        copy_bytes(operation, D, L), streams, false);
}

std::string KernelProblem::run(const Library& library, std::int64_t copy) {
  const float* data = rows(copy);
  const heed_matrix k{data, L_, D_, 0, HEED_F32}, one_row{q_.data(), 1, L_, 0, HEED_F32};
  const heed_matrix_out out{out_.data(), 1, D_, 0, HEED_F32};
  Status status;
  switch (operation_.kind) {
    case Kind::kDot:
      for (std::int64_t j = 0; j < L_; ++j)
        out_[static_cast<std::size_t>(j)] = library.dot(q_.data(), data + j * D_, D_);
      break;
    case Kind::kScores: {
      const heed_matrix q{q_.data(), 1, D_, 0, HEED_F32};
      const heed_matrix_out s{out_.data(), 1, L_, 0, HEED_F32};
      library.scores(&q, &k, scale_, &s, &status.raw());
      break;
    }
    case Kind::kSoftmax:
      lse_ = library.softmax(data, out_.data(), L_);
      break;
    case Kind::kWeightedSum:
      library.weighted_sum(&one_row, &k, nullptr, &out, &status.raw());
      break;
    default:
      library.attend(&one_row, &k, &out, &lse_, &status.raw());
  }
  return status.ok() ? std::string() : status.message();
}

void KernelProblem::run_reference(std::int64_t copy) {
  const float* data = rows(copy);
  wide_out_.resize(out_.size());
  double* out = wide_out_.data();
  switch (operation_.kind) {
    case Kind::kDot:
      for (std::int64_t j = 0; j < L_; ++j) out[j] = reference::dot(q_.data(), data + j * D_, D_);
      break;
    case Kind::kScores:
      reference::scores(q_.data(), data, 1, L_, D_, scale_, out);
      break;
    case Kind::kSoftmax:
      reference::softmax(data, out, L_);
      break;
    case Kind::kWeightedSum:
      reference::weighted_sum(q_.data(), data, L_, D_, nullptr, out);
      break;
    default:
      reference::attend(q_.data(), data, L_, D_, out);
  }
}

// One number per key.
std::vector<Problem::Expected> KernelProblem::expect_numbers() const {
  std::vector<Expected> expected;
  const float* data = rows(0);
  const std::int64_t step = L_ / kSampledKeys | 1;  // odd: in every lane
  if (operation_.kind == Kind::kSoftmax) {
    const auto [least, most] = std::minmax_element(data, data + L_);
    const double largest = *most, error = weight_error(L_, largest - *least);
    double sum = 0.0;  // rather than the reference's weights, which of a long row would take half a gigabyte
    for (std::int64_t j = 0; j < L_; ++j) sum += std::exp(data[j] - largest);
    for (std::int64_t j = L_ - 1; j >= 0; j -= step) {
      const double p = std::exp(data[j] - largest) / sum;
      expected.push_back({static_cast<std::size_t>(j), p, error * p + kTiny});
    }
    return expected;
  }
  const double scale = operation_.kind == Kind::kDot ? 1.0 : static_cast<double>(scale_);
  for (std::int64_t j = L_ - 1; j >= 0; j -= step) {
    double sum = 0.0, size = 0.0;
    for (std::int64_t d = 0; d < D_; ++d) {
      const double term = static_cast<double>(q_[static_cast<std::size_t>(d)]) * data[j * D_ + d];
      sum += term;
      size += std::abs(term);
    }
    expected.push_back({static_cast<std::size_t>(j), scale * sum, scale * size * score_error(D_) + kTiny});
  }
  return expected;
}

// A sum over the keys, by given weights or by the softmax of given scores.
std::vector<Problem::Expected> KernelProblem::expect_sums() const {
  const float* v = rows(0);
  std::vector<double> p(q_.begin(), q_.begin() + static_cast<std::ptrdiff_t>(L_));
  double error = sum_error(L_);
  if (operation_.kind == Kind::kAttend) {
    const auto [least, most] = std::minmax_element(p.begin(), p.end());
    error += weight_error(L_, *most - *least);
    reference::softmax(q_.data(), p.data(), L_);
  }
  std::vector<Expected> expected;
  for (std::int64_t d = 0; d < D_; ++d) {
    double sum = 0.0, size = 0.0;
    for (std::int64_t j = 0; j < L_; ++j) {
      const double term = p[static_cast<std::size_t>(j)] * v[j * D_ + d];
      sum += term;
      size += std::abs(term);
    }
    expected.push_back({static_cast<std::size_t>(d), sum, error * size + kTiny});
  }
  return expected;
}

std::vector<Problem::Expected> KernelProblem::expect() {
  return operation_.kind == Kind::kAttend || operation_.kind == Kind::kWeightedSum ? expect_sums() : expect_numbers();
}

}  // namespace heed::bench
