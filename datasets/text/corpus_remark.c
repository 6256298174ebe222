/* Remarks on what was read from files, where names and options may not do what was meant. */
#include "datasets/text/corpus_remark.h"

#include <string.h>

#include "datasets/locate.h"
#include "harness/engine/options.h"

/* Names of files may have put them into other splits than was meant. */
static lh_status say_splits(const lh_corpus *corpus, lh_text *out) {
    return lh_text_add_line(out, "documents: %lld to train on, %lld to validate, %lld to test",
                            (long long)lh_corpus_documents(corpus, LH_TRAIN),
                            (long long)lh_corpus_documents(corpus, LH_VALID),
                            (long long)lh_corpus_documents(corpus, LH_TEST));
}

/* Scripts set them for a generator that stands in where the corpus is not. */
static lh_status say_unused(const lh_corpus_config *config, lh_text *out) {
    lh_corpus_config usual;
    lh_options_standard(lh_corpus_config_options, &usual);
    const bool documents = config->documents != usual.documents,
               bytes = config->document_bytes != usual.document_bytes,
               seed = config->data_seed != usual.data_seed;
    if (!documents && !bytes && !seed) return LH_OK;
    return lh_text_add_line(out,
                            "not of a generator, so that these options do nothing:%s%s%s "
                            "(split_bytes and limit_documents are for any text)",
                            documents ? " documents" : "", bytes ? " document_bytes" : "",
                            seed ? " data_seed" : "");
}

lh_status lh_corpus_remark(const lh_corpus *corpus, const lh_corpus_config *config, lh_text *out) {
    const char *source = lh_corpus_source(corpus);
    if (lh_source_is_generated(source) || strncmp(config->name, "plugin:", 7) == 0) return LH_OK;
    LH_TRY(say_splits(corpus, out));
    if (lh_corpus_notes(corpus) != NULL)
        LH_TRY(lh_text_add_line(out, "%s", lh_corpus_notes(corpus)));
    return say_unused(config, out);
}
