/* Translations by beam search with a model in training. */
#ifndef LH_INFER_TRANSLATOR_H
#define LH_INFER_TRANSLATOR_H

#include "harness/infer/beam.h"
#include "harness/train/task.h"

typedef struct lh_translator_spec {
    int64_t beam;
    double length_penalty;
    int64_t longer; /* a translation has so many tokens more than its source, at most */
    int32_t end;
} lh_translator_spec;

/* What is to be translated, borrowed. */
typedef struct lh_source_text {
    const int32_t *tokens;
    int64_t count;
} lh_source_text;

/* Translates `count` sources side by side. results[i].tokens has room for the longest source and
 * `longer` tokens. The first token that a decoder reads is 0. */
lh_status lh_translate(const lh_scored *scored, const lh_translator_spec *spec,
                       const lh_source_text *sources, int64_t count, lh_beam_result *results);

#endif
