/* How the CPU kernels cut their work.
 *
 * Every cut is a function of the shape alone, never of the number of threads: chunk i is the same
 * elements whoever runs it, and partial sums are joined in chunk order. That is what makes one,
 * two and three threads give the same bits. The usual loop:
 *
 *   const int64_t chunks = lh_chunk_count(count, LH_CHUNK);
 *   #pragma omp parallel for schedule(static) if (chunks > 1)
 *   for (int64_t i = 0; i < chunks; ++i) {
 *       const lh_range range = lh_chunk(count, LH_CHUNK, i);
 *       ...
 *   }
 *
 * A region costs about half a microsecond, so work of one chunk runs serially. Where `if` says no,
 * libgomp still makes a team of one and wakes nobody through a system call, a third of a
 * microsecond: kernels that a token-by-token model calls for each token use lh_each_task, which
 * enters no region then. */
#ifndef LH_KERNELS_CPU_PARALLEL_H
#define LH_KERNELS_CPU_PARALLEL_H

#include "kernels/base.h"

/* Elements per chunk of a cheap elementwise loop: about two microseconds of work. */
#define LH_CHUNK ((int64_t)16384)

typedef struct lh_range {
    int64_t begin, end; /* begin <= i < end */
} lh_range;

static inline lh_range lh_chunk(int64_t count, int64_t size, int64_t index) {
    const lh_range range = {index * size, lh_min(count, (index + 1) * size)};
    return range;
}

/* Rows per chunk, so that a chunk holds about LH_CHUNK elements. */
static inline int64_t lh_rows_per_chunk(int64_t width) {
    return lh_max(1, LH_CHUNK / lh_max(1, width));
}

/* Task `index` of a kernel whose arguments are `context`. */
typedef void lh_task(const void *context, int64_t index);

/* Runs all tasks, each for itself. */
static inline void lh_each_task(int64_t count, bool parallel, lh_task *run, const void *context) {
    if (!parallel) {
        for (int64_t i = 0; i < count; ++i)
            run(context, i);
        return;
    }
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; ++i)
        run(context, i);
}

/* Chunk `index` of so many rows, and a task for each chunk. */
static inline lh_range lh_row_chunk(int64_t rows, int64_t width, int64_t index) {
    return lh_chunk(rows, lh_rows_per_chunk(width), index);
}

static inline void lh_each_row_chunk(int64_t rows, int64_t width, lh_task *run,
                                     const void *context) {
    const int64_t chunks = lh_chunk_count(rows, lh_rows_per_chunk(width));
    lh_each_task(chunks, chunks > 1, run, context);
}

#endif
