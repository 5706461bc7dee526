// Copies keys into panels: 16 keys side by side for each d, so that lane = key. Moves numbers, computes nothing.
//
// Bound: the shuffles of the transposition, 8 per 4 x 8 words, and the stores. Rows shorter than one load are copied
// number by number; lanes without a key are +0.
#include "simd/ahead.hpp"
#include "simd/transpose.hpp"

namespace heed::HEED_ROW {

namespace {

// All columns of kLanes keys, if there are as many as one load has. load(d): those from d on. The last load may hold
// columns that are there already.
template <class T, class Load>
HEED_INLINE void pack_columns(std::int64_t D, float* panel, LinesAhead& lines, const Load& load) {
  const auto pack_from = [&](std::int64_t d) HEED_ALWAYS {
    float* out = panel + d * kPanel;
    for_each_column<T>(load(d), [&](int c, Floats column) HEED_ALWAYS { store(out + c * kPanel, column); });
  };
  lines.set_step(kLanes, 1);
  std::int64_t d = 0;
  for (; d + kColumns<T> <= D; d += kColumns<T>) {
    if (lines.any()) lines.fetch();
    pack_from(d);
  }
  if (d < D && d > 0) pack_from(D - kColumns<T>);
}

template <class T>
HEED_INLINE void pack_keys(const void* k_data, std::int64_t k_row, std::int64_t keys, std::int64_t D, float* out,
                           const Ahead& ahead) {
  LinesAhead lines(ahead, keys * (D / kColumns<T>));
  const T* k = static_cast<const T*>(k_data);
  for (std::int64_t j = 0; j < keys; j += kLanes) {
    float* panel = out + j / kPanel * D * kPanel + j % kPanel;
    const std::int64_t here = keys - j < kLanes ? keys - j : kLanes;
    if (here == kLanes) {
      pack_columns<T>(D, panel, lines,
                      [&](std::int64_t d) HEED_ALWAYS { return load_four_words(k + j * k_row + d, k_row); });
    } else if (D >= kColumns<T>) {
      const FewRows<T> rows([&](std::int64_t x) HEED_ALWAYS { return k + (j + x) * k_row; }, here);
      const Mask exist = mask_of_bits((1u << here) - 1, 0);
      pack_columns<T>(D, panel, lines, [&](std::int64_t d) HEED_ALWAYS {
        FourWords words = rows.load_four_words(d);
        for (int w = 0; w < 4; ++w) words.column[w] = select(exist, words.column[w], broadcast(0.0f));
        return words;
      });
    }
    for (std::int64_t d = 0; D < kColumns<T> && d < D; ++d) {
      if (here < kLanes) store(panel + d * kPanel, broadcast(0.0f));
      for (std::int64_t x = 0; x < here; ++x) {
        panel[d * kPanel + x] = widen(k[(j + x) * k_row + d]);
        asm("" : : : "memory");  // not vectorised: that would be more code than all the rest
      }
    }
  }
  // The last panel's vectors behind the keys.
  for (std::int64_t j = (keys + kLanes - 1) / kLanes * kLanes; j % kPanel != 0; j += kLanes) {
    float* panel = out + j / kPanel * D * kPanel + j % kPanel;
    for (std::int64_t d = 0; d < D; ++d) store(panel + d * kPanel, broadcast(0.0f));
  }
}

}  // namespace

#define HEED_ENTRY(op, type)                                                                         \
  void op##_##type(const void* k, std::int64_t k_row, std::int64_t keys, std::int64_t D, float* out, \
                   const Ahead& ahead) {                                                             \
    pack_keys<storage::type>(k, k_row, keys, D, out, ahead);                                         \
  }
HEED_STORED_TYPES(HEED_ENTRY, pack_keys)

}  // namespace heed::HEED_ROW
