#include "attention_problem.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace heed::bench {
namespace {

constexpr std::int64_t kPanel = 16, kPanelPage = 128, kScatteredPage = 16;
constexpr std::int64_t kMemoryPage = 4096;

std::int64_t round_up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

std::int64_t page_size(const Shape& shape) {
  return shape.layout == Layout::kRowMajor ? shape.Lkv : shape.layout == Layout::kPanels ? kPanelPage : kScatteredPage;
}

std::int64_t pages_of_sequence(const Shape& shape) { return round_up(shape.Lkv, page_size(shape)) / page_size(shape); }

}  // namespace

std::int64_t stored_elements(const Shape& shape, std::int64_t columns) {
  const std::int64_t width = shape.layout == Layout::kPanels ? round_up(columns, kPanel) : columns;
  return shape.B * shape.Hkv * pages_of_sequence(shape) * page_size(shape) * width;
}

AttentionProblem::AttentionProblem(const Operation& operation, std::int64_t D, std::int64_t L, const Setting& setting)
    : Problem(operation, D),
      shape_(operation.at(D, L)),
      numbers_(setting.numbers.of(shape_.type)),
      copy_bytes_(copy_bytes(operation, D, L)),
      v_bytes_(shape_.latent ? 0 : round_up(stored_elements(shape_, shape_.D) * bytes_of(shape_.type), kMemoryPage)) {
  const Shape& s = shape_;
  q_.resize(static_cast<std::size_t>(s.B * s.Hq * s.Lq * s.D));
  const Pages& floats = setting.numbers.of(HEED_F32);
  std::copy_n(floats.floats() + floats.size_bytes() / sizeof(float) - q_.size(), q_.size(), q_.begin());
  out_.resize(static_cast<std::size_t>(s.B * s.Hq * s.Lq * s.Dv));
  args_.B = s.B;
  args_.Hq = s.Hq;
  args_.Hkv = s.Hkv;
  args_.Lq = s.Lq;
  args_.Lkv = s.Lkv;
  args_.D = s.D;
  args_.Dv = s.Dv;
  args_.q = heads_first(static_cast<const float*>(q_.data()), s.Hq, s.Lq, s.D);
  args_.out = heads_first(out_.data(), s.Hq, s.Lq, s.Dv);
  args_.executor = setting.team.executor();
  lay_out();
  add_options();
  count_facts(setting);
}

void AttentionProblem::lay_out() {
  const Shape& s = shape_;
  const std::int64_t page = page_size(s), pages = pages_of_sequence(s);
  const bool panels = s.layout == Layout::kPanels;
  const auto tensor = [&](std::int64_t columns) {
    const std::int64_t width = panels ? round_up(columns, kPanel) : columns;
    return heed_tensor{nullptr, s.Hkv * page * width, page * width, width, s.type};
  };
  args_.k = tensor(s.D);
  args_.v = s.latent ? args_.k : tensor(s.Dv);
  if (s.type == HEED_INT8) {
    scales_.assign(static_cast<std::size_t>(s.B * pages * s.Hkv * page), kCodeScale);
    args_.k_scales = args_.v_scales = {scales_.data(), s.Hkv * page, page, 1, HEED_F32};
  }
  if (s.layout == Layout::kRowMajor) return;
  args_.kv_panels = panels ? 1 : 0;
  args_.page_size = page;
  args_.page_count = s.B * pages;
  pages_.resize(static_cast<std::size_t>(args_.page_count));
  std::iota(pages_.begin(), pages_.end(), 0);
  // Pages of a cache that has been in use for a while lie anywhere: a fixed shuffle.
  std::uint32_t state = 1;
  for (std::size_t i = pages_.size(); !panels && i > 1; --i) {
    state = state * 1664525u + 1013904223u;
    std::swap(pages_[i - 1], pages_[(state >> 8) % i]);
  }
  args_.block_table = {pages_.data(), HEED_INT32};
  args_.block_table_stride = pages;
}

void AttentionProblem::add_options() {
  const Shape& s = shape_;
  args_.causal = s.causal ? 1 : 0;
  args_.has_window = s.window_left >= 0 || s.window_right >= 0 ? 1 : 0;
  args_.window_left = s.window_left;
  args_.window_right = s.window_right;
  args_.softcap = s.softcap;
  if (s.alibi) {
    slopes_.resize(static_cast<std::size_t>(s.Hq));
    heed_alibi_slopes(s.Hq, slopes_.data(), nullptr);
    args_.alibi_slopes = slopes_.data();
  }
  if (s.bias) {
    bias_.resize(static_cast<std::size_t>(s.Lq * s.Lkv));
    for (std::size_t i = 0; i < bias_.size(); ++i) bias_[i] = q_[i * 7 % q_.size()];
    args_.bias = {bias_.data(), 0, 0, s.Lkv, HEED_F32};
  }
  if (s.bit_mask) {
    const std::int64_t row = (s.Lkv + 7) / 8;
    mask_.resize(static_cast<std::size_t>(s.Lq * row));
    std::uint32_t state = 1;
    for (unsigned char& byte : mask_) {
      state = state * 1664525u + 1013904223u;
      byte = static_cast<unsigned char>(state >> 24);
    }
    args_.mask_kind = HEED_BIT_MASK;
    args_.mask = mask_.data();
    args_.mask_stride_token = row;
  }
}

double AttentionProblem::attended_pairs() const {
  const Shape& s = shape_;
  double pairs = 0.0;
  for (std::int64_t i = 0; i < s.Lq; ++i) {
    const std::int64_t first = s.first_key(i), last = s.last_key(i);
    if (mask_.empty()) {
      pairs += static_cast<double>(std::max<std::int64_t>(0, last - first + 1));
      continue;
    }
    for (std::int64_t j = first; j <= last; ++j) {
      pairs += mask_[static_cast<std::size_t>(i * args_.mask_stride_token + j / 8)] >> j % 8 & 1;
    }
  }
  return pairs;
}

void AttentionProblem::count_facts(const Setting& setting) {
  const Shape& s = shape_;
  const double heads = static_cast<double>(s.B * s.Hq);
  facts_.pairs = attended_pairs() * heads;
  facts_.operations = 2.0 * static_cast<double>(s.D + s.Dv) * facts_.pairs;
  const std::int64_t keys = s.last_key(s.Lq - 1) - s.first_key(0) + 1;
  facts_.bytes = static_cast<double>(s.B * s.Hkv * keys * (s.D + (s.latent ? 0 : s.Dv)) * bytes_of(s.type));
  std::size_t others = q_.size() + out_.size() + bias_.size() + mask_.size() / 4;
  if (operation_.kind == Kind::kThreeSteps) {
    weights_.resize(static_cast<std::size_t>(s.Hq * s.Lq * s.Lkv));
    others += weights_.size();
  }
  // The keys of a prefill were just written and are used many times.
  place(setting, static_cast<double>(others * sizeof(float)), copy_bytes_, !operation_.as_many_queries, true);
}

void AttentionProblem::point_to(std::int64_t copy) {
  args_.k.data = numbers_.bytes() + copy * copy_bytes_;
  args_.v.data = numbers_.bytes() + copy * copy_bytes_ + v_bytes_;
}

std::string AttentionProblem::run(const Library& library, std::int64_t copy) {
  point_to(copy);
  if (operation_.kind == Kind::kThreeSteps) return run_three_steps(library);
  Status status;
  library.attention(&args_, &status.raw());
  return status.ok() ? std::string() : status.message();
}

// Of one key/value head, whose query heads are rows too.
std::string AttentionProblem::run_three_steps(const Library& library) {
  const Shape& s = shape_;
  const std::int64_t rows = s.Hq * s.Lq;
  const heed_matrix q{q_.data(), rows, s.D, 0, HEED_F32}, k{args_.k.data, s.Lkv, s.D, 0, HEED_F32};
  const heed_matrix weights{weights_.data(), rows, s.Lkv, 0, HEED_F32}, v{args_.v.data, s.Lkv, s.Dv, 0, HEED_F32};
  const heed_matrix_out scores{weights_.data(), rows, s.Lkv, 0, HEED_F32}, out{out_.data(), rows, s.Dv, 0, HEED_F32};
  Status status;
  const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(s.D)));
  if (library.scores(&q, &k, scale, &scores, &status.raw()) != HEED_OK) return status.message();
  for (std::int64_t r = 0; r < rows; ++r) {
    float* row = weights_.data() + r * s.Lkv;
    library.softmax(row, row, s.Lkv);
  }
  library.weighted_sum(&weights, &v, nullptr, &out, &status.raw());
  return status.ok() ? std::string() : status.message();
}

void AttentionProblem::run_reference(std::int64_t copy) {
  point_to(copy);
  wide_out_.resize(out_.size());
  reference::attention(args_, wide_out_.data(), nullptr);
}

}  // namespace heed::bench
