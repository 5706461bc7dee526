/* Loading the library leaves the floating-point environment alone: nothing in it was linked with what sets
 * flush-to-zero. usage: load LIBRARY, or without where the library was linked */
#include <dlfcn.h>
#include <fenv.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
/* What a program starts with: System V ABI, AMD64 supplement, 3.4.1. */
enum { INITIAL_WORD = 0x037F1F80 };
/* MXCSR without the exception flags, and the x87 control word. */
static unsigned control_word(void) {
  unsigned short x87 = 0;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  return (_mm_getcsr() & ~0x3Fu) | (unsigned)x87 << 16;
}
#else
enum { INITIAL_WORD = 0 };
static unsigned control_word(void) { return 0; }
#endif

static int has_changed(const char* what, unsigned before, int rounding) {
  if (control_word() == before && fegetround() == rounding) return 0;
  fprintf(stderr, "%s changed the floating-point environment: %08x to %08x\n", what, before, control_word());
  return 1;
}

typedef float (*dot_function)(const float*, const float*, long long);

#ifdef LINKED
#include "heed/heed.h"
static dot_function load(const char* library) {
  (void)library;
  return (dot_function)heed_dot;
}
#else
static dot_function load(const char* library) {
  dot_function dot = NULL;
  void* loaded = library != NULL ? dlopen(library, RTLD_NOW) : NULL;
  void* symbol = loaded != NULL ? dlsym(loaded, "heed_dot") : NULL;
  memcpy(&dot, &symbol, sizeof dot);
  return dot;
}
#endif

int main(int count, char** arguments) {
  (void)count;
  if (has_changed("starting the program", INITIAL_WORD, FE_TONEAREST)) return 1;
  const dot_function dot = load(arguments[1]);
  if (dot == NULL) {
    fprintf(stderr, "not loaded: %s\n", dlerror());
    return 1;
  }
  if (has_changed("loading", INITIAL_WORD, FE_TONEAREST)) return 1;
  const float x[2] = {3, 4};
  if (dot(x, x, 2) != 25.0f) {
    fprintf(stderr, "heed_dot is wrong\n");
    return 1;
  }
  return has_changed("a call", INITIAL_WORD, FE_TONEAREST);
}
