/* Bytes as tokens: id = byte + 3 after pad, end and unknown, in a table of 260 rows (seqio's
 * ByteVocabulary with the table that the Block-Recurrent Transformer's code gives it). Any bytes go
 * in and come out unchanged. */
#include "datasets/tokens/tokenizer_class.h"

enum { SPECIAL = 3, ROWS = 260 };

static int64_t vocabulary(const void *instance) {
    (void)instance;
    return ROWS;
}

static int32_t end(const void *instance) {
    (void)instance;
    return 1;
}

static lh_status encode(const void *instance, const char *text, size_t bytes, int32_t **tokens,
                        int64_t *count) {
    (void)instance;
    int32_t *made = lh_allocate(bytes * sizeof *made);
    if (made == NULL) return LH_EMEMORY;
    for (size_t i = 0; i < bytes; ++i)
        made[i] = (int32_t)(unsigned char)text[i] + SPECIAL;
    *tokens = made;
    *count = (int64_t)bytes;
    return LH_OK;
}

/* Special tokens stand for no byte and are left out. */
static lh_status decode(const void *instance, const int32_t *tokens, int64_t count, char **text,
                        size_t *bytes) {
    (void)instance;
    char *made = lh_allocate((size_t)count + 1);
    if (made == NULL) return LH_EMEMORY;
    size_t length = 0;
    for (int64_t i = 0; i < count; ++i) {
        if (tokens[i] >= SPECIAL && tokens[i] < SPECIAL + 256) {
            made[length++] = (char)(unsigned char)(tokens[i] - SPECIAL);
        }
    }
    made[length] = '\0';
    *text = made;
    *bytes = length;
    return LH_OK;
}

const lh_tokenizer_class lh_tokens_bytes = {
    .prefix = "bytes", .end = end, .vocabulary = vocabulary, .encode = encode, .decode = decode};
