/* One training step, on one rank or shared by several. */
#include "harness/train/train_step.h"

#include "harness/engine/run_kernel.h"
#include "harness/ops/ops.h"
#include "harness/train/adapter_pass.h"
#include "harness/train/loss.h"
#include "harness/train/session_inside.h"

#include <math.h>

/* Puts the loss behind the others that wait on the device. */
static lh_status keep_loss(lh_session *session, const lh_tensor *loss, double weight) {
    const lh_act kept = lh_tensor_activation(session->pending_loss);
    const lh_copy_args args = {.rank = 0,
                               .x = lh_tensor_activation(loss),
                               .y = lh_act_from(kept, session->pending),
                               .write = LH_SET};
    LH_TRY(LH_RUN(session->pool, copy, &args));
    session->pending_weight[session->pending++] = weight;
    return LH_OK;
}

/* Forward, loss and backward of the batch on the device. The loss is divided by the weight of all
 * ranks' rows, so that sums over ranks are what one rank would compute. */
static lh_status differentiate(lh_session *session, lh_state *state, double weight) {
    lh_tape *tape = session->tape;
    lh_output output = {0};
    lh_tensor *loss = NULL;
    LH_TRY(lh_model_forward(session->model, tape, state, &session->batch, true, &output));
    LH_TRY(lh_loss_forward(tape, &output, &session->batch, weight, &loss, NULL));
    LH_TRY(keep_loss(session, loss, weight));
    const bool learns = lh_params_count(session->model->params) > 0;
    return learns ? lh_tape_backward(tape, loss) : LH_OK;
}

/* A batch of few rows may have none for this rank. */
static lh_status keep_no_loss(lh_session *session, double weight) {
    const lh_fill_args args = {.count = 1,
                               .x = lh_tensor_real(session->pending_loss) + session->pending};
    LH_TRY(LH_RUN(session->pool, fill, &args));
    session->pending_weight[session->pending++] = weight;
    return LH_OK;
}

/* The gradients of all ranks' rows. */
static lh_status find_gradients(lh_session *session, lh_state *state, double weight) {
    if (session->ranks != NULL) lh_buckets_begin(&session->buckets);
    LH_TRY(session->batch.rows > 0 ? differentiate(session, state, weight)
                                   : keep_no_loss(session, weight));
    if (session->swap != NULL) LH_TRY(lh_swap_collect(session->swap));
    LH_TRY(lh_params_settle_gradients(session->model->params));
    return session->ranks != NULL ? lh_buckets_finish(&session->buckets) : LH_OK;
}

static lh_status update(lh_session *session, lh_state *state, double weight) {
    const int64_t step = session->record.step;
    LH_TRY(find_gradients(session, state, weight));
    LH_TRY(lh_optimizer_update(session->optimizer, lh_schedule_rate(&session->plan.schedule, step),
                               step));
    return lh_state_commit(state);
}

/* A batch of other rows, all of which begin afresh (task.h), has a state of its own. */
static lh_status update_with(lh_session *session, double weight) {
    const int64_t rows = session->batch.rows;
    lh_state *own = NULL;
    if (rows == 0 || lh_state_takes(session->state, rows))
        return update(session, session->state, weight);
    LH_TRY(lh_state_create(session->model, session->pool, rows, &own));
    const lh_status status = update(session, own, weight);
    lh_state_destroy(own);
    return status;
}

static lh_status step_on(lh_session *session, const lh_host_batch *host) {
    const lh_share share = lh_share_of(session->ranks, host->rows);
    const lh_host_batch part = lh_host_batch_rows(&session->setup, host, share);
    lh_tape_set_rows(session->tape, share.first, share.count);
    LH_TRY(lh_model_upload(session->pool, session->model, &part, &session->batch));
    lh_tape_begin(session->tape, true, session->seed, (uint64_t)session->record.step);
    lh_params_clear_gradients(session->model->params);
    const lh_scope scope = lh_scope_open(session->tape);
    LH_TRY(update_with(session, lh_host_batch_weight(&session->setup, host)));
    lh_scope_close(session->tape, scope, NULL);
    return session->ranks != NULL ? lh_buckets_average_statistics(&session->buckets, share) : LH_OK;
}

/* The device may start the step's work as a whole at its end; copies beside it start at once. */
static lh_status step_as_one(lh_session *session, const lh_host_batch *host) {
    lh_device *device = session->device;
    if (device->begin_step == NULL || session->swap != NULL) return step_on(session, host);
    LH_TRY(lh_pool_launched("begin_step", device->begin_step(device)));
    const lh_status status = step_on(session, host);
    const lh_status ended = lh_pool_launched("end_step", device->end_step(device));
    return status != LH_OK ? status : ended;
}

lh_status lh_train_step(lh_session *session) {
    if (session->pending == session->plan.log_every) LH_TRY(lh_train_flush(session));
    lh_host_batch host;
    const lh_task *task = session->task;
    lh_status status = task->class->train_batch(task->instance, &host);
    if (status == LH_OK) status = step_as_one(session, &host);
    if (status != LH_OK) {
        lh_note("step %lld of %s", (long long)session->record.step, session->model->class->name);
        return status;
    }
    session->record.step += 1;
    session->record.tokens += host.rows * host.length;
    session->record.interval_tokens += (double)(host.rows * host.length);
    return LH_OK;
}

static lh_status add_loss(lh_session *session, int64_t index, double nats) {
    const int64_t step = session->record.step - session->pending + index;
    if (!isfinite(nats))
        return lh_fail(LH_EINTERNAL,
                       "train: the loss of step %lld is not finite (learning rate %g): try a lower "
                       "rate, a longer warmup, or clip",
                       (long long)step, lh_schedule_rate(&session->plan.schedule, step));
    session->record.interval_nats += nats * session->pending_weight[index];
    session->record.interval_weight += session->pending_weight[index];
    return LH_OK;
}

lh_status lh_train_flush(lh_session *session) {
    const int64_t bytes = session->pending * (int64_t)sizeof(real);
    real losses[LH_LOG_LIMIT];
    double nats[LH_LOG_LIMIT];
    if (session->pending == 0) return LH_OK;
    LH_TRY(session->device->download(session->device, losses, lh_tensor_real(session->pending_loss),
                                     (size_t)bytes));
    for (int64_t i = 0; i < session->pending; ++i)
        nats[i] = (double)losses[i];
    LH_TRY(lh_ranks_sum(session->ranks, nats, session->pending));
    for (int64_t i = 0; i < session->pending; ++i)
        LH_TRY(add_loss(session, i, nats[i]));
    session->pending = 0;
    return LH_OK;
}
