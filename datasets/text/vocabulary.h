/* Any tokenizer by its name, those among them that are trained on corpora. */
#ifndef LH_DATASETS_VOCABULARY_H
#define LH_DATASETS_VOCABULARY_H

#include "datasets/text/document_store.h"

/* Opens the tokenizer `tokens` (see lh_tokenizer_open), or one of:
 *
 *   KIND:train:SIZE          trained once on the train split of `corpus`, whose documents must have
 *                            been read, and cached; KIND is sentencepiece, bpe or words
 *   KIND:train:SIZE:A+B      trained on the corpora A and B, with or without a `corpus` (NULL)
 *
 * *digest (may be NULL) is what the vocabulary adds to the identity of a corpus: that of its files
 * or of the corpora that it names, 0 for bytes and for what `corpus` itself decides. Gives; destroy
 * it. */
lh_status lh_vocabulary_open(lh_corpus *corpus, const char *tokens, uint64_t *digest,
                             lh_tokenizer **out);

/* Whether it is trained on a corpus that its name does not say. */
bool lh_vocabulary_needs_corpus(const char *tokens);

/* Opens a corpus' tokenizer, or trains one on its training documents. */
lh_status lh_corpus_open_tokens(lh_corpus *corpus, const char *tokens);

#endif
