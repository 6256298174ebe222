/* Any bytes as a vocabulary of subwords: refused with a message, or what it encodes it decodes. */
#include <stdio.h>
#include <stdlib.h>

#include "datasets/text/vocabulary.h"
#include "tests/fuzz/scratch.h"

static void encode(const lh_tokenizer *tokenizer, const char *text, size_t bytes) {
    int32_t *tokens = NULL;
    int64_t count = 0;
    char *back = NULL;
    size_t length = 0;
    if (lh_tokenizer_encode(tokenizer, text, bytes, &tokens, &count) != LH_OK) return;
    for (int64_t i = 0; i < count; ++i)
        if (tokens[i] < 0 || tokens[i] >= lh_tokenizer_vocabulary(tokenizer)) abort();
    if (lh_tokenizer_decode(tokenizer, tokens, count, &back, &length) != LH_OK) abort();
    free(back);
    free(tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char text[] = "The 1st_\\ \xc3\xbc, 5;";
    char name[160];
    (void)snprintf(name, sizeof name, "subwords:%s", scratch_write("fuzz.subwords", data, size));
    lh_tokenizer *tokenizer = NULL;
    if (lh_tokenizer_open(name, &tokenizer) == LH_OK) {
        encode(tokenizer, text, sizeof text - 1);
        encode(tokenizer, (const char *)data, size);
    } else if (lh_error_get()->message[0] == '\0') {
        abort();
    }
    lh_tokenizer_destroy(tokenizer);
    lh_error_clear();
    return 0;
}
