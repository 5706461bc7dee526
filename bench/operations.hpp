// The list of what is measured: operations, each at some head dimensions and sequence lengths.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heed/heed.h"

namespace heed::bench {

enum class Kind { kDot, kScores, kSoftmax, kWeightedSum, kAttend, kAttention, kThreeSteps };

enum class Layout { kRowMajor, kPanels, kPages };  // kPages: row-major pages of 16 keys, scattered

// An attention problem. Of an operation's, what the point doesn't say.
struct Shape {
  std::int64_t B = 1, Hq = 1, Hkv = 1, Lq = 1, Lkv = 0, D = 0, Dv = 0;
  heed_type type = HEED_F32;  // of K and V
  Layout layout = Layout::kRowMajor;
  bool causal = false;
  std::int64_t window_left = -1, window_right = -1;  // -1: unlimited
  float softcap = 0.0f;
  bool alibi = false;
  bool bit_mask = false;
  bool bias = false;
  bool latent = false;  // V is the first Dv columns of K

  // Keys that query row i attends, from first to last, but for those that a mask excludes.
  std::int64_t first_key(std::int64_t i) const;
  std::int64_t last_key(std::int64_t i) const;
};

// In words.
std::string describe(const Shape& shape);

enum class Set { kUsual, kModel, kQuickModel, kGoals };  // kGoals: only where --filter or --goals ask

struct Operation {
  std::string name;  // <op>_<type>[_<variant>], or <model>_<type>_<variant>
  Kind kind;
  Set set;
  std::vector<std::int64_t> dimensions, lengths;
  Shape shape = {};
  bool as_many_queries = false;  // as keys: Lq = L

  Shape at(std::int64_t D, std::int64_t L) const;
};

// In the order of the report, without models.
std::vector<Operation> list_operations();

// The layers of bench/models, one or two operations a line. Throws std::invalid_argument, which names the line.
std::vector<Operation> read_models(const std::string& path);

inline bool is_model(const Operation& operation) {
  return operation.set == Set::kModel || operation.set == Set::kQuickModel;
}
inline bool is_attention(Kind kind) { return kind == Kind::kAttention || kind == Kind::kThreeSteps; }
inline bool uses_head_dimension(Kind kind) { return kind != Kind::kSoftmax; }

}  // namespace heed::bench
