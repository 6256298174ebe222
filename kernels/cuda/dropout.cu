/* Dropout, a run of neighbours to a thread. */
#include "kernels/cuda/element.cuh"

template <typename element>
static lh_status drop(const lh_launch *launch, const lh_dropout_args *args) {
    const lh_dropout_args a = *args;
    const element *x = lh_elements<element>(a.x);
    element *y = lh_elements<element>(a.y);
    const uint32_t threshold = lh_dropout_threshold(a.rate);
    const real scale = (real)(1 / (1 - a.rate));
    return lh_each_row_run(
        launch, a.outer * a.length, a.width, [=] __device__(int64_t line, int64_t begin) {
            const int64_t row = a.period > 0 ? line % a.length % a.period : line;
            const int64_t word = row * a.width + begin + (a.period > 0 ? 0 : a.first);
            lh_run value = lh_load_run(x + line * a.width, begin, a.width);
            const lh_random_block drawn = lh_random_four(*a.key, (uint64_t)word);
            LH_UNROLL
            for (int n = 0; n < LH_RUN; ++n)
                value.at[n] = drawn.word[n] >= threshold ? value.at[n] * scale : 0;
            lh_store_run(y + line * a.width, begin, a.width, a.write, value);
        });
}

lh_status lh_cuda_dropout(const lh_launch *launch, const lh_dropout_args *args) {
    return LH_FOR_ELEMENT(args->x.dtype, drop, launch, args);
}
