/* What a session is made of and which run it is; the rest is told in the headers of this folder. */
#include "harness/train/session.h"

#include "harness/train/adapter.h"
#include "harness/train/session_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- identity ---- */

/* Room for the text of all tables; a longer one is refused rather than cut. */
enum { IDENTITY_BYTES = 16384 };

typedef struct text {
    char *data;
    size_t used;
} text;

/* Adds the line "part.pair", where the pair is "name=value". */
static void append(text *out, const char *part, const char *pair) {
    const size_t room = IDENTITY_BYTES - out->used;
    const int written = snprintf(out->data + out->used, room, "%s.%s\n", part, pair);
    out->used =
        written < 0 || (size_t)written >= room ? IDENTITY_BYTES : out->used + (size_t)written;
}

static void append_name(text *out, const char *name, const char *value) {
    char pair[128];
    snprintf(pair, sizeof pair, "%s=%s", name, value);
    append(out, "run", pair);
}

static void append_number(text *out, const char *name, unsigned long long value) {
    char pair[64];
    snprintf(pair, sizeof pair, "%s=%llu", name, value);
    append(out, "run", pair);
}

/* Adds options by name and value. `plan`: that of training options, which tells those that count;
 * `place`: the name of an option that does not. Each is NULL elsewhere. */
static lh_status append_options(text *out, const char *part, const lh_options *options,
                                const char *const *later, const lh_train_plan *plan,
                                const char *place) {
    for (int i = 0; i < lh_options_count(options); ++i) {
        const lh_option *row = lh_options_row(options, i);
        char *pair = NULL;
        if (lh_options_is_unsaid(options, i, later)) continue;
        if (plan != NULL && !lh_train_option_is_identity(plan, row->name)) continue;
        if (place != NULL && strcmp(place, row->name) == 0) continue;
        LH_TRY(lh_option_spell_pair(row, lh_options_value(options, i), &pair));
        append(out, part, pair);
        free(pair);
    }
    return LH_OK;
}

static lh_status make_identity(lh_session *session, const lh_session_spec *spec) {
    text out = {.data = lh_allocate(IDENTITY_BYTES), .used = 0};
    if (out.data == NULL) return LH_EMEMORY;
    session->identity = out.data;
    append_name(&out, "model", spec->model->name);
    append_number(&out, "model_version", (unsigned long long)spec->model->version);
    append_name(&out, "task", spec->task->name);
    if (spec->task->version > 1)
        append_number(&out, "task_version", (unsigned long long)spec->task->version);
    append_number(&out, "data_digest", spec->task->digest(session->task->instance));
    append_number(&out, "seed", spec->seed);
    LH_TRY(append_options(&out, "model", session->model->options, spec->model->later_options, NULL,
                          NULL));
    LH_TRY(append_options(&out, "task", session->task->options, spec->task->later_options, NULL,
                          spec->task->place_option));
    LH_TRY(append_options(&out, "train", session->train_options, lh_train_later_options,
                          &session->plan, NULL));
    if (out.used >= IDENTITY_BYTES)
        return lh_fail(LH_EOPTION, "session: the options' text is longer than %d bytes",
                       IDENTITY_BYTES);
    return LH_OK;
}

/* ---- life ---- */

static lh_status swap_parameters(lh_session *session) {
    const lh_model *model = session->model;
    if (!lh_params_have_groups(model->params))
        return lh_fail(
            LH_EOPTION,
            "swap_parameters: no layer of %s with these options leaves the device; those "
            "of reformer and reformer_encoder_decoder do, with residual = reversible",
            model->class->name);
    LH_TRY(lh_pool_called("open", lh_cpu_open_pages(&session->processor)));
    LH_TRY(lh_pool_create(session->processor, &session->host));
    LH_TRY(lh_params_allocate(model->params, session->host));
    LH_TRY(lh_swap_create(model->params, session->pool, &session->swap));
    lh_tape_set_swap(session->tape, session->swap);
    return LH_OK;
}

static lh_status place_parameters(lh_session *session) {
    if (session->plan.swap_parameters) return swap_parameters(session);
    return lh_params_allocate(session->model->params, session->pool);
}

/* What a step does not see at once must not depend on it. */
static lh_status check_parts(const lh_session *session) {
    const lh_params *params = session->model->params;
    const long long parts = (long long)session->plan.accumulate;
    if (session->plan.swap_parameters && session->plan.segments_per_step > 1)
        return lh_fail(LH_EOPTION, "segments_per_step=%lld: not with swap_parameters",
                       (long long)session->plan.segments_per_step);
    if (parts == 1) return LH_OK;
    if (session->share.count < parts)
        return lh_fail(
            LH_EOPTION, "accumulate=%lld: the %lld rows of a batch%s cannot be cut into so many",
            parts, (long long)session->share.count, session->ranks != NULL ? " on one rank" : "");
    if (session->plan.swap_parameters)
        return lh_fail(LH_EOPTION, "accumulate=%lld: not with swap_parameters", parts);
    for (int i = 0; i < lh_params_count(params); ++i) {
        if (lh_params_at(params, i)->statistic)
            return lh_fail(LH_EOPTION,
                           "accumulate=%lld: %s normalises over all rows of a batch ('%s')", parts,
                           session->model->class->name, lh_params_at(params, i)->name);
    }
    return LH_OK;
}

static lh_status create_parts(lh_session *session) {
    const int64_t count = session->plan.accumulate;
    session->part = lh_allocate_zeroed((size_t)count, sizeof *session->part);
    session->segment =
        lh_allocate_zeroed((size_t)session->plan.segments_per_step, sizeof *session->segment);
    if (session->part == NULL || session->segment == NULL) return LH_EMEMORY;
    session->part[0].state = count == 1 ? session->state : NULL;
    for (int64_t i = 0; count > 1 && i < count; ++i) {
        const lh_share rows = lh_share_part(session->share, i, count);
        LH_TRY(lh_state_create_rows(session->model, session->state,
                                    rows.first - session->share.first, rows.count,
                                    &session->part[i].state));
    }
    return LH_OK;
}

static void destroy_parts(lh_session *session) {
    for (int64_t i = 0; session->part != NULL && i < session->plan.accumulate; ++i) {
        lh_state_destroy(session->part[i].own);
        if (session->plan.accumulate > 1) lh_state_destroy(session->part[i].state);
    }
    for (int64_t i = 0; session->segment != NULL && i < session->plan.segments_per_step; ++i)
        free(session->segment[i].memory);
    free(session->segment);
    free(session->part);
}

static lh_status create_model(lh_session *session, const lh_session_spec *spec) {
    LH_TRY(lh_model_create_for(spec->model, spec->model_options, &session->setup, &session->model));
    LH_TRY(check_parts(session));
    LH_TRY(lh_model_check(session->model, session->length));
    LH_TRY(place_parameters(session));
    if (!session->device->is_hollow)
        LH_TRY(lh_params_initialize(session->model->params, spec->seed));
    LH_TRY(lh_state_create(session->model, session->pool, session->share.count, &session->state));
    return create_parts(session);
}

/* Which rows of a batch are this rank's, and how gradients become those of all. */
static lh_status take_share(lh_session *session, lh_communicator *ranks) {
    session->ranks = ranks;
    session->share = lh_share_of(ranks, session->rows);
    if (ranks == NULL) return LH_OK;
    if (session->rows < ranks->size)
        return lh_fail(LH_EOPTION,
                       "a batch of %lld cannot be shared by %d ranks: start fewer, or "
                       "make the batch larger",
                       (long long)session->rows, ranks->size);
    return LH_OK;
}

static lh_status watch_gradients(lh_session *session) {
    if (session->ranks == NULL) return LH_OK;
    LH_TRY(lh_buckets_init(session->model->params, session->ranks, 0, &session->buckets));
    if (session->swap == NULL) lh_tape_watch(session->tape, lh_buckets_watch, &session->buckets);
    return LH_OK;
}

static lh_status create_losses(lh_session *session) {
    const int64_t capacity = session->plan.log_every;
    session->pending_weight = lh_allocate_zeroed((size_t)capacity, sizeof *session->pending_weight);
    if (session->pending_weight == NULL) return LH_EMEMORY;
    return lh_tensor_create_zero(session->pool, LH_REAL, 1, &capacity, &session->pending_loss);
}

static lh_status read_keep_rule(const lh_train_plan *plan, const lh_session_spec *spec,
                                lh_keep_rule *out) {
    const char *metric = lh_train_keep_best_metric(plan);
    *out = (lh_keep_rule){.by_metric = metric != NULL};
    if (metric == NULL) return LH_OK;
    if (spec->is_highest_best == NULL)
        return lh_fail(LH_EINTERNAL, "train: keep_best=%s, but nobody says which end is better",
                       metric);
    return spec->is_highest_best(spec->context, metric, &out->highest);
}

static lh_status build(lh_session *session, const lh_session_spec *spec) {
    session->seed = spec->seed;
    LH_TRY(lh_options_copy(spec->train_options, &session->train_options));
    LH_TRY(lh_train_plan_read(session->train_options, &session->plan));
    LH_TRY(read_keep_rule(&session->plan, spec, &session->keep_rule));
    session->record.evaluations = lh_evaluations_begin(session->keep_rule);
    if (session->device == NULL) LH_TRY(lh_pool_open_device(spec->device, &session->device));
    LH_TRY(lh_pool_create(session->device, &session->pool));
    LH_TRY(lh_pool_set_precision(session->pool, session->plan.precision));
    LH_TRY(lh_tape_create(session->pool, &session->tape));
    LH_TRY(lh_task_create(spec->task, spec->task_options, spec->seed, &session->setup,
                          &session->task));
    spec->task->shape(session->task->instance, &session->rows, &session->length);
    LH_TRY(take_share(session, spec->ranks));
    LH_TRY(create_model(session, spec));
    LH_TRY(watch_gradients(session));
    LH_TRY(
        lh_optimizer_create(&session->plan.optimizer, session->model->params, &session->optimizer));
    LH_TRY(create_losses(session));
    return make_identity(session, spec);
}

lh_status lh_session_create(const lh_session_spec *spec, lh_session **out) {
    *out = NULL;
    lh_session *session = lh_allocate_zeroed(1, sizeof *session);
    if (session == NULL) {
        lh_device_close(spec->opened);
        return LH_EMEMORY;
    }
    session->device = spec->opened;
    const lh_status status = build(session, spec);
    if (status != LH_OK) {
        lh_session_destroy(session);
        return status;
    }
    *out = session;
    return LH_OK;
}

void lh_session_destroy(lh_session *session) {
    if (session == NULL) return;
    lh_batch_clear(&session->batch);
    lh_buckets_clear(&session->buckets);
    lh_tensor_release(session->pending_loss);
    lh_optimizer_destroy(session->optimizer);
    if (session->tape != NULL) lh_tape_destroy(session->tape);
    destroy_parts(session);
    if (session->state != NULL) lh_state_destroy(session->state);
    lh_swap_destroy(session->swap);
    if (session->model != NULL) lh_model_destroy(session->model);
    lh_task_destroy(session->task);
    if (session->host != NULL) lh_pool_destroy(session->host);
    lh_device_close(session->processor);
    if (session->pool != NULL) lh_pool_destroy(session->pool);
    lh_device_close(session->device);
    if (session->train_options != NULL) lh_options_destroy(session->train_options);
    free(session->pending_weight);
    free(session->identity);
    free(session);
}

/* ---- what others may know ---- */

const lh_model *lh_session_model(const lh_session *session) {
    return session->model;
}

const lh_task *lh_session_task(const lh_session *session) {
    return session->task;
}

lh_scored lh_session_scored(const lh_session *session) {
    return (lh_scored){.model = session->model,
                       .pool = session->pool,
                       .tape = session->tape,
                       .seed = session->seed,
                       .ranks = session->ranks};
}

uint64_t lh_session_seed(const lh_session *session) {
    return session->seed;
}

const lh_options *lh_session_train_options(const lh_session *session) {
    return session->train_options;
}

int64_t lh_session_step(const lh_session *session) {
    return session->record.step;
}

double lh_session_seconds(const lh_session *session) {
    return session->record.seconds;
}

int64_t lh_session_tokens_per_step(const lh_session *session) {
    return session->rows * session->length * session->plan.segments_per_step;
}

int64_t lh_session_peak_memory(const lh_session *session) {
    const int64_t peak = lh_pool_get_stats(session->pool).peak_bytes;
    return peak > session->earlier_peak ? peak : session->earlier_peak;
}

void lh_session_reset_peak(lh_session *session) {
    session->earlier_peak = lh_session_peak_memory(session);
    lh_pool_reset_peak(session->pool);
}

double lh_session_flops_per_token(const lh_session *session) {
    return lh_model_flops_per_token(session->model, session->length);
}
