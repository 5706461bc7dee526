// A cache and a model of it, step by step: every call is foreseen.
#pragma once

#include "fuzz/cache_model.hpp"
#include "fuzz/finding.hpp"

namespace heed::fuzz {

class Story {
 public:
  Story(const heed_cache_config& config, std::size_t bytes) : config_(config), model_(config), memory_(bytes, 64) {
    std::memset(memory_.data(), 0xFF, bytes);
  }

  bool create(Input& in);
  void step(Input& in);
  void check() const;

 private:
  // What a call gave against what the model foresees.
  bool foreseen(heed_code code, heed_code expected);
  heed_code if_open(bool right, heed_code otherwise = HEED_INVALID_ARGUMENT) const;
  void open(Input& in);
  void fork(Input& in);
  Int draw_length(Input& in);
  void truncate(Input& in);
  void drop(Input& in);
  void close();
  void append(Input& in);
  void attend(Input& in);
  heed_attention_args row_major(const HeldSequence& s, heed_attention_args args);

  heed_cache_config config_;
  CacheModel model_;
  Block memory_;
  heed_cache* cache_ = nullptr;
  heed_status status_;
  Int sequence_ = 0;
  HeldSequence* chosen_ = nullptr;
  std::vector<Block> rows_;
  Int position_ = 0;
};

}  // namespace heed::fuzz
