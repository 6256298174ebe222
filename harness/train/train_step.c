/* One training step, on one rank or shared by several. */
#include "harness/train/train_step.h"

#include "harness/engine/run_kernel.h"
#include "harness/ops/ops.h"
#include "harness/train/adapter_pass.h"
#include "harness/train/loss.h"
#include "harness/train/session_inside.h"

#include <math.h>

/* Puts the loss of a part behind those of steps that wait on the device, or adds it to what other
 * parts of the step have put there. */
static lh_status keep_loss(lh_session *session, const lh_tensor *loss, int64_t part) {
    const lh_act kept = lh_tensor_activation(session->pending_loss);
    const lh_copy_args args = {.rank = 0,
                               .x = lh_tensor_activation(loss),
                               .y = lh_act_from(kept, session->pending),
                               .write = part == 0 ? LH_SET : LH_ADD};
    return LH_RUN(session->pool, copy, &args);
}

/* What goes backward: the task's loss and what the model minimises beside it, which is a mean over
 * `share` of the step's rows. */
static lh_tensor *objective(lh_tape *tape, lh_tensor *loss, lh_tensor *auxiliary, double share) {
    return auxiliary != NULL ? lh_add(tape, loss, lh_scale(tape, auxiliary, share)) : loss;
}

/* Forward, loss and backward of the batch on the device. The loss is divided by the weight of all
 * rows of the step, so that sums over parts and ranks are what one rank would compute at once. */
static lh_status differentiate(lh_session *session, lh_state *state, int64_t part,
                               const lh_host_batch *host, double weight) {
    lh_tape *tape = session->tape;
    lh_output output = {0};
    lh_tensor *loss = NULL;
    LH_TRY(lh_model_forward(session->model, tape, state, &session->batch, true, &output));
    LH_TRY(lh_loss_forward(tape, &output, &session->batch, weight, &loss, NULL));
    LH_TRY(keep_loss(session, loss, part));
    if (lh_params_count(session->model->params) == 0) return LH_OK;
    const double share = (double)session->batch.rows / (double)host->rows;
    loss = objective(tape, loss, output.auxiliary_loss, share);
    return loss != NULL ? lh_tape_backward(tape, loss) : lh_failed();
}

/* A batch of few rows may have none for this part. */
static lh_status keep_no_loss(lh_session *session, int64_t part) {
    const lh_fill_args args = {.count = 1,
                               .x = lh_tensor_real(session->pending_loss) + session->pending};
    return part == 0 ? LH_RUN(session->pool, fill, &args) : LH_OK;
}

/* The state of a part. A batch of other rows, all of which begin afresh (task.h), has its own. */
static lh_status state_of(lh_session *session, lh_step_part *part, lh_state **state) {
    const int64_t rows = session->batch.rows;
    *state = part->state;
    lh_state_destroy(part->own); /* of a step that failed */
    part->own = NULL;
    if (rows == 0 || lh_state_takes(part->state, rows)) return LH_OK;
    LH_TRY(lh_state_create(session->model, session->pool, rows, &part->own));
    *state = part->own;
    return LH_OK;
}

/* The gradients of a part's rows join those of the parts before it. Sums over ranks begin while the
 * last part goes backward. */
static lh_status run_part(lh_session *session, const lh_host_batch *host, lh_share rows,
                          int64_t index, double weight) {
    const lh_host_batch part = lh_host_batch_rows(&session->setup, host, rows);
    const bool last = index == session->plan.accumulate - 1;
    lh_state *state = NULL;
    lh_tape_set_rows(session->tape, rows.first, rows.count);
    LH_TRY(lh_model_upload(session->pool, session->model, &part, &session->batch));
    LH_TRY(state_of(session, &session->part[index], &state));
    if (session->ranks != NULL && last) lh_buckets_begin(&session->buckets);
    if (session->ranks != NULL && session->swap == NULL)
        lh_tape_watch(session->tape, last ? lh_buckets_watch : NULL, &session->buckets);
    return rows.count > 0 ? differentiate(session, state, index, host, weight)
                          : keep_no_loss(session, index);
}

/* What all rows have found, of all ranks, moves the parameters. */
static lh_status update(lh_session *session) {
    const int64_t step = session->record.step;
    if (session->swap != NULL) LH_TRY(lh_swap_collect(session->swap));
    LH_TRY(lh_params_settle_gradients(session->model->params));
    if (session->ranks != NULL) LH_TRY(lh_buckets_finish(&session->buckets));
    return lh_optimizer_update(session->optimizer, lh_schedule_rate(&session->plan.schedule, step),
                               step);
}

static lh_status commit(lh_session *session) {
    for (int64_t i = 0; i < session->plan.accumulate; ++i) {
        lh_step_part *part = &session->part[i];
        LH_TRY(lh_state_commit(part->own != NULL ? part->own : part->state));
        lh_state_destroy(part->own);
        part->own = NULL;
    }
    return LH_OK;
}

static lh_status step_on(lh_session *session, const lh_host_batch *host) {
    const lh_share share = lh_share_of(session->ranks, host->rows);
    const double weight = lh_host_batch_weight(&session->setup, host);
    const int64_t parts = session->plan.accumulate;
    lh_scope scope = {0};
    lh_params_clear_gradients(session->model->params);
    for (int64_t i = 0; i < parts; ++i) {
        /* what the part before it left on the tape goes */
        lh_tape_begin(session->tape, true, session->seed, (uint64_t)session->record.step);
        scope = lh_scope_open(session->tape);
        LH_TRY(run_part(session, host, lh_share_part(share, i, parts), i, weight));
    }
    session->pending_weight[session->pending++] = weight;
    LH_TRY(update(session));
    LH_TRY(commit(session));
    lh_scope_close(session->tape, scope, NULL);
    return session->ranks != NULL ? lh_buckets_average_statistics(&session->buckets, share) : LH_OK;
}

/* The device may start the step's work as a whole at its end. Copies beside it start at once, so
 * that a second part's rows would take the place of the first one's; so do sums over ranks. */
static lh_status step_as_one(lh_session *session, const lh_host_batch *host) {
    lh_device *device = session->device;
    if (device->begin_step == NULL || session->swap != NULL || session->plan.accumulate > 1 ||
        session->ranks != NULL)
        return step_on(session, host);
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
        if (session->ranks != NULL) session->ranks->abandon(session->ranks);
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
