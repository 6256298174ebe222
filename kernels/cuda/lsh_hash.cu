/* Hashing by random rotations: a warp for each token and round, a lane for every 32nd column. */
#include "kernels/cuda/attention.cuh"

/* A value of [y; -y] and where it stands. */
typedef struct lsh_hash_value {
    real value;
    int32_t at;
} lsh_hash_value;

/* The larger; of equals the first. */
__device__ static inline lsh_hash_value larger_hash(lsh_hash_value a, lsh_hash_value b) {
    return b.value > a.value || (b.value == a.value && b.at < a.at) ? b : a;
}

__device__ static inline int32_t warp_argmax(lsh_hash_value own) {
    for (int bits = LH_WARP / 2; bits > 0; bits /= 2) {
        const lsh_hash_value other = {__shfl_xor_sync(0xffffffffu, own.value, bits),
                                      __shfl_xor_sync(0xffffffffu, own.at, bits)};
        own = larger_hash(own, other);
    }
    return own.at == INT32_MAX ? 0 : own.at;
}

static inline bool is_sound(const lh_lsh_hash_args *args) {
    if (args->factors < 1 || args->factors > LH_LSH_FACTORS) return false;
    for (int64_t f = 0; f < args->factors; ++f)
        if (args->factor[f] < 1 || (args->factor[f] > 1 && args->factor[f] % 2 != 0)) return false;
    return args->batch >= 0 && args->heads >= 0 && args->length >= 0 && args->head_width >= 0 &&
           args->rounds >= 0;
}

size_t lh_cuda_lsh_hash_workspace(const lh_lsh_hash_args *args) {
    (void)args;
    return 0;
}

lh_status lh_cuda_lsh_hash(const lh_launch *launch, const lh_lsh_hash_args *args) {
    if (!is_sound(args)) return LH_ESHAPE;
    const lh_lsh_hash_args a = *args;
    int64_t columns = 0;
    for (int64_t f = 0; f < a.factors; ++f)
        columns += a.factor[f] / 2;
    const int64_t pitch = a.rounds * columns;
    const int64_t rows = a.batch * a.heads * a.rounds * a.length;
    return lh_each_row(launch, rows, [=] __device__(int64_t row, int lane) {
        const int64_t token = row % a.length, round = row / a.length % a.rounds;
        const int64_t pair = row / a.length / a.rounds;
        const real *x = lh_head_row(a.x, pair / a.heads, pair % a.heads, token);
        const real *rotation = a.rotation + pair * a.head_width * pitch + round * columns;
        int32_t bucket = 0, place = 1;
        for (int64_t f = 0; f < a.factors; ++f) {
            const int32_t half = (int32_t)a.factor[f] / 2;
            lsh_hash_value best = {-INFINITY, INT32_MAX};
            for (int32_t c = lane; c < half; c += LH_WARP) {
                real y = 0;
                for (int64_t d = 0; d < a.head_width; ++d)
                    y += x[d] * rotation[d * pitch + c];
                best = larger_hash(best, {y, c});
                best = larger_hash(best, {-y, half + c});
            }
            bucket += place * warp_argmax(best);
            place *= (int32_t)a.factor[f];
            rotation += half;
        }
        if (lane == 0) a.bucket[row] = bucket;
    });
}
