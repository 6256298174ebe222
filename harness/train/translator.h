/* Translations by beam search with the model of a session. */
#ifndef LH_TRAIN_TRANSLATOR_H
#define LH_TRAIN_TRANSLATOR_H

#include "datasets/parallel.h"
#include "harness/train/beam.h"
#include "harness/train/session.h"

typedef struct lh_translator_spec {
    int64_t beam;
    double length_penalty;
    int64_t longer; /* a translation has so many tokens more than its source, at most */
    int32_t end;
} lh_translator_spec;

/* Translates the sources of `count` pairs side by side. results[i].tokens has room for the longest
 * source and `longer` tokens. The first token that a decoder reads is 0. */
lh_status lh_translate(lh_session *session, const lh_translator_spec *spec, const lh_pair *pairs,
                       int64_t count, lh_beam_result *results);

#endif
