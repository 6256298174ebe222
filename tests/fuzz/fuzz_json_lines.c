/* Any bytes as a file of JSON lines: refused with a message, or all its documents are there. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "datasets/text/corpus.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    char folder[64], path[96];
    (void)snprintf(folder, sizeof folder, "/tmp/longhaul-fuzz-lines-%ld", (long)getpid());
    (void)snprintf(path, sizeof path, "%s/train.jsonl", folder);
    (void)mkdir(folder, 0777);
    FILE *stream = fopen(path, "wb");
    if (stream == NULL) abort();
    (void)fwrite(data, 1, size, stream);
    (void)fclose(stream);
    lh_corpus *corpus = NULL;
    if (open_folder(folder, &corpus) == LH_OK) read_all(corpus);
    lh_corpus_destroy(corpus);
    lh_error_clear();
    (void)unlink(path);
    (void)rmdir(folder);
    return 0;
}
