/* Multi-query associative recall: keys and values, then the keys again, whose values are to be told
 * (Arora et al. 2023). A batch row reads one sequence, whole or segment by segment; sequences may
 * be of several kinds, as in the mixture that "Based" was trained on (Arora et al. 2024). */
#include "harness/tasks/tasks.h"

#include "datasets/digest.h"
#include "datasets/generate/recall.h"
#include "harness/engine/draw.h"
#include "harness/engine/text.h"
#include "harness/tasks/documents.h"

#include <stdlib.h>

enum { KINDS = 16 };

typedef struct recall recall;

typedef struct split_source {
    recall *task;
    lh_split split;
} split_source;

struct recall {
    lh_documents documents; /* first: the shared functions of a task read it */
    split_source source[LH_SPLITS];
    int64_t vocabulary, segment;
    lh_list pairs, lengths, shares; /* as the options say them */
    double power;
    bool fills;
    int64_t held_out; /* sequences of the validation and of the test split */
    int64_t data_seed;
    uint64_t train_seed;
    int kinds;
    int64_t share[KINDS], longest;
    lh_recall_writer writer[KINDS];
    int32_t *tokens, *labels; /* of the sequence read last */
};

/* ---- sequences ---- */

static int draw_kind(const recall *task, lh_random_key key) {
    int64_t all = 0;
    for (int k = 0; k < task->kinds; ++k)
        all += task->share[k];
    int64_t left = (int64_t)lh_random_below(key, 0, (uint64_t)all);
    int kind = 0;
    while (left >= task->share[kind])
        left -= task->share[kind++];
    return kind;
}

static lh_status get_sequence(void *context, int64_t index, lh_document *out) {
    const split_source *source = context;
    recall *task = source->task;
    const uint64_t seed = source->split == LH_TRAIN ? task->train_seed : (uint64_t)task->data_seed;
    lh_random_key key = {.seed = seed,
                         .step = (uint64_t)index,
                         .stream = LH_STREAM_DATA,
                         .op = 1 + LH_SPLITS + (uint32_t)source->split};
    lh_recall_writer *writer = &task->writer[draw_kind(task, key)];
    lh_episode episode = {.tokens = task->tokens, .labels = task->labels};
    key.op = 1 + (uint32_t)source->split;
    lh_recall_write(writer, key, &episode);
    *out = (lh_document){
        .name = "recall", .tokens = task->tokens, .labels = task->labels, .count = episode.length};
    return LH_OK;
}

/* ---- opening ---- */

/* Entry k of a list with one entry for each kind, or one for all. */
static int64_t entry(const lh_list *list, int k) {
    return list->value[list->count > 1 ? k : 0];
}

static lh_status count_kinds(recall *task) {
    const lh_list *const lists[] = {&task->pairs, &task->lengths, &task->shares};
    task->kinds = 1;
    for (int i = 0; i < 3; ++i) {
        const int count = lists[i]->count;
        if (count < 1 || count > KINDS || (count > 1 && task->kinds > 1 && count != task->kinds))
            return lh_fail(LH_EOPTION,
                           "recall: options 'pairs', 'lengths' and 'shares' have one "
                           "entry for each kind of sequences, or one for all of them, "
                           "and at most %d",
                           KINDS);
        if (count > 1) task->kinds = count;
    }
    return LH_OK;
}

static lh_status open_kind(recall *task, int k) {
    const lh_recall rules = {.vocabulary = task->vocabulary,
                             .pairs = entry(&task->pairs, k),
                             .length = entry(&task->lengths, k),
                             .power = task->power,
                             .fills = task->fills};
    task->share[k] = entry(&task->shares, k);
    if (rules.length > task->longest) task->longest = rules.length;
    return lh_recall_open(&rules, &task->writer[k]);
}

static lh_status open_kinds(recall *task) {
    LH_TRY(count_kinds(task));
    for (int k = 0; k < task->kinds; ++k)
        LH_TRY(open_kind(task, k));
    task->tokens = lh_allocate((size_t)task->longest * sizeof *task->tokens);
    task->labels = lh_allocate((size_t)task->longest * sizeof *task->labels);
    return task->tokens != NULL && task->labels != NULL ? LH_OK : LH_EMEMORY;
}

static lh_status open_task(void *instance, uint64_t seed, lh_model_setup *setup) {
    recall *task = instance;
    lh_documents *documents = &task->documents;
    task->train_seed = seed;
    LH_TRY(open_kinds(task));
    for (int split = 0; split < LH_SPLITS; ++split) {
        task->source[split] = (split_source){.task = task, .split = (lh_split)split};
        documents->source[split] =
            (lh_document_source){.context = &task->source[split],
                                 .get = get_sequence,
                                 .count = split == LH_TRAIN ? LH_WITHOUT_END : task->held_out};
    }
    documents->spec.length = task->segment > 0 ? task->segment : task->longest;
    documents->spec.predict_across = true;
    documents->spec.seed = seed;
    *setup = (lh_model_setup){.vocabulary = task->vocabulary};
    return lh_documents_open(documents, setup);
}

static void close_task(void *instance) {
    recall *task = instance;
    lh_documents_close(&task->documents);
    for (int k = 0; k < KINDS; ++k)
        lh_recall_clear(&task->writer[k]);
    free(task->tokens);
    free(task->labels);
}

/* ---- class ---- */

/* The rules are options, hence part of the run's identity already. */
static char *describe(const void *instance) {
    const recall *task = instance;
    int64_t pairs = 0;
    for (int k = 0; k < task->kinds; ++k)
        pairs = lh_max(pairs, task->writer[k].rules.pairs);
    return lh_format("recall, %s%lld pairs in %lld tokens", task->kinds > 1 ? "up to " : "",
                     (long long)pairs, (long long)task->longest);
}

static uint64_t digest(const void *instance) {
    const recall *task = instance;
    return lh_digest_generated(LH_RECALL_VERSION, (uint64_t)task->data_seed);
}

static const lh_option recall_options[] = {
    LH_INTEGER("vocabulary", recall, vocabulary, 8192, 4, 1e6,
               "tokens: one half of them are keys, the other values"),
    LH_LIST("pairs", recall, pairs, LH_INTEGERS(8), 1, 1e6,
            "keys of a sequence, each with its value; several: kinds of sequences"),
    LH_LIST("lengths", recall, lengths, LH_INTEGERS(64), 4, 1e9,
            "tokens of a sequence: of each kind, or of all"),
    LH_LIST("shares", recall, shares, LH_INTEGERS(1), 1, 1e6,
            "how many sequences are of each kind, in proportion"),
    LH_REAL("power", recall, power, 0.01, 0, 10,
            "slot j behind the pairs asks with a chance of j^(power - 1); 1: all alike"),
    LH_FLAG("fills", recall, fills, false, "random tokens between the queries in place of 0"),
    LH_INTEGER("segment", recall, segment, 0, 0, 1e9,
               "tokens of a sequence that are read at once; 0: all of the longest"),
    LH_INTEGER("batch", recall, documents.spec.rows, 64, 1, (LH_CURSOR_WORDS - 2) / 2,
               "sequences of a batch (B)"),
    LH_INTEGER("evaluate_sequences", recall, held_out, 1000, 1, 1e9,
               "sequences of the validation and of the test split"),
    LH_INTEGER(
        "data_seed", recall, data_seed, 1, 0, 1e15,
        "what held-out sequences are drawn from; training draws fresh ones from the run's seed"),
    {0}};

static const lh_option_table options[] = {LH_OWN_TABLE(recall), {0}};

const lh_task_class lh_recall_class = {.name = "recall",
                                       .summary = "Tell the values of keys that were given before",
                                       .options = options,
                                       .kind = {.vocabulary = 1, .past_length = 1},
                                       .lacks = LH_HAS_NO_TEXT,
                                       .instance_size = sizeof(recall),
                                       .open = open_task,
                                       .close = close_task,
                                       .shape = lh_documents_shape,
                                       .train_batch = lh_documents_train_batch,
                                       .evaluate_begin = lh_documents_evaluate_begin,
                                       .evaluate_batch = lh_documents_evaluate_batch,
                                       .cursor_get = lh_documents_cursor_get,
                                       .cursor_set = lh_documents_cursor_set,
                                       .describe = describe,
                                       .digest = digest};
