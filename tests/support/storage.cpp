#include "support/storage.hpp"

#include <algorithm>
#include <cmath>

namespace heed::test {
namespace {

// A binary format: sign, exponent, fraction.
struct Format {
  int exponent_bits, fraction_bits;
  bool infinite = true;  // else the codes of the largest exponent are numbers, but for the last one, which is NaN
  int least() const { return 2 - (1 << (exponent_bits - 1)); }  // exponent of the smallest normal number
  Code sign() const { return Code{1} << (exponent_bits + fraction_bits); }
  Code infinity() const { return ((Code{1} << exponent_bits) - 1) << fraction_bits; }
  Code least_nan() const { return infinite ? infinity() + 1 : sign() - 1; }
  Code overflow() const { return infinite ? infinity() : least_nan(); }
  Code quiet() const { return Code{1} << (fraction_bits - 1); }
};

Format format_of(heed_type type) {
  switch (type) {
    case HEED_F16:
      return {5, 10};
    case HEED_FP8_E5M2:
      return {5, 2};
    case HEED_FP8_E4M3:
      return {4, 3, false};
    default:
      return {8, 7};
  }
}

}  // namespace

const char* name_of(heed_type type) {
  constexpr const char* names[] = {"f32", "f16", "bf16", "int8", "e4m3", "e5m2"};
  return names[type];
}

std::size_t bytes_of(heed_type type) {
  constexpr std::size_t bytes[] = {4, 2, 2, 1, 1, 1};
  return bytes[type];
}

float decoded(heed_type type, Code code) {
  if (type == HEED_F32) return float_of(code);
  if (type == HEED_INT8) return code < 128 ? static_cast<float>(code) : static_cast<float>(code) - 256.0f;
  const Format f = format_of(type);
  const Code magnitude = code & (f.sign() - 1);
  const std::uint32_t sign = (code & f.sign()) != 0 ? 0x80000000u : 0;
  if (magnitude >= f.least_nan()) {
    return float_of(sign | 0x7FC00000u | (magnitude & (2 * f.quiet() - 1)) << (23 - f.fraction_bits));
  }
  if (f.infinite && magnitude == f.infinity()) return float_of(sign | 0x7F800000u);
  const Code fraction = magnitude & ((Code{1} << f.fraction_bits) - 1);
  const int exponent = static_cast<int>(magnitude >> f.fraction_bits);
  const Code significand = exponent == 0 ? fraction : fraction + (Code{1} << f.fraction_bits);
  const int power = f.least() - f.fraction_bits + (exponent == 0 ? 0 : exponent - 1);
  const auto value = static_cast<float>(std::ldexp(static_cast<double>(significand), power));
  return float_of(sign | bits_of(value));
}

Code encoded(heed_type type, float x) {
  if (type == HEED_F32) return bits_of(x);
  const Format f = format_of(type);
  const Code sign = (bits_of(x) & 0x80000000u) != 0 ? f.sign() : 0;
  if (is_nan(x)) {
    const Code payload = (bits_of(x) & 0x7FFFFFu) >> (23 - f.fraction_bits);
    return sign | (f.infinite ? f.infinity() | f.quiet() | payload : f.least_nan());
  }
  if (!is_finite(x)) return sign | f.overflow();
  // In units of the last place that numbers of this size have; nearbyint rounds ties to even. A unit more than fits the
  // fraction carries into the exponent.
  const double magnitude = std::abs(double{x});
  const int exponent = magnitude == 0 ? f.least() : std::max(std::ilogb(magnitude), f.least());
  const double units = std::nearbyint(std::ldexp(magnitude, f.fraction_bits - exponent));
  const std::uint64_t code =
      static_cast<std::uint64_t>(units) + (static_cast<std::uint64_t>(exponent - f.least()) << f.fraction_bits);
  return sign | static_cast<Code>(std::min<std::uint64_t>(code, f.overflow()));
}

Code output_code(heed_type type, float x) {
  const Code code = encoded(type, x);
  return code == (type == HEED_F32 ? 0x80000000u : format_of(type).sign()) ? 0 : code;
}

void put(heed_type type, unsigned char* at, Code code) {
  if (bytes_of(type) == 4) {
    std::memcpy(at, &code, 4);
  } else if (bytes_of(type) == 1) {
    *at = static_cast<unsigned char>(code);
  } else {
    const auto half = static_cast<std::uint16_t>(code);
    std::memcpy(at, &half, 2);
  }
}

Code code_at(heed_type type, const unsigned char* at) {
  Code code = 0;
  std::memcpy(&code, at, bytes_of(type));
  return code;
}

void Stored::add(Code code) {
  bytes.resize(bytes.size() + bytes_of(type));
  put(type, bytes.data() + bytes.size() - bytes_of(type), code);
  values.push_back(decoded(type, code));
}

Stored part_of(const Stored& matrix, std::int64_t columns, std::int64_t row, std::int64_t rows, std::int64_t col,
               std::int64_t cols) {
  Stored part(matrix.type);
  const std::size_t size = bytes_of(matrix.type);
  for (std::int64_t r = row; r < row + rows; ++r) {
    for (std::int64_t c = col; c < col + cols; ++c) {
      const auto at = static_cast<std::size_t>(r * columns + c);
      for (std::size_t byte = 0; byte < size; ++byte) part.bytes.push_back(matrix.bytes[at * size + byte]);
      part.values.push_back(matrix.values[at]);
    }
  }
  return part;
}

Stored every_code(heed_type type) {
  Stored all(type);
  for (Code code = 0; code < codes_of(type); ++code) all.add(code);
  return all;
}

Stored random_stored(Random& random, heed_type type, Kind kind, std::int64_t n) {
  Stored out(type);
  const bool sparse = random.once_in(2);  // as in Random::numbers
  const auto code = [&](Kind of) -> Code {
    if (type == HEED_INT8) return static_cast<Code>(random.between(0, 255));
    const bool any_code = type != HEED_F32 && (of == Kind::kHostile || of == Kind::kFinite);
    for (;;) {
      const Code drawn =
          any_code ? static_cast<Code>(random.between(0, codes_of(type) - 1)) : encoded(type, random.number(of));
      if (of == Kind::kHostile || is_finite(decoded(type, drawn))) return drawn;
    }
  };
  for (std::int64_t i = 0; i < n; ++i) out.add(code(sparse && !random.once_in(16) ? Kind::kTame : kind));
  return out;
}

}  // namespace heed::test
