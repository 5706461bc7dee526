// The same as consumer.c through the C++ interface, in C++17.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <heed/heed.hpp>
#include <memory>
#include <vector>

namespace {

constexpr std::int64_t kHeads = 2, kTokens = 5, kD = 3, kFloats = kHeads * kTokens * kD;

struct alignas(64) Line {
  char bytes[64];
};
std::vector<Line> memory_of(std::size_t bytes) { return std::vector<Line>(bytes / sizeof(Line) + 1); }

unsigned bits(float x) {
  std::uint32_t word;
  std::memcpy(&word, &x, sizeof word);
  return word;
}

void print(const char* what, const std::vector<float>& out) {
  std::printf("%s", what);
  for (float value : out) std::printf(" %08x", bits(value));
  std::printf("\n");
}

void check(const heed::Status& status) {
  if (status) return;
  std::fprintf(stderr, "%s\n", status.message());
  std::exit(1);
}

}  // namespace

int main() {
  std::vector<float> q(kFloats), k(kFloats), v(kFloats), out(kFloats);
  for (int n = 0; n < static_cast<int>(kFloats); ++n) {
    const auto at = static_cast<std::size_t>(n);
    q[at] = static_cast<float>(n * 7 % 11 - 5) * 0.25f;
    k[at] = static_cast<float>(n * 5 % 13 - 6) * 0.25f;
    v[at] = static_cast<float>(n * 3 % 17 - 8) * 0.5f;
  }
  const float x[] = {3, 4, 12};
  std::printf("dot %g\n", static_cast<double>(heed::dot(x, x, 3)));
  const std::uint32_t small_bits[] = {0x00000400u, 0x3f800000u};  // subnormal, and 1
  float small[2];
  std::memcpy(small, small_bits, sizeof small);
  std::printf("subnormal %08x\n", bits(heed::dot(&small[0], &small[1], 1)));

  heed::AttentionArgs args;
  args.B = 1;
  args.Hq = args.Hkv = kHeads;
  args.Lq = args.Lkv = kTokens;
  args.D = args.Dv = kD;
  args.causal = 1;
  args.q = heed::heads_first(q.data(), kHeads, kTokens, kD);
  args.k = heed::heads_first(k.data(), kHeads, kTokens, kD);
  args.v = heed::heads_first(v.data(), kHeads, kTokens, kD);
  args.out = heed::heads_first(out.data(), kHeads, kTokens, kD);
  check(heed::attention(args));
  print("attention", out);

  heed::Plan plan;
  check(plan.make(args));
  std::vector<Line> workspace = memory_of(plan.workspace_bytes());
  out.assign(out.size(), 0.0f);
  check(plan.run(args, workspace.data(), workspace.size() * sizeof(Line)));
  print("plan", out);

  heed::CacheConfig config;
  config.Hkv = kHeads;
  config.D = config.Dv = kD;
  config.page_size = 16;
  config.page_count = 1;
  config.max_sequences = 1;
  std::vector<Line> pages = memory_of(config.bytes());
  heed::Cache cache;
  std::int64_t sequence = -1;
  check(cache.create(config, pages.data(), pages.size() * sizeof(Line)));
  check(cache.open(&sequence));
  check(cache.append(sequence, args.k, args.v, kTokens));
  check(cache.bind(&sequence, 1, &args));
  out.assign(out.size(), 0.0f);
  check(heed::attention(args));
  print("cache", out);
}
