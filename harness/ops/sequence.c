/* A sequence that a loop writes piece by piece, each piece with its own gradient. */
#include "harness/ops/op.h"

lh_tensor *lh_sequence(lh_tape *tape, int rank, const int64_t *shape) {
    lh_tensor *y = lh_tape_new(tape, lh_pool_activation(lh_tape_pool(tape)), rank, shape);
    if (y == NULL || !lh_tape_is_recording(tape)) return y;
    return lh_tensor_require_gradient(y) == LH_OK ? y : NULL;
}

static lh_copy_args copy_between(const lh_tensor *from, const lh_tensor *to) {
    lh_copy_args args = {.rank = from->rank};
    for (int i = 0; i < from->rank; ++i) {
        args.shape[i] = from->shape[i];
        args.x_stride[i] = from->stride[i];
        args.y_stride[i] = to->stride[i];
    }
    return args;
}

/* By now every reader of these elements has added its share. */
static lh_status write_backward(lh_tape *tape, lh_node *node) {
    lh_copy_args args = *(const lh_copy_args *)node->args;
    args.x = lh_gradient_read(node->output[0]);
    LH_TRY(lh_gradient_write(node->input[0], &args.y, &args.write));
    return LH_RUN(lh_tape_pool(tape), copy, &args);
}

lh_status lh_sequence_write(lh_tape *tape, lh_tensor *sequence, int axis, int64_t start,
                            lh_tensor *value) {
    if (sequence == NULL || value == NULL) return lh_failed();
    lh_tensor *place = value->rank == sequence->rank && axis < value->rank
                           ? lh_slice(tape, sequence, axis, start, value->shape[axis])
                           : NULL;
    if (place == NULL || !lh_tensor_same_shape(place, value)) {
        return lh_fail(LH_ESHAPE, "sequence: %s does not fit %s at element %lld of axis %d",
                       lh_shape_text(value), lh_shape_text(sequence), (long long)start, axis);
    }
    lh_copy_args args = copy_between(value, place);
    const lh_copy_args back = copy_between(place, value);
    args.x = lh_tensor_activation(value);
    args.y = lh_tensor_activation(place);
    const lh_record record = {.op = "sequence",
                              .backward = write_backward,
                              LH_INPUTS(value),
                              LH_OUTPUTS(place),
                              .args = &back,
                              .args_bytes = sizeof back};
    LH_TRY(LH_RUN(lh_tape_pool(tape), copy, &args));
    return lh_tape_record(tape, &record);
}
