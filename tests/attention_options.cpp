// Every option, storage type and layout at once, drawn at random: every row of kernels gives the model's bits (I5), or
// where it has no fused multiply-add, comes as near to the exact result as rounding allows. The model itself is held
// against the exact formula.
#include <catch2/catch_test_macros.hpp>

#include "content_model.hpp"
#include "support/coverage.hpp"
#include "support/rows.hpp"

namespace heed::test {
namespace {

// Two query rows that follow each other, and so lie in one tile, end at different keys.
bool mixed_tile(const Content& content) {
  if (!content.has(kCausal) && !(content.has(kWindow) && content.window_right >= 0)) return false;
  const Int right = content.has(kCausal) ? 0 : content.window_right;
  for (const SequenceContent& s : content.sequences) {
    const Int end = s.position - s.key_position + right + 1;  // of row 0
    if (s.queries > 1 && end + s.queries - 1 > 0 && end < s.keys) return true;
  }
  return false;
}

bool page_edge_in_a_panel(const Content& content, const OptionProblem& problem) {
  if (problem.args.page_size == 0) return false;
  for (const SequenceContent& s : content.sequences) {
    for (Int edge = problem.args.page_size; edge < s.begin + s.keys; edge += problem.args.page_size) {
      if (edge > s.begin && (edge - s.begin) % 16 != 0) return true;
    }
  }
  return false;
}

void count_tried(const Content& content, const OptionProblem& problem, const ModelResult& rows, Coverage& coverage) {
  for (int option = 0; option < kOptions; ++option) {
    coverage.count(name_of(static_cast<Option>(option)), content.has(static_cast<Option>(option)));
  }
  coverage.count("over a block", rows.rows_over_a_block > 0);
  coverage.count("over a split", rows.rows_over_a_split > 0);
  coverage.count("partial panel", rows.rows_with_a_partial_panel > 0);
  coverage.count("row without keys", rows.rows_without_keys > 0);
  coverage.count("empty split", rows.rows_with_an_empty_split > 0);
  coverage.count("maximum rises late", rows.rows_whose_maximum_rose_late > 0);
  coverage.count("mixed tile", mixed_tile(content));
  coverage.count("page edge in a panel", page_edge_in_a_panel(content, problem));
  const AttentionArgs& a = problem.args;
  const Int group = a.Hq / a.Hkv;
  coverage.count("several heads a group", group > 1);
  coverage.count("one row a tile", a.Lq * group == 1);
  coverage.count("few rows a tile", a.Lq * group > 1 && a.Lq * group <= 8);
  coverage.count("many rows a tile", a.Lq * group > 48);
  coverage.count("several tiles", a.Lq * group > 256);
  for (const heed_type type : kTypes) {
    coverage.count(std::string("k ") + name_of(type), content.spec.k == type);
    coverage.count(std::string("v ") + name_of(type), content.spec.v == type);
    if (type > HEED_BF16) continue;  // for keys and values only
    coverage.count(std::string("q ") + name_of(type), content.spec.q == type);
    coverage.count(std::string("out ") + name_of(type), content.spec.out == type);
    coverage.count(std::string("bias ") + name_of(type), content.has(kBias) && content.spec.bias == type);
  }
  for (int mixture = 0; mixture <= static_cast<int>(Mixture::kNonfinite); ++mixture) {
    coverage.count("mixture " + std::to_string(mixture), static_cast<int>(content.spec.mixture) == mixture);
  }
  coverage.next();
}

TEST_CASE("every option at once: the model's bits on every row, near the exact result", "[attention][options][I5]") {
  Coverage coverage;
  check_options(2500, [&](const OptionSpec& spec) -> std::string {
    const Content content = content_of(spec);
    const Modelled expected = modelled(content);
    OptionProblem problem(content);
    count_tried(content, problem, expected.counts, coverage);
    if (spec.finite()) {
      const std::string failure = too_far(content, problem, expected.results, expected.bounds);
      if (!failure.empty()) return "the model: " + failure;
    }
    for (const Table* row : rows_under_test()) {
      const ForcedRow forced(*row);
      std::vector<SequenceResult> results;
      std::string failure = problem.run(&results);
      if (row->fma) {
        for (Int b = 0; b < content.B() && failure.empty(); ++b) {
          failure = difference(content, b, results[static_cast<std::size_t>(b)],
                               expected.results[static_cast<std::size_t>(b)]);
        }
      } else if (spec.finite() && failure.empty()) {
        failure = too_far(content, problem, results, expected.bounds);
      }
      if (!failure.empty()) return std::string("row ") + row->name + ": " + failure;
    }
    return {};
  });
  coverage.require();
}

}  // namespace
}  // namespace heed::test
