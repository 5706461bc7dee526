// Attention on paper: a problem small enough to follow every number of it, solved by scalar and by SIMD kernels.
//
// Each token has a key k (what it is found by) and a value v (what it has to say); a query q is what is looked for.
// For each query: logit_j = scale * (q . k_j), weights = softmax(logits), output = sum over j of weight_j * v_j.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "heed/heed.hpp"
#include "problem.hpp"

namespace {

using Floats = std::vector<float>;

struct Solution {
  std::string isa;
  Floats logits, weights, lse, output;  // kernel by kernel
  Floats attend, attention;             // the output of the fused calls
};

void check(const heed::Status& status) {
  if (!status) throw std::runtime_error(status.message());
}

Solution solve(const Problem& problem) {
  const auto& [q, k, v, scale] = problem;
  const std::int64_t Lq = q.count, Lkv = k.count, D = k.size, Dv = v.size;
  Solution s{heed::isa(),     Floats(Lq * Lkv), Floats(Lq * Lkv), Floats(Lq),
             Floats(Lq * Dv), Floats(Lq * Dv),  Floats(Lq * Dv)};
  const heed::Matrix queries(q[0], Lq, D), keys(k[0], Lkv, D), values(v[0], Lkv, Dv);
  const heed::Matrix logits(s.logits.data(), Lq, Lkv), weights(s.weights.data(), Lq, Lkv);

  // Step by step.
  check(heed::scores(queries, keys, scale[0], {s.logits.data(), Lq, Lkv}));
  for (std::int64_t i = 0; i < Lq; ++i) s.lse[i] = heed::softmax(&s.logits[i * Lkv], &s.weights[i * Lkv], Lkv);
  check(heed::weighted_sum(weights, values, {s.output.data(), Lq, Dv}));

  // Softmax and weighted sum in one.
  check(heed::attend(logits, values, {s.attend.data(), Lq, Dv}));

  // Everything in one.
  heed::AttentionArgs args;
  args.B = args.Hq = args.Hkv = 1;
  args.Lq = Lq, args.Lkv = Lkv, args.D = D, args.Dv = Dv;
  args.q = heed::heads_first(q[0], 1, Lq, D);
  args.k = heed::heads_first(k[0], 1, Lkv, D);
  args.v = heed::heads_first(v[0], 1, Lkv, Dv);
  args.out = heed::heads_first(s.attention.data(), 1, Lq, Dv);
  args.scale = scale[0], args.has_scale = 1;
  check(heed::attention(args));
  return s;
}

std::string text(const char* format, double number) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, format, number);
  return buffer;
}

std::string text(const float* vector, std::int64_t size, const char* format) {
  std::string all;
  for (std::int64_t i = 0; i < size; ++i) all += (i > 0 ? ", " : "[") + text(format, vector[i]);
  return all + "]";
}

// The tokens whose logits are equal, in words: "token 1", "tokens 1 and 3", "tokens 1, 2 and 3".
std::string names(const std::vector<std::int64_t>& tokens) {
  std::string all = tokens.size() > 1 ? "tokens " : "token ";
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    all += (i == 0 ? "" : i + 1 < tokens.size() ? ", " : " and ") + std::to_string(tokens[i] + 1);
  }
  return all;
}

// Tokens by falling logit. Equal to six digits is a tie: rounding can part logits that are equal on paper.
std::vector<std::vector<std::int64_t>> ties(const float* logits, std::int64_t count) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return logits[a] > logits[b]; });
  std::vector<std::vector<std::int64_t>> groups;
  for (const std::int64_t token : order) {
    const float first = groups.empty() ? 0 : logits[groups.back()[0]];
    const bool tie = first == logits[token] || first - logits[token] <= 1e-6f * std::max(1.0f, std::abs(first));
    if (groups.empty() || !tie) groups.emplace_back();
    groups.back().push_back(token);
  }
  for (auto& group : groups) std::sort(group.begin(), group.end());
  return groups;
}

// What a row of weights means, and why.
void explain(std::int64_t query, const float* logits, const float* weights, std::int64_t count, float lse) {
  if (!std::isfinite(lse)) {
    std::printf("  A logit is too large for single precision: no weights can be given.\n");
    return;
  }
  const auto groups = ties(logits, count);
  const std::int64_t top = groups[0][0];
  const std::string share = text("%.1f %%", 100.0 * weights[top]), first = names(groups[0]);
  if (count == 1) {
    std::printf("  There is only one token: it gets all the attention, whatever its logit.\n");
  } else if (groups.size() == 1) {
    std::printf("  All logits are equal, so every token gets the same attention, %s.\n", share.c_str());
  } else if (groups[0].size() == 1) {
    std::printf("  Query %d attends most to %s, %s: its logit, %.6g, is the largest.\n", static_cast<int>(query + 1),
                first.c_str(), share.c_str(), logits[top]);
  } else {
    std::printf("  Query %d attends most to %s, %s each: they tie for the largest logit, %.6g.\n",
                static_cast<int>(query + 1), first.c_str(), share.c_str(), logits[top]);
  }
  for (std::size_t g = 1; g < groups.size(); ++g) {
    const std::int64_t token = groups[g][0];
    const double below = static_cast<double>(logits[top]) - logits[token];
    std::printf("  Then %s, %.1f %%%s %.6g lower, so the weight is e^-%.6g = %.3g times as large.\n",
                names(groups[g]).c_str(), 100.0 * weights[token],
                groups[g].size() > 1 ? " each: tied logits," : ": its logit is", below, below, std::exp(-below));
  }
  std::printf("  The output is this mix of the values:");
  for (std::int64_t j = 0; j < count; ++j) {
    std::printf("%s %.3f v%d", j > 0 ? " +" : "", weights[j], static_cast<int>(j + 1));
  }
  std::printf(".\n");
}

void print_query(const Problem& problem, std::int64_t i, const Solution& scalar, const Solution& simd) {
  constexpr int kBar = 25;  // characters for a weight of 1
  const auto& [q, k, v, scale] = problem;
  const std::int64_t n = k.count, Dv = v.size;
  std::printf("\nQuery %d, q = %s\n\n", static_cast<int>(i + 1), text(q[i], q.size, "%.6g").c_str());
  std::printf("            %23s  %23s\n", "logit = scale * (q . k)", "weight = softmax(logit)");
  std::printf("            %11s %11s  %11s %11s\n", "scalar", simd.isa.c_str(), "scalar", simd.isa.c_str());
  for (std::int64_t j = 0; j < n; ++j) {
    const std::int64_t at = i * n + j;
    const float weight = simd.weights[at];
    const std::string bar(std::isfinite(weight) ? std::lround(kBar * weight) : 0, '#');
    std::printf("  token %-3d %11.6g %11.6g  %11.8f %11.8f  %s\n", static_cast<int>(j + 1), scalar.logits[at],
                simd.logits[at], scalar.weights[at], weight, bar.c_str());
  }
  std::printf("\n");
  for (const Solution* s : {&scalar, &simd}) {
    std::printf("  output, %-8s %s\n", (s->isa + ":").c_str(), text(&s->output[i * Dv], Dv, "%.8f").c_str());
  }
  std::printf("\n");
  explain(i, &scalar.logits[i * n], &scalar.weights[i * n], n, scalar.lse[i]);
}

void compare(const std::string& what, const Floats& a, const Floats& b) {
  float largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  const bool same = std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
  std::printf("  %-40s %s\n", what.c_str(), same ? "same bits" : text("differ by at most %.1e", largest).c_str());
}

void print_agreement(const Solution& scalar, const Solution& simd) {
  const std::string both = ", scalar and " + simd.isa;
  std::printf("\nDo the results agree?\n\n");
  compare("logits" + both, scalar.logits, simd.logits);
  compare("weights" + both, scalar.weights, simd.weights);
  compare("output" + both, scalar.output, simd.output);
  compare("heed::attend" + both, scalar.attend, simd.attend);
  compare("heed::attention" + both, scalar.attention, simd.attention);
  compare("heed::attend and heed::attention", simd.attend, simd.attention);
  compare("heed::attention and step by step", simd.attention, simd.output);
  for (std::int32_t row = 0; row < heed::isa_count(); ++row) {
    if (heed::isa_row(row).name != simd.isa || heed::isa_row(row).fma != 0) continue;
    std::printf("\n  %s has no fused multiply-add and rounds more often: its last bits may differ.\n",
                simd.isa.c_str());
  }
  std::printf(
      "\n  heed::attention divides by the sum of the weights once, at the end; step by step, each weight is divided\n");
  std::printf("  before the values are summed. These two may differ in the last bits.\n");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 1 && (std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "-h") == 0)) {
      std::printf("%s%s", kHelp, kTextbook);
      return 0;
    }
    const Problem problem = problem_of(argc - 1, argv + 1);
    const Solution simd = solve(problem);  // the best row of this processor, unless HEED_ISA names another
    check(heed::force_isa("scalar"));
    const Solution scalar = solve(problem);

    const auto& [q, k, v, scale] = problem;
    std::printf("heed %s, kernels scalar and %s, scale %.6g\n\n", heed::version(), simd.isa.c_str(), scale[0]);
    for (std::int64_t j = 0; j < k.count; ++j) {
      std::printf("  token %d: k = %s, v = %s\n", static_cast<int>(j + 1), text(k[j], k.size, "%.6g").c_str(),
                  text(v[j], v.size, "%.6g").c_str());
    }
    for (std::int64_t i = 0; i < q.count; ++i) print_query(problem, i, scalar, simd);
    print_agreement(scalar, simd);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "textbook: %s\n", error.what());
    return 1;
  }
}
