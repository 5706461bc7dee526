#include "driver/worker.hpp"

#include <cstring>

#include "integers.hpp"

namespace heed {
namespace {

using dispatch::f32;

constexpr float kMinusInfinity = -__builtin_inff();

std::size_t float_bytes(std::int64_t floats) { return static_cast<std::size_t>(floats) * sizeof(float); }

}  // namespace

void Worker::run(std::int64_t index) {
  index_ = index;
  set_item(run_.schedule.item(problem_, index));
  load_queries();
  const std::int64_t parts = item_.parts;
  if (parts == 1) load_start();
  std::int64_t first = splits() * item_.part / parts, last = splits() * (item_.part + 1) / parts;
  if (parts == 1) {  // nobody asks for the states of splits that no row reaches: a window may leave out nearly all
    const KeyRange reached = reached_keys();
    first = most(first, reached.begin / kSplit);
    last = least(last, (reached.end + kSplit - 1) / kSplit);
  }
  for (std::int64_t split = first; split < last; ++split) {
    run_split(split * kSplit, least((split + 1) * kSplit, sequence_.keys));
    for (std::int64_t r = 0; r < rows_; ++r) end_split(r, split);
  }
  if (parts > 1) return;
  for (std::int64_t r = 0; r < rows_; ++r) finish_row(r, all_any()[r] != 0 ? all_o(r) : nullptr);
}

void Worker::fold(std::int64_t index) {
  set_item(run_.schedule.fold(problem_, index));
  if (args_.inspect.data != nullptr) load_queries();
  load_start();
  float* m = memory_ + at_.all_m;
  float* l = memory_ + at_.all_l;
  for (std::int64_t r = 0; r < rows_; ++r) {
    bool any = all_any()[r] != 0;
    for (std::int64_t split = 0; split < splits(); ++split) {
      const float* state = stored(r, split);  // which another fold of the same item would find unchanged
      if (state[2] == 0.0f) continue;
      if (any) {
        table_.merge[f32](&m[r], &l[r], all_o(r), state[0], state[1], state + kPanel, args_.Dv);
      } else {
        any = true;
        m[r] = state[0];
        l[r] = state[1];
        std::memcpy(all_o(r), state + kPanel, float_bytes(at_.o_row));
      }
    }
    finish_row(r, any ? all_o(r) : nullptr);
  }
}

void Worker::set_item(const Item& item) {
  if (!sequence_known_ || sequence_.b != item.b) sequence_ = problem_.sequence(item.b);
  sequence_known_ = true;
  item_ = item;
  rows_ = item.row_end - item.row_begin;
  folded_ = splits() > 1 || problem_.has_start;
  std::int64_t query = item.row_begin / problem_.group, head = item.row_begin % problem_.group;  // of the group
  for (std::int64_t r = 0; r < rows_; ++r) {
    row()[r] = {query, item.kv_head * problem_.group + head, problem_.keys_of(sequence_, query)};
    all_any()[r] = 0;
    if (++head == problem_.group) {
      head = 0;
      ++query;
    }
  }
}

// The caller's state is the first to join, empty or not: an empty one is the identity.
void Worker::load_start() {
  if (!problem_.has_start) return;
  const heed_state& start = problem_.start;
  for (std::int64_t r = 0; r < rows_; ++r) {
    const std::int64_t head = row()[r].head, i = row()[r].query, at = problem_.state_at(sequence_, start, head, i);
    memory_[at_.all_m + r] = start.m[at];
    memory_[at_.all_l + r] = start.l[at];
    std::memcpy(all_o(r), problem_.state_o(sequence_, start, head, i), float_bytes(args_.Dv));
    all_any()[r] = 1;
  }
}

void Worker::load_queries() {
  if (problem_.scores != nullptr) return;
  for (std::int64_t r = 0; r < rows_; ++r) {
    table_.widen[args_.q.type](problem_.q_row(sequence_, row()[r].head, row()[r].query), problem_.scale, q(r), args_.D);
  }
}

void Worker::run_split(std::int64_t begin, std::int64_t end) {
  begun_ = 0;
  for (std::int64_t r = 0; r < rows_; ++r) {
    part_m()[r] = kMinusInfinity;
    part_any()[r] = 0;
  }
  std::memset(memory_ + at_.part_lanes, 0, float_bytes(rows_ * kPanel));
  for (std::int64_t j = begin; j < end; j += kBlock) run_block(j, least(j + kBlock, end));
}

// From the first key that any row reaches to the last.
KeyRange Worker::reached_keys() const {
  KeyRange reached{sequence_.keys, 0};
  for (std::int64_t r = 0; r < rows_; ++r) {
    const KeyRange& keys = row()[r].keys;
    if (keys.begin >= keys.end) continue;
    reached.begin = least(reached.begin, keys.begin);
    reached.end = most(reached.end, keys.end);
  }
  return reached;
}

bool Worker::reaches(std::int64_t r, std::int64_t begin, std::int64_t end) const {
  return most(row()[r].keys.begin, begin) < least(row()[r].keys.end, end);
}

void Worker::run_block(std::int64_t begin, std::int64_t end) {
  bool loaded = false;
  for (std::int64_t r = 0; r < rows_; r += plan_.tile_rows) {
    const std::int64_t rows = least(plan_.tile_rows, rows_ - r);
    bool any = false;
    for (std::int64_t i = r; i < r + rows && !any; ++i) any = reaches(i, begin, end);
    if (!any) continue;
    if (!loaded) {
      block_.load(sequence_, item_.kv_head, begin, end, rows_ > plan_.in_place);
      const bool in_place = rows_ <= plan_.in_place && problem_.scores == nullptr;
      if (in_place && block_.fetch_ahead(sequence_, item_.kv_head) && end == sequence_.keys) fetch_next_item();
    }
    loaded = true;
    run_rows(r, static_cast<std::int32_t>(rows));
  }
}

// A single thread takes the items in order. A window may begin anywhere.
void Worker::fetch_next_item() {
  if (plan_.shape.threads > 1 || index_ + 1 >= run_.schedule.items || args_.has_window != 0) return;
  const Item next = run_.schedule.item(problem_, index_ + 1);
  block_.fetch_first_keys(next.b == item_.b ? sequence_ : problem_.sequence(next.b), next.kv_head);
}

void Worker::run_rows(std::int64_t r0, std::int32_t rows) {
  const std::int64_t begin = block_.begin(), end = begin + block_.keys();

  // What each row attends. whole: every row all keys of the block. exact: every row all keys of the same span, so that
  // nothing is multiplied that isn't attended.
  bool whole = !masks_ && block_.all_present();
  for (std::int32_t i = 0; i < rows && whole; ++i) {
    whole = row()[r0 + i].keys.begin <= begin && row()[r0 + i].keys.end >= end;
  }
  const Attended all = range(0, block_.keys());
  if (whole && args_.bias.data != nullptr) {
    for (std::int32_t i = 0; i < rows; ++i) attended()[i] = all;
  }
  if (!whole) {
    bool any = false;
    for (std::int32_t i = 0; i < rows; ++i) {
      Attended& keys = attended()[i];
      keys =
          attended_keys(problem_, sequence_, row()[r0 + i].head, row()[r0 + i].query, row()[r0 + i].keys, begin, end);
      if (!block_.all_present()) keys.clear_except(block_.present());
      any = any || !keys.none();
    }
    if (!any) return;
  }
  const auto set_spans = [&] {
    bool exact = true;
    for (std::int32_t i = 0; i < rows; ++i) {
      const Span span = span_of(attended()[i]);
      span_begin()[i] = span.begin;
      span_end()[i] = span.end;
      exact = exact && attended()[i] == attended()[0] && attended()[i] == range(span.begin, span.end);
    }
    return exact;
  };
  bool exact = whole || set_spans();

  compute_scores(r0, rows, whole);
  if (steps_needed()) step_scores(r0, rows, HEED_SCORES_BIASED);
  if (args_.score_callback != nullptr) call_back(r0, rows);
  if (args_.bias.data != nullptr) {  // whose -inf exclude
    for (std::int32_t i = 0; i < rows && whole; ++i) whole = attended()[i] == all;
    if (!whole) exact = set_spans();
  }
  for (std::int32_t i = 0; i < rows; ++i) {
    if (whole || !attended()[i].none()) part_any()[r0 + i] = 1;
  }

  const bool plain = whole && block_.keys() % kPanel == 0;  // nothing needs to be selected
  if (whole) attended()[0] = all;
  float* alpha = memory_ + at_.alpha;
  table_.softmax_step[f32]({s(0), at_.s_row, rows, block_.panels(), plain ? nullptr : attended()[0].words,
                            whole ? 0 : kAttendedWords, part_m() + r0, memory_ + at_.part_lanes + r0 * kPanel, alpha,
                            block_.v_scale()});
  const std::uint64_t tile = std::uint64_t{1} << (r0 / plan_.tile_rows);
  const bool first = (begun_ & tile) == 0;  // of the split
  begun_ |= tile;
  if (whole) {
    block_.add_values(s(0), rows, nullptr, nullptr, first ? nullptr : alpha, part_o(r0));
  } else if (exact || block_.values_finite()) {
    block_.add_values(s(0), rows, span_begin(), span_end(), first ? nullptr : alpha, part_o(r0));
  } else {
    if (first) std::memset(part_o(r0), 0, float_bytes(rows * at_.o_row));
    for (std::int32_t i = 0; i < rows; ++i) {
      block_.add_attended_values(s(i), attended()[i], alpha[i], part_o(r0 + i), memory_ + at_.scratch_o);
    }
  }
}

void Worker::compute_scores(std::int64_t r0, std::int32_t rows, bool all) {
  if (problem_.scores == nullptr) {
    block_.scores(q(r0), at_.q_row, rows, all ? nullptr : span_begin(), all ? nullptr : span_end(), s(0));
    return;
  }
  for (std::int32_t i = 0; i < rows; ++i) {
    const std::int32_t keys = block_.keys();
    std::memcpy(s(i), problem_.scores + row()[r0 + i].query * problem_.scores_row + block_.begin(), float_bytes(keys));
    // Weights are computed for whole panels, and those past the keys dropped.
    std::memset(s(i) + keys, 0, float_bytes(block_.panels() * kPanel - keys));
  }
}

// Step 3 up to and including the stage that is asked for.
void Worker::step_scores(std::int64_t r0, std::int32_t rows, heed_inspect until) {
  ScoreStep step{s(0), at_.s_row, rows, block_.keys(), block_.k_scale(), 0.0f, nullptr, nullptr, nullptr, nullptr};
  if (until >= HEED_SCORES_CAPPED) step.softcap = args_.softcap;
  const bool biased = until >= HEED_SCORES_BIASED;
  if (biased && args_.alibi_slopes != nullptr) {
    float* slope = memory_ + at_.slope;
    std::int64_t* distance = buffer<std::int64_t>(at_.distance);
    for (std::int32_t i = 0; i < rows; ++i) {
      slope[i] = args_.alibi_slopes[row()[r0 + i].head];
      distance[i] = sequence_.position - sequence_.key_position + row()[r0 + i].query - block_.begin();
    }
    step.slope = slope;
    step.distance = distance;
  }
  if (biased && args_.bias.data != nullptr) {
    const void** bias = buffer<const void*>(at_.bias);
    for (std::int32_t i = 0; i < rows; ++i) {
      bias[i] = problem_.bias_row(sequence_, row()[r0 + i].head, row()[r0 + i].query, sequence_.begin + block_.begin());
    }
    step.bias = bias;
    step.attended = attended()[0].words;
  }
  table_.score_step[step.bias == nullptr ? f32 : args_.bias.type](step);
}

void Worker::call_back(std::int64_t r0, std::int32_t rows) {
  for (std::int32_t i = 0; i < rows; ++i) {
    const std::int64_t position = sequence_.position + row()[r0 + i].query;
    for (std::int32_t j = 0; j < block_.keys(); ++j) {
      if (((attended()[i].words[j / 64] >> (j % 64)) & 1u) == 0) continue;
      s(i)[j] = args_.score_callback(args_.score_context, row()[r0 + i].head, position,
                                     sequence_.key_position + block_.begin() + j, s(i)[j]);
    }
  }
}

void Worker::end_split(std::int64_t r, std::int64_t split) {
  const float m = part_m()[r];
  const float l = sum_lanes(memory_ + at_.part_lanes + r * kPanel);
  if (item_.parts > 1) {
    float* state = stored(r, split);
    state[0] = m;
    state[1] = l;
    state[2] = part_any()[r] != 0 ? 1.0f : 0.0f;
    if (part_any()[r] != 0) std::memcpy(state + kPanel, part_o(r), float_bytes(at_.o_row));
    return;
  }
  if (part_any()[r] == 0) return;
  float* all_m = memory_ + at_.all_m + r;
  float* all_l = memory_ + at_.all_l + r;
  if (all_any()[r] == 0) {
    all_any()[r] = 1;
    *all_m = m;
    *all_l = l;
    if (folded_) std::memcpy(all_o(r), part_o(r), float_bytes(at_.o_row));
  } else {
    table_.merge[f32](all_m, all_l, all_o(r), m, l, part_o(r), args_.Dv);
  }
}

// o null: the row attended no key.
void Worker::finish_row(std::int64_t r, const float* o) {
  const std::int64_t head = row()[r].head, i = row()[r].query;
  const float sink = args_.sinks == nullptr ? kMinusInfinity : args_.sinks[head];
  float m = memory_[at_.all_m + r], l = memory_[at_.all_l + r];
  if (o == nullptr) {
    m = kMinusInfinity;
    l = 0.0f;
    std::memset(part_o(r), 0, float_bytes(at_.o_row));
    o = part_o(r);
  }
  if (problem_.has_end) {
    const heed_state& end = problem_.end;
    const std::int64_t at = problem_.state_at(sequence_, end, head, i);
    store_state(table_, m, l, o, end.m + at, end.l + at, problem_.state_o(sequence_, end, head, i), args_.Dv);
    return;
  }
  table_.finish[args_.out.type](m, l, o, sink, problem_.out_row(sequence_, head, i),
                                problem_.lse_at(sequence_, head, i), args_.Dv);
  if (args_.inspect.data != nullptr) inspect_row(r, m, l, sink);
}

// Computes the row's scores once more and shows the stage that the caller asked for. Scores after scale and after cap
// are shown for every key that exists; later ones are -inf, weights +0, where a key isn't attended.
void Worker::inspect_row(std::int64_t r, float m, float l, float sink) {
  const std::int64_t head = row()[r].head, i = row()[r].query;
  const heed_inspect what = args_.inspect_what;
  const heed_tensor_out& view = args_.inspect;
  float* out = static_cast<float*>(view.data) + sequence_.b * view.stride_batch + head * view.stride_head +
               i * view.stride_token;
  const float absent = what == HEED_WEIGHTS ? 0.0f : kMinusInfinity;
  for (std::int64_t slot = 0; slot < args_.Lkv; ++slot) out[slot] = absent;
  if (sink != kMinusInfinity) table_.merge[f32](&m, &l, nullptr, sink, 1.0f, nullptr, 0);
  if (what == HEED_WEIGHTS && l == 0.0f) return;

  for (std::int64_t begin = 0; begin < sequence_.keys; begin += kBlock) {
    const std::int64_t end = least(begin + kBlock, sequence_.keys);
    block_.load(sequence_, item_.kv_head, begin, end, false);
    Attended& keys = attended()[0];
    keys = block_.present();
    Attended shown = keys;
    if (what >= HEED_SCORES_BIASED) {
      keys.clear_except(attended_keys(problem_, sequence_, head, i, row()[r].keys, begin, end));
    }
    compute_scores(r, 1, true);
    step_scores(r, 1, what);
    if (what >= HEED_SCORES_BIASED) shown = keys;
    if (what == HEED_WEIGHTS) {  // p against the row's own maximum, over its own sum
      if (args_.score_callback != nullptr) call_back(r, 1);
      float maximum = m, lanes[kPanel] = {}, alpha;
      table_.softmax_step[f32](
          {s(0), at_.s_row, 1, block_.panels(), keys.words, kAttendedWords, &maximum, lanes, &alpha, nullptr});
      table_.finish[f32](0.0f, l, s(0), kMinusInfinity, s(0), nullptr, block_.keys());
    } else {
      show_scores(table_, s(0), block_.keys());
    }
    for (std::int32_t j = 0; j < block_.keys(); ++j) {
      if (((shown.words[j / 64] >> (j % 64)) & 1u) != 0) out[sequence_.begin + begin + j] = s(0)[j];
    }
  }
}

}  // namespace heed
