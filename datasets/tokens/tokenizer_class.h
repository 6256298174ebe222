/* One kind of tokenizer = one file that fills this descriptor; for the datasets' own files. */
#ifndef LH_DATASETS_TOKENIZER_CLASS_H
#define LH_DATASETS_TOKENIZER_CLASS_H

#include "harness/engine/error.h"

/* More bytes than any split has (lh_tokenizer_unspelled). */
#define LH_UNSPELLED ((int64_t)1 << 50)

typedef struct lh_tokenizer_class {
    const char *prefix; /* "bytes", "sentencepiece:" */
    bool characters;    /* text has to be UTF-8 */
    /* `argument` is what follows the prefix. Gives *instance (may be NULL for a stateless kind) and
     * mixes the content of the files that it reads into *digest (datasets/digest.h). */
    lh_status (*open)(const char *argument, uint64_t *digest, void **instance);
    void (*close)(void *instance);
    int32_t (*end)(const void *instance); /* as lh_tokenizer_end; NULL: there is none */
    int64_t (*vocabulary)(const void *instance);
    int32_t (*find)(const void *instance, const char *token); /* optional; lh_tokenizer_find */
    lh_status (*encode)(const void *instance, const char *text, size_t bytes, int32_t **tokens,
                        int64_t *count);
    /* All ids are of the vocabulary. */
    lh_status (*decode)(const void *instance, const int32_t *tokens, int64_t count, char **text,
                        size_t *bytes);
    /* Optional: as lh_tokenizer_unspelled; NULL: 0. */
    int64_t (*unspelled)(const void *instance, const char *text, size_t bytes,
                         const int32_t *tokens, int64_t count);
} lh_tokenizer_class;

extern const lh_tokenizer_class lh_tokens_bytes;
extern const lh_tokenizer_class lh_tokens_words;
#ifdef LH_HAVE_PCRE2
extern const lh_tokenizer_class lh_tokens_bpe, lh_tokens_subwords;
#endif
#ifdef LH_HAVE_SENTENCEPIECE
extern const lh_tokenizer_class lh_tokens_sentencepiece;
#endif

#endif
