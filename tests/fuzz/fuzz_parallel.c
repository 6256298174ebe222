/* Any bytes as parallel text, both sides around the first NUL: refused with a message, or every
 * pair has both sides and their ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/text/parallel_text.h"
#include "tests/fuzz/scratch.h"

static lh_status open_folder(const char *folder, lh_parallel **out) {
    lh_parallel_config config;
    lh_options_standard(lh_parallel_config_options, &config);
    config.name = folder;
    config.tokens = "bytes";
    return lh_parallel_open(&config, out);
}

static void check_pairs(const lh_parallel *parallel) {
    for (int split = 0; split < LH_SPLITS; ++split) {
        for (int64_t i = 0; i < lh_parallel_pairs(parallel, (lh_split)split); ++i) {
            const lh_pair pair = lh_parallel_pair(parallel, (lh_split)split, i);
            const bool good = pair.source_count >= 2 && pair.target_count == pair.text_bytes + 1 &&
                              pair.source[pair.source_count - 1] == 1 &&
                              pair.target[pair.target_count - 1] == 1;
            if (!good) abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"train", "valid", "test"};
    const uint8_t *zero = size > 0 ? memchr(data, 0, size) : NULL;
    const size_t source = zero != NULL ? (size_t)(zero - data) : size;
    const size_t target = zero != NULL ? size - source - 1 : 0;
    char name[32];
    for (int i = 0; i < 3; ++i) {
        (void)snprintf(name, sizeof name, "%s.en", names[i]);
        (void)scratch_write(name, data, source);
        (void)snprintf(name, sizeof name, "%s.de", names[i]);
        (void)scratch_write(name, zero != NULL ? zero + 1 : data, target);
    }
    lh_parallel *parallel = NULL;
    const lh_status status = open_folder(scratch_path("."), &parallel);
    if (status == LH_OK) check_pairs(parallel);
    if (status != LH_OK && lh_error_get()->message[0] == '\0') abort();
    lh_parallel_destroy(parallel);
    lh_error_clear();
    return 0;
}
