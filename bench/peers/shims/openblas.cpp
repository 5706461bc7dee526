// Attention of matrix products by OpenBLAS and a softmax by SLEEF, as one would write it with a BLAS at hand: blocks of
// 128 query rows, nothing past a causal row's end; in decode one product per kv head for its whole group. And these
// libraries' single kernels. OpenBLAS is held to one thread by OPENBLAS_NUM_THREADS; the loops here have the others.
#include <cblas.h>
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "peer.hpp"
#include "sleef_softmax.hpp"

namespace peers {
namespace {

constexpr int kBlock = 128;

class Attention : public Peer {
 public:
  explicit Attention(const Problem& problem) : problem_(problem) {
    need(problem.type == kF32, "f32 only");
    const int rows = problem.Lq == 1 ? problem.group() : std::min(problem.Lq, kBlock);
    scores_.resize(static_cast<std::size_t>(problem.threads));
    for (auto& each : scores_) each.resize(static_cast<std::size_t>(rows) * static_cast<std::size_t>(problem.Lkv));
  }

  void run(int set) override {
    const int heads = problem_.batch * (problem_.Lq == 1 ? problem_.Hkv : problem_.Hq);
#pragma omp parallel for num_threads(problem_.threads) schedule(dynamic)
    for (int head = 0; head < heads; ++head) {
      if (problem_.Lq == 1) {
        decode(set, head);
      } else {
        prefill(set, head);
      }
    }
  }

 private:
  const float* keys(int set, int head) const { return static_cast<const float*>(problem_.k[set]) + at(head); }
  const float* values(int set, int head) const { return static_cast<const float*>(problem_.v[set]) + at(head); }
  std::size_t at(int head) const { return static_cast<std::size_t>(head) * problem_.Lkv * problem_.D; }
  float* scratch() { return scores_[static_cast<std::size_t>(omp_get_thread_num())].data(); }

  void decode(int set, int head) {
    const int D = problem_.D, group = problem_.group(), n = problem_.lengths[head / problem_.Hkv];
    const float *q = problem_.q + head * group * D, *k = keys(set, head), *v = values(set, head);
    float *s = scratch(), *out = problem_.out[set] + head * group * D;
    const float scale = scale_of(D);
    if (group == 1) {
      cblas_sgemv(CblasRowMajor, CblasNoTrans, n, D, scale, k, D, q, 1, 0, s, 1);
      sleef_softmax(s, s, n);
      cblas_sgemv(CblasRowMajor, CblasTrans, n, D, 1, v, D, s, 1, 0, out, 1);
      return;
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, group, n, D, scale, q, D, k, D, 0, s, n);
    for (int r = 0; r < group; ++r) sleef_softmax(s + r * n, s + r * n, n);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, group, D, n, 1, s, n, v, D, 0, out, D);
  }

  void prefill(int set, int head) {
    const int D = problem_.D, Lq = problem_.Lq, length = problem_.lengths[head / problem_.Hq];
    const std::size_t first = static_cast<std::size_t>(head) * Lq * D;
    const float *k = keys(set, head / problem_.group()), *v = values(set, head / problem_.group());
    float* s = scratch();
    for (int row = 0; row < Lq; row += kBlock) {
      const int rows = std::min(kBlock, Lq - row);
      const auto end = [&](int r) { return problem_.causal ? length - Lq + row + r + 1 : length; };
      const int n = end(rows - 1);
      const float* q = problem_.q + first + static_cast<std::size_t>(row) * D;
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, n, D, scale_of(D), q, D, k, D, 0, s, n);
      for (int r = 0; r < rows; ++r) {
        float* line = s + static_cast<std::size_t>(r) * n;
        sleef_softmax(line, line, end(r));
        std::fill(line + end(r), line + n, 0.0f);
      }
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, D, n, 1, s, n, v, D, 0,
                  problem_.out[set] + first + static_cast<std::size_t>(row) * D, D);
    }
  }

  Problem problem_;
  std::vector<std::vector<float>> scores_;
};

class Kernel : public Peer {
 public:
  explicit Kernel(const Problem& problem) : problem_(problem) {}

  void run(int set) override {
    const int n = problem_.Lkv, D = problem_.D;
    const float* k = static_cast<const float*>(problem_.k[set]);
    float* out = problem_.out[set];
    if (problem_.kind == kDot) {
      out[0] = cblas_sdot(D, problem_.q, 1, k, 1);
    } else {
      cblas_sgemv(CblasRowMajor, problem_.kind == kScores ? CblasNoTrans : CblasTrans, n, D, 1, k, D, problem_.q, 1, 0,
                  out, 1);
    }
  }

 private:
  Problem problem_;
};

class Softmax : public Peer {
 public:
  explicit Softmax(const Problem& problem) : problem_(problem) {}

  void run(int set) override {
    const std::size_t n = static_cast<std::size_t>(problem_.Lkv);
    const float* x = static_cast<const float*>(problem_.k[set]);
    for (int r = 0; r < problem_.Lq; ++r) sleef_softmax(x + r * n, problem_.out[set] + r * n, problem_.Lkv);
  }

 private:
  Problem problem_;
};

std::unique_ptr<Peer> make_openblas(const Problem& problem) {
  if (problem.kind == kAttention) return std::make_unique<Attention>(problem);
  need(problem.kind != kSoftmax, "not in a BLAS");
  need(problem.threads == 1, "a kernel is one thread's");
  return std::make_unique<Kernel>(problem);
}

std::unique_ptr<Peer> make_sleef(const Problem& problem) {
  need(problem.kind == kSoftmax, "softmax only");
  need(problem.threads == 1, "a kernel is one thread's");
  return std::make_unique<Softmax>(problem);
}

}  // namespace

const Entry kEntries[] = {
    {"openblas", kRows, kRows, kRows, 0, 0, make_openblas}, {"sleef", kRows, kRows, kRows, 0, 0, make_sleef}, {}};

}  // namespace peers
