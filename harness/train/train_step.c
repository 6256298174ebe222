/* One training step, on one rank or shared by several. */
#include "harness/train/train_step.h"

#include "harness/engine/run_kernel.h"
#include "harness/ops/ops.h"
#include "harness/train/adapter_pass.h"
#include "harness/train/loss.h"
#include "harness/train/session_inside.h"

#include <math.h>
#include <stdlib.h>

/* Which part of a step's rows in which of its segments. */
typedef struct place {
    int64_t segment, part;
    bool first, last; /* of the whole step */
} place;

static place place_of(const lh_train_plan *plan, int64_t segment, int64_t part) {
    return (place){.segment = segment,
                   .part = part,
                   .first = segment == 0 && part == 0,
                   .last = segment == plan->segments_per_step - 1 && part == plan->accumulate - 1};
}

/* Puts the loss of a part behind those of steps that wait on the device, or adds it to what other
 * parts of the step have put there. */
static lh_status keep_loss(lh_session *session, const lh_tensor *loss, place at) {
    const lh_act kept = lh_tensor_activation(session->pending_loss);
    const lh_copy_args args = {.rank = 0,
                               .x = lh_tensor_activation(loss),
                               .y = lh_act_from(kept, session->pending),
                               .write = at.first ? LH_SET : LH_ADD};
    return LH_RUN(session->pool, copy, &args);
}

/* What goes backward: the task's loss and what the model minimises beside it, which is a mean over
 * `share` of the step's rows. */
static lh_tensor *objective(lh_tape *tape, lh_tensor *loss, lh_tensor *auxiliary, double share) {
    return auxiliary != NULL ? lh_add(tape, loss, lh_scale(tape, auxiliary, share)) : loss;
}

/* Forward, loss and backward of the batch on the device. The loss is divided by the weight of all
 * rows of the step, so that sums over segments, parts and ranks are what one rank would compute at
 * once. */
static lh_status differentiate(lh_session *session, lh_state *state, place at, double weight) {
    lh_tape *tape = session->tape;
    lh_output output = {0};
    lh_tensor *loss = NULL;
    LH_TRY(lh_model_forward(session->model, tape, state, &session->batch, true, &output));
    LH_TRY(lh_loss_forward(tape, &output, &session->batch, weight, &loss, NULL));
    LH_TRY(keep_loss(session, loss, at));
    if (lh_params_count(session->model->params) == 0) return LH_OK;
    const int64_t rows = session->segment[at.segment].host.rows * session->plan.segments_per_step;
    const double share = (double)session->batch.rows / (double)rows;
    loss = objective(tape, loss, output.auxiliary_loss, share);
    return loss != NULL ? lh_tape_backward(tape, loss) : lh_failed();
}

/* A batch of few rows may have none for this part. */
static lh_status keep_no_loss(lh_session *session, place at) {
    const lh_fill_args args = {.count = 1,
                               .x = lh_tensor_real(session->pending_loss) + session->pending};
    return at.first ? LH_RUN(session->pool, fill, &args) : LH_OK;
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
 * last part of the last segment goes backward. */
static lh_status run_part(lh_session *session, place at, double weight) {
    const lh_host_batch *host = &session->segment[at.segment].host;
    const lh_share rows =
        lh_share_part(lh_share_of(session->ranks, host->rows), at.part, session->plan.accumulate);
    const lh_host_batch part = lh_host_batch_rows(&session->setup, host, rows);
    lh_state *state = NULL;
    lh_tape_set_rows(session->tape, rows.first, rows.count);
    LH_TRY(lh_model_upload(session->pool, session->model, &part, &session->batch));
    LH_TRY(state_of(session, &session->part[at.part], &state));
    if (session->ranks != NULL && at.last) lh_buckets_begin(&session->buckets);
    if (session->ranks != NULL && session->swap == NULL)
        lh_tape_watch(session->tape, at.last ? lh_buckets_watch : NULL, &session->buckets);
    return rows.count > 0 ? differentiate(session, state, at, weight) : keep_no_loss(session, at);
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

/* All rows through one segment; what they carry is then that of its end. */
static lh_status run_segment(lh_session *session, int64_t segment, double weight, lh_scope *scope) {
    const lh_train_plan *plan = &session->plan;
    const int64_t drawn = session->record.step * plan->segments_per_step + segment;
    for (int64_t part = 0; part < plan->accumulate; ++part) {
        /* what the part before it left on the tape goes */
        lh_tape_begin(session->tape, true, session->seed, (uint64_t)drawn);
        *scope = lh_scope_open(session->tape);
        LH_TRY(run_part(session, place_of(plan, segment, part), weight));
    }
    return commit(session);
}

/* The batches of all segments are read before the first one goes forward: the loss is divided by
 * the weight of all. */
static lh_status read_segments(lh_session *session, double *weight) {
    const lh_task *task = session->task;
    const int64_t count = session->plan.segments_per_step;
    *weight = 0.0;
    for (int64_t i = 0; i < count; ++i) {
        lh_step_segment *segment = &session->segment[i];
        lh_host_batch lent;
        LH_TRY(task->class->train_batch(task->instance, &lent));
        *weight += lh_host_batch_weight(&session->setup, &lent);
        free(segment->memory);
        segment->memory = NULL;
        segment->host = lent;
        if (count > 1)
            LH_TRY(lh_host_batch_copy(&session->setup, &lent, &segment->host, &segment->memory));
    }
    return LH_OK;
}

static lh_status step_on(lh_session *session, double weight) {
    const lh_share share = lh_share_of(session->ranks, session->segment[0].host.rows);
    lh_scope scope = {0};
    lh_params_clear_gradients(session->model->params);
    for (int64_t i = 0; i < session->plan.segments_per_step; ++i)
        LH_TRY(run_segment(session, i, weight, &scope));
    session->pending_weight[session->pending++] = weight;
    LH_TRY(update(session));
    lh_scope_close(session->tape, scope, NULL);
    return session->ranks != NULL ? lh_buckets_average_statistics(&session->buckets, share) : LH_OK;
}

/* The device may start the step's work as a whole at its end. Copies beside it start at once, so
 * that a second part's rows would take the place of the first one's; so do sums over ranks. */
static lh_status step_as_one(lh_session *session, double weight) {
    lh_device *device = session->device;
    const bool in_parts = session->plan.accumulate > 1 || session->plan.segments_per_step > 1;
    if (device->begin_step == NULL || session->swap != NULL || in_parts || session->ranks != NULL)
        return step_on(session, weight);
    LH_TRY(lh_pool_called("begin_step", device->begin_step(device)));
    const lh_status status = step_on(session, weight);
    const lh_status ended = lh_pool_called("end_step", device->end_step(device));
    return status != LH_OK ? status : ended;
}

/* Tokens of a step, of all ranks. */
static int64_t tokens_of(const lh_session *session) {
    int64_t tokens = 0;
    for (int64_t i = 0; i < session->plan.segments_per_step; ++i)
        tokens += session->segment[i].host.rows * session->segment[i].host.length;
    return tokens;
}

lh_status lh_train_step(lh_session *session) {
    if (session->pending == session->plan.log_every) LH_TRY(lh_train_flush(session));
    double weight = 0.0;
    lh_status status = read_segments(session, &weight);
    if (status == LH_OK) status = step_as_one(session, weight);
    if (status != LH_OK) {
        if (session->ranks != NULL) session->ranks->abandon(session->ranks);
        lh_note("step %lld of %s", (long long)session->record.step, session->model->class->name);
        return lh_ranks_alone(session->ranks, status);
    }
    session->record.step += 1;
    session->record.tokens += tokens_of(session);
    session->record.interval_tokens += (double)tokens_of(session);
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
    const size_t bytes = (size_t)session->pending * sizeof(real);
    lh_device *device = session->device;
    real losses[LH_LOG_LIMIT];
    double nats[LH_LOG_LIMIT];
    if (session->pending == 0) return LH_OK;
    const lh_status read =
        device->download(device, losses, lh_tensor_real(session->pending_loss), bytes);
    LH_TRY(lh_ranks_alone(session->ranks, lh_pool_called("download", read)));
    for (int64_t i = 0; i < session->pending; ++i)
        nats[i] = (double)losses[i];
    LH_TRY(lh_ranks_sum(session->ranks, nats, session->pending));
    for (int64_t i = 0; i < session->pending; ++i)
        LH_TRY(add_loss(session, i, nats[i]));
    session->pending = 0;
    return LH_OK;
}
