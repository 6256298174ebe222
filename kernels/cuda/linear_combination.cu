/* alpha a + beta b, which is also how gradients are added and scaled. */
#include "kernels/cuda/element.cuh"

template <typename element, typename other_element>
static lh_status combine(const lh_launch *launch, const lh_linear_combination_args *args) {
    const lh_linear_combination_args c = *args;
    const element *a = lh_elements<element>(c.a);
    const other_element *b = lh_elements<other_element>(c.b);
    element *y = lh_elements<element>(c.y);
    return lh_each_run(launch, c.count, [=] __device__(int64_t begin) {
        lh_run sum = lh_load_run(a, begin, c.count), other = {};
        if (b != NULL) other = lh_load_run(b, begin, c.count);
        LH_UNROLL
        for (int n = 0; n < LH_RUN; ++n) {
            sum.at[n] *= c.alpha;
            if (b != NULL) sum.at[n] += c.beta * other.at[n];
        }
        lh_store_run(y, begin, c.count, c.write, sum);
    });
}

template <typename element>
static lh_status combine_others(const lh_launch *launch, const lh_linear_combination_args *args) {
    return args->b.dtype == LH_BF16 ? combine<element, __nv_bfloat16>(launch, args)
                                    : combine<element, real>(launch, args);
}

lh_status lh_cuda_linear_combination(const lh_launch *launch,
                                     const lh_linear_combination_args *args) {
    return LH_FOR_ELEMENT(args->y.dtype, combine_others, launch, args);
}
