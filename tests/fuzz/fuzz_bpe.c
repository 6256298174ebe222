/* Any bytes as a file of a BPE vocabulary, the tokens or (first byte odd) the merges beside good
 * tokens: refused with a message, or every text comes back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/text/vocabulary.h"
#include "tests/fuzz/scratch.h"

/* The tokens of the committed vocabulary, read once. */
static size_t good_tokens(const char **text) {
    static char kept[1 << 14];
    static size_t bytes;
    if (bytes == 0) {
        FILE *stream = fopen("tests/golden/bpe/vocab.json", "rb");
        if (stream == NULL) abort();
        bytes = fread(kept, 1, sizeof kept, stream);
        (void)fclose(stream);
    }
    *text = kept;
    return bytes;
}

static void round_trip(const lh_tokenizer *tokenizer) {
    static const char text[] = "Hello, world! it's 12 \xc3\xa9\xff  \n\n x aaaa the of and ing";
    int32_t *tokens = NULL;
    int64_t count = 0;
    char *back = NULL;
    size_t bytes = 0;
    if (lh_tokenizer_encode(tokenizer, text, sizeof text, &tokens, &count) != LH_OK) abort();
    if (lh_tokenizer_decode(tokenizer, tokens, count, &back, &bytes) != LH_OK) abort();
    if (bytes != sizeof text || memcmp(text, back, bytes) != 0) abort();
    free(tokens);
    free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char name[160];
    const char *tokens = NULL;
    if (size == 0) return 0;
    const bool merges = data[0] % 2 == 1;
    const size_t good = good_tokens(&tokens);
    (void)scratch_write("vocab.json", merges ? (const void *)tokens : data + 1,
                        merges ? good : size - 1);
    (void)scratch_write("merges.txt", data + 1, merges ? size - 1 : 0);
    (void)snprintf(name, sizeof name, "bpe:%s", scratch_path("."));
    lh_tokenizer *tokenizer = NULL;
    if (lh_tokenizer_open(name, &tokenizer) == LH_OK) round_trip(tokenizer);
    lh_tokenizer_destroy(tokenizer);
    lh_error_clear();
    return 0;
}
