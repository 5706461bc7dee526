// H03: what a row does not attend has no influence, whatever it holds: in each of the ways in which a key can be
// excluded, in every form, and with all options at random.
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "attention_coded.hpp"
#include "attention_forms.hpp"
#include "executors.hpp"
#include "support/each_row.hpp"

namespace heed::test {
namespace {

const float kPoisons[] = {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity, 1e38f, -3.25f, 0.0f};

Result row_alone(const Result& whole, std::int64_t row, std::int64_t Dv) {
  const auto out = whole.out.begin() + row * Dv, lse = whole.lse.begin() + row;
  return {whole.failure, {out, out + Dv}, {lse, lse + 1}};
}

// Row (b, h, i) before and after everything else is spoiled. absent: a page of the sequence that isn't there.
void check_spoiled(const heed_attention_args& dense, const Form& form, const Table& row, std::int64_t b, std::int64_t h,
                   std::int64_t i, Random& random, std::int64_t absent) {
  const ForcedRow forced(row);
  const std::int64_t n = (b * dense.Hq + h) * dense.Lq + i;
  FormedCall sound(dense, form);
  if (!sound.possible()) return;
  sound.drop_page(b, absent);
  const Result expected = row_alone(sound.run(), n, dense.Dv);
  for (const float poison : kPoisons) {
    FormedCall call(dense, form);
    call.drop_page(b, absent);
    call.spoil(b, h, i, poison, random);
    INFO(describe(form) << ", row " << row.name << ", poison " << poison << " around query row " << b << ' ' << h << ' '
                        << i);
    const Result found = call.run();
    REQUIRE(found.failure == "");
    REQUIRE(difference(row_alone(found, n, dense.Dv), expected.out, expected.lse) == "");
  }
}

// One way to keep the keys from 5 on, or those before 3, out of a problem of 8 keys.
struct Reason {
  const char* name;
  double mean;  // of the values that are left
  void (*apply)(ModelProblem&);
  heed_rectangle (*callback)(void*, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t);
};
void by_length(ModelProblem& p) { p.kv_lengths = {5}; }
void by_begin(ModelProblem& p) { p.key_begin = {3}; }
void by_causal(ModelProblem& p) {
  p.causal = true;
  p.alignment = Alignment::kOffsets;
  p.offsets = {4};
}
void by_window(ModelProblem& p) {
  p.window_left = 2;
  p.window_right = 0;
  p.alignment = Alignment::kOffsets;
  p.offsets = {4};
}
void by_mask(ModelProblem& p) {
  for (std::int64_t n = 0; n < p.Lq * 8; ++n) p.mask.push_back(n % 8 < 5 ? 1 : 0);
}
void by_bias(ModelProblem& p) {
  for (std::int64_t n = 0; n < p.Lq * 8; ++n) p.bias.push_back(n % 8 < 5 ? 0.0f : -kInfinity);
}
void by_callback(ModelProblem&) {}
heed_rectangle first_five(void*, std::int64_t, std::int64_t, std::int64_t, std::int64_t begin, std::int64_t end) {
  return end <= 5 ? HEED_ALL : begin >= 5 ? HEED_NONE : HEED_SOME;
}
const Reason kReasons[] = {{"kv_lengths", 2.0, by_length, nullptr},
                           {"key_begin", 5.0, by_begin, nullptr},
                           {"causal", 2.0, by_causal, nullptr},
                           {"window", 3.0, by_window, nullptr},
                           {"mask", 2.0, by_mask, nullptr},
                           {"bias of -inf", 2.0, by_bias, nullptr},
                           {"mask callback", 2.0, by_callback, first_five}};

// K = 0, V = j. For causal and window only query row 0 has the mean.
TEST_CASE("H03: each way to exclude a key keeps all of it out", "[attention][H03]") {
  for (const Reason& reason : kReasons) {
    for (const std::int64_t Lq : {1, 12}) {
      INFO(reason.name << ", Lq " << Lq);
      ModelProblem p;
      p.Lq = Lq;
      p.Lkv = 8;
      p.D = 3;
      p.Dv = 18;
      p.q.assign(static_cast<std::size_t>(Lq * 3), 1.0f);
      p.k.assign(8 * 3, 0.0f);
      for (int n = 0; n < 8 * 18; ++n) p.v.push_back(static_cast<float>(n / 18));
      reason.apply(p);
      Call dense(p, Layout::kHeadsFirst);
      dense.args.mask_callback = reason.callback;
      Random random(3);
      for (const Form& form : forms()) {
        for_each_row([&](const Table& row) {
          const ForcedRow forced(row);
          const Result found = FormedCall(dense.args, form).run();
          REQUIRE(found.failure == "");
          for (std::size_t d = 0; d < 18; ++d) REQUIRE(static_cast<double>(found.out[d]) == reason.mean);
          check_spoiled(dense.args, form, row, 0, 0, 0, random, 100);
        });
      }
    }
  }
}

TEST_CASE("H03: whatever surrounds what a row attends, with any options", "[attention][H03]") {
  const std::vector<const Table*> rows = rows_under_test();
  for (std::uint64_t seed = 0; seed < 700; ++seed) {
    Random random(seed);
    const std::int64_t Lq = random.once_in(2) ? 1 : random.between(1, 40);
    const std::int64_t Lkv = random.once_in(3) ? random.between(120, 600) : random.between(1, 60);
    const CodedProblem drawn = draw_coded(random, Lq, Lkv);
    INFO("seed " << seed << ": " << drawn.words);
    Call dense(drawn.numbers, Layout::kHeadsFirst);
    drawn.change(dense.args);
    if (random.once_in(3)) dense.args.executor = {last_first, nullptr, 5};
    check_spoiled(dense.args, forms()[seed % forms().size()], *rows[seed % rows.size()],
                  random.between(0, drawn.numbers.B - 1), random.between(0, drawn.numbers.Hq - 1),
                  random.between(0, Lq - 1), random, random.between(0, 9));
  }
}

}  // namespace
}  // namespace heed::test
