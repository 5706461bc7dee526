// The example of the README: three tokens attend to each other.
#include <cstdio>

#include "heed/heed.hpp"

int main() {
  const float q[] = {1, 0, 0, 1, 1, 1}, k[] = {1, 1, 0, 1, 0, 0}, v[] = {0.5f, 0.5f, 1, 0, 0, 1};
  float out[6];

  heed::AttentionArgs args;
  args.B = args.Hq = args.Hkv = 1;  // one sequence, one head
  args.Lq = args.Lkv = 3;           // three tokens
  args.D = args.Dv = 2;
  args.q = heed::heads_first(q, 1, 3, 2);
  args.k = heed::heads_first(k, 1, 3, 2);
  args.v = heed::heads_first(v, 1, 3, 2);
  args.out = heed::heads_first(out, 1, 3, 2);

  const heed::Status status = heed::attention(args);
  if (!status) return std::fprintf(stderr, "%s\n", status.message()), 1;
  for (int i = 0; i < 3; ++i) std::printf("token %d: %.4f %.4f\n", i + 1, out[2 * i], out[2 * i + 1]);
}
