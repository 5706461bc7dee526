#include "score.hpp"

#include <cmath>

namespace heed::reference {

double bias(const Sequence& sequence, std::int64_t head, std::int64_t i, std::int64_t slot) {
  const heed_tensor& tensor = sequence.args.bias;
  if (!tensor.data) return 0;
  return element(tensor.data, tensor.type,
                 sequence.b * tensor.stride_batch + head * tensor.stride_head + i * tensor.stride_token + slot);
}

Stages stages(const Sequence& sequence, std::int64_t head, std::int64_t i, std::int64_t slot, double dot) {
  const heed_attention_args& args = sequence.args;
  const std::int64_t query = sequence.query_position(i);
  const std::int64_t key = sequence.key_position(slot);
  Stages s;

  s.scaled = dot;

  // Soft cap: almost the identity for small scores, never beyond +-cap.
  s.capped = args.softcap == 0 ? s.scaled : args.softcap * std::tanh(s.scaled / args.softcap);

  // ALiBi: a key loses slope for every token between it and the query. Then the bias that the caller gave.
  s.biased = s.capped;
  if (args.alibi_slopes) s.biased -= args.alibi_slopes[head] * std::fabs(static_cast<double>(query - key));
  if (args.bias.data) s.biased += bias(sequence, head, i, slot);

  // The callback sees floats: its interface is heed's, and heed computes in floats.
  s.score = s.biased;
  if (args.score_callback)
    s.score = args.score_callback(args.score_context, head, query, key, static_cast<float>(s.biased));
  return s;
}

}  // namespace heed::reference
