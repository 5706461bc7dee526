// Rules of states.
#include <cstdio>

#include "api/checks.hpp"
#include "api/validate.hpp"

namespace heed::api {

heed_code check_axes(const char* name, const char* part, const void* data, std::int64_t bytes, std::int64_t columns,
                     const Axis (&axes)[3], heed_status* status) {
  std::int64_t reach = columns;
  for (const Axis& axis : axes) {
    if (axis.count == 0) return HEED_OK;
  }
  if (data == nullptr) return fail(status, HEED_INVALID_ARGUMENT, "%s.%s: is null", name, part);
  if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(bytes) != 0) {
    return fail(status, HEED_INVALID_ARGUMENT, "%s.%s: the address is not a multiple of the element's size", name,
                part);
  }
  for (const Axis& axis : axes) {
    std::int64_t distance = 0;
    if (axis.count < 2) continue;
    if (__builtin_mul_overflow(axis.stride, axis.count - 1, &distance) || distance <= -kLargestExtent ||
        distance >= kLargestExtent || __builtin_add_overflow(reach, distance < 0 ? -distance : distance, &reach) ||
        reach >= kLargestExtent) {
      return fail(status, HEED_INVALID_ARGUMENT, "%s.%s: reaches further than 2^60 elements", name, part);
    }
  }
  return HEED_OK;
}

heed_code check_no_overwrites(const char* name, const char* part, const Axis (&axes)[3], heed_status* status) {
  for (const Axis& axis : axes) {
    if (axis.stride != 0 || axis.count < 2) continue;
    return fail(status, HEED_INVALID_ARGUMENT, "%s.%s: a stride is 0, so that results would be written over each other",
                name, part);
  }
  return HEED_OK;
}

heed_code check_floats(const char* name, const float* data, heed_status* status) {
  if (data == nullptr) return fail(status, HEED_INVALID_ARGUMENT, "%s: is null", name);
  if (reinterpret_cast<std::uintptr_t>(data) % sizeof(float) != 0) {
    return fail(status, HEED_INVALID_ARGUMENT, "%s: the address is not a multiple of the element's size", name);
  }
  return HEED_OK;
}

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
    if (count > 0 && sizes[n] > kLargestExtent / count) {
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

heed_code check_state(const char* name, const heed_state* state, heed_state* copy, heed_status* status) {
  if (state == nullptr) return fail(status, HEED_INVALID_ARGUMENT, "%s: is null", name);
  heed_state s = *state;
  char prefix[16];
  std::snprintf(prefix, sizeof prefix, "%s.", name);
  if (const heed_code code = check_sizes(s.B, s.Hq, s.Lq, s.Dv, prefix, status); code != HEED_OK) return code;
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
  const Axis axes[] = {{s.B, s.stride_batch}, {s.Hq, s.stride_head}, {s.Lq, s.stride_token}};
  const Axis o_axes[] = {{s.B, s.o_stride_batch}, {s.Hq, s.o_stride_head}, {s.Lq, s.o_stride_token}};
  if (const heed_code code = check_axes(name, "m", s.m, 4, 1, axes, status); code != HEED_OK) return code;
  if (const heed_code code = check_axes(name, "l", s.l, 4, 1, axes, status); code != HEED_OK) return code;
  return check_axes(name, "o", s.o, 4, s.Dv, o_axes, status);
}

heed_code check_state_out(const char* name, const heed_state* state, heed_state* copy, heed_status* status) {
  if (const heed_code code = check_state(name, state, copy, status); code != HEED_OK) return code;
  const heed_state& s = *copy;
  if (s.B == 0 || s.Hq == 0 || s.Lq == 0) return HEED_OK;
  const Axis axes[] = {{s.B, s.stride_batch}, {s.Hq, s.stride_head}, {s.Lq, s.stride_token}};
  const Axis o_axes[] = {{s.B, s.o_stride_batch}, {s.Hq, s.o_stride_head}, {s.Lq, s.o_stride_token}};
  if (const heed_code code = check_no_overwrites(name, "m", axes, status); code != HEED_OK) return code;
  return check_no_overwrites(name, "o", o_axes, status);
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
