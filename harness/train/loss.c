/* Cross-entropy over tokens, plain or adaptive, and the squared error of vectors. */
#include "harness/train/loss.h"

#include <stdlib.h>

#include "harness/train/adaptive_softmax.h"

static lh_status read_sum(lh_tape *tape, lh_tensor *x, double *out) {
    real value = 0;
    const lh_tensor *sum = lh_sum_all(tape, x);
    if (sum == NULL) return lh_failed();
    LH_TRY(lh_tensor_read(sum, &value, 1));
    *out = (double)value;
    return LH_OK;
}

/* What stands against the target vectors: the model's own numbers, or answers of yes or no. */
static lh_tensor *predictions(lh_tape *tape, const lh_output *output) {
    lh_tensor *y = lh_loss_logits(tape, output);
    return output->head_weight != NULL ? lh_unary(tape, LH_UNARY_SIGMOID, y) : y;
}

/* A tensor on the host; free() it. NULL after a failure. */
static real *copy_to_host(const lh_tensor *x) {
    real *values = lh_allocate((size_t)lh_tensor_count(x) * sizeof *values);
    if (values != NULL && lh_tensor_read(x, values, lh_tensor_count(x)) == LH_OK) return values;
    free(values);
    return NULL;
}

/* Counts the batch rows that predict anything, and those where every answer, yes from a probability
 * of a half on, is the target. y, target, weights [rows][numbers]. */
static void count_strings(int64_t rows, int64_t numbers, const real *y, const real *target,
                          const real *weights, lh_loss_sums *sums) {
    for (int64_t r = 0; r < rows; ++r) {
        bool any = false, right = true;
        for (int64_t i = r * numbers; i < (r + 1) * numbers; ++i) {
            if (weights != NULL && !(weights[i] > 0)) continue;
            any = true;
            right = right && (y[i] >= LH_R(0.5)) == (target[i] >= LH_R(0.5));
        }
        sums->strings += any;
        sums->right += any && right;
    }
}

static lh_status fill_strings(const lh_tensor *y, const lh_batch *batch, lh_loss_sums *sums) {
    real *answers = copy_to_host(y), *target = copy_to_host(batch->target_vectors);
    real *weights = batch->weights != NULL ? copy_to_host(batch->weights) : NULL;
    const bool complete = answers && target && (weights || batch->weights == NULL);
    if (complete)
        count_strings(batch->rows, lh_tensor_count(y) / batch->rows, answers, target, weights,
                      sums);
    free(answers);
    free(target);
    free(weights);
    return complete ? LH_OK : lh_failed();
}

static lh_status regress(lh_tape *tape, const lh_output *output, const lh_batch *batch,
                         double weight, lh_tensor **loss, lh_loss_sums *sums) {
    lh_tensor *y = predictions(tape, output);
    lh_tensor *apart = lh_subtract(tape, y, batch->target_vectors);
    if (batch->weights != NULL) apart = lh_multiply(tape, apart, batch->weights);
    lh_tensor *squares = lh_unary(tape, LH_UNARY_SQUARE, apart);
    *loss = lh_scale(tape, lh_sum_all(tape, squares), weight > 0.0 ? 1.0 / weight : 0.0);
    if (*loss == NULL) return lh_failed();
    if (sums == NULL) return LH_OK;
    *sums = (lh_loss_sums){.weight = weight};
    LH_TRY(read_sum(tape, squares, &sums->squared));
    LH_TRY(read_sum(tape, lh_unary(tape, LH_UNARY_SQRT, squares), &sums->absolute));
    return output->head_weight != NULL ? fill_strings(y, batch, sums) : LH_OK;
}

static lh_status compare(lh_tape *tape, const lh_output *output, const lh_batch *batch,
                         double weight, lh_tensor **loss, lh_loss_sums *sums) {
    if (output->hidden == NULL) return lh_failed();
    if (batch->target_vectors != NULL) return regress(tape, output, batch, weight, loss, sums);
    if (output->head_weight == NULL || batch->target == NULL)
        return lh_fail(LH_ETYPE,
                       "loss: needs a model with a head over a vocabulary and a task with token "
                       "targets, or vectors in both");
    const double gradient_scale = weight > 0.0 ? 1.0 / weight : 0.0;
    if (output->clusters > 0) {
        *loss = lh_adaptive_cross_entropy(tape, output, batch, gradient_scale, sums);
        return *loss != NULL ? LH_OK : lh_failed();
    }
    const lh_cross_entropy head = {.weight = output->head_weight,
                                   .bias = output->head_bias,
                                   .scale = output->logit_scale,
                                   .target = batch->target,
                                   .weights = batch->weights,
                                   .gradient_scale = gradient_scale,
                                   .sums = sums};
    *loss = lh_linear_cross_entropy(tape, &head, output->hidden);
    return *loss != NULL ? LH_OK : lh_failed();
}

lh_status lh_loss_forward(lh_tape *tape, const lh_output *output, const lh_batch *batch,
                          double weight, lh_tensor **loss, lh_loss_sums *sums) {
    const lh_status before = lh_error_get()->status;
    return lh_error_since(before, compare(tape, output, batch, weight, loss, sums));
}

lh_tensor *lh_loss_logits(lh_tape *tape, const lh_output *output) {
    lh_tensor *hidden = output->hidden;
    if (hidden == NULL || output->head_weight == NULL) return hidden;
    const int64_t rows = hidden->shape[0], length = hidden->shape[1];
    const int64_t flat[] = {rows * length, hidden->shape[2]};
    const int64_t full[] = {rows, length, lh_output_vocabulary(output)};
    if (output->clusters > 0)
        return lh_reshape(tape, lh_adaptive_log_probabilities(tape, output), 3, full);
    lh_tensor *logits = lh_reshape(tape, lh_contiguous(tape, hidden), 2, flat);
    logits = lh_matmul(tape, logits, output->head_weight, false, true);
    if (output->head_bias != NULL) logits = lh_add_row(tape, logits, output->head_bias);
    return lh_reshape(tape, lh_scale(tape, logits, output->logit_scale), 3, full);
}
