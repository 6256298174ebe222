/* Vocabularies that are trained, once, and kept: "KIND:train:SIZE" and "KIND:train:SIZE:NAMES". */
#ifndef LH_DATASETS_TRAINED_TOKENS_H
#define LH_DATASETS_TRAINED_TOKENS_H

#include "datasets/tokens/tokenizer.h"

/* Text to train on, filled in by whoever has it. */
typedef struct lh_text_source {
    const void *of;
    /* Shows visit(to, text, bytes) one text after the other, about `most` bytes in all; ends with
     * the first failure. */
    lh_status (*each)(const void *of, size_t most, lh_text_visit *visit, void *to);
    uint64_t digest; /* of all that the text comes from; the vocabulary is kept under it */
} lh_text_source;

/* What a name says. */
typedef struct lh_trained_tokens {
    const char *name; /* all of it; lent */
    const struct lh_trained_kind *kind;
    int64_t pieces;
    const char *corpora; /* NAMES, into `name`; NULL where there are none */
} lh_trained_tokens;

/* Whether a tokenizer's name asks for a vocabulary that is trained, as "bpe:train:SIZE" does. */
bool lh_tokens_are_trained(const char *tokens);

/* Of a name for which lh_tokens_are_trained. Fails: LH_EOPTION for a size that is none. */
lh_status lh_trained_tokens_parse(const char *tokens, lh_trained_tokens *out);

/* Opens the vocabulary that the cache folder has for this kind, size and source, or trains it. A
 * cached one is there whole or not at all, though several processes may want it at once. Gives;
 * destroy it. Fails: LH_EIO where there is no cache folder; whatever source->each fails with. */
lh_status lh_trained_tokens_open(const lh_trained_tokens *what, const lh_text_source *source,
                                 lh_tokenizer **out);

#endif
