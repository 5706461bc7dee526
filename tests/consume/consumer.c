/* What a program in C does with heed. Prints its results and their bits, the same in whatever way it was built. */
#include <heed/heed.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 2, TOKENS = 5, D = 3, FLOATS = HEADS * TOKENS * D };

static unsigned bits(float x) {
  uint32_t word;
  memcpy(&word, &x, sizeof word);
  return word;
}

static void* aligned(size_t bytes) { /* C99 has no aligned_alloc; given back when the program ends */
  char* memory = malloc(bytes + 63);
  return memory == NULL ? NULL : memory + (64 - (uintptr_t)memory % 64) % 64;
}

static void print(const char* what, const float* out) {
  printf("%s", what);
  for (int n = 0; n < FLOATS; ++n) printf(" %08x", bits(out[n]));
  printf("\n");
}

int main(void) {
  float q[FLOATS], k[FLOATS], v[FLOATS], out[FLOATS];
  for (int n = 0; n < FLOATS; ++n) {
    q[n] = (float)(n * 7 % 11 - 5) * 0.25f;
    k[n] = (float)(n * 5 % 13 - 6) * 0.25f;
    v[n] = (float)(n * 3 % 17 - 8) * 0.5f;
  }
  const float x[] = {3, 4, 12};
  printf("dot %g\n", (double)heed_dot(x, x, 3));
  const uint32_t small_bits[] = {0x00000400u, 0x3f800000u}; /* subnormal, and 1 */
  float small[2];
  memcpy(small, small_bits, sizeof small);
  printf("subnormal %08x\n", bits(heed_dot(&small[0], &small[1], 1)));

  heed_status status;
  heed_attention_args args = {0};
  args.struct_size = sizeof args;
  args.B = 1;
  args.Hq = args.Hkv = HEADS;
  args.Lq = args.Lkv = TOKENS;
  args.D = args.Dv = D;
  args.causal = 1;
  args.q = (heed_tensor){q, 0, TOKENS * D, D, HEED_F32};
  args.k = (heed_tensor){k, 0, TOKENS * D, D, HEED_F32};
  args.v = (heed_tensor){v, 0, TOKENS * D, D, HEED_F32};
  args.out = (heed_tensor_out){out, 0, TOKENS * D, D, HEED_F32};
  if (heed_attention(&args, &status) != HEED_OK) goto failed;
  print("attention", out);

  heed_plan plan;
  if (heed_plan_make(&args, &plan, &status) != HEED_OK) goto failed;
  const size_t bytes = heed_plan_workspace_bytes(&plan);
  memset(out, 0, sizeof out);
  if (heed_plan_run(&plan, &args, aligned(bytes), bytes, &status) != HEED_OK) goto failed;
  print("plan", out);

  heed_cache_config config = {0};
  config.struct_size = sizeof config;
  config.Hkv = HEADS;
  config.D = config.Dv = D;
  config.page_size = 16;
  config.page_count = 1;
  config.max_sequences = 1;
  heed_cache* cache;
  int64_t sequence;
  const size_t cache_bytes = heed_cache_bytes(&config, &status);
  if (heed_cache_create(&config, aligned(cache_bytes), cache_bytes, &cache, &status) != HEED_OK) goto failed;
  if (heed_cache_open(cache, &sequence, &status) != HEED_OK) goto failed;
  if (heed_cache_append(cache, sequence, &args.k, &args.v, TOKENS, &status) != HEED_OK) goto failed;
  if (heed_cache_bind(cache, &sequence, 1, &args, &status) != HEED_OK) goto failed;
  memset(out, 0, sizeof out);
  if (heed_attention(&args, &status) != HEED_OK) goto failed;
  print("cache", out);
  return 0;

failed:
  fprintf(stderr, "%s\n", status.message);
  return 1;
}
