/* A batcher for training and one for a pass, behind the functions of a task class. */
#include "harness/tasks/documents.h"

lh_status lh_documents_open(lh_documents *documents, lh_model_setup *setup) {
    setup->past_length = documents->spec.length;
    documents->spec.source = documents->source[LH_TRAIN];
    documents->spec.endless = true;
    return lh_batcher_create(&documents->spec, &documents->train);
}

void lh_documents_close(lh_documents *documents) {
    lh_batcher_destroy(documents->train);
    lh_batcher_destroy(documents->pass);
}

void lh_documents_shape(const void *instance, int64_t *rows, int64_t *length) {
    const lh_documents *documents = instance;
    *rows = documents->spec.rows;
    *length = documents->spec.length;
}

lh_status lh_documents_train_batch(void *instance, lh_host_batch *out) {
    lh_documents *documents = instance;
    return lh_batcher_next(documents->train, out);
}

static lh_status no_documents(const lh_documents *documents, lh_split split) {
    const lh_document_source *source = documents->source;
    return lh_fail(LH_EFORMAT,
                   "data: there are no documents of the %s split, which is evaluated (train has "
                   "%lld, valid %lld, test %lld): put some into %s/ in the corpus' folder",
                   lh_split_names[split], (long long)source[LH_TRAIN].count,
                   (long long)source[LH_VALID].count, (long long)source[LH_TEST].count,
                   lh_split_names[split]);
}

lh_status lh_documents_evaluate_begin(void *instance, lh_split split) {
    lh_documents *documents = instance;
    lh_batcher_destroy(documents->pass);
    documents->pass = NULL;
    documents->pass_batches = 0;
    lh_batcher_spec spec = documents->spec;
    spec.endless = false;
    spec.source = documents->source[split];
    if (spec.source.count == 0) return no_documents(documents, split);
    if (documents->evaluate_documents > 0)
        spec.source.count = lh_min(spec.source.count, documents->evaluate_documents);
    spec.rows = lh_min(spec.rows, spec.source.count);
    return lh_batcher_create(&spec, &documents->pass);
}

lh_status lh_documents_evaluate_batch(void *instance, lh_host_batch *out) {
    lh_documents *documents = instance;
    *out = (lh_host_batch){0};
    if (documents->pass == NULL) return lh_fail(LH_ESTATE, "data: no evaluation has begun");
    if (documents->evaluate_batches > 0 && documents->pass_batches == documents->evaluate_batches)
        return LH_OK;
    documents->pass_batches += 1;
    return lh_batcher_next(documents->pass, out);
}

int lh_documents_cursor_get(const void *instance, int64_t *words) {
    const lh_documents *documents = instance;
    return lh_batcher_cursor_get(documents->train, words);
}

lh_status lh_documents_cursor_set(void *instance, const int64_t *words, int count) {
    lh_documents *documents = instance;
    return lh_batcher_cursor_set(documents->train, words, count);
}
