// Every function that the library exports, called with ordinary arguments: for what must hold of all of them.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "heed/heed.hpp"
#include "support/floating_point.hpp"

namespace heed::test {

// Makes each call with this thread's floating-point environment as it is told, and looks at what the call left of it.
class Caller {
 public:
  explicit Caller(const FloatingPoint& setting = kDefault) : setting_(setting) {}

  // symbol: the function's name in the library.
  template <class Call>
  auto operator()(const char* symbol, Call call) {
    called.insert(symbol);
    const Setting within(setting_);
    const std::uint32_t before = control_word();
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
      look(symbol, before);
    } else {
      const auto result = call();
      look(symbol, before);
      return result;
    }
  }

  std::set<std::string> called;
  std::set<std::string> changing;  // left other control bits than they found

 private:
  void look(const char* symbol, std::uint32_t before) {
    if (control_word() != before) changing.insert(symbol);
  }
  FloatingPoint setting_;
};

// What all these calls gave: f32 results, and the bytes of all others.
struct Given {
  std::vector<float> floats;
  std::string bytes;
};

// Why the results differ; empty if not in one bit.
std::string difference(const Given& found, const Given& expected);

class PublicCalls {
 public:
  // magnitude: of the numbers. With 2^-130 many are subnormal, and more products are.
  explicit PublicCalls(float magnitude = 1.0f);

  // force: heed_force_isa too, which must not run at the same time as other calls.
  Given run(Caller& call, const heed_executor& executor = {}, bool force = true) const;

 private:
  void versions(Caller& call, bool force, Given& given) const;
  void kernels(Caller& call, Given& given) const;
  void conversions(Caller& call, Given& given) const;
  void attention(Caller& call, const heed_executor& executor, Given& given) const;
  void plans(Caller& call, const heed_executor& executor, Given& given) const;
  void states(Caller& call, const heed_executor& executor, Given& given) const;
  void cache(Caller& call, const heed_executor& executor, Given& given) const;
  void references(Caller& call, Given& given) const;
  AttentionArgs problem(float* out, float* lse) const;

  static constexpr std::int64_t B = 2, Hq = 4, Hkv = 2, Lq = 5, Lkv = 540, D = 24, Dv = 20;
  std::vector<float> q_, k_, v_, bias_, slopes_, sinks_;
  std::vector<std::uint16_t> halves_;  // k in f16
  std::vector<std::int8_t> k_codes_, v_codes_;
  std::vector<float> scales_;
  std::vector<unsigned char> mask_;
};

}  // namespace heed::test
