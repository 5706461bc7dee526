#include "golden.hpp"
#include "heed/heed.hpp"
#include "numbers.hpp"

namespace heed::golden {
namespace {

using Words = std::vector<std::uint32_t>;  // aligned for every type

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

// rows x cols elements of a type, `pad` poisoned ones behind each row.
class Values {
 public:
  Values(Stream stream, std::int64_t rows, std::int64_t cols, heed_type type, std::int64_t pad = 0, int shift = 0)
      : rows_(rows), cols_(cols), stride_(cols + pad), type_(type), words_(size(rows * stride_ + 1), 0xFFFFFFFFu) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < cols; ++c) set(r, c, random_word(type, random_bits(stream, 0, 0, r, c), shift));
    }
  }
  void set(std::int64_t r, std::int64_t c, std::uint32_t word) {
    store_word(words_.data(), format_of(type_).bytes, r * stride_ + c, word);
  }
  float* floats() { return reinterpret_cast<float*>(words_.data()); }
  heed_matrix in() const { return {words_.data(), rows_, cols_, stride_, type_}; }
  heed_matrix_out out() { return {words_.data(), rows_, cols_, stride_, type_}; }
  void hash(Hash& hash) const {
    for (std::int64_t r = 0; r < rows_; ++r) hash.add(words_.data(), type_, r * stride_, cols_);
  }
  void hash_any_nan(Hash& hash) const {
    for (std::int64_t r = 0; r < rows_; ++r) {
      hash.add_any_nan(reinterpret_cast<const float*>(words_.data()), r * stride_, cols_);
    }
  }

 private:
  std::int64_t rows_, cols_, stride_;
  heed_type type_;
  Words words_;
};

std::string sizes(std::initializer_list<std::int64_t> list) {
  std::string text;
  for (const std::int64_t n : list) text += (text.empty() ? "" : "x") + std::to_string(n);
  return text;
}

constexpr heed_type kFloatTypes[] = {HEED_F32, HEED_F16, HEED_BF16};
constexpr heed_type kFp8Types[] = {HEED_FP8_E4M3, HEED_FP8_E5M2};

// ---- dot and softmax

void dot(Lines& lines, std::int64_t n, const std::string& what = "", std::int64_t at = 0,
         Special special = Special::kNan) {
  Values a(kA, 1, n, HEED_F32), b(kB, 1, n, HEED_F32);
  if (!what.empty()) a.set(0, at, special_word(HEED_F32, special));
  const float result = heed_dot(a.floats(), b.floats(), n);
  Hash hash;
  hash.add(&result, HEED_F32, 0, 1);
  lines.push_back({"dot " + sizes({n}) + what, hash.value()});
}

// shift 5: differences beyond the range of 2^x; rising: the maximum moves in every block.
template <class Change>
void softmax(Lines& lines, std::int64_t n, const std::string& what, int shift, const Change& change) {
  Values x(kA, 1, n, HEED_F32, 0, shift);
  change(x);
  const float lse = heed_softmax(x.floats(), x.floats(), n);
  Hash hash;
  x.hash(hash);
  hash.add(&lse, HEED_F32, 0, 1);
  lines.push_back({"softmax " + sizes({n}) + what, hash.value()});
}

void rise(Values& x, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) x.floats()[j] += static_cast<float>(j / 16);
}

}  // namespace

void vector_problems(Lines& lines) {
  for (const std::int64_t n : {0, 1, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000}) dot(lines, n);
  dot(lines, 33, " nan", 32, Special::kNan);
  dot(lines, 33, " inf", 3, Special::kInfinity);

  const auto nothing = [](Values&) {};
  for (const std::int64_t n : {0, 1, 2, 15, 16, 17, 127, 128, 129, 255, 511, 512, 513, 640, 1025, 1537, 16385}) {
    softmax(lines, n, "", 0, nothing);
  }
  for (const std::int64_t n : {17, 513, 1537}) {
    softmax(lines, n, " wide", 5, nothing);
    softmax(lines, n, " rising", 0, [n](Values& x) { rise(x, n); });
  }
  const auto range = [](std::int64_t from, std::int64_t to, Special special) {
    return [=](Values& x) {
      for (std::int64_t j = from; j < to; ++j) x.set(0, j, special_word(HEED_F32, special));
    };
  };
  softmax(lines, 640, " all -inf", 0, range(0, 640, Special::kMinusInfinity));
  softmax(lines, 640, " first block -inf", 0, range(0, 128, Special::kMinusInfinity));
  softmax(lines, 640, " first split -inf", 0, range(0, 512, Special::kMinusInfinity));
  softmax(lines, 640, " last split -inf", 0, range(512, 640, Special::kMinusInfinity));
  softmax(lines, 640, " nan", 0, range(577, 578, Special::kNan));
  softmax(lines, 640, " inf", 0, range(3, 4, Special::kInfinity));

  // Head counts whose exponents are whole numbers: the other slopes come from the C library's exp2.
  for (const std::int64_t heads : {0, 1, 2, 3, 6, 8}) {
    std::vector<float> slopes(size(heads));
    const std::string name = "alibi_slopes " + sizes({heads});
    heed_status status;
    must(heed_alibi_slopes(heads, slopes.data(), &status), name, status.message);
    Hash hash;
    hash.add(slopes.data(), HEED_F32, 0, heads);
    lines.push_back({name, hash.value()});
  }
}

// ---- Matrices

namespace {

void scores(Lines& lines, std::int64_t R, std::int64_t n, std::int64_t D, heed_type q_type, heed_type k_type) {
  const std::string name = "scores " + sizes({R, n, D}) + " " + format_of(q_type).name + " " + format_of(k_type).name;
  const Values q(kQ, R, D, q_type, 3), k(kK, n, D, k_type, 5);
  Values s(kA, R, n, HEED_F32, 1);
  const heed_matrix q_in = q.in(), k_in = k.in();
  const heed_matrix_out s_out = s.out();
  heed_status status;
  must(heed_scores(&q_in, &k_in, 0.375f, &s_out, &status), name, status.message);
  Hash hash;
  s.hash_any_nan(hash);
  lines.push_back({name, hash.value()});
}

void weighted_sum(Lines& lines, std::int64_t R, std::int64_t n, std::int64_t Dv, heed_type type, bool accumulate) {
  const std::string name =
      "weighted_sum " + sizes({R, n, Dv}) + " " + format_of(type).name + (accumulate ? " accumulate" : "");
  const Values weights(kA, R, n, HEED_F32, 2, -4), v(kV, n, Dv, type, 1);
  Values out(kB, R, Dv, HEED_F32, 4);  // an accumulator may be the output itself
  const heed_matrix weights_in = weights.in(), v_in = v.in(), accumulator = out.in();
  const heed_matrix_out target = out.out();
  heed_status status;
  must(heed_weighted_sum(&weights_in, &v_in, accumulate ? &accumulator : nullptr, &target, &status), name,
       status.message);
  Hash hash;
  out.hash(hash);
  lines.push_back({name, hash.value()});
}

void attend(Lines& lines, std::int64_t R, std::int64_t n, std::int64_t Dv, heed_type type) {
  const std::string name = "attend " + sizes({R, n, Dv}) + " " + format_of(type).name;
  Values s(kA, R, n, HEED_F32, 1, 1);
  const Values v(kV, n, Dv, type, 3);
  if (R > 2) {  // one row without a score above -inf, one that is NaN
    for (std::int64_t j = 0; j < n; ++j) s.set(1, j, special_word(HEED_F32, Special::kMinusInfinity));
    s.set(2, n / 2, special_word(HEED_F32, Special::kInfinity));
  }
  Values out(kB, R, Dv, HEED_F32, 2);
  std::vector<float> lse(size(R));
  const heed_matrix s_in = s.in(), v_in = v.in();
  const heed_matrix_out target = out.out();
  heed_status status;
  must(heed_attend(&s_in, &v_in, &target, lse.data(), &status), name, status.message);
  Hash hash;
  out.hash(hash);
  hash.add(lse.data(), HEED_F32, 0, R);
  lines.push_back({name, hash.value()});
}

}  // namespace

void matrix_problems(Lines& lines) {
  for (const std::int64_t D : {1, 3, 4, 17, 63, 64, 65, 128, 257}) scores(lines, 5, 35, D, HEED_F32, HEED_F32);
  for (const std::int64_t R : {1, 2, 3, 4}) scores(lines, R, 130, 40, HEED_F32, HEED_F32);
  for (const std::int64_t n : {1, 15, 16, 17, 513}) scores(lines, 1, n, 33, HEED_F32, HEED_F32);
  for (const heed_type q : kFloatTypes) {
    for (const heed_type k : kFloatTypes) scores(lines, 3, 50, 37, q, k);
  }
  for (const std::int64_t Dv : {1, 3, 15, 16, 17, 64, 80, 129}) weighted_sum(lines, 2, 150, Dv, HEED_F32, false);
  for (const std::int64_t n : {0, 1, 127, 128, 129, 513}) weighted_sum(lines, 7, n, 24, HEED_F32, false);
  for (const heed_type type : kFloatTypes) weighted_sum(lines, 9, 140, 35, type, true);
  for (const std::int64_t n : {0, 1, 16, 127, 129, 511, 513, 1025}) attend(lines, 1, n, 20, HEED_F32);
  for (const heed_type type : kFloatTypes) attend(lines, 6, 530, 65, type);
  for (const heed_type type : kFp8Types) {
    for (const heed_type q : kFloatTypes) scores(lines, 3, 50, 37, q, type);
    weighted_sum(lines, 9, 140, 35, type, true);
    attend(lines, 6, 530, 65, type);
  }
}

// ---- Conversions

namespace {

void convert(Lines& lines, const std::string& what, const Values& from, heed_type to_type) {
  const std::string name =
      std::string("convert ") + format_of(from.in().type).name + " to " + format_of(to_type).name + " " + what;
  const heed_matrix source = from.in();
  Values to(kB, source.rows, source.cols, to_type, 1);
  const heed_matrix_out target = to.out();
  heed_status status;
  must(heed_convert(&source, &target, &status), name, status.message);
  Hash hash;
  to.hash(hash);
  lines.push_back({name, hash.value()});
}

template <class Change>
void quantize(Lines& lines, const std::string& what, int shift, const Change& change) {
  constexpr std::int64_t kRows = 6, kCols = 65;
  const std::string name = "quantize_int8 " + sizes({kRows, kCols}) + what;
  Values x(kA, kRows, kCols, HEED_F32, 2, shift);
  change(x);
  std::vector<std::int8_t> codes(size(kRows * kCols));
  std::vector<float> scales(size(kRows));
  const heed_matrix x_in = x.in();
  heed_status status;
  must(heed_quantize_int8(&x_in, codes.data(), 0, scales.data(), &status), name, status.message);
  Hash hash;
  hash.add(codes.data(), HEED_INT8, 0, kRows * kCols);
  hash.add(scales.data(), HEED_F32, 0, kRows);
  lines.push_back({name, hash.value()});
}

}  // namespace

void conversion_problems(Lines& lines) {
  Values any(kA, 4, 1031, HEED_F32);
  for (std::int64_t r = 0; r < 4; ++r) {
    for (std::int64_t c = 0; c < 1031; ++c) any.set(r, c, static_cast<std::uint32_t>(random_bits(kB, 0, 0, r, c)));
  }
  Values halfway(kA, 3, 2048, HEED_F32);  // around the points between two neighbours, of both 16-bit types
  for (std::int64_t c = 0; c < 2048; ++c) {
    const auto top = static_cast<std::uint32_t>(random_bits(kA, 0, 0, 0, c)) << (c % 2 == 0 ? 16 : 13);
    const auto half = 1u << (c % 2 == 0 ? 15 : 12);
    for (std::uint32_t r = 0; r < 3; ++r) halfway.set(r, c, top + half + r - 1);
  }
  for (const heed_type type : {HEED_F16, HEED_BF16}) {
    convert(lines, "any bits", any, type);
    convert(lines, "halfway", halfway, type);
    Values all(kA, 1, 65536, type);
    for (std::int64_t c = 0; c < 65536; ++c) all.set(0, c, static_cast<std::uint32_t>(c));
    for (const heed_type to : kFloatTypes) convert(lines, "all", all, to);
    for (const heed_type to : kFp8Types) convert(lines, "all", all, to);
  }
  for (const heed_type type : kFp8Types) {
    Values all(kA, 1, 256, type);
    for (std::int64_t c = 0; c < 256; ++c) all.set(0, c, static_cast<std::uint32_t>(c));
    for (const heed_type to : kFloatTypes) convert(lines, "all", all, to);
    for (const heed_type to : kFp8Types) convert(lines, "all", all, to);
    // From 2^-20 to 2^18, on and beside the points between two neighbours.
    const std::uint32_t dropped = 23 - static_cast<std::uint32_t>(format_of(type).mantissa_bits);
    Values near(kA, 3, 2048, HEED_F32);
    for (std::int64_t c = 0; c < 2048; ++c) {
      const auto word = random_word(HEED_F32, random_bits(kB, 0, 0, 0, c), static_cast<int>(c % 33) - 16);
      for (std::uint32_t r = 0; r < 3; ++r)
        near.set(r, c, (word >> dropped << dropped) + (1u << (dropped - 1)) + r - 1);
    }
    convert(lines, "halfway", near, type);
    convert(lines, "any bits", any, type);
  }

  const auto nothing = [](Values&) {};
  const auto specials = [](Values& x) {
    int r = 0;
    for (const Special special :
         {Special::kNan, Special::kInfinity, Special::kMinusInfinity, Special::kMinusZero, Special::kSubnormal}) {
      x.set(r, 2 * r, special_word(HEED_F32, special));
      ++r;
    }
    for (std::int64_t c = 0; c < 65; ++c) x.set(5, c, 0);
  };
  quantize(lines, "", 0, nothing);
  quantize(lines, " tiny", -120, nothing);
  quantize(lines, " huge", 126, nothing);
  quantize(lines, " special", 0, specials);
}

}  // namespace heed::golden
