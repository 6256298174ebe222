/* The joined text, and what stands before each document of it. */
#include "harness/tasks/subsequences.h"

#include <stdlib.h>
#include <string.h>

typedef struct extent {
    double tokens, bytes, words, unspelled;
} extent;

struct lh_subsequences {
    int64_t documents, length, stride;
    extent *before;  /* [documents + 1]: what comes before a document; all of them */
    int32_t *tokens; /* of all documents */
};

static int64_t count_tokens(const lh_subsequences *s) {
    return (int64_t)s->before[s->documents].tokens;
}

static lh_status measure(lh_subsequences *s, const lh_document_source *source) {
    for (int64_t i = 0; i < s->documents; ++i) {
        lh_document document;
        LH_TRY(source->get(source->context, i, &document));
        s->before[i + 1] = (extent){.tokens = s->before[i].tokens + (double)document.count,
                                    .bytes = s->before[i].bytes + document.bytes,
                                    .words = s->before[i].words + document.words,
                                    .unspelled = s->before[i].unspelled + document.unspelled};
    }
    return LH_OK;
}

static lh_status join(lh_subsequences *s, const lh_document_source *source) {
    LH_TRY(measure(s, source));
    s->tokens = lh_allocate((size_t)count_tokens(s) * sizeof *s->tokens);
    if (s->tokens == NULL) return LH_EMEMORY;
    for (int64_t i = 0; i < s->documents; ++i) {
        lh_document document;
        LH_TRY(source->get(source->context, i, &document));
        if (document.count == 0) continue;
        memcpy(s->tokens + (int64_t)s->before[i].tokens, document.tokens,
               (size_t)document.count * sizeof *s->tokens);
    }
    return LH_OK;
}

lh_status lh_subsequences_create(const lh_document_source *source, lh_subsequences **out) {
    *out = NULL;
    lh_subsequences *s = lh_allocate_zeroed(1, sizeof *s);
    if (s == NULL) return LH_EMEMORY;
    s->documents = source->count;
    s->before = lh_allocate_zeroed((size_t)source->count + 1, sizeof *s->before);
    const lh_status status = s->before != NULL ? join(s, source) : LH_EMEMORY;
    if (status != LH_OK) {
        lh_subsequences_destroy(s);
        return status;
    }
    *out = s;
    return LH_OK;
}

void lh_subsequences_destroy(lh_subsequences *subsequences) {
    if (subsequences == NULL) return;
    free(subsequences->before);
    free(subsequences->tokens);
    free(subsequences);
}

int64_t lh_subsequences_predicted(const lh_subsequences *subsequences) {
    const int64_t total = count_tokens(subsequences);
    return total > 0 ? total - 1 : 0;
}

/* The document that holds the joined documents' token `at`; the last one for their end. */
static int64_t find_document(const lh_subsequences *s, double at) {
    int64_t low = 0, high = s->documents;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (s->before[middle].tokens <= at) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* What comes before token `at`, a token of a document having its mean. Divides last: where a token
 * is a byte, that is a whole number. */
static extent extent_before(const lh_subsequences *s, double at) {
    const extent *begin = &s->before[find_document(s, at)], *end = begin + 1;
    const double count = end->tokens > begin->tokens ? end->tokens - begin->tokens : 1.0;
    const double inside = at - begin->tokens;
    return (extent){.tokens = at,
                    .bytes = begin->bytes + inside * (end->bytes - begin->bytes) / count,
                    .words = begin->words + inside * (end->words - begin->words) / count,
                    .unspelled =
                        begin->unspelled + inside * (end->unspelled - begin->unspelled) / count};
}

static lh_status get(void *context, int64_t index, lh_document *out) {
    const lh_subsequences *s = context;
    const int64_t left = count_tokens(s) - index * s->stride;
    const int64_t count = lh_min(s->length + 1, left);
    const extent begin = extent_before(s, (double)(index * s->stride));
    const extent end = extent_before(s, (double)(index * s->stride + count));
    *out = (lh_document){.name = "subsequence",
                         .tokens = s->tokens + index * s->stride,
                         .count = count,
                         .bytes = end.bytes - begin.bytes,
                         .words = end.words - begin.words,
                         .unspelled = end.unspelled - begin.unspelled};
    return LH_OK;
}

lh_document_source lh_subsequences_cut(lh_subsequences *subsequences, int64_t length,
                                       int64_t stride) {
    subsequences->length = length;
    subsequences->stride = stride;
    const int64_t predicted = lh_subsequences_predicted(subsequences);
    return (lh_document_source){
        .context = subsequences, .get = get, .count = lh_chunk_count(predicted, stride)};
}
