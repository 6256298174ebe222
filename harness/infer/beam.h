/* Beam search with a length penalty (Wu et al. 2016, section 7; the settings of Vaswani et al.
 * 2017, section 6.1), for several sequences at once and for whatever gives logits. */
#ifndef LH_INFER_BEAM_H
#define LH_INFER_BEAM_H

#include "harness/engine/error.h"

typedef struct lh_beam_spec {
    int64_t sequences, beam; /* rows of a step: sequences * beam, those of a sequence together */
    int64_t vocabulary;
    int32_t end;           /* the token that finishes a sequence */
    double length_penalty; /* alpha: scores are divided by ((5 + length) / 6)^alpha */
    int64_t longest;       /* tokens of a sequence at most, its end included */
    /* [sequences]: of each by itself, 1 to `longest`; NULL: that of all. */
    const int64_t *limits;
} lh_beam_spec;

/* Logits [rows][vocabulary] of the token behind prefix [rows][length]. Row r went on from row
 * parent[r] of the step before. */
typedef lh_status (*lh_beam_step)(void *context, const int32_t *prefix, int64_t length,
                                  const int64_t *parent, real *logits);

/* What was found for one sequence. */
typedef struct lh_beam_result {
    int32_t *tokens; /* [longest] of the caller's; without the end */
    int64_t count;
    double score; /* log-probability of the tokens and the end, divided by the penalty */
    bool ended;   /* false: no sequence of the beam came to its end within its limit */
} lh_beam_result;

/* Fills results [sequences]. A search ends when no sequence that is open can overtake the worst of
 * `beam` finished ones. Equal scores prefer the better parent, then the lower token. Fails:
 * LH_EOPTION for sizes that cannot work; what a step fails with. */
lh_status lh_beam_search(const lh_beam_spec *spec, lh_beam_step step, void *context,
                         lh_beam_result *results);

#endif
