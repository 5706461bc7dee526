// Eigen's expressions for the single kernels.
#include <Eigen/Dense>

#include "peer.hpp"

namespace peers {
namespace {

class Kernel : public Peer {
 public:
  explicit Kernel(const Problem& problem) : problem_(problem) {}

  void run(int set) override {
    using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    using Vector = Eigen::Map<const Eigen::VectorXf>;
    const Eigen::Index n = problem_.Lkv, D = problem_.D;
    const float* k = static_cast<const float*>(problem_.k[set]);
    float* out = problem_.out[set];
    if (problem_.kind == kDot) {
      out[0] = Vector(problem_.q, D).dot(Vector(k, D));
      return;
    }
    const Eigen::Map<const Matrix> matrix(k, n, D);
    if (problem_.kind == kScores) {
      Eigen::Map<Eigen::VectorXf>(out, n).noalias() = matrix * Vector(problem_.q, D);
    } else {
      Eigen::Map<Eigen::VectorXf>(out, D).noalias() = matrix.transpose() * Vector(problem_.q, n);
    }
  }

 private:
  Problem problem_;
};

std::unique_ptr<Peer> make(const Problem& problem) {
  need(problem.kind == kDot || problem.kind == kScores || problem.kind == kWeightedSum, "dot and its kin only");
  need(problem.threads == 1, "a kernel is one thread's");
  return std::make_unique<Kernel>(problem);
}

}  // namespace

const Entry kEntries[] = {{"eigen", kRows, kRows, kRows, 0, 0, make}, {}};

}  // namespace peers
