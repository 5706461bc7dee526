// States, their merges, and the cache.
#include <algorithm>
#include <cstdlib>

#include "golden.hpp"
#include "heed/heed.hpp"
#include "numbers.hpp"

namespace heed::golden {
namespace {

using Floats = std::vector<float>;

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

Floats random_floats(Stream stream, std::int64_t count, int shift = 0) {
  Floats x(size(count));
  for (std::int64_t n = 0; n < count; ++n) {
    x[size(n)] = float_of(random_word(HEED_F32, random_bits(stream, 0, 0, 0, n), shift));
  }
  return x;
}

// Memory of a state of `heads` heads and `rows` rows each.
struct Memory {
  Memory(std::int64_t heads, std::int64_t rows, std::int64_t Dv)
      : m(size(heads * rows)),
        l(m),
        o(size(heads * rows * Dv)),
        state(m.data(), l.data(), o.data(), 1, heads, rows, Dv) {}
  void hash(Hash& hash) const {
    for (const Floats* x : {&m, &l, &o}) hash.add(x->data(), HEED_F32, 0, static_cast<std::int64_t>(x->size()));
  }

  Floats m, l, o;
  State state;
};

// ---- Merges of states that no attention made

// Rows of every kind: a maximum that falls, rises, is the same; an empty state on either side and on both; NaN.
constexpr std::int64_t kKinds = 7;

void fill(Memory& x, Stream stream, std::int64_t Dv) {
  x.m = random_floats(stream, kKinds, 3);
  x.l = random_floats(stream, kKinds);
  for (float& l : x.l) l = l < 0.0f ? -l : l;
  x.o = random_floats(stream == kA ? kV : kK, kKinds * Dv);
  x.state = State(x.m.data(), x.l.data(), x.o.data(), 1, 1, kKinds, Dv);
  const auto empty = [&](std::int64_t row) {
    x.m[size(row)] = float_of(special_word(HEED_F32, Special::kMinusInfinity));
    x.l[size(row)] = 0.0f;
    std::fill_n(x.o.begin() + row * Dv, Dv, -0.0f);
  };
  x.m[2] = 1.5f;  // the same on both sides
  if (stream == kA) empty(3);
  if (stream == kB) empty(4);
  empty(5);
  if (stream == kA) x.m[6] = x.l[6] = float_of(special_word(HEED_F32, Special::kNan));
}

void merge(Lines& lines, std::int64_t Dv) {
  const std::string name = "state_merge 7x" + std::to_string(Dv);
  Memory a(1, kKinds, Dv), b(1, kKinds, Dv);
  fill(a, kA, Dv);
  fill(b, kB, Dv);
  heed_status status;
  must(heed_state_merge(&a.state, &b.state, &b.state, &status), name, status.message);
  Hash hash;
  b.hash(hash);
  lines.push_back({name, hash.value()});
}

void finish(Lines& lines, std::int64_t Dv, heed_type type, bool sink) {
  const std::string name = "state_finish 7x" + std::to_string(Dv) + " " + format_of(type).name + (sink ? " sink" : "");
  Memory a(1, kKinds, Dv);
  fill(a, kA, Dv);
  std::vector<std::uint32_t> out(size(kKinds * Dv));
  Floats lse(size(kKinds));
  const float sinks[] = {2.5f};
  const heed_tensor_out view = {out.data(), 0, 0, Dv, type};
  heed_status status;
  must(heed_state_finish(&a.state, sink ? sinks : nullptr, &view, lse.data(), &status), name, status.message);
  Hash hash;
  hash.add(out.data(), type, 0, kKinds * Dv);
  hash.add(lse.data(), HEED_F32, 0, kKinds);
  lines.push_back({name, hash.value()});
}

void merge_lse(Lines& lines, std::int64_t Dv, heed_type type) {
  const std::string name = "merge_lse 7x" + std::to_string(Dv) + " " + format_of(type).name;
  std::vector<std::uint32_t> outs[3];
  for (int n = 0; n < 3; ++n) {
    outs[n].resize(size(kKinds * Dv));
    for (std::int64_t d = 0; d < kKinds * Dv; ++d) {
      store_word(outs[n].data(), format_of(type).bytes, d,
                 random_word(type, random_bits(n == 0 ? kK : kV, 0, 0, 0, d)));
    }
  }
  Floats lse[] = {random_floats(kA, kKinds, 2), random_floats(kB, kKinds, 2), Floats(size(kKinds))};
  const float nothing = float_of(special_word(HEED_F32, Special::kMinusInfinity));
  lse[0][3] = lse[1][4] = lse[0][5] = lse[1][5] = nothing;
  lse[0][6] = float_of(special_word(HEED_F32, Special::kNan));
  const heed_result a = {{outs[0].data(), 0, 0, Dv, type}, lse[0].data()};
  const heed_result b = {{outs[1].data(), 0, 0, Dv, type}, lse[1].data()};
  const heed_tensor_out view = {outs[2].data(), 0, 0, Dv, type};
  heed_status status;
  must(heed_merge_lse(1, 1, kKinds, Dv, &a, &b, &view, lse[2].data(), &status), name, status.message);
  Hash hash;
  hash.add(outs[2].data(), type, 0, kKinds * Dv);
  hash.add(lse[2].data(), HEED_F32, 0, kKinds);
  lines.push_back({name, hash.value()});
}

// ---- Attention over parts of the keys

void parts(Lines& lines, std::int64_t Lq, const std::vector<std::int64_t>& cuts, bool continued) {
  constexpr std::int64_t kHeads = 2, kD = 20, kDv = 17;
  std::string name =
      std::string("state_attention ") + (continued ? "continued" : "merged") + " L" + std::to_string(Lq) + "/";
  std::int64_t Lkv = 0;
  for (const std::int64_t keys : cuts) name += (Lkv == 0 ? "" : "+") + std::to_string(keys), Lkv += keys;
  const Floats q = random_floats(kQ, kHeads * Lq * kD), k = random_floats(kK, Lkv * kD),
               v = random_floats(kV, Lkv * kDv);
  Memory whole(kHeads, Lq, kDv), part(kHeads, Lq, kDv);
  std::int64_t begin = 0;
  for (const std::int64_t keys : cuts) {
    AttentionArgs args;
    args.B = args.Hkv = 1;
    args.Hq = kHeads;
    args.Lq = Lq;
    args.Lkv = keys;
    args.D = kD;
    args.Dv = kDv;
    args.q = heads_first(q.data(), kHeads, Lq, kD);
    args.k = heads_first(k.data() + begin * kD, 1, keys, kD);
    args.v = heads_first(v.data() + begin * kDv, 1, keys, kDv);
    const bool first = begin == 0;
    args.start = continued && !first ? &whole.state : nullptr;
    args.end = continued || first ? &whole.state : &part.state;
    heed_status status;
    must(heed_attention(&args, &status), name, status.message);
    if (!continued && !first) {
      must(heed_state_merge(&whole.state, &part.state, &whole.state, &status), name, status.message);
    }
    begin += keys;
  }
  Hash hash;
  whole.hash(hash);
  lines.push_back({name, hash.value()});
}

// ---- The cache

void cache(Lines& lines, heed_type k_type, heed_type v_type, std::int64_t page_size,
           const std::vector<std::int64_t>& chunks) {
  constexpr std::int64_t kHeads = 2, kD = 19, kDv = 33;
  std::string name = std::string("cache ") + format_of(k_type).name + "," + format_of(v_type).name +
                     " page_size=" + std::to_string(page_size) + " tokens=";
  std::int64_t Lkv = 0;
  for (const std::int64_t n : chunks) name += (Lkv == 0 ? "" : "+") + std::to_string(n), Lkv += n;
  const Floats q = random_floats(kQ, 2 * kHeads * kD);
  const Floats k = random_floats(kK, kHeads * Lkv * kD), v = random_floats(kV, kHeads * Lkv * kDv);

  CacheConfig config;
  config.Hkv = kHeads;
  config.D = kD;
  config.Dv = kDv;
  config.k_type = k_type;
  config.v_type = v_type;
  config.page_size = page_size;
  config.page_count = 2 * (Lkv / page_size + 2);
  config.max_sequences = 2;
  heed_status status;
  const std::size_t bytes = heed_cache_bytes(&config, &status);
  must(status.code, name, status.message);
  void* memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  Cache cache;
  std::int64_t sequences[2];
  const auto ok = [&](const Status& done) { must(done.code(), name, done.message()); };
  ok(cache.create(config, memory, bytes));
  ok(cache.open(&sequences[0]));
  std::int64_t begin = 0;
  for (const std::int64_t n : chunks) {  // the last chunk is a fork's
    if (begin + n == Lkv) ok(cache.fork(sequences[0], &sequences[1]));
    ok(cache.append(sequences[begin + n == Lkv ? 1 : 0], {k.data() + begin * kD, 0, Lkv * kD, kD, HEED_F32},
                    {v.data() + begin * kDv, 0, Lkv * kDv, kDv, HEED_F32}, n));
    begin += n;
  }

  Floats out(size(2 * kHeads * kDv)), lse(size(2 * kHeads));
  AttentionArgs args;
  ok(cache.bind(sequences, 2, &args));
  args.Hq = kHeads;
  args.Lq = 1;
  args.q = heads_first(q.data(), kHeads, 1, kD);
  args.out = heads_first(out.data(), kHeads, 1, kDv);
  args.lse = lse.data();
  ok(attention(args));
  std::free(memory);
  Hash hash;
  hash.add(out.data(), HEED_F32, 0, 2 * kHeads * kDv);
  hash.add(lse.data(), HEED_F32, 0, 2 * kHeads);
  lines.push_back({name, hash.value()});
}

}  // namespace

void state_problems(Lines& lines) {
  for (const std::int64_t Dv : {1, 7, 8, 37, 128}) merge(lines, Dv);
  for (const heed_type type : {HEED_F32, HEED_F16, HEED_BF16}) {
    finish(lines, 37, type, false);
    finish(lines, 24, type, true);
    merge_lse(lines, 37, type);
  }
  for (const bool continued : {false, true}) {
    for (const std::int64_t Lq : {1, 30}) {
      parts(lines, Lq, {512, 512, 176}, continued);
      parts(lines, Lq, {5, 130, 1}, continued);
    }
  }
  for (const heed_type k : {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8}) {
    for (const heed_type v : {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8}) cache(lines, k, v, 16, {1, 30, 17, 2});
  }
  cache(lines, HEED_F16, HEED_F16, 128, {300, 1, 1});
  cache(lines, HEED_INT8, HEED_INT8, 128, {300, 1, 1});
  cache(lines, HEED_F32, HEED_F32, 64, {640, 20});
  cache(lines, HEED_FP8_E4M3, HEED_FP8_E5M2, 16, {1, 30, 17, 2});
  cache(lines, HEED_FP8_E5M2, HEED_FP8_E4M3, 128, {300, 1, 1});
}

}  // namespace heed::golden
