/* Any bytes as a file of JSON lines: refused with a message, or all its documents are there. */
#include <stdlib.h>

#include "datasets/text/corpus.h"
#include "tests/fuzz/scratch.h"

static lh_status open_folder(const char *folder, lh_corpus **out) {
    lh_corpus_config config;
    lh_options_standard(lh_corpus_config_options, &config);
    config.name = folder;
    return lh_corpus_open(&config, out);
}

static void read_all(lh_corpus *corpus) {
    volatile int64_t sum = 0;
    for (int64_t i = 0; i < lh_corpus_documents(corpus, LH_TRAIN); ++i) {
        lh_document document;
        if (lh_corpus_document(corpus, LH_TRAIN, i, &document) != LH_OK) abort();
        for (int64_t t = 0; t < document.count; ++t)
            sum += document.tokens[t];
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    lh_corpus *corpus = NULL;
    (void)scratch_write("train.jsonl", data, size);
    if (open_folder(scratch_path("."), &corpus) == LH_OK) read_all(corpus);
    lh_corpus_destroy(corpus);
    lh_error_clear();
    return 0;
}
