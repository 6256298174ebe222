/* Passes over a split without a gradient, and the metrics that come of their sums. */
#include "harness/train/evaluate.h"

#include "harness/engine/clock.h"
#include "harness/ops/ops.h"
#include "harness/train/adapter_pass.h"
#include "harness/train/interrupt.h"
#include "harness/train/loss.h"
#include "harness/train/session_inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Sums over a pass; of each group's strings two more, those read and those that are right.
 * TARGETS: squares of the numbers to predict. */
enum { NATS, WEIGHT, CORRECT, SQUARED, ABSOLUTE, TARGETS, SUMS };

typedef struct totals {
    int groups;         /* 1 where the task names none */
    double *sums;       /* [SUMS + 2 * groups], of this rank's rows until all ranks join */
    lh_split_size size; /* of all rows */
} totals;

/* What one pass holds: released by clear_pass. */
typedef struct pass {
    lh_session *session;
    lh_state *state;
    lh_batch batch;
    totals sum;
} pass;

static lh_status begin_pass(lh_session *session, pass *p) {
    const char *const *names = session->task->class->groups;
    int named = 0;
    while (names != NULL && names[named] != NULL)
        ++named;
    *p = (pass){.session = session, .sum.groups = named > 0 ? named : 1};
    p->sum.sums = lh_allocate_zeroed((size_t)(SUMS + 2 * p->sum.groups), sizeof *p->sum.sums);
    return p->sum.sums != NULL ? LH_OK : LH_EMEMORY;
}

static void clear_pass(pass *p) {
    lh_batch_clear(&p->batch);
    lh_state_destroy(p->state);
    free(p->sum.sums);
}

/* Strings of a group: those read, then those that are right. */
static double *strings_of(const totals *sum, int group) {
    return sum->sums + SUMS + 2 * (size_t)group;
}

static lh_status add_sums(const lh_task_class *class, const lh_loss_sums *more, int group,
                          totals *sum) {
    if (group < 0 || group >= sum->groups)
        return lh_fail(LH_EINTERNAL, "task %s: a batch of group %d, but there are %d", class->name,
                       group, sum->groups);
    sum->sums[NATS] += more->nats;
    sum->sums[WEIGHT] += more->weight;
    sum->sums[CORRECT] += more->correct;
    sum->sums[SQUARED] += more->squared;
    sum->sums[ABSOLUTE] += more->absolute;
    strings_of(sum, group)[0] += more->strings;
    strings_of(sum, group)[1] += more->right;
    return LH_OK;
}

static double target_squares(const lh_model_setup *setup, const lh_host_batch *host) {
    const int64_t numbers = host->rows * host->target_length * setup->output_features;
    double sum = 0.0;
    for (int64_t i = 0; host->target_vectors != NULL && i < numbers; ++i) {
        const double y = (double)host->target_vectors[i];
        if (host->weights == NULL || host->weights[i] > 0) sum += y * y;
    }
    return sum;
}

static void add_size(const lh_host_batch *host, lh_split_size *sum) {
    sum->tokens += host->rows * host->length;
    sum->bytes += host->predicted_bytes;
    sum->words += host->predicted_words;
    sum->unspelled += host->predicted_unspelled;
}

static lh_status score_batch(pass *p, const lh_host_batch *all) {
    lh_session *session = p->session;
    const lh_share share = lh_share_of(session->ranks, all->rows);
    const lh_host_batch part = lh_host_batch_rows(&session->setup, all, share);
    const lh_host_batch *host = &part;
    add_size(all, &p->sum.size);
    if (host->rows == 0) return LH_OK;
    if (p->state != NULL && !lh_state_takes(p->state, host->rows)) {
        lh_state_destroy(p->state); /* of rows that all begin afresh (task.h) */
        p->state = NULL;
    }
    if (p->state == NULL)
        LH_TRY(lh_state_create(session->model, session->pool, host->rows, &p->state));
    lh_output output = {0};
    lh_tensor *loss = NULL;
    lh_loss_sums sums = {0};
    LH_TRY(lh_model_upload(session->pool, session->model, host, &p->batch));
    lh_tape_set_rows(session->tape, share.first, share.count);
    lh_tape_begin(session->tape, false, session->seed, 0);
    const lh_scope scope = lh_scope_open(session->tape);
    LH_TRY(lh_model_forward(session->model, session->tape, p->state, &p->batch, false, &output));
    LH_TRY(lh_loss_forward(session->tape, &output, &p->batch,
                           lh_host_batch_weight(&session->setup, host), &loss, &sums));
    LH_TRY(lh_state_commit(p->state));
    lh_scope_close(session->tape, scope, NULL);
    p->sum.sums[TARGETS] += target_squares(&session->setup, host);
    return add_sums(session->task->class, &sums, host->group, &p->sum);
}

static lh_status score_split(pass *p, lh_split split) {
    const lh_session *session = p->session;
    const lh_task *task = session->task;
    lh_communicator *ranks = session->ranks;
    LH_TRY(lh_ranks_alone(ranks, task->class->evaluate_begin(task->instance, split)));
    while (true) {
        lh_host_batch host;
        LH_TRY(lh_ranks_alone(ranks, task->class->evaluate_batch(task->instance, &host)));
        if (host.rows == 0) return LH_OK;
        LH_TRY(lh_ranks_alone(ranks, score_batch(p, &host)));
        if (session->evaluation_observer != NULL)
            session->evaluation_observer(session->evaluation_context, split, p->sum.size.tokens);
        bool stops = lh_interrupt_requested();
        LH_TRY(lh_ranks_any(ranks, &stops));
        if (stops) return lh_fail(LH_EINTERRUPT, "evaluate: stopped by a signal");
    }
}

static lh_status join(lh_communicator *ranks, const totals *sum) {
    return lh_ranks_sum(ranks, sum->sums, SUMS + 2 * sum->groups);
}

/* Of a split whose strings are of several groups. */
static lh_status derive_groups(const totals *sum, const char *const *names, lh_metrics *out) {
    int present = 0;
    for (int g = 0; g < sum->groups; ++g)
        present += strings_of(sum, g)[0] > 0.0;
    for (int g = 0; g < sum->groups && present > 1; ++g) {
        const double *strings = strings_of(sum, g);
        char name[2 * LH_METRIC_NAME];
        (void)snprintf(name, sizeof name, "accuracy_%s", names[g]);
        if (strings[0] > 0.0) LH_TRY(lh_metrics_set(out, name, strings[1] / strings[0]));
    }
    return LH_OK;
}

/* Of strings that are right as a whole. */
static lh_status derive_accuracy(const totals *sum, const char *const *names, lh_metrics *out) {
    double strings = 0.0, right = 0.0;
    for (int g = 0; g < sum->groups; ++g) {
        strings += strings_of(sum, g)[0];
        right += strings_of(sum, g)[1];
    }
    if (!(strings > 0.0)) return LH_OK;
    LH_TRY(lh_metrics_set(out, "accuracy", right / strings));
    LH_TRY(lh_metrics_set(out, "error_percent", 100.0 * (1.0 - right / strings)));
    return derive_groups(sum, names, out);
}

static lh_status derive_errors(const totals *sum, const char *const *names, lh_metrics *out) {
    const double weight = sum->sums[WEIGHT];
    LH_TRY(lh_metrics_set(out, "predicted_values", weight));
    LH_TRY(lh_metrics_set(out, "mse", sum->sums[SQUARED] / weight));
    LH_TRY(lh_metrics_set(out, "mae", sum->sums[ABSOLUTE] / weight));
    LH_TRY(lh_metrics_set(out, "zero_mse", sum->sums[TARGETS] / weight));
    return derive_accuracy(sum, names, out);
}

static bool is_unspelled(const lh_split_size *size) {
    return size->unspelled > size->bytes;
}

/* word_perplexity is 2^(bits per word), as the papers on PG-19 report it. Sizes that are unknown
 * may be NaN, which is above nothing. Nothing is told over bytes and words that tokens do not
 * spell. */
static lh_status derive(const totals *sum, lh_metrics *out) {
    const lh_split_size *size = &sum->size;
    const double nats = sum->sums[NATS], weight = sum->sums[WEIGHT], bits = nats / log(2.0);
    const double accuracy = sum->sums[CORRECT] / weight;
    LH_TRY(lh_metrics_set(out, "predicted_tokens", weight));
    LH_TRY(lh_metrics_set(out, "bits_per_token", bits / weight));
    LH_TRY(lh_metrics_set(out, "perplexity", exp(nats / weight)));
    LH_TRY(lh_metrics_set(out, "accuracy", accuracy));
    LH_TRY(lh_metrics_set(out, "error_percent", 100.0 * (1.0 - accuracy)));
    if (is_unspelled(size)) return LH_OK;
    if (size->bytes > 0.0) LH_TRY(lh_metrics_set(out, "bits_per_byte", bits / size->bytes));
    if (size->words > 0.0) LH_TRY(lh_metrics_set(out, "word_perplexity", exp(nats / size->words)));
    return LH_OK;
}

static lh_status nothing_in(lh_split split) {
    return lh_fail(LH_EFORMAT, "evaluate: the %s split has nothing to predict",
                   lh_split_names[split]);
}

static lh_status score_all(pass *p, lh_split split, lh_metrics *out) {
    LH_TRY(score_split(p, split));
    LH_TRY(join(p->session->ranks, &p->sum));
    if (!(p->sum.sums[WEIGHT] > 0.0)) return nothing_in(split);
    if (p->session->setup.output_features == 0) return derive(&p->sum, out);
    return derive_errors(&p->sum, p->session->task->class->groups, out);
}

/* A number that is none would vanish on its way: nothing could tell it from one that is absent. */
static lh_status check_numbers(const lh_session *session, lh_split split,
                               const lh_metrics *metrics) {
    for (int i = 0; i < metrics->count; ++i) {
        if (isnan(metrics->entry[i].value))
            return lh_fail(LH_EINTERNAL,
                           "evaluate: %s of the %s split is not a number after step %lld: try a "
                           "lower rate, a longer warmup, or clip",
                           metrics->entry[i].name, lh_split_words[split],
                           (long long)session->record.step);
    }
    return LH_OK;
}

lh_status lh_session_evaluate(lh_session *session, lh_split split, lh_metrics *out) {
    pass p = {0};
    *out = (lh_metrics){0};
    lh_status status = begin_pass(session, &p);
    if (status == LH_OK) status = score_all(&p, split, out);
    clear_pass(&p);
    const lh_task *task = session->task;
    if (status == LH_OK) status = check_numbers(session, split, out);
    if (status != LH_OK || task->class->score == NULL) return status;
    const lh_scored scored = lh_session_scored(session);
    LH_TRY(task->class->score(task->instance, &scored, split, out));
    return check_numbers(session, split, out);
}

lh_status lh_task_check_split(const lh_task *task, const lh_model_setup *setup, lh_split split) {
    LH_TRY(task->class->evaluate_begin(task->instance, split));
    while (true) {
        lh_host_batch host = {0};
        LH_TRY(task->class->evaluate_batch(task->instance, &host));
        if (host.rows == 0) return nothing_in(split);
        if (lh_host_batch_weight(setup, &host) > 0.0) return LH_OK;
    }
}

lh_status lh_session_check_split(const lh_session *session, lh_split split) {
    return lh_task_check_split(session->task, &session->setup, split);
}

lh_status lh_task_measure_split(const lh_task *task, lh_split split, double seconds,
                                lh_split_size *out) {
    const double stop = lh_clock_seconds() + seconds;
    lh_host_batch host = {0};
    *out = (lh_split_size){0};
    LH_TRY(task->class->evaluate_begin(task->instance, split));
    do {
        LH_TRY(task->class->evaluate_batch(task->instance, &host));
        add_size(&host, out);
    } while (host.rows > 0 && lh_clock_seconds() < stop);
    if (is_unspelled(out)) out->bytes = out->words = NAN;
    return LH_OK;
}

lh_status lh_session_measure_split(const lh_session *session, lh_split split, lh_split_size *out) {
    return lh_task_measure_split(session->task, split, INFINITY, out);
}

void lh_session_watch_evaluations(lh_session *session, lh_evaluation_observer observer,
                                  void *context) {
    session->evaluation_observer = observer;
    session->evaluation_context = context;
}

/* ---- memory ---- */

/* Starts counting the memory of a pass; gives what is in use but for the parameters' values, which
 * inference needs as well. */
static int64_t count_memory(lh_session *session) {
    lh_session_reset_peak(session);
    const lh_tensor *values = lh_params_values(session->model->params);
    const int64_t parameters = session->swap != NULL
                                   ? lh_swap_resting_bytes(session->swap)
                                   : lh_tensor_count(values) * (int64_t)sizeof(real);
    return lh_pool_get_stats(session->pool).used_bytes - parameters;
}

/* The second batch finds the state that the first one left. */
static lh_status score_train_batches(pass *p) {
    const lh_task *task = p->session->task;
    for (int i = 0; i < 2; ++i) {
        lh_host_batch host;
        LH_TRY(task->class->train_batch(task->instance, &host));
        LH_TRY(score_batch(p, &host));
    }
    return LH_OK;
}

lh_status lh_session_inference_memory(lh_session *session, int64_t *bytes) {
    pass p;
    lh_task_place place;
    lh_task_mark(session->task, &place);
    const int64_t before = count_memory(session);
    lh_status status = begin_pass(session, &p);
    if (status == LH_OK) status = score_train_batches(&p);
    *bytes = lh_pool_get_stats(session->pool).peak_bytes - before;
    clear_pass(&p);
    return lh_task_return(session->task, &place, status);
}
