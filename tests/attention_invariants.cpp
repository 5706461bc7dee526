// Random problems of all options, each computed in two ways that must give the same bits: I1 threads, I2 batch, I3
// prefill and decode, I4 layout and storage. Rows without fused multiply-add keep these too, so every row runs all.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <utility>

#include "executors.hpp"
#include "option_problem.hpp"
#include "support/coverage.hpp"
#include "support/environment.hpp"
#include "support/rows.hpp"

namespace heed::test {
namespace {

using Results = std::vector<SequenceResult>;

// What each row of kernels gave, in the order of rows_under_test().
using OfRows = std::vector<Results>;

// Empty, or the first failure of `step`, which is told the number of the row in use.
template <class Step>
std::string on_every_row(const Step& step) {
  const std::vector<const Table*> rows = rows_under_test();
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const ForcedRow forced(*rows[row]);
    const std::string failure = step(row);
    if (!failure.empty()) return std::string("row ") + rows[row]->name + ": " + failure;
  }
  return {};
}

// against(content, problem, what each row gave): what is wrong with other ways to compute it. `problem` is the call as
// the spec says it.
template <class Against>
void check_on_every_row(Int count, const Against& against) {
  check_options(count, [&](const OptionSpec& spec) -> std::string {
    const Content content = content_of(spec);
    OptionProblem problem(content);
    OfRows once(rows_under_test().size());
    const std::string failure = on_every_row([&](std::size_t row) { return problem.run(&once[row]); });
    return failure.empty() ? against(content, problem, once) : failure;
  });
}

std::string difference(const Content& content, const Results& found, const Results& expected) {
  for (Int b = 0; b < content.B(); ++b) {
    const auto n = static_cast<std::size_t>(b);
    const std::string failure = difference(content, b, found[n], expected[n]);
    if (!failure.empty()) return failure;
  }
  return {};
}

// Runs a content in another arrangement, every other time on threads; take(once) leaves, of what a row gave, what it
// should give here.
template <class Take>
std::string compare(const Content& content, const Arrangement& how, const OfRows& once, const Take& take) {
  OptionProblem problem(content, how);
  auto threads = static_cast<std::int32_t>(2 + how.seed % 7);
  if (how.seed % 2 == 0) problem.args.executor = {on_threads, &threads, threads};
  const std::string failure = on_every_row([&](std::size_t row) {
    Results found;
    const std::string failed = problem.run(&found);
    return failed.empty() ? difference(content, found, take(once[row], found)) : failed;
  });
  return failure.empty() ? failure : describe(how) + ": " + failure;
}

std::string compare(const Content& content, const Arrangement& how, const OfRows& once) {
  return compare(content, how, once, [](const Results& all, const Results&) -> const Results& { return all; });
}

TEST_CASE("I1: the number of threads and their order change no bit", "[attention][I1]") {
  check_on_every_row(300, [](const Content& content, OptionProblem& problem, const OfRows& once) {
    Random random(content.spec.seed);
    for (int n = 0; n < 3; ++n) {
      const auto kind = random.between(0, 2);
      auto threads = static_cast<std::int32_t>(random.once_in(3) ? random.between(1, 64) : 1 << random.between(0, 6));
      problem.args.executor = {kind == 0 ? on_threads : kind == 1 ? last_first : odd_first, &threads, threads};
      const std::string failure = on_every_row([&](std::size_t row) {
        Results found;
        const std::string failed = problem.run(&found);
        return failed.empty() ? difference(content, found, once[row]) : failed;
      });
      if (!failure.empty()) {
        return std::to_string(threads) + " threads, order " + std::to_string(kind) + ": " + failure;
      }
    }
    return std::string();
  });
}

// Every item of a plan once, each phase in an order of its own, in a workspace that holds NaN and ends where it says.
std::string run_items(const AttentionArgs& args, std::int32_t workers, Random& random) {
  AttentionArgs largest = args;
  largest.executor.threads = workers;
  Plan plan;
  Status status = plan.make(largest);
  if (!status.ok()) return std::string("plan: ") + status.message();
  const std::size_t bytes = plan.workspace_bytes();
  constexpr std::size_t kFence = 64;
  std::vector<unsigned char> memory(bytes + 2 * kFence, 0xFF);
  unsigned char* workspace = memory.data();
  while (reinterpret_cast<std::uintptr_t>(workspace) % kFence != 0) ++workspace;
  Run run;
  status = plan.begin(args, workspace, bytes, &run);
  if (!status.ok()) return std::string("begin: ") + status.message();
  for (std::int32_t phase = 0; phase < Run::kPhases; ++phase) {
    std::vector<Int> order;
    for (Int item = 0; item < run.items(phase); ++item) {
      order.insert(order.begin() + random.between(0, item), item);
    }
    for (const Int item : order) {
      const auto worker = static_cast<std::int32_t>(random.between(0, workers - 1));
      if (run.item(phase, item, worker) != HEED_OK) return "an item failed";
    }
  }
  for (const unsigned char* at = workspace + bytes; at < memory.data() + memory.size(); ++at) {
    if (*at != 0xFF) return "memory behind the workspace was written";
  }
  return {};
}

TEST_CASE("I1: the items of a plan in any order, by any worker, change no bit", "[attention][plan][I1]") {
  check_on_every_row(500, [](const Content& content, OptionProblem& problem, const OfRows& once) {
    Random random(content.spec.seed + 1);
    const auto workers = static_cast<std::int32_t>(random.between(1, 20));
    const std::string failure = on_every_row([&](std::size_t row) {
      Results found;
      std::string failed = run_items(problem.args, workers, random);
      if (failed.empty()) failed = problem.take(&found);
      return failed.empty() ? difference(content, found, once[row]) : failed;
    });
    return failure.empty() ? failure : std::to_string(workers) + " workers: " + failure;
  });
}

// With lengths or begins in the arrangement there is NaN in the slots behind or before the keys, and where sequences
// with fewer queries than others stand in a dense batch, in the rows behind theirs.
TEST_CASE("I2: the other sequences of a batch, their order and the padding change no bit", "[attention][I2]") {
  check_on_every_row(500, [](const Content& content, OptionProblem&, const OfRows& once) {
    Random random(content.spec.seed + 2);
    for (Int b = 0; b < content.B(); ++b) {
      Content one = content;
      one.sequences = {content.sequences[static_cast<std::size_t>(b)]};
      const std::string failure =
          compare(one, draw_arrangement(one, random.next()), once,
                  [&](const Results& all, const Results&) { return Results{all[static_cast<std::size_t>(b)]}; });
      if (!failure.empty()) return "sequence " + std::to_string(b) + " alone, " + failure;
    }
    Content mixed = content;
    std::vector<Int> from;  // which sequence it is; -1: another one
    mixed.sequences.clear();
    const auto insert = [&](const SequenceContent& sequence, Int b) {
      const Int at = random.between(0, mixed.B());
      mixed.sequences.insert(mixed.sequences.begin() + at, sequence);
      from.insert(from.begin() + at, b);
    };
    for (Int b = 0; b < content.B(); ++b) insert(content.sequences[static_cast<std::size_t>(b)], b);
    for (const SequenceContent& mate : mates_of(content, random.next())) insert(mate, -1);
    const std::string failure =
        compare(mixed, draw_arrangement(mixed, random.next()), once, [&](const Results& all, Results expected) {
          for (std::size_t n = 0; n < from.size(); ++n) {
            if (from[n] >= 0) expected[n] = all[static_cast<std::size_t>(from[n])];
          }
          return expected;
        });
    return failure.empty() ? failure : "among others, " + failure;
  });
}

// Row i of every head.
SequenceResult row_of(const OptionSpec& spec, const SequenceContent& s, const SequenceResult& all, Int i) {
  SequenceResult row;
  const auto take = [&](const auto& from, auto& to, Int columns) {
    for (Int h = 0; h < spec.Hq && !from.empty(); ++h) {
      const auto first = from.begin() + (h * s.queries + i) * columns;
      to.insert(to.end(), first, first + columns);
    }
  };
  take(all.out, row.out, spec.Dv);
  take(all.lse, row.lse, 1);
  take(all.view, row.view, s.keys);
  return row;
}

TEST_CASE("I3: a row of a prefill is the decode of its token", "[attention][I3]") {
  check_on_every_row(600, [](const Content& content, OptionProblem&, const OfRows& once) {
    Random random(content.spec.seed + 3);
    Content decodes = content;  // some rows of all sequences as a batch of decodes
    decodes.sequences.clear();
    std::vector<std::pair<std::size_t, Int>> from;
    for (std::size_t b = 0; b < content.sequences.size(); ++b) {
      const SequenceContent& s = content.sequences[b];
      for (int n = 0; n < 3 && s.queries > 0; ++n) from.emplace_back(b, random.between(0, s.queries - 1));
    }
    for (const auto& [b, i] : from) decodes.sequences.push_back(row_of(content, content.sequences[b], i));
    const std::string failure =
        compare(decodes, draw_arrangement(decodes, random.next()), once, [&](const Results& all, const Results&) {
          Results rows;
          for (const auto& [b, i] : from) {
            rows.push_back(row_of(content.spec, content.sequences[b], all[b], i));
          }
          return rows;
        });
    return failure.empty() ? failure : "as a batch of decodes, " + failure;
  });
}

// What an arrangement of a problem came to.
void count_layouts(const AttentionArgs& a, Coverage& coverage) {
  const auto index = [&](const std::string& name, const heed_index& array) {
    coverage.count(name + ", int32", array.data != nullptr && array.type == HEED_INT32);
    coverage.count(name + ", int64", array.data != nullptr && array.type == HEED_INT64);
  };
  index("kv_indptr", a.kv_indptr);
  index("q_indptr", a.q_indptr);
  index("kv_lengths", a.kv_lengths);
  index("key_begin", a.key_begin);
  index("block_table", a.block_table);
  index("page_indices", a.page_indices);
  coverage.count("tokens first", a.k.stride_head != 0 && a.k.stride_head < a.k.stride_token);
  coverage.count("heads first", a.k.stride_head > a.k.stride_token);
  coverage.count("negative strides", a.k.stride_token < 0);
  coverage.count("K and V in one row",
                 a.k.type == a.v.type && a.k.stride_token >= a.D + a.Dv && a.k.stride_token == a.v.stride_token);
  coverage.count("out over q", a.out.data == a.q.data);
  coverage.count("panels", a.kv_panels != 0);
  coverage.count("table_rows", a.table_rows.data != nullptr);
  coverage.count("byte mask", a.mask_kind == HEED_BYTE_MASK);
  coverage.count("bit mask", a.mask_kind == HEED_BIT_MASK);
  coverage.count("no lse", a.lse == nullptr);
}

TEST_CASE("I4: strides, ragged batches, pages and padding change no bit", "[attention][I4][H16]") {
  Coverage coverage;
  Int shared = 0;
  check_on_every_row(600, [&](const Content& content, OptionProblem&, const OfRows& once) {
    Random random(content.spec.seed + 4);
    for (int n = 0; n < 3; ++n) {
      const Arrangement how = draw_arrangement(content, random.next());
      const std::string failure = compare(content, how, once);
      if (!failure.empty()) return failure;
      const OptionProblem problem(content, how);
      const AttentionArgs& a = problem.args;
      count_layouts(a, coverage);
      coverage.next();
      shared += a.page_size == 0 && a.kv_indptr.data == nullptr && a.B > 1 && a.k.stride_batch == 0 ? 1 : 0;
    }
    return std::string();
  });
  coverage.require();
  CHECK(shared >= problems(6));  // keys that lie there once for the whole batch
}

TEST_CASE("I4: numbers stored in 16 bits give the bits of the same numbers in f32", "[attention][I4]") {
  check_on_every_row(500, [](const Content& content, OptionProblem&, const OfRows& once) {
    Arrangement how = home_of(content);
    how.widened = true;
    return compare(content, how, once);
  });
}

// Parts of whole splits, each in a layout of its own; the last one finishes.
std::string run_parts(const Content& content, Random random, Results* found) {
  const OptionSpec& spec = content.spec;
  Int Lq = 0, Lkv = 0;
  for (const SequenceContent& s : content.sequences) {
    Lq = std::max(Lq, s.queries);
    Lkv = std::max(Lkv, s.keys);
  }
  const Int rows = content.B() * spec.Hq * Lq;
  Numbers m(static_cast<std::size_t>(rows + 1)), l(m), o(static_cast<std::size_t>(rows * spec.Dv + 1));
  const heed_state state{content.B(), spec.Hq, Lq, spec.Dv, m.data(), l.data(), o.data(), 0, 0, 0, 0, 0, 0};
  for (Int begin = 0, end = 0;; begin = end) {
    end = begin + 512 * random.between(1, 2);
    const bool last = end >= Lkv;
    Content part = keys_of(content, begin, end);
    part.spec.on[kInspected] = false;
    if (!last) part.spec.on[kSinks] = false;
    Arrangement how = draw_arrangement(part, random.next());
    how.in_place = false;
    how.ragged_queries = false;  // all parts see the state in the same shape
    OptionProblem problem(part, how);
    auto threads = static_cast<std::int32_t>(random.between(1, 8));
    problem.args.executor = {on_threads, &threads, threads};
    if (begin > 0) problem.args.start = &state;
    if (!last) problem.args.end = &state;
    const std::string before = problem.all_bytes();
    std::string failure = problem.call();
    if (failure.empty() && !last && problem.all_bytes() != before) failure = "out or lse was written beside the state";
    if (failure.empty() && last) failure = problem.take(found);
    if (!failure.empty()) return "keys from " + std::to_string(begin) + " on, " + describe(how) + ": " + failure;
    if (last) return {};
  }
}

TEST_CASE("keys in parts, each continuing the state of those before it, give the bits of one call",
          "[attention][states]") {
  check_on_every_row(500, [](const Content& content, OptionProblem&, const OfRows& once) {
    return on_every_row([&](std::size_t row) {
      Results found;
      const std::string failure = run_parts(content, Random(content.spec.seed + 5), &found);
      return failure.empty() ? difference(content, found, once[row]) : failure;
    });
  });
}

}  // namespace
}  // namespace heed::test
