/* Softmax cross-entropy of a chunk of rows, a warp to a row: its value and, in place of the logits,
 * its gradient. */
#include "kernels/cuda/warp.cuh"

/* The largest element of a row and where it stands; the first of equals. */
typedef struct peak {
    real value;
    int64_t at;
} peak;

__device__ static inline peak row_peak(const real *x, int64_t count, int lane) {
    peak best = {x[0], 0};
    for (int64_t v = lane; v < count; v += LH_WARP)
        if (x[v] > best.value) best = {x[v], v};
    for (int bits = LH_WARP / 2; bits > 0; bits /= 2) {
        const peak other = {__shfl_xor_sync(0xffffffffu, best.value, bits),
                            __shfl_xor_sync(0xffffffffu, best.at, bits)};
        const bool wins =
            other.value > best.value || (other.value == best.value && other.at < best.at);
        if (wins) best = other;
    }
    return best;
}

__device__ static inline real row_least(const real *x, int64_t count, int lane) {
    real least = x[0];
    for (int64_t v = lane; v < count; v += LH_WARP)
        least = fminf(least, x[v]);
    for (int bits = LH_WARP / 2; bits > 0; bits /= 2)
        least = fminf(least, __shfl_xor_sync(0xffffffffu, least, bits));
    return least;
}

__device__ static inline void clear_row(const lh_cross_entropy_args &a, int64_t row, int lane) {
    for (int64_t v = lane; v < a.vocabulary && a.gradient; v += LH_WARP)
        a.x[row * a.vocabulary + v] = 0;
    if (lane != 0) return;
    a.loss[row] = 0;
    if (a.correct != NULL) a.correct[row] = 0;
}

__device__ static inline void score_row(const lh_cross_entropy_args &a, int64_t row, int lane,
                                        real weight) {
    real *x = a.x + row * a.vocabulary, sum = 0;
    const int64_t target = a.target[row];
    const peak best = row_peak(x, a.vocabulary, lane);
    /* the logit that scale turns into the largest */
    const real most = a.scale >= 0 ? best.value : row_least(x, a.vocabulary, lane);
    const real aimed = x[target];
    for (int64_t v = lane; v < a.vocabulary; v += LH_WARP)
        sum += expf(a.scale * (x[v] - most));
    sum = lh_warp_sum(sum);
    __syncwarp();
    if (lane == 0) {
        a.loss[row] = weight * (logf(sum) - a.scale * (aimed - most));
        if (a.correct != NULL) a.correct[row] = target == best.at ? 1 : 0;
    }
    if (!a.gradient) return;
    const real factor = weight * a.scale * (a.gradient_scale != NULL ? *a.gradient_scale : 1);
    for (int64_t v = lane; v < a.vocabulary; v += LH_WARP)
        x[v] = factor * (expf(a.scale * (x[v] - most)) / sum - (v == target ? 1 : 0));
}

lh_status lh_cuda_cross_entropy(const lh_launch *launch, const lh_cross_entropy_args *args) {
    const lh_cross_entropy_args a = *args;
    int32_t *fault = lh_stream_of(launch)->fault;
    return lh_each_row(launch, a.rows, [=] __device__(int64_t row, int lane) {
        const real weight = a.weight != NULL ? a.weight[row] : 1;
        const bool valid = weight == 0 || (a.target[row] >= 0 && a.target[row] < a.vocabulary);
        if (!valid && lane == 0) lh_raise(fault, LH_KERNEL_cross_entropy);
        if (weight == 0 || !valid) {
            clear_row(a, row, lane);
        } else {
            score_row(a, row, lane, weight);
        }
    });
}
