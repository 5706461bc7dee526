// Rules of states.
#include <cstdio>

#include "api/checks.hpp"
#include "api/validate.hpp"

namespace heed::api {

heed_code check_sizes(std::int64_t B, std::int64_t Hq, std::int64_t Lq, std::int64_t Dv, const char* prefix,
                      heed_status* status) {
  const std::int64_t sizes[] = {B, Hq, Lq, Dv};
  const char* const names[] = {"B", "Hq", "Lq", "Dv"};
  std::int64_t count = 1;
  for (int n = 0; n < 4; ++n) {
    const int least = n == 3 ? 1 : 0;
    if (sizes[n] < least) {
      return fail(status, HEED_INVALID_ARGUMENT, "%s%s: is %" PRId64 ", must be at least %d", prefix, names[n],
                  sizes[n], least);
    }
    if (sizes[n] == 0) continue;  // the others are counted all the same: strides are products of some of them
    if (sizes[n] > kLargestExtent / count) {
      return fail(status, HEED_INVALID_ARGUMENT, "%s%s: %" PRId64 " is too large: there are more than 2^60 elements",
                  prefix, names[n], sizes[n]);
    }
    count *= sizes[n];
  }
  if (Dv > kLargestDimension) {
    return fail(status, HEED_INVALID_ARGUMENT, "%sDv: %" PRId64 " is more than 2^24", prefix, Dv);
  }
  return HEED_OK;
}

Axes axes_of(const heed_state& s) { return {{s.B, s.stride_batch}, {s.Hq, s.stride_head}, {s.Lq, s.stride_token}, 1}; }

namespace {

Axes o_axes_of(const heed_state& s) {
  return {{s.B, s.o_stride_batch}, {s.Hq, s.o_stride_head}, {s.Lq, s.o_stride_token}, s.Dv, "o_stride"};
}

}  // namespace

heed_code check_state(const char* name, const heed_state* state, heed_state* copy, heed_status* status) {
  if (state == nullptr) return fail(status, HEED_INVALID_ARGUMENT, "%s: is null", name);
  heed_state s = *state;
  char prefix[16];
  std::snprintf(prefix, sizeof prefix, "%s.", name);
  HEED_RETURN_IF_FAILED(check_sizes(s.B, s.Hq, s.Lq, s.Dv, prefix, status));
  if (s.stride_batch == 0 && s.stride_head == 0 && s.stride_token == 0) {
    s.stride_batch = s.Hq * s.Lq;
    s.stride_head = s.Lq;
    s.stride_token = 1;
  }
  if (s.o_stride_batch == 0 && s.o_stride_head == 0 && s.o_stride_token == 0) {
    s.o_stride_batch = s.Hq * s.Lq * s.Dv;
    s.o_stride_head = s.Lq * s.Dv;
    s.o_stride_token = s.Dv;
  }
  *copy = s;
  const Axes axes = axes_of(s), o_axes = o_axes_of(s);
  if (axes.empty()) return HEED_OK;
  HEED_RETURN_IF_FAILED(check_address(name, ".m", s.m, 4, status));
  HEED_RETURN_IF_FAILED(check_address(name, ".l", s.l, 4, status));
  HEED_RETURN_IF_FAILED(check_address(name, ".o", s.o, 4, status));
  HEED_RETURN_IF_FAILED(check_reach(name, axes, status));
  return check_reach(name, o_axes, status);
}

heed_code check_state_out(const char* name, const heed_state* state, heed_state* copy, heed_status* status) {
  HEED_RETURN_IF_FAILED(check_state(name, state, copy, status));
  HEED_RETURN_IF_FAILED(check_no_overlap(name, axes_of(*copy), status));
  return check_no_overlap(name, o_axes_of(*copy), status);
}

bool Checks::state(const char* name, const heed_state* state, bool written) {
  if (state == nullptr) return false;
  heed_state copy;
  code_ = written ? check_state_out(name, state, &copy, status_) : check_state(name, state, &copy, status_);
  if (code_ != HEED_OK) return true;
  const bool ragged = a_.q_indptr.data != nullptr;
  const std::int64_t B = ragged ? 1 : a_.B, Lq = ragged ? index_at(a_.q_indptr, a_.B) : a_.Lq;
  const std::int64_t got[] = {copy.B, copy.Hq, copy.Lq, copy.Dv}, expected[] = {B, a_.Hq, Lq, a_.Dv};
  const char* const names[] = {"B", "Hq", "Lq", "Dv"};
  for (int n = 0; n < 4; ++n) {
    if (got[n] != expected[n]) {
      return invalid("%s.%s: is %" PRId64 ", the call's is %" PRId64, name, names[n], got[n], expected[n]);
    }
  }
  return false;
}

bool Checks::states() {
  if (state("start", a_.start, false) || state("end", a_.end, true)) return true;
  if (a_.end == nullptr) return false;
  if (a_.sinks != nullptr) return invalid("sinks: are given beside end, and belong to heed_state_finish");
  if (a_.inspect.data != nullptr) return invalid("inspect: is given beside end");
  return false;
}

}  // namespace heed::api
