/* The training loop of a session. */
#include "harness/train/trainer.h"

#include "harness/engine/clock.h"
#include "harness/train/evaluate.h"
#include "harness/train/interrupt.h"
#include "harness/train/session_file.h"
#include "harness/train/session_inside.h"
#include "harness/train/train_step.h"

#include <math.h>

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
    LH_TRY(lh_train_flush(session));
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
        return lh_fail(LH_EOPTION,
                       "train: keep_best=%s, but this evaluation of task %s did not give it", name,
                       session->task->class->name);
    progress->is_best =
        lh_evaluations_add(&session->record.evaluations, session->keep_rule, loss, metric);
    return LH_OK;
}

static lh_status evaluate_splits(lh_session *session, lh_progress *progress) {
    LH_TRY(lh_session_evaluate(session, LH_VALID, &progress->valid));
    if (session->plan.evaluate_test) LH_TRY(lh_session_evaluate(session, LH_TEST, &progress->test));
    return judge(session, progress);
}

/* An evaluation, also one that a signal ends, counts as time of the run, but not of the interval's
 * throughput. */
static lh_status evaluate(run *r, lh_progress *progress) {
    count_time(r);
    const lh_status status = evaluate_splits(r->session, progress);
    const double now = lh_clock_seconds();
    r->session->record.seconds += now - r->last_time;
    r->last_time = now;
    return status;
}

static bool log_is_due(const run *r) {
    const lh_train_plan *plan = &r->session->plan;
    const int64_t step = r->session->record.step;
    return step == plan->steps || is_due(step, plan->log_every);
}

/* Whether the evaluation after this step can be the one that ends training; the gradients that its
 * point tells of are here before it. */
static bool may_end(const run *r) {
    const lh_train_plan *plan = &r->session->plan;
    return plan->patience > 0 && is_due(r->session->record.step, plan->evaluate_every);
}

/* The step, unless the last one's point is still to be told. */
static lh_status step(const run *r) {
    lh_session *session = r->session;
    if (session->record.owes_point) return LH_OK;
    LH_TRY(lh_train_step(session));
    session->record.gradient_norm = nan("");
    if (!log_is_due(r) && !may_end(r)) return LH_OK;
    return lh_ranks_alone(session->ranks, lh_optimizer_gradient_norm(
                                              session->optimizer, &session->record.gradient_norm));
}

/* Tells the observer what is new after a step, and asks what it wishes. The evaluation comes first:
 * where a signal ends it, the interval is as it was, and the point comes when the run goes on. */
static lh_status observe(run *r, lh_wish *wish) {
    lh_session *session = r->session;
    const lh_train_plan *plan = &session->plan;
    const int64_t step = session->record.step;
    const bool log_due = log_is_due(r);
    const bool evaluation_due = is_due(step, plan->evaluate_every);
    /* One that was owed under another evaluate_every or log_every may be due no more. */
    session->record.owes_point = log_due || evaluation_due;
    if (!log_due && !evaluation_due) return LH_OK;
    lh_progress progress = {.step = step,
                            .steps = plan->steps,
                            .loss_bits = nan(""),
                            .mse = nan(""),
                            .rate = lh_schedule_rate(&plan->schedule, step - 1),
                            .tokens_per_second = nan(""),
                            .gradient_norm = nan("")};
    if (evaluation_due) LH_TRY(evaluate(r, &progress));
    if (log_due || is_over(r)) LH_TRY(log_interval(r, &progress));
    session->record.owes_point = 0;
    progress.tokens = session->record.tokens;
    progress.seconds = session->record.seconds;
    if (r->observer != NULL) *wish = r->observer(r->context, &progress);
    return LH_OK;
}

/* Without a checkpoint the run goes on before the point that could not be kept, and tells it again.
 */
static lh_status stop(run *r, bool saves) {
    if (saves) LH_TRY(save(r));
    return lh_fail(LH_EINTERRUPT, "train: stopped after step %lld of %lld",
                   (long long)r->session->record.step, (long long)r->session->plan.steps);
}

/* What is to be done after a step. A signal may have met one rank, clocks differ, and observers
 * too: what one rank wants, all do. */
static lh_status agree(const run *r, lh_wish *wish, bool *saves) {
    enum { STOPS = 1, SAVES = 2, ABANDONS = 4 };
    unsigned char all = (unsigned char)((*wish != LH_GO_ON ? STOPS : 0) | (*saves ? SAVES : 0) |
                                        (*wish == LH_ABANDON ? ABANDONS : 0));
    LH_TRY(lh_ranks_merge(r->session->ranks, &all, 1));
    if ((all & STOPS) != 0) *wish = (all & ABANDONS) != 0 ? LH_ABANDON : LH_STOP;
    *saves = (all & SAVES) != 0;
    return LH_OK;
}

static lh_status train(run *r) {
    lh_session *session = r->session;
    while (!is_over(r) || session->record.owes_point) {
        lh_wish wish = LH_GO_ON;
        LH_TRY(step(r));
        const lh_status status = observe(r, &wish);
        if (status == LH_EINTERRUPT) lh_error_clear();
        if (status != LH_OK && status != LH_EINTERRUPT) return status;
        const bool stops = status == LH_EINTERRUPT || lh_interrupt_requested();
        if (stops && wish == LH_GO_ON) wish = LH_STOP;
        bool saves = checkpoint_is_due(r);
        LH_TRY(agree(r, &wish, &saves));
        if (wish != LH_GO_ON) return stop(r, wish == LH_STOP);
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
    /* Memory and devices fail on one rank alone, wherever that is. */
    if (status == LH_EMEMORY || status == LH_EDEVICE) (void)lh_ranks_alone(session->ranks, status);
    count_time(&r);
    lh_interrupt_release(&saved);
    return status;
}
