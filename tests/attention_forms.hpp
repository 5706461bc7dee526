// One problem in every form in which heed_attention takes it: storage types, dense, ragged and paged layouts, byte and
// bit masks, one query row or many. The forms of one problem have one set of bits.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "attention_call.hpp"
#include "heed/heed.h"

namespace heed::test {

enum class Storage { kDense, kRagged, kPageTable, kPageList };

struct Form {
  heed_type q = HEED_F32, k = HEED_F32, v = HEED_F32, out = HEED_F32;  // a bias has q's type
  Storage storage = Storage::kDense;
  std::int64_t page_size = 0;
  bool tokens_first = false;
  bool bit_mask = false;
  heed_index_type index = HEED_INT64;
};
std::string describe(const Form& form);

// Pairs of key and value types times layouts, a few with 16-bit queries and outputs.
const std::vector<Form>& forms();

// Memory of a tensor: rows three elements apart, the last one of an int8 row being of no other element's size.
struct TensorMemory {
  heed_type type = HEED_F32;
  std::int64_t columns = 0, batch = 0, head = 0, token = 0;  // strides
  std::vector<unsigned char> bytes;

  void make(heed_type of, std::int64_t batches, std::int64_t heads, std::int64_t tokens, std::int64_t cols,
            bool tokens_first);
  unsigned char* at(std::int64_t b, std::int64_t h, std::int64_t t);
  void fill(float x);  // every element, between rows too; int8: its nearest code
  template <class Tensor>
  Tensor view() {
    return {bytes.data(), batch, head, token, type};
  }
};

// A dense call on floats brought into another form. Owns the tensors, indices, bias and mask; the other arrays of the
// dense call must live on.
class FormedCall {
 public:
  FormedCall(const heed_attention_args& dense, const Form& form);
  FormedCall(const FormedCall&) = delete;
  FormedCall& operator=(const FormedCall&) = delete;

  bool possible() const { return possible_; }    // the types hold the numbers
  bool same_bits() const { return same_bits_; }  // no int8 scale costs a rounding
  Result run();

  // Page n of sequence b isn't there; nothing happens without pages, or behind the last.
  void drop_page(std::int64_t b, std::int64_t n);

  // Everything that row (b, h, i) does not attend becomes x: keys, values, scales, other queries, bias; bits and bytes
  // of the mask that decide nothing become random.
  void spoil(std::int64_t b, std::int64_t h, std::int64_t i, float x, Random& random);

  heed_attention_args args;

 private:
  struct Place {
    std::int64_t batch, token;
  };
  Place of_query(std::int64_t b, std::int64_t i) const;
  Place of_slot(std::int64_t b, std::int64_t slot) const;
  heed_index index(const std::vector<std::int64_t>& entries);
  void lay_out_keys(const heed_attention_args& dense);
  void store(TensorMemory& to, unsigned char* at, const float* x, std::int64_t n);
  void store_int8(TensorMemory& to, TensorMemory& scales, std::int64_t b, std::int64_t h, std::int64_t t,
                  const float* x);
  void copy_queries(const heed_attention_args& dense);
  void copy_keys(const heed_attention_args& dense, const heed_tensor& from, TensorMemory& to, TensorMemory& scales);
  void copy_bias(const heed_attention_args& dense);
  void copy_mask(const heed_attention_args& dense);

  Form form_;
  bool possible_ = true, same_bits_ = true;
  TensorMemory q_, k_, v_, k_scales_, v_scales_, out_, bias_;
  std::vector<unsigned char> mask_;
  std::vector<float> lse_;
  std::vector<std::int64_t> q_ends_, kv_ends_, pages_;  // pages_: [B][pages of Lkv]
  std::deque<std::vector<std::int64_t>> wide_;
  std::deque<std::vector<std::int32_t>> narrow_;
};

// The strides of lse: as given, or those of the default.
heed_tensor strides_of_lse(const heed_attention_args& args);

// What a call wrote, as floats: sequence by sequence, head by head, its own query rows.
Result result_of(const heed_attention_args& args);

// As it would be in an output of this type.
std::vector<float> rounded(heed_type type, std::vector<float> x);

// Numbers that every storage type holds: code / 64, code from -127 to 127.
std::vector<float> codes(Random& random, std::int64_t n);

// On every row of kernels: `look` sees the result of the problem as it is given, after `change` was at its arguments.
// Every other form, single query rows (decode) and, of a single head, twelve that share the kv head must give the same
// bits, or where an int8 scale costs a rounding pass `look` too. One sequence; callbacks do not look at the head.
using Change = std::function<void(heed_attention_args&)>;
using Look = std::function<void(const Result&)>;
void check_every_form(const ModelProblem& problem, const Change& change, const Look& look);

}  // namespace heed::test
