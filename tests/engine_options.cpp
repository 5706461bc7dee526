// What engines do with a problem changes no bit, whatever its options, types and layout: a plan's items in any order,
// keys in parts that a state carries on, keys in heed's cache.
#include <algorithm>
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <memory>

#include "api/validate.hpp"
#include "engine_problem.hpp"
#include "executors.hpp"
#include "option_problem.hpp"

namespace heed::test {
namespace {

constexpr Int kSplitKeys = 512;

std::unique_ptr<void, void (*)(void*)> aligned_memory(std::size_t bytes) {
  return {std::aligned_alloc(64, (bytes + 63) / 64 * 64), std::free};
}

std::string differs(const Content& content, const std::vector<SequenceResult>& found,
                    const std::vector<SequenceResult>& expected) {
  for (Int b = 0; b < content.B(); ++b) {
    const std::string failure =
        difference(content, b, found[static_cast<std::size_t>(b)], expected[static_cast<std::size_t>(b)]);
    if (!failure.empty()) return "sequence " + std::to_string(b) + ": " + failure;
  }
  return {};
}

std::string by_plan(const Content& content, OptionProblem& problem, std::int32_t threads,
                    std::vector<SequenceResult>* results) {
  AttentionArgs largest = problem.args;
  largest.B += static_cast<Int>(content.spec.seed % 2);
  largest.Lq += static_cast<Int>(content.spec.seed % 3) * 40;
  largest.Lkv += static_cast<Int>(content.spec.seed % 5) * 300;
  largest.executor.threads = threads;
  Plan plan;
  if (const Status made = plan.make(largest); !made) return made.message();
  const auto workspace = aligned_memory(plan.workspace_bytes());
  Run run;
  const Status begun = plan.begin(problem.args, workspace.get(), plan.workspace_bytes(), &run);
  if (!begun) return begun.message();
  for (std::int32_t phase = 0; phase < Run::kPhases; ++phase) {
    for (Int n = run.items(phase); n-- > 0;) {
      if (run.item(phase, n, static_cast<std::int32_t>(n % threads)) != HEED_OK) return "an item was refused";
    }
  }
  return problem.take(results);
}

// The keys in parts of one or a few splits, one call after the other, then finished.
std::string by_states(OptionProblem& problem, Int splits_per_part, std::int32_t threads,
                      std::vector<SequenceResult>* results) {
  Problem whole;
  heed_status status;
  if (api::make_problem(&problem.args, &whole, &status) != HEED_OK) return status.message;
  const AttentionArgs saved = problem.args;
  const bool ragged = saved.q_indptr.data != nullptr;
  std::vector<Sequence> sequences;
  for (Int b = 0; b < saved.B; ++b) sequences.push_back(whole.sequence(b));
  const Int tokens = ragged ? index_at(saved.q_indptr, saved.B) : saved.Lq;
  const StateMemory memory({ragged ? 1 : saved.B, saved.Hq, 1, tokens, 1, 1, saved.Dv});

  AttentionArgs part = problem.args;
  part.sinks = nullptr;
  part.alignment = HEED_OFFSETS;
  part.executor = {threads > 1 ? last_first : nullptr, nullptr, threads};
  std::vector<Int> begins(sequences.size()), ends(sequences.size()), offsets(sequences.size()),
      positions(sequences.size());
  part.key_begin = {begins.data(), HEED_INT64};
  part.kv_lengths = {ends.data(), HEED_INT64};
  part.key_offset = {offsets.data(), HEED_INT64};
  part.offsets = positions.data();
  const Int step = kSplitKeys * splits_per_part;
  for (Int first = 0; first == 0 || first < saved.Lkv; first += step) {
    for (std::size_t b = 0; b < sequences.size(); ++b) {
      const Sequence& s = sequences[b];
      begins[b] = s.begin + std::min(first, s.keys);
      ends[b] = s.begin + std::min(first + step, s.keys);
      offsets[b] = s.key_position + std::min(first, s.keys);
      positions[b] = s.position;
    }
    const Status done =
        first == 0 ? attention_state(part, memory.state) : attention_state(part, memory.state, memory.state);
    if (!done) return done.message();
  }

  // Sequence by sequence, so that nothing between them is written.
  for (const Sequence& s : sequences) {
    const Int batch = ragged ? 0 : s.b, token = s.q_token;
    State one = memory.state;
    one.B = 1;
    one.Lq = s.queries;
    one.stride_batch = one.o_stride_batch = 0;
    one.stride_head = tokens;
    one.stride_token = 1;
    one.o_stride_head = tokens * saved.Dv;
    one.o_stride_token = saved.Dv;
    one.m += batch * saved.Hq * tokens + token;
    one.l += batch * saved.Hq * tokens + token;
    one.o += (batch * saved.Hq * tokens + token) * saved.Dv;
    heed_tensor_out out = saved.out;
    out.data = whole.out_row(s, 0, 0);
    std::vector<float> lse(static_cast<std::size_t>(saved.Hq * tokens));  // strides of the state
    const Status finished = finish(one, out, lse.data(), saved.sinks);
    if (!finished) return finished.message();
    for (Int h = 0; h < saved.Hq && saved.lse != nullptr; ++h) {
      for (Int i = 0; i < s.queries; ++i) *whole.lse_at(s, h, i) = lse[static_cast<std::size_t>(h * tokens + i)];
    }
  }
  return problem.take(results);
}

// The keys of a content in a cache, and a batch of its sequences in another order than they were opened.
class Cached {
 public:
  Cached(const Content& content, Int page_size) : memory_(nullptr, std::free) {
    CacheConfig config;
    config.Hkv = content.spec.Hkv;
    config.D = content.spec.D;
    config.Dv = content.spec.Dv;
    config.k_type = content.spec.k;
    config.v_type = content.spec.v;
    config.page_size = page_size;
    for (const SequenceContent& s : content.sequences) config.page_count += (s.keys + page_size - 1) / page_size;
    config.max_sequences = content.B() + 1;
    memory_ = aligned_memory(config.bytes());
    REQUIRE(cache_.create(config, memory_.get(), config.bytes()).ok());
    Int unused = 0;
    REQUIRE(cache_.open(&unused).ok());
    ids_.resize(content.sequences.size());
    for (std::size_t n = ids_.size(); n-- > 0;) {
      REQUIRE(cache_.open(&ids_[n]).ok());
      const SequenceContent& s = content.sequences[n];
      const heed_tensor k = heads_first(s.k.data(), 0, s.keys, config.D);
      const heed_tensor v = heads_first(s.v.data(), 0, s.keys, config.Dv);
      const Status status = cache_.append(ids_[n], k, v, s.keys);
      REQUIRE(std::string(status.message()) == "");
    }
    offsets_.resize(ids_.size() + 1);
    for (std::size_t n = 0; n < ids_.size(); ++n) {
      offsets_[static_cast<std::size_t>(ids_[n])] = content.sequences[n].key_position;
    }
  }

  void bind(AttentionArgs& args) {
    const Status status = cache_.bind(ids_.data(), static_cast<Int>(ids_.size()), &args);
    REQUIRE(std::string(status.message()) == "");
    args.key_offset = {offsets_.data(), HEED_INT64};
  }

 private:
  std::unique_ptr<void, void (*)(void*)> memory_;
  Cache cache_;
  std::vector<Int> ids_, offsets_;
};

TEST_CASE("plans, states and the cache change no bit, whatever the options", "[engine][options][I1][I4]") {
  int planned = 0, continued = 0, cached = 0;
  check_options(2000, [&](const OptionSpec& spec) -> std::string {
    const std::vector<const Table*> rows = rows_under_test();
    const ForcedRow forced(*rows[spec.seed % rows.size()]);
    const Content content = content_of(spec);
    OptionProblem problem(content);
    std::vector<SequenceResult> expected, found;
    std::string failure = problem.run(&expected);
    if (!failure.empty()) return "the call: " + failure;
    const std::int32_t threads = 1 + static_cast<std::int32_t>(spec.seed / 3 % 7);

    failure = by_plan(content, problem, threads, &found);
    if (failure.empty()) failure = differs(content, found, expected);
    if (!failure.empty()) return "by a plan: " + failure;
    ++planned;

    if (!content.has(kInspected)) {  // a state has no view
      failure = by_states(problem, 1 + static_cast<Int>(spec.seed % 2), threads, &found);
      if (failure.empty()) failure = differs(content, found, expected);
      if (!failure.empty()) return "by states: " + failure;
      ++continued;
    }

    // Appending would quantise int8 once more, and has no pages that are absent.
    if (spec.k == HEED_INT8 || spec.v == HEED_INT8 || content.has(kAbsent)) return {};
    Arrangement how = home_of(content);
    how.paged = how.ragged_keys = how.begin = how.same_begin = false;
    how.alignment = HEED_OFFSETS;
    OptionProblem moved(content, how);
    Cached cache(content, 16 * (1 + static_cast<Int>(spec.seed % 9)));
    cache.bind(moved.args);
    failure = moved.run(&found);
    if (failure.empty()) failure = differs(content, found, expected);
    if (!failure.empty()) return "in the cache: " + failure;
    failure = by_plan(content, moved, threads, &found);
    if (failure.empty()) failure = differs(content, found, expected);
    if (!failure.empty()) return "in the cache, by a plan: " + failure;
    ++cached;
    return {};
  });
  CHECK(continued * 3 >= planned);
  CHECK(cached * 4 >= planned);
}

}  // namespace
}  // namespace heed::test
