/* From hidden states to the training loss. It is the same for every model, so that all are scored
 * alike. */
#ifndef LH_TRAIN_LOSS_H
#define LH_TRAIN_LOSS_H

#include "harness/engine/model.h"
#include "harness/ops/ops.h"

/* With token targets the mean cross-entropy in nats over the predicted positions: logits =
 * logit_scale * (hidden head_weight^T + head_bias), sum of weight * loss, divided by `weight` (the
 * sum of the batch's weights; 0 gives loss 0). With target vectors the mean squared error of the
 * predictions over the predicted numbers, whose weights are 0 or 1: of `hidden` or, for a model
 * with a head, of sigmoid(logits), an answer of yes or no for each entry of the vocabulary. *loss,
 * of shape [], belongs to the tape's scope. `sums`, optional, gets the undivided sums and
 * synchronises. Fails: LH_ETYPE when model and task do not go together. */
lh_status lh_loss_forward(lh_tape *tape, const lh_output *output, const lh_batch *batch,
                          double weight, lh_tensor **loss, lh_loss_sums *sums);

/* logits [rows][length][vocabulary], with clusters log probabilities, or the predictions themselves
 * when the model has no head. NULL after a failure. */
lh_tensor *lh_loss_logits(lh_tape *tape, const lh_output *output);

#endif
