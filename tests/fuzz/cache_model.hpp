// A plain model of a cache: what each sequence holds as row-major arrays, and which pages are in use, counted.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "fuzz/placement.hpp"

namespace heed::fuzz {

// Rows of K and V of one sequence in the cache's types, [token][head][columns], with their scales.
struct HeldRows {
  std::vector<unsigned char> codes;
  std::vector<float> scales;  // [token][head], of int8
};

struct HeldSequence {
  HeldRows k, v;
  Int length = 0, dropped = 0;
  std::vector<std::shared_ptr<int>> pages;  // shared by forks
};

class CacheModel {
 public:
  explicit CacheModel(const heed_cache_config& config) : config_(config) {}

  Int page_size() const { return config_.page_size == 0 ? 128 : config_.page_size; }
  Int max_pages() const { return config_.max_pages == 0 ? config_.page_count : config_.max_pages; }
  std::map<Int, HeldSequence>& held() { return held_; }
  HeldSequence* find(Int sequence) {
    const auto found = held_.find(sequence);
    return found == held_.end() ? nullptr : &found->second;
  }
  bool full() const { return static_cast<Int>(held_.size()) >= config_.max_sequences; }
  Int free_pages() const { return config_.page_count - *used_; }

  // Whether so many tokens fit.
  bool has_room(const HeldSequence& s, Int tokens) const;
  void append(HeldSequence& s, Int tokens, const heed_tensor& k, const heed_tensor& v);
  void truncate(HeldSequence& s, Int length);
  void drop(HeldSequence& s, Int tokens);

 private:
  bool copies_a_page(const HeldSequence& s, Int tokens) const {
    return tokens > 0 && s.length % page_size() != 0 && s.pages.back().use_count() > 1;
  }
  std::shared_ptr<int> page() const;
  void add(HeldRows& rows, heed_type type, Int columns, Int tokens, const heed_tensor& from) const;
  static void keep(HeldRows& rows, Int heads, Int row_bytes, Int first, Int count);

  heed_cache_config config_;
  std::shared_ptr<Int> used_ = std::make_shared<Int>(0);
  std::map<Int, HeldSequence> held_;
};

}  // namespace heed::fuzz
