// Every operation once, for callgrind to count: `heed-count ROW` says what it does, scripts/count starts it and
// divides. Without an argument it lists the rows that are worth counting; with a second one, it does what has that in
// its name:
//   valgrind --tool=callgrind --toggle-collect=heed_counted --dump-instr=yes heed-count avx2 decode_f32_g4_panels
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "heed/heed.hpp"

// What callgrind counts, from its first instruction to its last. Its name is what scripts/count asks for.
extern "C" __attribute__((noinline)) void heed_counted(const std::function<void()>& call) { call(); }

namespace heed::count {
namespace {

using Floats = std::vector<float>;
using Bytes = std::vector<unsigned char>;

// Numbers between -1 and 1, the same on every machine.
Floats numbers(std::int64_t count) {
  Floats x(static_cast<std::size_t>(count));
  std::uint32_t state = 12345;
  for (float& value : x) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31f;
  }
  return x;
}

void must(heed_code code, const heed_status& status) {
  if (code == HEED_OK) return;
  std::fprintf(stderr, "heed-count: %s\n", status.message);
  std::exit(1);
}
void must(const Status& status) {
  if (status) return;  // or its text would be counted with the smallest calls
  heed_status text{};
  std::snprintf(text.message, sizeof text.message, "%s", status.message());
  must(status.code(), text);
}

std::string wanted;  // by names that hold it

// Calls it once, so that nothing is done for the first time, and then counts.
void counted(const std::string& name, double useful, const char* unit, const std::function<void()>& call) {
  if (name.find(wanted) == std::string::npos) return;
  call();
  void (*volatile enter)(const std::function<void()>&) = heed_counted;  // so that no copy with another name is called
  enter(call);
  std::printf("%s %.0f %s\n", name.c_str(), useful, unit);
}

struct Type {
  heed_type type;
  const char* name;
  std::int64_t bytes;
};
constexpr Type kTypes[] = {{HEED_F32, "f32", 4},   {HEED_F16, "f16", 2},       {HEED_BF16, "bf16", 2},
                           {HEED_INT8, "int8", 1}, {HEED_FP8_E4M3, "e4m3", 1}, {HEED_FP8_E5M2, "e5m2", 1}};

struct Stored {
  Stored(const Floats& x, std::int64_t columns, const Type& type)
      : data(x.size() * static_cast<std::size_t>(type.bytes)), scales(x.size() / static_cast<std::size_t>(columns)) {
    const auto rows = static_cast<std::int64_t>(scales.size());
    const heed_matrix from{x.data(), rows, columns, 0, HEED_F32};
    heed_status status;
    if (type.type == HEED_INT8) {
      must(heed_quantize_int8(&from, reinterpret_cast<std::int8_t*>(data.data()), 0, scales.data(), &status), status);
    } else {
      const heed_matrix_out to{data.data(), rows, columns, 0, type.type};
      must(heed_convert(&from, &to, &status), status);
    }
  }
  Bytes data;
  Floats scales;
};

constexpr std::int64_t kD = 128;

void single_kernels() {
  constexpr std::int64_t n = 1024, rows = 4, keys = 512;
  const Floats a = numbers(n), q = numbers(rows * kD), k = numbers(keys * kD), s = numbers(rows * keys);
  Floats weights(n), scores(static_cast<std::size_t>(rows * keys)), out(static_cast<std::size_t>(rows * kD)), lse(rows);
  volatile float sink = 0.0f;
  counted("dot_f32", n, "multiply-add", [&] { sink = heed_dot(a.data(), a.data(), n); });
  counted("softmax_f32", n, "element", [&] { sink = heed_softmax(a.data(), weights.data(), n); });
  const heed_matrix q_rows{q.data(), rows, kD, 0, HEED_F32}, s_rows{s.data(), rows, keys, 0, HEED_F32};
  const heed_matrix_out to_scores{scores.data(), rows, keys, 0, HEED_F32}, to_out{out.data(), rows, kD, 0, HEED_F32};
  heed_status status;
  for (const Type& type : kTypes) {
    if (type.type == HEED_INT8) continue;
    const Stored stored(k, kD, type);
    const heed_matrix k_rows{stored.data.data(), keys, kD, 0, type.type};
    const double pairs = static_cast<double>(rows * keys * kD);
    counted(std::string("scores_") + type.name, pairs, "multiply-add",
            [&] { must(heed_scores(&q_rows, &k_rows, 1.0f, &to_scores, &status), status); });
    counted(std::string("weighted_sum_") + type.name, pairs, "multiply-add",
            [&] { must(heed_weighted_sum(&s_rows, &k_rows, nullptr, &to_out, &status), status); });
    counted(std::string("attend_") + type.name, pairs, "multiply-add",
            [&] { must(heed_attend(&s_rows, &k_rows, &to_out, lse.data(), &status), status); });
    if (type.type == HEED_F32) continue;
    Bytes codes(k.size() * 2);
    Floats back(k.size());
    const heed_matrix floats{k.data(), keys, kD, 0, HEED_F32};
    const heed_matrix_out to_codes{codes.data(), keys, kD, 0, type.type}, to_floats{back.data(), keys, kD, 0, HEED_F32};
    const double elements = static_cast<double>(keys * kD);
    counted(std::string("convert_to_") + type.name, elements, "element",
            [&] { must(heed_convert(&floats, &to_codes, &status), status); });
    counted(std::string("convert_from_") + type.name, elements, "element",
            [&] { must(heed_convert(&k_rows, &to_floats, &status), status); });
  }
}

// One sequence, two kv heads.
class Attention {
 public:
  Attention(std::int64_t group, std::int64_t Lq, std::int64_t Lkv, std::int64_t D, const Type& type)
      : k_(numbers(2 * Lkv * D), D, type),
        v_(numbers(2 * Lkv * D), D, type),
        q_(numbers(2 * group * Lq * D)),
        out_(q_.size()) {
    args.B = 1;
    args.Hq = 2 * group;
    args.Hkv = 2;
    args.Lq = Lq;
    args.Lkv = Lkv;
    args.D = args.Dv = D;
    args.q = heads_first(static_cast<const float*>(q_.data()), args.Hq, Lq, D);
    args.out = heads_first(out_.data(), args.Hq, Lq, D);
    args.k = {k_.data.data(), 0, Lkv * D, D, type.type};
    args.v = {v_.data.data(), 0, Lkv * D, D, type.type};
    if (type.type == HEED_INT8) {
      args.k_scales = {k_.scales.data(), 0, Lkv, 1, HEED_F32};
      args.v_scales = {v_.scales.data(), 0, Lkv, 1, HEED_F32};
    }
  }
  double multiply_adds() const {
    const std::int64_t excluded = args.causal != 0 ? args.Lq * (args.Lq - 1) / 2 : 0;
    const double pairs = static_cast<double>(args.Lq * args.Lkv - excluded);
    return 2.0 * static_cast<double>(args.Hq * args.D) * pairs;
  }
  void count(const std::string& name) {
    counted(name, multiply_adds(), "multiply-add", [&] { must(attention(args)); });
  }
  AttentionArgs args;

 private:
  Stored k_, v_;
  Floats q_, out_;
};

void prefills() {
  constexpr std::int64_t Lq = 64, L = 256;
  for (const std::int64_t D : {64, 128}) {
    for (const Type& type : kTypes) {
      Attention full(1, Lq, L, D, type);
      full.count("prefill_" + std::string(type.name) + "_D" + std::to_string(D));
    }
    Attention causal(1, Lq, L, D, kTypes[0]);
    causal.args.causal = 1;
    causal.count("prefill_f32_D" + std::to_string(D) + "_causal");
  }
  const auto option = [&](const char* name, const std::function<void(AttentionArgs&)>& change) {
    Attention call(1, Lq, L, kD, kTypes[0]);
    change(call.args);
    call.count(std::string("prefill_f32_D128_") + name);
  };
  const Floats slopes = {0.5f, 0.25f}, bias = numbers(L * L);
  const Bytes bits(static_cast<std::size_t>(L * L / 8), 0xB7);
  option("softcap", [&](AttentionArgs& a) { a.softcap = 30.0f; });
  option("alibi", [&](AttentionArgs& a) { a.alibi_slopes = slopes.data(); });
  option("bias", [&](AttentionArgs& a) { a.bias = {bias.data(), 0, 0, L, HEED_F32}; });
  option("bitmask", [&](AttentionArgs& a) {
    a.mask_kind = HEED_BIT_MASK;
    a.mask = bits.data();
    a.mask_stride_token = L / 8;
  });
}

void decodes() {
  constexpr std::int64_t keys = 512;
  for (const Type& type : kTypes) {
    for (const std::int64_t group : {1, 4, 8}) {
      const std::string name = std::string(type.name) + "_g" + std::to_string(group);
      Attention rows(group, 1, keys, kD, type);
      rows.count("decode_" + name);
      CacheConfig config;
      config.Hkv = 2;
      config.D = config.Dv = kD;
      config.k_type = config.v_type = type.type;
      config.page_count = keys / 128;
      config.max_sequences = 1;
      Cache cache;
      const std::size_t bytes = (config.bytes() + 63) / 64 * 64;
      void* memory = std::aligned_alloc(64, bytes);
      std::int64_t sequence = 0;
      const Floats tokens = numbers(2 * keys * kD);
      const heed_tensor from = heads_first(tokens.data(), 2, keys, kD);
      must(cache.create(config, memory, bytes));
      must(cache.open(&sequence));
      must(cache.append(sequence, from, from, keys));
      must(cache.bind(&sequence, 1, &rows.args));
      rows.count("decode_" + name + "_panels");
      if (group == 1) {
        counted(std::string("append_") + type.name, static_cast<double>(2 * 2 * 128 * kD), "element", [&] {
          must(cache.truncate(sequence, keys - 128));
          must(cache.append(sequence, from, from, 128));
        });
      }
      std::free(memory);
    }
  }
}

// The smallest call there is: what is left of it is overhead.
void smallest() {
  const float q[] = {1, 0, 0, 1, 1, 1}, k[] = {1, 1, 0, 1, 0, 0}, v[] = {0.5f, 0.5f, 1, 0, 0, 1};
  float out[6];
  AttentionArgs args;
  args.B = args.Hq = args.Hkv = 1;
  args.Lq = args.Lkv = 3;
  args.D = args.Dv = 2;
  args.q = heads_first(q, 1, 3, 2);
  args.k = heads_first(k, 1, 3, 2);
  args.v = heads_first(v, 1, 3, 2);
  args.out = heads_first(out, 1, 3, 2);
  counted("smallest_attention", 1, "call", [&] { must(attention(args)); });
  Plan plan;
  counted("smallest_plan_make", 1, "call", [&] { must(plan.make(args)); });
  alignas(64) static unsigned char workspace[1 << 15];
  counted("smallest_plan_run", 1, "call", [&] { must(plan.run(args, workspace, sizeof workspace)); });
}

}  // namespace
}  // namespace heed::count

int main(int argc, char** argv) {
  if (argc < 2) return std::puts(HEED_COUNT_ROWS), 0;
  const heed::Status status = heed::force_isa(argv[1]);
  if (!status) return std::fprintf(stderr, "heed-count: %s\n", status.message()), 3;
  if (argc > 2) heed::count::wanted = argv[2];
  heed::count::smallest();
  heed::count::single_kernels();
  heed::count::decodes();
  heed::count::prefills();
}
