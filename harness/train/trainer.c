#include "harness/train/trainer.h"

#include "harness/train/interrupt.h"
#include "harness/train/loss.h"
#include "harness/train/session_inside.h"

#include <math.h>
#include <time.h>

double lh_clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- one step ---- */

/* Puts the loss behind the others that wait on the device. */
static lh_status keep_loss(lh_session *session, const lh_tensor *loss, double weight) {
    const lh_copy_args args = {.rank = 0,
                               .x = lh_tensor_real(loss),
                               .y = lh_tensor_real(session->pending_loss) + session->pending,
                               .write = LH_SET};
    LH_TRY(LH_RUN(session->pool, copy, &args));
    session->pending_weight[session->pending++] = weight;
    return LH_OK;
}

/* Forward, loss and backward of the batch on the device. The loss is divided by the weight of all
 * ranks' rows, so that sums over ranks are what one rank would compute. */
static lh_status differentiate(lh_session *session, double weight) {
    lh_tape *tape = session->tape;
    lh_output output = {0};
    lh_tensor *loss = NULL;
    LH_TRY(lh_model_forward(session->model, tape, session->state, &session->batch, true, &output));
    LH_TRY(lh_loss_forward(tape, &output, &session->batch, weight, &loss, NULL));
    LH_TRY(keep_loss(session, loss, weight));
    return lh_tape_backward(tape, loss);
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
static lh_status find_gradients(lh_session *session, double weight) {
    if (session->ranks != NULL) lh_buckets_begin(&session->buckets);
    LH_TRY(session->batch.rows > 0 ? differentiate(session, weight)
                                   : keep_no_loss(session, weight));
    if (session->swap != NULL) LH_TRY(lh_swap_collect(session->swap));
    LH_TRY(lh_params_settle_gradients(session->model->params));
    return session->ranks != NULL ? lh_buckets_finish(&session->buckets) : LH_OK;
}

static lh_status step_on(lh_session *session, const lh_host_batch *host) {
    const int64_t step = session->record.step;
    const lh_share share = lh_share_of(session->ranks, host->rows);
    const lh_host_batch part = lh_host_batch_rows(&session->setup, host, share);
    lh_tape_set_rows(session->tape, share.first, share.count);
    LH_TRY(lh_batch_upload(session->pool, &session->setup, &part, &session->batch));
    lh_tape_begin(session->tape, true, session->seed, (uint64_t)step);
    lh_params_clear_gradients(session->model->params);
    const lh_scope scope = lh_scope_open(session->tape);
    LH_TRY(find_gradients(session, lh_host_batch_weight(&session->setup, host)));
    LH_TRY(lh_optimizer_update(session->optimizer, lh_schedule_rate(&session->plan.schedule, step),
                               step));
    LH_TRY(lh_state_commit(session->state));
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

lh_status lh_trainer_step(lh_session *session) {
    if (session->pending == session->plan.log_every) LH_TRY(lh_trainer_flush(session));
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

lh_status lh_trainer_flush(lh_session *session) {
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

/* ---- a run ---- */

/* A run under way: what the loop holds beside the session. */
typedef struct run {
    lh_session *session;
    const char *checkpoint_path;
    lh_observer observer;
    void *context;
    double last_time;       /* up to here record.seconds has been counted */
    double last_checkpoint; /* clock of the last checkpoint */
} run;

static bool is_due(int64_t step, int64_t every) {
    return every > 0 && step % every == 0;
}

/* All steps are done, or evaluations have been stale for too long. */
static bool is_over(const run *r) {
    const lh_train_plan *plan = &r->session->plan;
    const lh_snapshot_record *record = &r->session->record;
    return record->step >= plan->steps ||
           (plan->patience > 0 && record->evaluations.stale >= plan->patience);
}

/* Brings the record's clocks up to now. */
static void count_time(run *r) {
    const double now = lh_clock_seconds();
    r->session->record.seconds += now - r->last_time;
    r->session->record.interval_seconds += now - r->last_time;
    r->last_time = now;
}

static lh_status save(run *r) {
    if (r->checkpoint_path == NULL) return LH_OK;
    count_time(r);
    r->last_checkpoint = r->last_time;
    return lh_session_save(r->session, r->checkpoint_path);
}

static bool checkpoint_is_due(const run *r) {
    const lh_train_plan *plan = &r->session->plan;
    if (r->checkpoint_path == NULL) return false;
    if (is_over(r) || is_due(r->session->record.step, plan->checkpoint_every)) return true;
    return plan->checkpoint_seconds > 0.0 &&
           lh_clock_seconds() - r->last_checkpoint >= plan->checkpoint_seconds;
}

/* Turns the interval into a point of the curve and starts the next one. */
static lh_status log_interval(run *r, lh_progress *progress) {
    lh_session *session = r->session;
    lh_snapshot_record *record = &session->record;
    LH_TRY(lh_trainer_flush(session));
    progress->gradient_norm = record->gradient_norm;
    count_time(r);
    const double loss = record->interval_nats / record->interval_weight;
    if (session->setup.output_features > 0) {
        progress->mse = loss;
    } else if (record->interval_weight > 0.0) {
        progress->loss_bits = loss / log(2.0);
    }
    if (record->interval_seconds > 0.0)
        progress->tokens_per_second = record->interval_tokens / record->interval_seconds;
    record->interval_nats = record->interval_weight = 0.0;
    record->interval_tokens = record->interval_seconds = 0.0;
    return LH_OK;
}

/* Whether the evaluation is the best so far. */
static lh_status judge(lh_session *session, lh_progress *progress) {
    const lh_metrics *valid = &progress->valid;
    const char *name = lh_train_keep_best_metric(&session->plan);
    const double bits = lh_metrics_get(valid, "bits_per_token");
    const double loss = isnan(bits) ? lh_metrics_get(valid, "mse") : bits;
    const double metric = name != NULL ? lh_metrics_get(valid, name) : nan("");
    if (name != NULL && isnan(metric))
        return lh_fail(LH_EOPTION, "train: keep_best=%s, but evaluations of task %s do not give it",
                       name, session->task->class->name);
    progress->is_best =
        lh_evaluations_add(&session->record.evaluations, session->keep_rule, loss, metric);
    return LH_OK;
}

static lh_status evaluate(run *r, lh_progress *progress) {
    count_time(r);
    LH_TRY(lh_session_evaluate(r->session, LH_VALID, &progress->valid));
    if (r->session->plan.evaluate_test)
        LH_TRY(lh_session_evaluate(r->session, LH_TEST, &progress->test));
    LH_TRY(judge(r->session, progress));
    /* An evaluation counts as time of the run, but not of the interval's throughput. */
    const double now = lh_clock_seconds();
    r->session->record.seconds += now - r->last_time;
    r->last_time = now;
    return LH_OK;
}

static bool log_is_due(const run *r) {
    const lh_train_plan *plan = &r->session->plan;
    const int64_t step = r->session->record.step;
    return step == plan->steps || is_due(step, plan->log_every);
}

/* The step, unless the last one's point is still to be told. */
static lh_status step(const run *r) {
    lh_session *session = r->session;
    if (session->record.owes_point) return LH_OK;
    LH_TRY(lh_trainer_step(session));
    if (!log_is_due(r)) return LH_OK;
    return lh_optimizer_gradient_norm(session->optimizer, &session->record.gradient_norm);
}

/* Tells the observer what is new after a step. *go_on is false when it asks to stop. The evaluation
 * comes first: where a signal ends it, the interval is as it was, and the point comes when the run
 * goes on. */
static lh_status observe(run *r, bool *go_on) {
    lh_session *session = r->session;
    const lh_train_plan *plan = &session->plan;
    const int64_t step = session->record.step;
    const bool log_due = log_is_due(r);
    const bool evaluation_due = is_due(step, plan->evaluate_every);
    if (!log_due && !evaluation_due) return LH_OK;
    lh_progress progress = {.step = step,
                            .steps = plan->steps,
                            .loss_bits = nan(""),
                            .mse = nan(""),
                            .rate = lh_schedule_rate(&plan->schedule, step - 1),
                            .tokens_per_second = nan(""),
                            .gradient_norm = nan("")};
    session->record.owes_point = 1;
    if (evaluation_due) LH_TRY(evaluate(r, &progress));
    if (log_due) LH_TRY(log_interval(r, &progress));
    session->record.owes_point = 0;
    progress.tokens = session->record.tokens;
    progress.seconds = session->record.seconds;
    if (r->observer != NULL) *go_on = r->observer(r->context, &progress);
    return LH_OK;
}

static lh_status stop(run *r) {
    LH_TRY(save(r));
    return lh_fail(LH_EINTERRUPT, "train: stopped after step %lld of %lld",
                   (long long)r->session->record.step, (long long)r->session->plan.steps);
}

/* What is to be done after a step. A signal may have met one rank, clocks differ, and observers
 * too: what one rank wants, all do. */
static lh_status agree(const run *r, bool *stops, bool *saves) {
    enum { STOPS = 1, SAVES = 2 };
    unsigned char wish = (unsigned char)((*stops ? STOPS : 0) | (*saves ? SAVES : 0));
    LH_TRY(lh_ranks_merge(r->session->ranks, &wish, 1));
    *stops = (wish & STOPS) != 0;
    *saves = (wish & SAVES) != 0;
    return LH_OK;
}

static lh_status train(run *r) {
    lh_session *session = r->session;
    while (!is_over(r) || session->record.owes_point) {
        bool go_on = true;
        LH_TRY(step(r));
        const lh_status status = observe(r, &go_on);
        if (status == LH_EINTERRUPT) lh_error_clear();
        if (status != LH_OK && status != LH_EINTERRUPT) return status;
        bool stops = status == LH_EINTERRUPT || !go_on || lh_interrupt_requested();
        bool saves = checkpoint_is_due(r);
        LH_TRY(agree(r, &stops, &saves));
        if (stops) return stop(r);
        if (saves) LH_TRY(save(r));
    }
    return LH_OK;
}

lh_status lh_session_train(lh_session *session, const char *checkpoint_path, lh_observer observer,
                           void *context) {
    const double now = lh_clock_seconds();
    run r = {.session = session,
             .checkpoint_path = checkpoint_path,
             .observer = observer,
             .context = context,
             .last_time = now,
             .last_checkpoint = now};
    lh_interrupt saved;
    lh_interrupt_catch(&saved);
    const lh_status status = train(&r);
    /* Memory and devices fail on one rank alone, and the others must not wait for it. */
    if (session->ranks != NULL && (status == LH_EMEMORY || status == LH_EDEVICE))
        session->ranks->lost = true;
    count_time(&r);
    lh_interrupt_release(&saved);
    return status;
}
