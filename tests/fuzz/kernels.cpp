// Bytes to a call of one kernel (or of anything, with a hole in its arguments): matrices of any shape, stride and type
// in heap blocks of their own, some with an edit that must be refused.
#include <cmath>

#include "fuzz/holes.hpp"
#include "fuzz/matrix.hpp"
#include "fuzz/rows.hpp"
#include "fuzz/target.hpp"
#include "heed/reference.hpp"

namespace heed::fuzz {
namespace {

using Type = heed_type;
std::size_t size(Int n) { return static_cast<std::size_t>(n); }

struct Shape {
  Int R, n, D;
  test::Kind kind;
  std::uint8_t seed, rows;
};
Shape draw_shape(Input& in) {
  Shape s{};
  s.R = in.between(0, 30);
  s.n = in.once_in(4) ? in.between(0, 255) * 3 : in.between(0, 40);
  s.D = in.between(0, 40);
  s.kind = in.pick({test::Kind::kTame, test::Kind::kTame, test::Kind::kHostile, test::Kind::kWide});
  s.seed = in.byte();
  s.rows = in.byte();
  return s;
}
Type draw_rounded(Input& in) { return in.pick<Type>({HEED_F32, HEED_F16, HEED_BF16, HEED_FP8_E4M3, HEED_FP8_E5M2}); }

// Floats whose NaNs are all the same: which one a sum ends with is not said.
std::string with_one_nan(std::string bytes) {
  const float nan = std::nanf("");
  for (std::size_t n = 0; n + sizeof nan <= bytes.size(); n += sizeof nan) {
    float x;
    std::memcpy(&x, bytes.data() + n, sizeof x);
    if (test::is_nan(x)) std::memcpy(bytes.data() + n, &nan, sizeof nan);
  }
  return bytes;
}

// Runs a call on all rows: refused exactly if it was broken, and then nothing is written.
template <class Call>
void everywhere(const Shape& s, const char* what, bool broken, std::initializer_list<const char*> names,
                const Matrix& out, const Call& call) {
  std::memset(out.block.data(), 0x55, out.block.size());
  const std::string before = out.all();
  expect_same_on_rows(s.rows, what, [&](const test::Table&) {
    std::memcpy(out.block.data(), before.data(), before.size());
    heed_status status;
    const bool taken = expect_status(call(&status), status, names);
    expect(taken != broken, "a kernel takes what it should refuse, or the other way round");
    expect(taken || out.all() == before, "a kernel that refused has written");
    return out.type == HEED_F32 ? with_one_nan(out.all()) : out.all();
  });
}

void expect_near(const Matrix& out, const std::vector<double>& exact, double scale) {
  const std::vector<float> found = out.packed();
  for (std::size_t n = 0; n < found.size(); ++n) {
    expect(std::fabs(found[n] - exact[n]) <= scale * 1e-5, "a kernel is far from the exact result");
  }
}

void scores(Input& in) {
  const Shape s = draw_shape(in);
  const Matrix q(s.R, s.D, static_cast<Type>(in.between(HEED_F32, HEED_BF16)), in), k(s.n, s.D, draw_rounded(in), in);
  const Matrix out(s.R, s.n, HEED_F32, in);
  fill(q.block.data(), q.block.size(), q.type, s.kind, s.seed);
  fill(k.block.data(), k.block.size(), k.type, s.kind, s.seed + 1u);
  heed_matrix a = q.in(), b = k.in();
  heed_matrix_out to = out.out();
  bool broken = edit(a, in);
  broken = edit(b, in) || broken;
  broken = edit(to, in) || broken;
  const float scale = in.once_in(8) ? in.edge_float() : 0.5f;
  everywhere(s, "scores", broken, {"q", "k", "s"}, out,
             [&](heed_status* status) { return heed_scores(&a, &b, scale, &to, status); });
  if (broken || s.kind != test::Kind::kTame || scale != 0.5f) return;
  std::vector<double> exact(size(s.R * s.n));
  reference::scores(q.packed().data(), k.packed().data(), s.R, s.n, s.D, scale, exact.data());
  expect_near(out, exact, 40 * 16);
}

void weighted_sum(Input& in) {
  const Shape s = draw_shape(in);
  const Matrix p(s.R, s.n, HEED_F32, in), v(s.n, s.D, draw_rounded(in), in), start(s.R, s.D, HEED_F32, in);
  const Matrix out(s.R, s.D, HEED_F32, in);
  fill(p.block.data(), p.block.size(), HEED_F32, s.kind, s.seed);
  fill(v.block.data(), v.block.size(), v.type, s.kind, s.seed + 1u);
  fill(start.block.data(), start.block.size(), HEED_F32, s.kind, s.seed + 2u);
  heed_matrix a = p.in(), b = v.in(), c = start.in();
  heed_matrix_out to = out.out();
  const bool from = in.flag();
  bool broken = edit(a, in);
  broken = edit(b, in) || broken;
  broken = edit(to, in) || broken;
  broken = (from && edit(c, in)) || broken;
  everywhere(s, "weighted_sum", broken, {"weights", "v", "accumulator", "out"}, out,
             [&](heed_status* status) { return heed_weighted_sum(&a, &b, from ? &c : nullptr, &to, status); });
  if (broken || s.kind != test::Kind::kTame) return;
  const std::vector<float> weights = p.packed(), values = v.packed(), first = start.packed();
  std::vector<double> exact(size(s.R * s.D));
  for (Int r = 0; r < s.R; ++r) {
    reference::weighted_sum(weights.data() + r * s.n, values.data(), s.n, s.D, from ? first.data() + r * s.D : nullptr,
                            exact.data() + r * s.D);
  }
  expect_near(out, exact, 1000 * 16);
}

void attend(Input& in) {
  Shape s = draw_shape(in);
  s.D += 1;
  const Matrix x(s.R, s.n, HEED_F32, in), v(s.n, s.D, draw_rounded(in), in), out(s.R, s.D, HEED_F32, in);
  const Block lse(size(s.R) * 4);
  fill(x.block.data(), x.block.size(), HEED_F32, s.kind, s.seed);
  fill(v.block.data(), v.block.size(), v.type, s.kind, s.seed + 1u);
  heed_matrix a = x.in(), b = v.in();
  heed_matrix_out to = out.out();
  bool broken = edit(a, in);
  broken = edit(b, in) || broken;
  broken = edit(to, in) || broken;
  const int aside = in.byte() % 16;
  const bool beside = aside == 2 && s.R > 0;
  auto* const l = reinterpret_cast<float*>(lse.data() + (beside ? 1 : 0));
  everywhere(s, "attend", broken || beside, {"s", "v", "out", "lse"}, out,
             [&](heed_status* status) { return heed_attend(&a, &b, &to, aside == 1 ? nullptr : l, status); });
  if (broken || beside || s.kind != test::Kind::kTame) return;
  const std::vector<float> scored = x.packed(), values = v.packed();
  std::vector<double> exact(size(s.R * s.D));
  for (Int r = 0; r < s.R; ++r) {
    (void)reference::attend(scored.data() + r * s.n, values.data(), s.n, s.D, exact.data() + r * s.D);
  }
  expect_near(out, exact, 16);
}

void convert(Input& in) {
  const Shape s = draw_shape(in);
  const Matrix x(s.R, s.n, draw_rounded(in), in), out(s.R, s.n, draw_rounded(in), in);
  fill(x.block.data(), x.block.size(), x.type, s.kind, s.seed);
  heed_matrix from = x.in();
  heed_matrix_out to = out.out();
  bool broken = edit(from, in);
  broken = edit(to, in) || broken;
  everywhere(s, "convert", broken, {"from", "to"}, out,
             [&](heed_status* status) { return heed_convert(&from, &to, status); });
  for (Int r = 0; r < s.R && !broken; ++r) {
    for (Int c = 0; c < s.n; ++c) {
      const float value = x.at(r, c), right = test::decoded(out.type, test::encoded(out.type, value));
      const bool both_nan = test::is_nan(right) && test::is_nan(out.at(r, c));
      expect(both_nan || test::bits_of(out.at(r, c)) == test::bits_of(right), "a conversion is wrong");
    }
  }
}

void quantize(Input& in) {
  const Shape s = draw_shape(in);
  const Matrix x(s.R, s.n, HEED_F32, in), codes(s.R, s.n, HEED_INT8, in);
  const Block scales(size(s.R) * 4);
  fill(x.block.data(), x.block.size(), HEED_F32, s.kind, s.seed);
  heed_matrix from = x.in();
  heed_matrix_out to = codes.out();
  bool broken = edit(from, in);
  const int wrong = s.R > 1 && s.n > 0 ? in.byte() % 16 : 0;
  if (wrong == 1) to.data = nullptr;
  if (wrong == 2) to.stride = Int{1} << 60;
  broken = broken || (wrong > 0 && wrong < 4);
  everywhere(s, "quantize", broken, {"x", "codes", "scales"}, codes, [&](heed_status* status) {
    return heed_quantize_int8(&from, static_cast<std::int8_t*>(to.data), to.stride,
                              wrong == 3 ? nullptr : reinterpret_cast<float*>(scales.data()), status);
  });
}

void vectors(Input& in) {
  const Int n = in.once_in(2) ? in.between(0, 255) * 4 + in.between(0, 3) : in.between(0, 50);
  const test::Kind kind = in.pick({test::Kind::kTame, test::Kind::kHostile, test::Kind::kWide});
  const Block x(size(n) * 4), y(size(n) * 4), weights(size(n) * 4);
  fill(x.data(), x.size(), HEED_F32, kind, in.byte());
  fill(y.data(), y.size(), HEED_F32, kind, in.byte());
  const auto* a = reinterpret_cast<const float*>(x.data());
  auto* const w = reinterpret_cast<float*>(weights.data());
  const bool in_place = in.flag();
  expect_same_on_rows(in.byte(), "dot and softmax", [&](const test::Table&) {
    float results[] = {heed_dot(a, reinterpret_cast<const float*>(y.data()), n), heed_softmax(a, w, n), 0.0f};
    std::string all(reinterpret_cast<const char*>(weights.data()), weights.size());
    if (in_place && n > 0) {
      std::memcpy(weights.data(), x.data(), x.size());
      results[2] = heed_softmax(w, w, n);
      expect(std::memcmp(weights.data(), all.data(), all.size()) == 0, "softmax in place gives other bits");
    }
    return with_one_nan(all.append(reinterpret_cast<const char*>(results), sizeof results));
  });
  const Int negative = -1 - in.byte();
  expect(test::is_nan(heed_dot(a, a, negative)) && test::is_nan(heed_softmax(a, w, negative)), "a size below 0");
  expect(test::is_nan(heed_dot(nullptr, a, 1)) && test::is_nan(heed_softmax(a, nullptr, 1)), "a null pointer");
  const Int heads = in.once_in(8) ? in.edge(0) | INT64_MIN : in.between(0, 200);
  const Block slopes(heads > 0 ? size(heads) * 4 : 0);
  heed_status status;
  const bool given = in.flag() || heads == 0;
  const bool taken =
      expect_status(heed_alibi_slopes(heads, given ? reinterpret_cast<float*>(slopes.data()) : nullptr, &status),
                    status, {"heads", "slopes"});
  expect(taken == (heads >= 0 && given), "slopes of no heads, or none of some");
}

}  // namespace
}  // namespace heed::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heed::fuzz;
  Input in(data, size);
  constexpr void (*kinds[])(Input&) = {scores, weighted_sum, attend, convert, quantize, vectors, call_with_a_hole};
  in.pick(kinds)(in);
  return 0;
}
