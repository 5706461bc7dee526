#include "problems.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "attention_problem.hpp"
#include "kernel_problem.hpp"

namespace heed::bench {
namespace {

// A set that fills more than this of a cache is not served by that cache alone.
constexpr double kUsable = 0.75;

constexpr std::int64_t kMemoryPage = 4096;

std::int64_t whole_pages(std::int64_t bytes) { return (bytes + kMemoryPage - 1) / kMemoryPage * kMemoryPage; }

}  // namespace

void Problem::place(const Setting& setting, double other_bytes, std::int64_t copy_bytes, bool streams,
                    bool shared_by_threads) {
  const Machine& machine = setting.machine;
  const double set = facts_.bytes + other_bytes;
  const double parts = shared_by_threads ? static_cast<double>(setting.team.size()) : 1.0;
  const auto fits = [&](std::size_t cache) { return set <= kUsable * static_cast<double>(cache) * parts; };
  facts_.copies = 1;
  if (fits(machine.l1_bytes)) {
    facts_.level = Level::kL1;
  } else if (fits(machine.l2_bytes)) {
    facts_.level = Level::kL2;
  } else if (streams) {
    // Between two uses of one layer's keys all the other layers' pass by.
    facts_.copies = static_cast<std::int64_t>(setting.numbers.size_bytes()) / copy_bytes;
    facts_.level = setting.numbers.size_bytes() > machine.llc_bytes ? Level::kDram : Level::kL3;
  } else {
    facts_.level = set <= kUsable * static_cast<double>(machine.llc_bytes) ? Level::kL3 : Level::kDram;
  }
}

double Problem::check(const Library& library, std::string& error) {
  if (expected_.empty()) expected_ = expect();
  std::fill(out_.begin(), out_.end(), std::nanf(""));
  error = run(library, 0);
  if (!error.empty()) return 0.0;
  double worst = 0.0;
  for (const Expected& e : expected_) {
    const double share = std::abs(static_cast<double>(out_[e.at]) - e.value) / e.bound;
    if (!(share <= worst)) worst = std::isnan(share) ? HUGE_VAL : share;
  }
  return worst;
}

std::int64_t copy_bytes(const Operation& operation, std::int64_t D, std::int64_t L) {
  constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
  if (!is_attention(operation.kind)) return whole_pages(kFloat * L * (operation.kind == Kind::kSoftmax ? 1 : D));
  const Shape shape = operation.at(D, L);
  const auto bytes = [&](std::int64_t columns) {
    return whole_pages(stored_elements(shape, columns) * bytes_of(shape.type));
  };
  return bytes(shape.D) + (shape.latent ? 0 : bytes(shape.Dv));
}

std::unique_ptr<Problem> make_problem(const Operation& operation, std::int64_t D, std::int64_t L,
                                      const Setting& setting) {
  if (copy_bytes(operation, D, L) > static_cast<std::int64_t>(setting.numbers.size_bytes())) {
    throw std::runtime_error(operation.name + " with " + std::to_string(L) + " keys does not fit into the memory");
  }
  if (is_attention(operation.kind)) return std::make_unique<AttentionProblem>(operation, D, L, setting);
  return std::make_unique<KernelProblem>(operation, D, L, setting);
}

}  // namespace heed::bench
