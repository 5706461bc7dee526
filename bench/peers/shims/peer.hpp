// What each native peer is behind: made once for a problem, then nothing but calls. peer.cpp gives every shared object
// the same C functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>

namespace peers {

enum Kind : std::int32_t { kAttention, kDot, kSoftmax, kScores, kWeightedSum };
enum Type : std::int32_t { kF32, kF16, kBf16, kInt8 };

// Attention: q [batch][Hq][Lq][D]; k and v [batch][Hkv][Lkv][D] of `type`, or as the entry's layouts say.
// dot: q and k of D numbers. softmax: rows k[set] [Lq][Lkv]. scores: q [D], k [Lkv][D]. weighted_sum: q [Lkv] weights,
// k [Lkv][D].
struct Problem {
  std::int32_t kind, type, batch, Hq, Hkv, Lq, Lkv, D;
  std::int32_t causal;  // the last query stands at its sequence's last key
  std::int32_t threads;
  std::int32_t planned;         // 1: what doesn't depend on the numbers may be prepared
  std::int32_t sets;            // of operands, used in turn
  const std::int32_t* lengths;  // [batch], at most Lkv
  const float* q;
  float* const* out;                // [sets]
  const void *const *k, *const *v;  // [sets]
  // Of int8 that isn't in blocks, per token and head; of panels [page][Hkv][page's tokens].
  const float *const *k_scales, *const *v_scales;

  std::int32_t group() const { return Hq / Hkv; }
  bool ragged() const {
    for (std::int32_t b = 0; b < batch; ++b)
      if (lengths[b] != Lkv) return true;
    return false;
  }
};

class Peer {
 public:
  virtual ~Peer() = default;
  virtual void run(int set) = 0;
};

enum Layout : std::int32_t {
  kRows,     // [batch][heads][tokens][D]
  kColumns,  // [batch][heads][D][tokens]
  kPanels,   // heed's pages of 128 tokens, kv_panels
  kTokens    // [batch][tokens][heads][D]
};

struct Entry {
  const char* name;  // null: the end
  Layout k, v, out;
  std::int32_t blocks;  // 1: its int8 is ggml's q8_0, 32 numbers behind a half-precision scale
  std::int32_t narrow;  // 1: q and out are of the keys' type, not f32
  std::unique_ptr<Peer> (*make)(const Problem&);
};

// Of each shared object.
extern const Entry kEntries[];

// Thrown by `make`: what this peer doesn't do. It isn't a failure.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void need(bool condition, const char* what) {
  if (!condition) throw Unsupported(what);
}

}  // namespace peers
