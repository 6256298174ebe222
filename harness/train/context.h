/* How far back a model looks, measured on the validation split of a task that predicts tokens. */
#ifndef LH_TRAIN_CONTEXT_H
#define LH_TRAIN_CONTEXT_H

#include "harness/train/session.h"

typedef enum lh_context_part {
    /* Bits of a token that so many tokens of its document, to twice as many, stand before. */
    LH_CONTEXT_POSITION,
    /* Share of right answers where the token read was last read so long ago, to twice as long: what
     * followed it then, or was its value, can be told by who looks back as far. */
    LH_CONTEXT_RECALL,
    /* Bits of a passage's last token when the model reads so many tokens before it, and no more. */
    LH_CONTEXT_KEPT,
    /* Bits that a token costs more, on the mean, when one token is another that stands so far
     * before it, to twice as far. */
    LH_CONTEXT_CHANGED,
    LH_CONTEXT_PARTS
} lh_context_part;

/* "position", "recall", "kept", "changed". */
extern const char *const lh_context_names[LH_CONTEXT_PARTS];

enum { LH_CONTEXT_POINTS = 32 };

/* Sums over `count` tokens; index k is the distance 2^k. */
typedef struct lh_context {
    double sum[LH_CONTEXT_PARTS][LH_CONTEXT_POINTS];
    int64_t count[LH_CONTEXT_PARTS][LH_CONTEXT_POINTS];
    /* Of what is kept: the squares of the bits that a token saves, against one token kept. */
    double saved_squares[LH_CONTEXT_POINTS];
} lh_context;

/* The standard error, over the passages, of the mean that is saved when 2^k tokens are kept. */
double lh_context_error(const lh_context *found, int k);

/* Positions and recall over a pass; what is kept and what is changed over at most `passages` pieces
 * of documents of `length` (a power of two up to 2^31) tokens and the one that follows, as many as
 * fill whole batches, read from a fresh start in segments of the training's length. Where the split
 * has no such piece, or asks for something else than the next token, these two have no counts.
 * Training goes on undisturbed afterwards. Fails: LH_EOPTION for another length, passages of more
 * than 2^48 tokens or a task without tokens to predict; LH_EINTERRUPT after a signal. */
lh_status lh_session_context(lh_session *session, int64_t length, int64_t passages,
                             lh_context *out);

#endif
