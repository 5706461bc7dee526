// Attention as its definition says it, one row at a time and in no hurry: it decides which bits are right.
//
// Written from the list of operations and its constants alone. It shares no code with the library and knows nothing of
// tiles, panels in memory or threads.
#pragma once

#include <cstdint>
#include <vector>

#include "support/floats.hpp"

namespace heed::test {

enum class Alignment { kBottomRight, kTopLeft, kOffsets };

// What a score has been through; kScore: all of it.
enum class Stage { kScaled, kCapped, kBiased, kWeights, kScore };

// Contiguous tensors, heads first. An empty vector means that the option is off.
struct ModelProblem {
  std::int64_t B = 1, Hq = 1, Hkv = 1, Lq = 1, Lkv = 1, D = 1, Dv = 1;
  std::vector<float> q, k, v;             // [B][Hq][Lq][D], [B][Hkv][Lkv][D], [B][Hkv][Lkv][Dv]
  std::vector<float> k_scales, v_scales;  // [B][Hkv][Lkv], of int8
  float scale = 1.0f;
  float softcap = 0.0f;
  std::vector<float> alibi_slopes;  // [Hq]
  std::vector<float> bias;          // [B][Hq][Lq][Lkv]
  float (*score_callback)(void*, std::int64_t head, std::int64_t position, std::int64_t key, float score) = nullptr;
  bool causal = false;
  std::int64_t window_left = -1, window_right = -1;  // -1: unlimited
  Alignment alignment = Alignment::kBottomRight;
  std::vector<std::int64_t> offsets;                            // [B]
  std::vector<std::int64_t> kv_lengths, key_begin, key_offset;  // [B]; lengths count from slot 0
  std::vector<unsigned char> mask;                              // [B][Hq][Lq][Lkv]
  std::vector<unsigned char> absent;                            // [B][Lkv]; 1: on a page that isn't there
  std::vector<float> sinks;                                     // [Hq]
  Stage view = Stage::kScore;                                   // what to show; kScore: nothing
};

struct ModelResult {
  std::vector<float> out, lse, view;  // [B][Hq][Lq][Dv], [B][Hq][Lq], [B][Hq][Lq][Lkv]

  // What the rows went through, so that tests can tell whether they have tried it.
  std::int64_t rows_without_keys = 0, rows_with_an_empty_split = 0, rows_over_a_block = 0, rows_over_a_split = 0;
  std::int64_t rows_with_a_partial_panel = 0, rows_whose_maximum_rose_late = 0;  // in their last block
};

ModelResult model(const ModelProblem& problem);

// How far a correct float result may be from the exact one, per row [B][Hq][Lq], absolute; for finite numbers.
struct Bounds {
  std::vector<double> out, lse;
};
Bounds bounds(const ModelProblem& problem);

// The functions of one number that the arithmetic is made of.
float model_exp2(float x);
float model_ln(float l);
float model_tanh(float x);

}  // namespace heed::test
