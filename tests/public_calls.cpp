#include "public_calls.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "engine_problem.hpp"
#include "heed/reference.hpp"

namespace heed::test {
namespace {

using Bytes = std::unique_ptr<void, decltype(&std::free)>;
Bytes memory(std::size_t bytes) { return {std::aligned_alloc(64, (bytes + 63) / 64 * 64), &std::free}; }

// Only these are called from several threads at a time, where Catch2's macros may not be used.
void must(heed_code code) {
  if (code != HEED_OK) std::abort();
}

template <class T>
void add(Given& given, const std::vector<T>& values) {
  given.bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}
void add(Given& given, const std::vector<float>& values) {
  given.floats.insert(given.floats.end(), values.begin(), values.end());
}
void add(Given& given, std::int64_t value) { given.bytes += std::to_string(value) + ' '; }

}  // namespace

std::string difference(const Given& found, const Given& expected) {
  if (found.floats.size() != expected.floats.size()) return "another number of floats";
  for (std::size_t n = 0; n < found.floats.size(); ++n) {
    if (std::memcmp(&found.floats[n], &expected.floats[n], sizeof(float)) != 0) {
      return "float " + std::to_string(n) + " is " + std::to_string(found.floats[n]) + ", expected " +
             std::to_string(expected.floats[n]);
    }
  }
  return found.bytes == expected.bytes ? "" : "other bytes";
}

PublicCalls::PublicCalls(float magnitude)
    : q_(random_floats(B * Hq * Lq * D, 1)),
      k_(random_floats(B * Hkv * Lkv * D, 2)),
      v_(random_floats(B * Hkv * Lkv * Dv, 3)),
      bias_(random_floats(Lq * Lkv, 4)),
      slopes_{0.02f, 0.01f, 0.005f, 0.0025f},  // steeper ones would make subnormal weights

      sinks_{0.5f, -1.0f, 2.0f, -kEngineInfinity} {
  for (std::vector<float>* numbers : {&q_, &k_, &v_, &bias_}) {
    for (float& x : *numbers) x *= magnitude;
  }
  const auto keys = static_cast<std::int64_t>(k_.size()) / D, values = static_cast<std::int64_t>(v_.size()) / Dv;
  halves_.resize(k_.size());
  k_codes_.resize(k_.size());
  v_codes_.resize(v_.size());
  scales_.resize(static_cast<std::size_t>(keys + values));
  const heed_matrix k{k_.data(), keys, D, 0, HEED_F32}, v{v_.data(), values, Dv, 0, HEED_F32};
  const heed_matrix_out halves{halves_.data(), keys, D, 0, HEED_F16};
  must(heed_convert(&k, &halves, nullptr));
  must(heed_quantize_int8(&k, k_codes_.data(), 0, scales_.data(), nullptr));
  must(heed_quantize_int8(&v, v_codes_.data(), 0, scales_.data() + keys, nullptr));
  for (std::int64_t n = 0; n < Lq * Lkv; ++n) mask_.push_back(n % 7 != 0 ? 1 : 0);
}

Given PublicCalls::run(Caller& call, const heed_executor& executor, bool force) const {
  Given given;
  versions(call, force, given);
  kernels(call, given);
  conversions(call, given);
  attention(call, executor, given);
  plans(call, executor, given);
  states(call, executor, given);
  cache(call, executor, given);
  references(call, given);
  return given;
}

void PublicCalls::versions(Caller& call, bool force, Given& given) const {
  given.bytes += call("heed_version", [] { return heed_version(); });
  add(given, call("heed_arithmetic", [] { return heed_arithmetic(); }));
  const char* row = call("heed_isa", [] { return heed_isa(); });
  given.bytes += row;
  if (force) must(call("heed_force_isa", [&] { return heed_force_isa(row, nullptr); }));
  heed_isa_info info{};
  add(given, call("heed_isa_count", [] { return heed_isa_count(); }));
  add(given, call("heed_isa_row", [&] { return heed_isa_row(0, &info); }));
  given.bytes += info.name;
}

void PublicCalls::kernels(Caller& call, Given& given) const {
  const std::int64_t R = 5, n = 300;
  std::vector<float> weights(n), s(R * n), out(R * Dv), attended(R * Dv), lse(R);
  add(given, std::vector<float>{call("heed_dot", [&] { return heed_dot(q_.data(), k_.data(), 167); })});
  add(given, std::vector<float>{call("heed_softmax", [&] { return heed_softmax(bias_.data(), weights.data(), n); })});
  const heed_matrix q{q_.data(), R, D, 0, HEED_F32}, k{k_.data(), n, D, 0, HEED_F32}, v{v_.data(), n, Dv, 0, HEED_F32};
  const heed_matrix_out scores{s.data(), R, n, 0, HEED_F32}, sums{out.data(), R, Dv, 0, HEED_F32};
  const heed_matrix_out rows{attended.data(), R, Dv, 0, HEED_F32};
  must(call("heed_scores", [&] { return heed_scores(&q, &k, 0.25f, &scores, nullptr); }));
  const heed_matrix w{bias_.data(), R, n, 0, HEED_F32}, accumulator{q_.data(), R, Dv, 0, HEED_F32};
  must(call("heed_weighted_sum", [&] { return heed_weighted_sum(&w, &v, &accumulator, &sums, nullptr); }));
  must(call("heed_attend", [&] { return heed_attend(&w, &v, &rows, lse.data(), nullptr); }));
  for (const std::vector<float>* numbers : {&weights, &s, &out, &attended, &lse}) add(given, *numbers);
}

void PublicCalls::conversions(Caller& call, Given& given) const {
  const std::int64_t R = 9;
  const heed_matrix x{k_.data(), R, D, 0, HEED_F32};
  for (const heed_type type : {HEED_F16, HEED_BF16, HEED_FP8_E4M3, HEED_FP8_E5M2}) {
    std::vector<std::uint16_t> stored(R * D);
    std::vector<float> back(R * D);
    const heed_matrix_out to{stored.data(), R, D, 0, type}, floats{back.data(), R, D, 0, HEED_F32};
    const heed_matrix from{stored.data(), R, D, 0, type};
    must(call("heed_convert", [&] { return heed_convert(&x, &to, nullptr); }));
    must(call("heed_convert", [&] { return heed_convert(&from, &floats, nullptr); }));
    add(given, stored);
    add(given, back);
  }
  std::vector<std::int8_t> codes(R * D);
  std::vector<float> scales(R), slopes(12);
  must(call("heed_quantize_int8", [&] { return heed_quantize_int8(&x, codes.data(), 0, scales.data(), nullptr); }));
  must(call("heed_alibi_slopes", [&] { return heed_alibi_slopes(12, slopes.data(), nullptr); }));
  add(given, codes);
  add(given, scales);
  add(given, slopes);
}

AttentionArgs PublicCalls::problem(float* out, float* lse) const {
  AttentionArgs args;
  args.B = B, args.Hq = Hq, args.Hkv = Hkv, args.Lq = Lq, args.Lkv = Lkv, args.D = D, args.Dv = Dv;
  args.q = heads_first(q_.data(), Hq, Lq, D);
  args.k = heads_first(k_.data(), Hkv, Lkv, D);
  args.v = heads_first(v_.data(), Hkv, Lkv, Dv);
  args.out = heads_first(out, Hq, Lq, Dv);
  args.lse = lse;
  return args;
}

void PublicCalls::attention(Caller& call, const heed_executor& executor, Given& given) const {
  std::vector<float> out(B * Hq * Lq * Dv), lse(B * Hq * Lq), weights(B * Hq * Lq * Lkv);
  const auto run = [&](void (*change)(const PublicCalls&, AttentionArgs&)) {
    AttentionArgs args = problem(out.data(), lse.data());
    args.executor = executor;
    change(*this, args);
    if (args.inspect_what == HEED_WEIGHTS) args.inspect = {weights.data(), Hq * Lq * Lkv, Lq * Lkv, Lkv, HEED_F32};
    must(call("heed_attention", [&] { return heed_attention(&args, nullptr); }));
    add(given, out);
    add(given, lse);
  };
  run([](const PublicCalls&, AttentionArgs&) {});
  run([](const PublicCalls&, AttentionArgs& args) { args.Lq = 1; });
  run([](const PublicCalls& self, AttentionArgs& args) {
    args.causal = args.has_window = 1;
    args.window_left = 480;
    args.softcap = 20.0f;
    args.alibi_slopes = self.slopes_.data();
    args.bias = {self.bias_.data(), 0, 0, Lkv, HEED_F32};
    args.sinks = self.sinks_.data();
    args.mask_kind = HEED_BYTE_MASK;
    args.mask = self.mask_.data();
    args.mask_stride_token = Lkv;
    args.inspect_what = HEED_WEIGHTS;
  });
  run([](const PublicCalls& self, AttentionArgs& args) {
    args.k = {self.halves_.data(), Hkv * Lkv * D, Lkv * D, D, HEED_F16};
    args.score_callback = [](void*, std::int64_t, std::int64_t, std::int64_t, float score) { return score * 0.5f; };
    args.mask_callback = [](void*, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t begin) {
      return begin > 500 ? heed_rectangle{HEED_NONE} : heed_rectangle{HEED_SOME};
    };
  });
  run([](const PublicCalls& self, AttentionArgs& args) {
    args.k = {self.k_codes_.data(), Hkv * Lkv * D, Lkv * D, D, HEED_INT8};
    args.v = {self.v_codes_.data(), Hkv * Lkv * Dv, Lkv * Dv, Dv, HEED_INT8};
    args.k_scales = {self.scales_.data(), Hkv * Lkv, Lkv, 1, HEED_F32};
    args.v_scales = {self.scales_.data() + B * Hkv * Lkv, Hkv * Lkv, Lkv, 1, HEED_F32};
  });
  add(given, weights);
}

void PublicCalls::plans(Caller& call, const heed_executor& executor, Given& given) const {
  std::vector<float> out(B * Hq * Lq * Dv), lse(B * Hq * Lq);
  AttentionArgs args = problem(out.data(), lse.data());
  args.executor = executor;
  heed_plan plan;
  must(call("heed_plan_make", [&] { return heed_plan_make(&args, &plan, nullptr); }));
  const std::size_t bytes = call("heed_plan_workspace_bytes", [&] { return heed_plan_workspace_bytes(&plan); });
  char text[2000] = {};
  call("heed_plan_describe", [&] { return heed_plan_describe(&plan, text, sizeof text); });
  given.bytes += text;
  const Bytes workspace = memory(bytes);
  must(call("heed_plan_run", [&] { return heed_plan_run(&plan, &args, workspace.get(), bytes, nullptr); }));
  add(given, out);
  add(given, lse);
  heed_run* run = nullptr;
  must(call("heed_plan_begin", [&] { return heed_plan_begin(&plan, &args, workspace.get(), bytes, &run, nullptr); }));
  for (std::int32_t phase = 0; phase < HEED_PHASES; ++phase) {
    const std::int64_t items = call("heed_run_items", [&] { return heed_run_items(run, phase); });
    for (std::int64_t n = 0; n < items; ++n) {
      must(call("heed_run_item", [&] { return heed_run_item(run, phase, n, 0); }));
    }
  }
  add(given, out);
  add(given, lse);
}

void PublicCalls::states(Caller& call, const heed_executor& executor, Given& given) const {
  const EngineShape shape{B, Hq, Hkv, Lq, Lkv, D, Dv};
  const StateMemory first(shape), rest(shape);
  std::vector<float> out(B * Hq * Lq * Dv), lse(B * Hq * Lq);
  AttentionArgs args = problem(nullptr, nullptr);
  args.executor = executor;
  args.Lkv = 512;
  args.end = &first.state;
  must(call("heed_attention", [&] { return heed_attention(&args, nullptr); }));
  args.Lkv = Lkv - 512;
  args.k.data = k_.data() + 512 * D;
  args.v.data = v_.data() + 512 * Dv;
  args.end = &rest.state;
  must(call("heed_attention", [&] { return heed_attention(&args, nullptr); }));
  const heed_tensor_out whole = heads_first(out.data(), Hq, Lq, Dv);
  must(call("heed_state_merge", [&] { return heed_state_merge(&first.state, &rest.state, &first.state, nullptr); }));
  must(call("heed_state_finish",
            [&] { return heed_state_finish(&first.state, sinks_.data(), &whole, lse.data(), nullptr); }));
  add(given, out);
  add(given, lse);
  const heed_result a{heads_first(static_cast<const float*>(rest.o.data()), Hq, Lq, Dv), rest.m.data()};
  const heed_result b{heads_first(static_cast<const float*>(out.data()), Hq, Lq, Dv), lse.data()};
  must(call("heed_merge_lse", [&] { return heed_merge_lse(B, Hq, Lq, Dv, &a, &b, &whole, lse.data(), nullptr); }));
  for (const std::vector<float>* numbers :
       std::initializer_list<const Floats*>{&out, &lse, &first.m, &first.l, &first.o}) {
    add(given, *numbers);
  }
}

void PublicCalls::cache(Caller& call, const heed_executor& executor, Given& given) const {
  heed_cache_config config{};
  config.struct_size = sizeof config;
  config.Hkv = Hkv, config.D = D, config.Dv = Dv;
  config.k_type = HEED_INT8, config.v_type = HEED_F16;
  config.page_size = 32, config.page_count = 40, config.max_sequences = 2;
  const std::size_t bytes = call("heed_cache_bytes", [&] { return heed_cache_bytes(&config, nullptr); });
  const Bytes pages = memory(bytes);
  heed_cache* cache = nullptr;
  std::int64_t own[2] = {};
  must(call("heed_cache_create", [&] { return heed_cache_create(&config, pages.get(), bytes, &cache, nullptr); }));
  must(call("heed_cache_open", [&] { return heed_cache_open(cache, &own[0], nullptr); }));
  const heed_tensor k = heads_first(k_.data(), Hkv, Lkv, D), v = heads_first(v_.data(), Hkv, Lkv, Dv);
  must(call("heed_cache_append", [&] { return heed_cache_append(cache, own[0], &k, &v, 530, nullptr); }));
  must(call("heed_cache_fork", [&] { return heed_cache_fork(cache, own[0], &own[1], nullptr); }));
  must(call("heed_cache_append", [&] { return heed_cache_append(cache, own[1], &k, &v, 5, nullptr); }));
  must(call("heed_cache_truncate", [&] { return heed_cache_truncate(cache, own[0], 520, nullptr); }));
  must(call("heed_cache_drop", [&] { return heed_cache_drop(cache, own[0], 40, nullptr); }));
  add(given, call("heed_cache_length", [&] { return heed_cache_length(cache, own[0]); }));
  add(given, call("heed_cache_position", [&] { return heed_cache_position(cache, own[0]); }));
  add(given, call("heed_cache_free_pages", [&] { return heed_cache_free_pages(cache); }));
  std::vector<float> out(B * Hq * Lq * Dv), lse(B * Hq * Lq);
  AttentionArgs args = problem(out.data(), lse.data());
  args.executor = executor;
  must(call("heed_cache_bind", [&] { return heed_cache_bind(cache, own, B, &args, nullptr); }));
  must(call("heed_attention", [&] { return heed_attention(&args, nullptr); }));
  must(call("heed_cache_close", [&] { return heed_cache_close(cache, own[1], nullptr); }));
  add(given, out);
  add(given, lse);
}

void PublicCalls::references(Caller& call, Given& given) const {
  using namespace reference;
  const std::int64_t R = 3, n = 40;
  std::vector<double> s(R * n), weights(n), out(Dv), whole(B * Hq * Lq * Dv), lse(B * Hq * Lq), all{0};
  all[0] += call("_ZN4heed9reference3dotEPKfS2_l", [&] { return reference::dot(q_.data(), k_.data(), 40); });
  call("_ZN4heed9reference6scoresEPKfS2_llldPd",
       [&] { reference::scores(q_.data(), k_.data(), R, n, D, 0.25, s.data()); });
  all[0] +=
      call("_ZN4heed9reference7softmaxEPKfPdl", [&] { return reference::softmax(bias_.data(), weights.data(), n); });
  all[0] += call("_ZN4heed9reference7softmaxEPKdPdl", [&] { return reference::softmax(s.data(), weights.data(), n); });
  call("_ZN4heed9reference12weighted_sumEPKfS2_llS2_Pd",
       [&] { reference::weighted_sum(bias_.data(), v_.data(), n, Dv, nullptr, out.data()); });
  call("_ZN4heed9reference12weighted_sumEPKdPKfllS4_Pd",
       [&] { reference::weighted_sum(s.data(), v_.data(), n, Dv, nullptr, out.data()); });
  all[0] += call("_ZN4heed9reference6attendEPKfS2_llPd",
                 [&] { return reference::attend(bias_.data(), v_.data(), n, Dv, out.data()); });
  all[0] += call("_ZN4heed9reference6attendEPKdPKfllPd",
                 [&] { return reference::attend(s.data(), v_.data(), n, Dv, out.data()); });
  AttentionArgs args = problem(nullptr, nullptr);
  args.Lq = 1;
  args.Lkv = 100;
  call("_ZN4heed9reference9attentionERK19heed_attention_argsPdS4_S4_",
       [&] { reference::attention(args, whole.data(), lse.data()); });
  for (const std::vector<double>* numbers : {&s, &weights, &out, &whole, &lse, &all}) add(given, *numbers);
}

}  // namespace heed::test
