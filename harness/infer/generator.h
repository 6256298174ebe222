/* Text from a model, token by token: one row, with whatever the model carries from call to call. A
 * model with a cache (LH_ABLE_CACHE) reads windows of its own, and begins a new one when a window
 * is full, with the overlap that it says (lh_window); a model with carried state that takes single
 * tokens goes on for ever. Any other causal model reads what there is of a segment anew for each
 * token: a full one is followed by one that begins with its carried state or, where it carries
 * nothing, with the second half of its tokens. */
#ifndef LH_INFER_GENERATOR_H
#define LH_INFER_GENERATOR_H

#include "harness/engine/model.h"

typedef struct lh_generator lh_generator;

/* All borrowed. */
typedef struct lh_generator_spec {
    const lh_model_class *model;
    const lh_options *options;
    lh_model_setup setup;
    const char *weights; /* safetensors file; NULL: initial values drawn from `seed` */
    uint64_t seed;       /* of the samples too */
    const char *device;
    int64_t segment; /* tokens of a segment that is read anew; 0: what the model takes, near 256 */
} lh_generator_spec;

/* How the next token is chosen. */
typedef struct lh_sampling {
    double temperature; /* 0: always the likeliest */
    int64_t top_k;      /* only among so many likeliest; 0: all */
    double top_p;       /* only among the fewest that have this much probability; 1: all */
} lh_sampling;

/* What encodes a source gets the segment before as its source. Gives; destroy it. Fails: LH_EOPTION
 * for a model that is not causal. */
lh_status lh_generator_create(const lh_generator_spec *spec, lh_generator **out);
void lh_generator_destroy(lh_generator *generator);

/* The model reads these tokens. Fails: LH_EOPTION for one outside the vocabulary. */
lh_status lh_generator_feed(lh_generator *generator, const int32_t *tokens, int64_t count);

/* Draws the token after all that was read, and reads it. Fails: LH_ESTATE when nothing was read;
 * LH_EINTERNAL when a logit is no number or +infinity. */
lh_status lh_generator_next(lh_generator *generator, const lh_sampling *sampling, int32_t *token);

/* Tokens of the segment that is read anew for each token; 0: none is. */
int64_t lh_generator_segment(const lh_generator *generator);

/* Logits [vocabulary] of the next token, NULL before the first feed; for tests, which compare what
 * tokens alone do not tell. Lends. */
const real *lh_generator_logits(const lh_generator *generator);

/* A token drawn from logits [count] with a number in [0, 1); for tests. `order` has room for count.
 */
int32_t lh_sample(const real *logits, int64_t count, const lh_sampling *sampling, double uniform,
                  int32_t *order, double *weight);

#endif
