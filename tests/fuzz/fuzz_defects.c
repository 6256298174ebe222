/* Any bytes as Devign's JSON lines: refused with a message, or all its functions are there. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "datasets/text/defects.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILES = 3, MOST_TOKENS = 16 };

static void read_all(lh_defects *defects) {
    const lh_defects_ids *ids = lh_defects_ids_of(defects);
    for (int64_t i = 0; i < lh_defects_count(defects, LH_TRAIN); ++i) {
        lh_function function;
        if (lh_defects_function(defects, LH_TRAIN, i, &function) != LH_OK) abort();
        if (function.count < 3 || function.count > MOST_TOKENS) abort();
        for (int64_t t = 0; t < function.count; ++t)
            if (function.tokens[t] < 0 || function.tokens[t] >= ids->vocabulary) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[FILES] = {"train", "valid", "test"};
    char folder[64], path[FILES][96];
    (void)snprintf(folder, sizeof folder, "/tmp/longhaul-fuzz-defects-%ld", (long)getpid());
    (void)mkdir(folder, 0777);
    for (int i = 0; i < FILES; ++i) {
        (void)snprintf(path[i], sizeof path[i], "%s/%s.jsonl", folder, names[i]);
        FILE *stream = fopen(path[i], "wb");
        if (stream == NULL) abort();
        (void)fwrite(data, 1, size, stream);
        (void)fclose(stream);
    }
    const lh_defects_spec spec = {.name = folder, .tokens = "bytes", .most_tokens = MOST_TOKENS};
    lh_defects *defects = NULL;
    if (lh_defects_open(&spec, &defects) == LH_OK) read_all(defects);
    lh_defects_destroy(defects);
    lh_error_clear();
    for (int i = 0; i < FILES; ++i)
        (void)unlink(path[i]);
    (void)rmdir(folder);
    return 0;
}
