/* A device: its kernel table, its memory, its stream. The only place that knows which backends
 * exist. */
#ifndef LH_KERNELS_DEVICE_H
#define LH_KERNELS_DEVICE_H

#include "kernels/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum lh_device_kind { LH_CPU = 0, LH_CUDA } lh_device_kind;

typedef struct lh_device lh_device;
typedef struct lh_kernels lh_kernels; /* these are in kernels.h */
typedef struct lh_launch lh_launch;

/* Copies beside the work of a device's stream, between its memory and pinned host memory. What is
 * pinned are whole pages, none of them twice (lh_cpu_open_pages gives such blocks). A copy
 * begins when the stream has done what it was asked for before, and both sides stay as they are
 * until `join`: what the stream is asked for from then on waits for all copies. Not between
 * begin_step and end_step. */
typedef struct lh_device_copies {
    lh_status (*pin)(lh_device *, void *host, size_t bytes);
    void (*unpin)(lh_device *, void *host);
    lh_status (*in)(lh_device *, void *device_memory, const void *host, size_t bytes);
    lh_status (*out)(lh_device *, void *host, const void *device_memory, size_t bytes);
    lh_status (*join)(lh_device *);
} lh_device_copies;

/* What a backend gives. Raw memory only: caching and counting are the pool's work (engine/pool.h).
 */
struct lh_device {
    lh_device_kind kind;
    bool is_hollow; /* nothing lies behind its addresses (kernels/cost/ledger.h) */
    const lh_kernels *kernels;
    void *stream;
    lh_status (*allocate)(lh_device *, size_t bytes, void **out); /* 64-byte aligned */
    void (*release)(lh_device *, void *memory);
    lh_status (*upload)(lh_device *, void *device_memory, const void *host, size_t bytes);
    lh_status (*download)(lh_device *, void *host, const void *device_memory, size_t bytes);
    lh_status (*synchronize)(lh_device *);
    /* Optional, round the work of a step that repeats with the same sizes: the device may hold it
     * back until the end and start it as a whole. Everything else may be called in between. */
    lh_status (*begin_step)(lh_device *);
    lh_status (*end_step)(lh_device *);
    const lh_device_copies *copies; /* optional */
    /* Optional, for who has work under way that may never end: called before memory is taken or
     * given back, which waits for all that the device is asked for (harness/run/ranks_mpi.c). */
    void (*settle)(lh_device *);
    int64_t graphs_made; /* for steps so far; while steps repeat there are no more */
    void (*close)(lh_device *);
    const char *name;       /* "NVIDIA H100 80GB HBM3"; NULL: the processor */
    int64_t memory_bytes;   /* that were free on a GPU when it was opened */
    unsigned char uuid[16]; /* the same GPU has the same in every process; the processor has none */
};

/* Opens "cpu" (and "cuda" where built). On the CPU the kernel table is the best instruction set
 * that the processor has, or the one that LH_CPU_ISA=scalar|avx2|avx512 names. Fails: LH_EDEVICE
 * for an unknown name, one that this build lacks, or a GPU that is not there; lh_device_error says
 * which. Gives a device; close it. */
lh_status lh_device_open(const char *name, lh_device **out);

/* "cpu" with blocks that begin with a page and share none with others: home of what is pinned. */
lh_status lh_cpu_open_pages(lh_device **out);

/* "cuda" is from now on GPU number % count of those that CUDA shows; at first the first one. */
void lh_device_choose_gpu(int number);

/* What a device last failed at in this thread: the call, its place and the cause; "" when it never
 * did. Lends thread-local storage until the next failure. */
const char *lh_device_error(void);

/* Sets that text; for backends. */
void lh_device_explain(const char *format, ...);

/* NULL is allowed. */
void lh_device_close(lh_device *device);

/* The kernel tables of this build, for tests: index 0, 1, ...; NULL past the end. Those that this
 * machine cannot run are left out; that of the GPU is the last. */
const lh_kernels *lh_kernels_at(int index);

/* "cpu-avx512", "cuda" ... */
const char *lh_kernels_name(const lh_kernels *kernels);

/* Sets OpenBLAS to one thread (our OpenMP tiles parallelise) and the number of OpenMP threads;
 * 0 keeps OpenMP's default. */
void lh_cpu_set_threads(int threads);
int lh_cpu_threads(void);

/* The OpenBLAS core in use, e.g. "SkylakeX", and its version string. Lends static storage. */
const char *lh_blas_core(void);
const char *lh_blas_version(void);

/* The OpenBLAS core that this processor should run but that the library did not choose by itself,
 * or NULL when all is well. OPENBLAS_CORETYPE must then be set before the library loads (main.c
 * re-executes). */
const char *lh_blas_better_core(void);

#ifdef __cplusplus
}
#endif

#endif
