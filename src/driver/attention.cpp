#include "driver/attention.hpp"

#include <atomic>
#include <cstring>

namespace heed {
namespace {

using dispatch::f32;

constexpr float kMinusInfinity = -__builtin_inff();

std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
std::int64_t most(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

// Bits [begin, end) of a row's attended words.
void set_range(std::uint64_t* words, std::int64_t begin, std::int64_t end) {
  for (int w = 0; w < kAttendedWords; ++w) {
    const std::int64_t low = most(begin - w * 64, 0), high = least(end - w * 64, 64);
    words[w] = low < high ? (~std::uint64_t{0} >> (64 - (high - low))) << low : 0;
  }
}

// One work item: some query rows of one kv head of one sequence, against a range of splits.
struct Item {
  std::int64_t b, kv_head, query_begin, query_end, split_begin, split_end;
  std::int64_t states_at;  // index of its first row among the stored states
};

class Worker {
 public:
  Worker(const Problem& problem, const Plan& plan, const dispatch::Table& table, float* memory, float* states)
      : problem_(problem),
        args_(problem.args),
        plan_(plan),
        table_(table),
        at_(plan.layout),
        memory_(memory),
        states_(states) {}

  void run(std::int64_t index) {
    set_item(index);
    load_queries();
    for (std::int64_t split = item_.split_begin; split < item_.split_end; ++split) run_split(split);
    if (plan_.parts == 1) finish_rows();
  }

  // Folds the stored states of one (sequence, kv head, query tile) and finishes its rows.
  void fold(std::int64_t tile) {
    set_item(tile * plan_.parts);
    set_rows();
    float* m = memory_ + at_.all_m;
    float* l = memory_ + at_.all_l;
    for (std::int64_t r = 0; r < rows_; ++r) {
      bool empty = true;
      float* first = nullptr;
      m[r] = kMinusInfinity;
      l[r] = 0.0f;
      for (std::int64_t split = 0; split < plan_.splits; ++split) {
        float* state = stored(r, split);
        if (state[2] != 0.0f) continue;
        if (empty) {
          empty = false;
          first = state;
          m[r] = state[0];
          l[r] = state[1];
        } else {
          table_.merge[f32](&m[r], &l[r], first + kPanel, state[0], state[1], state + kPanel, args_.Dv);
        }
      }
      finish_row(r, empty ? nullptr : first + kPanel);
    }
  }

 private:
  void set_item(std::int64_t index) {
    const std::int64_t part = index % plan_.parts;
    const std::int64_t tile = index / plan_.parts;
    const std::int64_t sequence = tile / plan_.query_tiles;
    const std::int64_t queries = plan_.rows / problem_.group;
    item_.b = sequence / args_.Hkv;
    item_.kv_head = sequence % args_.Hkv;
    item_.query_begin = tile % plan_.query_tiles * queries;
    item_.query_end = least(item_.query_begin + queries, args_.Lq);
    item_.split_begin = plan_.splits * part / plan_.parts;
    item_.split_end = plan_.splits * (part + 1) / plan_.parts;
    item_.states_at = tile * plan_.rows;
    rows_ = (item_.query_end - item_.query_begin) * problem_.group;
  }

  // Row r is query token r / group, head r % group of the kv head's group.
  std::int64_t query_of(std::int64_t r) const { return item_.query_begin + r / problem_.group; }
  std::int64_t head_of(std::int64_t r) const { return item_.kv_head * problem_.group + r % problem_.group; }

  void set_rows() {
    for (std::int64_t r = 0; r < rows_; ++r) {
      row_keys()[r] = problem_.keys_of(item_.b, query_of(r));
      all_empty()[r] = 1;
    }
  }

  void load_queries() {
    set_rows();
    if (problem_.scores != nullptr) return;
    for (std::int64_t r = 0; r < rows_; ++r) {
      table_.scale_row[f32](at(args_.q, item_.b, head_of(r), query_of(r)), problem_.scale, q(r), args_.D);
    }
  }

  void run_split(std::int64_t split) {
    const std::int64_t begin = split * kSplit, end = least(begin + kSplit, args_.Lkv);
    for (std::int64_t r = 0; r < rows_; ++r) part_m()[r] = kMinusInfinity;
    std::memset(memory_ + at_.part_lanes, 0, static_cast<std::size_t>(rows_ * kPanel) * sizeof(float));
    std::memset(memory_ + at_.part_o, 0, static_cast<std::size_t>(rows_ * at_.o_row) * sizeof(float));
    for (std::int64_t j = begin; j < end; j += kBlock) run_block(j, least(j + kBlock, end));
    for (std::int64_t r = 0; r < rows_; ++r) end_split(r, split, begin, end);
  }

  bool attends(std::int64_t r, std::int64_t begin, std::int64_t end) const {
    const KeyRange& keys = row_keys()[r];
    return most(keys.begin, begin) < least(keys.end, end);
  }

  void run_block(std::int64_t begin, std::int64_t end) {
    bool loaded = false;
    for (std::int64_t r = 0; r < rows_; r += plan_.tile_rows) {
      const std::int64_t r_end = least(r + plan_.tile_rows, rows_);
      bool any = false;
      for (std::int64_t i = r; i < r_end && !any; ++i) any = attends(i, begin, end);
      if (!any) continue;
      if (!loaded) load_block(begin, end);
      loaded = true;
      run_tile(r, r_end, begin, end);
    }
  }

  void load_block(std::int64_t begin, std::int64_t end) {
    begin_ = begin;
    keys_ = problem_.scores != nullptr ? nullptr : at(args_.k, item_.b, item_.kv_head, begin);
    values_ = at(args_.v, item_.b, item_.kv_head, begin);
    finite_known_ = false;
    if (!plan_.packed) return;
    if (keys_ != nullptr) table_.pack_keys[f32](keys_, args_.k.stride_token, end - begin, args_.D, memory_ + at_.keys);
    finite_ = table_.pack_values[f32](values_, args_.v.stride_token, end - begin, args_.Dv, memory_ + at_.values,
                                      at_.values_panel);
    finite_known_ = true;
  }

  void run_tile(std::int64_t r0, std::int64_t r1, std::int64_t begin, std::int64_t end) {
    const auto rows = static_cast<std::int32_t>(r1 - r0);
    const auto keys = static_cast<std::int32_t>(end - begin);
    const std::int32_t panels = (keys + kPanel - 1) / kPanel;

    // Which keys each row attends. `same`: all rows the same ones, and those are all that will be read.
    bool all = keys % kPanel == 0, same = true;
    std::int32_t* row_begin = reinterpret_cast<std::int32_t*>(memory_ + at_.begin);
    std::int32_t* row_end = reinterpret_cast<std::int32_t*>(memory_ + at_.end);
    std::uint64_t* attended = reinterpret_cast<std::uint64_t*>(memory_ + at_.attended);
    for (std::int32_t i = 0; i < rows; ++i) {
      const KeyRange& range = row_keys()[r0 + i];
      std::int64_t low = most(range.begin - begin, 0), high = least(range.end - begin, keys);
      if (low >= high) low = high = 0;
      row_begin[i] = static_cast<std::int32_t>(low);
      row_end[i] = static_cast<std::int32_t>(high);
      all = all && low == 0 && high == keys;
      same = same && low == row_begin[0] && high == row_end[0];
    }
    if (!all) {
      for (std::int32_t i = 0; i < rows; ++i) set_range(attended + i * kAttendedWords, row_begin[i], row_end[i]);
    }

    float* s = memory_ + at_.s;
    float* alpha = memory_ + at_.alpha;
    compute_scores(r0, rows, keys, panels, all ? nullptr : row_begin, all ? nullptr : row_end, s);
    table_.softmax_step[f32]({s, at_.s_row, rows, panels, all ? nullptr : attended, kAttendedWords, part_m() + r0,
                              memory_ + at_.part_lanes + r0 * kPanel, alpha});
    if (same || finite(keys)) {
      add_values(r0, 0, rows, keys, all ? nullptr : row_begin, all ? nullptr : row_end);
    } else {
      for (std::int32_t i = 0; i < rows; ++i) add_values(r0, i, 1, keys, row_begin, row_end);
    }
  }

  void compute_scores(std::int64_t r0, std::int32_t rows, std::int32_t keys, std::int32_t panels,
                      const std::int32_t* row_begin, const std::int32_t* row_end, float* s) {
    if (keys_ == nullptr) {
      for (std::int32_t i = 0; i < rows; ++i) {
        std::memcpy(s + i * at_.s_row, problem_.scores + query_of(r0 + i) * problem_.scores_row + begin_,
                    static_cast<std::size_t>(keys) * sizeof(float));
      }
    } else if (plan_.packed) {
      table_.tile[f32]({q(r0), at_.q_row, memory_ + at_.keys, kPanel, args_.D * kPanel, s, at_.s_row, rows, panels,
                        static_cast<std::int32_t>(args_.D), Tile::kStore, nullptr, row_begin, row_end, true});
    } else {
      table_.scores[f32]({q(r0), at_.q_row, keys_, args_.k.stride_token, s, at_.s_row, rows, keys, args_.D});
    }
  }

  // o = fma(o, alpha, sum over keys of p * v) for rows i ... i + rows - 1 of the tile that begins at row r0.
  void add_values(std::int64_t r0, std::int32_t i, std::int32_t rows, std::int32_t keys, const std::int32_t* row_begin,
                  const std::int32_t* row_end) {
    Tile tile{};
    tile.a = memory_ + at_.s + i * at_.s_row;
    tile.a_row = at_.s_row;
    tile.c = part_o(r0 + i);
    tile.c_row = at_.o_row;
    tile.rows = rows;
    tile.depth = keys;
    tile.mode = Tile::kUpdate;
    tile.alpha = memory_ + at_.alpha + i;
    tile.begin = row_begin == nullptr ? nullptr : row_begin + i;
    tile.end = row_end == nullptr ? nullptr : row_end + i;
    tile.keys_are_columns = false;
    if (plan_.packed) {
      tile.b = memory_ + at_.values;
      tile.b_row = kPanel;
      tile.b_panel = at_.values_panel;
      tile.panels = static_cast<std::int32_t>(at_.o_row / kPanel);
      table_.tile[f32](tile);
      return;
    }
    // Whole panels of columns where they lie; the last, partial one through a copy that is filled up.
    const std::int64_t whole = args_.Dv / kPanel;
    tile.b = values_;
    tile.b_row = args_.v.stride_token;
    tile.b_panel = kPanel;
    tile.panels = static_cast<std::int32_t>(whole);
    if (whole > 0) table_.tile[f32](tile);
    if (whole * kPanel == args_.Dv) return;
    table_.pack_values[f32](values_ + whole * kPanel, args_.v.stride_token, keys, args_.Dv - whole * kPanel,
                            memory_ + at_.values, at_.values_panel);
    tile.b = memory_ + at_.values;
    tile.b_row = kPanel;
    tile.c += whole * kPanel;
    tile.panels = 1;
    table_.tile[f32](tile);
  }

  // Whether all values of the block are finite: a key may then be kept out of a row by a weight of +0.
  bool finite(std::int32_t keys) {
    if (!finite_known_) {
      finite_ = true;
      for (std::int32_t j = 0; j < keys && finite_; ++j) {
        const float* v = values_ + j * args_.v.stride_token;
        for (std::int64_t d = 0; d < args_.Dv; ++d) finite_ = finite_ && __builtin_isfinite(v[d]);
      }
      finite_known_ = true;
    }
    return finite_;
  }

  void end_split(std::int64_t r, std::int64_t split, std::int64_t begin, std::int64_t end) {
    const bool empty = !attends(r, begin, end);
    const float m = part_m()[r];
    const float l = sum_lanes(memory_ + at_.part_lanes + r * kPanel);
    const std::size_t row_bytes = static_cast<std::size_t>(at_.o_row) * sizeof(float);
    if (plan_.parts > 1) {
      float* state = stored(r, split);
      state[0] = m;
      state[1] = l;
      state[2] = empty ? 1.0f : 0.0f;
      std::memcpy(state + kPanel, part_o(r), row_bytes);
      return;
    }
    if (empty) return;
    float* all_m = memory_ + at_.all_m + r;
    float* all_l = memory_ + at_.all_l + r;
    if (all_empty()[r] != 0) {
      all_empty()[r] = 0;
      *all_m = m;
      *all_l = l;
      if (plan_.splits > 1) std::memcpy(all_o(r), part_o(r), row_bytes);
    } else {
      table_.merge[f32](all_m, all_l, all_o(r), m, l, part_o(r), args_.Dv);
    }
  }

  void finish_rows() {
    for (std::int64_t r = 0; r < rows_; ++r) finish_row(r, all_empty()[r] != 0 ? nullptr : all_o(r));
  }

  // o null: the row attended no key.
  void finish_row(std::int64_t r, const float* o) {
    const std::int64_t head = head_of(r), i = query_of(r);
    float* lse = args_.lse == nullptr ? nullptr
                                      : args_.lse + item_.b * args_.lse_stride_batch + head * args_.lse_stride_head +
                                            i * args_.lse_stride_token;
    const float sink = args_.sinks == nullptr ? kMinusInfinity : args_.sinks[head];
    float m = memory_[at_.all_m + r], l = memory_[at_.all_l + r];
    if (o == nullptr) {
      m = kMinusInfinity;
      l = 0.0f;
      std::memset(part_o(r), 0, static_cast<std::size_t>(at_.o_row) * sizeof(float));
      o = part_o(r);
    }
    table_.finish[f32](m, l, o, sink, at(args_.out, item_.b, head, i), lse, args_.Dv);
  }

  float* q(std::int64_t r) const { return memory_ + at_.q + r * at_.q_row; }
  float* part_m() const { return memory_ + at_.part_m; }
  float* part_o(std::int64_t r) const { return memory_ + at_.part_o + r * at_.o_row; }
  float* all_o(std::int64_t r) const {  // with one split nothing is folded: its state is the row's
    return plan_.splits > 1 ? memory_ + at_.all_o + r * at_.o_row : part_o(r);
  }
  KeyRange* row_keys() const { return reinterpret_cast<KeyRange*>(memory_ + at_.row_keys); }
  std::int32_t* all_empty() const { return reinterpret_cast<std::int32_t*>(memory_ + at_.all_empty); }
  float* stored(std::int64_t r, std::int64_t split) const {
    return states_ + ((item_.states_at + r) * plan_.splits + split) * plan_.state_row;
  }

  const Problem& problem_;
  const heed_attention_args& args_;
  const Plan& plan_;
  const dispatch::Table& table_;
  const Layout& at_;
  float* memory_;
  float* states_;
  Item item_{};
  std::int64_t rows_ = 0;
  std::int64_t begin_ = 0;  // first key of the block at hand
  const float* keys_ = nullptr;
  const float* values_ = nullptr;
  bool finite_ = false, finite_known_ = false;
};

// Shared by the workers of one phase: each takes the next index until none is left.
struct Phase {
  const Problem& problem;
  const Plan& plan;
  const dispatch::Table& table;
  char* workspace;
  float* states;
  std::int64_t count;
  void (Worker::*step)(std::int64_t);
  std::atomic<std::int64_t> next{0};
};

void work(void* context, std::int64_t worker) {
  Phase& phase = *static_cast<Phase*>(context);
  Worker here(phase.problem, phase.plan, phase.table,
              reinterpret_cast<float*>(phase.workspace + static_cast<std::size_t>(worker) * phase.plan.worker_bytes),
              phase.states);
  for (std::int64_t i = phase.next++; i < phase.count; i = phase.next++) (here.*phase.step)(i);
}

void run_phase(Phase& phase) {
  const heed_executor& executor = phase.problem.args.executor;
  if (executor.parallel_for != nullptr && phase.plan.workers > 1) {
    executor.parallel_for(executor.context, phase.plan.workers, work, &phase);
  } else {
    work(&phase, 0);
  }
}

}  // namespace

void run_attention(const Problem& problem, const Plan& plan, const dispatch::Table& table, void* workspace,
                   void* states) {
  Phase tiles{problem,      plan,        table, static_cast<char*>(workspace), static_cast<float*>(states),
              plan.items(), &Worker::run};
  run_phase(tiles);
  if (plan.parts == 1) return;
  Phase folds{problem,
              plan,
              table,
              static_cast<char*>(workspace),
              static_cast<float*>(states),
              plan.sequences * plan.query_tiles,
              &Worker::fold};
  run_phase(folds);
}

}  // namespace heed
