// The list of what is measured, and one measurable problem: an operation at one head dimension and sequence length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "heed/heed.hpp"
#include "library.hpp"
#include "machine.hpp"
#include "roofs.hpp"
#include "team.hpp"

namespace heed::bench {

enum class Kind { kDot, kScores, kSoftmax, kWeightedSum, kAttend, kDecode, kPrefill };

struct Operation {
  const char* name;  // <op>_<type>[_<variant>]
  Kind kind;
  int group;  // query heads per key/value head
  bool causal;
  std::int64_t longest;
};

// The order is that of the report.
inline constexpr std::int64_t kShortest = 16, kLongest = 131072, kLongestPrefill = 4096;
inline constexpr Operation kOperations[] = {
    {"attention_f32_full", Kind::kPrefill, 1, false, kLongestPrefill},
    {"attention_f32_causal", Kind::kPrefill, 1, true, kLongestPrefill},
    {"attention_f32_decode", Kind::kDecode, 1, false, kLongest},
    {"attention_f32_decode_g4", Kind::kDecode, 4, false, kLongest},
    {"scores_f32", Kind::kScores, 1, false, kLongest},
    {"softmax_f32", Kind::kSoftmax, 1, false, kLongest},
    {"weighted_sum_f32", Kind::kWeightedSum, 1, false, kLongest},
    {"attend_f32", Kind::kAttend, 1, false, kLongest},
    {"dot_f32", Kind::kDot, 1, false, kLongest},
};

inline bool uses_threads(Kind kind) { return kind == Kind::kDecode || kind == Kind::kPrefill; }
inline bool uses_head_dimension(Kind kind) { return kind != Kind::kSoftmax; }

// Operands as a call takes them.
struct Operands {
  const float *q, *k, *v;
  float *out, *lse;
};

class Problem {
 public:
  // memory: numbers to take K and V from, larger than the last-level cache.
  Problem(const Operation& operation, std::int64_t D, std::int64_t L, const Machine& machine, const Pages& memory,
          Team& team);

  const Operation& operation() const { return operation_; }
  std::int64_t D() const { return D_; }
  std::int64_t L() const { return L_; }

  double operations() const;  // floating-point operations of the pairs that the mask allows; 0 for softmax
  double pairs() const;       // attended (query, key) pairs, per query head; softmax: elements
  double bytes() const;       // K and V once per key/value head; softmax: 12 per element
  Level level() const { return level_; }
  std::int64_t copies() const { return copies_; }

  // One call with the next copy of the operands, by the library's row that is in force. Empty, or what went wrong.
  std::string call(const Library& library);
  void call_reference();

  // Calls once and holds sampled results against double precision: the largest error as a share of its bound.
  double check(const Library& library, std::string& error);

 private:
  struct Expected {
    std::size_t at;
    double value, bound;
  };

  Operands operands(std::int64_t copy);
  void prepare_attention();
  std::string run(const Library& library, const Operands& operands);
  void expect();
  void expect_row(const Operands& operands, std::int64_t head, std::int64_t i);

  const Operation& operation_;
  std::int64_t D_, L_, queries_;
  float scale_;
  const Pages& memory_;
  Team& team_;
  Level level_;
  std::int64_t copies_, copy_floats_, turn_ = 0;
  std::vector<float> q_, out_, lse_;
  AttentionArgs args_;
  std::vector<double> wide_out_, wide_lse_;
  std::vector<Expected> expected_;
};

}  // namespace heed::bench
