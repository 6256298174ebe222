/* Defect detection: does a function in C have a defect? (Devign; Huang et al. 2023, section 4.3) */
#include "harness/tasks/tasks.h"

#include <stdlib.h>

#include "datasets/text/defects.h"
#include "datasets/tokens/tokenizer.h"
#include "harness/tasks/order.h"

/* As CodeT5's released code has both: the answer is written, "false" or "true" between begin and
 * end, or a head reads the decoder's state at the end of the function, which the decoder reads like
 * the encoder. */
typedef enum head { GENERATION, CLASSIFICATION } head;
static const char *const heads[] = {"generation", "classification", NULL};

enum { ANSWER = 1, ANSWER_LENGTH = 3 };

typedef struct defect {
    const char *name, *vocabulary;         /* vocabulary: the option `tokens` */
    int64_t functions, evaluate_functions; /* to use; 0: all */
    int64_t data_seed;
    lh_defects *data;
    head head;
    int64_t rows, length, source_length;
    lh_order train, pass;
    lh_split pass_split;
    int64_t pass_rows; /* 0: no evaluation has begun */
    int32_t *tokens, *target, *starts, *source, *source_count;
    real *weights;
} defect;

/* ---- batches ---- */

/* The padded source of row r. */
static void write_source(defect *task, int64_t r, const lh_function *function) {
    int32_t *source = task->source + r * task->source_length;
    const int32_t pad = lh_defects_ids_of(task->data)->pad;
    for (int64_t t = 0; t < task->source_length; ++t)
        source[t] = t < function->count ? function->tokens[t] : pad;
    task->source_count[r] = (int32_t)function->count;
}

/* What an evaluation scores is the answer alone, given begin: CodeT5's beam search finds nothing
 * else, since every answer it has seen begins and ends alike. */
static void write_answer(defect *task, int64_t r, bool defective, bool training) {
    const lh_defects_ids *ids = lh_defects_ids_of(task->data);
    const int32_t text[ANSWER_LENGTH + 1] = {ids->pad, ids->begin, ids->answer[defective],
                                             ids->end};
    for (int64_t t = 0; t < ANSWER_LENGTH; ++t) {
        const int64_t i = r * ANSWER_LENGTH + t;
        task->tokens[i] = text[t];
        task->target[i] = text[t + 1];
        task->weights[i] = training || t == ANSWER ? LH_R(1) : LH_R(0);
    }
}

/* The decoder reads the source one place later; the label stands at its last token, the end. */
static void write_label(defect *task, int64_t r, const lh_function *function) {
    const int64_t first = r * task->length;
    for (int64_t t = 0; t < task->length; ++t) {
        const bool labelled = t == function->count - 1;
        task->tokens[first + t] =
            t > 0 ? task->source[first + t - 1] : lh_defects_ids_of(task->data)->pad;
        task->target[first + t] = labelled && function->defective;
        task->weights[first + t] = labelled ? LH_R(1) : LH_R(0);
    }
}

/* A row for which there is no function is padding and predicts nothing. */
static lh_status write_row(defect *task, int64_t r, lh_split split, int64_t index, bool training) {
    lh_function function = {0};
    if (index >= 0) LH_TRY(lh_defects_function(task->data, split, index, &function));
    write_source(task, r, &function);
    task->starts[r] = 1;
    if (task->head == CLASSIFICATION) {
        write_label(task, r, &function);
    } else {
        write_answer(task, r, function.defective, training);
    }
    for (int64_t t = 0; index < 0 && t < task->length; ++t)
        task->weights[r * task->length + t] = LH_R(0);
    return LH_OK;
}

static void give_batch(const defect *task, int64_t rows, lh_host_batch *out) {
    *out = (lh_host_batch){.rows = rows,
                           .length = task->length,
                           .source_length = task->source_length,
                           .tokens = task->tokens,
                           .source_tokens = task->source,
                           .source_count = task->source_count,
                           .target = task->target,
                           .starts = task->starts,
                           .weights = task->weights};
}

static lh_status train_batch(void *instance, lh_host_batch *out) {
    defect *task = instance;
    for (int64_t r = 0; r < task->rows; ++r)
        LH_TRY(write_row(task, r, LH_TRAIN, lh_order_next(&task->train), true));
    give_batch(task, task->rows, out);
    return LH_OK;
}

static lh_status evaluate_begin(void *instance, lh_split split) {
    defect *task = instance;
    const int64_t count = lh_defects_count(task->data, split);
    lh_order_close(&task->pass);
    task->pass_split = split;
    task->pass_rows = count < task->rows ? count : task->rows;
    return lh_order_open(&task->pass, count, false, 0);
}

static lh_status evaluate_batch(void *instance, lh_host_batch *out) {
    defect *task = instance;
    *out = (lh_host_batch){0};
    if (task->pass_rows == 0) return lh_fail(LH_ESTATE, "data: no evaluation has begun");
    for (int64_t r = 0; r < task->pass_rows; ++r) {
        const int64_t index = lh_order_next(&task->pass);
        if (r == 0 && index < 0) return LH_OK;
        LH_TRY(write_row(task, r, task->pass_split, index, false));
    }
    give_batch(task, task->pass_rows, out);
    return LH_OK;
}

/* ---- opening ---- */

static lh_status open_data(defect *task) {
    enum { GENERATED = 10000, GENERATED_HELD_OUT = 1000 };
    const int64_t train = task->functions, held_out = task->evaluate_functions,
                  some = held_out > 0 ? held_out : GENERATED_HELD_OUT;
    const lh_defects_spec spec = {.name = task->name,
                                  .tokens = task->vocabulary,
                                  .most_tokens = task->source_length,
                                  .counts = {train > 0 ? train : GENERATED, some, some},
                                  .limits = {train, held_out, held_out},
                                  .data_seed = (uint64_t)task->data_seed};
    return lh_defects_open(&spec, &task->data);
}

static lh_status make_batch(defect *task) {
    const size_t rows = (size_t)task->rows, positions = rows * (size_t)task->length;
    task->tokens = lh_allocate(positions * sizeof *task->tokens);
    task->target = lh_allocate(positions * sizeof *task->target);
    task->weights = lh_allocate(positions * sizeof *task->weights);
    task->starts = lh_allocate(rows * sizeof *task->starts);
    task->source_count = lh_allocate(rows * sizeof *task->source_count);
    task->source = lh_allocate(rows * (size_t)task->source_length * sizeof *task->source);
    const bool complete = task->tokens && task->target && task->weights && task->starts &&
                          task->source_count && task->source;
    return complete ? LH_OK : LH_EMEMORY;
}

static lh_status open_task(void *instance, uint64_t seed, lh_model_setup *setup) {
    defect *task = instance;
    task->length = task->head == CLASSIFICATION ? task->source_length : ANSWER_LENGTH;
    LH_TRY(open_data(task));
    LH_TRY(make_batch(task));
    const int64_t vocabulary = lh_defects_ids_of(task->data)->vocabulary;
    *setup = (lh_model_setup){.vocabulary = vocabulary,
                              .classes = task->head == CLASSIFICATION ? 2 : 0,
                              .source_vocabulary = vocabulary,
                              .source_length = task->source_length};
    return lh_order_open(&task->train, lh_defects_count(task->data, LH_TRAIN), true, seed);
}

static void close_task(void *instance) {
    defect *task = instance;
    lh_order_close(&task->train);
    lh_order_close(&task->pass);
    lh_defects_destroy(task->data);
    free(task->tokens);
    free(task->target);
    free(task->weights);
    free(task->starts);
    free(task->source_count);
    free(task->source);
}

static void get_shape(const void *instance, int64_t *rows, int64_t *length) {
    const defect *task = instance;
    *rows = task->rows;
    *length = task->length;
}

static int get_cursor(const void *instance, int64_t *words) {
    const defect *task = instance;
    words[0] = task->train.epoch;
    words[1] = task->train.taken;
    return 2;
}

static lh_status set_cursor(void *instance, const int64_t *words, int count) {
    defect *task = instance;
    if (count != 2 || !lh_order_has(&task->train, words[0], words[1]))
        return lh_fail(LH_EFORMAT, "data: a position outside the %lld functions",
                       (long long)task->train.count);
    lh_order_seek(&task->train, words[0], words[1]);
    return LH_OK;
}

static char *describe(const void *instance) {
    const defect *task = instance;
    return lh_duplicate_text(lh_defects_source(task->data));
}

static uint64_t digest(const void *instance) {
    const defect *task = instance;
    return lh_defects_digest(task->data);
}

/* ---- class ---- */

static const lh_option defect_options[] = {
    LH_TEXT("name", defect, name, "devign",
            "a data folder, or one with a slash in its path, with train.jsonl, valid.jsonl, "
            "test.jsonl"),
    LH_TEXT("tokens", defect, vocabulary, "bytes",
            "tokenizer: bpe:codet5-small as published; " LH_TOKENIZERS),
    LH_INTEGER("source_length", defect, source_length, 512, 3, 1e6,
               "tokens of a function, its begin and end included; longer ones are cut"),
    LH_INTEGER("batch", defect, rows, 32, 1, 1e6, "functions of a batch (B)"),
    LH_CHOICE("head", defect, head, GENERATION, heads,
              "write \"true\" or \"false\", or classify the decoder's last state"),
    LH_INTEGER("functions", defect, functions, 0, 0, 1e8,
               "training functions to use, the first ones; 0: all, generator: 10000"),
    LH_INTEGER("evaluate_functions", defect, evaluate_functions, 0, 0, 1e8,
               "the same of the validation and of the test split; 0: all, generator: 1000"),
    LH_INTEGER("data_seed", defect, data_seed, 1, 0, 1e15, "generator: seed of the functions"),
    {0}};

static const lh_option_table options[] = {LH_OWN_TABLE(defect), {0}};

const lh_task_class lh_defect_class = {
    .name = "defect",
    .summary = "Tell whether a function in C has a defect",
    .options = options,
    .kind = {.vocabulary = 1, .source_vocabulary = 1, .source_length = 1},
    .lacks = LH_HAS_NO_TEXT,
    .instance_size = sizeof(defect),
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
