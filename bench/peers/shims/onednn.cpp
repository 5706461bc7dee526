// oneDNN: scaled dot-product attention as a graph, which the library fuses where it knows how; causal by an additive
// mask. Its primitives for the single kernels.
#include <cmath>
#include <oneapi/dnnl/dnnl.hpp>
#include <oneapi/dnnl/dnnl_graph.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "peer.hpp"

namespace peers {
namespace {

namespace graph = dnnl::graph;
using Tensor = graph::logical_tensor;

dnnl::engine& engine() {
  static dnnl::engine the_one(dnnl::engine::kind::cpu, 0);
  return the_one;
}

class Attention : public Peer {
 public:
  explicit Attention(const Problem& problem) : stream_(engine()) {
    need(problem.type != kInt8, "no int8 keys and values");
    need(!problem.ragged(), "one length only");
    constexpr Tensor::data_type kTypes[] = {Tensor::data_type::f32, Tensor::data_type::f16, Tensor::data_type::bf16};
    const Tensor::data_type type = kTypes[problem.type], f32 = Tensor::data_type::f32;
    const std::int64_t B = problem.batch, Hkv = problem.Hkv, group = problem.group();
    const std::int64_t Lq = problem.Lq, Lkv = problem.Lkv, D = problem.D;
    scale_ = 1.0f / std::sqrt(static_cast<float>(D));
    if (problem.causal != 0) {
      mask_.resize(static_cast<std::size_t>(Lq * Lkv), -INFINITY);
      for (std::int64_t i = 0; i < Lq; ++i)
        for (std::int64_t j = 0; j <= i + Lkv - Lq; ++j) mask_[static_cast<std::size_t>(i * Lkv + j)] = 0;
    }

    std::size_t id = 0;
    const auto tensor = [&](Tensor::data_type kind, const Tensor::dims& dims) {
      return Tensor(id++, kind, dims, Tensor::layout_type::strided);
    };
    // A group of one needs no axis, and the pattern of four is better known to the library.
    const auto shaped = [&](std::int64_t heads, std::int64_t rows, std::int64_t columns) {
      return group == 1 ? Tensor::dims{B, Hkv, rows, columns} : Tensor::dims{B, Hkv, heads, rows, columns};
    };
    const Tensor q = tensor(type, shaped(group, Lq, D)), k = tensor(type, shaped(1, Lkv, D));
    const Tensor v = tensor(type, shaped(1, Lkv, D)), scale = tensor(f32, {1});
    const Tensor mask = tensor(f32, group == 1 ? Tensor::dims{1, 1, Lq, Lkv} : Tensor::dims{1, 1, 1, Lq, Lkv});
    const Tensor raw = tensor(f32, shaped(group, Lq, Lkv)), scaled = tensor(f32, shaped(group, Lq, Lkv));
    const Tensor masked = tensor(f32, shaped(group, Lq, Lkv)), weights = tensor(type, shaped(group, Lq, Lkv));
    const Tensor out = tensor(type, shaped(group, Lq, D));

    graph::op scores(100, graph::op::kind::MatMul, {q, k}, {raw}, "scores");
    scores.set_attr<bool>(graph::op::attr::transpose_b, true);
    const graph::op multiply(101, graph::op::kind::Multiply, {raw, scale}, {scaled}, "scale");
    const graph::op add(102, graph::op::kind::Add, {scaled, mask}, {masked}, "mask");
    graph::op softmax(103, graph::op::kind::SoftMax, {mask_.empty() ? scaled : masked}, {weights}, "softmax");
    softmax.set_attr<std::int64_t>(graph::op::attr::axis, -1);
    softmax.set_attr<std::string>(graph::op::attr::mode, "inf_as_zero");
    const graph::op sum(104, graph::op::kind::MatMul, {weights, v}, {out}, "sum");

    graph::graph whole(dnnl::engine::kind::cpu);
    whole.add_op(scores);
    whole.add_op(multiply);
    if (!mask_.empty()) whole.add_op(add);
    whole.add_op(softmax);
    whole.add_op(sum);
    whole.finalize();
    const auto parts = whole.get_partitions();
    need(parts.size() == 1 && parts[0].is_supported(), "not fused into one partition");
    const auto inputs = parts[0].get_input_ports(), outputs = parts[0].get_output_ports();
    compiled_ = parts[0].compile(inputs, outputs, engine());
    for (int set = 0; set < problem.sets; ++set) {
      const auto memory = [&](const Tensor& port) -> void* {
        const std::size_t which = port.get_id();
        if (which == q.get_id()) return const_cast<float*>(problem.q);
        if (which == k.get_id()) return const_cast<void*>(problem.k[set]);
        if (which == v.get_id()) return const_cast<void*>(problem.v[set]);
        if (which == scale.get_id()) return &scale_;
        if (which == mask.get_id()) return mask_.data();
        return problem.out[set];
      };
      std::vector<graph::tensor>& in = inputs_.emplace_back();
      for (const Tensor& port : inputs) in.emplace_back(port, engine(), memory(port));
      std::vector<graph::tensor>& results = outputs_.emplace_back();
      for (const Tensor& port : outputs) results.emplace_back(port, engine(), memory(port));
    }
  }

  void run(int set) override {
    compiled_.execute(stream_, inputs_[static_cast<std::size_t>(set)], outputs_[static_cast<std::size_t>(set)]);
    stream_.wait();
  }

 private:
  dnnl::stream stream_;
  graph::compiled_partition compiled_;
  std::vector<std::vector<graph::tensor>> inputs_, outputs_;
  std::vector<float> mask_;
  float scale_ = 1;
};

class Primitive : public Peer {
 public:
  explicit Primitive(const Problem& problem) : stream_(engine()) {
    using dnnl::memory;
    const auto matrix = [](std::int64_t rows, std::int64_t columns, bool transposed = false) {
      return memory::desc({rows, columns}, memory::data_type::f32,
                          transposed ? memory::format_tag::ba : memory::format_tag::ab);
    };
    const std::int64_t n = problem.Lkv, D = problem.D;
    memory::desc first, second, result;
    if (problem.kind == kSoftmax) {
      first = result = matrix(problem.Lq, n);
      primitive_ = dnnl::softmax_forward(dnnl::softmax_forward::primitive_desc(
          engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::softmax_accurate, first, result, 1));
    } else {
      const bool scores = problem.kind == kScores;
      first = matrix(1, scores ? D : n);
      second = scores ? matrix(D, n, true) : matrix(n, D);
      result = matrix(1, scores ? n : D);
      primitive_ = dnnl::matmul(dnnl::matmul::primitive_desc(engine(), first, second, result));
    }
    for (int set = 0; set < problem.sets; ++set) {
      void* k = const_cast<void*>(problem.k[set]);
      auto& arguments = arguments_.emplace_back();
      arguments.emplace(DNNL_ARG_DST, memory(result, engine(), problem.out[set]));
      if (problem.kind == kSoftmax) {
        arguments.emplace(DNNL_ARG_SRC, memory(first, engine(), k));
      } else {
        arguments.emplace(DNNL_ARG_SRC, memory(first, engine(), const_cast<float*>(problem.q)));
        arguments.emplace(DNNL_ARG_WEIGHTS, memory(second, engine(), k));
      }
    }
  }

  void run(int set) override {
    primitive_.execute(stream_, arguments_[static_cast<std::size_t>(set)]);
    stream_.wait();
  }

 private:
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::vector<std::unordered_map<int, dnnl::memory>> arguments_;
};

std::unique_ptr<Peer> make(const Problem& problem) {
  if (problem.kind == kAttention) return std::make_unique<Attention>(problem);
  need(problem.kind != kDot, "no dot product");
  return std::make_unique<Primitive>(problem);
}

}  // namespace

const Entry kEntries[] = {{"onednn", kRows, kRows, kRows, 0, 1, make}, {}};

}  // namespace peers
