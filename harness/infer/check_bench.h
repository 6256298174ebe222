/* What a check of a model works with, for the files of this folder alone: the model with values
 * that are not quite its initial ones, small random inputs, and passes over them. */
#ifndef LH_INFER_CHECK_BENCH_H
#define LH_INFER_CHECK_BENCH_H

#include "harness/engine/state.h"
#include "harness/infer/check_report.h"
#include "harness/train/task.h"

enum { LH_CHECK_SEGMENTS = 2 };

/* Inputs and targets of consecutive segments, [segments] of what a host batch has; those that the
 * setup has no use for are NULL. The source is the same in all segments. */
typedef struct lh_check_inputs {
    int32_t *tokens, *target, *source, *source_count, *past, *past_count;
    int32_t *starts; /* [segments][rows]: the last segment begins documents, but in row 0 */
    real *vectors, *target_vectors;
} lh_check_inputs;

typedef struct lh_check_bench {
    const lh_check_spec *spec;
    lh_model_setup setup;
    int64_t rows, length;
    int64_t target_length; /* of target_vectors */
    lh_device *device;
    lh_pool *pool;
    lh_tape *tape;
    lh_model *model;
    lh_state *state;
    lh_batch batch;
    lh_check_inputs inputs;
    int64_t given, columns; /* outputs of a segment: [rows][given][columns] */
    int done, all;          /* what is checked */
} lh_check_bench;

/* On the processor, from a fresh start. The values are initial ones of the spec's seed and some
 * noise: what begins at zero, as gates do, would hide what it lets through later. Fails as the
 * model does; close it in any case. */
lh_status lh_check_open(const lh_check_spec *spec, int64_t rows, lh_check_bench *bench);
void lh_check_close(lh_check_bench *bench);

/* What is checked next. */
void lh_check_tell(lh_check_bench *bench, const char *what);

/* Whether the model takes segments of `length`; what it says of others is forgotten. */
bool lh_check_takes(const lh_model *model, int64_t length);

/* A copy of the bench's inputs. Gives; clear it in any case. */
lh_status lh_check_inputs_copy(const lh_check_bench *bench, lh_check_inputs *out);
void lh_check_inputs_clear(lh_check_inputs *inputs);

/* Other tokens or vectors in row `row` (-1: in all) from position `from` on, counted through all
 * segments. What a window does not know yet stays zero. */
void lh_check_inputs_change(const lh_check_bench *bench, lh_check_inputs *inputs, int64_t row,
                            int64_t from);

/* Segment `segment` on the device, as a batch of the model. */
lh_status lh_check_upload(lh_check_bench *bench, const lh_check_inputs *inputs, int64_t segment,
                          lh_host_batch *host);

/* Numbers that a segment gives. */
int64_t lh_check_count(const lh_check_bench *bench);

/* A pass over one segment as in evaluation, with what is carried, which it replaces. `values`:
 * [lh_check_count], or NULL. */
lh_status lh_check_pass(lh_check_bench *bench, const lh_check_inputs *inputs, int64_t segment,
                        real *values);

/* All segments. Gives values [segments][lh_check_count] (free()). */
lh_status lh_check_run(lh_check_bench *bench, const lh_check_inputs *inputs, real **values);

/* All positions of each row as one document, in segments of `length`, a divisor of their number; a
 * model with an output for each. Gives values [rows][positions][columns] (free()). */
lh_status lh_check_run_divided(lh_check_bench *bench, int64_t length, real **values);

#endif
