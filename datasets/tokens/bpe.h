/* What reading and training a byte-level BPE vocabulary share (Radford et al. 2019, section 2.2):
 * how text is cut into the pieces within which tokens merge, how bytes are written in its two
 * files, and which token has which bytes. */
#ifndef LH_DATASETS_BPE_H
#define LH_DATASETS_BPE_H

#include "harness/engine/error.h"
#include "harness/engine/hash.h"

enum { LH_BPE_BYTES = 256 };

/* ---- pieces ---- */

typedef struct lh_bpe_pattern lh_bpe_pattern; /* belongs to one thread */

/* Gives; close it. */
lh_status lh_bpe_pattern_open(lh_bpe_pattern **out);
void lh_bpe_pattern_close(lh_bpe_pattern *pattern);

/* Calls visit(to, piece, bytes) for each piece, in order; together they are the text. Bytes that
 * are no UTF-8 are pieces of their own. Ends with the first failure. */
typedef lh_status lh_bpe_visit(void *to, const char *piece, size_t bytes);
lh_status lh_bpe_each_piece(const lh_bpe_pattern *pattern, const char *text, size_t bytes,
                            lh_bpe_visit *visit, void *to);

/* ---- bytes as printable characters ---- */

/* The character of each byte: itself where it prints, else the next one from U+0100 on. */
void lh_bpe_characters(uint32_t character[LH_BPE_BYTES]);

/* ---- tokens ---- */

typedef struct lh_bpe_token {
    unsigned char *bytes;
    int32_t length;
} lh_bpe_token;

/* The same, of somebody else's. */
typedef struct lh_bpe_span {
    const unsigned char *bytes;
    int32_t length;
} lh_bpe_span;

/* The id of the token of these bytes, or LH_HASH_NONE; `ids` has each under lh_hash_text of its
 * bytes. */
int32_t lh_bpe_find(const lh_hash *ids, const lh_bpe_token *tokens, lh_bpe_span wanted);

/* ---- training ---- */

/* Sennrich et al. 2016, algorithm 1, over bytes: starting from the 256 bytes, the most frequent
 * pair of neighbours (of equal ones that of the lowest ids) becomes a token, until there are `size`
 * or no pair is left that occurs twice. */
typedef struct lh_bpe_trainer lh_bpe_trainer;

/* Gives; destroy it. */
lh_status lh_bpe_trainer_create(lh_bpe_trainer **out);
void lh_bpe_trainer_destroy(lh_bpe_trainer *trainer);
lh_status lh_bpe_trainer_add(lh_bpe_trainer *trainer, const char *text, size_t bytes);
/* Merges what was added, and writes vocab.json and merges.txt into a folder that exists; once. */
lh_status lh_bpe_trainer_write(lh_bpe_trainer *trainer, int64_t size, const char *folder);

#endif
