/* Regions that backward runs again instead of remembering them, whole or chunk by chunk. */
#include <string.h>

#include "harness/ops/op.h"

/* What backward needs to run the region again. */
typedef struct saved_region {
    lh_region region;
    void *context;
    uint32_t random_position;
    int input_count, output_count;
} saved_region;

static lh_status run(lh_tape *tape, const saved_region *saved, lh_tensor *const *inputs,
                     lh_tensor **outputs) {
    const lh_status status = saved->region(tape, saved->context, inputs, outputs);
    for (int i = 0; i < saved->output_count && status == LH_OK; ++i) {
        if (outputs[i] == NULL) return lh_failed();
    }
    return status;
}

/* Seeds the recomputed outputs with what flowed into the region's outputs. */
static lh_status seed_outputs(lh_node *node, lh_tensor **outputs) {
    for (int i = 0; i < node->output_count; ++i) {
        if (!lh_gradient_is_present(node->output[i]) || outputs[i]->gradient == NULL) continue;
        LH_TRY(lh_gradient_give(outputs[i]->gradient, node->output[i]->value));
    }
    return LH_OK;
}

static lh_status hand_over_inputs(lh_node *node, lh_tensor **leaves) {
    for (int i = 0; i < node->input_count; ++i) {
        if (node->input[i] == NULL || lh_tensor_gradient(leaves[i]) == NULL) continue;
        LH_TRY(lh_gradient_give(node->input[i], leaves[i]->gradient->value));
    }
    return LH_OK;
}

static lh_status checkpoint_backward(lh_tape *tape, lh_node *node) {
    const saved_region *saved = node->args;
    lh_tensor *leaves[LH_REGION_TENSORS] = {NULL}, *outputs[LH_REGION_TENSORS] = {NULL};
    for (int i = 0; i < saved->input_count; ++i) {
        if (node->saved[i] == NULL) continue;
        leaves[i] = lh_tape_leaf(tape, node->saved[i], node->input[i] != NULL);
        if (leaves[i] == NULL) return lh_failed();
    }
    const uint32_t position = lh_tape_random_position(tape);
    lh_tape_set_random_position(tape, saved->random_position);
    lh_node *const stop = lh_tape_last(tape);
    const int mark = lh_tape_visits(tape);
    lh_tape_set_recording(tape, true);
    lh_status status = run(tape, saved, leaves, outputs);
    lh_tape_set_recording(tape, false);
    lh_tape_set_random_position(tape, position);
    if (status == LH_OK) status = seed_outputs(node, outputs);
    if (status == LH_OK) status = lh_tape_run_back(tape, stop);
    if (status == LH_OK) status = lh_tape_end_visits(tape, mark);
    return status == LH_OK ? hand_over_inputs(node, leaves) : status;
}

/* A region is recorded even when only its parameters need gradients: those are not among its
 * inputs, so a region that is recorded always differentiates. */
static lh_status record(lh_tape *tape, const saved_region *saved, lh_hold *holds,
                        lh_tensor *const *inputs, lh_tensor **outputs) {
    const lh_record entry = {.op = "checkpoint",
                             .backward = checkpoint_backward,
                             .input = inputs,
                             .input_count = saved->input_count,
                             .output = outputs,
                             .output_count = saved->output_count,
                             .saved = inputs,
                             .saved_count = saved->input_count,
                             .args = saved,
                             .args_bytes = sizeof *saved,
                             .holds = holds};
    return lh_tape_record(tape, &entry);
}

lh_status lh_checkpoint(lh_tape *tape, lh_region region, const void *context, size_t context_bytes,
                        lh_tensor *const *inputs, int input_count, lh_tensor **outputs,
                        int output_count) {
    if (input_count > LH_REGION_TENSORS || output_count > LH_REGION_TENSORS) {
        return lh_fail(LH_ESHAPE, "checkpoint: %d inputs and %d outputs, at most %d each",
                       input_count, output_count, LH_REGION_TENSORS);
    }
    saved_region saved = {.region = region,
                          .context = lh_tape_scratch(tape, context_bytes + 1),
                          .random_position = lh_tape_random_position(tape),
                          .input_count = input_count,
                          .output_count = output_count};
    if (saved.context == NULL) return LH_EMEMORY;
    if (context_bytes > 0) memcpy(saved.context, context, context_bytes);
    if (!lh_tape_wants(tape, inputs, input_count)) return run(tape, &saved, inputs, outputs);

    lh_tensor *dense[LH_REGION_TENSORS] = {NULL};
    for (int i = 0; i < input_count; ++i) {
        if (inputs[i] == NULL) continue;
        dense[i] = lh_contiguous(tape, inputs[i]);
        if (dense[i] == NULL) return lh_failed();
    }
    const lh_scope scope = lh_scope_open(tape);
    const lh_region_mark mark = lh_tape_enter_region(tape);
    const int visits = lh_tape_visits(tape);
    lh_status status = run(tape, &saved, dense, outputs);
    if (status == LH_OK) status = lh_tape_end_visits(tape, visits);
    lh_hold *holds = lh_tape_leave_region(tape, mark);
    lh_scope_close_many(tape, scope, outputs, output_count);
    /* Outputs that are the region's inputs passed through would share their slots: give them
     * headers of their own. */
    for (int i = 0; i < output_count && status == LH_OK; ++i) {
        outputs[i] = lh_tape_leaf(tape, outputs[i], false);
        if (outputs[i] == NULL) status = LH_EMEMORY;
    }
    return status == LH_OK ? record(tape, &saved, holds, dense, outputs) : status;
}

lh_tensor *lh_chunked(lh_tape *tape, lh_region region, const void *context, size_t context_bytes,
                      lh_tensor *x, int64_t chunk) {
    if (x == NULL) return NULL;
    if (x->rank < 2 || chunk < 1)
        return LH_OP_FAIL("chunks of %lld tokens of %s", (long long)chunk, lh_shape_text(x));
    const uint32_t position = lh_tape_random_position(tape);
    const int64_t length = x->shape[1];
    lh_tensor *y = lh_sequence(tape, x->rank, x->shape);
    for (int64_t begin = 0; begin < length && y != NULL; begin += chunk) {
        const lh_scope scope = lh_scope_open(tape);
        lh_tensor *part = lh_slice(tape, x, 1, begin, lh_min(chunk, length - begin));
        lh_tensor *result = NULL;
        lh_tape_set_random_position(tape, position);
        if (part == NULL ||
            lh_checkpoint(tape, region, context, context_bytes, &part, 1, &result, 1) != LH_OK ||
            lh_sequence_write(tape, y, 1, begin, result) != LH_OK)
            y = NULL;
        lh_scope_close(tape, scope, NULL);
    }
    return y;
}
