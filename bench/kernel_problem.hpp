// One of the kernels alone: dot, scores, softmax, weighted sum, attend, over L rows of D numbers.
#pragma once

#include "problems.hpp"

namespace heed::bench {

class KernelProblem : public Problem {
 public:
  KernelProblem(const Operation& operation, std::int64_t D, std::int64_t L, const Setting& setting);

 private:
  std::string run(const Library& library, std::int64_t copy) override;
  void run_reference(std::int64_t copy) override;
  std::vector<Expected> expect() override;

  const float* rows(std::int64_t copy) const { return numbers_.floats() + copy * copy_floats_; }
  std::vector<Expected> expect_numbers() const;
  std::vector<Expected> expect_sums() const;

  std::int64_t L_, copy_floats_;
  float scale_;
  const Pages& numbers_;
  std::vector<float> q_;  // a query, or the weights or scores that a kernel takes
  float lse_ = 0.0f;
  std::vector<double> wide_out_;
};

}  // namespace heed::bench
