/* A tokenizer is a kind, found by the prefix of the name, and what that kind made of the rest. */
#include "datasets/tokens/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "datasets/digest.h"
#include "datasets/tokens/tokenizer_class.h"
#include "harness/engine/nearest_name.h"

struct lh_tokenizer {
    const lh_tokenizer_class *class;
    char *name; /* for messages */
    void *instance;
    uint64_t digest; /* of its files */
};

static const lh_tokenizer_class *const classes[] = {
    &lh_tokens_bytes,
    &lh_tokens_words,
#ifdef LH_HAVE_PCRE2
    &lh_tokens_bpe,
    &lh_tokens_subwords,
#endif
#ifdef LH_HAVE_SENTENCEPIECE
    &lh_tokens_sentencepiece,
#endif
    NULL,
};

/* A prefix that ends in a colon takes an argument; any other is the whole name. */
static bool answers_to(const lh_tokenizer_class *class, const char *name) {
    const size_t length = strlen(class->prefix);
    if (strncmp(class->prefix, name, length) != 0) return false;
    return class->prefix[length - 1] == ':' || name[length] == '\0';
}

static const lh_tokenizer_class *find_class(const char *name) {
    for (int i = 0; classes[i] != NULL; ++i) {
        if (answers_to(classes[i], name)) return classes[i];
    }
    return NULL;
}

/* What a mistyped name may have been meant to begin with. */
static const char *const prefixes[] = {
    "bytes", "words:", "bpe:", "sentencepiece:", "subwords:", NULL};

/* A known kind that is not there was left out of the build. */
static const char *missing_library(const char *name) {
    if (strncmp(name, "sentencepiece:", 14) == 0)
        return " (this build lacks the sentencepiece library)";
    const bool matches = strncmp(name, "bpe:", 4) == 0 || strncmp(name, "subwords:", 9) == 0;
    return matches ? " (this build lacks the pcre2 library)" : "";
}

lh_status lh_tokenizer_open(const char *name, lh_tokenizer **out) {
    const lh_tokenizer_class *class = find_class(name);
    if (class == NULL) {
        const char *near = lh_nearest_name(name, prefixes);
        return lh_fail(LH_EOPTION, "no tokenizer '%s'%s%s%s; there are: " LH_TOKENIZERS "%s", name,
                       near != NULL ? " (did you mean '" : "", near != NULL ? near : "",
                       near != NULL ? "'?)" : "", missing_library(name));
    }
    lh_tokenizer *tokenizer = lh_allocate_zeroed(1, sizeof *tokenizer);
    if (tokenizer == NULL) return LH_EMEMORY;
    tokenizer->class = class;
    tokenizer->name = lh_duplicate_text(name);
    lh_status status = tokenizer->name != NULL ? LH_OK : LH_EMEMORY;
    if (status == LH_OK && class->open != NULL) {
        const char *argument = name + strlen(class->prefix);
        status = class->open(argument, &tokenizer->digest, &tokenizer->instance);
    }
    if (status == LH_OK)
        *out = tokenizer;
    else
        lh_tokenizer_destroy(tokenizer);
    return status;
}

void lh_tokenizer_destroy(lh_tokenizer *tokenizer) {
    if (tokenizer == NULL) return;
    if (tokenizer->class->close != NULL) tokenizer->class->close(tokenizer->instance);
    free(tokenizer->name);
    free(tokenizer);
}

int64_t lh_tokenizer_vocabulary(const lh_tokenizer *tokenizer) {
    return tokenizer->class->vocabulary(tokenizer->instance);
}

int32_t lh_tokenizer_end(const lh_tokenizer *tokenizer) {
    return tokenizer->class->end != NULL ? tokenizer->class->end(tokenizer->instance) : 0;
}

int32_t lh_tokenizer_find(const lh_tokenizer *tokenizer, const char *token) {
    return tokenizer->class->find != NULL ? tokenizer->class->find(tokenizer->instance, token) : -1;
}

uint64_t lh_tokenizer_digest(const lh_tokenizer *tokenizer) {
    return tokenizer->digest;
}

uint64_t lh_tokenizer_key(const lh_tokenizer *tokenizer) {
    const uint64_t parts[] = {LH_TOKENS_VERSION, tokenizer->digest};
    if (tokenizer->digest == 0) return 0;
    return lh_digest_text(lh_digest_mix(0, parts, sizeof parts), tokenizer->class->prefix);
}

bool lh_tokenizer_reads_characters(const lh_tokenizer *tokenizer) {
    return tokenizer->class->characters;
}

lh_status lh_tokenizer_encode(const lh_tokenizer *tokenizer, const char *text, size_t bytes,
                              int32_t **tokens, int64_t *count) {
    return tokenizer->class->encode(tokenizer->instance, text, bytes, tokens, count);
}

int64_t lh_tokenizer_unspelled(const lh_tokenizer *tokenizer, const char *text, size_t bytes,
                               const int32_t *tokens, int64_t count) {
    const lh_tokenizer_class *class = tokenizer->class;
    if (class->unspelled == NULL) return 0;
    return class->unspelled(tokenizer->instance, text, bytes, tokens, count);
}

/* A model of another vocabulary may name ids that no kind has; none has to look for itself. */
static lh_status check_ids(const lh_tokenizer *tokenizer, const int32_t *tokens, int64_t count) {
    const int64_t vocabulary = lh_tokenizer_vocabulary(tokenizer);
    for (int64_t i = 0; i < count; ++i) {
        if (tokens[i] < 0 || tokens[i] >= vocabulary)
            return lh_fail(LH_EOPTION, "%s: token %d is outside the vocabulary of %lld",
                           tokenizer->name, (int)tokens[i], (long long)vocabulary);
    }
    return LH_OK;
}

lh_status lh_tokenizer_decode(const lh_tokenizer *tokenizer, const int32_t *tokens, int64_t count,
                              char **text, size_t *bytes) {
    LH_TRY(check_ids(tokenizer, tokens, count));
    return tokenizer->class->decode(tokenizer->instance, tokens, count, text, bytes);
}
