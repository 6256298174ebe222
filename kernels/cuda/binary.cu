/* Sums, differences, products and quotients, of equal shapes or with one operand spread. */
#include "kernels/cuda/launch.cuh"

__device__ static inline real combine(lh_binary_op op, real a, real b) {
    switch (op) {
    case LH_BINARY_ADD:
        return a + b;
    case LH_BINARY_SUB:
        return a - b;
    case LH_BINARY_MUL:
        return a * b;
    case LH_BINARY_DIV:
        return a / b;
    }
    return a;
}

lh_status lh_cuda_binary(const lh_launch *launch, const lh_binary_args *args) {
    const lh_binary_args a = *args;
    return lh_each(launch, a.rows * a.columns, [=] __device__(int64_t i) {
        int64_t j = i;
        if (a.spread == LH_SPREAD_ROWS) j = i % a.columns;
        if (a.spread == LH_SPREAD_COLUMNS) j = i / a.columns;
        lh_store(&a.y[i], a.write, combine(a.op, a.a[i], a.b[j]));
    });
}
