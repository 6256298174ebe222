/* Copies to shared memory that are asked for (cp.async): where they go holds no numbers from the
 * call on, as early as may be, and what was copied when the thread that asked waits, as late as may
 * be. kernels/cuda/mma.cuh has them in PTX. */
#ifndef LH_TESTS_CUDASIM_PTX_COPY_H
#define LH_TESTS_CUDASIM_PTX_COPY_H

void cudasim_copy_later(void *to, const void *from, bool there);
void cudasim_await_copies(void);

#endif
