/* Translation of parallel text: cross-entropy of the target given the source, and BLEU of beam
 * searched translations of the test split. */
#include "harness/tasks/tasks.h"

#include "datasets/text/parallel_text.h"
#include "harness/engine/utf8.h"
#include "harness/infer/bleu.h"
#include "harness/infer/translator.h"
#include "harness/tasks/length_plan.h"
#include "harness/train/interrupt.h"

#include <stdlib.h>
#include <string.h>

/* What shape a batch has that stands for all. */
enum { TYPICAL_LENGTH = 32, TRANSLATED_ROWS = 256 };

/* Arrays of the batch that was handed out last. */
typedef struct buffers {
    int32_t *tokens, *target, *source, *counts, *starts;
    real *weights;
} buffers;

typedef struct translation {
    lh_parallel_config data;
    lh_parallel *parallel;
    lh_length_plan *train, *pass;
    lh_split pass_split;
    int64_t epoch, taken, pass_taken;
    int64_t batch_tokens;
    uint64_t seed;
    int32_t end;
    lh_translator_spec translator;
    buffers train_buffers, pass_buffers;
} translation;

static const lh_option translation_options[] = {
    LH_INTEGER("batch_tokens", translation, batch_tokens, 2048, 8, 1e9,
               "tokens of a batch on either side, padding included; lengths are 8, 16, 32 ..."),
    LH_INTEGER("beam", translation, translator.beam, 4, 0, 64,
               "open translations of a sentence of the test split; 0: none is translated"),
    LH_REAL("length_penalty", translation, translator.length_penalty, 0.6, 0, 10,
            "alpha: scores are divided by ((5 + length) / 6)^alpha"),
    LH_INTEGER("longer", translation, translator.longer, 50, 1, 1e6,
               "tokens that a translation may have beyond those of its source"),
    {0}};

static const lh_option_table options[] = {
    LH_OWN_TABLE(translation), LH_TABLE(translation, data, lh_parallel_config), {0}};

/* ---- opening ---- */

static lh_status plan_batches(const translation *task, lh_split split, lh_length_plan **out) {
    const int64_t count = lh_parallel_pairs(task->parallel, split);
    int32_t *lengths = lh_allocate((size_t)count * sizeof *lengths);
    if (lengths == NULL) return LH_EMEMORY;
    for (int64_t i = 0; i < count; ++i) {
        const lh_pair pair = lh_parallel_pair(task->parallel, split, i);
        const int64_t source = pair.source_count, target = pair.target_count;
        lengths[i] = (int32_t)(source > target ? source : target);
    }
    const lh_status status = lh_length_plan_create(lengths, count, task->batch_tokens, out);
    free(lengths);
    return status;
}

static lh_status open_buffers(const lh_length_plan *plan, buffers *b) {
    const size_t tokens = (size_t)lh_length_plan_tokens(plan);
    b->tokens = lh_allocate(tokens * sizeof *b->tokens);
    b->target = lh_allocate(tokens * sizeof *b->target);
    b->source = lh_allocate(tokens * sizeof *b->source);
    b->counts = lh_allocate(tokens * sizeof *b->counts);
    b->starts = lh_allocate(tokens * sizeof *b->starts);
    b->weights = lh_allocate(tokens * sizeof *b->weights);
    const bool complete =
        b->tokens && b->target && b->source && b->counts && b->starts && b->weights;
    return complete ? LH_OK : LH_EMEMORY;
}

static void close_buffers(buffers *b) {
    free(b->tokens);
    free(b->target);
    free(b->source);
    free(b->counts);
    free(b->starts);
    free(b->weights);
    *b = (buffers){0};
}

static void order_epoch(translation *task) {
    const lh_random_key key = {
        .seed = task->seed, .step = (uint64_t)task->epoch, .stream = LH_STREAM_DATA};
    lh_length_plan_shuffle(task->train, key);
}

static lh_status open_task(void *instance, uint64_t seed, lh_model_setup *setup) {
    translation *task = instance;
    LH_TRY(lh_parallel_open(&task->data, &task->parallel));
    const lh_tokenizer *tokenizer = lh_parallel_tokenizer(task->parallel);
    task->seed = seed;
    task->end = lh_tokenizer_end(tokenizer);
    task->translator.end = task->end;
    LH_TRY(plan_batches(task, LH_TRAIN, &task->train));
    LH_TRY(open_buffers(task->train, &task->train_buffers));
    order_epoch(task);
    const int64_t vocabulary = lh_tokenizer_vocabulary(tokenizer);
    *setup = (lh_model_setup){.vocabulary = vocabulary,
                              .source_vocabulary = vocabulary,
                              .source_length = TYPICAL_LENGTH,
                              .many_lengths = true};
    return LH_OK;
}

static void close_task(void *instance) {
    translation *task = instance;
    lh_length_plan_destroy(task->train);
    lh_length_plan_destroy(task->pass);
    close_buffers(&task->train_buffers);
    close_buffers(&task->pass_buffers);
    lh_parallel_destroy(task->parallel);
}

static void get_shape(const void *instance, int64_t *rows, int64_t *length) {
    const translation *task = instance;
    *rows = lh_length_rows(task->batch_tokens, TYPICAL_LENGTH);
    *length = TYPICAL_LENGTH;
}

/* ---- batches ---- */

/* The decoder reads a 0 and the target without its end. A row without a pair has a source of one
 * token and predicts nothing. */
static void write_row(const buffers *b, int64_t row, int64_t length, const lh_pair *pair) {
    const int64_t first = row * length;
    for (int64_t t = 0; t < length; ++t) {
        const bool predicts = t < pair->target_count;
        b->source[first + t] = t < pair->source_count ? pair->source[t] : 0;
        b->tokens[first + t] = t > 0 && predicts ? pair->target[t - 1] : 0;
        b->target[first + t] = predicts ? pair->target[t] : 0;
        b->weights[first + t] = predicts ? LH_R(1) : LH_R(0);
    }
    b->counts[row] = pair->source_count > 0 ? (int32_t)pair->source_count : 1;
    b->starts[row] = 1;
}

static void give_batch(const translation *task, lh_split split, const lh_length_plan *plan,
                       int64_t index, const buffers *b, lh_host_batch *out) {
    const lh_length_batch batch = lh_length_plan_batch(plan, index);
    for (int64_t r = 0; r < batch.rows; ++r) {
        lh_pair pair = {.source = NULL};
        if (r < batch.count) pair = lh_parallel_pair(task->parallel, split, batch.items[r]);
        write_row(b, r, batch.length, &pair);
    }
    *out = (lh_host_batch){.rows = batch.rows,
                           .length = batch.length,
                           .source_length = batch.length,
                           .tokens = b->tokens,
                           .source_tokens = b->source,
                           .source_count = b->counts,
                           .target = b->target,
                           .starts = b->starts,
                           .weights = b->weights};
}

static lh_status train_batch(void *instance, lh_host_batch *out) {
    translation *task = instance;
    if (task->taken == lh_length_plan_batches(task->train)) {
        task->epoch += 1;
        task->taken = 0;
        order_epoch(task);
    }
    give_batch(task, LH_TRAIN, task->train, task->taken++, &task->train_buffers, out);
    return LH_OK;
}

static lh_status evaluate_begin(void *instance, lh_split split) {
    translation *task = instance;
    lh_length_plan_destroy(task->pass);
    close_buffers(&task->pass_buffers);
    task->pass = NULL;
    task->pass_split = split;
    task->pass_taken = 0;
    LH_TRY(plan_batches(task, split, &task->pass));
    return open_buffers(task->pass, &task->pass_buffers);
}

static lh_status evaluate_batch(void *instance, lh_host_batch *out) {
    translation *task = instance;
    *out = (lh_host_batch){0};
    if (task->pass == NULL) return lh_fail(LH_ESTATE, "data: no evaluation has begun");
    if (task->pass_taken == lh_length_plan_batches(task->pass)) return LH_OK;
    give_batch(task, task->pass_split, task->pass, task->pass_taken++, &task->pass_buffers, out);
    return LH_OK;
}

static int get_cursor(const void *instance, int64_t *words) {
    const translation *task = instance;
    words[0] = task->epoch;
    words[1] = task->taken;
    return 2;
}

static lh_status set_cursor(void *instance, const int64_t *words, int count) {
    translation *task = instance;
    const int64_t batches = lh_length_plan_batches(task->train);
    if (count != 2 || !lh_is_count(words[0]) || words[1] < 0 || words[1] > batches)
        return lh_fail(LH_EFORMAT, "data: no position in epochs of %lld batches",
                       (long long)batches);
    task->epoch = words[0];
    task->taken = words[1];
    order_epoch(task);
    return LH_OK;
}

/* ---- BLEU ---- */

/* The ways that the paper's table 4 counts: WMT's words as they are, and the international ones. */
enum { SCORES = 3 };
static const struct score {
    const char *name;
    lh_bleu_words words;
    bool lowercase;
} scores[SCORES] = {{"bleu", LH_BLEU_13A, false},
                    {"sacrebleu_cased", LH_BLEU_INTL, false},
                    {"sacrebleu_uncased", LH_BLEU_INTL, true}};

static lh_status add_sentence(const translation *task, const lh_pair *pair,
                              const lh_beam_result *result, lh_bleu *const *bleu) {
    char *text = NULL;
    size_t bytes = 0;
    LH_TRY(lh_tokenizer_decode(lh_parallel_tokenizer(task->parallel), result->tokens, result->count,
                               &text, &bytes));
    lh_status status = LH_OK;
    lh_utf8_repair(text, bytes);
    for (int i = 0; i < SCORES && status == LH_OK; ++i)
        status = lh_bleu_add(bleu[i], text, bytes, pair->text, (size_t)pair->text_bytes);
    free(text);
    return status;
}

/* Translates sentences of about one length together. */
static lh_status translate_some(const translation *task, const lh_scored *scored, lh_split split,
                                const int32_t *items, int64_t count, lh_bleu *const *bleu) {
    lh_pair pairs[TRANSLATED_ROWS];
    lh_source_text sources[TRANSLATED_ROWS];
    lh_beam_result results[TRANSLATED_ROWS];
    int64_t longest = 0;
    for (int64_t i = 0; i < count; ++i) {
        pairs[i] = lh_parallel_pair(task->parallel, split, items[i]);
        sources[i] = (lh_source_text){pairs[i].source, pairs[i].source_count};
        longest = lh_max(longest, pairs[i].source_count);
    }
    longest += task->translator.longer;
    int32_t *tokens = lh_allocate((size_t)(count * longest) * sizeof *tokens);
    lh_status status = tokens != NULL ? LH_OK : LH_EMEMORY;
    for (int64_t i = 0; i < count && status == LH_OK; ++i)
        results[i] = (lh_beam_result){.tokens = tokens + i * longest};
    if (status == LH_OK) status = lh_translate(scored, &task->translator, sources, count, results);
    for (int64_t i = 0; i < count && status == LH_OK; ++i)
        status = add_sentence(task, &pairs[i], &results[i], bleu);
    free(tokens);
    return status;
}

static lh_status translate_batch(const translation *task, const lh_scored *scored, lh_split split,
                                 const lh_length_batch *batch, lh_bleu *const *bleu) {
    const int64_t rows = lh_length_rows(task->batch_tokens, batch->length) / task->translator.beam;
    const int64_t most = lh_max(1, lh_min(rows, TRANSLATED_ROWS));
    for (int64_t at = 0; at < batch->count; at += most) {
        const int64_t count = lh_min(batch->count - at, most);
        LH_TRY(translate_some(task, scored, split, batch->items + at, count, bleu));
        bool stops = lh_interrupt_requested();
        LH_TRY(lh_ranks_any(scored->ranks, &stops));
        if (stops) return lh_fail(LH_EINTERRUPT, "translate: stopped by a signal");
    }
    return LH_OK;
}

static lh_status translate_split(const translation *task, const lh_scored *scored, lh_split split,
                                 lh_bleu *const *bleu) {
    lh_length_plan *plan = NULL;
    LH_TRY(plan_batches(task, split, &plan));
    lh_status status = LH_OK;
    for (int64_t b = 0; b < lh_length_plan_batches(plan) && status == LH_OK; ++b) {
        const lh_length_batch batch = lh_length_plan_batch(plan, b);
        status = translate_batch(task, scored, split, &batch, bleu);
    }
    lh_length_plan_destroy(plan);
    return status;
}

static lh_status score_split(void *instance, const lh_scored *scored, lh_split split,
                             lh_metrics *metrics) {
    const translation *task = instance;
    lh_bleu *bleu[SCORES] = {NULL};
    lh_status status = LH_OK;
    if (split != LH_TEST || task->translator.beam == 0) return LH_OK;
    for (int i = 0; i < SCORES && status == LH_OK; ++i)
        status = lh_bleu_create(scores[i].words, scores[i].lowercase, &bleu[i]);
    if (status == LH_OK) status = translate_split(task, scored, split, bleu);
    for (int i = 0; i < SCORES; ++i) {
        if (status == LH_OK)
            status = lh_metrics_set(metrics, scores[i].name,
                                    lh_bleu_score(lh_bleu_get(bleu[i]), LH_BLEU_EXP));
        lh_bleu_destroy(bleu[i]);
    }
    return status;
}

/* ---- class ---- */

static char *describe(const void *instance) {
    const translation *task = instance;
    return lh_duplicate_text(lh_parallel_source(task->parallel));
}

static uint64_t digest(const void *instance) {
    const translation *task = instance;
    return lh_parallel_digest(task->parallel);
}

const lh_task_class lh_translation_class = {
    .name = "translation",
    .summary = "Translate sentences",
    .options = options,
    .kind = {.vocabulary = 1, .source_vocabulary = 1, .source_length = 1, .many_lengths = true},
    .lacks = LH_HAS_NO_TEXT,
    .instance_size = sizeof(translation),
    .open = open_task,
    .close = close_task,
    .shape = get_shape,
    .train_batch = train_batch,
    .evaluate_begin = evaluate_begin,
    .evaluate_batch = evaluate_batch,
    .cursor_get = get_cursor,
    .cursor_set = set_cursor,
    .score = score_split,
    .describe = describe,
    .digest = digest};
