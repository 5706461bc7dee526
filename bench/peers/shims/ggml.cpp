// ggml's CPU backend: flash attention, and llama.cpp's other path of two matrix products around a softmax, for which
// the cache holds V by columns. Compiled twice: against Debian's shared objects, of which ggml itself chooses the one
// for this processor, and with PEERS_GGML_RELEASE against a build of the same sources with -O3 for this processor
// alone.
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>

#include <cmath>
#include <mutex>
#include <vector>

#include "peer.hpp"

namespace peers {
namespace {

struct Backend {
  ggml_backend_t backend;

  Backend() {
    ggml_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
#ifdef PEERS_GGML_RELEASE
    backend = ggml_backend_cpu_init();
#else
    ggml_backend_load_all();
    backend = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr);
#endif
    if (backend == nullptr) throw std::runtime_error("no CPU backend");
  }

  void set_threads(int threads) {
    const ggml_backend_reg_t registry = ggml_backend_dev_backend_reg(ggml_backend_get_device(backend));
    const auto set = reinterpret_cast<ggml_backend_set_n_threads_t>(
        ggml_backend_reg_get_proc_address(registry, "ggml_backend_set_n_threads"));
    if (set != nullptr) set(backend, threads);
  }
};

Backend& backend() {
  static Backend the_one;
  return the_one;
}

// One graph for each set of operands: a tensor's data is part of it.
class Graphs : public Peer {
 public:
  Graphs(const Problem& problem, int nodes) : problem_(problem), nodes_(nodes), threads_(problem.threads) {
    const auto sets = static_cast<std::size_t>(problem.sets);
    const std::size_t each = ggml_graph_overhead_custom(static_cast<std::size_t>(nodes), false) +
                             2 * static_cast<std::size_t>(nodes) * ggml_tensor_overhead();
    context_ = ggml_init({sets * each + (1 << 16), nullptr, true});
  }
  ~Graphs() override { ggml_free(context_); }

  void run(int set) override {
    backend().set_threads(threads_);
    if (ggml_backend_graph_compute(backend().backend, graphs_[static_cast<std::size_t>(set)]) != GGML_STATUS_SUCCESS)
      throw std::runtime_error("the graph failed");
  }

 protected:
  ggml_tensor* tensor(ggml_type type, const void* data, std::int64_t n0, std::int64_t n1, std::int64_t n2 = 1,
                      std::int64_t n3 = 1) {
    ggml_tensor* made = ggml_new_tensor_4d(context_, type, n0, n1, n2, n3);
    made->data = const_cast<void*>(data);
    return made;
  }

  ggml_cgraph* new_graph() {
    graphs_.push_back(ggml_new_graph_custom(context_, static_cast<std::size_t>(nodes_), false));
    return graphs_.back();
  }

  Problem problem_;
  ggml_context* context_ = nullptr;

 private:
  int nodes_, threads_;
  std::vector<ggml_cgraph*> graphs_;
};

ggml_type type_of(const Problem& problem) {
  constexpr ggml_type kTypes[] = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0};
  return kTypes[problem.type];
}

constexpr std::int64_t kMaskRows = 64;  // older versions want the mask padded to so many

std::vector<ggml_fp16_t> causal_mask(const Problem& problem) {
  std::vector<ggml_fp16_t> mask;
  if (problem.causal == 0) return mask;
  const std::int64_t rows = (problem.Lq + kMaskRows - 1) / kMaskRows * kMaskRows, n = problem.Lkv;
  mask.resize(static_cast<std::size_t>(rows * n), ggml_fp32_to_fp16(-INFINITY));
  for (std::int64_t i = 0; i < problem.Lq; ++i)
    for (std::int64_t j = 0; j <= i + n - problem.Lq; ++j) mask[static_cast<std::size_t>(i * n + j)] = 0;
  return mask;
}

class Attention : public Graphs {
 public:
  Attention(const Problem& problem, bool flash)
      : Graphs(problem, problem.ragged() ? 8 * problem.batch : 16), mask_(causal_mask(problem)) {
    need(problem.D % ggml_blck_size(type_of(problem)) == 0, "D is not a multiple of its block of 32");
    for (int set = 0; set < problem.sets; ++set) {
      ggml_cgraph* graph = new_graph();
      if (!problem.ragged()) {
        add(graph, flash, set, 0, problem.batch, problem.Lkv);
      } else {
        for (int b = 0; b < problem.batch; ++b) add(graph, flash, set, b, 1, problem.lengths[b]);
      }
    }
  }

 private:
  // Sequences [first, first + count), all of n keys; their room is for Lkv.
  void add(ggml_cgraph* graph, bool flash, int set, std::int64_t first, std::int64_t count, std::int64_t n) {
    const Problem& p = problem_;
    const ggml_type type = type_of(p);
    const float scale = 1.0f / std::sqrt(static_cast<float>(p.D));
    const std::size_t row = ggml_row_size(type, p.D), sequence = row * static_cast<std::size_t>(p.Lkv) * p.Hkv;
    const std::size_t queries = static_cast<std::size_t>(p.Hq) * p.Lq * p.D * first;
    const auto part = [&](const void* data) { return static_cast<const char*>(data) + sequence * first; };

    ggml_tensor* q = tensor(GGML_TYPE_F32, p.q + queries, p.D, p.Lq, p.Hq, count);
    ggml_tensor* k = tensor(type, part(p.k[set]), p.D, n, p.Hkv, count);
    k->nb[2] = row * static_cast<std::size_t>(p.Lkv);
    k->nb[3] = sequence;
    ggml_tensor* mask = nullptr;
    if (!mask_.empty()) mask = tensor(GGML_TYPE_F16, mask_.data(), n, static_cast<std::int64_t>(mask_.size()) / n);
    ggml_tensor* out = nullptr;
    if (flash) {
      ggml_tensor* v = tensor(type, part(p.v[set]), p.D, n, p.Hkv, count);
      v->nb[2] = k->nb[2];
      v->nb[3] = sequence;
      out = ggml_flash_attn_ext(context_, q, k, v, mask, scale, 0, 0);
    } else {
      ggml_tensor* v = tensor(type, part(p.v[set]), n, p.D, p.Hkv, count);
      v->nb[1] = ggml_row_size(type, p.Lkv);
      v->nb[2] = v->nb[1] * static_cast<std::size_t>(p.D);
      v->nb[3] = sequence;
      ggml_tensor* scores = ggml_mul_mat(context_, k, q);
      scores->data = scratch(scores_, ggml_nbytes(scores));
      ggml_tensor* weights = ggml_soft_max_ext(context_, scores, mask, scale, 0);
      weights->data = scratch(weights_, ggml_nbytes(weights));
      out = ggml_mul_mat(context_, v, weights);
    }
    out->data = p.out[set] + queries;
    ggml_build_forward_expand(graph, out);
  }

  // Of the largest tensor, which is the first; the nodes run one after the other and can share it.
  static void* scratch(std::vector<char>& memory, std::size_t bytes) {
    if (memory.empty()) memory.resize(bytes + 64);
    return reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64);
  }

  std::vector<ggml_fp16_t> mask_;
  std::vector<char> scores_, weights_;
};

class Softmax : public Graphs {
 public:
  explicit Softmax(const Problem& problem) : Graphs(problem, 4) {
    for (int set = 0; set < problem.sets; ++set) {
      ggml_tensor* out = ggml_soft_max(context_, tensor(GGML_TYPE_F32, problem.k[set], problem.Lkv, problem.Lq));
      out->data = problem.out[set];
      ggml_build_forward_expand(new_graph(), out);
    }
  }
};

std::unique_ptr<Peer> make_flash(const Problem& problem) {
  if (problem.kind == kSoftmax) return std::make_unique<Softmax>(problem);
  need(problem.kind == kAttention, "attention and softmax only");
  return std::make_unique<Attention>(problem, true);
}

std::unique_ptr<Peer> make_products(const Problem& problem) {
  need(problem.kind == kAttention, "attention only");
  need(problem.type <= kF16, "llama.cpp keeps V by columns in f32 and f16");
  need(!problem.ragged(), "one length only");
  need(static_cast<std::int64_t>(problem.Lq) * problem.Lkv <= 2048 * 2048, "its scores would fill hundreds of MiB");
  return std::make_unique<Attention>(problem, false);
}

}  // namespace

#ifdef PEERS_GGML_RELEASE
#define PEERS_NAME(name) "ggml_O3_" name
#else
#define PEERS_NAME(name) "ggml_" name
#endif
// Flash attention leaves its result token by token.
const Entry kEntries[] = {{PEERS_NAME("flash"), kRows, kRows, kTokens, 1, 0, make_flash},
                          {PEERS_NAME("products"), kRows, kColumns, kRows, 1, 0, make_products},
                          {}};

}  // namespace peers
