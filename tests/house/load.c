/* Loading the library leaves the floating-point environment alone: nothing in it was linked with what sets
 * flush-to-zero. usage: load LIBRARY */
#include <dlfcn.h>
#include <fenv.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
static unsigned control_word(void) { return _mm_getcsr() & ~0x3Fu; } /* without the exception flags */
#else
static unsigned control_word(void) { return 0; }
#endif

typedef float (*dot_function)(const float*, const float*, long long);

int main(int count, char** arguments) {
  const unsigned before = control_word();
  const int rounding = fegetround();
  void* library = count == 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
  if (library == NULL) {
    fprintf(stderr, "not loaded: %s\n", count == 2 ? dlerror() : "which library?");
    return 1;
  }
  if (control_word() != before || fegetround() != rounding) {
    fprintf(stderr, "loading changed the floating-point environment: %04x to %04x\n", before, control_word());
    return 1;
  }
  dot_function dot;
  void* symbol = dlsym(library, "heed_dot");
  memcpy(&dot, &symbol, sizeof dot);
  const float x[2] = {3, 4};
  if (symbol == NULL || dot(x, x, 2) != 25.0f) {
    fprintf(stderr, "heed_dot is wrong or missing\n");
    return 1;
  }
  if (control_word() != before || fegetround() != rounding) {
    fprintf(stderr, "a call changed the floating-point environment: %04x to %04x\n", before, control_word());
    return 1;
  }
  return 0;
}
