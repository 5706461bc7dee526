// The textbook formula in double precision, written to be read: the definition that heed's results are measured
// against. Arrays are contiguous unless an argument struct describes them. Nothing here is fast, uses instruction sets
// or threads; memory is taken from the C++ heap, and running out of it ends the program (these calls cannot fail
// otherwise). Arguments are not checked: hand the same ones to the fast call first.
#pragma once

#include <cstdint>

#include "heed/heed.h"

namespace heed::reference {

// a . b; 0 for n = 0.
HEED_API double dot(const float* a, const float* b, std::int64_t n) noexcept;

// s[r][j] = (scale * q[r]) . k[j]; q [R][D], k [n][D], s [R][n].
HEED_API void scores(const float* q, const float* k, std::int64_t R, std::int64_t n, std::int64_t D, double scale,
                     double* s) noexcept;

// weights[j] = exp(x[j] - lse); returns lse = ln(sum of exp(x[j])). All -inf or n = 0: weights 0, lse -inf. NaN in x:
// all NaN. +inf in x and no NaN: weights NaN, lse +inf. weights may be x.
HEED_API double softmax(const float* x, double* weights, std::int64_t n) noexcept;
HEED_API double softmax(const double* x, double* weights, std::int64_t n) noexcept;

// out[d] = accumulator[d] + sum over j of weights[j] * v[j][d]; v [n][Dv]; accumulator null: from zero.
HEED_API void weighted_sum(const float* weights, const float* v, std::int64_t n, std::int64_t Dv,
                           const float* accumulator, double* out) noexcept;
HEED_API void weighted_sum(const double* weights, const float* v, std::int64_t n, std::int64_t Dv,
                           const float* accumulator, double* out) noexcept;

// One row of attention from its scores: out = softmax(s) . v, returns lse. Unlike softmax alone, +inf in s makes lse
// NaN, as everywhere in attention.
HEED_API double attend(const float* s, const float* v, std::int64_t n, std::int64_t Dv, double* out) noexcept;
HEED_API double attend(const double* s, const float* v, std::int64_t n, std::int64_t Dv, double* out) noexcept;

// What heed_attention computes from the same arguments, every option included but for states: args.start and args.end
// are not looked at, args.out, args.lse and args.inspect not touched. out is [B][Hq][Lq][Dv]; lse is [B][Hq][Lq], or
// null; inspect is [B][Hq][Lq][Lkv] and holds the view args.inspect_what, or null: scores are -inf and weights 0 where
// not attended, but the views before the bias show every key that exists. Lq and Lkv are at least the longest
// sequence's; rows past a sequence's own queries are left alone.
HEED_API void attention(const heed_attention_args& args, double* out, double* lse, double* inspect = nullptr) noexcept;

}  // namespace heed::reference
