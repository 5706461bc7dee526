// heed itself, by its public C interface: row-major keys and values as `heed`, a cache's panels as `heed_panels`.
#include "heed/heed.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "heed/openmp.h"
#include "peer.hpp"

namespace peers {
namespace {

constexpr std::int64_t kPage = 128;

void check(heed_code code, const heed_status& status) {
  if (code == HEED_UNSUPPORTED) throw Unsupported(status.message);
  if (code != HEED_OK) throw std::runtime_error(status.message);
}

class Attention : public Peer {
 public:
  Attention(const Problem& problem, bool panels) : problem_(problem) {
    constexpr heed_type kTypes[] = {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8};
    const std::int64_t D = problem.D, Lkv = problem.Lkv, Lq = problem.Lq;
    args_.struct_size = sizeof args_;
    args_.B = problem.batch;
    args_.Hq = problem.Hq;
    args_.Hkv = problem.Hkv;
    args_.Lq = Lq;
    args_.Lkv = Lkv;
    args_.D = args_.Dv = D;
    args_.q = {problem.q, problem.Hq * Lq * D, Lq * D, D, HEED_F32};
    args_.out = {nullptr, problem.Hq * Lq * D, Lq * D, D, HEED_F32};
    args_.causal = problem.causal;
    const std::int64_t tokens = panels ? kPage : Lkv;
    const std::int64_t head = tokens * D;
    args_.k = args_.v = {nullptr, problem.Hkv * head, head, panels ? 0 : D, kTypes[problem.type]};
    if (problem.type == kInt8) args_.k_scales = args_.v_scales = {nullptr, problem.Hkv * tokens, tokens, 1, HEED_F32};
    if (problem.ragged()) args_.kv_lengths = {problem.lengths, HEED_INT32};
    if (panels) use_panels();
    if (problem.threads > 1) args_.executor = heed_openmp_executor(problem.threads);
    if (problem.planned != 0) {
      check(heed_plan_make(&args_, &plan_, &status_), status_);
      bytes_ = (heed_plan_workspace_bytes(&plan_) + 63) / 64 * 64;
      workspace_ = std::aligned_alloc(64, std::max<std::size_t>(bytes_, 64));
    }
  }

  ~Attention() override { std::free(workspace_); }

  void run(int set) override {
    args_.out.data = problem_.out[set];
    args_.k.data = problem_.k[set];
    args_.v.data = problem_.v[set];
    if (problem_.type == kInt8) {
      args_.k_scales.data = problem_.k_scales[set];
      args_.v_scales.data = problem_.v_scales[set];
    }
    const heed_code code = workspace_ != nullptr ? heed_plan_run(&plan_, &args_, workspace_, bytes_, &status_)
                                                 : heed_attention(&args_, &status_);
    if (code != HEED_OK) check(code, status_);
  }

 private:
  void use_panels() {
    need(problem_.Lq == 1, "row-major keys are packed anyway");
    need(problem_.Lkv % kPage == 0 && problem_.D % 16 == 0, "not whole pages of panels");
    const std::int64_t pages = problem_.Lkv / kPage;
    table_.resize(static_cast<std::size_t>(problem_.batch * pages));
    for (std::size_t i = 0; i < table_.size(); ++i) table_[i] = static_cast<std::int32_t>(i);
    args_.kv_panels = 1;
    args_.page_size = kPage;
    args_.page_count = static_cast<std::int64_t>(table_.size());
    args_.block_table = {table_.data(), HEED_INT32};
    args_.block_table_stride = pages;
  }

  Problem problem_;
  heed_attention_args args_{};
  heed_plan plan_{};
  heed_status status_{};
  void* workspace_ = nullptr;
  std::size_t bytes_ = 0;
  std::vector<std::int32_t> table_;
};

class Kernel : public Peer {
 public:
  explicit Kernel(const Problem& problem) : problem_(problem) {}

  void run(int set) override {
    const std::int64_t n = problem_.Lkv, D = problem_.D;
    const float* k = static_cast<const float*>(problem_.k[set]);
    float* out = problem_.out[set];
    heed_status status;
    const heed_matrix operand{k, n, D, 0, HEED_F32};
    const heed_matrix weights{problem_.q, 1, n, 0, HEED_F32}, query{problem_.q, 1, D, 0, HEED_F32};
    const heed_matrix_out sums{out, 1, D, 0, HEED_F32}, scores{out, 1, n, 0, HEED_F32};
    switch (problem_.kind) {
      case kDot:
        out[0] = heed_dot(problem_.q, k, D);
        break;
      case kSoftmax:
        for (std::int32_t r = 0; r < problem_.Lq; ++r) heed_softmax(k + r * n, out + r * n, n);
        break;
      case kScores:
        check(heed_scores(&query, &operand, 1.0f, &scores, &status), status);
        break;
      default:
        check(heed_weighted_sum(&weights, &operand, nullptr, &sums, &status), status);
    }
  }

 private:
  Problem problem_;
};

std::unique_ptr<Peer> make_rows(const Problem& problem) {
  if (problem.kind == kAttention) return std::make_unique<Attention>(problem, false);
  need(problem.threads == 1, "a kernel is one thread's");
  return std::make_unique<Kernel>(problem);
}

std::unique_ptr<Peer> make_panels(const Problem& problem) {
  need(problem.kind == kAttention, "attention only");
  return std::make_unique<Attention>(problem, true);
}

}  // namespace

const Entry kEntries[] = {
    {"heed", kRows, kRows, kRows, 0, 0, make_rows}, {"heed_panels", kPanels, kPanels, kRows, 0, 0, make_panels}, {}};

}  // namespace peers
