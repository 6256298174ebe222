/* Forecasting: from a window of a time series to the values that follow it.
 *
 * A batch row is `seq_len` observed steps and the `pred_len` steps to predict, one behind the
 * other: vectors [rows][seq_len + pred_len][channels + time features], where the channels of the
 * steps to predict are zeros and their time features are known; target_vectors
 * [rows][pred_len][channels]. Options are its own, then those of its series. */
#include "harness/tasks/tasks.h"

#include <stdlib.h>
#include <string.h>

#include "datasets/series/series.h"
#include "harness/tasks/shuffle.h"

typedef enum sampler { SEQUENTIAL, SHUFFLED, STREAMS } sampler;
static const char *const sampler_names[] = {"sequential", "shuffled", "streams", NULL};

/* Windows of one split: window w observes rows first + w .. first + w + seq_len - 1. */
typedef struct windows {
    int64_t first, count;
} windows;

/* Where a reading of windows stands. A round of streams begins each row's stream at another of its
 * first windows; a round of the other samplers is an epoch. */
typedef struct reading {
    windows of;
    int64_t share; /* windows of a row's stream; 0: there are none */
    int64_t round, batch;
    bool whole; /* batches that lack a row are left out */
} reading;

typedef struct forecasting {
    lh_series *series;
    lh_series_config data;
    int64_t seq_len, label_len, pred_len, rows, channels, times;
    sampler sampler;
    bool drop_last;
    int64_t limit_windows, evaluate_windows; /* 0: all */
    uint64_t seed;
    reading train, pass;
    bool passes;                       /* an evaluation has begun */
    int32_t *order;                    /* [train count]: the shuffled windows of round `order_of` */
    int64_t order_of;                  /* -1: none */
    real *vectors, *targets, *weights; /* the batch */
    int32_t *starts;
} forecasting;

static const lh_option forecasting_options[] = {
    LH_INTEGER("seq_len", forecasting, seq_len, 96, 1, 1e6, "steps that are observed"),
    LH_INTEGER("label_len", forecasting, label_len, 48, 0, 1e6,
               "of them the last ones that a decoder begins with"),
    LH_INTEGER("pred_len", forecasting, pred_len, 24, 1, 1e6, "steps to predict: the horizon"),
    LH_INTEGER("batch", forecasting, rows, 32, 1, 1e6, "windows side by side (B)"),
    LH_CHOICE("sampler", forecasting, sampler, SEQUENTIAL, sampler_names,
              "order of training windows; sequential: row r of a batch begins r windows behind the "
              "first and moves on by `batch` steps; streams: by as many, in a piece of the series "
              "of its own"),
    LH_FLAG("drop_last", forecasting, drop_last, false,
            "evaluate whole batches only, as Informer's code does"),
    LH_INTEGER("limit_windows", forecasting, limit_windows, 0, 0, 1e9,
               "training windows to use, the latest; 0: all"),
    LH_INTEGER("evaluate_windows", forecasting, evaluate_windows, 0, 0, 1e9,
               "windows of a split that an evaluation reads, the first; 0: all"),
    {0}};

static const lh_option_table options[] = {
    LH_OWN_TABLE(forecasting), LH_TABLE(forecasting, data, lh_series_config), {0}};

/* ---- opening ---- */

/* Windows whose predicted steps all lie in the split; the observed ones may lie before it. */
static lh_status find_windows(const forecasting *task, lh_split split, windows *out) {
    const lh_series_range range = lh_series_split(task->series, split);
    out->first = range.begin > task->seq_len ? range.begin - task->seq_len : 0;
    out->count = range.end - out->first - task->seq_len - task->pred_len + 1;
    if (out->count > 0) return LH_OK;
    return lh_fail(
        LH_EOPTION, "%s: the %s split has %lld rows, too few for seq_len %lld and pred_len %lld",
        lh_series_source(task->series), lh_split_words[split], (long long)(range.end - range.begin),
        (long long)task->seq_len, (long long)task->pred_len);
}

static lh_status open_train(forecasting *task) {
    const int64_t limit = task->limit_windows;
    windows *of = &task->train.of;
    LH_TRY(find_windows(task, LH_TRAIN, of));
    if (limit > 0 && limit < of->count) {
        of->first += of->count - limit;
        of->count = limit;
    }
    task->train.share = task->sampler == STREAMS ? of->count / task->rows : 0;
    task->train.whole = true;
    if (of->count >= task->rows) return LH_OK;
    return lh_fail(LH_EOPTION, "option 'batch' (%lld) is above the %lld training windows",
                   (long long)task->rows, (long long)of->count);
}

static lh_status allocate(forecasting *task) {
    const size_t rows = (size_t)task->rows, length = (size_t)(task->seq_len + task->pred_len),
                 targets = rows * (size_t)(task->pred_len * task->channels);
    task->vectors =
        lh_allocate(rows * length * (size_t)(task->channels + task->times) * sizeof(real));
    task->targets = lh_allocate(targets * sizeof(real));
    task->weights = lh_allocate(targets * sizeof(real));
    task->starts = lh_allocate(rows * sizeof *task->starts);
    task->order = lh_allocate((size_t)task->train.of.count * sizeof *task->order);
    const bool good = task->vectors != NULL && task->targets != NULL && task->weights != NULL &&
                      task->starts != NULL && task->order != NULL;
    return good ? LH_OK : LH_EMEMORY;
}

/* Steps that a batch row moves on from one batch to the next, in streams as in order: so an
 * evaluation, which goes in order, is to a memory what training was. */
static int64_t stride_of(const forecasting *task) {
    return task->sampler == SHUFFLED ? 0 : task->rows;
}

static lh_status open_task(void *instance, uint64_t seed, lh_model_setup *setup) {
    forecasting *task = instance;
    task->seed = seed;
    task->order_of = -1;
    if (task->label_len > task->seq_len)
        return lh_fail(LH_EOPTION, "option 'label_len' (%lld) is above 'seq_len' (%lld)",
                       (long long)task->label_len, (long long)task->seq_len);
    LH_TRY(lh_series_open(&task->data, &task->series));
    task->channels = lh_series_channels(task->series);
    task->times = lh_series_times(task->series);
    LH_TRY(open_train(task));
    *setup = (lh_model_setup){.input_features = task->channels + task->times,
                              .output_features = task->channels,
                              .time_features = task->times,
                              .seq_len = task->seq_len,
                              .label_len = task->label_len,
                              .pred_len = task->pred_len,
                              .stride = stride_of(task)};
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

/* The epoch's order of windows, a function of (seed, epoch). */
static void shuffle(forecasting *task, int64_t epoch) {
    const lh_random_key key = {
        .seed = task->seed, .step = (uint64_t)epoch, .stream = LH_STREAM_DATA};
    if (task->order_of == epoch) return;
    lh_shuffle(key, task->order, task->train.of.count);
    task->order_of = epoch;
}

/* Rounds that it takes to read every window once. */
static int64_t rounds_of(const forecasting *task, const reading *at) {
    if (at->share == 0) return 1;
    return lh_min(task->rows, at->share);
}

/* The window of a batch row, or -1 when its share is read. */
static int64_t window_at(const forecasting *task, const reading *at, int64_t row) {
    const int64_t within = at->round % rounds_of(task, at) + at->batch * task->rows;
    const int64_t in_order = at->batch * task->rows + row;
    if (at->share == 0) return in_order < at->of.count ? in_order : -1;
    return within < at->share ? row * at->share + within : -1;
}

/* Rows of the batch that have a window: the first so many. */
static int64_t rows_at(const forecasting *task, const reading *at) {
    int64_t rows = 0;
    while (rows < task->rows && window_at(task, at, rows) >= 0)
        rows += 1;
    return at->whole && rows < task->rows ? 0 : rows;
}

static lh_status train_batch(void *instance, lh_host_batch *out) {
    forecasting *task = instance;
    reading *at = &task->train;
    if (rows_at(task, at) == 0) {
        at->round += 1;
        at->batch = 0;
    }
    if (task->sampler == SHUFFLED) shuffle(task, at->round);
    for (int64_t r = 0; r < task->rows; ++r) {
        const int64_t w = window_at(task, at, r);
        fill_row(task, r, at->of.first + (task->sampler == SHUFFLED ? task->order[w] : w));
    }
    give_batch(task, at->batch == 0 || task->sampler == SHUFFLED, false, out);
    at->batch += 1;
    return LH_OK;
}

/* Leaves out the windows that fill no batch. */
static lh_status drop_last(const forecasting *task, lh_split split, windows *of) {
    const int64_t left_out = of->count % task->rows;
    if (left_out == of->count)
        return lh_fail(LH_EOPTION,
                       "option 'drop_last': the %lld windows of the %s split that are evaluated "
                       "fill no batch of %lld",
                       (long long)of->count, lh_split_words[split], (long long)task->rows);
    of->count -= left_out;
    return LH_OK;
}

/* An evaluation goes in order, whatever training does. */
static lh_status evaluate_begin(void *instance, lh_split split) {
    forecasting *task = instance;
    task->pass = (reading){.whole = task->drop_last};
    windows *of = &task->pass.of;
    LH_TRY(find_windows(task, split, of));
    if (task->evaluate_windows > 0 && task->evaluate_windows < of->count)
        of->count = task->evaluate_windows;
    if (task->drop_last) LH_TRY(drop_last(task, split, of));
    task->passes = true;
    return LH_OK;
}

/* Rows that a batch lacks repeat the window before and weigh nothing. */
static lh_status evaluate_batch(void *instance, lh_host_batch *out) {
    forecasting *task = instance;
    reading *at = &task->pass;
    *out = (lh_host_batch){0};
    if (!task->passes) return lh_fail(LH_ESTATE, "data: no evaluation has begun");
    const int64_t rows = rows_at(task, at);
    if (rows == 0) return LH_OK;
    const int64_t per_row = task->pred_len * task->channels;
    for (int64_t r = 0; r < task->rows; ++r) {
        fill_row(task, r, at->of.first + window_at(task, at, r < rows ? r : rows - 1));
        for (int64_t i = 0; i < per_row; ++i)
            task->weights[r * per_row + i] = r < rows ? LH_R(1) : LH_R(0);
    }
    give_batch(task, at->batch == 0, rows < task->rows, out);
    at->batch += 1;
    return LH_OK;
}

static int get_cursor(const void *instance, int64_t *words) {
    const forecasting *task = instance;
    words[0] = task->train.round;
    words[1] = task->train.batch;
    return 2;
}

static lh_status set_cursor(void *instance, const int64_t *words, int count) {
    forecasting *task = instance;
    const int64_t most = task->train.of.count;
    if (count != 2 || !lh_is_count(words[0]) || words[1] < 0 || words[1] > most)
        return lh_fail(LH_EFORMAT, "data: no position in rounds of %lld windows", (long long)most);
    task->train.round = words[0];
    task->train.batch = words[1];
    return LH_OK;
}

static char *describe(const void *instance) {
    const forecasting *task = instance;
    return lh_duplicate_text(lh_series_source(task->series));
}

static lh_status remark(const void *instance, char **out) {
    const forecasting *task = instance;
    return lh_series_remark(task->series, out);
}

static uint64_t digest(const void *instance) {
    const forecasting *task = instance;
    return lh_series_digest(task->series);
}

/* ---- class ---- */

const lh_task_class lh_forecasting_class = {.name = "forecasting",
                                            .summary = "Predict the next steps of a time series",
                                            .options = options,
                                            .kind = {.input_features = 2,
                                                     .output_features = 1,
                                                     .time_features = 1,
                                                     .seq_len = 1,
                                                     .pred_len = 1},
                                            .instance_size = sizeof(forecasting),
                                            .open = open_task,
                                            .close = close_task,
                                            .shape = get_shape,
                                            .train_batch = train_batch,
                                            .evaluate_begin = evaluate_begin,
                                            .evaluate_batch = evaluate_batch,
                                            .cursor_get = get_cursor,
                                            .cursor_set = set_cursor,
                                            .describe = describe,
                                            .digest = digest,
                                            .remark = remark};
