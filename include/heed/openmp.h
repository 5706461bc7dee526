/* An executor on OpenMP's threads, for C and C++. The file that includes this is compiled with -fopenmp; heed itself
 * knows nothing of OpenMP. */
#ifndef HEED_OPENMP_H
#define HEED_OPENMP_H

#include "heed/heed.h"

#if !defined(_OPENMP)
#error "heed/openmp.h needs a compiler with OpenMP on (-fopenmp)"
#endif

static inline void heed_openmp_parallel_for(void* context, int64_t count, void (*task)(void* task_context, int64_t t),
                                            void* task_context) {
  (void)context;
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t t = 0; t < count; ++t) task(task_context, t);
}

/* threads: how many tasks a call makes at most; OpenMP's own settings decide how many run at a time. */
static inline heed_executor heed_openmp_executor(int32_t threads) {
  heed_executor executor;
  executor.parallel_for = heed_openmp_parallel_for;
  executor.context = NULL;
  executor.threads = threads;
  return executor;
}

#endif
