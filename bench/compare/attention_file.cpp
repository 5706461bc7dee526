// Attention files: which computations they give rise to and what they expect of them.
#include <utility>

#include "file_case.hpp"
#include "problem.hpp"

namespace heed::compare {
namespace {

using Shape = std::vector<std::int64_t>;

// [B, L, H*D] to [B, H, L, D], the order in which results are compared.
std::vector<double> heads_first(const std::vector<double>& packed, const heed_attention_args& args) {
  std::vector<double> out;
  out.reserve(packed.size());
  for (std::int64_t b = 0; b < args.B; ++b) {
    for (std::int64_t h = 0; h < args.Hq; ++h) {
      for (std::int64_t i = 0; i < args.Lq; ++i) {
        const auto row = packed.begin() + ((b * args.Lq + i) * args.Hq + h) * args.Dv;
        out.insert(out.end(), row, row + args.Dv);
      }
    }
  }
  return out;
}

// What the file expects of a result; where it states no tolerance, the computed bounds.
class Expectations {
 public:
  Expectations(const Safetensors& file, const Attributes& attributes, const Problem& problem)
      : file_(file), attributes_(attributes), problem_(problem) {}

  Expectation out(const std::string& tolerance) {
    const heed_attention_args& args = problem_.args;
    Expectation e{{}, tolerance_of(tolerance, &Bounds::out)};
    if (!find_tensor(file_, "out")) return e;
    const bool packed = attributes_.text("layout", "bhld") == "blhd";
    const Shape shape = packed ? Shape{args.B, args.Lq, args.Hq * args.Dv} : Shape{args.B, args.Hq, args.Lq, args.Dv};
    e.values = doubles(tensor_of(file_, "out", shape), "out");
    if (packed) e.values = heads_first(e.values, args);
    return e;
  }

  Expectation lse(const std::string& name) {
    const heed_attention_args& args = problem_.args;
    Expectation e{{}, tolerance_of("atol_lse", &Bounds::lse)};
    if (find_tensor(file_, name)) e.values = doubles(tensor_of(file_, name, {args.B, args.Hq, args.Lq}), name);
    return e;
  }

  Expectation view(const std::string& name, const std::string& tolerance, heed_inspect what) {
    const heed_attention_args& args = problem_.args;
    return {doubles(tensor_of(file_, name, {args.B, args.Hq, args.Lq, args.Lkv}), name),
            tolerance_of(tolerance, what == HEED_WEIGHTS ? &Bounds::weights : &Bounds::scores)};
  }

 private:
  std::vector<double> tolerance_of(const std::string& attribute, std::vector<double> Bounds::*computed) {
    if (attributes_.has(attribute)) return {attributes_.number(attribute, 0)};
    if (!bounds_) bounds_ = std::make_unique<Bounds>(bounds(problem_));
    return (*bounds_).*computed;
  }

  const Safetensors& file_;
  const Attributes& attributes_;
  const Problem& problem_;
  std::unique_ptr<Bounds> bounds_;
};

// The hand example's logits and weights need no inspection: the kernels give them one by one.
void add_kernels(const Safetensors& file, const Problem& problem, Expectations& expectations, Case& c) {
  KernelExpectations expected;
  if (find_tensor(file, "logits") && problem.args.B * problem.args.Hq == 1) {
    expected.scores.values = expectations.view("logits", "", HEED_SCORES_BIASED).values;
    if (find_tensor(file, "weights")) expected.weights.values = expectations.view("weights", "", HEED_WEIGHTS).values;
    expected.out.values = expectations.out("atol_out").values;
    expected.lse.values = expectations.lse("lse").values;
  }
  for (Computation& computation : kernel_computations(problem, expected))
    c.computations.push_back(std::move(computation));
}

void add_views(const Safetensors& file, const Attributes& attributes, SharedProblem problem, Expectations& expectations,
               Case& c) {
  const auto add = [&](const std::string& name, const std::string& tolerance, heed_inspect what) {
    c.computations.push_back(view_computation(problem, what, expectations.view(name, tolerance, what)));
  };
  const std::string mode = attributes.text("qk_mode", "none");
  if (mode != "none") {
    const std::int64_t what = attributes.integer("qk_mode", 0);
    if (what < HEED_SCORES_SCALED || what > HEED_WEIGHTS) throw Unsupported("qk_mode " + mode);
    add("qk", "atol_qk", static_cast<heed_inspect>(what));
  } else if (find_tensor(file, "qk")) {
    throw FileError("tensor 'qk' without attribute qk_mode");
  }
  if (problem->plain() && problem->args.B * problem->args.Hq == 1) return;  // see add_kernels
  if (find_tensor(file, "logits")) add("logits", "", HEED_SCORES_BIASED);
  if (find_tensor(file, "weights")) add("weights", "", HEED_WEIGHTS);
}

// A file's present_k and present_v are past and new tokens joined: the same bytes as what heed was given.
void check_present(const Safetensors& file, const std::string& name, const std::vector<std::byte>& joined, Case& c) {
  const Tensor* present = find_tensor(file, name);
  if (present && present->bytes != joined) c.complaints.push_back(name + " is not the past and the new tokens joined");
}

}  // namespace

Case attention_case(const Safetensors& file) {
  const Attributes attributes(file.metadata);
  const SharedProblem problem = attention_problem(file);
  Case c;
  c.description = describe(problem->args);
  Expectations expectations(file, attributes, *problem);
  c.computations.push_back(attention_computation(problem, expectations.out("atol_out"), expectations.lse("lse")));
  if (attributes.has("atol_out_stored"))
    c.computations.push_back(stored_computation(problem, expectations.out("atol_out_stored")));
  if (find_tensor(file, "lse_keys"))
    c.computations.push_back(sinkless_computation(problem, expectations.lse("lse_keys")));
  add_views(file, attributes, problem, expectations, c);
  if (problem->plain()) add_kernels(file, *problem, expectations, c);
  check_present(file, "present_k", problem->k, c);
  check_present(file, "present_v", problem->v, c);
  return c;
}

}  // namespace heed::compare
