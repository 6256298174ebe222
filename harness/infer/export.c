/* Options as JSON, weights and coming batches as safetensors. */
#include "harness/infer/export.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/atomic_file.h"
#include "harness/engine/safetensors.h"
#include "harness/engine/text.h"
#include "harness/engine/utf8.h"
#include "harness/train/session_file.h"

/* ---- run.json ---- */

/* With all digits: cJSON keeps 15 of a number. */
static cJSON *new_integer(int64_t number) {
    char text[24];
    (void)snprintf(text, sizeof text, "%lld", (long long)number);
    return cJSON_CreateRaw(text);
}

static cJSON *new_real(double number) {
    char text[LH_REAL_BYTES];
    if (!isfinite(number)) return cJSON_CreateNull();
    lh_real_spell(number, text);
    return cJSON_CreateRaw(text);
}

/* Takes the item, also where it fails. */
static bool add(cJSON *object, const char *name, cJSON *item) {
    if (cJSON_AddItemToObject(object, name, item)) return true;
    cJSON_Delete(item);
    return false;
}

static bool add_list(cJSON *object, const char *name, const lh_list *list) {
    cJSON *array = cJSON_AddArrayToObject(object, name);
    bool good = array != NULL;
    for (int i = 0; good && i < list->count; ++i)
        good = cJSON_AddItemToArray(array, new_integer(list->value[i]));
    return good;
}

static bool add_option(cJSON *object, const lh_option *row, const lh_value *value) {
    switch (row->type) {
    case LH_OPTION_INTEGER:
        return add(object, row->name, new_integer(value->integer));
    case LH_OPTION_REAL:
        return add(object, row->name, new_real(value->real));
    case LH_OPTION_FLAG:
        return add(object, row->name, cJSON_CreateBool(value->flag));
    case LH_OPTION_LIST:
        return add_list(object, row->name, &value->list);
    case LH_OPTION_CHOICE:
        return add(object, row->name, cJSON_CreateString(row->choices[value->choice]));
    case LH_OPTION_TEXT:
        break;
    }
    return add(object, row->name, cJSON_CreateString(value->text));
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
    char *data = task->class->describe(task->instance);
    const bool good = data != NULL && root != NULL &&
                      add(root, "model", cJSON_CreateString(model->class->name)) &&
                      add(root, "task", cJSON_CreateString(task->class->name)) &&
                      add(root, "data", cJSON_CreateString(data)) &&
                      add(root, "seed", new_integer((int64_t)lh_session_seed(session))) &&
                      add(root, "vocabulary", new_integer(model->setup.vocabulary)) &&
                      add(root, "batches", new_integer(batches)) &&
                      add(root, "flops_per_token", new_real(lh_session_flops_per_token(session))) &&
                      add_options(root, "model_options", model->options) &&
                      add_options(root, "task_options", task->options) &&
                      add_options(root, "train_options", lh_session_train_options(session));
    free(data);
    return good;
}

static lh_status write_options(const lh_session *session, const char *path, int64_t batches) {
    cJSON *root = cJSON_CreateObject();
    char *text = describe(session, batches, root) ? cJSON_Print(root) : NULL;
    cJSON_Delete(root);
    if (text == NULL) return lh_fail(LH_EMEMORY, "%s: out of memory", path);
    lh_utf8_repair(text, strlen(text));
    const lh_status status = lh_atomic_file_put(path, text, strlen(text));
    cJSON_free(text);
    return status;
}

/* ---- batches.safetensors ---- */

/* The fields of a batch, in the order of the file. */
enum {
    TOKENS,
    TARGET,
    TOKEN_WEIGHTS,
    STARTS,
    SOURCE_TOKENS,
    SOURCE_COUNT,
    VECTORS,
    TARGET_VECTORS,
    FIELDS
};

static const char *const field_names[FIELDS] = {
    "tokens",        "target",       "weights", "starts",
    "source_tokens", "source_count", "vectors", "target_vectors",
};

/* One field of all batches, one after the other; integers as reals: a token's number has 24 bits at
 * most. */
typedef struct field {
    int rank;
    int64_t shape[4]; /* [batches][rows]... */
    real *values;     /* NULL: the task has no such field */
} field;

typedef struct batch_list {
    int64_t count;
    field field[FIELDS];
} batch_list;

/* What a batch has of a field: integers or reals. */
typedef struct content {
    const int32_t *integers;
    const real *reals;
} content;

static content content_of(const lh_host_batch *host, int index) {
    switch (index) {
    case TOKENS:
        return (content){.integers = host->tokens};
    case TARGET:
        return (content){.integers = host->target};
    case TOKEN_WEIGHTS:
        return (content){.reals = host->weights};
    case STARTS:
        return (content){.integers = host->starts};
    case SOURCE_TOKENS:
        return (content){.integers = host->source_tokens};
    case SOURCE_COUNT:
        return (content){.integers = host->source_count};
    case VECTORS:
        return (content){.reals = host->vectors};
    default:
        return (content){.reals = host->target_vectors};
    }
}

static bool is_there(content c) {
    return c.integers != NULL || c.reals != NULL;
}

/* A row of a field of one batch: [a][b]; its rank is returned. */
static int row_shape(const lh_model_setup *setup, const lh_host_batch *host, int index,
                     int64_t row[2]) {
    row[0] = host->length;
    row[1] = 1;
    switch (index) {
    case STARTS:
    case SOURCE_COUNT:
        row[0] = 1;
        return 0;
    case SOURCE_TOKENS:
        row[0] = host->source_length;
        return 1;
    case VECTORS:
        row[1] = setup->input_features;
        return 2;
    case TOKEN_WEIGHTS:
        if (setup->output_features == 0) return 1;
        break;
    case TARGET_VECTORS:
        break;
    default:
        return 1;
    }
    row[0] = host->target_length;
    row[1] = setup->output_features;
    return 2;
}

/* Whether the batch has the field; without weights all count alike, and are written so. */
static bool has_field(const lh_host_batch *host, int index) {
    return index == TOKEN_WEIGHTS || is_there(content_of(host, index));
}

/* Enlarges the shapes to hold a batch as well: sources differ in length. */
static void measure(batch_list *all, const lh_model_setup *setup, const lh_host_batch *host) {
    for (int i = 0; i < FIELDS; ++i) {
        int64_t row[2];
        field *f = &all->field[i];
        if (!has_field(host, i)) continue;
        f->rank = 2 + row_shape(setup, host, i, row);
        f->shape[0] = all->count;
        if (host->rows > f->shape[1]) f->shape[1] = host->rows;
        for (int k = 0; k < 2; ++k)
            if (row[k] > f->shape[2 + k]) f->shape[2 + k] = row[k];
    }
}

static void keep_field(field *f, int64_t batch, const int64_t rows, const int64_t row[2],
                       content from) {
    for (int64_t i = 0; i < rows * row[0] * row[1]; ++i) {
        const int64_t r = i / (row[0] * row[1]), a = i / row[1] % row[0], b = i % row[1];
        const int64_t at = ((batch * f->shape[1] + r) * f->shape[2] + a) * f->shape[3] + b;
        f->values[at] = from.integers != NULL ? (real)from.integers[i]
                        : from.reals != NULL  ? from.reals[i]
                                              : 1;
    }
}

static void keep(batch_list *all, const lh_model_setup *setup, int64_t batch,
                 const lh_host_batch *host) {
    for (int i = 0; i < FIELDS; ++i) {
        int64_t row[2];
        if (!has_field(host, i)) continue;
        (void)row_shape(setup, host, i, row);
        keep_field(&all->field[i], batch, host->rows, row, content_of(host, i));
    }
}

static lh_status allocate_fields(batch_list *all) {
    for (int i = 0; i < FIELDS; ++i) {
        field *f = &all->field[i];
        const int64_t count = f->shape[0] * f->shape[1] * f->shape[2] * f->shape[3];
        if (f->rank == 0) continue;
        f->values = lh_allocate_zeroed((size_t)count, sizeof *f->values);
        if (f->values == NULL) return LH_EMEMORY;
    }
    return LH_OK;
}

/* Reads the batches ahead, to measure them or to keep them; the stream then stands where it stood.
 */
static lh_status look_ahead(const lh_session *session, batch_list *all, bool keeps) {
    const lh_task *task = lh_session_task(session);
    const lh_model_setup *setup = &lh_session_model(session)->setup;
    lh_task_place place;
    lh_host_batch host;
    lh_task_mark(task, &place);
    lh_status status = LH_OK;
    for (int64_t i = 0; i < all->count && status == LH_OK; ++i) {
        status = task->class->train_batch(task->instance, &host);
        if (status != LH_OK) break;
        if (keeps) {
            keep(all, setup, i, &host);
        } else {
            measure(all, setup, &host);
        }
    }
    return lh_task_return(task, &place, status);
}

static lh_status save_batches(const batch_list *all, const char *path) {
    lh_safetensors_source sources[FIELDS];
    lh_safetensors_contents contents = {.sources = sources};
    for (int i = 0; i < FIELDS; ++i) {
        const field *f = &all->field[i];
        if (f->values != NULL)
            sources[contents.source_count++] =
                (lh_safetensors_source){field_names[i], f->rank, f->shape, f->values};
    }
    return lh_safetensors_write(path, &contents);
}

static lh_status write_batches(const lh_session *session, const char *path, int64_t count) {
    batch_list all = {.count = count};
    lh_status status = look_ahead(session, &all, false);
    if (status == LH_OK) status = allocate_fields(&all);
    if (status == LH_OK) status = look_ahead(session, &all, true);
    if (status == LH_OK) status = save_batches(&all, path);
    for (int i = 0; i < FIELDS; ++i)
        free(all.field[i].values);
    return status;
}

enum { BATCHES, WEIGHTS, OPTIONS, FILES };

static lh_status write_files(lh_session *session, char *const path[FILES], int64_t batches) {
    LH_TRY(write_batches(session, path[BATCHES], batches));
    LH_TRY(lh_session_save_weights(session, path[WEIGHTS], false, NULL));
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
