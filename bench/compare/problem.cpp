#include "problem.hpp"

#include <cstring>
#include <utility>

#include "heed/reference.hpp"
#include "numbers.hpp"

namespace heed::compare {
namespace {

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

heed_tensor_out contiguous(void* data, std::int64_t H, std::int64_t L, std::int64_t D, heed_type type) {
  return {data, H * L * D, L * D, D, type};
}

void set_out(heed_attention_args& args, void* data, heed_type type) {
  args.out = contiguous(data, args.Hq, args.Lq, args.Dv, type);
}

void set_lse(heed_attention_args& args, float* data) {
  args.lse = data;
  args.lse_stride_batch = args.Hq * args.Lq;
  args.lse_stride_head = args.Lq;
  args.lse_stride_token = 1;
}

Output output(const char* name, std::vector<double> reference, const Expectation& expected) {
  Output o{name, std::move(reference), expected.values, expected.tolerance, {}};
  o.got.resize(o.reference.size());
  return o;
}

const char* view_name(heed_inspect what) {
  switch (what) {
    case HEED_SCORES_SCALED:
      return "scores (scaled)";
    case HEED_SCORES_CAPPED:
      return "scores (capped)";
    case HEED_SCORES_BIASED:
      return "scores (biased)";
    default:
      return "weights";
  }
}

}  // namespace

bool Problem::plain() const {
  return args.q.type == HEED_F32 && args.k.type == HEED_F32 && args.v.type == HEED_F32 && args.softcap == 0 &&
         !args.alibi_slopes && !args.bias.data && !args.causal && !args.has_window && !args.kv_lengths.data &&
         args.mask_kind == HEED_NO_MASK && !args.sinks;
}

std::string describe(const heed_attention_args& args) {
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  return "B " + number(args.B) + ", Hq " + number(args.Hq) + ", Hkv " + number(args.Hkv) + ", Lq " + number(args.Lq) +
         ", Lkv " + number(args.Lkv) + ", D " + number(args.D) + ", Dv " + number(args.Dv);
}

ReferenceResult reference_result(const heed_attention_args& args, bool with_view) {
  const std::int64_t rows = args.B * args.Hq * args.Lq;
  ReferenceResult result;
  result.out.resize(size(rows * args.Dv));
  result.lse.resize(size(rows));
  if (with_view) result.view.resize(size(rows * args.Lkv));
  reference::attention(args, result.out.data(), result.lse.data(), with_view ? result.view.data() : nullptr);
  return result;
}

Computation attention_computation(SharedProblem problem, const Expectation& out, const Expectation& lse) {
  ReferenceResult reference = reference_result(problem->args, false);
  Computation computation;
  computation.kernel = "attention";
  computation.outputs = {output("out", std::move(reference.out), out), output("lse", std::move(reference.lse), lse)};
  computation.run = [problem](std::vector<Output>& outputs, heed_status* status) {
    heed_attention_args args = problem->args;
    set_out(args, outputs[0].got.data(), HEED_F32);
    set_lse(args, outputs[1].got.data());
    return heed_attention(&args, status);
  };
  return computation;
}

Computation stored_computation(SharedProblem problem, const Expectation& out) {
  const heed_type type = problem->args.q.type;
  ReferenceResult reference = reference_result(problem->args, false);
  Computation computation;
  computation.kernel = type == HEED_F16 ? "attention, out f16" : "attention, out bf16";
  computation.outputs = {output("out", std::move(reference.out), out)};
  auto stored = std::make_shared<std::vector<std::byte>>(computation.outputs[0].got.size() * type_bytes(type));
  computation.run = [problem, stored, type](std::vector<Output>& outputs, heed_status* status) {
    heed_attention_args args = problem->args;
    set_out(args, stored->data(), type);
    const heed_code code = heed_attention(&args, status);
    const auto n = static_cast<std::int64_t>(outputs[0].got.size());
    outputs[0].got = to_floats(widen(type, stored->data(), n));
    return code;
  };
  return computation;
}

Computation sinkless_computation(SharedProblem problem, const Expectation& lse) {
  heed_attention_args without = problem->args;
  without.sinks = nullptr;
  Computation computation;
  computation.kernel = "attention, no sinks";
  computation.outputs = {output("lse_keys", reference_result(without, false).lse, lse)};
  auto out = std::make_shared<std::vector<float>>(size(problem->rows() * problem->args.Dv));
  computation.run = [problem, out](std::vector<Output>& outputs, heed_status* status) {
    heed_attention_args args = problem->args;
    args.sinks = nullptr;
    set_out(args, out->data(), HEED_F32);
    set_lse(args, outputs[0].got.data());
    return heed_attention(&args, status);
  };
  return computation;
}

Computation view_computation(SharedProblem problem, heed_inspect what, const Expectation& view) {
  heed_attention_args inspected = problem->args;
  inspected.inspect_what = what;
  Computation computation;
  computation.kernel = std::string("attention, ") + view_name(what);
  computation.outputs = {output(view_name(what), reference_result(inspected, true).view, view)};
  auto out = std::make_shared<std::vector<float>>(size(problem->rows() * problem->args.Dv));
  computation.run = [problem, out, what](std::vector<Output>& outputs, heed_status* status) {
    heed_attention_args args = problem->args;
    set_out(args, out->data(), HEED_F32);
    args.inspect = contiguous(outputs[0].got.data(), args.Hq, args.Lq, args.Lkv, HEED_F32);
    args.inspect_what = what;
    return heed_attention(&args, status);
  };
  return computation;
}

}  // namespace heed::compare
