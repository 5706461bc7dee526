// Bad arguments of the calls for single kernels.
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "heed/heed.h"

namespace heed::test {
namespace {

constexpr std::int64_t two_to(int n) { return std::int64_t{1} << n; }

// The matrices of all calls, all of the right shape; each call takes some of them.
struct Matrices {
  std::vector<float> in = std::vector<float>(64, 0.5f);
  std::vector<float> results = std::vector<float>(64, 77.0f);
  heed_matrix q{in.data(), 2, 3, 0, HEED_F32}, k{in.data(), 4, 3, 0, HEED_F32};
  heed_matrix_out s{results.data(), 2, 4, 0, HEED_F32};
  heed_matrix weights{in.data(), 2, 4, 0, HEED_F32}, v{in.data(), 4, 5, 0, HEED_F32};
  heed_matrix accumulator{in.data(), 2, 5, 0, HEED_F32};
  heed_matrix_out out{results.data(), 2, 5, 0, HEED_F32};
  float* lse = results.data() + 40;  // also scales and slopes
  heed_matrix_out converted{results.data(), 2, 3, 0, HEED_BF16};
  std::int8_t* codes = reinterpret_cast<std::int8_t*>(results.data());
  std::int64_t codes_stride = 0, heads = 5;

  bool untouched() const {
    for (const float x : results) {
      if (x != 77.0f) return false;
    }
    return true;
  }
};

using Run = heed_code (*)(Matrices&, heed_status*);
heed_code scores(Matrices& m, heed_status* status) { return heed_scores(&m.q, &m.k, 1.0f, &m.s, status); }
heed_code weighted_sum(Matrices& m, heed_status* status) {
  return heed_weighted_sum(&m.weights, &m.v, &m.accumulator, &m.out, status);
}
heed_code attend(Matrices& m, heed_status* status) { return heed_attend(&m.weights, &m.v, &m.out, m.lse, status); }

heed_code convert(Matrices& m, heed_status* status) { return heed_convert(&m.q, &m.converted, status); }
heed_code quantize(Matrices& m, heed_status* status) {
  return heed_quantize_int8(&m.q, m.codes, m.codes_stride, m.lse, status);
}
heed_code slopes(Matrices& m, heed_status* status) { return heed_alibi_slopes(m.heads, m.lse, status); }

struct Rule {
  Run run;
  heed_code code;
  const char* argument;
  const char* why;
  void (*broken)(Matrices&);
};

constexpr heed_code kInvalid = HEED_INVALID_ARGUMENT;

template <class Matrix>
void move_one_byte(Matrix& m) {
  m.data = const_cast<char*>(static_cast<const char*>(m.data)) + 1;
}

const Rule kRules[] = {
    {scores, kInvalid, "q.type:", "6", [](Matrices& m) { m.q.type = 6; }},
    {scores, kInvalid, "q.type:", "may have", [](Matrices& m) { m.q.type = HEED_FP8_E4M3; }},
    {scores, kInvalid, "k.type:", "-1", [](Matrices& m) { m.k.type = -1; }},
    {scores, kInvalid, "q.type:", "may have", [](Matrices& m) { m.q.type = HEED_INT8; }},
    {scores, kInvalid, "k.type:", "may have", [](Matrices& m) { m.k.type = HEED_INT8; }},
    {scores, kInvalid, "s.type:", "may have", [](Matrices& m) { m.s.type = HEED_F16; }},
    {scores, kInvalid, "q.rows:", "-1", [](Matrices& m) { m.q.rows = -1; }},
    {scores, kInvalid, "k.cols:", "-2", [](Matrices& m) { m.k.cols = -2; }},
    {scores, kInvalid, "q.stride:", "2^60", [](Matrices& m) { m.q.stride = two_to(60); }},
    {scores, kInvalid, "k.stride:", "2^60", [](Matrices& m) { m.k.stride = std::numeric_limits<std::int64_t>::min(); }},
    {scores, kInvalid, "k.rows:", "2^60", [](Matrices& m) { m.k.rows = two_to(62); }},
    {scores, kInvalid, "s.stride:", "2^60", [](Matrices& m) { m.s.cols = two_to(62); }},
    {scores, kInvalid, "q.data:", "null", [](Matrices& m) { m.q.data = nullptr; }},
    {scores, kInvalid, "s.data:", "null", [](Matrices& m) { m.s.data = nullptr; }},
    {scores, kInvalid, "k.data:", "multiple", [](Matrices& m) { move_one_byte(m.k); }},
    {scores, kInvalid, "s.data:", "multiple", [](Matrices& m) { move_one_byte(m.s); }},
    {scores, kInvalid, "k.cols:", "q.cols = 3", [](Matrices& m) { m.k.cols = 2; }},
    {scores, kInvalid, "s.rows:", "q.rows = 2", [](Matrices& m) { m.s.rows = 3; }},
    {scores, kInvalid, "s.cols:", "k.rows = 4", [](Matrices& m) { m.s.cols = 5; }},

    {weighted_sum, kInvalid, "weights.rows:", "-1", [](Matrices& m) { m.weights.rows = -1; }},
    {weighted_sum, kInvalid, "v.type:", "may have", [](Matrices& m) { m.v.type = HEED_INT8; }},
    {weighted_sum, kInvalid, "out.type:", "9", [](Matrices& m) { m.out.type = 9; }},
    {weighted_sum, kInvalid, "v.rows:", "weights.cols = 4", [](Matrices& m) { m.v.rows = 3; }},
    {weighted_sum, kInvalid, "out.rows:", "weights.rows = 2", [](Matrices& m) { m.out.rows = 1; }},
    {weighted_sum, kInvalid, "out.cols:", "v.cols = 5", [](Matrices& m) { m.out.cols = 6; }},
    {weighted_sum, kInvalid, "v.cols:", "is more than 2^24",
     [](Matrices& m) { m.v.cols = m.out.cols = m.accumulator.cols = two_to(24) + 1; }},
    {weighted_sum, kInvalid, "accumulator.rows:", "out.rows = 2", [](Matrices& m) { m.accumulator.rows = 3; }},
    {weighted_sum, kInvalid, "accumulator.cols:", "out.cols = 5", [](Matrices& m) { m.accumulator.cols = 4; }},
    {weighted_sum, kInvalid, "accumulator.data:", "null", [](Matrices& m) { m.accumulator.data = nullptr; }},
    {weighted_sum, kInvalid, "accumulator.type:", "may have", [](Matrices& m) { m.accumulator.type = HEED_F16; }},
    {weighted_sum, kInvalid, "weights.data:", "multiple", [](Matrices& m) { move_one_byte(m.weights); }},
    {weighted_sum, kInvalid, "v.stride:", "2^60", [](Matrices& m) { m.v.stride = -two_to(59); }},

    {attend, kInvalid, "s.cols:", "-1", [](Matrices& m) { m.weights.cols = -1; }},
    {attend, kInvalid, "v.rows:", "s.cols = 4", [](Matrices& m) { m.v.rows = 5; }},
    {attend, kInvalid, "out.rows:", "s.rows = 2", [](Matrices& m) { m.out.rows = 3; }},
    {attend, kInvalid, "out.cols:", "v.cols = 5", [](Matrices& m) { m.out.cols = 4; }},
    {attend, kInvalid, "v.cols:", "is more than 2^24", [](Matrices& m) { m.v.cols = m.out.cols = two_to(24) + 1; }},
    {attend, kInvalid, "v.data:", "null", [](Matrices& m) { m.v.data = nullptr; }},
    {attend, kInvalid, "out.data:", "multiple", [](Matrices& m) { move_one_byte(m.out); }},
    {attend, kInvalid, "lse.data:", "multiple",
     [](Matrices& m) { m.lse = reinterpret_cast<float*>(reinterpret_cast<char*>(m.lse) + 1); }},
    {attend, kInvalid, "s.type:", "may have", [](Matrices& m) { m.weights.type = HEED_F16; }},
    {attend, kInvalid, "v.type:", "may have", [](Matrices& m) { m.v.type = HEED_INT8; }},
    {attend, kInvalid, "out.type:", "may have", [](Matrices& m) { m.out.type = HEED_BF16; }},

    {convert, kInvalid, "from.type:", "may have", [](Matrices& m) { m.q.type = HEED_INT8; }},
    {convert, kInvalid, "to.type:", "may have", [](Matrices& m) { m.converted.type = HEED_INT8; }},
    {convert, kInvalid, "to.type:", "-1", [](Matrices& m) { m.converted.type = -1; }},
    {convert, kInvalid, "from.rows:", "-1", [](Matrices& m) { m.q.rows = -1; }},
    {convert, kInvalid, "to.rows:", "from.rows = 2", [](Matrices& m) { m.converted.rows = 3; }},
    {convert, kInvalid, "to.cols:", "from.cols = 3", [](Matrices& m) { m.converted.cols = 4; }},
    {convert, kInvalid, "from.data:", "null", [](Matrices& m) { m.q.data = nullptr; }},
    {convert, kInvalid, "to.data:", "multiple", [](Matrices& m) { move_one_byte(m.converted); }},
    {convert, kInvalid, "to.stride:", "2^60", [](Matrices& m) { m.converted.stride = two_to(60); }},

    // Rows of results over each other.
    {scores, kInvalid, "s.stride:", "is 3 for 4 columns", [](Matrices& m) { m.s.stride = 3; }},
    {weighted_sum, kInvalid, "out.stride:", "is -4 for 5 columns", [](Matrices& m) { m.out.stride = -4; }},
    {attend, kInvalid, "out.stride:", "is 1 for 5 columns", [](Matrices& m) { m.out.stride = 1; }},
    {convert, kInvalid, "to.stride:", "is 2 for 3 columns", [](Matrices& m) { m.converted.stride = 2; }},
    {quantize, kInvalid, "codes.stride:", "is -2 for 3 columns", [](Matrices& m) { m.codes_stride = -2; }},
    {scores, kInvalid, "q.rows:", "2^60", [](Matrices& m) { m.q.rows = two_to(61), m.q.cols = m.k.cols = 0; }},

    {quantize, kInvalid, "x.type:", "may have", [](Matrices& m) { m.q.type = HEED_F16; }},
    {quantize, kInvalid, "x.cols:", "-1", [](Matrices& m) { m.q.cols = -1; }},
    {quantize, kInvalid, "x.data:", "null", [](Matrices& m) { m.q.data = nullptr; }},
    {quantize, kInvalid, "codes.data:", "null", [](Matrices& m) { m.codes = nullptr; }},
    {quantize, kInvalid, "codes.stride:", "2^60", [](Matrices& m) { m.codes_stride = -two_to(60); }},
    {quantize, kInvalid, "scales.data:", "null", [](Matrices& m) { m.lse = nullptr; }},
    {quantize, kInvalid, "scales.data:", "multiple",
     [](Matrices& m) { m.lse = reinterpret_cast<float*>(reinterpret_cast<char*>(m.lse) + 1); }},

    {slopes, kInvalid, "heads:", "-1", [](Matrices& m) { m.heads = -1; }},
    {slopes, kInvalid, "slopes:", "null", [](Matrices& m) { m.lse = nullptr; }},
};

TEST_CASE("single kernels: a broken rule is named, and nothing is written", "[kernels][arguments]") {
  int number = 0;
  for (const Rule& rule : kRules) {
    Matrices m;
    rule.broken(m);
    heed_status status;
    const heed_code code = rule.run(m, &status);
    const std::string message = status.message;
    INFO("rule " << number++ << ", " << rule.argument << ' ' << rule.why << "; code " << code << ": " << message);
    CHECK(code == rule.code);
    CHECK(status.code == rule.code);
    CHECK(message.compare(0, std::strlen(rule.argument), rule.argument) == 0);
    CHECK(message.find(rule.why) != std::string::npos);
    CHECK(m.untouched());
    CHECK(rule.run(m, nullptr) == rule.code);
    CHECK(m.untouched());
  }
  for (const Run run : {Run(scores), Run(weighted_sum), Run(attend), Run(convert), Run(quantize), Run(slopes)}) {
    Matrices m;
    heed_status status;
    CHECK(run(m, &status) == HEED_OK);
    CHECK(std::string(status.message).empty());
    CHECK(!m.untouched());
  }
}

TEST_CASE("single kernels: a matrix that is not there", "[kernels][arguments]") {
  Matrices m;
  heed_status status;
  const auto refused = [&](heed_code code) {
    return code == HEED_INVALID_ARGUMENT && std::string(status.message) == "arguments: a matrix is null" &&
           m.untouched();
  };
  CHECK(refused(heed_scores(nullptr, &m.k, 1.0f, &m.s, &status)));
  CHECK(refused(heed_scores(&m.q, nullptr, 1.0f, &m.s, &status)));
  CHECK(refused(heed_scores(&m.q, &m.k, 1.0f, nullptr, &status)));
  CHECK(refused(heed_weighted_sum(nullptr, &m.v, nullptr, &m.out, &status)));
  CHECK(refused(heed_weighted_sum(&m.weights, nullptr, nullptr, &m.out, &status)));
  CHECK(refused(heed_weighted_sum(&m.weights, &m.v, nullptr, nullptr, &status)));
  CHECK(refused(heed_attend(nullptr, &m.v, &m.out, m.lse, &status)));
  CHECK(refused(heed_attend(&m.weights, nullptr, &m.out, m.lse, &status)));
  CHECK(refused(heed_attend(&m.weights, &m.v, nullptr, m.lse, &status)));
  CHECK(refused(heed_convert(nullptr, &m.converted, &status)));
  CHECK(refused(heed_convert(&m.q, nullptr, &status)));
  CHECK(refused(heed_quantize_int8(nullptr, m.codes, 0, m.lse, &status)));
}

TEST_CASE("dot and softmax have no status: they say NaN", "[kernels][arguments]") {
  const float x[2] = {1.0f, 2.0f};
  float weights[2] = {77.0f, 77.0f};
  for (const float result :
       {heed_dot(x, x, -1), heed_dot(nullptr, x, 2), heed_dot(x, nullptr, 2), heed_softmax(x, weights, -1),
        heed_softmax(nullptr, weights, 2), heed_softmax(x, nullptr, 2)}) {
    CHECK(std::isnan(result));
  }
  CHECK(weights[0] == 77.0f);
  CHECK(weights[1] == 77.0f);
}

}  // namespace
}  // namespace heed::test
