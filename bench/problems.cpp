#include "problems.hpp"

#include <algorithm>
#include <cmath>

namespace heed::bench {
namespace {

// A set that fills more than this of a cache is not served by that cache alone.
constexpr double kUsable = 0.75;

std::int64_t round_up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

bool streams(Kind kind) { return kind != Kind::kSoftmax && kind != Kind::kPrefill; }

}  // namespace

Problem::Problem(const Operation& operation, std::int64_t D, std::int64_t L, const Machine& machine,
                 const Pages& memory, Team& team)
    : operation_(operation),
      D_(D),
      L_(L),
      queries_(operation.kind == Kind::kPrefill ? L : 1),
      scale_(static_cast<float>(1.0 / std::sqrt(static_cast<double>(D)))),
      memory_(memory),
      team_(team) {
  const std::int64_t rows = queries_ * operation.group;
  const bool one_number_per_key =
      operation.kind == Kind::kDot || operation.kind == Kind::kScores || operation.kind == Kind::kSoftmax;
  q_.resize(static_cast<std::size_t>(std::max(rows * D, L)));  // also the weights or scores that a kernel takes
  std::copy_n(memory.floats() + memory.size_bytes() / sizeof(float) - q_.size(), q_.size(), q_.begin());
  out_.resize(static_cast<std::size_t>(one_number_per_key ? L : rows * D));
  lse_.resize(static_cast<std::size_t>(rows));

  constexpr std::int64_t kPageFloats = 1024;
  const auto capacity = static_cast<std::int64_t>(memory.size_bytes() / sizeof(float));
  copy_floats_ = round_up(operation.kind == Kind::kSoftmax ? L : 2 * L * D, kPageFloats);
  const double set = bytes() + static_cast<double>((q_.size() + out_.size()) * sizeof(float));
  // What a cache of the core holds stays there. What it does not hold comes from DRAM where the real use streams it:
  // between two uses of one layer's keys all the other layers' pass by.
  copies_ = 1;
  const auto threads = static_cast<double>(team.size());
  const bool splits = uses_threads(operation.kind);
  const auto fits = [&](std::size_t cache) {
    return set <= kUsable * static_cast<double>(cache) * (splits ? threads : 1.0);
  };
  if (fits(machine.l1_bytes)) {
    level_ = Level::kL1;
  } else if (fits(machine.l2_bytes)) {
    level_ = Level::kL2;
  } else if (streams(operation.kind)) {
    copies_ = capacity / copy_floats_;
    level_ = memory.size_bytes() > machine.llc_bytes ? Level::kDram : Level::kL3;
  } else {
    level_ = set <= kUsable * static_cast<double>(machine.llc_bytes) ? Level::kL3 : Level::kDram;
  }
  if (uses_threads(operation.kind)) prepare_attention();
}

double Problem::pairs() const {
  const auto L = static_cast<double>(L_);
  if (operation_.kind != Kind::kPrefill) return L;
  return operation_.causal ? L * (L + 1) / 2 : L * L;
}

double Problem::operations() const {
  const auto D = static_cast<double>(D_);
  switch (operation_.kind) {
    case Kind::kSoftmax:
      return 0.0;  // no agreed number: the roof is its memory traffic
    case Kind::kDecode:
    case Kind::kPrefill:
      return 4.0 * D * pairs() * operation_.group;
    default:
      return 2.0 * D * pairs();
  }
}

double Problem::bytes() const {
  const auto L = static_cast<double>(L_), D = static_cast<double>(D_);
  constexpr double kFloat = sizeof(float);
  switch (operation_.kind) {
    case Kind::kSoftmax:
      return 3.0 * kFloat * L;  // read for the maximum, read again, written
    case Kind::kDecode:
    case Kind::kPrefill:
      return 2.0 * kFloat * L * D;
    default:
      return kFloat * L * D;
  }
}

Operands Problem::operands(std::int64_t copy) {
  const float* k = memory_.floats() + copy * copy_floats_;
  return {q_.data(), k, k + (uses_threads(operation_.kind) ? L_ * D_ : 0), out_.data(), lse_.data()};
}

void Problem::prepare_attention() {
  const Operands x = operands(0);
  args_.B = 1;
  args_.Hq = operation_.group;
  args_.Hkv = 1;
  args_.Lq = queries_;
  args_.Lkv = L_;
  args_.D = args_.Dv = D_;
  args_.q = heads_first(x.q, args_.Hq, queries_, D_);
  args_.k = heads_first(x.k, 1, L_, D_);
  args_.v = heads_first(x.v, 1, L_, D_);
  args_.out = heads_first(x.out, args_.Hq, queries_, D_);
  args_.causal = operation_.causal ? 1 : 0;
  args_.executor = team_.executor();
}

std::string Problem::run(const Library& library, const Operands& x) {
  const auto rows = [](const float* data, std::int64_t count, std::int64_t columns) {
    return heed_matrix{data, count, columns, 0, HEED_F32};
  };
  const heed_matrix k = rows(x.k, L_, D_), one_row = rows(x.q, 1, L_);
  const heed_matrix_out out{x.out, 1, D_, 0, HEED_F32};
  Status status;
  switch (operation_.kind) {
    case Kind::kDot:
      for (std::int64_t j = 0; j < L_; ++j) x.out[j] = library.dot(x.q, x.k + j * D_, D_);
      break;
    case Kind::kScores: {
      const heed_matrix q = rows(x.q, 1, D_);
      const heed_matrix_out s{x.out, 1, L_, 0, HEED_F32};
      library.scores(&q, &k, scale_, &s, &status.raw());
      break;
    }
    case Kind::kSoftmax:
      x.lse[0] = library.softmax(x.k, x.out, L_);
      break;
    case Kind::kWeightedSum:
      library.weighted_sum(&one_row, &k, nullptr, &out, &status.raw());
      break;
    case Kind::kAttend:
      library.attend(&one_row, &k, &out, x.lse, &status.raw());
      break;
    case Kind::kDecode:
    case Kind::kPrefill:
      args_.k.data = x.k;
      args_.v.data = x.v;
      library.attention(&args_, &status.raw());
  }
  return status.ok() ? std::string() : status.message();
}

std::string Problem::call(const Library& library) {
  turn_ = (turn_ + 1) % copies_;
  return run(library, operands(turn_));
}

void Problem::call_reference() {
  turn_ = (turn_ + 1) % copies_;
  const Operands x = operands(turn_);
  wide_out_.resize(out_.size());
  wide_lse_.resize(lse_.size());
  double* out = wide_out_.data();
  switch (operation_.kind) {
    case Kind::kDot:
      for (std::int64_t j = 0; j < L_; ++j) out[j] = reference::dot(x.q, x.k + j * D_, D_);
      break;
    case Kind::kScores:
      reference::scores(x.q, x.k, 1, L_, D_, scale_, out);
      break;
    case Kind::kSoftmax:
      wide_lse_[0] = reference::softmax(x.k, out, L_);
      break;
    case Kind::kWeightedSum:
      reference::weighted_sum(x.q, x.k, L_, D_, nullptr, out);
      break;
    case Kind::kAttend:
      wide_lse_[0] = reference::attend(x.q, x.k, L_, D_, out);
      break;
    case Kind::kDecode:
    case Kind::kPrefill:
      args_.k.data = x.k;
      args_.v.data = x.v;
      reference::attention(args_, out, nullptr);
      break;
  }
}

double Problem::check(const Library& library, std::string& error) {
  if (expected_.empty()) expect();
  std::fill(out_.begin(), out_.end(), std::nanf(""));
  error = run(library, operands(0));
  if (!error.empty()) return 0.0;
  double worst = 0.0;
  for (const Expected& e : expected_) {
    const double share = std::abs(static_cast<double>(out_[e.at]) - e.value) / e.bound;
    if (!(share <= worst)) worst = std::isnan(share) ? HUGE_VAL : share;
  }
  return worst;
}

}  // namespace heed::bench
