/* Tensors that the host fills and that take no gradient. */
#include "harness/ops/op.h"

static lh_tensor *constant(lh_tape *tape, lh_dtype dtype, int rank, const int64_t *shape,
                           const void *values) {
    lh_tensor *tensor = lh_tape_new(tape, dtype, rank, shape);
    if (tensor == NULL) return NULL;
    return lh_tensor_write(tensor, values, lh_tensor_count(tensor)) == LH_OK ? tensor : NULL;
}

lh_tensor *lh_integers(lh_tape *tape, int rank, const int64_t *shape, const int32_t *values) {
    return constant(tape, LH_I32, rank, shape, values);
}

lh_tensor *lh_reals(lh_tape *tape, int rank, const int64_t *shape, const real *values) {
    return constant(tape, LH_REAL, rank, shape, values);
}

lh_tensor *lh_filled(lh_tape *tape, int rank, const int64_t *shape, double value) {
    lh_tensor *tensor = lh_tape_new(tape, LH_REAL, rank, shape);
    if (tensor == NULL) return NULL;
    const lh_fill_args args = {
        .count = lh_tensor_count(tensor), .value = (real)value, .x = lh_tensor_real(tensor)};
    return LH_RUN(lh_tape_pool(tape), fill, &args) == LH_OK ? tensor : NULL;
}

lh_tensor *lh_zeros(lh_tape *tape, int rank, const int64_t *shape) {
    return lh_filled(tape, rank, shape, 0.0);
}
