#include "generate.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>

#include "problem.hpp"

namespace heed::compare {
namespace {

// The reference keeps scores, weights and bounds of every pair as doubles.
constexpr std::int64_t kMostPairs = std::int64_t{1} << 25;

// Numbers that depend on the seed alone: the standard's distributions differ between libraries, its engine does not.
class Numbers {
 public:
  Numbers(const std::string& distribution, std::uint64_t seed) : distribution_(distribution), engine_(seed) {}

  float next() {
    if (distribution_ == "uniform") return static_cast<float>(2 * unit() - 1);
    if (distribution_ == "integers") return static_cast<float>(std::floor(17 * unit()) - 8);  // products are exact
    const double normal = std::sqrt(-2 * std::log(1 - unit())) * std::cos(2 * 3.14159265358979323846 * unit());
    if (distribution_ == "wide") return static_cast<float>(std::ldexp(normal, static_cast<int>(17 * unit()) - 12));
    return static_cast<float>(normal);
  }

 private:
  double unit() { return std::ldexp(static_cast<double>(engine_() >> 11), -53); }  // [0, 1)

  std::string distribution_;
  std::mt19937_64 engine_;
};

heed_tensor fill(Numbers& numbers, std::vector<std::byte>& storage, std::int64_t B, std::int64_t H, std::int64_t L,
                 std::int64_t D) {
  std::vector<float> values(static_cast<std::size_t>(B * H * L * D));
  for (float& value : values) value = numbers.next();
  storage.resize(values.size() * sizeof(float));
  if (!values.empty()) std::memcpy(storage.data(), values.data(), storage.size());
  return {storage.data(), H * L * D, L * D, D, HEED_F32};
}

void check(const Generated& request, std::int64_t Dv) {
  std::int64_t pairs = 1, elements = 1;
  const auto grow = [](std::int64_t& product, std::int64_t factor) {
    if (factor < 0) throw std::invalid_argument("a negative size");
    if (__builtin_mul_overflow(product, std::max<std::int64_t>(factor, 1), &product) || product > 8 * kMostPairs)
      throw std::invalid_argument("more numbers than this tool keeps in memory");
  };
  for (const std::int64_t factor : {request.B, request.Hq, request.Lq, request.Lkv}) grow(pairs, factor);
  for (const std::int64_t factor :
       {request.B, std::max(request.Hq, request.Hkv), std::max(request.Lq, request.Lkv), std::max(request.D, Dv)})
    grow(elements, factor);
  if (request.Hkv < 0 || Dv < 0) throw std::invalid_argument("a negative size");
  if (pairs > kMostPairs) throw std::invalid_argument("more than 2^25 pairs of queries and keys");
  if (request.Hq != 0 && (request.Hkv == 0 || request.Hq % request.Hkv != 0))
    throw std::invalid_argument("query heads are not a multiple of key/value heads");
  if (request.D < 1) throw std::invalid_argument("a head without elements");
}

}  // namespace

Case generated_case(const Generated& request) {
  const std::int64_t Dv = request.Dv == 0 ? request.D : request.Dv;
  check(request, Dv);
  auto problem = std::make_shared<Problem>();
  heed_attention_args& args = problem->args;
  Numbers numbers(request.distribution, request.seed);
  args.struct_size = sizeof args;
  args.B = request.B, args.Hq = request.Hq, args.Hkv = request.Hkv;
  args.Lq = request.Lq, args.Lkv = request.Lkv, args.D = request.D, args.Dv = Dv;
  args.q = fill(numbers, problem->q, args.B, args.Hq, args.Lq, args.D);
  args.k = fill(numbers, problem->k, args.B, args.Hkv, args.Lkv, args.D);
  args.v = fill(numbers, problem->v, args.B, args.Hkv, args.Lkv, args.Dv);
  args.scale = request.scale;
  args.has_scale = request.has_scale;
  args.causal = request.causal;
  args.softcap = request.softcap;
  args.window_left = request.window_left, args.window_right = request.window_right;
  args.has_window = request.window_left != -1 || request.window_right != -1;
  if (request.alibi) {
    for (std::int64_t h = 0; h < args.Hq; ++h)
      problem->alibi_slopes.push_back(std::exp2(-8.0f * static_cast<float>(h + 1) / static_cast<float>(args.Hq)));
    args.alibi_slopes = problem->alibi_slopes.data();
  }
  if (request.sinks) {
    for (std::int64_t h = 0; h < args.Hq; ++h) problem->sinks.push_back(numbers.next());
    args.sinks = problem->sinks.data();
  }

  const Bounds bound = bounds(*problem);
  Case c;
  c.description = describe(args);
  c.computations = kernel_computations(*problem, {});
  c.computations.push_back(attention_computation(problem, {{}, bound.out}, {{}, bound.lse}));
  return c;
}

}  // namespace heed::compare
