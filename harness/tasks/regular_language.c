/* Regular languages: tell after each letter what may follow, or whether the string so far is in the
 * language (Huang et al. 2023, section 4.2; Bhattamishra et al. 2020).
 *
 * A batch row is one string, filled up with positions of weight 0; the vocabulary is the two
 * letters, and targets are one yes or no per letter (target_vectors). Training strings are read in
 * one order again and again; the last batch of an epoch may have empty rows. The test split is bin
 * 0, strings as long as those of training, then bin 1, longer ones. */
#include "harness/tasks/tasks.h"

#include <stdlib.h>

#include "datasets/digest.h"
#include "datasets/generate/regular_strings.h"
#include "harness/engine/text.h"

/* A run of strings of a drawn list: those of a split or a bin. */
typedef struct part {
    const lh_strings *strings;
    int64_t first, count;
} part;

enum { BINS = 2 };

typedef struct regular_language {
    lh_regular_language language;
    int64_t rows, shortest, longest[BINS];
    int64_t increment, strings, evaluate_strings; /* 0: as published */
    int64_t data_seed;
    lh_strings drawn[BINS]; /* training, bin 0 and validation; bin 1 */
    part train, valid, bin[BINS];
    int64_t next; /* training string that the next batch begins with */
    lh_split pass;
    int64_t pass_bin, pass_next;
    bool passing;
    int32_t *tokens, *starts; /* the batch, with room for the longest strings */
    real *labels, *weights;
} regular_language;

/* ---- opening ---- */

/* What the paper has, where an option is 0 (appendix E.2). */
typedef struct published {
    int64_t longest, train, evaluate;
} published;

static published published_of(lh_regular_language language) {
    const bool brackets = lh_regular_language_depth(language) > 0;
    return brackets ? (published){100, 5000, 1000} : (published){50, 10000, 2000};
}

static int64_t given_or(int64_t given, int64_t standard) {
    return given > 0 ? given : standard;
}

static lh_status draw_bin(regular_language *task, int bin, int64_t shortest, int64_t count) {
    const lh_random_key key = {
        .seed = (uint64_t)task->data_seed, .stream = LH_STREAM_DATA, .op = (uint32_t)bin};
    return lh_strings_draw(task->language, shortest, task->longest[bin], count, key,
                           &task->drawn[bin]);
}

/* Training and bin 0 are cut from one list, so that they are disjoint where strings are. */
static lh_status draw_strings(regular_language *task) {
    const published standard = published_of(task->language);
    const int64_t shortest = task->shortest, train = given_or(task->strings, standard.train),
                  evaluate = given_or(task->evaluate_strings, standard.evaluate);
    task->longest[0] = given_or(task->longest[0], standard.longest);
    task->longest[1] = task->longest[0] + given_or(task->increment, task->longest[0]);
    if (shortest > task->longest[0])
        return lh_fail(LH_EOPTION, "shortest %lld is above longest %lld", (long long)shortest,
                       (long long)task->longest[0]);
    LH_TRY(draw_bin(task, 0, shortest, train + 2 * evaluate));
    LH_TRY(draw_bin(task, 1, task->longest[0] + 1, evaluate));
    task->train = (part){&task->drawn[0], 0, train};
    task->bin[0] = (part){&task->drawn[0], train, evaluate};
    task->valid = (part){&task->drawn[0], train + evaluate, evaluate};
    task->bin[1] = (part){&task->drawn[1], 0, evaluate};
    return LH_OK;
}

/* The task's own seed decides nothing: all runs of a row read the same strings. */
static lh_status open_task(void *instance, uint64_t seed, lh_model_setup *setup) {
    (void)seed;
    regular_language *task = instance;
    LH_TRY(draw_strings(task));
    const size_t positions = (size_t)(task->rows * task->longest[1]);
    task->tokens = lh_allocate(positions * sizeof *task->tokens);
    task->weights = lh_allocate(positions * LH_LETTERS * sizeof *task->weights);
    task->labels = lh_allocate(positions * LH_LETTERS * sizeof *task->labels);
    task->starts = lh_allocate((size_t)task->rows * sizeof *task->starts);
    if (!task->tokens || !task->weights || !task->labels || !task->starts) return LH_EMEMORY;
    for (int64_t r = 0; r < task->rows; ++r)
        task->starts[r] = 1;
    *setup = (lh_model_setup){
        .vocabulary = LH_LETTERS, .output_features = LH_LETTERS, .many_lengths = true};
    return LH_OK;
}

static void close_task(void *instance) {
    regular_language *task = instance;
    for (int bin = 0; bin < BINS; ++bin)
        lh_strings_clear(&task->drawn[bin]);
    free(task->tokens);
    free(task->starts);
    free(task->labels);
    free(task->weights);
}

/* ---- batches ---- */

/* Row r of a batch of `width` positions: a string, or an empty row for index -1. */
static void write_row(regular_language *task, int64_t r, int64_t width, const part *from,
                      int64_t index) {
    const int64_t string = from->first + index;
    const int64_t length = index >= 0 ? from->strings->length[string] : 0;
    const uint8_t *letters = index >= 0 ? lh_strings_at(from->strings, string) : NULL;
    int32_t *tokens = task->tokens + r * width;
    real *labels = task->labels + r * width * LH_LETTERS;
    real *weights = task->weights + r * width * LH_LETTERS;
    for (int64_t t = 0; t < width; ++t)
        tokens[t] = t < length ? letters[t] : 0;
    for (int64_t i = 0; i < LH_LETTERS * width; ++i) {
        weights[i] = i < LH_LETTERS * length ? LH_R(1) : LH_R(0);
        labels[i] = LH_R(0);
    }
    lh_regular_language_label(task->language, letters, length, labels);
}

/* The strings of `from` that begin at `first`, as many as there are rows. */
static void write_batch(regular_language *task, const part *from, int64_t first, int bin,
                        lh_host_batch *out) {
    const int64_t width = task->longest[bin];
    for (int64_t r = 0; r < task->rows; ++r)
        write_row(task, r, width, from, first + r < from->count ? first + r : -1);
    *out = (lh_host_batch){.rows = task->rows,
                           .length = width,
                           .target_length = width,
                           .tokens = task->tokens,
                           .target_vectors = task->labels,
                           .starts = task->starts,
                           .weights = task->weights,
                           .group = bin};
}

static void get_shape(const void *instance, int64_t *rows, int64_t *length) {
    const regular_language *task = instance;
    *rows = task->rows;
    *length = task->longest[0];
}

static lh_status train_batch(void *instance, lh_host_batch *out) {
    regular_language *task = instance;
    write_batch(task, &task->train, task->next, 0, out);
    task->next += task->rows;
    if (task->next >= task->train.count) task->next = 0;
    return LH_OK;
}

static lh_status evaluate_begin(void *instance, lh_split split) {
    regular_language *task = instance;
    task->passing = true;
    task->pass = split;
    task->pass_bin = task->pass_next = 0;
    return LH_OK;
}

/* What a pass reads in turn; NULL past the end. */
static const part *part_of_pass(const regular_language *task) {
    if (task->pass == LH_TEST) return task->pass_bin < BINS ? &task->bin[task->pass_bin] : NULL;
    if (task->pass_bin > 0) return NULL;
    return task->pass == LH_TRAIN ? &task->train : &task->valid;
}

static lh_status evaluate_batch(void *instance, lh_host_batch *out) {
    regular_language *task = instance;
    *out = (lh_host_batch){0};
    if (!task->passing) return lh_fail(LH_ESTATE, "data: no evaluation has begun");
    const part *from = part_of_pass(task);
    if (from == NULL) return LH_OK;
    write_batch(task, from, task->pass_next, (int)task->pass_bin, out);
    task->pass_next += task->rows;
    if (task->pass_next >= from->count) {
        task->pass_bin += 1;
        task->pass_next = 0;
    }
    return LH_OK;
}

static int get_cursor(const void *instance, int64_t *words) {
    const regular_language *task = instance;
    words[0] = task->next;
    return 1;
}

static lh_status set_cursor(void *instance, const int64_t *words, int count) {
    regular_language *task = instance;
    if (count != 1 || words[0] < 0 || words[0] >= task->train.count)
        return lh_fail(LH_EFORMAT, "data: a position outside the %lld training strings",
                       (long long)task->train.count);
    task->next = words[0];
    return LH_OK;
}

static char *describe(const void *instance) {
    const regular_language *task = instance;
    return lh_format(
        "%s: %lld training strings to %lld letters, %lld per bin; %lld of %lld distinct",
        lh_regular_language_names[task->language], (long long)task->train.count,
        (long long)task->longest[0], (long long)task->bin[0].count,
        (long long)task->drawn[0].distinct, (long long)task->drawn[0].count);
}

static uint64_t digest(const void *instance) {
    const regular_language *task = instance;
    return lh_digest_generated(LH_REGULAR_LANGUAGE_VERSION, (uint64_t)task->data_seed);
}

/* ---- class ---- */

static const lh_option regular_language_options[] = {
    LH_CHOICE(
        "language", regular_language, language, LH_PARITY, lh_regular_language_names,
        "an even number of 1s; brackets up to n deep, d1 to d12; tomita1 to tomita7; or (aa)*, "
        "(aaaa)*, (abab)*"),
    LH_INTEGER("batch", regular_language, rows, 32, 1, 65536, "strings of a batch (B)"),
    LH_INTEGER("shortest", regular_language, shortest, 2, 1, 65536,
               "letters of the shortest string"),
    LH_INTEGER(
        "longest", regular_language, longest[0], 0, 0, 65536,
        "letters of the longest string in training and bin 0; 0: the paper's 50, 100 for D_n"),
    LH_INTEGER("increment", regular_language, increment, 0, 0, 65536,
               "bin 1 has longer strings, by up to so many letters; 0: as many as longest"),
    LH_INTEGER("strings", regular_language, strings, 0, 0, 1e8,
               "training strings; 0: the paper's 10000, 5000 for D_n"),
    LH_INTEGER(
        "evaluate_strings", regular_language, evaluate_strings, 0, 0, 1e8,
        "strings of the validation split and of each bin; 0: the paper's 2000, 1000 for D_n"),
    LH_INTEGER("data_seed", regular_language, data_seed, 1, 0, 1e15,
               "what the strings are drawn from"),
    {0}};

static const lh_option_table options[] = {LH_OWN_TABLE(regular_language), {0}};

static const char *const groups[] = {"bin0", "bin1", NULL};

const lh_task_class lh_regular_language_class = {
    .name = "regular_language",
    .summary = "Tell what may follow in strings of a regular "
               "language",
    .options = options,
    .groups = groups,
    .kind = {.vocabulary = LH_LETTERS, .output_features = LH_LETTERS, .many_lengths = true},
    .instance_size = sizeof(regular_language),
    .open = open_task,
    .close = close_task,
    .shape = get_shape,
    .train_batch = train_batch,
    .evaluate_begin = evaluate_begin,
    .evaluate_batch = evaluate_batch,
    .cursor_get = get_cursor,
    .cursor_set = set_cursor,
    .describe = describe,
    .digest = digest};
