#include "kernels/cuda/element.cuh"

template <typename element>
static lh_status drop(const lh_launch *launch, const lh_dropout_args *args) {
    const lh_dropout_args a = *args;
    const element *x = lh_elements<element>(a.x);
    element *y = lh_elements<element>(a.y);
    const uint32_t threshold = lh_dropout_threshold(a.rate);
    const real scale = (real)(1 / (1 - a.rate));
    return lh_each(launch, a.outer * a.length * a.width, [=] __device__(int64_t i) {
        const int64_t line = i / a.width;
        const int64_t row = a.period > 0 ? line % a.length % a.period : line;
        const int64_t at = row * a.width + i % a.width + (a.period > 0 ? 0 : a.first);
        const uint32_t word = lh_random_word(*a.key, (uint64_t)at);
        lh_store(&y[i], a.write, word >= threshold ? lh_load(&x[i]) * scale : 0);
    });
}

lh_status lh_cuda_dropout(const lh_launch *launch, const lh_dropout_args *args) {
    if (!(args->rate >= 0 && args->rate < 1)) return LH_EOPTION;
    return LH_FOR_ELEMENT(args->dtype, drop, launch, args);
}
