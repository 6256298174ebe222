/* The largest few scores of each row: a heap finds the worst of them, and a second pass takes the
 * tokens that are no worse, in their order. */
#include "kernels/cpu/attention_inside.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/nearest.h"

static size_t heap_bytes(const lh_top_tokens_args *args) {
    return lh_attention_align((size_t)args->top * sizeof(lh_nearest_entry));
}

static void choose(const lh_top_tokens_args *args, int64_t row, lh_nearest_entry *heap) {
    const real *score = args->score + row * args->length;
    const int32_t first = (int32_t)(row / args->group * args->length);
    int32_t *index = args->index + row * args->top;
    lh_nearest nearest = {args->top, 0, heap};
    for (int64_t t = 0; t < args->length; ++t) {
        const lh_nearest_entry entry = {score[t], (int32_t)t};
        lh_nearest_add(&nearest, entry);
    }
    for (int64_t t = 0; t < args->length; ++t) {
        const lh_nearest_entry entry = {score[t], (int32_t)t};
        if (!lh_nearest_worse(entry, heap[0])) *index++ = first + (int32_t)t;
    }
}

size_t lh_cpu_top_tokens_workspace(const lh_top_tokens_args *args) {
    return (size_t)lh_attention_slots() * heap_bytes(args);
}

lh_status lh_cpu_top_tokens(const lh_launch *launch, const lh_top_tokens_args *args) {
    if (args->top == 0) return LH_OK;
    uint8_t *memory = launch->workspace;
    const bool large = args->rows * args->length > LH_CHUNK;
#pragma omp parallel for schedule(static) num_threads(lh_attention_threads()) if (large)
    for (int64_t row = 0; row < args->rows; ++row) {
        uint8_t *own = memory + (size_t)lh_attention_thread() * heap_bytes(args);
        choose(args, row, (lh_nearest_entry *)(void *)own);
    }
    return LH_OK;
}
