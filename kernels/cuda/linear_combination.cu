#include "kernels/cuda/element.cuh"

template <typename element>
static lh_status combine(const lh_launch *launch, const lh_linear_combination_args *args) {
    const lh_linear_combination_args c = *args;
    const element *a = lh_elements<element>(c.a), *b = lh_elements<element>(c.b);
    element *y = lh_elements<element>(c.y);
    return lh_each(launch, c.count, [=] __device__(int64_t i) {
        real value = c.alpha * lh_load(&a[i]);
        if (b != NULL) value += c.beta * lh_load(&b[i]);
        lh_store(&y[i], c.write, value);
    });
}

lh_status lh_cuda_linear_combination(const lh_launch *launch,
                                     const lh_linear_combination_args *args) {
    return LH_FOR_ELEMENT(args->dtype, combine, launch, args);
}
