// Where the elements of a problem's tensors lie, in every layout.
#pragma once

#include "attention.hpp"

namespace heed::golden {

inline std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

using Memory = std::vector<std::uint32_t>;  // aligned for every type

// Strides of a tensor, and its first element.
struct Strides {
  std::int64_t batch, head, token, first;
};

class Storage {
 public:
  explicit Storage(const Attention& problem);

  bool ragged() const { return p_.layout == Layout::kRagged; }
  bool paged() const { return p_.layout == Layout::kBlockTable || p_.layout == Layout::kPageIndices; }
  std::int64_t queries(std::int64_t b) const { return ragged() ? p_.q_lengths[size(b)] : p_.Lq; }
  std::int64_t keys(std::int64_t b) const { return p_.kv_lengths.empty() ? p_.Lkv : p_.kv_lengths[size(b)]; }
  const Integers& q_starts() const { return q_starts_; }    // ragged: the first token of each sequence
  const Integers& kv_starts() const { return kv_starts_; }  // likewise

  std::int64_t page_count() const { return page_starts_.back(); }
  const Integers& page_starts() const { return page_starts_; }
  std::int64_t table_stride() const { return (p_.Lkv + p_.page_size - 1) / p_.page_size + 1; }
  Integers page_table() const;

  Strides strides(std::int64_t H, std::int64_t L, std::int64_t D, bool of_queries) const;
  // Elements of memory that such a tensor takes.
  std::int64_t elements(const Strides& s, std::int64_t D, bool of_queries) const;
  // The element where token t of sequence b starts.
  std::int64_t at(const Strides& s, std::int64_t b, std::int64_t h, std::int64_t t, bool of_queries) const;

  // A tensor of random numbers. What no element covers, and the slots behind a sequence's keys, stay NaN.
  heed_tensor fill(Stream stream, Memory& memory, heed_type type, std::int64_t H, std::int64_t L, std::int64_t D,
                   int shift = 0) const;

 private:
  const Attention& p_;
  Integers q_starts_, kv_starts_, page_starts_;
};

}  // namespace heed::golden
