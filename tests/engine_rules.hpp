// Rules of the arguments of plans, states and the cache: which code, which words, and that nothing is written.
#pragma once

#include <catch2/catch_message.hpp>
#include <cstring>
#include <limits>

#include "engine_problem.hpp"
#include "executors.hpp"

namespace heed::test {
inline constexpr std::int64_t kMostInt = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kLeastInt = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t two_to(int n) { return std::int64_t{1} << n; }

// One of everything that these calls take, all of it right, and the places where they put something.
struct Engine {
  Engine() {
    plan_args = p.args;
    REQUIRE(heed_plan_make(&p.args, &plan, nullptr) == HEED_OK);
    workspace_bytes = heed_plan_workspace_bytes(&plan);
    REQUIRE(workspace_bytes <= sizeof workspace);
    std::memset(workspace, 0x5A, sizeof workspace);
    std::memset(room, 0x5A, sizeof room);

    config.Hkv = 2;
    config.D = config.Dv = 4;
    config.v_type = HEED_INT8;
    config.page_size = 16;
    config.page_count = 3;
    config.max_sequences = 2;
    REQUIRE(heed_cache_create(&config, room, sizeof room, &cache, nullptr) == HEED_OK);
    REQUIRE(heed_cache_open(cache, &sequence, nullptr) == HEED_OK);
    REQUIRE(heed_cache_append(cache, sequence, &tokens, &tokens, 5, nullptr) == HEED_OK);
    std::memset(spare, 0x5A, sizeof spare);
    (void)p.take();
  }

  // Whatever a call could have written.
  std::string written() {
    std::string all = p.take() + a.bytes() + b.bytes() + to.bytes();
    all.append(room, sizeof room).append(spare, sizeof spare);
    if (run == nullptr) all.append(workspace, sizeof workspace);  // a run's members lie there, and gaps between them
    all.append(reinterpret_cast<const char*>(&unmade), sizeof unmade);
    all.append(reinterpret_cast<const char*>(&bound.k), sizeof bound - offsetof(heed_attention_args, k));
    return all + std::to_string(fork) + (run == nullptr ? "" : "run") + (other == nullptr ? "" : "cache");
  }

  EngineProblem p{{2, 4, 2, 3, 40, 8, 9}, 31};
  AttentionArgs plan_args;
  heed_plan plan{}, unmade{};
  heed_run* run = nullptr;
  std::size_t workspace_bytes = 0;
  alignas(64) char workspace[32 * 1024];

  StateMemory a{p.shape}, b{p.shape}, to{p.shape};
  float sinks[4] = {1, 2, 3, 4};
  heed_result left{p.args.q, p.lse.data()}, right{p.args.q, p.lse.data()};

  heed_cache_config config{sizeof(heed_cache_config), 0, 0, 0, 0, 0, 0, 0, 0, 0};
  alignas(64) char room[32 * 1024], spare[32 * 1024];
  heed_cache *cache = nullptr, *other = nullptr;
  std::int64_t sequence = -7, fork = -7, sequences[2] = {0, 0};
  Floats x = random_floats(100, 1);
  heed_tensor tokens{x.data(), 0, 4, 8, HEED_F32};
  AttentionArgs bound;
};

struct Rule {
  const char* argument;  // how the message starts
  const char* why;       // what it says somewhere
  heed_code (*call)(Engine&, heed_status*);
};

inline void check(const Rule* rules, std::size_t count) {
  for (std::size_t n = 0; n < count; ++n) {
    Engine engine, same;
    heed_status status;
    std::memset(&status, 'x', sizeof status);
    const heed_code code = rules[n].call(engine, &status);
    REQUIRE(std::memchr(status.message, '\0', sizeof status.message) != nullptr);
    const std::string message = status.message;
    INFO("rule " << n << ", " << rules[n].argument << ' ' << rules[n].why << "; code " << code << ": " << message);
    CHECK(code == HEED_INVALID_ARGUMENT);
    CHECK(status.code == code);
    CHECK(message.rfind(rules[n].argument, 0) == 0);
    CHECK(message.find(rules[n].why) != std::string::npos);
    CHECK(message.find('\n') == std::string::npos);
    CHECK(message.size() + 1 < sizeof status.message);
    CHECK(rules[n].call(same, nullptr) == code);
    // A rule may change sizes of the problem, and then compares nothing: the memory is all that counts.
    Engine fresh;
    const bool untouched = engine.written() == fresh.written() && same.written() == fresh.written();
    CHECK(untouched);
  }
}

template <heed_code (*Call)(Engine&, heed_status*), class Change>
heed_code with(Engine& e, heed_status* s, const Change& change) {
  change(e);
  return Call(e, s);
}

#define RULE(call, argument, why, ...)                       \
  {                                                          \
    argument, why, [](Engine& engine, heed_status* status) { \
      return with<call>(engine, status, [](Engine& e) {      \
        __VA_ARGS__;                                         \
        (void)e;                                             \
      });                                                    \
    }                                                        \
  }

template <class Pointer>
Pointer one_byte_on(Pointer pointer) {
  return reinterpret_cast<Pointer>(reinterpret_cast<std::uintptr_t>(pointer) + 1);
}

}  // namespace heed::test
