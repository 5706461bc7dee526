// Bad arguments: which code, which words, and that nothing is written.
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include "api/validate.hpp"
#include "attention_arguments.hpp"
#include "attention_call.hpp"
#include "attention_coded.hpp"
#include "attention_random.hpp"

namespace heed::test {
namespace {

constexpr std::int64_t kMostInt = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeastInt = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t two_to(int n) { return std::int64_t{1} << n; }

using Args = heed_attention_args;

// A call that takes all it is given and nothing else.
ModelProblem valid() {
  Spec spec;
  spec.B = 2;
  spec.Hq = 4;
  spec.Hkv = 2;
  spec.Lq = 3;
  spec.Lkv = 5;
  spec.D = 4;
  spec.Dv = 6;
  return problem_of(spec);
}

// The same without anything unusual: such calls are looked at as a whole, not rule by rule
// (src/api/validate_plain.cpp).
ModelProblem plain() {
  ModelProblem problem = valid();
  problem.offsets.clear();
  return problem;
}

void check_refused(Call& call, const Rule& rule) {
  rule.broken(call.args);
  heed_status status;
  std::memset(&status, 'x', sizeof status);
  const heed_code code = heed_attention(&call.args, &status);
  INFO("rule " << &rule - kRules.data() << ", " << rule.argument << ' ' << rule.why);
  REQUIRE(std::memchr(status.message, '\0', sizeof status.message) != nullptr);
  const std::string message = status.message;
  INFO("code " << code << ", message: " << message);
  CHECK(code == HEED_INVALID_ARGUMENT);
  CHECK(status.code == code);
  CHECK(message.compare(0, std::strlen(rule.argument), rule.argument) == 0);
  CHECK(message.find(rule.why) != std::string::npos);
  CHECK(message.find('\n') == std::string::npos);
  CHECK(message.size() + 1 < sizeof status.message);  // nothing was cut off
  CHECK(call.untouched());
  CHECK(heed_attention(&call.args, nullptr) == code);
  CHECK(call.untouched());
}

TEST_CASE("a broken rule is named, and nothing is written", "[attention][arguments]") {
  const ModelProblem problem = valid();
  for (const Rule& rule : kRules) {
    Call call(problem, Layout::kPadded);
    check_refused(call, rule);
  }
}

TEST_CASE("plain calls: a broken rule is named, and nothing is written", "[attention][arguments]") {
  const ModelProblem problem = plain();
  for (const Rule& rule : kRules) {
    Call call(problem, Layout::kHeadsFirst);
    REQUIRE(api::is_plain(call.args));
    check_refused(call, rule);
  }
}

TEST_CASE("plain calls: results over each other are refused", "[attention][arguments]") {
  const ModelProblem problem = plain();
  const std::int64_t row = problem.Lq * problem.Dv, matrix = problem.Hq * row;
  for (const std::int64_t stride : {row, 3 * row, matrix - 1, matrix}) {
    Call call(problem, Layout::kHeadsFirst, false);
    call.args.out.stride_batch = stride;
    INFO("stride " << stride);
    CHECK(heed_attention(&call.args, nullptr) == (stride < matrix ? HEED_INVALID_ARGUMENT : HEED_OK));
    if (stride < matrix) CHECK(call.untouched());
  }
}

TEST_CASE("memory that is not aligned is refused, and given back", "[attention][arguments]") {
  Random random(3);
  const ModelProblem problem = plain_coded(random, 40, 200, 8, 8);  // more than the stack holds
  for (const std::size_t off : {1, 4, 32}) {
    struct Memory {
      std::size_t off;
      alignas(64) unsigned char bytes[1 << 20];
      int taken = 0, released = 0;
    };
    const auto memory = std::make_unique<Memory>(Memory{off, {}, 0, 0});
    Call call(problem, Layout::kHeadsFirst);
    call.args.allocator = {[](void* context, std::size_t bytes) -> void* {
                             auto* m = static_cast<Memory*>(context);
                             ++m->taken;
                             return bytes + m->off <= sizeof m->bytes ? m->bytes + m->off : nullptr;
                           },
                           [](void* context, void*, std::size_t) { ++static_cast<Memory*>(context)->released; },
                           memory.get()};
    heed_status status;
    CHECK(heed_attention(&call.args, &status) == HEED_INVALID_ARGUMENT);
    CHECK(std::string(status.message) == "allocator: its memory is not aligned to 64 bytes");
    CHECK(call.untouched());
    CHECK(memory->taken == 1);
    CHECK(memory->released == 1);
  }
}

TEST_CASE("no arguments at all", "[attention][arguments]") {
  heed_status status;
  CHECK(heed_attention(nullptr, &status) == HEED_INVALID_ARGUMENT);
  CHECK(std::string(status.message) == "args: is null");
  CHECK(heed_attention(nullptr, nullptr) == HEED_INVALID_ARGUMENT);
}

TEST_CASE("what is at the edge of a rule and legal", "[attention][arguments]") {
  const ModelProblem problem = valid();
  const Result expected = attend(problem);
  void (*const legal[])(Args&) = {
      [](Args& a) { a.window_left = -9; },   // no has_window: not looked at
      [](Args& a) { a.offsets = nullptr; },  // nor these
      [](Args& a) { a.executor.threads = 1; },
      [](Args& a) { a.executor.parallel_for = nullptr, a.executor.threads = 0; },
      [](Args& a) { a.mask = &a; },        // no mask_kind
      [](Args& a) { a.page_count = -3; },  // no pages
  };
  for (const auto& change : legal) {
    Call call(problem, Layout::kPadded);
    change(call.args);
    CHECK(difference(call.run(), expected.out, expected.lse) == "");
  }
  {  // rows of a ragged batch begin at its first token: what lies before is nobody's
    std::vector<float> results(4 * 4 * 6, 7.0f);
    Call call(problem, Layout::kPadded);
    Args& a = call.args;
    a.q = {nullptr, 0, 0, 0, HEED_F32};
    a.q.data = problem.q.data();
    const std::int64_t from_tenth[] = {10, 11, 12};
    a.q_indptr = {from_tenth, HEED_INT64};
    a.out = {results.data() - 10 * 6, 0, 2 * 6, 6, HEED_F32};  // tokens 10 and 11 of a head are those that there are
    a.lse = nullptr;
    CHECK(heed_attention(&a, nullptr) == HEED_OK);
    CHECK(results[2 * 4 * 6 - 1] != 7.0f);
    CHECK(results[2 * 4 * 6] == 7.0f);
  }
  {  // q and out of a ragged batch at one address, where neither has a row (found by fuzzing)
    std::vector<float> memory(1000, 7.0f);
    Call call(problem, Layout::kPadded);
    Args& a = call.args;
    const std::int64_t from_tenth[] = {10, 11, 12};
    a.q_indptr = {from_tenth, HEED_INT64};
    a.q = {memory.data(), 0, 4, 16, HEED_F32};    // from 160 to 192
    a.out = {memory.data(), 0, 6, 24, HEED_F32};  // from 240 to 288
    a.lse = nullptr;
    CHECK(heed_attention(&a, nullptr) == HEED_OK);
    CHECK(memory[191] == 7.0f);
    CHECK(memory[240] != 7.0f);
    a.out.stride_token = 16;  // now their first rows are one
    a.out.stride_head = 100;
    heed_status status;
    CHECK(heed_attention(&a, &status) == HEED_INVALID_ARGUMENT);
    CHECK(std::string(status.message).compare(0, 21, "out.data: is that of ") == 0);
  }
  ModelProblem one = problem;  // a stride along an axis of one element reaches nowhere
  one.B = 1;
  one.q.resize(one.q.size() / 2);
  one.k.resize(one.k.size() / 2);
  one.v.resize(one.v.size() / 2);
  Call call(one, Layout::kHeadsFirst);
  call.args.q.stride_batch = kMostInt;
  call.args.k.stride_batch = kLeastInt;
  call.args.out.stride_batch = two_to(60);
  const Result expected_one = attend(one);
  CHECK(difference(call.run(), expected_one.out, expected_one.lse) == "");
}

// Checks look at no more sequences than there is something to check of.
TEST_CASE("a batch of nothing ends at once, however large", "[attention][arguments]") {
  Args args{};
  args.struct_size = sizeof args;
  args.B = two_to(57);
  args.Hkv = args.Lq = args.Lkv = args.D = args.Dv = 1;
  CHECK(heed_attention(&args, nullptr) == HEED_OK);
  args.Hq = 1;
  args.Lq = 0;
  CHECK(heed_attention(&args, nullptr) == HEED_OK);
}

// Legal by every rule, and more than a machine has.
TEST_CASE("a workspace that no memory holds is not asked for", "[attention][arguments]") {
  const float q = 1.0f;
  float out = 77.0f;
  Args args{};
  args.struct_size = sizeof args;
  args.B = two_to(57);
  args.Hq = args.Hkv = args.Lq = args.D = args.Dv = 1;
  args.q = {&q, 0, 0, 0, HEED_F32};
  args.out = {&out, 1, 0, 0, HEED_F32};
  heed_status status;
  CHECK(heed_attention(&args, &status) == HEED_OUT_OF_MEMORY);
  CHECK(std::string(status.message) == "allocator: the workspace has no size");
  CHECK(out == 77.0f);
}

// A caller built against the first version: the fields that came later are at their defaults, whatever lies there.
TEST_CASE("a smaller struct", "[attention][arguments]") {
  const ModelProblem problem = valid();
  const Result expected = attend(problem);
  Call call(problem, Layout::kHeadsFirst);
  const std::size_t first = offsetof(Args, table_rows);
  std::memset(reinterpret_cast<char*>(&call.args) + first, 0x5A, sizeof(Args) - first);
  call.args.struct_size = first;
  CHECK(difference(call.run(), expected.out, expected.lse) == "");
}

// A caller built against a newer heed: what this library doesn't know must be zero.
TEST_CASE("a larger struct", "[attention][arguments]") {
  const ModelProblem problem = valid();
  const Result expected = attend(problem);
  struct Newer {
    heed_attention_args args;
    unsigned char more[40];
  };
  Call call(problem, Layout::kHeadsFirst);
  Newer newer{};
  newer.args = call.args;
  newer.args.struct_size = sizeof newer;
  heed_status status;
  for (std::size_t set = 0; set < sizeof newer.more; set += 13) {
    newer.more[set] = 1;
    CHECK(heed_attention(&newer.args, &status) == HEED_UNSUPPORTED);
    CHECK(std::string(status.message).compare(0, 12, "struct_size:") == 0);
    CHECK(std::string(status.message).find(std::to_string(sizeof newer.args + set)) != std::string::npos);
    CHECK(call.untouched());
    newer.more[set] = 0;
  }
  REQUIRE(heed_attention(&newer.args, &status) == HEED_OK);
  CHECK(status.code == HEED_OK);
  CHECK(std::string(status.message).empty());
  CHECK(difference(call.run(), expected.out, expected.lse) == "");
}

}  // namespace
}  // namespace heed::test
