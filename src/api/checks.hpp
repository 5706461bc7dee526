// Every rule that the arguments of attention must keep, with the message for a caller who broke it. The first broken
// rule ends the checks: each function returns true when it has failed.
#pragma once

#include <cinttypes>
#include <cstdint>

#include "api/status.hpp"
#include "api/strides.hpp"
#include "api/validate.hpp"
#include "arithmetic.hpp"
#include "plan/problem.hpp"

namespace heed::api {

inline constexpr std::int64_t kLargestDimension = std::int64_t{1} << 24;
inline constexpr std::int64_t kLargestPosition = std::int64_t{1} << 61;
inline constexpr std::int32_t kMostThreads = 4096;

class Checks {
 public:
  Checks(const heed_attention_args& args, heed_status* status) : a_(args), status_(status) {}

  heed_code run() {
    if (sizes() || heads() || indices() || rows_of_tables() || ragged() || lengths() || pages() || panels() ||
        tensors() || panel_tensors() || scores() || exclusion() || states() || calls()) {
      return code_;
    }
    return HEED_OK;
  }

  // What a plan looks at.
  heed_code run_for_plan() {
    if (sizes() || heads() || types() || page_size_of_plan() || threads()) return code_;
    return HEED_OK;
  }

 private:
  bool sizes();
  bool heads();
  // validate_layout.cpp
  bool indices();
  bool rows_of_tables();
  bool ragged();
  bool lengths();
  bool pages();
  bool panels();
  bool page_size_of_plan();
  bool panel_strides(const char* name, const heed_tensor& t, std::int64_t columns);
  // validate_tensors.cpp
  bool types();
  bool tensors();
  bool out();
  bool over_queries();
  bool panel_tensors();
  bool scores();
  bool exclusion();
  bool calls();
  bool threads();
  // validate_states.cpp
  bool states();

  bool invalid(const char* text) {
    code_ = fail(status_, HEED_INVALID_ARGUMENT, "%s", text);
    return true;
  }
  template <class... Values>
  bool invalid(const char* format, Values... values) {
    code_ = fail(status_, HEED_INVALID_ARGUMENT, format, values...);
    return true;
  }
  bool at_least(const char* name, std::int64_t value, std::int64_t least) {
    if (value >= least) return false;
    return invalid("%s: is %" PRId64 ", must be at least %" PRId64, name, value, least);
  }

  bool product(const char* name, std::int64_t length);
  bool index(const char* name, const heed_index& array);
  bool indptr(const char* name, const heed_index& array, std::int64_t rows, const char* length_name,
              std::int64_t length);
  bool page_ids(const char* name, const heed_index& ids, std::int64_t first, std::int64_t count);
  bool type(const char* name, heed_type type, Types types);
  bool address(const char* name, const void* data, std::int64_t element_bytes) {
    return failed(check_address(name, ".data", data, element_bytes, status_));
  }
  bool failed(heed_code code) { return (code_ = code) != HEED_OK; }
  bool reach(const char* name, const Axes& axes) { return failed(check_reach(name, axes, status_)); }
  bool overlap(const char* name, const Axes& axes) { return failed(check_no_overlap(name, axes, status_)); }
  // Of a tensor with a row for each query: all tokens of a ragged batch are one sequence.
  template <class Tensor>
  Axes query_axes(const Tensor& t, std::int64_t columns) const;
  template <class Tensor>
  Axes written_axes(const Tensor& t, std::int64_t columns) const;
  template <class Tensor>
  bool rows(const char* name, const Tensor& t, std::int64_t columns);  // q and out
  bool keys(const char* name, const heed_tensor& t, Types types, std::int64_t stride_token, std::int64_t columns);
  bool state(const char* name, const heed_state* state, bool written);
  bool scales(const char* name, const char* of, const heed_tensor& t, heed_type type);

  bool paged() const { return a_.block_table.data != nullptr || a_.page_indices.data != nullptr; }
  // Elements per token: of panels, with the last one filled up.
  std::int64_t key_stride(const heed_tensor& t, std::int64_t columns) const {
    return a_.kv_panels == 0 ? t.stride_token : (columns + kPanel - 1) / kPanel * kPanel;
  }
  bool no_rows() const { return a_.B == 0 || a_.Hq == 0 || a_.Lq == 0; }
  bool no_keys() const { return a_.B == 0 || a_.Hkv == 0 || a_.Lkv == 0; }
  // Slots that sequence b has room for, and how many of them hold keys.
  std::int64_t room(std::int64_t b) const {
    return a_.kv_indptr.data == nullptr ? a_.Lkv : index_at(a_.kv_indptr, b + 1) - index_at(a_.kv_indptr, b);
  }
  std::int64_t row(std::int64_t b) const { return index_or(a_.table_rows, b, b); }
  std::int64_t longest() const;  // of all lengths
  std::int64_t length(std::int64_t b) const { return index_or(a_.kv_lengths, row(b), room(b)); }

  const heed_attention_args& a_;
  heed_status* status_;
  heed_code code_ = HEED_OK;
};

}  // namespace heed::api
