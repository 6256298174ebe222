/* Options as JSON, weights and coming batches as safetensors. */
#include "harness/infer/export.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/atomic_file.h"
#include "harness/engine/safetensors.h"
#include "harness/engine/text.h"
#include "harness/train/session_file.h"

/* ---- run.json ---- */

static bool add_list(cJSON *object, const char *name, const lh_list *list) {
    cJSON *array = cJSON_AddArrayToObject(object, name);
    bool good = array != NULL;
    for (int i = 0; good && i < list->count; ++i)
        good = cJSON_AddItemToArray(array, cJSON_CreateNumber((double)list->value[i]));
    return good;
}

static bool add_option(cJSON *object, const lh_option *row, const lh_value *value) {
    switch (row->type) {
    case LH_OPTION_INTEGER:
        return cJSON_AddNumberToObject(object, row->name, (double)value->integer) != NULL;
    case LH_OPTION_REAL:
        return cJSON_AddNumberToObject(object, row->name, value->real) != NULL;
    case LH_OPTION_FLAG:
        return cJSON_AddBoolToObject(object, row->name, value->flag) != NULL;
    case LH_OPTION_LIST:
        return add_list(object, row->name, &value->list);
    case LH_OPTION_CHOICE:
        return cJSON_AddStringToObject(object, row->name, row->choices[value->choice]) != NULL;
    case LH_OPTION_TEXT:
        break;
    }
    return cJSON_AddStringToObject(object, row->name, value->text) != NULL;
}

static bool add_options(cJSON *root, const char *name, const lh_options *options) {
    cJSON *object = cJSON_AddObjectToObject(root, name);
    bool good = object != NULL;
    for (int i = 0; good && i < lh_options_count(options); ++i)
        good = add_option(object, lh_options_row(options, i), lh_options_value(options, i));
    return good;
}

static bool describe(const lh_session *session, int64_t batches, cJSON *root) {
    const lh_task *task = lh_session_task(session);
    const lh_model *model = lh_session_model(session);
    const double seed = (double)lh_session_seed(session);
    char *data = task->class->describe(task->instance);
    const bool good =
        data != NULL && root != NULL &&
        cJSON_AddStringToObject(root, "model", model->class->name) &&
        cJSON_AddStringToObject(root, "task", task->class->name) &&
        cJSON_AddStringToObject(root, "data", data) &&
        cJSON_AddNumberToObject(root, "seed", seed) &&
        cJSON_AddNumberToObject(root, "vocabulary", (double)model->setup.vocabulary) &&
        cJSON_AddNumberToObject(root, "batches", (double)batches) &&
        cJSON_AddNumberToObject(root, "flops_per_token", lh_session_flops_per_token(session)) &&
        add_options(root, "model_options", model->options) &&
        add_options(root, "train_options", lh_session_train_options(session));
    free(data);
    return good;
}

static lh_status write_options(const lh_session *session, const char *path, int64_t batches) {
    cJSON *root = cJSON_CreateObject();
    char *text = describe(session, batches, root) ? cJSON_Print(root) : NULL;
    cJSON_Delete(root);
    if (text == NULL) return lh_fail(LH_EMEMORY, "%s: out of memory", path);
    const lh_status status = lh_atomic_file_put(path, text, strlen(text));
    cJSON_free(text);
    return status;
}

/* ---- batches.safetensors ---- */

/* All batches one after the other, integers as reals: a token's number has 24 bits at most. */
typedef struct batch_list {
    int64_t count, rows, length;
    real *tokens, *target, *weights, *starts;
} batch_list;

static void keep_integers(real *to, const int32_t *from, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        to[i] = (real)from[i];
}

static lh_status keep_batch(const batch_list *all, int64_t index, const lh_host_batch *host) {
    const int64_t size = all->rows * all->length, at = index * size;
    if (host->tokens == NULL || host->target == NULL || host->starts == NULL ||
        host->source_tokens != NULL)
        return lh_fail(LH_ETYPE, "export: takes tasks that predict a token at every position");
    keep_integers(all->tokens + at, host->tokens, size);
    keep_integers(all->target + at, host->target, size);
    keep_integers(all->starts + index * all->rows, host->starts, all->rows);
    for (int64_t i = 0; i < size; ++i)
        all->weights[at + i] = host->weights != NULL ? host->weights[i] : 1;
    return LH_OK;
}

static lh_status read_batches(const lh_session *session, const batch_list *all) {
    const lh_task *task = lh_session_task(session);
    lh_host_batch host;
    for (int64_t i = 0; i < all->count; ++i) {
        LH_TRY(task->class->train_batch(task->instance, &host));
        LH_TRY(keep_batch(all, i, &host));
    }
    return LH_OK;
}

/* Reads them ahead; the stream then stands where it stood. */
static lh_status look_ahead(const lh_session *session, const batch_list *all) {
    const lh_task *task = lh_session_task(session);
    int64_t cursor[LH_CURSOR_WORDS];
    const int words = task->class->cursor_get(task->instance, cursor);
    const lh_status status = read_batches(session, all);
    return status == LH_OK ? task->class->cursor_set(task->instance, cursor, words) : status;
}

static lh_status save_batches(const batch_list *all, const char *path) {
    const int64_t shape[] = {all->count, all->rows, all->length};
    const lh_safetensors_source sources[] = {{"tokens", 3, shape, all->tokens},
                                             {"target", 3, shape, all->target},
                                             {"weights", 3, shape, all->weights},
                                             {"starts", 2, shape, all->starts}};
    const lh_safetensors_contents contents = {.sources = sources, .source_count = 4};
    return lh_safetensors_write(path, &contents);
}

static lh_status write_batches(const lh_session *session, const char *path, int64_t count) {
    const lh_task *task = lh_session_task(session);
    int64_t rows = 0, length = 0;
    task->class->shape(task->instance, &rows, &length);
    const size_t size = (size_t)(count * rows * length);
    real *values = lh_allocate((3 * size + (size_t)(count * rows)) * sizeof *values);
    if (values == NULL) return LH_EMEMORY;
    const batch_list all = {.count = count,
                            .rows = rows,
                            .length = length,
                            .tokens = values,
                            .target = values + size,
                            .weights = values + 2 * size,
                            .starts = values + 3 * size};
    lh_status status = look_ahead(session, &all);
    if (status == LH_OK) status = save_batches(&all, path);
    free(values);
    return status;
}

enum { BATCHES, WEIGHTS, OPTIONS, FILES };

static lh_status write_files(lh_session *session, char *const path[FILES], int64_t batches) {
    LH_TRY(write_batches(session, path[BATCHES], batches));
    LH_TRY(lh_session_save_weights(session, path[WEIGHTS], false));
    return write_options(session, path[OPTIONS], batches);
}

lh_status lh_session_export(lh_session *session, const char *folder, int64_t batches) {
    static const char *const names[FILES] = {"batches.safetensors", "weights.safetensors",
                                             "run.json"};
    char *path[FILES];
    if (batches < 1) return lh_fail(LH_EOPTION, "export: needs at least one batch");
    lh_status status = LH_OK;
    for (int i = 0; i < FILES; ++i) {
        path[i] = lh_format("%s/%s", folder, names[i]);
        if (path[i] == NULL) status = LH_EMEMORY;
    }
    if (status == LH_OK) status = write_files(session, path, batches);
    for (int i = 0; i < FILES; ++i)
        free(path[i]);
    return status;
}
