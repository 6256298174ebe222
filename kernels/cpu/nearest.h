/* The best few of a stream of scores. */
#ifndef LH_KERNELS_CPU_NEAREST_H
#define LH_KERNELS_CPU_NEAREST_H

#include "kernels/base.h"

typedef struct lh_nearest_entry {
    real score;
    int32_t slot;
} lh_nearest_entry;

/* A heap of up to `top` entries with the worst at its root. */
typedef struct lh_nearest {
    int64_t top, size;
    lh_nearest_entry *entry; /* borrowed [top] */
} lh_nearest;

/* A larger score is better, of equals the lower slot; NaN is best of all, so that it is not lost.
 */
static inline bool lh_nearest_worse(lh_nearest_entry a, lh_nearest_entry b) {
    const bool a_nan = a.score != a.score, b_nan = b.score != b.score;
    if (a_nan != b_nan) return b_nan;
    if (!a_nan && a.score != b.score) return a.score < b.score;
    return a.slot > b.slot;
}

static inline void lh_nearest_sink(lh_nearest *nearest, int64_t hole, lh_nearest_entry value) {
    lh_nearest_entry *entry = nearest->entry;
    for (int64_t child = 2 * hole + 1; child < nearest->size; child = 2 * hole + 1) {
        if (child + 1 < nearest->size && lh_nearest_worse(entry[child + 1], entry[child])) ++child;
        if (!lh_nearest_worse(entry[child], value)) break;
        entry[hole] = entry[child];
        hole = child;
    }
    entry[hole] = value;
}

static inline void lh_nearest_add(lh_nearest *nearest, lh_nearest_entry value) {
    lh_nearest_entry *entry = nearest->entry;
    if (nearest->size == nearest->top) {
        if (nearest->top > 0 && lh_nearest_worse(entry[0], value))
            lh_nearest_sink(nearest, 0, value);
        return;
    }
    int64_t hole = nearest->size++;
    for (; hole > 0 && lh_nearest_worse(value, entry[(hole - 1) / 2]); hole = (hole - 1) / 2)
        entry[hole] = entry[(hole - 1) / 2];
    entry[hole] = value;
}

/* Turns the heap into a list, best first. The heap is then used up. */
static inline void lh_nearest_sort(lh_nearest *nearest) {
    const int64_t size = nearest->size;
    while (nearest->size > 1) {
        const lh_nearest_entry worst = nearest->entry[0];
        const lh_nearest_entry last = nearest->entry[--nearest->size];
        lh_nearest_sink(nearest, 0, last);
        nearest->entry[nearest->size] = worst;
    }
    nearest->size = size;
}

#endif
