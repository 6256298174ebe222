/* Softmax cross-entropy of a chunk of rows: its value and its gradient, in place of the logits or
 * beside them. A warp takes a row; a block does where rows are long. */
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/warp.cuh"

enum { LONG_ROW = 2048 };

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

template <typename element>
__device__ static inline void clear_row(const lh_cross_entropy_args &a, int64_t row, int lane) {
    for (int64_t v = lane; v < a.vocabulary && a.gradient; v += LH_WARP)
        lh_store(lh_elements<element>(a.dx) + row * a.leading + v, LH_SET, 0);
    if (lane != 0) return;
    a.loss[row] = 0;
    if (a.correct != NULL) a.correct[row] = 0;
}

/* Zeros behind a row's gradient, by so many threads. */
template <typename element>
__device__ static inline void clear_padding(const lh_cross_entropy_args &a, int64_t row, int thread,
                                            int threads) {
    for (int64_t v = a.vocabulary + thread; v < a.leading && a.gradient; v += threads)
        lh_store(lh_elements<element>(a.dx) + row * a.leading + v, LH_SET, 0);
}

template <typename element>
__device__ static inline void score_row(const lh_cross_entropy_args &a, int64_t row, int lane,
                                        real weight) {
    const real *x = a.x + row * a.leading;
    real sum = 0;
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
        lh_store(lh_elements<element>(a.dx) + row * a.leading + v, LH_SET,
                 factor * (expf(a.scale * (x[v] - most)) / sum - (v == target ? 1 : 0)));
}

/* ---- long rows ---- */

/* Of some logits: the largest, the first place where it stands, and the sum of
 * exp(scale * (logit - largest)), kept up to date as they arrive (Milakov and Gimelshein 2018). */
typedef struct part {
    real most, sum;
    int64_t at;
} part;

/* A sum as it is when `most` is the largest. */
__device__ static inline real rescaled(real scale, const part &one, real most) {
    return one.sum == 0 ? 0 : one.sum * expf(scale * (one.most - most));
}

__device__ static inline part join(real scale, const part &a, const part &b) {
    const bool second = b.most > a.most || (b.most == a.most && b.at < a.at);
    part out = second ? b : a;
    out.sum = rescaled(scale, a, out.most) + rescaled(scale, b, out.most);
    return out;
}

/* The logits from `begin` on, at most four, of `count`. */
__device__ static inline part part_of(real scale, const lh_run &run, int64_t begin, int64_t count) {
    part out = {run.at[0], 0, begin};
    LH_UNROLL
    for (int n = 1; n < LH_RUN; ++n)
        if (begin + n < count && run.at[n] > out.most) out = {run.at[n], 0, begin + n};
    LH_UNROLL
    for (int n = 0; n < LH_RUN; ++n)
        if (begin + n < count && run.at[n] != -INFINITY)
            out.sum += expf(scale * (run.at[n] - out.most));
    return out;
}

/* Joins the parts of all threads, for all of them. */
__device__ static inline part join_block(real scale, part own, part *shared) {
    shared[threadIdx.x] = own;
    __syncthreads();
    for (unsigned half = LH_THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            shared[threadIdx.x] = join(scale, shared[threadIdx.x], shared[threadIdx.x + half]);
        __syncthreads();
    }
    return shared[0];
}

template <typename element>
__device__ static inline void write_gradient(const lh_cross_entropy_args &a, const real *x,
                                             int64_t target, real factor, const part &all,
                                             element *dx) {
    for (int64_t v = threadIdx.x * LH_RUN; v < a.vocabulary; v += LH_THREADS * LH_RUN) {
        lh_run run = lh_load_run(x, v, a.vocabulary);
        LH_UNROLL
        for (int n = 0; n < LH_RUN; ++n)
            run.at[n] = factor * (expf(a.scale * (run.at[n] - all.most)) / all.sum -
                                  (v + n == target ? 1 : 0));
        lh_store_run(dx, v, a.vocabulary, LH_SET, run);
    }
}

/* A block's work. A scale that is negative would turn the least logit into the largest. */
template <typename element>
__global__ void __launch_bounds__(LH_THREADS)
    score_long_rows(lh_cross_entropy_args a, int32_t *fault) {
    LH_SHARED(part, shared, [LH_THREADS]);
    for (int64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
        const real weight = a.weight != NULL ? a.weight[row] : 1;
        const int64_t target = a.target[row];
        const bool valid = weight == 0 || (target >= 0 && target < a.vocabulary);
        const real *x = a.x + row * a.leading;
        part own = {-INFINITY, 0, a.vocabulary};
        if (!valid && threadIdx.x == 0) lh_raise(fault, LH_KERNEL_cross_entropy);
        clear_padding<element>(a, row, (int)threadIdx.x, LH_THREADS);
        if (weight == 0 || !valid) {
            if (threadIdx.x < LH_WARP) clear_row<element>(a, row, (int)threadIdx.x);
            continue;
        }
        for (int64_t v = threadIdx.x * LH_RUN; v < a.vocabulary; v += LH_THREADS * LH_RUN)
            own = join(a.scale, own,
                       part_of(a.scale, lh_load_run(x, v, a.vocabulary), v, a.vocabulary));
        const part all = join_block(a.scale, own, shared);
        if (threadIdx.x == 0) {
            a.loss[row] = weight * (logf(all.sum) - a.scale * (x[target] - all.most));
            if (a.correct != NULL) a.correct[row] = target == all.at ? 1 : 0;
        }
        __syncthreads();
        const real factor = weight * a.scale * (a.gradient_scale != NULL ? *a.gradient_scale : 1);
        element *dx = lh_elements<element>(a.dx) + row * a.leading;
        if (a.gradient) write_gradient(a, x, target, factor, all, dx);
    }
}

template <typename element>
static lh_status score(const lh_launch *launch, const lh_cross_entropy_args &a) {
    int32_t *fault = lh_stream_of(launch)->fault;
    if (a.vocabulary >= LONG_ROW && a.scale >= 0 && a.rows > 0)
        return LH_LAUNCH((score_long_rows<element>), lh_blocks(a.rows, 1), LH_THREADS, 0, launch, a,
                         fault);
    return lh_each_row(launch, a.rows, [=] __device__(int64_t row, int lane) {
        const real weight = a.weight != NULL ? a.weight[row] : 1;
        const bool valid = weight == 0 || (a.target[row] >= 0 && a.target[row] < a.vocabulary);
        if (!valid && lane == 0) lh_raise(fault, LH_KERNEL_cross_entropy);
        clear_padding<element>(a, row, lane, LH_WARP);
        if (weight == 0 || !valid) {
            clear_row<element>(a, row, lane);
        } else {
            score_row<element>(a, row, lane, weight);
        }
    });
}

lh_status lh_cuda_cross_entropy(const lh_launch *launch, const lh_cross_entropy_args *args) {
    lh_cross_entropy_args a = *args;
    if (a.dx.data == NULL) a.dx = {a.x, LH_REAL};
    return LH_FOR_ELEMENT(a.dx.dtype, score, launch, a);
}
