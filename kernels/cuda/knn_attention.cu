/* Attention to the nearest of many keys. A block takes one query of one head: it scores the whole
 * memory into a row of workspace of its own, finds the next best key again and again, and mixes. */
#include "kernels/cuda/attention.cuh"

enum { ROWS_AT_ONCE = 264 }; /* blocks, each with its row of scores: two for every processor */

/* A score and its slot. NaN is best of all, so that it is not lost; of equals the lower slot is
 * better, so that no two are as good. */
typedef struct candidate {
    real score;
    int64_t slot;
} candidate;

__device__ static inline bool better(candidate a, candidate b) {
    const bool a_odd = isnan(a.score), b_odd = isnan(b.score);
    if (a_odd != b_odd) return a_odd;
    if (!a_odd && a.score != b.score) return a.score > b.score;
    return a.slot < b.slot;
}

/* The best of a block's candidates, for every thread. */
__device__ static inline candidate best_of_block(candidate own, candidate *shared) {
    shared[threadIdx.x] = own;
    __syncthreads();
    for (unsigned half = LH_THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half && better(shared[threadIdx.x + half], shared[threadIdx.x]))
            shared[threadIdx.x] = shared[threadIdx.x + half];
        __syncthreads();
    }
    const candidate best = shared[0];
    __syncthreads();
    return best;
}

/* Token of a ring: keys and values are [batch][capacity][heads][head_width]. */
__device__ static inline int64_t ring_row(int64_t batch, int64_t slot, int64_t head,
                                          int64_t capacity, int64_t heads, int64_t width) {
    return ((batch * capacity + slot) * heads + head) * width;
}

__global__ void __launch_bounds__(LH_THREADS)
    attend_nearest(lh_knn_attention_forward_args a, real *workspace, int64_t tasks) {
    LH_SHARED(candidate, shared, [LH_THREADS]);
    LH_SHARED(real, total, [1]);
    real *score = workspace + (int64_t)blockIdx.x * a.capacity;
    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        const int64_t head = task % a.heads, query = task / a.heads % a.queries;
        const int64_t batch = task / a.heads / a.queries;
        const int64_t held = lh_min(a.count[batch], a.capacity), found = lh_min(held, a.top);
        const real *q = lh_head_row(a.q, batch, head, query);
        const real scale = a.head_scale != NULL ? a.head_scale[head] : 1;
        int32_t *index = a.index + task * a.top;
        real *weight = a.weight + task * a.top, *out = lh_head_row(a.out, batch, head, query);
        for (int64_t slot = threadIdx.x; slot < held; slot += LH_THREADS)
            score[slot] =
                lh_dot(q, a.k + ring_row(batch, slot, head, a.capacity, a.heads, a.head_width),
                       a.head_width);
        __syncthreads();
        candidate last = {NAN, -1}; /* better than any */
        for (int64_t n = 0; n < found; ++n) {
            candidate own = {-INFINITY, a.capacity}; /* worse than any */
            for (int64_t slot = threadIdx.x; slot < held; slot += LH_THREADS) {
                const candidate next = {score[slot], slot};
                if (better(last, next) && better(next, own)) own = next;
            }
            last = best_of_block(own, shared);
            if (threadIdx.x == 0) {
                index[n] = (int32_t)last.slot;
                weight[n] = scale * last.score;
            }
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            real most = -INFINITY, sum = 0;
            for (int64_t n = 0; n < found; ++n)
                most = lh_larger(most, weight[n]);
            most = most == -INFINITY ? 0 : most;
            for (int64_t n = 0; n < found; ++n)
                sum += weight[n] = expf(weight[n] - most);
            total[0] = sum;
        }
        __syncthreads();
        for (int64_t n = threadIdx.x; n < a.top; n += LH_THREADS) {
            weight[n] = n < found && total[0] != 0 ? weight[n] / total[0] : 0;
            if (n >= found) index[n] = -1;
        }
        __syncthreads();
        for (int64_t d = threadIdx.x; d < a.head_width; d += LH_THREADS) {
            real sum = 0;
            for (int64_t n = 0; n < found; ++n)
                sum += weight[n] *
                       a.v[ring_row(batch, index[n], head, a.capacity, a.heads, a.head_width) + d];
            out[d] = sum;
        }
        __syncthreads();
    }
}

size_t lh_cuda_knn_attention_forward_workspace(const lh_knn_attention_forward_args *args) {
    return (size_t)(ROWS_AT_ONCE * args->capacity) * sizeof(real);
}

lh_status lh_cuda_knn_attention_forward(const lh_launch *launch,
                                        const lh_knn_attention_forward_args *args) {
    const int64_t tasks = args->batch * args->queries * args->heads;
    if (tasks == 0) return LH_OK;
    return LH_LAUNCH(attend_nearest, (unsigned)lh_min(tasks, ROWS_AT_ONCE), LH_THREADS, 0, launch,
                     *args, (real *)launch->workspace, tasks);
}

/* ---- backward: a warp for each query of each head ---- */

size_t lh_cuda_knn_attention_backward_workspace(const lh_knn_attention_backward_args *args) {
    return (size_t)(args->batch * args->queries * args->heads) * sizeof(real);
}

/* dO . v_n of one neighbour, for every lane. */
__device__ static inline real value_slope(const lh_knn_attention_backward_args &a, int64_t batch,
                                          int64_t head, const real *dout, int32_t slot, int lane) {
    const real *v = a.v + ring_row(batch, slot, head, a.capacity, a.heads, a.head_width);
    real sum = 0;
    for (int64_t d = lane; d < a.head_width; d += LH_WARP)
        sum += dout[d] * v[d];
    return lh_warp_sum(sum);
}

lh_status lh_cuda_knn_attention_backward(const lh_launch *launch,
                                         const lh_knn_attention_backward_args *args) {
    const lh_knn_attention_backward_args a = *args;
    if (!lh_head_fits(a.head_width)) return LH_ESHAPE;
    real *scale_parts = (real *)launch->workspace;
    const int64_t tasks = a.batch * a.queries * a.heads;
    LH_CUDA_TRY(lh_each_row(launch, tasks, [=] __device__(int64_t task, int lane) {
        const int64_t head = task % a.heads, query = task / a.heads % a.queries;
        const int64_t batch = task / a.heads / a.queries;
        const real *q = lh_head_row(a.q, batch, head, query);
        const real *dout = lh_head_row(a.dout, batch, head, query);
        const real scale = a.head_scale != NULL ? a.head_scale[head] : 1;
        const int32_t *index = a.index + task * a.top;
        const real *weight = a.weight + task * a.top;
        real mean = 0, scale_sum = 0, dq[LH_HEAD_PARTS] = {0};
        for (int64_t n = 0; n < a.top && index[n] >= 0; ++n)
            mean += weight[n] * value_slope(a, batch, head, dout, index[n], lane);
        for (int64_t n = 0; n < a.top && index[n] >= 0; ++n) {
            if (weight[n] == 0) continue; /* its score may be infinite */
            const real *k =
                a.k + ring_row(batch, index[n], head, a.capacity, a.heads, a.head_width);
            const real slope = value_slope(a, batch, head, dout, index[n], lane);
            const real gradient = weight[n] * (slope - mean);
            for (int p = 0; p < LH_HEAD_PARTS; ++p) {
                const int64_t d = p * LH_WARP + lane;
                if (d >= a.head_width) break;
                dq[p] += gradient * scale * k[d];
                scale_sum += gradient * q[d] * k[d];
            }
        }
        scale_sum = lh_warp_sum(scale_sum);
        if (lane == 0) scale_parts[task] = scale_sum;
        for (int p = 0; p < LH_HEAD_PARTS && a.dq.act.data != NULL; ++p) {
            const int64_t d = p * LH_WARP + lane;
            if (d < a.head_width)
                lh_store(&lh_head_row(a.dq, batch, head, query)[d], a.dq_write, dq[p]);
        }
    }));
    if (a.dhead_scale == NULL) return LH_OK;
    return lh_each_row(launch, a.heads, [=] __device__(int64_t head, int lane) {
        double sum = 0;
        for (int64_t n = lane; n < a.batch * a.queries; n += LH_WARP)
            sum += (double)scale_parts[n * a.heads + head];
        sum = lh_warp_sum(sum);
        if (lane == 0) lh_store(&a.dhead_scale[head], a.dhead_scale_write, (real)sum);
    });
}
