/* Tokens that documents were encoded to before, kept in the folder `tokens` of the cache folder, so
 * that a run does not tokenise what another one has. A file holds those of one corpus in one
 * vocabulary; its name is their digest, so that it never ages, and it is mapped, not read. Nothing
 * here can fail for the caller: what is not there, cannot be written, is damaged or is another's is
 * encoded again. */
#ifndef LH_DATASETS_TOKEN_CACHE_H
#define LH_DATASETS_TOKEN_CACHE_H

#include "harness/engine/error.h"

/* A document as it was read; `bytes` and `words` are those of the raw text. */
typedef struct lh_encoded {
    const int32_t *tokens; /* NULL: not encoded */
    int64_t count, bytes, words;
    int64_t unspelled; /* lh_tokenizer_unspelled */
} lh_encoded;

typedef struct lh_token_cache lh_token_cache;

/* What is kept under `key`, a digest of all that the tokens follow from, of a corpus of so many
 * documents. NULL: nothing. Close it. */
lh_token_cache *lh_token_cache_open(uint64_t key, int64_t documents);

/* Document `index`, or what has no tokens. Lends until the cache is closed. */
lh_encoded lh_token_cache_find(const lh_token_cache *cache, int64_t index);

void lh_token_cache_close(lh_token_cache *cache); /* NULL is allowed */

/* Keeps the documents of a corpus that have tokens, beside those that are kept by now. The file is
 * replaced as a whole: of two processes at the same moment one may win, and the other's documents
 * are encoded once more. */
void lh_token_cache_keep(uint64_t key, const lh_encoded *document, int64_t documents);

#endif
