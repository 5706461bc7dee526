// States of attention: two as one, and from a state to a result.
#include <cstring>

#include "api/checks.hpp"
#include "api/memory.hpp"
#include "api/status.hpp"
#include "api/validate.hpp"
#include "driver/attention.hpp"

using namespace heed;
using dispatch::f32;

namespace {

constexpr heed_allocator kDefaultAllocator{};
constexpr float kMinusInfinity = -__builtin_inff();

struct Row {
  std::int64_t b, h, i;
};

std::int64_t at(const heed_state& s, const Row& row) {
  return row.b * s.stride_batch + row.h * s.stride_head + row.i * s.stride_token;
}
float* o_at(const heed_state& s, const Row& row) {
  return s.o + row.b * s.o_stride_batch + row.h * s.o_stride_head + row.i * s.o_stride_token;
}
template <class Tensor>
std::int64_t element_at(const Tensor& t, const Row& row) {
  return row.b * t.stride_batch + row.h * t.stride_head + row.i * t.stride_token;
}

template <class Work>
void for_each_row(std::int64_t B, std::int64_t Hq, std::int64_t Lq, const Work& work) {
  for (Row row{0, 0, 0}; row.b < B; ++row.b) {
    for (row.h = 0; row.h < Hq; ++row.h) {
      for (row.i = 0; row.i < Lq; ++row.i) work(row);
    }
  }
}

heed_code check_same(const char* name, const heed_state& a, const heed_state& b, heed_status* status) {
  if (a.B == b.B && a.Hq == b.Hq && a.Lq == b.Lq && a.Dv == b.Dv) return HEED_OK;
  return api::fail(status, HEED_INVALID_ARGUMENT, "%s: its sizes are not those of a", name);
}

template <class Tensor>
heed_code check_tensor(const char* name, const Tensor& t, const api::Axes& axes, heed_status* status) {
  if (t.type < HEED_F32 || t.type > HEED_BF16) {
    return api::fail(status, HEED_INVALID_ARGUMENT, "%s.type: %d is not a type that it may have", name,
                     static_cast<int>(t.type));
  }
  if (axes.empty()) return HEED_OK;
  HEED_RETURN_IF_FAILED(api::check_address(name, ".data", t.data, element_bytes(t.type), status));
  return api::check_reach(name, axes, status);
}

template <class Tensor>
api::Axes axes_of(const Tensor& t, std::int64_t B, std::int64_t Hq, std::int64_t Lq, std::int64_t Dv) {
  return {{B, t.stride_batch}, {Hq, t.stride_head}, {Lq, t.stride_token}, Dv};
}

heed_code check_out(const heed_tensor_out& out, const api::Axes& axes, heed_status* status) {
  HEED_RETURN_IF_FAILED(check_tensor("out", out, axes, status));
  return api::check_no_overlap("out", axes, status);
}

}  // namespace

heed_code heed_state_merge(const heed_state* a, const heed_state* b, const heed_state* out,
                           heed_status* status) noexcept {
  heed_code code = HEED_OK;
  const dispatch::Table* table = api::table_or_fail(status, &code);
  if (table == nullptr) return code;
  heed_state left, right, to;
  HEED_RETURN_IF_FAILED(api::check_state("a", a, &left, status));
  HEED_RETURN_IF_FAILED(api::check_state("b", b, &right, status));
  HEED_RETURN_IF_FAILED(api::check_state_out("out", out, &to, status));
  HEED_RETURN_IF_FAILED(check_same("b", left, right, status));
  HEED_RETURN_IF_FAILED(check_same("out", left, to, status));
  const std::size_t bytes = static_cast<std::size_t>(left.Dv) * sizeof(float);
  api::Scratch scratch(kDefaultAllocator, bytes);
  if (scratch.data() == nullptr) return api::fail(status, HEED_OUT_OF_MEMORY, "malloc: no memory for %zu bytes", bytes);
  float* o = static_cast<float*>(scratch.data());
  for_each_row(left.B, left.Hq, left.Lq, [&](const Row& row) {
    float m = left.m[at(left, row)], l = left.l[at(left, row)];
    std::memcpy(o, o_at(left, row), bytes);
    table->merge[f32](&m, &l, o, right.m[at(right, row)], right.l[at(right, row)], o_at(right, row), left.Dv);
    store_state(*table, m, l, o, to.m + at(to, row), to.l + at(to, row), o_at(to, row), to.Dv);
  });
  return api::succeed(status);
}

heed_code heed_state_finish(const heed_state* state, const float* sinks, const heed_tensor_out* out, float* lse,
                            heed_status* status) noexcept {
  heed_code code = HEED_OK;
  const dispatch::Table* table = api::table_or_fail(status, &code);
  if (table == nullptr) return code;
  heed_state s;
  HEED_RETURN_IF_FAILED(api::check_state("state", state, &s, status));
  if (out == nullptr) return api::fail(status, HEED_INVALID_ARGUMENT, "out: is null");
  HEED_RETURN_IF_FAILED(check_out(*out, axes_of(*out, s.B, s.Hq, s.Lq, s.Dv), status));
  if (lse != nullptr) {
    HEED_RETURN_IF_FAILED(api::check_floats("lse", lse, status));
    HEED_RETURN_IF_FAILED(api::check_no_overlap("state", api::axes_of(s), status));  // its strides are lse's too
  }
  if (sinks != nullptr) HEED_RETURN_IF_FAILED(api::check_floats("sinks", sinks, status));
  for_each_row(s.B, s.Hq, s.Lq, [&](const Row& row) {
    table->finish[out->type](s.m[at(s, row)], s.l[at(s, row)], o_at(s, row),
                             sinks == nullptr ? kMinusInfinity : sinks[row.h],
                             static_cast<char*>(out->data) + element_at(*out, row) * element_bytes(out->type),
                             lse == nullptr ? nullptr : lse + at(s, row), s.Dv);
  });
  return api::succeed(status);
}

heed_code heed_merge_lse(std::int64_t B, std::int64_t Hq, std::int64_t Lq, std::int64_t Dv, const heed_result* a,
                         const heed_result* b, const heed_tensor_out* out, float* lse, heed_status* status) noexcept {
  heed_code code = HEED_OK;
  const dispatch::Table* table = api::table_or_fail(status, &code);
  if (table == nullptr) return code;
  if (a == nullptr || b == nullptr || out == nullptr) {
    return api::fail(status, HEED_INVALID_ARGUMENT, "%s: is null", a == nullptr ? "a" : b == nullptr ? "b" : "out");
  }
  HEED_RETURN_IF_FAILED(api::check_sizes(B, Hq, Lq, Dv, "", status));
  HEED_RETURN_IF_FAILED(check_tensor("a.out", a->out, axes_of(a->out, B, Hq, Lq, Dv), status));
  HEED_RETURN_IF_FAILED(check_tensor("b.out", b->out, axes_of(b->out, B, Hq, Lq, Dv), status));
  HEED_RETURN_IF_FAILED(check_out(*out, axes_of(*out, B, Hq, Lq, Dv), status));
  if (lse != nullptr) HEED_RETURN_IF_FAILED(api::check_floats("lse", lse, status));
  if (B * Hq * Lq > 0) {
    HEED_RETURN_IF_FAILED(api::check_floats("a.lse", a->lse, status));
    HEED_RETURN_IF_FAILED(api::check_floats("b.lse", b->lse, status));
  }
  const std::size_t bytes = static_cast<std::size_t>(2 * Dv) * sizeof(float);
  api::Scratch scratch(kDefaultAllocator, bytes);
  if (scratch.data() == nullptr) return api::fail(status, HEED_OUT_OF_MEMORY, "malloc: no memory for %zu bytes", bytes);
  float* o = static_cast<float*>(scratch.data());
  for_each_row(B, Hq, Lq, [&](const Row& row) {
    const std::int64_t n = (row.b * Hq + row.h) * Lq + row.i;
    // A result is the state (lse, 1, out); one without keys is the empty state, whatever its out holds.
    const auto load = [&](const heed_result& from, float* to) {
      table->widen[from.out.type](
          static_cast<const char*>(from.out.data) + element_at(from.out, row) * element_bytes(from.out.type), 1.0f, to,
          Dv);
      const bool empty = from.lse[n] == kMinusInfinity;
      if (empty) std::memset(to, 0, static_cast<std::size_t>(Dv) * sizeof(float));
      return empty ? 0.0f : 1.0f;
    };
    float m = a->lse[n], l = load(*a, o);
    const float l2 = load(*b, o + Dv);
    table->merge[f32](&m, &l, o, b->lse[n], l2, o + Dv, Dv);
    table->finish[out->type](m, l, o, kMinusInfinity,
                             static_cast<char*>(out->data) + element_at(*out, row) * element_bytes(out->type),
                             lse == nullptr ? nullptr : lse + n, Dv);
  });
  return api::succeed(status);
}
