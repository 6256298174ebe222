/* Any bytes as a vocabulary of words: refused with a message that names the file, or what it
 * encodes it decodes to words of its own. The same bytes as text are UTF-8 as far as a decoder by
 * the letter of RFC 3629 says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/tokens/tokenizer.h"
#include "harness/engine/utf8.h"
#include "tests/fuzz/scratch.h"

/* The bytes of the character at `at`, 0 where none begins: its number is put together and must need
 * as many bytes as it took. */
static size_t character(const uint8_t *at, size_t left) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t bytes = at[0] < 0x80           ? 1
                         : (at[0] >> 5) == 0x6  ? 2
                         : (at[0] >> 4) == 0xe  ? 3
                         : (at[0] >> 3) == 0x1e ? 4
                                                : 0;
    if (bytes <= 1 || bytes > left) return bytes == 1 ? 1 : 0;
    uint32_t number = at[0] & (0xffu >> (bytes + 1));
    for (size_t i = 1; i < bytes; ++i) {
        if (at[i] >> 6 != 2) return 0;
        number = number << 6 | (at[i] & 0x3fu);
    }
    const bool surrogate = number >= 0xd800 && number < 0xe000;
    return number >= least[bytes] && number <= 0x10ffff && !surrogate ? bytes : 0;
}

static void check_utf8(const uint8_t *data, size_t size) {
    size_t at = 0;
    for (size_t step = 1; at < size && step > 0; at += step)
        step = character(data + at, size - at);
    if (lh_utf8_length((const char *)data, size) != at) abort();
}

static void check_tokens(const lh_tokenizer *tokenizer, const char *text, size_t bytes) {
    int32_t *tokens = NULL;
    int64_t count = 0;
    char *back = NULL;
    size_t length = 0;
    if (lh_tokenizer_encode(tokenizer, text, bytes, &tokens, &count) != LH_OK) abort();
    for (int64_t i = 0; i < count; ++i)
        if (tokens[i] < 0 || tokens[i] >= lh_tokenizer_vocabulary(tokenizer)) abort();
    if (lh_tokenizer_decode(tokenizer, tokens, count, &back, &length) != LH_OK) abort();
    free(back);
    free(tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char name[192];
    lh_tokenizer *tokenizer = NULL;
    check_utf8(data, size);
    const char *path = scratch_write("words", data, size);
    (void)snprintf(name, sizeof name, "words:%s", path);
    if (lh_tokenizer_open(name, &tokenizer) == LH_OK)
        check_tokens(tokenizer, (const char *)data, size);
    else if (strstr(lh_error_get()->message, path) == NULL)
        abort();
    lh_tokenizer_destroy(tokenizer);
    lh_error_clear();
    return 0;
}
