/* Losses and their gradients. */
#include "harness/infer/check_gradients.h"

#include "harness/train/batch.h"
#include "harness/train/loss.h"

enum { LAST = LH_CHECK_SEGMENTS - 1 };

/* The loss of the last segment, on a tape of its own; nothing is carried on from it. */
static lh_status find_loss(lh_check_bench *bench, bool recording, lh_output *output,
                           lh_tensor **loss) {
    lh_host_batch host;
    LH_TRY(lh_check_upload(bench, &bench->inputs, LAST, &host));
    const double weight = lh_host_batch_weight(&bench->setup, &host);
    lh_tape_begin(bench->tape, recording, bench->spec->seed, LAST);
    LH_TRY(lh_model_forward(bench->model, bench->tape, bench->state, &bench->batch, true, output));
    return lh_loss_forward(bench->tape, output, &bench->batch, weight, loss, NULL);
}

lh_status lh_check_differentiate(lh_check_bench *bench, bool auxiliary) {
    lh_output output = {0};
    lh_tensor *loss = NULL;
    for (int64_t s = 0; s < LAST; ++s)
        LH_TRY(lh_check_pass(bench, &bench->inputs, s, NULL));
    LH_TRY(find_loss(bench, true, &output, &loss));
    if (auxiliary && output.auxiliary_loss != NULL)
        loss = lh_add(bench->tape, loss, output.auxiliary_loss);
    if (loss == NULL) return lh_failed();
    if (lh_params_count(bench->model->params) > 0) LH_TRY(lh_tape_backward(bench->tape, loss));
    return lh_state_clear(bench->state); /* with the statistics that training would keep */
}
