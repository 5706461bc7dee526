#include "model.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace heed::test {
namespace {

constexpr std::int64_t kLanes = 16, kBlockKeys = 128, kSplitKeys = 512;

float canonical(float x) { return std::isnan(x) ? std::numeric_limits<float>::quiet_NaN() : x + 0.0f; }

// e^(a - b): the difference is rounded, then its product with log2 e.
float exp_of_difference(float a, float b) {
  const float difference = a - b;
  return model_exp2(difference * 1.44269504f);
}

// What a maximum is subtracted as: the exponent of a row of -inf would otherwise be a NaN.
float subtrahend(float m) { return std::isinf(m) && m < 0.0f ? 0.0f : m; }

// One key of a row: which it is, and the score after every option. Keys that the row doesn't attend never get here.
struct Scored {
  std::int64_t key;  // counted from the sequence's own first key
  float score;
  const float* value;
  float value_scale;
};

struct State {
  bool empty = true;
  float m = -kInfinity, l = 0.0f;
  std::vector<float> o;
};

// Steps 5 to 7 over the keys of one split. before: the maximum of the splits before it. rose: whether the last block
// raised it.
State state_of(std::vector<Scored>::const_iterator key, std::vector<Scored>::const_iterator end, std::int64_t Dv,
               float before, bool* rose) {
  State state;
  state.o.assign(static_cast<std::size_t>(Dv), 0.0f);
  float sums[kLanes] = {};
  while (key != end) {
    const std::int64_t block = key->key / kBlockKeys;
    auto block_end = key;
    float m = state.m;
    for (; block_end != end && block_end->key / kBlockKeys == block; ++block_end) {
      if (block_end->score > m) m = block_end->score;
    }
    const float a = exp_of_difference(state.m, subtrahend(m));
    const float so_far = std::max(before, state.m);
    *rose = so_far > -kInfinity && m > so_far;
    float block_sums[kLanes] = {};
    std::vector<float> block_o(state.o.size(), 0.0f);
    for (; key != block_end; ++key) {
      const float p = exp_of_difference(key->score, subtrahend(m));
      block_sums[key->key % kLanes] += p;
      const float w = p * key->value_scale;
      for (std::size_t d = 0; d < block_o.size(); ++d) block_o[d] = std::fma(w, key->value[d], block_o[d]);
    }
    for (std::int64_t x = 0; x < kLanes; ++x) sums[x] = std::fma(sums[x], a, block_sums[x]);
    for (std::size_t d = 0; d < block_o.size(); ++d) state.o[d] = std::fma(state.o[d], a, block_o[d]);
    state.m = m;
    state.empty = false;
  }
  for (std::int64_t distance = kLanes / 2; distance > 0; distance /= 2) {
    for (std::int64_t x = 0; x < distance; ++x) sums[x] = sums[x] + sums[x + distance];
  }
  state.l = sums[0];
  return state;
}

// Step 8. A state without keys is the identity.
State fold(State left, const State& right) {
  if (right.empty) return left;
  if (left.empty) return right;
  const float m = right.m > left.m ? right.m : left.m;
  const float x = exp_of_difference(left.m, subtrahend(m)), y = exp_of_difference(right.m, subtrahend(m));
  left.m = m;
  left.l = std::fma(left.l, x, right.l * y);
  for (std::size_t d = 0; d < left.o.size(); ++d) left.o[d] = std::fma(left.o[d], x, right.o[d] * y);
  return left;
}

// Step 9.
State finish(State state, float sink, float* out, float* lse) {
  if (sink != -kInfinity) {
    state.empty = false;  // it joins by arithmetic, keys or not: so a NaN sink reaches the row
    State other;
    other.empty = false;
    other.m = sink;
    other.l = 1.0f;
    other.o.assign(state.o.size(), 0.0f);
    state = fold(state, other);
  }
  for (std::size_t d = 0; d < state.o.size(); ++d) {
    out[d] = canonical(state.l == 0.0f ? state.o[d] : state.o[d] / state.l);
  }
  *lse = state.l == 0.0f ? -kInfinity : canonical(state.m + model_ln(state.l));
  return state;
}

// One row of the problem: where its data lie and which keys it attends.
class Row {
 public:
  Row(const ModelProblem& problem, std::int64_t b, std::int64_t head, std::int64_t i)
      : p_(problem), b_(b), head_(head), i_(i) {
    kv_head_ = b * p_.Hkv + head / (p_.Hq / p_.Hkv);
    begin_ = of_sequence(p_.key_begin, 0);
    length_ = of_sequence(p_.kv_lengths, p_.Lkv) - begin_;
    first_position_ = of_sequence(p_.key_offset, 0);
    q_ = p_.q.data() + ((b * p_.Hq + head) * p_.Lq + i) * p_.D;
    k_ = p_.k.data() + kv_head_ * p_.Lkv * p_.D;
    v_ = p_.v.data() + kv_head_ * p_.Lkv * p_.Dv;
    switch (p_.alignment) {
      case Alignment::kBottomRight:
        position_ = i + first_position_ + length_ - p_.Lq;
        break;
      case Alignment::kTopLeft:
        position_ = i;
        break;
      case Alignment::kOffsets:
        position_ = i + p_.offsets[static_cast<std::size_t>(b)];
        break;
    }
  }

  std::int64_t begin() const { return begin_; }
  std::int64_t keys() const { return length_; }

  bool exists(std::int64_t j) const {
    return p_.absent.empty() || p_.absent[static_cast<std::size_t>(b_ * p_.Lkv + begin_ + j)] == 0;
  }

  bool attends(std::int64_t j) const {
    if (!exists(j)) return false;
    const std::int64_t position = j + first_position_;
    if (p_.causal && position > position_) return false;
    if (p_.window_left >= 0 && position < position_ - p_.window_left) return false;
    if (p_.window_right >= 0 && position > position_ + p_.window_right) return false;
    if (!p_.mask.empty() && p_.mask[pair(j)] == 0) return false;
    if (!p_.bias.empty() && p_.bias[pair(j)] == -kInfinity) return false;
    return true;
  }

  // Steps 1 and 2, and 3 up to the stage that is asked for.
  float score(std::int64_t j, Stage until = Stage::kScore) const {
    float s = 0.0f;
    for (std::int64_t d = 0; d < p_.D; ++d) {
      const float scaled = q_[d] * p_.scale;
      s = std::fma(scaled, key(j)[d], s);
    }
    if (!p_.k_scales.empty()) s = s * p_.k_scales[slot(j)];
    if (until == Stage::kScaled) return s;
    if (p_.softcap != 0.0f) s = p_.softcap * model_tanh(s / p_.softcap);
    if (until == Stage::kCapped) return s;
    if (!p_.alibi_slopes.empty()) {
      s = std::fma(-p_.alibi_slopes[static_cast<std::size_t>(head_)], static_cast<float>(distance(j)), s);
    }
    if (!p_.bias.empty()) s = s + p_.bias[pair(j)];
    if (until == Stage::kBiased || p_.score_callback == nullptr) return s;
    return p_.score_callback(nullptr, head_, position_, j + first_position_, s);
  }

  // The score in double, and the sum of the magnitudes that it is made of.
  double exact_score(std::int64_t j, double* magnitude) const {
    double s = 0.0;
    for (std::int64_t d = 0; d < p_.D; ++d) {
      const double product = static_cast<double>(q_[d]) * p_.scale * key(j)[d];
      s += product;
      *magnitude += std::fabs(product);
    }
    if (!p_.k_scales.empty()) {
      s *= static_cast<double>(p_.k_scales[slot(j)]);
      *magnitude *= std::fabs(static_cast<double>(p_.k_scales[slot(j)]));
    }
    if (p_.softcap != 0.0f) {  // no steeper than the identity; its own error is less than 8 units of the cap
      s = static_cast<double>(p_.softcap) * std::tanh(s / static_cast<double>(p_.softcap));
      *magnitude += static_cast<double>(p_.softcap) * 8.0;
    }
    if (!p_.alibi_slopes.empty()) {
      const double penalty =
          static_cast<double>(p_.alibi_slopes[static_cast<std::size_t>(head_)]) * static_cast<double>(distance(j));
      s -= penalty;
      *magnitude += std::fabs(penalty);
    }
    if (!p_.bias.empty()) {
      s += p_.bias[pair(j)];
      *magnitude += std::fabs(static_cast<double>(p_.bias[pair(j)]));
    }
    if (p_.score_callback != nullptr) {  // those of the tests are no steeper than the identity, and add less than 1
      s = static_cast<double>(p_.score_callback(nullptr, head_, position_, j + first_position_, static_cast<float>(s)));
      *magnitude += 1.0;
    }
    return s;
  }

  const float* value(std::int64_t j) const { return v_ + (begin_ + j) * p_.Dv; }
  float value_scale(std::int64_t j) const { return p_.v_scales.empty() ? 1.0f : p_.v_scales[slot(j)]; }
  float sink() const { return p_.sinks.empty() ? -kInfinity : p_.sinks[static_cast<std::size_t>(head_)]; }
  std::int64_t index() const { return (b_ * p_.Hq + head_) * p_.Lq + i_; }

 private:
  std::int64_t of_sequence(const std::vector<std::int64_t>& values, std::int64_t otherwise) const {
    return values.empty() ? otherwise : values[static_cast<std::size_t>(b_)];
  }
  const float* key(std::int64_t j) const { return k_ + (begin_ + j) * p_.D; }
  std::int64_t distance(std::int64_t j) const { return std::abs(position_ - j - first_position_); }
  std::size_t slot(std::int64_t j) const { return static_cast<std::size_t>(kv_head_ * p_.Lkv + begin_ + j); }

  std::size_t pair(std::int64_t j) const { return static_cast<std::size_t>(index() * p_.Lkv + begin_ + j); }

  const ModelProblem& p_;
  std::int64_t b_, head_, i_;
  std::int64_t kv_head_ = 0, begin_ = 0, length_ = 0, first_position_ = 0, position_ = 0;
  const float *q_ = nullptr, *k_ = nullptr, *v_ = nullptr;
};

template <class Visit>
void for_each_row_of(const ModelProblem& problem, const Visit& visit) {
  for (std::int64_t b = 0; b < problem.B; ++b) {
    for (std::int64_t head = 0; head < problem.Hq; ++head) {
      for (std::int64_t i = 0; i < problem.Lq; ++i) visit(Row(problem, b, head, i));
    }
  }
}

// What inspection shows of a row, a column per slot. Weights are p against the row's own maximum, over its own sum.
void show(const ModelProblem& problem, const Row& row, const State& all, float* view) {
  const bool weights = problem.view == Stage::kWeights;
  std::fill(view, view + problem.Lkv, weights ? 0.0f : -kInfinity);
  for (std::int64_t j = 0; j < row.keys(); ++j) {
    const bool early = problem.view == Stage::kScaled || problem.view == Stage::kCapped;
    if (early ? !row.exists(j) : !row.attends(j)) continue;
    float& shown = view[row.begin() + j];
    if (!weights) {
      shown = canonical(row.score(j, problem.view));
    } else if (all.l != 0.0f) {
      shown = canonical(exp_of_difference(row.score(j), subtrahend(all.m)) / all.l);
    }
  }
}

std::size_t rows_of(const ModelProblem& problem) {
  return static_cast<std::size_t>(problem.B * problem.Hq * problem.Lq);
}

}  // namespace

ModelResult model(const ModelProblem& problem) {
  ModelResult result;
  result.out.resize(rows_of(problem) * static_cast<std::size_t>(problem.Dv));
  result.lse.resize(rows_of(problem));
  if (problem.view != Stage::kScore) result.view.resize(rows_of(problem) * static_cast<std::size_t>(problem.Lkv));
  for_each_row_of(problem, [&](const Row& row) {
    State all;
    all.o.assign(static_cast<std::size_t>(problem.Dv), 0.0f);
    bool rose_late = false, empty_split = false;
    std::int64_t last = -1;
    for (std::int64_t begin = 0; begin < row.keys(); begin += kSplitKeys) {
      std::vector<Scored> keys;
      for (std::int64_t j = begin; j < std::min(begin + kSplitKeys, row.keys()); ++j) {
        if (row.attends(j)) keys.push_back({j, row.score(j), row.value(j), row.value_scale(j)});
      }
      const State split = state_of(keys.begin(), keys.end(), problem.Dv, all.m, &rose_late);
      all = fold(all, split);
      empty_split = empty_split || keys.empty();
      if (!keys.empty()) last = keys.back().key;
    }
    result.rows_without_keys += last < 0 ? 1 : 0;
    result.rows_with_an_empty_split += last >= 0 && empty_split ? 1 : 0;
    result.rows_over_a_block += last >= kBlockKeys ? 1 : 0;
    result.rows_over_a_split += last >= kSplitKeys ? 1 : 0;
    result.rows_with_a_partial_panel += last >= 0 && last % kLanes != kLanes - 1 ? 1 : 0;
    result.rows_whose_maximum_rose_late += rose_late ? 1 : 0;
    all = finish(all, row.sink(), result.out.data() + row.index() * problem.Dv, result.lse.data() + row.index());
    if (problem.view != Stage::kScore) show(problem, row, all, result.view.data() + row.index() * problem.Lkv);
  });
  return result;
}

Bounds bounds(const ModelProblem& problem) {
  Bounds result;
  result.out.resize(rows_of(problem));
  result.lse.resize(rows_of(problem));
  for_each_row_of(problem, [&](const Row& row) {
    std::vector<double> scores;
    double magnitude = 0.0, largest_value = 0.0;
    double m = static_cast<double>(row.sink());
    for (std::int64_t j = 0; j < row.keys(); ++j) {
      if (!row.attends(j)) continue;
      double sum = 0.0;
      scores.push_back(row.exact_score(j, &sum));
      magnitude = std::max(magnitude, sum);
      m = std::max(m, scores.back());
      for (std::int64_t d = 0; d < problem.Dv; ++d) {
        largest_value = std::max(
            largest_value, std::fabs(static_cast<double>(row.value(j)[d]) * static_cast<double>(row.value_scale(j))));
      }
    }
    double l = row.sink() == -kInfinity ? 0.0 : std::exp(static_cast<double>(row.sink()) - m);
    double lowest = m;
    for (const double s : scores) {
      const double p = std::exp(s - m);
      l += p;
      if (p > kUnit) lowest = std::min(lowest, s);  // what weighs less than a rounding may be off by all of itself
    }

    // Half a unit per operation: a score's chain of D steps, twice (numerator and denominator); e^d by its own bound,
    // again twice; chains of a block's keys, and a rescaling per block and split.
    const double blocks = static_cast<double>(row.keys() / kBlockKeys + 1);
    const double score_error = kUnit * static_cast<double>(problem.D + 3) * magnitude;
    const double exp_error = kUnit * (4.0 + 1.25 * (m - lowest));
    const double sum_error = kUnit * (static_cast<double>(kBlockKeys) + 10.0 * blocks);
    const double relative = 2.0 * (score_error + exp_error + sum_error);
    const auto index = static_cast<std::size_t>(row.index());
    result.out[index] = relative * largest_value;
    result.lse[index] = relative + kUnit * (2.0 * std::fabs(m) + std::fabs(std::log(l)) + 2.0);
  });
  return result;
}

}  // namespace heed::test
