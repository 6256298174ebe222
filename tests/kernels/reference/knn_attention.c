/* Attention to the nearest keys of a ring, found one after the other, and its gradients. */
#include "tests/kernels/reference/loops.h"

/* The key of slot `slot` or the value, both [batch][capacity][heads][head_width]. */
static const number *memory_row(const real *memory, const lh_knn_attention_forward_args *args,
                                int64_t b, int64_t slot, int64_t h) {
    const number *data = (const void *)memory;
    return data + ((b * args->capacity + slot) * args->heads + h) * args->head_width;
}

/* NaN is best of all, of equals the lower slot. */
static bool is_better(number a, number b) {
    return isnan(a) ? !isnan(b) : a > b;
}

/* The best slot that is not yet in chosen[0 .. rank-1], -1 when none is left. */
static int64_t next_nearest(const lh_knn_attention_forward_args *args, const number *q, int64_t b,
                            int64_t h, const int32_t *chosen, int64_t rank) {
    const int64_t held = args->count[b] < args->capacity ? args->count[b] : args->capacity;
    int64_t best = -1;
    number best_score = 0;
    for (int64_t slot = 0; slot < held; slot++) {
        bool taken = false;
        for (int64_t r = 0; r < rank; r++)
            taken |= chosen[r] == slot;
        const number score = inner(q, memory_row(args->k, args, b, slot, h), args->head_width);
        if (taken || (best >= 0 && !is_better(score, best_score))) continue;
        best = slot;
        best_score = score;
    }
    return best;
}

static void attend_nearest(const lh_knn_attention_forward_args *args, int64_t b, int64_t i,
                           int64_t h) {
    const int64_t at = ((b * args->queries + i) * args->heads + h) * args->top;
    const number *q = row_of(&args->q, b, i, h), *scales = (const void *)args->head_scale;
    const number scale = scales == NULL ? 1 : scales[h];
    number *weight = (number *)(void *)args->weight + at, *out = row_of(&args->out, b, i, h);
    int32_t *index = args->index + at;
    number most = -(number)INFINITY, sum = 0;
    for (int64_t r = 0; r < args->top; r++) {
        index[r] = (int32_t)next_nearest(args, q, b, h, index, r);
        weight[r] = 0;
        if (index[r] < 0) continue;
        weight[r] = scale * inner(q, memory_row(args->k, args, b, index[r], h), args->head_width);
        most = larger(most, weight[r]);
    }
    most = shift_of(most);
    for (int64_t r = 0; r < args->top; r++)
        if (index[r] >= 0) sum += exp(weight[r] - most);
    for (int64_t d = 0; d < args->head_width; d++)
        out[d] = 0;
    for (int64_t r = 0; r < args->top; r++) {
        if (index[r] < 0) continue;
        weight[r] = sum == 0 ? 0 : exp(weight[r] - most) / sum;
        for (int64_t d = 0; d < args->head_width; d++)
            out[d] += weight[r] * memory_row(args->v, args, b, index[r], h)[d];
    }
}

void REFERENCE(knn_attention_forward)(const void *arguments) {
    const lh_knn_attention_forward_args *args = arguments;
    for (int64_t b = 0; b < args->batch; b++)
        for (int64_t i = 0; i < args->queries; i++)
            for (int64_t h = 0; h < args->heads; h++)
                attend_nearest(args, b, i, h);
}

/* The contract leaves the order of the chosen free: by slot, those that are missing last. */
void REFERENCE(knn_order)(const void *arguments) {
    const lh_knn_attention_forward_args *args = arguments;
    for (int64_t row = 0; row < args->batch * args->queries * args->heads; row++) {
        int32_t *index = args->index + row * args->top;
        number *weight = (number *)(void *)args->weight + row * args->top;
        for (int64_t i = 1; i < args->top; i++) {
            for (int64_t j = i; j > 0 && (uint32_t)index[j] < (uint32_t)index[j - 1]; j--) {
                const int32_t slot = index[j];
                const number kept = weight[j];
                index[j] = index[j - 1];
                weight[j] = weight[j - 1];
                index[j - 1] = slot;
                weight[j - 1] = kept;
            }
        }
    }
}

/* dS = w (dout.v - sum w dout.v); dq += scale dS k; dscale += dS q.k. */
static void attend_nearest_back(const lh_knn_attention_backward_args *args, int64_t b, int64_t i,
                                int64_t h) {
    const lh_knn_attention_forward_args shape = {
        .heads = args->heads, .capacity = args->capacity, .head_width = args->head_width};
    const int64_t at = ((b * args->queries + i) * args->heads + h) * args->top;
    const number *weight = (const number *)(const void *)args->weight + at;
    const number *q = row_of(&args->q, b, i, h), *dout = row_of(&args->dout, b, i, h);
    const number *scales = (const void *)args->head_scale;
    const int32_t *index = args->index + at;
    number *dhead_scale = (void *)args->dhead_scale;
    number mean = 0;
    for (int64_t r = 0; r < args->top; r++)
        if (index[r] >= 0)
            mean += weight[r] * inner_against(dout, memory_row(args->v, &shape, b, index[r], h),
                                              args->head_width);
    for (int64_t r = 0; r < args->top; r++) {
        if (index[r] < 0 || weight[r] == 0) continue;
        const number *k = memory_row(args->k, &shape, b, index[r], h);
        const number *v = memory_row(args->v, &shape, b, index[r], h);
        const number dscore = weight[r] * (inner(dout, v, args->head_width) - mean);
        add_scaled(&args->dq, b, i, h, (scales == NULL ? 1 : scales[h]) * dscore, k,
                   args->head_width);
        if (dhead_scale != NULL) dhead_scale[h] += dscore * inner(q, k, args->head_width);
    }
}

void REFERENCE(knn_attention_backward)(const void *arguments) {
    const lh_knn_attention_backward_args *args = arguments;
    const lh_attention_spec box = {
        .batch = args->batch, .heads = args->heads, .head_width = args->head_width};
    if (args->dq_write == LH_SET) clear_view(&box, &args->dq, args->queries);
    if (args->dhead_scale_write == LH_SET) clear_array(args->dhead_scale, args->heads);
    for (int64_t b = 0; b < args->batch; b++)
        for (int64_t i = 0; i < args->queries; i++)
            for (int64_t h = 0; h < args->heads; h++)
                attend_nearest_back(args, b, i, h);
}
