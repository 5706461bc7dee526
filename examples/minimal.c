/* minimal.cpp in C99: three tokens attend to each other. */
#include <stdio.h>

#include "heed/heed.h"

int main(void) {
  const float q[] = {1, 0, 0, 1, 1, 1}, k[] = {1, 1, 0, 1, 0, 0}, v[] = {0.5f, 0.5f, 1, 0, 0, 1};
  float out[6];

  heed_attention_args args = {0}; /* zero is every field's default */
  args.struct_size = sizeof args;
  args.B = args.Hq = args.Hkv = 1; /* one sequence, one head */
  args.Lq = args.Lkv = 3;          /* three tokens */
  args.D = args.Dv = 2;
  args.q = (heed_tensor){q, 6, 6, 2, HEED_F32}; /* from one sequence, head and token to the next */
  args.k = (heed_tensor){k, 6, 6, 2, HEED_F32};
  args.v = (heed_tensor){v, 6, 6, 2, HEED_F32};
  args.out = (heed_tensor_out){out, 6, 6, 2, HEED_F32};

  heed_status status;
  if (heed_attention(&args, &status) != HEED_OK) {
    fprintf(stderr, "%s\n", status.message);
    return 1;
  }
  for (int i = 0; i < 3; ++i) printf("token %d: %.4f %.4f\n", i + 1, out[2 * i], out[2 * i + 1]);
  return 0;
}
