// Random problems of all options, each computed in two ways that must give the same bits: I1 threads, I2 batch, I3
// prefill and decode, I4 layout and storage. Rows without fused multiply-add keep these too, so every row runs all.
// What plans, states and the cache do with such problems is in engine_options.cpp.
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
  CHECK((fewer_problems() || shared >= problems(6)));  // keys that lie there once for the whole batch
}

TEST_CASE("I4: numbers stored in 16 bits give the bits of the same numbers in f32", "[attention][I4]") {
  check_on_every_row(500, [](const Content& content, OptionProblem&, const OfRows& once) {
    Arrangement how = home_of(content);
    how.widened = true;
    return compare(content, how, once);
  });
}

}  // namespace
}  // namespace heed::test
