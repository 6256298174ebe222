/* Tokens into a ring of the newest. */
#include "kernels/cuda/launch.cuh"

/* Counts only matter modulo the capacity and up to it, so whole rings are taken off. */
__device__ static int32_t advanced(int64_t count, int64_t capacity) {
    if (count > 2 * capacity) count -= (count - capacity - 1) / capacity * capacity;
    return (int32_t)count;
}

lh_status lh_cuda_ring_append(const lh_launch *launch, const lh_ring_append_args *args) {
    const lh_ring_append_args a = *args;
    if (a.capacity == 0) return LH_OK;
    const int64_t first = lh_max(0, a.length - a.capacity), rows = a.length - first;
    LH_CUDA_TRY(lh_each(launch, a.batch * rows * a.width, [=] __device__(int64_t i) {
        const int64_t column = i % a.width, b = i / a.width / rows;
        const int64_t t = first + i / a.width % rows, slot = (a.count[b] + t) % a.capacity;
        a.ring[(b * a.capacity + slot) * a.width + column] =
            a.x[(b * a.length + t) * a.width + column];
    }));
    if (!a.advance) return LH_OK;
    return lh_each(launch, a.batch, [=] __device__(int64_t b) {
        a.count[b] = advanced(a.count[b] + a.length, a.capacity);
    });
}
