/* OpenMP's threads do the work of one call. Compiled with -fopenmp; heed itself knows nothing of OpenMP. */
#include "heed/openmp.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>

enum { HEADS = 4, TOKENS = 300, D = 32, FLOATS = HEADS * TOKENS * D };

static float q[FLOATS], k[FLOATS], v[FLOATS], out[FLOATS], expected[FLOATS];

static void fill(float* x, unsigned seed) {
  for (int n = 0; n < FLOATS; ++n) {
    seed = seed * 1664525u + 1013904223u;
    x[n] = (float)(seed >> 8) / 8388608.0f - 1.0f;
  }
}

int main(void) {
  fill(q, 1);
  fill(k, 2);
  fill(v, 3);
  heed_attention_args args = {0};
  args.struct_size = sizeof args;
  args.B = 1;
  args.Hq = args.Hkv = HEADS;
  args.Lq = args.Lkv = TOKENS;
  args.D = args.Dv = D;
  args.q = (heed_tensor){q, 0, TOKENS * D, D, HEED_F32};
  args.k = (heed_tensor){k, 0, TOKENS * D, D, HEED_F32};
  args.v = (heed_tensor){v, 0, TOKENS * D, D, HEED_F32};
  args.causal = 1;

  heed_status status;
  args.out = (heed_tensor_out){expected, 0, TOKENS * D, D, HEED_F32};
  if (heed_attention(&args, &status) != HEED_OK) return fprintf(stderr, "%s\n", status.message), 1;
  args.out.data = out;
  args.executor = heed_openmp_executor(omp_get_max_threads());
  if (heed_attention(&args, &status) != HEED_OK) return fprintf(stderr, "%s\n", status.message), 1;

  const int same = memcmp(out, expected, sizeof out) == 0;
  printf("%d threads of OpenMP, the bits of one thread: %s\n", omp_get_max_threads(), same ? "yes" : "NO");
  return same ? 0 : 1;
}
