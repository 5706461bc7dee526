#include "fuzz/cache_story.hpp"

namespace heed::fuzz {
namespace {

std::size_t size(Int n) { return static_cast<std::size_t>(n); }

}  // namespace

bool Story::create(Input& in) {
  heed_status status;
  const std::initializer_list<const char*> names = {"memory", "bytes", "cache"};
  heed_cache* none = nullptr;
  const int wrong = in.byte() % 16;
  heed_code code = wrong == 1   ? heed_cache_create(&config_, nullptr, memory_.size(), &none, &status)
                   : wrong == 2 ? heed_cache_create(&config_, memory_.data() + 8, memory_.size(), &none, &status)
                   : wrong == 3 ? heed_cache_create(&config_, memory_.data(), memory_.size() - 1, &none, &status)
                   : wrong == 4 ? heed_cache_create(&config_, memory_.data(), memory_.size(), nullptr, &status)
                                : heed_cache_create(&config_, memory_.data(), memory_.size(), &cache_, &status);
  const bool created = expect_status(code, status, names);
  expect(created == (wrong < 1 || wrong > 4), "create takes wrong memory, or refuses right memory");
  return created;
}

void Story::step(Input& in) {
  sequence_ = in.between(0, 5);
  if (in.once_in(32)) sequence_ = in.edge(sequence_);
  chosen_ = model_.find(sequence_);
  switch (in.byte() % 8) {
    case 0:
      return open(in);
    case 1:
      return fork(in);
    case 2:
      return truncate(in);
    case 3:
      return drop(in);
    case 4:
      return close();
    case 5:
      return attend(in);
    default:
      return append(in);
  }
}

void Story::check() const {
  expect(heed_cache_free_pages(cache_) == model_.free_pages(), "another number of pages is free");
}

bool Story::foreseen(heed_code code, heed_code expected) {
  expect(expect_status(code, status_, {"sequence", "cache", "fork", "tokens", "length", "k", "v"}) == (code == HEED_OK),
         "a status without a code");
  if (code != expected) finding("a cache's call gives code " + std::to_string(code) + ": " + status_.message);
  if (const Int length = heed_cache_length(cache_, sequence_); code != HEED_OK) {
    expect(length == (chosen_ == nullptr ? -1 : chosen_->length), "a call that was refused changed a length");
  }
  return code == HEED_OK;
}

heed_code Story::if_open(bool right, heed_code otherwise) const {
  return chosen_ == nullptr ? HEED_INVALID_ARGUMENT : right ? HEED_OK : otherwise;
}

void Story::open(Input& in) {
  Int opened = -1;
  const bool null = in.once_in(32);
  const heed_code code = heed_cache_open(cache_, null ? nullptr : &opened, &status_);
  if (!foreseen(code, null ? HEED_INVALID_ARGUMENT : model_.full() ? HEED_FULL : HEED_OK)) return;
  expect(model_.find(opened) == nullptr && opened >= 0 && opened < config_.max_sequences, "open gives a taken number");
  model_.held()[opened] = {};
  expect(heed_cache_length(cache_, opened) == 0 && heed_cache_position(cache_, opened) == 0, "not empty when opened");
}

void Story::fork(Input& in) {
  Int forked = -1;
  const bool null = in.once_in(32);
  const heed_code code = heed_cache_fork(cache_, sequence_, null ? nullptr : &forked, &status_);
  const heed_code expected = null ? HEED_INVALID_ARGUMENT : if_open(!model_.full(), HEED_FULL);
  if (!foreseen(code, expected)) return;
  expect(model_.find(forked) == nullptr && forked >= 0 && forked < config_.max_sequences, "fork gives a taken number");
  model_.held()[forked] = *chosen_;
}

Int Story::draw_length(Input& in) {
  const Int length = chosen_ == nullptr ? 0 : chosen_->length;
  return in.once_in(16) ? in.edge(length) : length * in.between(0, 16) / 16;
}

void Story::truncate(Input& in) {
  const Int length = draw_length(in);
  const bool right = chosen_ != nullptr && length >= 0 && length <= chosen_->length;
  if (foreseen(heed_cache_truncate(cache_, sequence_, length, &status_), if_open(right))) {
    model_.truncate(*chosen_, length);
  }
}

void Story::drop(Input& in) {
  const Int tokens = draw_length(in);
  const bool right = chosen_ != nullptr && tokens >= 0 && tokens <= chosen_->length;
  if (foreseen(heed_cache_drop(cache_, sequence_, tokens, &status_), if_open(right))) model_.drop(*chosen_, tokens);
}

void Story::close() {
  if (foreseen(heed_cache_close(cache_, sequence_, &status_), if_open(true))) model_.held().erase(sequence_);
}

void Story::append(Input& in) {
  const Int tokens = in.between(0, 60), Hkv = config_.Hkv;
  heed_type type = in.pick({HEED_F32, HEED_F16, HEED_BF16, HEED_FP8_E4M3, HEED_FP8_E5M2});
  const test::Kind kind = in.pick({test::Kind::kTame, test::Kind::kTame, test::Kind::kHostile});
  const auto tensor = [&](const Block& block, Int columns, std::uint64_t seed) {
    fill(block.data(), block.size(), type, kind, seed);
    return heed_tensor{block.data(), 0, columns, Hkv * columns, type};
  };
  const std::size_t elements = size(tokens * Hkv) * test::bytes_of(type);
  const Block k_block(elements * size(config_.D)), v_block(elements * size(config_.Dv));
  heed_tensor k = tensor(k_block, config_.D, in.byte()), v = tensor(v_block, config_.Dv, in.byte());
  const int wrong = in.once_in(16) ? in.byte() % 5 : 5;
  heed_tensor& one = in.flag() ? k : v;
  if (wrong == 0) one.type = in.flag() ? HEED_INT8 : 17;
  if (wrong == 1) one.data = nullptr;
  if (wrong == 2) one.stride_token = Int{1} << 60;
  const Int asked = wrong == 3 ? in.edge(tokens) | INT64_MIN : tokens;
  bool right = wrong == 5 || (wrong == 1 && tokens == 0) || (wrong == 2 && tokens < 2);
  heed_code code = HEED_OK;
  if (wrong == 4) {  // more than any cache has, of memory that isn't there
    code = heed_cache_append(cache_, sequence_, &k, &v, (Int{1} << 40) + in.byte(), &status_);
    (void)foreseen(code, if_open(false, HEED_FULL));
    return;
  }
  const bool room = chosen_ != nullptr && model_.has_room(*chosen_, tokens);
  code = heed_cache_append(cache_, sequence_, &k, &v, asked, &status_);
  if (foreseen(code, !right ? HEED_INVALID_ARGUMENT : if_open(room, HEED_FULL))) model_.append(*chosen_, tokens, k, v);
}

}  // namespace heed::fuzz
