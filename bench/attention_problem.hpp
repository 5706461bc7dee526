// Attention of any shape, or its three steps one after the other.
#pragma once

#include "problems.hpp"

namespace heed::bench {

class AttentionProblem : public Problem {
 public:
  AttentionProblem(const Operation& operation, std::int64_t D, std::int64_t L, const Setting& setting);

 private:
  std::string run(const Library& library, std::int64_t copy) override;
  void run_reference(std::int64_t copy) override;
  std::vector<Expected> expect() override;

  void lay_out();      // K, V and their scales
  void add_options();  // and their operands
  void count_facts(const Setting& setting);
  double attended_pairs() const;  // of one head of one sequence
  void point_to(std::int64_t copy);
  std::string run_three_steps(const Library& library);
  void expect_row(std::int64_t b, std::int64_t head, std::int64_t i, std::vector<Expected>& expected) const;

  const Shape shape_;
  const Pages& numbers_;
  std::int64_t copy_bytes_, v_bytes_;  // where V begins in a copy
  AttentionArgs args_;
  std::vector<float> q_, scales_, slopes_, bias_;
  std::vector<unsigned char> mask_;
  std::vector<std::int32_t> pages_;
  std::vector<float> weights_;  // of the three steps
  std::vector<double> wide_out_;
};

// Elements of K and of V that one copy takes, with what its pages leave empty.
std::int64_t stored_elements(const Shape& shape, std::int64_t columns);

}  // namespace heed::bench
