// An engine's loop: the prompt goes into heed's cache, then one token at a time is appended and attended; halfway, the
// sequence forks. A window lets the cache give old pages back. Each result is held against row-major tensors.
#include <algorithm>

#include "example.hpp"

using namespace example;

constexpr Size Hq = 8, Hkv = 2, D = 64, kPrompt = 300, kSteps = 200, kWindow = 160, kMaxSequences = 2;

heed::AttentionArgs with_queries(Size B, Size Lq, const Floats& q, Floats& out) {
  heed::AttentionArgs args;
  args.B = B;
  args.Hq = Hq;
  args.Lq = Lq;
  args.q = heed::heads_first(q.data(), Hq, Lq, D);
  args.out = heed::heads_first(out.data(), Hq, Lq, D);
  args.has_window = 1;
  args.window_left = kWindow - 1;  // and none to the right: causal
  return args;
}

struct Sequence {
  Size id = -1;
  Floats k, v;  // all its tokens, [token][head][D]: only to compare with

  void append(heed::Cache& cache, Size tokens) {
    const Floats new_k = draw(tokens * Hkv * D), new_v = draw(tokens * Hkv * D);
    check(cache.append(id, heed::tokens_first(new_k.data(), Hkv, tokens, D),
                       heed::tokens_first(new_v.data(), Hkv, tokens, D), tokens));
    k.insert(k.end(), new_k.begin(), new_k.end());
    v.insert(v.end(), new_v.begin(), new_v.end());
  }
  Floats attend_without_cache(const heed::Cache& cache, Size Lq, const Floats& q) const {
    Floats out(q.size());
    heed::AttentionArgs args = with_queries(1, Lq, q, out);
    const Size gone = cache.position(id);  // what the cache has dropped does not exist here either
    args.Hkv = Hkv;
    args.Lkv = cache.length(id);
    args.D = args.Dv = D;
    args.k = heed::tokens_first(k.data() + gone * Hkv * D, Hkv, args.Lkv, D);
    args.v = heed::tokens_first(v.data() + gone * Hkv * D, Hkv, args.Lkv, D);
    args.key_offset = {&gone, HEED_INT64};
    check(heed::attention(args));
    return out;
  }
};

int main() {
  heed::CacheConfig config;
  config.Hkv = Hkv;
  config.D = config.Dv = D;
  config.page_size = 32;
  config.page_count = 32;
  config.max_sequences = kMaxSequences;
  Memory cache_memory(config.bytes());
  heed::Cache cache;
  check(cache.create(config, cache_memory.data(), cache_memory.bytes()));

  std::vector<Sequence> sequences(1);
  check(cache.open(&sequences[0].id));
  sequences[0].append(cache, kPrompt);
  const Floats prompt = draw(kPrompt * Hq * D);
  Floats prompt_out(prompt.size());
  heed::AttentionArgs prefill = with_queries(1, kPrompt, prompt, prompt_out);
  check(cache.bind(&sequences[0].id, 1, &prefill));
  check(heed::attention(prefill));
  int differ = prompt_out == sequences[0].attend_without_cache(cache, kPrompt, prompt) ? 0 : 1;

  // Made once, for the largest step. From here on heed takes no memory.
  Floats none;
  heed::AttentionArgs largest = with_queries(kMaxSequences, 1, none, none);
  check(cache.bind(&sequences[0].id, 1, &largest));  // the shape of keys and values
  largest.B = kMaxSequences;
  largest.Lkv = kPrompt + kSteps;
  heed::Plan plan;
  check(plan.make(largest));
  Memory workspace(plan.workspace_bytes());

  for (Size step = 0; step < kSteps; ++step) {
    if (step == kSteps / 2) {  // a second answer: it shares the pages of what came before
      sequences.push_back(sequences[0]);
      check(cache.fork(sequences[0].id, &sequences[1].id));
    }
    const Size B = static_cast<Size>(sequences.size());
    std::vector<Size> ids;
    for (Sequence& sequence : sequences) {
      sequence.append(cache, 1);
      check(cache.drop(sequence.id, std::max<Size>(0, cache.length(sequence.id) - kWindow)));
      ids.push_back(sequence.id);
    }
    const Floats q = draw(B * Hq * D);
    Floats out(q.size());
    heed::AttentionArgs args = with_queries(B, 1, q, out);
    check(cache.bind(ids.data(), B, &args));
    check(plan.run(args, workspace.data(), workspace.bytes()));

    for (Size b = 0; b < B; ++b) {
      const Floats own(q.begin() + b * Hq * D, q.begin() + (b + 1) * Hq * D);
      const Floats expected = sequences[static_cast<std::size_t>(b)].attend_without_cache(cache, 1, own);
      if (!std::equal(expected.begin(), expected.end(), out.begin() + b * Hq * D)) ++differ;
    }
  }
  for (const Sequence& s : sequences) {
    std::printf("sequence %d: %d tokens in the cache, %d dropped\n", static_cast<int>(s.id),
                static_cast<int>(cache.length(s.id)), static_cast<int>(cache.position(s.id)));
  }
  std::printf("%d of %d pages free\nresults that differ from row-major tensors: %d\n",
              static_cast<int>(cache.free_pages()), static_cast<int>(config.page_count), differ);
  return differ == 0 ? 0 : 1;
}
