// One block of keys and values, ready for the kernels: where it lies if the kernels can use it there, gathered, packed
// or widened otherwise.
#pragma once

#include <cstdint>

#include "dispatch/table.hpp"
#include "driver/exclusion.hpp"
#include "plan/plan.hpp"

namespace heed {

// So many rows of what is to be fetched, `first` on.
Ahead part_of(const Ahead& ahead, std::int64_t first, std::int64_t rows);

class Block {
 public:
  Block(const Problem& problem, const Layout& at, const dispatch::Table& table, float* memory)
      : problem_(problem), args_(problem.args), at_(at), table_(table), memory_(memory) {}

  // Keys [begin, end) of the sequence. pack: into panels.
  void load(const Sequence& sequence, std::int64_t kv_head, std::int64_t begin, std::int64_t end, bool pack);

  // For few rows, to which memory is far: the block's values are fetched while its scores are computed, and the next
  // block's keys while its values are added. False: memory is near.
  bool fetch_ahead(const Sequence& sequence, std::int64_t kv_head);

  // Where this block is the last: the first keys of what comes next.
  void fetch_first_keys(const Sequence& sequence, std::int64_t kv_head);

  std::int64_t begin() const { return begin_; }
  std::int32_t keys() const { return keys_count_; }
  std::int32_t panels() const { return (keys_count_ + kPanel - 1) / kPanel; }
  const Attended& present() const { return present_; }  // keys whose page is there
  bool all_present() const { return all_present_; }

  // s[r][j] for `rows` rows of q'. Panels outside the rows' spans may stay unwritten.
  void scores(const float* q, std::int64_t q_row, std::int32_t rows, const std::int32_t* begin, const std::int32_t* end,
              float* s) const;

  // o = fma(o, alpha, sum over the keys of p * v), or just the sum where alpha is null, rows with their spans. Either
  // every row attends all keys of its span and all spans are the same, or the values of this block are finite.
  void add_values(const float* p, std::int32_t rows, const std::int32_t* begin, const std::int32_t* end,
                  const float* alpha, float* o);

  // The same for one row that attends just these keys, whatever the values of the others are.
  void add_attended_values(const float* p, const Attended& attended, float alpha, float* o, float* scratch);

  bool values_finite();
  const float* k_scale() const { return args_.k.type == HEED_INT8 ? memory_ + at_.k_scale : nullptr; }
  const float* v_scale() const { return args_.v.type == HEED_INT8 ? memory_ + at_.v_scale : nullptr; }

 private:
  struct Source {
    const char* data;
    std::int64_t row;  // elements between keys
    heed_type type;
  };

  // Keys or values in pages: as many pointers as there may be, if a block begins within a page, and one more (see
  // Ahead).
  using Pieces = const void * [kBlock / kPanel + 2];
  // A block's keys in pages of at least 16, each in pieces of 16 and a rest; and one more.
  static constexpr int kMostPages = 2 * kBlock / kPanel + 2;

  Source locate(const heed_tensor& tensor, const Sequence& sequence, std::int64_t kv_head, std::int64_t columns,
                float* gathered);
  void load_scales(const heed_tensor& scales, const Sequence& sequence, std::int64_t kv_head, float* out);
  void exclude(std::int32_t begin, std::int32_t end);
  const char* in_page(const heed_tensor& tensor, std::int64_t step, std::int64_t page, std::int64_t kv_head,
                      std::int64_t within) const {
    const std::int64_t element = page * tensor.stride_batch + kv_head * tensor.stride_head + within * step;
    return static_cast<const char*>(tensor.data) + element * element_bytes(tensor.type);
  }
  bool lies_in_pieces(const Sequence& sequence) const;
  void load_pieces(const Sequence& sequence, std::int64_t kv_head);
  Ahead pages_ahead(const heed_tensor& tensor, std::int64_t step, const Sequence& sequence, std::int64_t kv_head,
                    std::int64_t begin, const void** pages) const;
  void fetch_keys(const Sequence& sequence, std::int64_t kv_head, std::int64_t begin);
  void set_spans(const Tile& tile, std::int32_t first, std::int32_t keys, Tile& part) const;
  bool follows(std::int32_t p) const;
  void score_keys(const Tile& tile, std::int32_t first, std::int32_t count) const;
  void widen_panels();
  void run_tile(Tile& tile, std::int32_t first);  // sets what is said of B, and changes C
  void update(const float* chain, float alpha, float* o);
  // Elements from a slot to the next of its page.
  std::int64_t key_step() const { return args_.kv_panels != 0 ? args_.D : args_.k.stride_token; }
  std::int64_t value_step() const { return args_.kv_panels != 0 ? kPanel : args_.v.stride_token; }
  const char* value(std::int64_t j, std::int64_t d) const {
    return values_.data + (j * values_.row + d) * element_bytes(values_.type);
  }

  const Problem& problem_;
  const heed_attention_args& args_;
  const Layout& at_;
  const dispatch::Table& table_;
  float* memory_;
  std::int64_t begin_ = 0;
  std::int32_t keys_count_ = 0;
  bool packed_ = false;
  bool finite_ = false, finite_known_ = false;
  bool tail_packed_ = false;
  bool all_present_ = true;
  Attended present_{};
  Source keys_{}, values_{};          // row-major ones
  bool in_pieces_ = false;            // else row-major, in one place
  Pieces key_pieces_, value_pieces_;  // of 16 keys each; null where no page is
  const void *value_pages_[kMostPages], *next_key_pages_[kMostPages];
  Ahead values_ahead_, next_keys_ahead_;
};

}  // namespace heed
