/* Remarks on what was read from files, where names and options may not do what was meant. */
#include "datasets/text/corpus_remark.h"

#include <stdlib.h>

#include "datasets/locate.h"

static lh_status add_line(lh_text *out, char *line) {
    if (line == NULL) return LH_EMEMORY;
    lh_status status = out->bytes > 0 ? lh_text_add_string(out, "\n") : LH_OK;
    if (status == LH_OK) status = lh_text_add_string(out, line);
    free(line);
    return status;
}

/* Names of files may have put them into other splits than was meant. */
static lh_status say_splits(const lh_corpus *corpus, lh_text *out) {
    return add_line(out, lh_format("documents: %lld to train on, %lld to validate, %lld to test",
                                   (long long)lh_corpus_documents(corpus, LH_TRAIN),
                                   (long long)lh_corpus_documents(corpus, LH_VALID),
                                   (long long)lh_corpus_documents(corpus, LH_TEST)));
}

lh_status lh_corpus_remark(const lh_corpus *corpus, lh_text *out) {
    if (lh_source_is_generated(lh_corpus_source(corpus))) return LH_OK;
    return say_splits(corpus, out);
}
