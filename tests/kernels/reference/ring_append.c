/* Rows into rings, token after token; the counts wrap as the contract says. */
#include "tests/kernels/reference/loops.h"

void REFERENCE(ring_append)(const void *arguments) {
    const lh_ring_append_args *args = arguments;
    const number *x = (const void *)args->x;
    number *ring = (void *)args->ring;
    for (int64_t b = 0; b < args->batch && args->capacity > 0; b++) {
        int64_t count = args->count[b];
        for (int64_t t = 0; t < args->length; t++, count++) {
            const number *from = x + (b * args->length + t) * args->width;
            number *to = ring + (b * args->capacity + count % args->capacity) * args->width;
            for (int64_t i = 0; i < args->width; i++)
                to[i] = from[i];
        }
        while (count > 2 * args->capacity)
            count -= args->capacity;
        if (args->advance) args->count[b] = (int32_t)count;
    }
}
