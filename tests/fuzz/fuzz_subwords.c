/* Any bytes as a vocabulary of subwords: refused with a message, or what it encodes it decodes. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "datasets/text/vocabulary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    char path[64], name[96];
    (void)snprintf(path, sizeof path, "/tmp/longhaul-fuzz-%ld.subwords", (long)getpid());
    (void)snprintf(name, sizeof name, "subwords:%s", path);
    FILE *stream = fopen(path, "wb");
    if (stream == NULL) abort();
    (void)fwrite(data, 1, size, stream);
    (void)fclose(stream);
    lh_tokenizer *tokenizer = NULL;
    if (lh_tokenizer_open(name, &tokenizer) == LH_OK) {
        encode(tokenizer, text, sizeof text - 1);
        encode(tokenizer, (const char *)data, size);
    } else if (lh_error_get()->message[0] == '\0') {
        abort();
    }
    lh_tokenizer_destroy(tokenizer);
    lh_error_clear();
    (void)unlink(path);
    return 0;
}
