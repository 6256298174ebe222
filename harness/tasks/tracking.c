/* State tracking: predict the label of every symbol that has one (Ju et al. 2022, section 4.1).
 *
 * Each batch row reads one endless stream of episodes; nothing is cleared between them, as in the
 * released trainer. */
#include "harness/tasks/tasks.h"

#include <stdlib.h>

#include "datasets/digest.h"
#include "datasets/generate/algorithm.h"
#include "datasets/generate/random_walk.h"
#include "harness/engine/text.h"

/* Episodes of one split, read by `rows` side by side: row r reads episodes r, r + rows ... */
typedef struct stream {
    lh_split split;
    int64_t rows;
    int64_t count;       /* episodes of the split; 0: without end */
    bool again;          /* starts over at the end */
    int64_t *taken, *at; /* by row: episodes begun, position in the current one */
    lh_episode *episode; /* by row: the current one */
} stream;

typedef struct tracking {
    bool walks;
    lh_random_walk walk;
    lh_algorithm algorithm;
    int64_t rows, length, longest, counts[LH_SPLITS];
    int64_t data_seed;
    double chance; /* error of the best constant guess, in percent */
    stream train, pass;
    int32_t *tokens, *target, *starts; /* the batch */
    real *weights;
} tracking;

/* ---- episodes ---- */

static void write_episode(const tracking *task, lh_split split, int64_t index, lh_episode *out) {
    const lh_random_key key = {.seed = (uint64_t)task->data_seed,
                               .step = (uint64_t)index,
                               .stream = LH_STREAM_DATA,
                               .op = (uint32_t)split};
    if (task->walks) {
        lh_random_walk_write(&task->walk, key, out);
    } else {
        lh_algorithm_write(&task->algorithm, key, out);
    }
}

static lh_status episode_open(const tracking *task, lh_episode *out) {
    out->length = 0;
    out->tokens = lh_allocate((size_t)task->longest * sizeof *out->tokens);
    out->labels = lh_allocate((size_t)task->longest * sizeof *out->labels);
    return out->tokens != NULL && out->labels != NULL ? LH_OK : LH_EMEMORY;
}

static void episode_close(lh_episode *episode) {
    free(episode->tokens);
    free(episode->labels);
}

/* ---- streams ---- */

static void stream_close(stream *s) {
    for (int64_t r = 0; s->episode != NULL && r < s->rows; ++r)
        episode_close(&s->episode[r]);
    free(s->taken);
    free(s->at);
    free(s->episode);
    *s = (stream){0};
}

static lh_status stream_open(const tracking *task, lh_split split, bool again, stream *out) {
    const int64_t count = task->counts[split], rows = task->rows;
    *out = (stream){.split = split, .count = count, .again = again};
    out->rows = count > 0 && count < rows && !again ? count : rows;
    out->taken = lh_allocate_zeroed((size_t)out->rows, sizeof *out->taken);
    out->at = lh_allocate_zeroed((size_t)out->rows, sizeof *out->at);
    out->episode = lh_allocate_zeroed((size_t)out->rows, sizeof *out->episode);
    if (out->taken == NULL || out->at == NULL || out->episode == NULL) return LH_EMEMORY;
    for (int64_t r = 0; r < out->rows; ++r)
        LH_TRY(episode_open(task, &out->episode[r]));
    return LH_OK;
}

/* The number of row r's episode `ordinal`, or -1 past the end. */
static int64_t episode_index(const stream *s, int64_t r, int64_t ordinal) {
    const int64_t index = r + ordinal * s->rows;
    if (s->count == 0) return index;
    if (s->again) return index % s->count;
    return index < s->count ? index : -1;
}

/* Whether row r has a symbol to read; begins its next episode where one has ended. */
static bool stream_ready(const tracking *task, stream *s, int64_t r) {
    if (s->taken[r] > 0 && s->at[r] < s->episode[r].length) return true;
    const int64_t index = episode_index(s, r, s->taken[r]);
    if (index < 0) return false;
    write_episode(task, s->split, index, &s->episode[r]);
    s->taken[r] += 1;
    s->at[r] = 0;
    return true;
}

/* Fills the batch; false when no row had anything left. */
static bool stream_read(tracking *task, stream *s) {
    bool any = false;
    for (int64_t r = 0; r < s->rows; ++r) {
        task->starts[r] = s->taken[r] == 0;
        for (int64_t t = 0; t < task->length; ++t) {
            const int64_t i = r * task->length + t;
            const bool ready = stream_ready(task, s, r);
            const lh_episode *episode = &s->episode[r];
            const int32_t label = ready ? episode->labels[s->at[r]] : LH_UNLABELLED;
            task->tokens[i] = ready ? episode->tokens[s->at[r]] : 0;
            task->target[i] = label != LH_UNLABELLED ? label : 0;
            task->weights[i] = label != LH_UNLABELLED ? LH_R(1) : LH_R(0);
            s->at[r] += ready ? 1 : 0;
            any = any || ready;
        }
    }
    return any;
}

static void give_batch(const tracking *task, const stream *s, lh_host_batch *out) {
    *out = (lh_host_batch){.rows = s->rows,
                           .length = task->length,
                           .tokens = task->tokens,
                           .target = task->target,
                           .starts = task->starts,
                           .weights = task->weights};
}

/* ---- opening ---- */

/* Error of who always guesses the commonest label, over a hundred episodes. */
static lh_status measure_chance(tracking *task, int64_t vocabulary) {
    enum { EPISODES = 100 };
    lh_episode episode = {0};
    int64_t *seen = lh_allocate_zeroed((size_t)vocabulary, sizeof *seen), labels = 0, most = 0;
    lh_status status = seen != NULL ? episode_open(task, &episode) : LH_EMEMORY;
    for (int64_t n = 0; n < EPISODES && status == LH_OK; ++n) {
        write_episode(task, LH_VALID, n, &episode);
        for (int64_t t = 0; t < episode.length; ++t)
            if (episode.labels[t] != LH_UNLABELLED) {
                labels += 1;
                seen[episode.labels[t]] += 1;
            }
    }
    for (int64_t v = 0; v < vocabulary && status == LH_OK; ++v)
        most = seen[v] > most ? seen[v] : most;
    task->chance = labels > 0 ? 100.0 * (1.0 - (double)most / (double)labels) : 0.0;
    episode_close(&episode);
    free(seen);
    return status;
}

static lh_status open_all(tracking *task, int64_t vocabulary, lh_model_setup *setup) {
    task->counts[LH_TEST] = task->counts[LH_VALID];
    const size_t positions = (size_t)(task->rows * task->length);
    task->tokens = lh_allocate(positions * sizeof *task->tokens);
    task->target = lh_allocate(positions * sizeof *task->target);
    task->weights = lh_allocate(positions * sizeof *task->weights);
    task->starts = lh_allocate((size_t)task->rows * sizeof *task->starts);
    if (task->tokens == NULL || task->target == NULL || task->weights == NULL ||
        task->starts == NULL)
        return LH_EMEMORY;
    LH_TRY(measure_chance(task, vocabulary));
    *setup = (lh_model_setup){.vocabulary = vocabulary};
    return stream_open(task, LH_TRAIN, true, &task->train);
}

/* The task's own seed decides nothing: all runs of a row read the same data. */
static lh_status open_walk(void *instance, uint64_t seed, lh_model_setup *setup) {
    (void)seed;
    tracking *task = instance;
    task->walks = true;
    task->longest = lh_random_walk_longest(&task->walk);
    return open_all(task, lh_random_walk_vocabulary(&task->walk), setup);
}

static lh_status open_algorithm(void *instance, uint64_t seed, lh_model_setup *setup) {
    (void)seed;
    tracking *task = instance;
    task->longest = lh_algorithm_longest(&task->algorithm);
    return open_all(task, lh_algorithm_vocabulary(&task->algorithm), setup);
}

static void close_task(void *instance) {
    tracking *task = instance;
    stream_close(&task->train);
    stream_close(&task->pass);
    free(task->tokens);
    free(task->target);
    free(task->weights);
    free(task->starts);
}

/* ---- batches ---- */

static void get_shape(const void *instance, int64_t *rows, int64_t *length) {
    const tracking *task = instance;
    *rows = task->rows;
    *length = task->length;
}

static lh_status train_batch(void *instance, lh_host_batch *out) {
    tracking *task = instance;
    (void)stream_read(task, &task->train);
    give_batch(task, &task->train, out);
    return LH_OK;
}

static lh_status evaluate_begin(void *instance, lh_split split) {
    tracking *task = instance;
    stream_close(&task->pass);
    return stream_open(task, split, false, &task->pass);
}

static lh_status evaluate_batch(void *instance, lh_host_batch *out) {
    tracking *task = instance;
    *out = (lh_host_batch){0};
    if (task->pass.episode == NULL) return lh_fail(LH_ESTATE, "data: no evaluation has begun");
    if (stream_read(task, &task->pass)) give_batch(task, &task->pass, out);
    return LH_OK;
}

static int get_cursor(const void *instance, int64_t *words) {
    const tracking *task = instance;
    for (int64_t r = 0; r < task->rows; ++r) {
        words[2 * r] = task->train.taken[r];
        words[2 * r + 1] = task->train.at[r];
    }
    return (int)(2 * task->rows);
}

static lh_status check_cursor(const tracking *task, const int64_t *words, int count) {
    bool good = true;
    if (count != 2 * task->rows) {
        return lh_fail(LH_EFORMAT, "data: a position of %d rows, the batch has %lld", count / 2,
                       (long long)task->rows);
    }
    for (int i = 0; i < count; ++i)
        good = good && lh_is_count(words[i]);
    return good ? LH_OK : lh_fail(LH_EFORMAT, "data: a position that no stream of episodes has");
}

static lh_status set_cursor(void *instance, const int64_t *words, int count) {
    tracking *task = instance;
    stream *s = &task->train;
    LH_TRY(check_cursor(task, words, count));
    for (int64_t r = 0; r < task->rows; ++r) {
        s->taken[r] = words[2 * r];
        s->at[r] = words[2 * r + 1];
        if (s->taken[r] == 0) continue;
        const int64_t index = episode_index(s, r, s->taken[r] - 1);
        write_episode(task, LH_TRAIN, index, &s->episode[r]);
    }
    return LH_OK;
}

/* The rules are options, hence part of the run's identity already. */
static uint64_t digest(const void *instance) {
    const tracking *task = instance;
    const uint64_t version = task->walks ? LH_RANDOM_WALK_VERSION : LH_ALGORITHM_VERSION;
    return lh_digest_generated(version, (uint64_t)task->data_seed);
}

static char *describe(const void *instance) {
    const tracking *task = instance;
    const long long grid = task->walk.grid, variables = task->algorithm.variables;
    return task->walks ? lh_format("random walk, %lld x %lld cells (constant guess errs %.1f %%)",
                                   grid, grid, task->chance)
                       : lh_format("algorithm, %lld variables (constant guess errs %.1f %%)",
                                   variables, task->chance);
}

/* ---- classes ---- */

static const lh_option tracking_options[] = {
    LH_INTEGER("segment", tracking, length, 64, 1, 1e9, "symbols of a segment"),
    LH_INTEGER("batch", tracking, rows, 64, 1, LH_CURSOR_WORDS / 2,
               "streams read side by side (B)"),
    LH_INTEGER("episodes", tracking, counts[LH_TRAIN], 10000, 0, 1e12,
               "training episodes, read again and again; 0: new ones without end"),
    LH_INTEGER("evaluate_episodes", tracking, counts[LH_VALID], 1000, 1, 1e9,
               "episodes of the validation and of the test split"),
    LH_INTEGER("data_seed", tracking, data_seed, 1, 0, 1e15, "what the episodes are drawn from"),
    {0}};

static const lh_option walk_rows[] = {
    LH_INTEGER("grid", tracking, walk.grid, 8, 2, 64, "cells along a side of the grid"),
    LH_INTEGER("steps", tracking, walk.steps, 400, 1, 1e6, "actions of an episode"),
    {0}};

static const lh_option algorithm_rows[] = {
    LH_INTEGER("variables", tracking, algorithm.variables, 3, 1, LH_ALGORITHM_VARIABLES,
               "variables"),
    LH_INTEGER("statements", tracking, algorithm.statements, 100, 1, 1e6,
               "statements of a program"),
    LH_INTEGER("largest", tracking, algorithm.largest, 10, 2, 1000, "values are 1 to this"),
    {0}};

static const lh_option_table walk_options[] = {LH_OWN_TABLE(tracking), {walk_rows, 0}, {0}};

static const lh_option_table algorithm_options[] = {
    LH_OWN_TABLE(tracking), {algorithm_rows, 0}, {0}};

const lh_task_class lh_random_walk_class = {.name = "random_walk",
                                            .summary = "Tell where an agent on a grid stands",
                                            .options = walk_options,
                                            .kind = {.vocabulary = 1},
                                            .lacks = LH_HAS_NO_TEXT,
                                            .instance_size = sizeof(tracking),
                                            .open = open_walk,
                                            .close = close_task,
                                            .shape = get_shape,
                                            .train_batch = train_batch,
                                            .evaluate_begin = evaluate_begin,
                                            .evaluate_batch = evaluate_batch,
                                            .cursor_get = get_cursor,
                                            .cursor_set = set_cursor,
                                            .describe = describe,
                                            .digest = digest};

const lh_task_class lh_algorithm_class = {.name = "algorithm",
                                          .summary = "Tell what a program prints",
                                          .options = algorithm_options,
                                          .kind = {.vocabulary = 1},
                                          .lacks = LH_HAS_NO_TEXT,
                                          .instance_size = sizeof(tracking),
                                          .open = open_algorithm,
                                          .close = close_task,
                                          .shape = get_shape,
                                          .train_batch = train_batch,
                                          .evaluate_begin = evaluate_begin,
                                          .evaluate_batch = evaluate_batch,
                                          .cursor_get = get_cursor,
                                          .cursor_set = set_cursor,
                                          .describe = describe,
                                          .digest = digest};
