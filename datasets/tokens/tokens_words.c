/* "words:FILE": words as tokens, of a vocabulary with a word a line (datasets/tokens/words.h). Text
 * comes back with one blank between words. */
#include <stdlib.h>
#include <string.h>

#include "datasets/digest.h"
#include "datasets/tokens/tokenizer_class.h"
#include "datasets/tokens/words.h"

static lh_status open_words(const char *argument, uint64_t *digest, void **instance) {
    lh_words *words = NULL;
    LH_TRY(lh_digest_file(argument, digest));
    LH_TRY(lh_words_read(argument, &words));
    *instance = words;
    return LH_OK;
}

static void close_words(void *instance) {
    lh_words_destroy(instance);
}

static int64_t vocabulary(const void *instance) {
    return lh_words_size(instance);
}

static int32_t find(const void *instance, const char *token) {
    return lh_words_find(instance, token, strlen(token));
}

typedef struct encoding {
    const lh_words *words;
    int32_t unknown, *tokens;
    int64_t count;
} encoding;

static lh_status add_token(void *to, const char *word, size_t bytes) {
    encoding *e = to;
    const int32_t id = lh_words_find(e->words, word, bytes);
    e->tokens[e->count++] = id >= 0 ? id : e->unknown;
    return LH_OK;
}

/* A byte belongs to at most one word or is one line end. */
static lh_status encode(const void *instance, const char *text, size_t bytes, int32_t **tokens,
                        int64_t *count) {
    encoding e = {.words = instance, .unknown = find(instance, "<unk>")};
    e.tokens = lh_allocate((bytes + 1) * sizeof *e.tokens);
    if (e.tokens == NULL) return LH_EMEMORY;
    (void)lh_words_each(text, bytes, add_token, &e);
    *tokens = e.tokens;
    *count = e.count;
    return LH_OK;
}

/* What is <unk> in the text itself is a word like any other. */
static lh_status find_word(void *to, const char *word, size_t bytes) {
    encoding *e = to;
    if (lh_words_find(e->words, word, bytes) < 0) e->count += 1;
    return LH_OK;
}

static int64_t unspelled(const void *instance, const char *text, size_t bytes,
                         const int32_t *tokens, int64_t count) {
    encoding unknown = {.words = instance};
    (void)tokens;
    (void)count;
    (void)lh_words_each(text, bytes, find_word, &unknown);
    return unknown.count > 0 ? LH_UNSPELLED : 0;
}

static size_t decoded_bytes(const lh_words *words, const int32_t *tokens, int64_t count) {
    size_t total = 1;
    for (int64_t i = 0; i < count; ++i) {
        size_t bytes = 0;
        (void)lh_words_text(words, tokens[i], &bytes);
        total += bytes + 1;
    }
    return total;
}

static lh_status decode(const void *instance, const int32_t *tokens, int64_t count, char **text,
                        size_t *bytes) {
    char *made = lh_allocate(decoded_bytes(instance, tokens, count));
    if (made == NULL) return LH_EMEMORY;
    size_t length = 0;
    for (int64_t i = 0; i < count; ++i) {
        size_t word_bytes = 0;
        const char *word = lh_words_text(instance, tokens[i], &word_bytes);
        if (tokens[i] == 0) {
            made[length++] = '\n';
            continue;
        }
        if (length > 0 && made[length - 1] != '\n') made[length++] = ' ';
        memcpy(made + length, word, word_bytes);
        length += word_bytes;
    }
    made[length] = '\0';
    *text = made;
    *bytes = length;
    return LH_OK;
}

const lh_tokenizer_class lh_tokens_words = {.prefix = "words:",
                                            .open = open_words,
                                            .close = close_words,
                                            .vocabulary = vocabulary,
                                            .find = find,
                                            .encode = encode,
                                            .decode = decode,
                                            .unspelled = unspelled};
