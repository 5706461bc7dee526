// Which row runs, and what a name that cannot be served does.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <string>

#include "heed/heed.hpp"
#include "support/rows.hpp"

using namespace heed;
using namespace heed::test;

namespace {

struct Environment {  // as it was, when a test case ends
  Environment() {
    if (const char* value = std::getenv("HEED_ISA")) before = value;
    unsetenv("HEED_ISA");
  }
  ~Environment() {
    if (!before.empty()) setenv("HEED_ISA", before.c_str(), 1);
    dispatch::force(before.c_str());
  }
  std::string before;
};

// The calls that have a status, each with arguments that are right.
std::vector<Status> every_status_call() {
  const float x[4] = {1, 2, 3, 4};
  float y[4];
  const Matrix in(x, 2, 2);
  const MutableMatrix out(y, 2, 2);
  AttentionArgs args;
  args.B = args.Hq = args.Hkv = args.Lq = args.Lkv = args.D = args.Dv = 1;
  args.q = args.k = args.v = heads_first(x, 1, 1, 1);
  args.out = heads_first(y, 1, 1, 1);
  std::vector<Status> all = {scores(in, in, 1.0f, out), weighted_sum(in, in, out), attend(in, in, out),
                             attention(args)};
  const auto called = [&](const auto& call) {
    Status status;
    call(&status.raw());
    all.push_back(status);
  };
  std::int8_t codes[4];
  called([&](heed_status* s) { heed_convert(&in, &out, s); });
  called([&](heed_status* s) { heed_quantize_int8(&in, codes, 0, y, s); });
  called([&](heed_status* s) { heed_alibi_slopes(4, y, s); });

  alignas(64) static char workspace[16384], room[16384];
  static Plan plan;  // of the first time, when there was a row
  static Cache cache;
  if (plan.workspace_bytes() == 0) all.push_back(plan.make(args));
  Plan another;
  Run run;
  all.push_back(another.make(args));
  all.push_back(plan.run(args, workspace, sizeof workspace));
  all.push_back(plan.begin(args, workspace, sizeof workspace, &run));
  float m = 0, l = 1;
  const State state(&m, &l, y, 1, 1, 1, 1);
  all.push_back(merge(state, state, state));
  all.push_back(finish(state, args.out));
  all.push_back(merge_lse(1, 1, 1, 1, {args.q, &l}, {args.q, &l}, args.out));
  CacheConfig config;
  config.Hkv = config.D = config.Dv = config.page_count = 1;
  config.max_sequences = 2;
  config.page_size = 16;
  called([&](heed_status* s) { heed_cache_bytes(&config, s); });
  std::int64_t sequence = 0, fork = 1;
  all.push_back(cache.create(config, room, sizeof room));
  all.push_back(cache.open(&sequence));
  all.push_back(cache.append(sequence, args.k, args.v, 0));
  all.push_back(cache.fork(sequence, &fork));
  all.push_back(cache.truncate(sequence, 0));
  all.push_back(cache.drop(sequence, 0));
  all.push_back(cache.bind(&sequence, 1, &args));
  all.push_back(cache.close(sequence));
  return all;
}

}  // namespace

TEST_CASE("The automatic choice is the first row that may be chosen and runs") {
  const Environment environment;
  CHECK(force_isa(nullptr).ok());
  for (int i = 0; i < isa_count(); ++i) {
    const IsaInfo info = isa_row(i);
    if (!info.automatic || !info.supported) continue;
    CHECK(std::string(isa()) == info.name);
    break;
  }
  // Behind the last row that may be chosen are those to be passed over, where the build has them.
  const dispatch::Table& last = dispatch::row(dispatch::row_count() - 1);
  CHECK(last.automatic == (std::string(last.name) == "scalar"));
}

TEST_CASE("Every runnable row can be forced, and null resets") {
  const Environment environment;
  REQUIRE(force_isa(nullptr).ok());
  const std::string automatic = isa();
  for (int i = 0; i < isa_count(); ++i) {
    const IsaInfo info = isa_row(i);
    INFO(info.name);
    const Status status = force_isa(info.name);
    CHECK(status.ok() == (info.supported != 0));
    CHECK(std::string(isa()) == (info.supported != 0 ? info.name : automatic));
  }
  CHECK(force_isa(nullptr).ok());
  CHECK(isa() == automatic);
}

TEST_CASE("A name that cannot be served fails every status call with that name, others run the best row") {
  const Environment environment;
  REQUIRE(force_isa(nullptr).ok());
  const std::string automatic = isa();
  for (const Status& status : every_status_call()) CHECK(status.ok());
  for (const char* name : {"avx9000", "AVX2", "scalar ", "a-name-far-longer-than-any-row-has"}) {
    INFO(name);
    const Status refused = force_isa(name);
    CHECK(refused.code() == HEED_ISA_UNAVAILABLE);
    CHECK(std::string(refused.message()).find("'" + std::string(name) + "'") != std::string::npos);
    CHECK(isa() == automatic);
    for (const Status& status : every_status_call()) {
      CHECK(status.code() == HEED_ISA_UNAVAILABLE);
      CHECK(std::string(status.message()).find("'" + std::string(name) + "'") != std::string::npos);
    }
    const float x[3] = {1, 2, 3};
    float weights[3];
    CHECK(dot(x, x, 3) == 14.0f);
    CHECK(std::abs(softmax(x, weights, 3) - 3.4076060f) < 1e-6f);
  }
  CHECK(std::string(force_isa("two\nlines").message()).find("'two?lines' is none of this processor's: ") !=
        std::string::npos);
  CHECK(std::string(force_isa("").message()) == "");
  CHECK(std::string(force_isa("none").message()).find(automatic) != std::string::npos);
  CHECK(force_isa(nullptr).ok());
  for (const Status& status : every_status_call()) CHECK(status.ok());
}

// Started with HEED_ISA set: what it says holds from the first call on.
TEST_CASE("HEED_ISA chooses, or fails every status call with its name", "[.environment]") {
  const char* name = std::getenv("HEED_ISA");
  REQUIRE(name != nullptr);
  bool runs = *name == '\0';  // empty asks for nothing
  for (int i = 0; i < isa_count(); ++i) runs = runs || (isa_row(i).supported && std::string(name) == isa_row(i).name);
  for (const Status& status : every_status_call()) {
    if (runs) {
      CHECK(status.ok());
    } else {
      CHECK(status.code() == HEED_ISA_UNAVAILABLE);
      CHECK(std::string(status.message()).find("'" + std::string(name) + "'") != std::string::npos);
    }
  }
  const std::string in_use = isa();
  const float x[2] = {3, 4};
  CHECK(dot(x, x, 2) == 25.0f);
  CHECK(force_isa(nullptr).ok());
  if (runs && *name != '\0') CHECK(in_use == name);
  if (!runs || *name == '\0') CHECK(in_use == isa());  // the best row
  for (const Status& status : every_status_call()) CHECK(status.ok());
}

TEST_CASE("The list of rows ends where it says") {
  heed_isa_info info{};
  CHECK(heed_isa_row(-1, &info) == 0);
  CHECK(heed_isa_row(heed_isa_count(), &info) == 0);
  CHECK(heed_isa_row(0, nullptr) == 0);
  CHECK(heed_isa_row(0, &info) == 1);
}
