// SimSIMD's dot product, of the instruction set that this is compiled for.
#define SIMSIMD_NATIVE_F16 0
#define SIMSIMD_NATIVE_BF16 0
#include <simsimd/simsimd.h>

#include "peer.hpp"

namespace peers {
namespace {

class Dot : public Peer {
 public:
  explicit Dot(const Problem& problem) : problem_(problem) {}

  void run(int set) override {
    simsimd_distance_t dot = 0;
    simsimd_dot_f32(problem_.q, static_cast<const float*>(problem_.k[set]), static_cast<simsimd_size_t>(problem_.D),
                    &dot);
    problem_.out[set][0] = static_cast<float>(dot);
  }

 private:
  Problem problem_;
};

std::unique_ptr<Peer> make(const Problem& problem) {
  need(problem.kind == kDot, "dot only");
  return std::make_unique<Dot>(problem);
}

}  // namespace

const Entry kEntries[] = {{"simsimd", kRows, kRows, kRows, 0, 0, make}, {}};

}  // namespace peers
