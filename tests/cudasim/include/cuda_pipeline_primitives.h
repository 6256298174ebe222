/* Copies to shared memory that are asked for (cp.async): made when the thread that asked waits, as
 * late as may be. */
#ifndef LH_TESTS_CUDASIM_CUDA_PIPELINE_PRIMITIVES_H
#define LH_TESTS_CUDASIM_CUDA_PIPELINE_PRIMITIVES_H

#include <stddef.h>

/* The last `zeros` of the bytes are not read but zeros. */
void __pipeline_memcpy_async(void *to, const void *from, size_t bytes, size_t zeros = 0);
void __pipeline_commit(void);
/* For all that was committed but the last `later` commits. */
void __pipeline_wait_prior(size_t later);

#endif
