// Bounds on rounding errors: the tolerances of cases that bring none. All are first-order sums of the roundings that a
// float computation makes, with u = 2^-24; those of a sum grow with the square root of its length.
#pragma once

#include <cstdint>

namespace heed::compare {

inline constexpr double kRounding = 0x1p-24;

// Any order of a float dot product; magnitude is the sum of |a b|.
double dot_bound(std::int64_t n, double magnitude);

// A weight of a softmax over n scores, below_max under their maximum.
double weight_bound(std::int64_t n, double below_max, double weight);

double lse_bound(std::int64_t n, double lse);

// A weighted sum of n rows; magnitude is the sum of |w v|.
double sum_bound(std::int64_t n, double magnitude);

// Two parts (o1, lse1) and (o2, lse2) joined; difference is |lse1 - lse2|.
double merge_bound(double difference, double o1, double o2);
double merge_lse_bound(double lse);

}  // namespace heed::compare
