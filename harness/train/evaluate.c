#include "harness/train/interrupt.h"
#include "harness/train/loss.h"
#include "harness/train/session_inside.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Sums over a pass: numbers, of which the first are of this rank's rows until all ranks join. */
typedef struct totals {
    double nats, weight, correct, squared, absolute;
    double strings[LH_BINS], right[LH_BINS];
    double bytes, words; /* of all rows */
} totals;

/* What one pass holds: released by clear_pass. */
typedef struct pass {
    lh_session *session;
    lh_state *state;
    lh_batch batch;
    totals sum;
} pass;

static void clear_pass(pass *p) {
    lh_batch_clear(&p->batch);
    lh_state_destroy(p->state);
}

void lh_metrics_set(lh_metrics *metrics, const char *name, double value) {
    int index = 0;
    while (index < metrics->count && strcmp(metrics->entry[index].name, name) != 0)
        ++index;
    if (index == LH_METRICS) return;
    snprintf(metrics->entry[index].name, sizeof metrics->entry[index].name, "%s", name);
    metrics->entry[index].value = value;
    if (index == metrics->count) metrics->count += 1;
}

double lh_metrics_get(const lh_metrics *metrics, const char *name) {
    for (int i = 0; i < metrics->count; ++i) {
        if (strcmp(metrics->entry[i].name, name) == 0) return metrics->entry[i].value;
    }
    return nan("");
}

static lh_status score_batch(pass *p, const lh_host_batch *all) {
    lh_session *session = p->session;
    const lh_share share = lh_share_of(session->ranks, all->rows);
    const lh_host_batch part = lh_host_batch_rows(&session->setup, all, share);
    const lh_host_batch *host = &part;
    p->sum.bytes += all->predicted_bytes;
    p->sum.words += all->predicted_words;
    if (host->rows == 0) return LH_OK;
    if (p->state == NULL)
        LH_TRY(lh_state_create(session->model, session->pool, host->rows, &p->state));
    lh_output output = {0};
    lh_tensor *loss = NULL;
    lh_loss_sums sums = {0};
    LH_TRY(lh_batch_upload(session->pool, &session->setup, host, &p->batch));
    lh_tape_set_rows(session->tape, share.first, share.count);
    lh_tape_begin(session->tape, false, session->seed, 0);
    const lh_scope scope = lh_scope_open(session->tape);
    LH_TRY(lh_model_forward(session->model, session->tape, p->state, &p->batch, false, &output));
    LH_TRY(lh_loss_forward(session->tape, &output, &p->batch,
                           lh_host_batch_weight(&session->setup, host), &loss, &sums));
    LH_TRY(lh_state_commit(p->state));
    lh_scope_close(session->tape, scope, NULL);
    p->sum.nats += sums.nats;
    p->sum.weight += sums.weight;
    p->sum.correct += sums.correct;
    p->sum.squared += sums.squared;
    p->sum.absolute += sums.absolute;
    p->sum.strings[host->bin] += sums.strings;
    p->sum.right[host->bin] += sums.right;
    return LH_OK;
}

static lh_status score_split(pass *p, lh_split split) {
    const lh_task *task = p->session->task;
    LH_TRY(task->class->evaluate_begin(task->instance, split));
    while (true) {
        lh_host_batch host;
        LH_TRY(task->class->evaluate_batch(task->instance, &host));
        if (host.rows == 0) return LH_OK;
        LH_TRY(score_batch(p, &host));
        bool stops = lh_interrupt_requested();
        LH_TRY(lh_ranks_any(p->session->ranks, &stops));
        if (stops) return lh_fail(LH_EINTERRUPT, "evaluate: stopped by a signal");
    }
}

static lh_status join(lh_communicator *ranks, totals *sum) {
    return lh_ranks_sum(ranks, (double *)sum, offsetof(totals, bytes) / sizeof(double));
}

/* Of strings that are right as a whole; each bin by itself where there are several. */
static void derive_accuracy(const totals *sum, lh_metrics *out) {
    double strings = 0.0, right = 0.0;
    for (int bin = 0; bin < LH_BINS; ++bin) {
        char name[32];
        (void)snprintf(name, sizeof name, "accuracy_bin%d", bin);
        strings += sum->strings[bin];
        right += sum->right[bin];
        if (sum->strings[LH_BINS - 1] > 0.0)
            lh_metrics_set(out, name, sum->right[bin] / sum->strings[bin]);
    }
    if (!(strings > 0.0)) return;
    lh_metrics_set(out, "accuracy", right / strings);
    lh_metrics_set(out, "error_percent", 100.0 * (1.0 - right / strings));
}

static void derive_errors(const totals *sum, lh_metrics *out) {
    *out = (lh_metrics){0};
    lh_metrics_set(out, "predicted_values", sum->weight);
    lh_metrics_set(out, "mse", sum->squared / sum->weight);
    lh_metrics_set(out, "mae", sum->absolute / sum->weight);
    derive_accuracy(sum, out);
}

/* word_perplexity is 2^(bits per word), as the papers on PG-19 report it. */
static void derive(const totals *sum, lh_metrics *out) {
    const double bits = sum->nats / log(2.0);
    *out = (lh_metrics){0};
    lh_metrics_set(out, "predicted_tokens", sum->weight);
    lh_metrics_set(out, "bits_per_token", bits / sum->weight);
    lh_metrics_set(out, "perplexity", exp(sum->nats / sum->weight));
    lh_metrics_set(out, "accuracy", sum->correct / sum->weight);
    lh_metrics_set(out, "error_percent", 100.0 * (1.0 - sum->correct / sum->weight));
    if (sum->bytes > 0.0) lh_metrics_set(out, "bits_per_byte", bits / sum->bytes);
    if (sum->words > 0.0) lh_metrics_set(out, "word_perplexity", exp(sum->nats / sum->words));
}

lh_status lh_session_evaluate(lh_session *session, lh_split split, lh_metrics *out) {
    pass p = {.session = session};
    lh_status status = score_split(&p, split);
    if (status == LH_OK) status = join(session->ranks, &p.sum);
    if (status == LH_OK && !(p.sum.weight > 0.0))
        status = lh_fail(LH_EFORMAT, "evaluate: the split has nothing to predict");
    if (status == LH_OK && session->setup.output_features > 0) {
        derive_errors(&p.sum, out);
    } else if (status == LH_OK) {
        derive(&p.sum, out);
    }
    clear_pass(&p);
    const lh_task *task = session->task;
    if (status != LH_OK || task->class->score == NULL) return status;
    return task->class->score(task->instance, session, split, out);
}

/* ---- memory ---- */

/* Starts counting the memory of a pass; gives what is in use but for the parameters' values, which
 * inference needs as well. */
static int64_t count_memory(lh_session *session) {
    session->earlier_peak = lh_session_peak_memory(session);
    lh_pool_reset_peak(session->pool);
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
    const lh_task *task = session->task;
    pass p = {.session = session};
    int64_t cursor[LH_CURSOR_WORDS];
    const int words = task->class->cursor_get(task->instance, cursor);
    const int64_t before = count_memory(session);
    lh_status status = score_train_batches(&p);
    *bytes = lh_pool_get_stats(session->pool).peak_bytes - before;
    clear_pass(&p);
    if (status == LH_OK) status = task->class->cursor_set(task->instance, cursor, words);
    return status;
}
