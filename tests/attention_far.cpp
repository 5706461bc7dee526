// H15: strides past 2^31 elements, in a region of which only a few pages ever exist.
#include <sys/mman.h>

#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "attention_call.hpp"
#include "attention_random.hpp"
#include "support/each_row.hpp"

namespace heed::test {
namespace {

class SparseRegion {
 public:
  static constexpr std::size_t kBytes = std::size_t{20} << 30;
  SparseRegion()
      : memory_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  SparseRegion(const SparseRegion&) = delete;
  SparseRegion& operator=(const SparseRegion&) = delete;
  ~SparseRegion() {
    if (memory_ != MAP_FAILED) munmap(memory_, kBytes);
  }
  bool mapped() const { return memory_ != MAP_FAILED; }
  float* floats() const { return static_cast<float*>(memory_); }

 private:
  void* memory_;
};

constexpr std::int64_t kFar = (std::int64_t{1} << 31) + 16;

// The strides of one tensor with one axis of two elements that lie far apart.
enum class Axis { kToken, kHead, kBatch };

TEST_CASE("H15: strides past 2^31 elements", "[attention][H15]") {
  const Axis axis = GENERATE(Axis::kToken, Axis::kHead, Axis::kBatch);
  const std::int64_t group = GENERATE(1, 12);  // few rows, and many
  const bool backwards = GENERATE(false, true);
  const SparseRegion region;
  REQUIRE(region.mapped());

  Spec spec;
  spec.seed = 15;
  spec.B = axis == Axis::kBatch ? 2 : 1;
  spec.Hkv = axis == Axis::kHead ? 2 : 1;
  spec.Hq = spec.Hkv * group;
  spec.Lq = axis == Axis::kToken ? 2 : 1;
  spec.Lkv = 2;
  spec.D = 5;
  spec.Dv = 18;
  const ModelProblem problem = problem_of(spec);

  // Tensors lie side by side at the start and again kFar elements later (or earlier).
  std::int64_t next = backwards ? kFar + 64 : 0;
  const auto place = [&](std::int64_t heads, std::int64_t tokens, std::int64_t columns, bool far_heads) {
    const std::int64_t far = backwards ? -kFar : kFar;
    Strides s{next, heads * tokens * columns, tokens * columns, columns};
    next += spec.B * heads * tokens * columns + 3;
    if (axis == Axis::kToken) s.token = far;
    if (axis == Axis::kHead && far_heads) s.head = far;
    if (axis == Axis::kBatch) s.batch = far;
    return s;
  };
  const Strides k = place(spec.Hkv, 2, 5, true), v = place(spec.Hkv, 2, 18, true);
  const bool far_queries = group == 1;  // with more heads than two the last would be outside
  const Strides q = place(spec.Hq, spec.Lq, 5, far_queries), out = place(spec.Hq, spec.Lq, 18, far_queries);
  const Strides lse = place(spec.Hq, spec.Lq, 1, far_queries);
  float* memory = region.floats();
  const auto at = [&](const Strides& s, std::int64_t b, std::int64_t h, std::int64_t t) {
    return memory + s.at + b * s.batch + h * s.head + t * s.token;
  };
  const auto copy = [&](const Strides& s, const std::vector<float>& from, std::int64_t heads, std::int64_t tokens,
                        std::int64_t columns) {
    const float* x = from.data();
    for (std::int64_t b = 0; b < spec.B; ++b) {
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t t = 0; t < tokens; ++t, x += columns) std::copy(x, x + columns, at(s, b, h, t));
      }
    }
  };
  copy(q, problem.q, spec.Hq, spec.Lq, 5);
  copy(k, problem.k, spec.Hkv, 2, 5);
  copy(v, problem.v, spec.Hkv, 2, 18);

  for_each_row([&](const Table& row) {
    const ForcedRow forced(row);
    const Result expected = attend(problem);
    Call call(problem, Layout::kHeadsFirst);
    heed_attention_args& args = call.args;
    args.q = {at(q, 0, 0, 0), q.batch, q.head, q.token, HEED_F32};
    args.k = {at(k, 0, 0, 0), k.batch, k.head, k.token, HEED_F32};
    args.v = {at(v, 0, 0, 0), v.batch, v.head, v.token, HEED_F32};
    args.out = {at(out, 0, 0, 0), out.batch, out.head, out.token, HEED_F32};
    args.lse = at(lse, 0, 0, 0);
    args.lse_stride_batch = lse.batch;
    args.lse_stride_head = lse.head;
    args.lse_stride_token = lse.token;
    heed_status status;
    REQUIRE(heed_attention(&args, &status) == HEED_OK);
    Result found;
    for (std::int64_t b = 0; b < spec.B; ++b) {
      for (std::int64_t h = 0; h < spec.Hq; ++h) {
        for (std::int64_t i = 0; i < spec.Lq; ++i) {
          const float* x = at(out, b, h, i);
          found.out.insert(found.out.end(), x, x + 18);
          found.lse.push_back(*at(lse, b, h, i));
          std::fill(at(out, b, h, i), at(out, b, h, i) + 18, 0.0f);
        }
      }
    }
    CHECK(difference(found, expected.out, expected.lse) == "");
  });
}

}  // namespace
}  // namespace heed::test
