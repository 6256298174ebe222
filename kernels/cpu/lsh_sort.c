/* Counting sort: one pass counts, one places; stable, so tokens of a bucket stay in order. */
#include <string.h>

#include "kernels/cpu/attention_inside.h"
#include "kernels/cpu/kernels_cpu.h"

/* Where each bucket starts, then where its next token goes. */
static size_t scratch_bytes(const lh_lsh_sort_args *args) {
    return lh_attention_align((size_t)(2 * args->buckets + 1) * sizeof(int32_t));
}

static void sort_row(const lh_lsh_sort_args *args, int64_t row, int32_t *start) {
    const int32_t length = (int32_t)args->length, chunk = (int32_t)lh_min(args->chunk, length);
    const int32_t *bucket = args->bucket + row * args->length;
    int32_t *order = args->order + row * args->length, *slot = args->slot + row * args->length;
    int32_t *first = args->first + row * args->length, *next = start + args->buckets + 1;
    memset(start, 0, (size_t)(args->buckets + 1) * sizeof *start);
    for (int32_t t = 0; t < length; ++t)
        start[bucket[t] + 1] += 1;
    for (int64_t b = 0; b < args->buckets; ++b)
        start[b + 1] += start[b];
    memcpy(next, start, (size_t)args->buckets * sizeof *next);
    for (int32_t t = 0; t < length; ++t) {
        const int32_t at = next[bucket[t]]++;
        const int32_t reach = (at / chunk - 1) * chunk, begin = start[bucket[t]];
        slot[t] = at;
        order[at] = t;
        first[t] = reach > begin ? reach : begin;
    }
}

size_t lh_cpu_lsh_sort_workspace(const lh_lsh_sort_args *args) {
    return (size_t)lh_attention_slots() * scratch_bytes(args);
}

lh_status lh_cpu_lsh_sort(const lh_launch *launch, const lh_lsh_sort_args *args) {
    uint8_t *memory = launch->workspace;
#pragma omp parallel for schedule(static) num_threads(lh_attention_threads()) if (args->rows > 1)
    for (int64_t row = 0; row < args->rows; ++row) {
        uint8_t *slot = memory + (size_t)lh_attention_thread() * scratch_bytes(args);
        sort_row(args, row, (int32_t *)(void *)slot);
    }
    return LH_OK;
}
