#include "harness/train/session_inside.h"

#include "harness/train/trainer.h"

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

static void append(text *out, const char *part, const char *name, const char *value) {
    const size_t room = IDENTITY_BYTES - out->used;
    const int written = snprintf(out->data + out->used, room, "%s.%s=%s\n", part, name, value);
    out->used =
        written < 0 || (size_t)written >= room ? IDENTITY_BYTES : out->used + (size_t)written;
}

static void append_number(text *out, const char *name, unsigned long long value) {
    char digits[32];
    snprintf(digits, sizeof digits, "%llu", value);
    append(out, "run", name, digits);
}

static void append_options(text *out, const char *part, const lh_options *options,
                           const lh_train_plan *plan) {
    const lh_option *table = lh_options_table(options);
    for (int i = 0; table[i].name != NULL; ++i) {
        if (plan != NULL && !lh_train_option_is_identity(plan, table[i].name)) continue;
        if (lh_option_is_silent(&table[i], lh_options_value(options, i))) continue;
        append(out, part, table[i].name, lh_options_value(options, i));
    }
}

static lh_status make_identity(lh_session *session, const lh_session_spec *spec) {
    text out = {.data = lh_allocate(IDENTITY_BYTES), .used = 0};
    if (out.data == NULL) return LH_EMEMORY;
    session->identity = out.data;
    char data[256];
    uint64_t digest = 0;
    spec->task->describe(session->task->instance, data, sizeof data, &digest);
    append(&out, "run", "model", spec->model->name);
    append_number(&out, "model_version", (unsigned long long)spec->model->version);
    append(&out, "run", "task", spec->task->name);
    append_number(&out, "data_digest", digest);
    append_number(&out, "seed", spec->seed);
    append_options(&out, "model", session->model->options, NULL);
    append_options(&out, "task", spec->task_options, NULL);
    append_options(&out, "train", spec->train_options, &session->plan);
    if (out.used >= IDENTITY_BYTES)
        return lh_fail(LH_EOPTION, "session: the options' text is longer than %d bytes",
                       IDENTITY_BYTES);
    return LH_OK;
}

/* ---- life ---- */

static lh_status check_abilities(const lh_model_class *model, const lh_model_setup *setup) {
    if (setup->vocabulary > 0 && (model->abilities & LH_ABLE_TOKENS) == 0)
        return lh_fail(LH_EOPTION, "%s: does not take tokens, which the task gives", model->name);
    if (setup->vocabulary == 0 && (model->abilities & LH_ABLE_VECTORS) == 0)
        return lh_fail(LH_EOPTION, "%s: does not take vectors, which the task gives", model->name);
    const bool encodes = (model->abilities & LH_ABLE_SEQUENCE_TO_SEQUENCE) != 0;
    if (setup->source_vocabulary > 0 && !encodes)
        return lh_fail(LH_EOPTION, "%s: reads no source, which the task gives", model->name);
    if (setup->source_vocabulary == 0 && encodes)
        return lh_fail(LH_EOPTION, "%s: needs a source, which the task lacks", model->name);
    return LH_OK;
}

static lh_status create_model(lh_session *session, const lh_session_spec *spec) {
    LH_TRY(check_abilities(spec->model, &session->setup));
    LH_TRY(lh_model_create(spec->model, spec->model_options, &session->setup, &session->model));
    if (spec->model->check != NULL)
        LH_TRY(spec->model->check(session->model->instance, session->rows, session->length));
    LH_TRY(lh_params_allocate(session->model->params, session->pool));
    LH_TRY(lh_params_initialize(session->model->params, spec->seed));
    return lh_state_create(session->model, session->pool, session->rows, &session->state);
}

static lh_status create_losses(lh_session *session) {
    const int64_t capacity = session->plan.log_every;
    session->pending_weight = lh_allocate_zeroed((size_t)capacity, sizeof *session->pending_weight);
    if (session->pending_weight == NULL) return LH_EMEMORY;
    return lh_tensor_create_zero(session->pool, LH_REAL, 1, &capacity, &session->pending_loss);
}

static lh_status build(lh_session *session, const lh_session_spec *spec) {
    session->seed = spec->seed;
    LH_TRY(lh_options_copy(spec->train_options, &session->train_options));
    lh_train_plan_read(session->train_options, &session->plan);
    LH_TRY(lh_pool_open_device(spec->device, &session->device));
    LH_TRY(lh_pool_create(session->device, &session->pool));
    LH_TRY(lh_pool_set_precision(session->pool, session->plan.precision));
    LH_TRY(lh_tape_create(session->pool, &session->tape));
    LH_TRY(lh_task_create(spec->task, spec->task_options, spec->seed, &session->setup,
                          &session->task));
    spec->task->shape(session->task->instance, &session->rows, &session->length);
    LH_TRY(create_model(session, spec));
    LH_TRY(
        lh_optimizer_create(&session->plan.optimizer, session->model->params, &session->optimizer));
    LH_TRY(create_losses(session));
    return make_identity(session, spec);
}

lh_status lh_session_create(const lh_session_spec *spec, lh_session **out) {
    *out = NULL;
    lh_session *session = lh_allocate_zeroed(1, sizeof *session);
    if (session == NULL) return LH_EMEMORY;
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
    lh_tensor_release(session->pending_loss);
    lh_optimizer_destroy(session->optimizer);
    if (session->tape != NULL) lh_tape_destroy(session->tape);
    if (session->state != NULL) lh_state_destroy(session->state);
    if (session->model != NULL) lh_model_destroy(session->model);
    lh_task_destroy(session->task);
    if (session->pool != NULL) lh_pool_destroy(session->pool);
    lh_device_close(session->device);
    if (session->train_options != NULL) lh_options_destroy(session->train_options);
    free(session->pending_weight);
    free(session->identity);
    free(session);
}

/* ---- checkpoints and weights ---- */

/* The tensors of a run in the order of the file; an array to free(), or NULL. A state that is no
 * ring has no count. */
static lh_tensor **list_tensors(const lh_session *session, int *count) {
    const int moments = lh_optimizer_moment_count(session->optimizer);
    const int states = lh_state_count(session->state);
    lh_tensor **list = lh_allocate_zeroed((size_t)(1 + moments + states), sizeof *list);
    if (list == NULL) return NULL;
    *count = 0;
    list[(*count)++] = lh_params_values(session->model->params);
    for (int i = 0; i < moments; ++i)
        list[(*count)++] = lh_optimizer_moment(session->optimizer, i);
    for (int i = 0; i < states; ++i) {
        lh_tensor *tensor = lh_state_tensor(session->state, i);
        if (tensor != NULL) list[(*count)++] = tensor;
    }
    return list;
}

lh_status lh_session_save(lh_session *session, const char *path) {
    const lh_task *task = session->task;
    LH_TRY(lh_trainer_flush(session));
    lh_snapshot snapshot = {.identity = session->identity, .record = session->record};
    snapshot.cursor_count = task->class->cursor_get(task->instance, snapshot.cursor);
    snapshot.tensor = list_tensors(session, &snapshot.tensor_count);
    if (snapshot.tensor == NULL) return LH_EMEMORY;
    const lh_status status = lh_snapshot_write(&snapshot, path);
    free(snapshot.tensor);
    return status;
}

lh_status lh_session_restore(lh_session *session, const char *path) {
    const lh_task *task = session->task;
    lh_snapshot snapshot = {.identity = session->identity};
    snapshot.tensor = list_tensors(session, &snapshot.tensor_count);
    if (snapshot.tensor == NULL) return LH_EMEMORY;
    lh_status status = lh_snapshot_read(&snapshot, path);
    free(snapshot.tensor);
    if (status == LH_OK)
        status = task->class->cursor_set(task->instance, snapshot.cursor, snapshot.cursor_count);
    LH_TRY(status);
    session->record = snapshot.record;
    session->pending = 0;
    return LH_OK;
}

lh_status lh_session_load_weights(lh_session *session, const char *path, bool partly) {
    return lh_params_load(session->model->params, path, session->model->class->published_names,
                          partly);
}

lh_status lh_session_save_weights(lh_session *session, const char *path, bool published) {
    const lh_tensor_name *names = session->model->class->published_names;
    if (published && names == NULL)
        return lh_fail(LH_EOPTION, "%s has no published names of its tensors",
                       session->model->class->name);
    return lh_params_save(session->model->params, path, published ? names : NULL);
}

/* ---- what others may know ---- */

const lh_model *lh_session_model(const lh_session *session) {
    return session->model;
}

const lh_task *lh_session_task(const lh_session *session) {
    return session->task;
}

int64_t lh_session_step(const lh_session *session) {
    return session->record.step;
}

double lh_session_seconds(const lh_session *session) {
    return session->record.seconds;
}

int64_t lh_session_peak_memory(const lh_session *session) {
    const int64_t peak = lh_pool_get_stats(session->pool).peak_bytes;
    return peak > session->earlier_peak ? peak : session->earlier_peak;
}

double lh_session_flops_per_token(const lh_session *session) {
    return lh_model_flops_per_token(session->model, session->length);
}
