/* Language modelling: predict the next token of documents. Options are its own, then those of its
 * corpus. */
#include "harness/tasks/tasks.h"

#include "harness/tasks/documents.h"
#include "harness/tasks/subsequences.h"

#include <stdlib.h>

#include "datasets/text/corpus.h"
#include "datasets/text/corpus_remark.h"
#include "harness/engine/text.h"

/* One split as a source of documents. */
typedef struct split_source {
    lh_corpus *corpus;
    lh_split split;
} split_source;

typedef enum subsequences { WHOLE_DOCUMENTS, DISJOINT, QUARTER, STREAMS } subsequences;
static const char *const subsequence_names[] = {"none", "disjoint", "quarter", "streams", NULL};

typedef struct language_model {
    lh_documents documents; /* first: the shared functions of a task read it */
    lh_corpus_config data;
    subsequences subsequences;
    lh_corpus *corpus;
    split_source source[LH_SPLITS];
    lh_subsequences *cut[LH_SPLITS]; /* with subsequences */
} language_model;

static const lh_option language_model_options[] = {
    LH_INTEGER("segment", language_model, documents.spec.length, 512, 1, 1e9,
               "tokens of a segment (N)"),
    LH_INTEGER("batch", language_model, documents.spec.rows, 8, 1, (LH_CURSOR_WORDS - 2) / 2,
               "documents read side by side (B)"),
    LH_FLAG("predict_across", language_model, documents.spec.predict_across, true,
            "predict the first token of a segment from the segment before it"),
    LH_INTEGER("overlap", language_model, documents.spec.overlap, 0, 0, 1e9,
               "tokens of a segment that the next one repeats without predicting them"),
    LH_INTEGER("evaluate_documents", language_model, documents.evaluate_documents, 0, 0, 1e9,
               "documents of a split that an evaluation reads; 0: all"),
    LH_INTEGER("evaluate_batches", language_model, documents.evaluate_batches, 0, 0, 1e9,
               "batches after which an evaluation ends; 0: at the end of the documents"),
    LH_CHOICE("subsequences", language_model, subsequences, WHOLE_DOCUMENTS, subsequence_names,
              "join the documents; read every segment by itself (disjoint ones, or in training one "
              "at every quarter of a segment), or in each row of a batch its part from end to end "
              "(streams)"),
    {0}};

static const lh_option_table options[] = {
    LH_OWN_TABLE(language_model), LH_TABLE(language_model, data, lh_corpus_config), {0}};

/* ---- opening ---- */

static lh_status get_document(void *context, int64_t index, lh_document *out) {
    const split_source *source = context;
    return lh_corpus_document(source->corpus, source->split, index, out);
}

static lh_document_source document_source(language_model *task, lh_split split) {
    task->source[split] = (split_source){.corpus = task->corpus, .split = split};
    return (lh_document_source){.context = &task->source[split],
                                .get = get_document,
                                .count = lh_corpus_documents(task->corpus, split)};
}

/* Each row of a batch reads one stream, so that memories are never cleared but at its end (Dai et
 * al. 2019); in training the tokens that do not fill the rows evenly are left out, as released. */
static lh_document_source cut_streams(lh_subsequences *cut, lh_split split, int64_t rows) {
    const int64_t predicted = lh_subsequences_predicted(cut);
    const int64_t even = split == LH_TRAIN ? predicted / rows : lh_chunk_count(predicted, rows);
    const int64_t length = lh_max(1, even);
    lh_document_source streams = lh_subsequences_cut(cut, length, length);
    if (streams.count > rows) streams.count = rows;
    return streams;
}

/* The released windows of enwik8 begin every 16,384 bytes in training and are 65,536 long. */
static lh_document_source cut_split(const language_model *task, lh_split split) {
    const int64_t length = task->documents.spec.length, quarter = length >= 4 ? length / 4 : 1;
    const int64_t stride = split == LH_TRAIN && task->subsequences == QUARTER ? quarter : length;
    if (task->subsequences == STREAMS)
        return cut_streams(task->cut[split], split, task->documents.spec.rows);
    return lh_subsequences_cut(task->cut[split], length, stride);
}

static lh_status check_subsequences(const language_model *task) {
    if (task->documents.evaluate_documents > 0)
        return lh_fail(LH_EOPTION, "options 'evaluate_documents' and 'subsequences' exclude each "
                                   "other: 'evaluate_batches' bounds an evaluation");
    if (task->subsequences != STREAMS && task->documents.spec.overlap > 0)
        return lh_fail(LH_EOPTION, "options 'overlap' and 'subsequences' exclude each other");
    return LH_OK;
}

static lh_status cut_subsequences(language_model *task) {
    if (task->subsequences == WHOLE_DOCUMENTS) return LH_OK;
    LH_TRY(check_subsequences(task));
    for (int split = 0; split < LH_SPLITS; ++split) {
        lh_document_source *source = &task->documents.source[split];
        LH_TRY(lh_subsequences_create(source, &task->cut[split]));
        *source = cut_split(task, (lh_split)split);
    }
    return LH_OK;
}

static lh_status open_task(void *instance, uint64_t seed, lh_model_setup *setup) {
    language_model *task = instance;
    lh_documents *documents = &task->documents;
    documents->spec.seed = seed;
    LH_TRY(lh_corpus_open(&task->data, &task->corpus));
    for (int split = 0; split < LH_SPLITS; ++split)
        documents->source[split] = document_source(task, (lh_split)split);
    LH_TRY(cut_subsequences(task));
    *setup =
        (lh_model_setup){.vocabulary = lh_tokenizer_vocabulary(lh_corpus_tokenizer(task->corpus))};
    return lh_documents_open(documents, setup);
}

static void close_task(void *instance) {
    language_model *task = instance;
    lh_documents_close(&task->documents);
    for (int split = 0; split < LH_SPLITS; ++split)
        lh_subsequences_destroy(task->cut[split]);
    if (task->corpus != NULL) lh_corpus_destroy(task->corpus);
}

static char *describe(const void *instance) {
    const language_model *task = instance;
    return lh_duplicate_text(lh_corpus_source(task->corpus));
}

/* Rows take documents one after the other, so that those that share one are in lockstep. */
static lh_status remark_rows(const language_model *task, lh_text *out) {
    const lh_documents *documents = &task->documents;
    const long long count = documents->source[LH_TRAIN].count, rows = documents->spec.rows;
    if (task->subsequences != WHOLE_DOCUMENTS || count >= rows) return LH_OK;
    return lh_text_add_line(
        out,
        "%lld training document%s for a batch of %lld rows, some of which read the "
        "same: split_bytes cuts documents, subsequences=streams gives each row a part",
        count, count == 1 ? "" : "s", rows);
}

static lh_status remark(const void *instance, char **out) {
    const language_model *task = instance;
    lh_text text = {0};
    lh_status status = lh_corpus_remark(task->corpus, &task->data, &text);
    if (status == LH_OK) status = remark_rows(task, &text);
    if (status != LH_OK) free(text.data);
    *out = status == LH_OK ? text.data : NULL;
    return status;
}

static uint64_t digest(const void *instance) {
    const language_model *task = instance;
    return lh_corpus_digest(task->corpus);
}

/* ---- class ---- */

const lh_task_class lh_language_model_class = {.name = "language_model",
                                               .summary = "Predict the next token of documents",
                                               .options = options,
                                               .kind = {.vocabulary = 1, .past_length = 1},
                                               .instance_size = sizeof(language_model),
                                               .open = open_task,
                                               .close = close_task,
                                               .shape = lh_documents_shape,
                                               .train_batch = lh_documents_train_batch,
                                               .evaluate_begin = lh_documents_evaluate_begin,
                                               .evaluate_batch = lh_documents_evaluate_batch,
                                               .cursor_get = lh_documents_cursor_get,
                                               .cursor_set = lh_documents_cursor_set,
                                               .describe = describe,
                                               .digest = digest,
                                               .remark = remark};
