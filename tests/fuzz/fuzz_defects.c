/* Any bytes as Devign's JSON lines: refused with a message, or all its functions are there. */
#include <stdlib.h>

#include "datasets/text/defects.h"
#include "tests/fuzz/scratch.h"

enum { MOST_TOKENS = 16 };

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
    static const char *const names[] = {"train.jsonl", "valid.jsonl", "test.jsonl"};
    for (int i = 0; i < 3; ++i)
        (void)scratch_write(names[i], data, size);
    const lh_defects_spec spec = {
        .name = scratch_path("."), .tokens = "bytes", .most_tokens = MOST_TOKENS};
    lh_defects *defects = NULL;
    if (lh_defects_open(&spec, &defects) == LH_OK) read_all(defects);
    lh_defects_destroy(defects);
    lh_error_clear();
    return 0;
}
