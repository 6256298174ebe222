/* Views: reshaped and sliced headers over the same storage, and detached ones. */
#include <string.h>

#include "harness/ops/op.h"

static lh_tensor *view_of(lh_tape *tape, lh_tensor *x) {
    return lh_tape_own(tape, lh_tensor_detached(x));
}

lh_tensor *lh_reshape(lh_tape *tape, lh_tensor *x, int rank, const int64_t *shape) {
    if (x == NULL) return NULL;
    if (rank < 0 || rank > LH_MAX_RANK)
        return LH_OP_FAIL("reshape: %s to %d axes, at most %d", lh_shape_text(x), rank,
                          LH_MAX_RANK);
    x = lh_contiguous(tape, x);
    lh_tensor *y = x != NULL ? view_of(tape, x) : NULL;
    if (y == NULL) return NULL;
    int64_t known = 1, count = 0;
    int open_axis = -1;
    for (int i = 0; i < rank; ++i) {
        if (shape[i] == -1) {
            open_axis = i;
        } else {
            known *= shape[i];
        }
    }
    y->rank = rank;
    for (int i = 0; i < rank; ++i)
        y->shape[i] = shape[i];
    if (open_axis >= 0) y->shape[open_axis] = known > 0 ? lh_tensor_count(x) / known : 0;
    if (!lh_shape_count(rank, y->shape, LH_TENSOR_ELEMENTS, &count) ||
        count != lh_tensor_count(x)) {
        return LH_OP_FAIL("reshape: %s to %s", lh_shape_text(x), lh_shape_text(y));
    }
    for (int64_t i = rank - 1, stride = 1; i >= 0; stride *= y->shape[i--])
        y->stride[i] = stride;
    y->gradient = lh_gradient_retain(x->gradient);
    return y;
}

lh_tensor *lh_split_heads(lh_tape *tape, lh_tensor *x, int64_t head_width) {
    if (x == NULL) return NULL;
    if (x->rank < 1 || x->rank == LH_MAX_RANK || head_width < 1)
        return LH_OP_FAIL("split_heads: heads of %lld in %s", (long long)head_width,
                          lh_shape_text(x));
    int64_t shape[LH_MAX_RANK];
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank - 1] = -1;
    shape[x->rank] = head_width;
    return lh_reshape(tape, x, x->rank + 1, shape);
}

lh_tensor *lh_join_heads(lh_tape *tape, lh_tensor *x) {
    if (x == NULL) return NULL;
    if (x->rank < 2) return LH_OP_FAIL("join_heads: no heads in %s", lh_shape_text(x));
    int64_t shape[LH_MAX_RANK];
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank - 2] *= x->shape[x->rank - 1];
    return lh_reshape(tape, x, x->rank - 1, shape);
}

lh_tensor *lh_slice(lh_tape *tape, lh_tensor *x, int axis, int64_t start, int64_t length) {
    if (x == NULL) return NULL;
    if (axis < 0 || axis >= x->rank || start < 0 || length < 0 || start + length > x->shape[axis]) {
        return LH_OP_FAIL("slice: %lld elements from %lld on axis %d of %s", (long long)length,
                          (long long)start, axis, lh_shape_text(x));
    }
    lh_tensor *y = view_of(tape, x);
    if (y == NULL) return NULL;
    const int64_t skipped = start * x->stride[axis];
    y->shape[axis] = length;
    y->offset += skipped;
    if (x->gradient == NULL) return y;
    if (!lh_tape_is_recording(tape)) return lh_tape_hold(tape, x->gradient) == LH_OK ? y : NULL;
    y->gradient = lh_gradient_create_slice(x->gradient, skipped, lh_tensor_count(y),
                                           !lh_tensor_is_contiguous(y));
    return y->gradient != NULL ? y : NULL;
}

lh_tensor *lh_detach(lh_tape *tape, lh_tensor *x) {
    return x == NULL ? NULL : view_of(tape, x);
}
