/* Tokens into a ring of the newest. */
#include <string.h>

#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"

/* Counts only matter modulo the capacity and up to it, so whole rings are taken off. */
static int32_t advanced(int64_t count, int64_t capacity) {
    if (count > 2 * capacity) count -= (count - capacity - 1) / capacity * capacity;
    return (int32_t)count;
}

lh_status lh_cpu_ring_append(const lh_launch *launch, const lh_ring_append_args *args) {
    (void)launch;
    const int64_t capacity = args->capacity, width = args->width;
    if (capacity == 0) return LH_OK;
    const int64_t first = lh_max(0, args->length - capacity), rows = args->length - first;
#pragma omp parallel for schedule(static) if (args->batch * rows * width > LH_CHUNK)
    for (int64_t n = 0; n < args->batch * rows; ++n) {
        const int64_t b = n / rows, t = first + n % rows;
        const int64_t slot = (args->count[b] + t) % capacity;
        memcpy(args->ring + (b * capacity + slot) * width, args->x + (b * args->length + t) * width,
               (size_t)width * sizeof(real));
    }
    for (int64_t b = 0; args->advance && b < args->batch; ++b)
        args->count[b] = advanced(args->count[b] + args->length, capacity);
    return LH_OK;
}
