// See probes.hpp. Vector extensions rather than intrinsics: the row's flags choose the width, and one text serves every
// processor. The build compiles this file with -ffp-contract=fast, so a * b + c is one instruction where the row has
// it.
#include "probes.hpp"

namespace heed::bench {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__riscv_v)
constexpr bool kFma = true;
#else
constexpr bool kFma = false;
#endif

// Empty instructions that need a vector in a register: the compiler can neither foresee its value nor drop it.
#if defined(__aarch64__) || defined(__arm__)
#define HEED_CHANGE(v) asm volatile("" : "+w"(v))
#define HEED_USE(v) asm volatile("" : : "w"(v))
#else
#define HEED_CHANGE(v) asm volatile("" : "+x"(v))
#define HEED_USE(v) asm volatile("" : : "x"(v))
#endif

typedef float Floats __attribute__((vector_size(kVectorBytes), may_alias, aligned(4)));
constexpr int kLanes = kVectorBytes / 4;

// Latency 4 or 5 on two ports keeps 8 or 10 chains busy; more than 13 no longer fit into 16 registers.
constexpr int kChains = 12;

void chains(std::int64_t steps) {
  Floats sum[kChains];
  Floats factor = Floats{} + 1.0f, term = factor;
  HEED_CHANGE(factor);
  HEED_CHANGE(term);
#pragma GCC unroll 16
  for (int c = 0; c < kChains; ++c) sum[c] = term;
  for (std::int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 16
    for (int c = 0; c < kChains; ++c) {
      if constexpr (kFma) {
        sum[c] = sum[c] * factor + term;
      } else {  // chains of both kinds, for processors that multiply and add on different ports
        sum[c] = c % 2 == 0 ? sum[c] * factor : sum[c] + term;
      }
      HEED_CHANGE(sum[c]);  // one instruction per chain and step, in this order
    }
  }
}

constexpr int kTileVectors = 2;

void tile(const float* a, const float* b, float* c, std::int64_t depth) {
  Floats sum[kTileRows][kTileVectors] = {};
  for (std::int64_t k = 0; k < depth; ++k) {
    const Floats* row = reinterpret_cast<const Floats*>(b + k * kTileVectors * kLanes);
    const Floats b0 = row[0], b1 = row[1];
#pragma GCC unroll 8
    for (int r = 0; r < kTileRows; ++r) {
      const Floats broadcast = a[r * depth + k] - Floats{};
      sum[r][0] = broadcast * b0 + sum[r][0];
      sum[r][1] = broadcast * b1 + sum[r][1];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
    Floats* row = reinterpret_cast<Floats*>(c + r * kTileVectors * kLanes);
    row[0] = sum[r][0];
    row[1] = sum[r][1];
  }
}

constexpr int kLine = 64;
constexpr int kStep = 256;  // bytes that one stream advances before the next one's turn

template <int kStreams, int kAhead>
void read(const void* data, std::size_t bytes) {
  const char* start = static_cast<const char*>(data);
  const std::size_t part = bytes / kStreams / kStep * kStep;
  for (std::size_t at = 0; at < part; at += kStep) {
#pragma GCC unroll 8
    for (int s = 0; s < kStreams; ++s) {
      const char* p = start + static_cast<std::size_t>(s) * part + at;
      if constexpr (kAhead > 0) {
#pragma GCC unroll 8
        for (int line = 0; line < kStep; line += kLine) __builtin_prefetch(p + kAhead + line);
      }
#pragma GCC unroll 16
      for (int i = 0; i < kStep; i += kVectorBytes) {
        const Floats loaded = *reinterpret_cast<const Floats*>(p + i);
        HEED_USE(loaded);  // a load and nothing else
      }
    }
  }
}

constexpr Reader kReaders[] = {
    {1, 0, read<1, 0>},       {2, 0, read<2, 0>},       {4, 0, read<4, 0>},       {1, 512, read<1, 512>},
    {2, 512, read<2, 512>},   {4, 512, read<4, 512>},   {1, 2048, read<1, 2048>}, {2, 2048, read<2, 2048>},
    {4, 2048, read<4, 2048>}, {1, 8192, read<1, 8192>}, {2, 8192, read<2, 8192>}, {4, 8192, read<4, 8192>},
};

}  // namespace

extern const Probes HEED_PROBES;
const Probes HEED_PROBES = {kVectorBytes, kFma,
                            chains,       (kFma ? 2 : 1) * kChains* kLanes,
                            tile,         kTileVectors* kLanes,
                            kReaders,     static_cast<int>(sizeof kReaders / sizeof kReaders[0])};

}  // namespace heed::bench
