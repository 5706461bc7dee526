// Several continuations of one long prefix: its keys are read once for all of them, and each result is that of a call
// over all of the continuation's keys, prefix included.
#include "example.hpp"

using namespace example;

constexpr Size Hq = 4, Hkv = 2, D = 32, Lq = 6;
constexpr Size kPrefix = 1024;  // a multiple of 512 keys: then the bits are the same, too
constexpr Size kOwnKeys[] = {6, 100, 700}, kContinuations = 3, kQueries = kContinuations * Lq;

heed::AttentionArgs problem(const float* q, Size queries, const Floats& k, const Floats& v) {
  heed::AttentionArgs args;
  args.B = 1;
  args.Hq = Hq;
  args.Hkv = Hkv;
  args.Lq = queries;
  args.Lkv = static_cast<Size>(k.size()) / (Hkv * D);
  args.D = args.Dv = D;
  args.q = heed::tokens_first(q, Hq, queries, D);
  args.k = heed::tokens_first(k.data(), Hkv, args.Lkv, D);
  args.v = heed::tokens_first(v.data(), Hkv, args.Lkv, D);
  return args;
}

struct Rows {  // a state and its memory: m and l [Hq][rows], o [Hq][rows][D]
  explicit Rows(Size rows)
      : m(Hq * rows), l(Hq * rows), o(Hq * rows * D), state(m.data(), l.data(), o.data(), 1, Hq, rows, D) {}
  Floats m, l, o;
  heed::State state;
};

heed::State rows_of(heed::State state, Size first, Size count) {
  state.stride_head = state.Lq;
  state.stride_token = 1;
  state.o_stride_head = state.Lq * D;
  state.o_stride_token = D;
  state.Lq = count;
  state.m += first;
  state.l += first;
  state.o += first * D;
  return state;
}

int main() {
  const Floats k_prefix = draw(kPrefix * Hkv * D), v_prefix = draw(kPrefix * Hkv * D), q = draw(kQueries * Hq * D);

  // The queries of all continuations stand behind the prefix: none of its keys is masked.
  Rows prefix(kQueries);
  check(heed::attention_state(problem(q.data(), kQueries, k_prefix, v_prefix), prefix.state));

  bool all = true;
  for (Size n = 0; n < kContinuations; ++n) {
    const heed::State start = rows_of(prefix.state, n * Lq, Lq);
    const float* own_q = q.data() + n * Lq * Hq * D;
    const Floats own_k = draw(kOwnKeys[n] * Hkv * D), own_v = draw(kOwnKeys[n] * Hkv * D);
    heed::AttentionArgs own = problem(own_q, Lq, own_k, own_v);
    own.causal = 1;
    own.key_offset = {&kPrefix, HEED_INT64};

    Rows joined(Lq);
    check(heed::attention_state(own, start, joined.state));
    Floats out(Lq * Hq * D), lse(Hq * Lq), whole(out.size()), whole_lse(lse.size());
    check(heed::finish(joined.state, heed::tokens_first(out.data(), Hq, Lq, D), lse.data()));

    Floats k = k_prefix, v = v_prefix;
    k.insert(k.end(), own_k.begin(), own_k.end());
    v.insert(v.end(), own_v.begin(), own_v.end());
    heed::AttentionArgs unsplit = problem(own_q, Lq, k, v);
    unsplit.causal = 1;
    unsplit.out = heed::tokens_first(whole.data(), Hq, Lq, D);
    unsplit.lse = whole_lse.data();
    check(heed::attention(unsplit));
    bool same = out == whole && lse == whole_lse;

    // Up to 512 keys may be worked on without the prefix, by another process say, and be merged later.
    if (own.Lkv <= 512) {
      Rows elsewhere(Lq);
      check(heed::attention_state(own, elsewhere.state));
      check(heed::merge(start, elsewhere.state, elsewhere.state));
      same = same && elsewhere.m == joined.m && elsewhere.l == joined.l && elsewhere.o == joined.o;
    }
    std::printf("continuation of %d keys: %s\n", static_cast<int>(own.Lkv), same ? "as one call" : "DIFFERS");
    all = all && same;
  }
  return all ? 0 : 1;
}
