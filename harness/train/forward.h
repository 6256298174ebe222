/* A forward pass on given tokens, without a task: how another implementation is compared. */
#ifndef LH_TRAIN_FORWARD_H
#define LH_TRAIN_FORWARD_H

#include "harness/engine/model.h"

/* All borrowed. */
typedef struct lh_forward_spec {
    const lh_model_class *model;
    const lh_options *options;
    lh_model_setup setup; /* vocabulary: rows of the embedding in the weight file */
    const char *weights;  /* safetensors file; NULL: initial values drawn from `seed` */
    uint64_t seed;
    const char *device; /* "cpu" */
    int64_t rows, length;
    int64_t segment;       /* tokens of one pass; 0: all at once */
    const int32_t *tokens; /* [rows][length] */
    /* For a model with an encoder, which reads the same source in every segment: [rows]
     * [setup.source_length], the rest behind a row's count is padding. */
    const int32_t *source, *source_count;
} lh_forward_spec;

/* Runs consecutive segments with carried state from a fresh start, without dropout. A causal
 * model's last segment is filled up with token 0 to the full length, which no earlier output sees.
 * Gives *logits [rows][length][*columns] (free()); columns is the vocabulary, or the width of the
 * predictions. Fails: LH_EOPTION for a token outside the vocabulary, naming its place, and for a
 * source where the model wants none, or none where it wants one. */
lh_status lh_forward_logits(const lh_forward_spec *spec, real **logits, int64_t *columns);

#endif
