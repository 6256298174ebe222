/* Gradients through checkpoints and reversible blocks, against differences. */
#include "tests/gradients/gradient_check.h"
#include "tests/test.h"

/* x -> tanh(dropout(x W)) W, through a checkpoint. */
static lh_status region(lh_tape *tape, void *context, lh_tensor *const *inputs,
                        lh_tensor **outputs) {
    const double rate = *(const double *)context;
    lh_tensor *h = lh_linear(tape, inputs[0], inputs[1], NULL, LH_UNARY_TANH);
    outputs[0] = lh_linear(tape, lh_dropout(tape, h, rate, 0), inputs[1], NULL, LH_UNARY_IDENTITY);
    outputs[1] = lh_slice(tape, h, 0, 1, 2);
    outputs[1] = lh_contiguous(tape, outputs[1]);
    return LH_OK;
}

static lh_tensor *run_checkpoint(check_bench *b, void *context) {
    lh_tensor *outputs[2] = {NULL};
    const lh_status status =
        lh_checkpoint(b->tape, region, context, sizeof(double), b->input, 2, outputs, 2);
    if (status != LH_OK) return NULL;
    lh_tensor *const parts[] = {outputs[0], outputs[1], outputs[0]};
    return lh_concat(b->tape, 0, parts, 3);
}

TEST(checkpoint) {
    check_bench b;
    REQUIRE(check_open(&b));
    LEAF(&b, 3, 4);
    LEAF(&b, 4, 4);
    double rate = 0.25;
    CHECK_NEAR(check_gradients(&b, run_checkpoint, &rate), 0.0, 1e-6);
    check_close(&b);
}

static lh_tensor *half(lh_tape *tape, void *context, lh_tensor *x) {
    lh_tensor *weight = *(lh_tensor **)context;
    return lh_dropout(tape, lh_linear(tape, x, weight, NULL, LH_UNARY_TANH), 0.25, 0);
}

static lh_tensor *run_reversible(check_bench *b, void *context) {
    (void)context;
    lh_reversible_block blocks[3];
    for (int i = 0; i < 3; ++i) {
        blocks[i] = (lh_reversible_block){half, half, &b->input[2], &b->input[3]};
    }
    lh_tensor *y1 = NULL, *y2 = NULL;
    if (lh_reversible(b->tape, blocks, 3, b->input[0], b->input[1], &y1, &y2) != LH_OK) return NULL;
    return lh_multiply(b->tape, y1, y2);
}

TEST(reversible) {
    check_bench b;
    REQUIRE(check_open(&b));
    for (int i = 0; i < 2; ++i)
        LEAF(&b, 3, 4);
    for (int i = 0; i < 2; ++i)
        LEAF(&b, 4, 4);
    CHECK_NEAR(check_gradients(&b, run_reversible, NULL), 0.0, 1e-6);
    check_close(&b);
}
