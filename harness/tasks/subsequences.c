/* Where each document begins in the joined text, and the pieces that a subsequence takes of them.
 */
#include "harness/tasks/subsequences.h"

#include <stdlib.h>
#include <string.h>

struct lh_subsequences {
    lh_document_source source;
    int64_t length, stride;
    int64_t *first;  /* [documents + 1]: tokens before a document; all of them */
    int32_t *tokens; /* [length + 1]: of the subsequence read last */
};

static lh_status count_tokens(lh_subsequences *s) {
    for (int64_t i = 0; i < s->source.count; ++i) {
        lh_document document;
        LH_TRY(s->source.get(s->source.context, i, &document));
        s->first[i + 1] = s->first[i] + document.count;
    }
    return LH_OK;
}

lh_status lh_subsequences_create(const lh_document_source *source, int64_t length, int64_t stride,
                                 lh_subsequences **out) {
    *out = NULL;
    lh_subsequences *s = lh_allocate_zeroed(1, sizeof *s);
    if (s == NULL) return LH_EMEMORY;
    *s = (lh_subsequences){.source = *source, .length = length, .stride = stride};
    s->first = lh_allocate_zeroed((size_t)source->count + 1, sizeof *s->first);
    s->tokens = lh_allocate((size_t)(length + 1) * sizeof *s->tokens);
    const bool complete = s->first != NULL && s->tokens != NULL;
    const lh_status status = complete ? count_tokens(s) : LH_EMEMORY;
    if (status != LH_OK) {
        lh_subsequences_destroy(s);
        return status;
    }
    *out = s;
    return LH_OK;
}

void lh_subsequences_destroy(lh_subsequences *subsequences) {
    if (subsequences == NULL) return;
    free(subsequences->first);
    free(subsequences->tokens);
    free(subsequences);
}

/* The document that holds the joined documents' token `at`. */
static int64_t find_document(const lh_subsequences *s, int64_t at) {
    int64_t low = 0, high = s->source.count;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (s->first[middle] <= at) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static lh_status get(void *context, int64_t index, lh_document *out) {
    lh_subsequences *s = context;
    const int64_t total = s->first[s->source.count], begin = index * s->stride;
    const int64_t wanted = s->length + 1 < total - begin ? s->length + 1 : total - begin;
    double bytes = 0.0, words = 0.0;
    *out = (lh_document){.name = "subsequence", .tokens = s->tokens};
    for (int64_t d = find_document(s, begin); out->count < wanted; ++d) {
        lh_document document;
        LH_TRY(s->source.get(s->source.context, d, &document));
        const int64_t from = begin + out->count - s->first[d];
        const int64_t room = wanted - out->count, left = document.count - from;
        const int64_t taken = room < left ? room : left;
        if (taken <= 0) continue;
        const double share = (double)taken / (double)document.count;
        memcpy(s->tokens + out->count, document.tokens + from,
               (size_t)taken * sizeof *document.tokens);
        bytes += share * (double)document.bytes;
        words += share * (double)document.words;
        out->count += taken;
    }
    out->bytes = (int64_t)(bytes + 0.5);
    out->words = (int64_t)(words + 0.5);
    return LH_OK;
}

lh_document_source lh_subsequences_source(lh_subsequences *subsequences) {
    const int64_t predicted = subsequences->first[subsequences->source.count] - 1;
    const int64_t count = (predicted + subsequences->stride - 1) / subsequences->stride;
    return (lh_document_source){
        .context = subsequences, .get = get, .count = predicted > 0 ? count : 0};
}
