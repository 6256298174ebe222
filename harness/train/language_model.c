#include "harness/train/language_model.h"

#include "harness/train/documents.h"
#include "harness/train/option_tables.h"
#include "harness/train/subsequences.h"

#include <stdio.h>

/* One split as a source of documents. */
typedef struct split_source {
    lh_corpus *corpus;
    lh_split split;
} split_source;

typedef struct language_model {
    lh_documents documents; /* first: the shared functions of a task read it */
    lh_corpus *corpus;
    split_source source[LH_SPLITS];
    lh_subsequences *subsequences[LH_SPLITS];
} language_model;

enum { WHOLE_DOCUMENTS, DISJOINT, QUARTER };
static const char *const subsequence_names[] = {"none", "disjoint", "quarter", NULL};

static const lh_option own_options[] = {
    {"segment", LH_OPTION_INTEGER, "512", 1, 1e9, NULL, "tokens of a segment (N)"},
    {"batch", LH_OPTION_INTEGER, "8", 1, (LH_CURSOR_WORDS - 2) / 2, NULL,
     "documents read side by side (B)"},
    {"predict_across", LH_OPTION_FLAG, "true", 0, 0, NULL,
     "predict the first token of a segment from the segment before it"},
    {"overlap", LH_OPTION_INTEGER, "0", 0, 1e9, NULL,
     "tokens of a segment that the next one repeats without predicting them"},
    {"evaluate_documents", LH_OPTION_INTEGER, "0", 0, 1e9, NULL,
     "documents of a split that an evaluation reads; 0: all"},
    {"evaluate_batches", LH_OPTION_INTEGER, "0", 0, 1e9, NULL,
     "batches after which an evaluation ends; 0: at the end of the documents"},
    {"subsequences", LH_OPTION_CHOICE | LH_OPTION_LATE, "none", 0, 0, subsequence_names,
     "join the documents and read every segment by itself: disjoint ones, or in training one that "
     "begins at every quarter of a segment"},
};

enum { OWN_OPTIONS = sizeof own_options / sizeof own_options[0] };

/* ---- opening ---- */

static lh_status get_document(void *context, int64_t index, lh_document *out) {
    const split_source *source = context;
    return lh_corpus_document(source->corpus, source->split, index, out);
}

static lh_status open_corpus(language_model *task, const lh_options *options) {
    lh_options *corpus_options = NULL;
    LH_TRY(lh_options_create("corpus", lh_corpus_options, &corpus_options));
    lh_status status =
        lh_option_tables_copy(options, OWN_OPTIONS, lh_corpus_options, corpus_options);
    if (status == LH_OK) status = lh_corpus_open(corpus_options, &task->corpus);
    lh_options_destroy(corpus_options);
    return status;
}

static lh_document_source document_source(language_model *task, lh_split split) {
    task->source[split] = (split_source){.corpus = task->corpus, .split = split};
    return (lh_document_source){.context = &task->source[split],
                                .get = get_document,
                                .count = lh_corpus_documents(task->corpus, split)};
}

/* The released windows of enwik8 begin every 16,384 bytes in training and are 65,536 long. */
static lh_status cut_subsequences(language_model *task, int choice) {
    const int64_t length = task->documents.spec.length, quarter = length >= 4 ? length / 4 : 1;
    if (choice == WHOLE_DOCUMENTS) return LH_OK;
    if (task->documents.spec.overlap > 0)
        return lh_fail(LH_EOPTION, "options 'overlap' and 'subsequences' exclude each other");
    for (int split = 0; split < LH_SPLITS; ++split) {
        const int64_t stride = split == LH_TRAIN && choice == QUARTER ? quarter : length;
        LH_TRY(lh_subsequences_create(&task->documents.source[split], length, stride,
                                      &task->subsequences[split]));
        task->documents.source[split] = lh_subsequences_source(task->subsequences[split]);
    }
    return LH_OK;
}

static lh_status open_task(void *instance, const lh_options *options, uint64_t seed,
                           lh_model_setup *setup) {
    language_model *task = instance;
    lh_documents *documents = &task->documents;
    documents->spec =
        (lh_batcher_spec){.rows = lh_options_integer(options, "batch"),
                          .length = lh_options_integer(options, "segment"),
                          .predict_across = lh_options_flag(options, "predict_across"),
                          .overlap = lh_options_integer(options, "overlap"),
                          .seed = seed};
    documents->evaluate_documents = lh_options_integer(options, "evaluate_documents");
    documents->evaluate_batches = lh_options_integer(options, "evaluate_batches");
    LH_TRY(open_corpus(task, options));
    for (int split = 0; split < LH_SPLITS; ++split)
        documents->source[split] = document_source(task, (lh_split)split);
    LH_TRY(cut_subsequences(task, lh_options_choice(options, "subsequences")));
    *setup =
        (lh_model_setup){.vocabulary = lh_tokenizer_vocabulary(lh_corpus_tokenizer(task->corpus))};
    return lh_documents_open(documents);
}

static void close_task(void *instance) {
    language_model *task = instance;
    lh_documents_close(&task->documents);
    for (int split = 0; split < LH_SPLITS; ++split)
        lh_subsequences_destroy(task->subsequences[split]);
    if (task->corpus != NULL) lh_corpus_destroy(task->corpus);
}

static void describe(const void *instance, char *data, size_t capacity, uint64_t *digest) {
    const language_model *task = instance;
    snprintf(data, capacity, "%s", lh_corpus_source(task->corpus));
    *digest = lh_corpus_digest(task->corpus);
}

/* ---- class ---- */

const lh_task_class *lh_language_model_class(void) {
    static lh_option table[LH_OPTION_ROWS];
    static lh_task_class class = {.name = "language_model",
                                  .summary = "Predict the next token of documents",
                                  .instance_size = sizeof(language_model),
                                  .open = open_task,
                                  .close = close_task,
                                  .shape = lh_documents_shape,
                                  .train_batch = lh_documents_train_batch,
                                  .evaluate_begin = lh_documents_evaluate_begin,
                                  .evaluate_batch = lh_documents_evaluate_batch,
                                  .cursor_get = lh_documents_cursor_get,
                                  .cursor_set = lh_documents_cursor_set,
                                  .describe = describe};
    class.options = lh_option_tables_join(own_options, OWN_OPTIONS, lh_corpus_options, table);
    return &class;
}
