#include "storage.hpp"

#include <algorithm>

namespace heed::golden {
namespace {

Integers running_sum(const Integers& lengths) {
  Integers sum = {0};
  for (const std::int64_t n : lengths) sum.push_back(sum.back() + n);
  return sum;
}

}  // namespace

Storage::Storage(const Attention& problem) : p_(problem) {
  if (ragged()) q_starts_ = running_sum(p_.q_lengths), kv_starts_ = running_sum(p_.kv_lengths);
  if (!paged()) return;
  Integers counts;
  for (std::int64_t b = 0; b < p_.B; ++b) counts.push_back((keys(b) + p_.page_size - 1) / p_.page_size);
  page_starts_ = running_sum(counts);
}

// The last page of the pool is the first sequence's first.
Integers Storage::page_table() const {
  if (!paged()) return {};
  const bool indices = p_.layout == Layout::kPageIndices;
  // Entries past a sequence's pages name none and are not read.
  Integers table(size(indices ? page_count() : p_.B * table_stride()), std::int64_t{1} << 30);
  for (std::int64_t b = 0; b < p_.B; ++b) {
    const std::int64_t first = page_starts_[size(b)], pages = page_starts_[size(b + 1)] - first;
    for (std::int64_t n = 0; n < pages; ++n) {
      table[size(indices ? first + n : b * table_stride() + n)] =
          n == p_.missing_page ? -1 : page_count() - 1 - first - n;
    }
  }
  return table;
}

Strides Storage::strides(std::int64_t H, std::int64_t L, std::int64_t D, bool of_queries) const {
  if (paged() && !of_queries) return {H * p_.page_size * D, p_.page_size * D, D, 0};
  // What q, k and v take together; an output of wide values may need more.
  const std::int64_t fused_row = std::max(p_.Hq * p_.D + p_.Hkv * (p_.D + p_.Dv), H * D);
  switch (p_.layout) {
    case Layout::kTokensFirst:
    case Layout::kRagged:
      return {L * H * D, D, H * D, 0};
    case Layout::kPadded:
      return {L * H * (D + 3) + 7, D + 3, H * (D + 3), 1};
    case Layout::kFused:
      return {L * fused_row, D, fused_row, 0};
    case Layout::kReversed:
      return {-H * L * D, -L * D, -D, (p_.B * H * L - 1) * D};
    default:
      return {H * L * D, L * D, D, 0};
  }
}

std::int64_t Storage::elements(const Strides& s, std::int64_t D, bool of_queries) const {
  const std::int64_t batches = paged() && !of_queries ? page_count() : p_.B;
  return s.first + D + batches * (s.batch > 0 ? s.batch : 0);
}

std::int64_t Storage::at(const Strides& s, std::int64_t b, std::int64_t h, std::int64_t t, bool of_queries) const {
  if (ragged()) return ((of_queries ? q_starts_ : kv_starts_)[size(b)] + t) * s.token + h * s.head;
  if (paged() && !of_queries) {
    const std::int64_t page = page_count() - 1 - page_starts_[size(b)] - t / p_.page_size;
    return page * s.batch + h * s.head + t % p_.page_size * s.token;
  }
  return s.first + b * s.batch + h * s.head + t * s.token;
}

heed_tensor Storage::fill(Stream stream, Memory& memory, heed_type type, std::int64_t H, std::int64_t L, std::int64_t D,
                          int shift) const {
  const bool of_queries = stream == kQ;
  const Strides s = strides(H, L, D, of_queries);
  const int bytes = format_of(type).bytes;
  memory.assign(size(elements(s, D, of_queries) * bytes / 4 + 1), 0xFFFFFFFFu);
  for (std::int64_t b = 0; b < p_.B; ++b) {
    for (std::int64_t h = 0; h < H; ++h) {
      for (std::int64_t t = 0; t < (of_queries ? queries(b) : keys(b)); ++t) {
        for (std::int64_t d = 0; d < D; ++d) {
          std::uint32_t word = random_word(type, random_bits(stream, b, h, t, d), shift);
          for (const Place& place : p_.specials) {
            if (place.stream == stream && place.t == t && place.d == d) word = special_word(type, place.special);
          }
          store_word(memory.data(), bytes, at(s, b, h, t, of_queries) + d, word);
        }
      }
    }
  }
  return {reinterpret_cast<char*>(memory.data()) + s.first * bytes, s.batch, s.head, s.token, type};
}

}  // namespace heed::golden
