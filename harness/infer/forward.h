/* A forward pass on given tokens or vectors, without a task: how another implementation is
 * compared. */
#ifndef LH_INFER_FORWARD_H
#define LH_INFER_FORWARD_H

#include "harness/engine/model.h"

/* All borrowed. */
typedef struct lh_forward_spec {
    const lh_model_class *model;
    const lh_options *options;
    lh_model_setup setup; /* vocabulary: rows of the embedding in the weight file; or input_features
                             and what else a model of vectors is told */
    const char *weights;  /* safetensors file; NULL: initial values drawn from `seed` */
    uint64_t seed;
    const char *device; /* "cpu" */
    int64_t rows, length;
    int64_t segment;       /* tokens or steps of one pass; 0: all at once */
    const int32_t *tokens; /* [rows][length], or */
    const real *vectors;   /* [rows][length][setup.input_features] */
    /* For a model with an encoder, which reads the same source in every segment: [rows]
     * [setup.source_length], the rest behind a row's count is padding. */
    const int32_t *source, *source_count;
    bool shows_heads; /* in one segment; else out->heads stays NULL */
} lh_forward_spec;

/* What a pass came to: values [rows][length][columns]. The length is that of the input or, for a
 * model that predicts a part of each segment, that of the parts; columns is the vocabulary, or the
 * width of the predictions. */
typedef struct lh_forward_result {
    int64_t rows, length, columns;
    real *values; /* free() */
    /* What recurrence encodings add to the heads of the first row, the mean over a head's width:
     * [attentions][encoded][length of the input]. free() */
    int64_t attentions, encoded;
    real *heads;
} lh_forward_result;

/* Runs consecutive segments with carried state from a fresh start, without dropout. A causal
 * model's last segment is filled up with token 0 (or zeros) to the full length, which no earlier
 * output sees. A model with a cache goes on within its window (lh_batch.position). Gives
 * out->values and out->heads. Fails: LH_EOPTION for a token outside the vocabulary, naming its
 * place, a model that reads no such input, or a decoder's target in several segments. */
lh_status lh_forward_run(const lh_forward_spec *spec, lh_forward_result *out);

#endif
