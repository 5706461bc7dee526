#include "content_model.hpp"

#include <cmath>
#include <cstdio>

#include "heed/reference.hpp"

namespace heed::test {
namespace {

std::size_t size(Int n) { return static_cast<std::size_t>(n); }

ModelProblem model_problem(const Content& content, const SequenceContent& s) {
  const OptionSpec& spec = content.spec;
  ModelProblem p;
  p.Hq = spec.Hq;
  p.Hkv = spec.Hkv;
  p.Lq = s.queries;
  p.Lkv = s.keys;
  p.D = spec.D;
  p.Dv = spec.Dv;
  p.q = s.q;
  p.k = s.k;
  p.v = s.v;
  p.k_scales = s.k_scales;
  p.v_scales = s.v_scales;
  p.scale = content.scale;
  p.softcap = content.softcap;
  p.alibi_slopes = content.slopes;
  p.bias = s.bias;
  p.mask = s.mask;
  p.absent = s.absent;
  p.causal = content.has(kCausal);
  p.window_left = content.window_left;
  p.window_right = content.window_right;
  p.alignment = Alignment::kOffsets;
  p.offsets = {s.position};
  p.key_offset = {s.key_position};
  p.sinks = content.sinks;
  if (content.has(kChanged)) p.score_callback = change;
  if (content.has(kInspected)) p.view = static_cast<Stage>(spec.view);
  if (content.has(kAsked)) {
    for (Int h = 0; h < p.Hq; ++h) {
      for (Int i = 0; i < p.Lq; ++i) {
        for (Int j = 0; j < p.Lkv; ++j) p.mask.push_back(allowed(h, s.position + i, s.key_position + j) ? 1 : 0);
      }
    }
  }
  return p;
}

// Half of the last place of x as the type holds it, and where the type ends, what is cut off.
double rounding(heed_type type, double x) {
  if (type == HEED_F32) return 0.0;
  const bool half = type == HEED_F16;
  if (half && std::fabs(x) > 65504.0) return kInfinity;
  return std::fabs(x) * (half ? 0x1p-11 : 0x1p-8) + (half ? 0x1p-25 : 0x1p-133);
}

std::string off(const char* what, Int b, std::size_t row, double found, double exact, double allowed) {
  char text[200];
  std::snprintf(text, sizeof text, "%s of sequence %lld, row %zu: is %.9g, should be %.17g: off by %g, allowed %g",
                what, static_cast<long long>(b), row, found, exact, std::fabs(found - exact), allowed);
  return text;
}

bool near(double found, double exact, double allowed) { return found == exact || std::fabs(found - exact) <= allowed; }

}  // namespace

Modelled modelled(const Content& content) {
  Modelled all;
  for (const SequenceContent& s : content.sequences) {
    const ModelProblem problem = model_problem(content, s);
    ModelResult result = model(problem);
    SequenceResult& bits = all.results.emplace_back();
    for (const float x : result.out) bits.out.push_back(output_code(content.spec.out, x));
    bits.lse = std::move(result.lse);
    bits.view = std::move(result.view);
    for (const auto count : {&ModelResult::rows_without_keys, &ModelResult::rows_with_an_empty_split,
                             &ModelResult::rows_over_a_block, &ModelResult::rows_over_a_split,
                             &ModelResult::rows_with_a_partial_panel, &ModelResult::rows_whose_maximum_rose_late}) {
      all.counts.*count += result.*count;
    }
    all.bounds.push_back(content.spec.finite() ? bounds(problem) : Bounds{});
  }
  return all;
}

std::string too_far(const Content& content, const OptionProblem& problem, const std::vector<SequenceResult>& results,
                    const std::vector<Bounds>& bounds) {
  const AttentionArgs& a = problem.args;
  const std::size_t rows = size(a.B * a.Hq * a.Lq), Dv = size(a.Dv);
  std::vector<double> out(rows * Dv), lse(rows);
  reference::attention(a, out.data(), lse.data());
  for (Int b = 0; b < a.B; ++b) {
    const Int queries = content.sequences[size(b)].queries;
    const SequenceResult& result = results[size(b)];
    for (Int n = 0; n < a.Hq * queries; ++n) {
      const std::size_t row = size((b * a.Hq + n / queries) * a.Lq + n % queries), own = size(n);
      for (std::size_t d = 0; d < Dv; ++d) {
        const double exact = out[row * Dv + d];
        const double allowed = bounds[size(b)].out[own] + rounding(content.spec.out, exact);
        const double found = decoded(content.spec.out, result.out[own * Dv + d]);
        if (!near(found, exact, allowed)) return off("out", b, own, found, exact, allowed);
      }
      if (result.lse.empty()) continue;
      const double allowed = bounds[size(b)].lse[own];
      if (!near(result.lse[own], lse[row], allowed)) return off("lse", b, own, result.lse[own], lse[row], allowed);
    }
  }
  return {};
}

}  // namespace heed::test
