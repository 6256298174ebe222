/* Tokenizers: text to ids and back. */
#ifndef LH_DATASETS_TOKENIZER_H
#define LH_DATASETS_TOKENIZER_H

#include <stdbool.h>

#include "harness/engine/error.h"

/* Whoever changes the tokens of a text raises it; tests/datasets/test_token_cache.c has a digest of
 * each kind's output and fails until then. */
enum { LH_TOKENS_VERSION = 1 };

/* Every kind that there is, for messages and helps; docs/lua.md says what each of them is. */
#define LH_TOKENIZERS                                                                              \
    "bytes, bpe:NAME, bpe:FOLDER, bpe:train:SIZE, sentencepiece:NAME, sentencepiece:FILE.model, "  \
    "sentencepiece:train:SIZE, subwords:NAME, words:FILE, words:train:SIZE"

typedef struct lh_tokenizer lh_tokenizer;

/* What is shown one text after the other. */
typedef lh_status lh_text_visit(void *to, const char *text, size_t bytes);

/* "bytes": id = byte + 3 (0 pad, 1 end, 2 unknown), vocabulary 260 as in the paper's code (seqio's
 * ByteVocabulary with its table rounded to 260). "sentencepiece:FILE.model": the library's ids.
 * "sentencepiece:NAME": NAME.model in the data folders. "bpe:NAME": byte-level BPE from NAME or
 * NAME-bpe of the data folders, "bpe:FOLDER" with a slash. "subwords:NAME" and
 * "subwords:FILE.subwords": Tensor2Tensor's subwords, NAME.subwords of the data folders.
 * "words:FILE": words a line. Vocabularies that are yet to be trained are no business of this
 * function (lh_tokens_are_trained). Gives; destroy it. */
lh_status lh_tokenizer_open(const char *name, lh_tokenizer **out);
void lh_tokenizer_destroy(lh_tokenizer *tokenizer);
int64_t lh_tokenizer_vocabulary(const lh_tokenizer *tokenizer); /* rows of the embedding table */
/* Of the content of the vocabulary's files; 0 where there are none. */
uint64_t lh_tokenizer_digest(const lh_tokenizer *tokenizer);
/* Of all that tokens follow from besides the text: the kind, its files, and LH_TOKENS_VERSION; 0
 * where encoding costs next to nothing. Tokens that are kept are found by it. */
uint64_t lh_tokenizer_key(const lh_tokenizer *tokenizer);
/* The id that ends a text where id 0 is padding, in no encoded text; 0 when there are none. */
int32_t lh_tokenizer_end(const lh_tokenizer *tokenizer);
/* The id of the token that a BPE vocabulary writes like this, such as "<s>"; -1 when there is none.
 */
int32_t lh_tokenizer_find(const lh_tokenizer *tokenizer, const char *token);
/* Whether text has to be UTF-8: a text that was cut is then cut between characters. */
bool lh_tokenizer_reads_characters(const lh_tokenizer *tokenizer);
/* Gives *tokens (free()). Fails: LH_EFORMAT with byte offset where text must be UTF-8 and is not.
 */
lh_status lh_tokenizer_encode(const lh_tokenizer *tokenizer, const char *text, size_t bytes,
                              int32_t **tokens, int64_t *count);
/* The bytes of a text that its tokens do not spell, times how many there must be for each of them:
 * tokens of a split spell it where that is no more than its bytes. Of characters that
 * SentencePiece's pieces lack one byte in 20 may be; no word that a vocabulary of words lacks,
 * whose token stands for any other one, too: that is more bytes than there are. The tokens are
 * those of the text. Where memory is short the error record says so (lh_error_since). */
int64_t lh_tokenizer_unspelled(const lh_tokenizer *tokenizer, const char *text, size_t bytes,
                               const int32_t *tokens, int64_t count);
/* Gives *text (free()), NUL-terminated. Exact inverse for "bytes". Ids that stand for no text, as
 * padding does, are left out. Fails: LH_EOPTION for an id outside the vocabulary. */
lh_status lh_tokenizer_decode(const lh_tokenizer *tokenizer, const int32_t *tokens, int64_t count,
                              char **text, size_t *bytes);

#endif
