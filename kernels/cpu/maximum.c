/* The gradient of a maximum, at the first place that holds it. */
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"

enum { PANEL = 64 };

/* Columns of one outer index: where each of them is largest, then its gradient there. */
static void spread(const lh_maximum_backward_args *args, int64_t outer, lh_range columns) {
    const int64_t first = outer * args->axis * args->inner;
    int64_t place[PANEL] = {0};
    for (int64_t a = 1; a < args->axis; ++a) {
        const real *x = args->x + first + a * args->inner;
        for (int64_t i = columns.begin; i < columns.end; ++i) {
            int64_t *best = &place[i - columns.begin];
            if (x[i] > args->x[first + *best * args->inner + i]) *best = a;
        }
    }
    for (int64_t a = 0; a < args->axis; ++a) {
        real *dx = args->dx + first + a * args->inner;
        for (int64_t i = columns.begin; i < columns.end; ++i) {
            const bool best = place[i - columns.begin] == a;
            const real value = best ? args->dy[outer * args->inner + i] : 0;
            dx[i] = args->write == LH_ADD ? dx[i] + value : value;
        }
    }
}

lh_status lh_cpu_maximum_backward(const lh_launch *launch, const lh_maximum_backward_args *args) {
    (void)launch;
    const int64_t panels = lh_chunk_count(args->inner, PANEL), tasks = args->outer * panels;
#pragma omp parallel for schedule(static) if (tasks > 1)
    for (int64_t task = 0; task < tasks; ++task)
        spread(args, task / panels, lh_chunk(args->inner, PANEL, task % panels));
    return LH_OK;
}
