// Calls of heed_attention on the numbers of a ModelProblem, laid out in memory in any of the ways that strides allow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heed/heed.h"
#include "model.hpp"

namespace heed::test {

enum class Layout {
  kHeadsFirst,   // [B][H][L][D]
  kTokensFirst,  // [B][L][H][D]
  kPadded,       // rows of D + 3 elements, gaps between heads and sequences
  kFused,        // q, k and v of a token side by side in one row
  kReversed,     // every stride negative
  kSharedBatch,  // K and V once for all sequences: stride 0 (their numbers must be the same)
};
inline constexpr Layout kLayouts[] = {Layout::kHeadsFirst, Layout::kTokensFirst, Layout::kPadded,
                                      Layout::kFused,      Layout::kReversed,    Layout::kSharedBatch};
const char* name_of(Layout layout);

// Where element (b, h, t, 0) of a tensor lies: at + b * batch + h * head + t * token.
struct Strides {
  std::int64_t at, batch, head, token;
};

struct Result {
  std::string failure;          // empty: the call succeeded and wrote what it should and nothing else
  std::vector<float> out, lse;  // contiguous, heads first; lse empty when it was not asked for
};

// Owns the memory of one call. What lies between the tensors' elements is NaN in the inputs and checked in the outputs.
class Call {
 public:
  Call(const ModelProblem& problem, Layout layout, bool lse = true);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  heed_attention_args args{};  // for the caller to change before run()
  Result run();

  float* q(std::int64_t b, std::int64_t h, std::int64_t i) { return element(q_, b, h, i); }
  float* k(std::int64_t b, std::int64_t h, std::int64_t j) { return element(k_, b, h, j); }
  float* v(std::int64_t b, std::int64_t h, std::int64_t j) { return element(v_, b, h, j); }

  // Whether the outputs are still as they were before run().
  bool untouched() const;

 private:
  float* element(const Strides& p, std::int64_t b, std::int64_t h, std::int64_t t) {
    return inputs_.data() + p.at + b * p.batch + h * p.head + t * p.token;
  }
  Strides place(Layout layout, std::int64_t heads, std::int64_t tokens, std::int64_t columns, std::int64_t* next);
  void fill(const ModelProblem& problem);

  std::int64_t B_, Hq_, Hkv_, Lq_, Lkv_, D_, Dv_;
  Strides q_{}, k_{}, v_{}, out_{}, lse_{};
  std::vector<float> inputs_, outputs_;
};

// The numbers, heads first, on the row in use.
inline Result attend(const ModelProblem& problem) { return Call(problem, Layout::kHeadsFirst).run(); }

// Says where two arrays of numbers first differ in a bit; empty if nowhere.
std::string difference(const char* what, const std::vector<float>& found, const std::vector<float>& expected);
std::string difference(const Result& found, const std::vector<float>& out, const std::vector<float>& lse);

}  // namespace heed::test
