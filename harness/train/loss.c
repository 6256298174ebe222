#include "harness/train/loss.h"

/* The engine's record holds the message of the op that gave NULL. */
static lh_status failure(void) {
    const lh_status status = lh_error_get()->status;
    return status != LH_OK ? status : LH_EINTERNAL;
}

lh_status lh_loss_forward(lh_tape *tape, const lh_output *output, const lh_batch *batch,
                          double weight, lh_tensor **loss, lh_loss_sums *sums) {
    if (output->hidden == NULL) return failure();
    if (output->head_weight == NULL || batch->target == NULL)
        return lh_fail(LH_ETYPE,
                       "loss: needs a model with a head over a vocabulary and a task with "
                       "token targets");
    const double gradient_scale = weight > 0.0 ? 1.0 / weight : 0.0;
    *loss = lh_linear_cross_entropy(tape, output->hidden, output->head_weight, output->head_bias,
                                    output->logit_scale, batch->target, batch->weights,
                                    gradient_scale, 0, sums);
    return *loss != NULL ? LH_OK : failure();
}

lh_tensor *lh_loss_logits(lh_tape *tape, const lh_output *output) {
    lh_tensor *hidden = output->hidden;
    if (hidden == NULL || output->head_weight == NULL) return hidden;
    const int64_t rows = hidden->shape[0], length = hidden->shape[1];
    const int64_t flat[] = {rows * length, hidden->shape[2]};
    const int64_t full[] = {rows, length, output->head_weight->shape[0]};
    lh_tensor *logits = lh_reshape(tape, lh_contiguous(tape, hidden), 2, flat);
    logits = lh_matmul(tape, logits, output->head_weight, false, true);
    if (output->head_bias != NULL) logits = lh_add_row(tape, logits, output->head_bias);
    return lh_reshape(tape, lh_scale(tape, logits, output->logit_scale), 3, full);
}
