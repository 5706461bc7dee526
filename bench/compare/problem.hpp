// An attention problem that owns its numbers, and the computations that it gives rise to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comparison.hpp"
#include "heed/heed.h"

namespace heed::compare {

// args points into the vectors beside it; out, lse and inspect are set for each call. A problem stays where it is.
struct Problem {
  Problem() = default;
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  heed_attention_args args{};
  std::vector<std::byte> q, k, v, bias, mask;
  std::vector<float> alibi_slopes, sinks;
  std::vector<std::int64_t> kv_lengths, offsets;

  std::int64_t rows() const { return args.B * args.Hq * args.Lq; }
  std::int64_t pairs() const { return rows() * args.Lkv; }
  bool plain() const;  // f32, and no option but the scale
};

// The sizes, in a line.
std::string describe(const heed_attention_args& args);

using SharedProblem = std::shared_ptr<const Problem>;

// What the double reference says, in the order [B][Hq][Lq][…].
struct ReferenceResult {
  std::vector<double> out, lse, view;
};
ReferenceResult reference_result(const heed_attention_args& args, bool with_view);

// How far a float computation of the problem may be from the reference, for cases that bring no tolerance: rounding
// errors to first order, those of sums growing with the square root of their length.
struct Bounds {
  std::vector<double> out, lse, scores, weights;
};
Bounds bounds(const Problem& problem);

// Which array of the problem's results a file expects. Empty vectors: nothing known.
struct Expectation {
  std::vector<double> values, tolerance;
};

Computation attention_computation(SharedProblem problem, const Expectation& out, const Expectation& lse);

// out stored in the type of q, then compared.
Computation stored_computation(SharedProblem problem, const Expectation& out);

// lse of the same problem without its sinks.
Computation sinkless_computation(SharedProblem problem, const Expectation& lse);

// The scores or weights that heed shows on request.
Computation view_computation(SharedProblem problem, heed_inspect what, const Expectation& view);

// The kernels one by one on the first head's numbers: dot, scores, softmax, weighted_sum, attend. The problem is plain.
struct KernelExpectations {
  Expectation scores, weights, out, lse;
};
std::vector<Computation> kernel_computations(const Problem& problem, const KernelExpectations& expected);

}  // namespace heed::compare
