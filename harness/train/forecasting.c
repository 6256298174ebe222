#include "harness/train/forecasting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/series.h"
#include "harness/train/option_tables.h"
#include "kernels/random.h"

typedef enum sampler { SEQUENTIAL, SHUFFLED } sampler;
static const char *const sampler_names[] = {"sequential", "shuffled", NULL};

/* Windows of one split: window w observes rows first + w .. first + w + seq_len - 1. */
typedef struct windows {
    int64_t first, count;
} windows;

typedef struct forecasting {
    lh_series *series;
    int64_t seq_len, pred_len, rows, channels, times;
    sampler sampler;
    bool drop_last;
    int64_t evaluate_windows;
    uint64_t seed;
    windows train, pass;
    int64_t batches, at;               /* of the training stream: in an epoch, handed out in all */
    int64_t pass_at;                   /* windows handed out in the pass; -1: none has begun */
    int64_t *order;                    /* [train.count]: the shuffled windows of epoch `order_of` */
    int64_t order_of;                  /* -1: none */
    real *vectors, *targets, *weights; /* the batch */
    int32_t *starts;
} forecasting;

static const lh_option own_options[] = {
    {"seq_len", LH_OPTION_INTEGER, "96", 1, 1e6, NULL, "steps that are observed"},
    {"label_len", LH_OPTION_INTEGER, "48", 0, 1e6, NULL,
     "of them the last ones that a decoder begins with"},
    {"pred_len", LH_OPTION_INTEGER, "24", 1, 1e6, NULL, "steps to predict: the horizon"},
    {"batch", LH_OPTION_INTEGER, "32", 1, 1e6, NULL, "windows side by side (B)"},
    {"sampler", LH_OPTION_CHOICE, "sequential", 0, 0, sampler_names,
     "order of the training windows; sequential: batch row r moves on by `batch` steps"},
    {"drop_last", LH_OPTION_FLAG, "false", 0, 0, NULL,
     "evaluate whole batches only, as Informer's code does"},
    {"limit_windows", LH_OPTION_INTEGER, "0", 0, 1e9, NULL,
     "training windows to use, the latest; 0: all"},
    {"evaluate_windows", LH_OPTION_INTEGER, "0", 0, 1e9, NULL,
     "windows of a split that an evaluation reads, the first; 0: all"},
};

enum { OWN_OPTIONS = sizeof own_options / sizeof own_options[0] };

/* ---- opening ---- */

/* The series' share of the options: the rows of our table after our own. */
static lh_status open_series(forecasting *task, const lh_options *options) {
    lh_options *own = NULL;
    LH_TRY(lh_options_create("series", lh_series_options, &own));
    lh_status status = lh_option_tables_copy(options, OWN_OPTIONS, lh_series_options, own);
    if (status == LH_OK) status = lh_series_open(own, &task->series);
    lh_options_destroy(own);
    return status;
}

/* Windows whose predicted steps all lie in the split; the observed ones may lie before it. */
static lh_status find_windows(const forecasting *task, lh_split split, windows *out) {
    static const char *const names[LH_SPLITS] = {"training", "validation", "test"};
    const lh_series_range range = lh_series_split(task->series, split);
    out->first = range.begin > task->seq_len ? range.begin - task->seq_len : 0;
    out->count = range.end - out->first - task->seq_len - task->pred_len + 1;
    if (out->count > 0) return LH_OK;
    return lh_fail(
        LH_EOPTION, "%s: the %s split has %lld rows, too few for seq_len %lld and pred_len %lld",
        lh_series_source(task->series), names[split], (long long)(range.end - range.begin),
        (long long)task->seq_len, (long long)task->pred_len);
}

static lh_status open_train(forecasting *task, const lh_options *options) {
    const int64_t limit = lh_options_integer(options, "limit_windows");
    LH_TRY(find_windows(task, LH_TRAIN, &task->train));
    if (limit > 0 && limit < task->train.count) {
        task->train.first += task->train.count - limit;
        task->train.count = limit;
    }
    task->batches = task->train.count / task->rows;
    if (task->batches > 0) return LH_OK;
    return lh_fail(LH_EOPTION, "option 'batch' (%lld) is above the %lld training windows",
                   (long long)task->rows, (long long)task->train.count);
}

static lh_status allocate(forecasting *task) {
    const size_t rows = (size_t)task->rows, length = (size_t)(task->seq_len + task->pred_len),
                 targets = rows * (size_t)(task->pred_len * task->channels);
    task->vectors =
        lh_allocate(rows * length * (size_t)(task->channels + task->times) * sizeof(real));
    task->targets = lh_allocate(targets * sizeof(real));
    task->weights = lh_allocate(targets * sizeof(real));
    task->starts = lh_allocate(rows * sizeof *task->starts);
    task->order = lh_allocate((size_t)task->train.count * sizeof *task->order);
    const bool good = task->vectors != NULL && task->targets != NULL && task->weights != NULL &&
                      task->starts != NULL && task->order != NULL;
    return good ? LH_OK : LH_EMEMORY;
}

static lh_status open_task(void *instance, const lh_options *options, uint64_t seed,
                           lh_model_setup *setup) {
    forecasting *task = instance;
    const int64_t label_len = lh_options_integer(options, "label_len");
    task->seq_len = lh_options_integer(options, "seq_len");
    task->pred_len = lh_options_integer(options, "pred_len");
    task->rows = lh_options_integer(options, "batch");
    task->sampler = (sampler)lh_options_choice(options, "sampler");
    task->drop_last = lh_options_flag(options, "drop_last");
    task->evaluate_windows = lh_options_integer(options, "evaluate_windows");
    task->seed = seed;
    task->pass_at = task->order_of = -1;
    if (label_len > task->seq_len)
        return lh_fail(LH_EOPTION, "option 'label_len' (%lld) is above 'seq_len' (%lld)",
                       (long long)label_len, (long long)task->seq_len);
    LH_TRY(open_series(task, options));
    task->channels = lh_series_channels(task->series);
    task->times = lh_series_times(task->series);
    LH_TRY(open_train(task, options));
    *setup = (lh_model_setup){.input_features = task->channels + task->times,
                              .output_features = task->channels,
                              .time_features = task->times,
                              .seq_len = task->seq_len,
                              .label_len = label_len,
                              .pred_len = task->pred_len,
                              .stride = task->sampler == SEQUENTIAL ? task->rows : 0};
    return allocate(task);
}

static void close_task(void *instance) {
    forecasting *task = instance;
    lh_series_destroy(task->series);
    free(task->vectors);
    free(task->targets);
    free(task->weights);
    free(task->starts);
    free(task->order);
}

static void get_shape(const void *instance, int64_t *rows, int64_t *length) {
    const forecasting *task = instance;
    *rows = task->rows;
    *length = task->seq_len + task->pred_len;
}

/* ---- batches ---- */

static void fill_row(forecasting *task, int64_t row, int64_t first) {
    const int64_t channels = task->channels, times = task->times, width = channels + times,
                  length = task->seq_len + task->pred_len;
    real *vectors = task->vectors + row * length * width;
    real *targets = task->targets + row * task->pred_len * channels;
    for (int64_t t = 0; t < length; ++t) {
        const real *values = lh_series_values(task->series, first + t);
        const bool observed = t < task->seq_len;
        for (int64_t c = 0; c < channels; ++c)
            vectors[t * width + c] = observed ? values[c] : 0;
        memcpy(vectors + t * width + channels, lh_series_features(task->series, first + t),
               (size_t)times * sizeof *vectors);
        if (observed) continue;
        memcpy(targets + (t - task->seq_len) * channels, values,
               (size_t)channels * sizeof *targets);
    }
}

static void give_batch(forecasting *task, bool starts, bool weighted, lh_host_batch *out) {
    for (int64_t r = 0; r < task->rows; ++r)
        task->starts[r] = starts;
    *out = (lh_host_batch){.rows = task->rows,
                           .length = task->seq_len + task->pred_len,
                           .target_length = task->pred_len,
                           .starts = task->starts,
                           .vectors = task->vectors,
                           .target_vectors = task->targets,
                           .weights = weighted ? task->weights : NULL};
}

/* The epoch's order of windows, a function of (seed, epoch): Fisher and Yates. */
static void shuffle(forecasting *task, int64_t epoch) {
    const lh_random_key key = {
        .seed = task->seed, .step = (uint64_t)epoch, .stream = LH_STREAM_DATA};
    if (task->order_of == epoch) return;
    for (int64_t i = 0; i < task->train.count; ++i) {
        const int64_t j =
            (int64_t)((uint64_t)lh_random_word(key, (uint64_t)i) * (uint64_t)(i + 1) >> 32);
        task->order[i] = task->order[j];
        task->order[j] = i;
    }
    task->order_of = epoch;
}

static lh_status train_batch(void *instance, lh_host_batch *out) {
    forecasting *task = instance;
    const int64_t epoch = task->at / task->batches, batch = task->at % task->batches;
    if (task->sampler == SHUFFLED) shuffle(task, epoch);
    for (int64_t r = 0; r < task->rows; ++r) {
        const int64_t w = batch * task->rows + r;
        fill_row(task, r, task->train.first + (task->sampler == SHUFFLED ? task->order[w] : w));
    }
    give_batch(task, batch == 0 || task->sampler == SHUFFLED, false, out);
    task->at += 1;
    return LH_OK;
}

/* An evaluation goes in order whatever the sampler. */
static lh_status evaluate_begin(void *instance, lh_split split) {
    forecasting *task = instance;
    LH_TRY(find_windows(task, split, &task->pass));
    if (task->evaluate_windows > 0 && task->evaluate_windows < task->pass.count)
        task->pass.count = task->evaluate_windows;
    if (task->drop_last) task->pass.count -= task->pass.count % task->rows;
    task->pass_at = 0;
    return LH_OK;
}

/* Rows that the last batch lacks repeat the last window and weigh nothing. */
static lh_status evaluate_batch(void *instance, lh_host_batch *out) {
    forecasting *task = instance;
    *out = (lh_host_batch){0};
    if (task->pass_at < 0) return lh_fail(LH_ESTATE, "data: no evaluation has begun");
    const int64_t first = task->pass_at, left = task->pass.count - first,
                  per_row = task->pred_len * task->channels;
    if (left <= 0) return LH_OK;
    for (int64_t r = 0; r < task->rows; ++r) {
        fill_row(task, r, task->pass.first + first + (r < left ? r : left - 1));
        for (int64_t i = 0; i < per_row; ++i)
            task->weights[r * per_row + i] = r < left ? LH_R(1) : LH_R(0);
    }
    give_batch(task, first == 0, left < task->rows, out);
    task->pass_at += task->rows;
    return LH_OK;
}

static int get_cursor(const void *instance, int64_t *words) {
    const forecasting *task = instance;
    words[0] = task->at;
    return 1;
}

static lh_status set_cursor(void *instance, const int64_t *words, int count) {
    forecasting *task = instance;
    if (count != 1 || words[0] < 0)
        return lh_fail(LH_EFORMAT, "data: a position of %d numbers, one was expected", count);
    task->at = words[0];
    return LH_OK;
}

static void describe(const void *instance, char *data, size_t capacity, uint64_t *digest) {
    const forecasting *task = instance;
    (void)snprintf(data, capacity, "%s", lh_series_source(task->series));
    *digest = lh_series_digest(task->series);
}

/* ---- class ---- */

const lh_task_class *lh_forecasting_class(void) {
    static lh_option table[LH_OPTION_ROWS];
    static lh_task_class class = {.name = "forecasting",
                                  .summary = "Predict the next steps of a time series",
                                  .instance_size = sizeof(forecasting),
                                  .open = open_task,
                                  .close = close_task,
                                  .shape = get_shape,
                                  .train_batch = train_batch,
                                  .evaluate_begin = evaluate_begin,
                                  .evaluate_batch = evaluate_batch,
                                  .cursor_get = get_cursor,
                                  .cursor_set = set_cursor,
                                  .describe = describe};
    class.options = lh_option_tables_join(own_options, OWN_OPTIONS, lh_series_options, table);
    return &class;
}
