/* Corpora: documents of tokens in three splits, and the tokenizers that make them.
 * Nothing here knows a model or a batch; harness/train reads documents through this header. */
#ifndef LH_DATASETS_DATASET_H
#define LH_DATASETS_DATASET_H

#include "harness/engine/options.h"

typedef enum lh_split { LH_TRAIN = 0, LH_VALID, LH_TEST, LH_SPLITS } lh_split;

/* ---- tokenizers ---- */

typedef struct lh_tokenizer lh_tokenizer;

/* "bytes": id = byte + 3 (0 pad, 1 end, 2 unknown), vocabulary 260 as in the paper's code (seqio's
 * ByteVocabulary with its table rounded to 260). "sentencepiece:FILE.model": the library's ids.
 * "sentencepiece:NAME": NAME.model in the data folders. "sentencepiece:train:SIZE": a unigram model
 * of SIZE pieces trained once on the corpus' train split and cached; "bpe:NAME": byte-level BPE
 * from NAME or NAME-bpe of the data folders, "bpe:train:SIZE" one that is trained. Either may name
 * what it is trained on, and must where there is no corpus: "bpe:train:512:generate:books+latex".
 * "subwords:NAME" and "subwords:FILE.subwords": Tensor2Tensor's subwords, NAME.subwords of the data
 * folders. "words:train:SIZE": the most frequent words of the train split, <eos> and <unk> among
 * them; "words:FILE": words a line. Gives; destroy it. */
lh_status lh_tokenizer_open(const char *name, lh_tokenizer **out);
void lh_tokenizer_destroy(lh_tokenizer *tokenizer);
int64_t lh_tokenizer_vocabulary(const lh_tokenizer *tokenizer); /* rows of the embedding table */
const char *lh_tokenizer_name(const lh_tokenizer *tokenizer);
/* Of the content of the vocabulary's files; 0 where there are none. */
uint64_t lh_tokenizer_digest(const lh_tokenizer *tokenizer);
/* The id that ends a text where id 0 is padding, in no encoded text; 0 when there are none. */
int32_t lh_tokenizer_end(const lh_tokenizer *tokenizer);
/* The id of the token that a BPE vocabulary writes like this, such as "<s>"; -1 when there is none.
 */
int32_t lh_tokenizer_find(const lh_tokenizer *tokenizer, const char *token);
/* Gives *tokens (free()). Fails: LH_EFORMAT with byte offset where text must be UTF-8 and is not.
 */
lh_status lh_tokenizer_encode(const lh_tokenizer *tokenizer, const char *text, size_t bytes,
                              int32_t **tokens, int64_t *count);
/* Gives *text (free()), NUL-terminated. Exact inverse for "bytes". */
lh_status lh_tokenizer_decode(const lh_tokenizer *tokenizer, const int32_t *tokens, int64_t count,
                              char **text, size_t *bytes);

/* ---- corpora ---- */

/* One document. Tokens are encoded on first use and then stay. `bytes` and `words` are those of the
 * raw text and make bits per byte and word perplexity: words are runs of non-blank characters. */
typedef struct lh_document {
    const char *name; /* file name, or "books/17" from a generator */
    const int32_t *tokens;
    int64_t count, bytes, words;
} lh_document;

typedef struct lh_corpus lh_corpus;

/* What lh_corpus_open opens; bound to the options of the same names. */
typedef struct lh_corpus_config {
    /* "books", "latex", "code", "enwik8", "text8", "wikitext-103", "wikitext-103-raw", "pg19",
     * "generate:books", "generate:latex", "generate:code", or a folder or file with a slash. */
    const char *name;
    const char *tokens;                           /* tokenizer */
    int64_t documents, document_bytes, data_seed; /* of the generators */
    int64_t split_bytes;                          /* 0: documents stay whole */
    int64_t limit_bytes, limit_documents;         /* of the train split; 0: all */
    int64_t limit_eval_bytes, valid_tokens;       /* of the others; 0: all */
    const char *field;                            /* of JSON lines; "": "text" */
} lh_corpus_config;

extern const lh_option lh_corpus_config_options[];

/* Looks for the data in $LONGHAUL_DATA, then in the cache folder ($XDG_CACHE_HOME/longhaul or
 * ~/.cache/longhaul). A name that is not found there but has a generator twin ("books", "latex",
 * "code") uses the generator, and lh_corpus_source says so. Gives; destroy it. Fails: LH_EIO naming
 * where it looked and the `longhaul data fetch` line that would get it, or LONGHAUL_DATA where it
 * names no folder. */
lh_status lh_corpus_open(const lh_corpus_config *config, lh_corpus **out);
void lh_corpus_destroy(lh_corpus *corpus);
const lh_tokenizer *lh_corpus_tokenizer(const lh_corpus *corpus);
/* "books (33 documents in books/)" or "embedded generator (books)": goes into the CSV column
 * `data`.
 */
const char *lh_corpus_source(const lh_corpus *corpus);
/* 64-bit digest for the run's identity: of each document used its split, name and the content of
 * the file or text that it is of, and of the vocabulary. Where the data lie is no part of it. */
uint64_t lh_corpus_digest(const lh_corpus *corpus);
int64_t lh_corpus_documents(const lh_corpus *corpus, lh_split split);
/* Lends until the corpus is destroyed. */
lh_status lh_corpus_document(lh_corpus *corpus, lh_split split, int64_t index, lh_document *out);

/* ---- embedded generator ---- */

typedef enum lh_text_kind { LH_TEXT_BOOKS, LH_TEXT_LATEX, LH_TEXT_CODE } lh_text_kind;

/* Writes document `index` of `seed`: about `target_bytes` of ASCII whose later parts depend on much
 * earlier ones. Deterministic. Gives *text (free()). */
lh_status lh_generate_document(lh_text_kind kind, uint64_t seed, uint64_t index,
                               size_t target_bytes, char **text, size_t *bytes);

#endif
