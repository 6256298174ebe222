/* How attention's backward pass is cut into tasks, and where each task leaves its sums.
 *
 * A task is one range of queries of one batch row and head; it walks its tiles in order. With
 * enough batch rows and heads there is one range, and the key gradients are summed in place. Few
 * of them leave cores idle, so then the queries are cut into several ranges, each summing into
 * buffers of its own for the keys it sees, which are joined in the order of the ranges; so are the
 * gradients of keys in bf16, to be rounded once. The cut
 * is a function of the shape alone. */
#ifndef LH_KERNELS_CPU_ATTENTION_PLAN_H
#define LH_KERNELS_CPU_ATTENTION_PLAN_H

#include "kernels/cpu/attention_inside.h"

/* All offsets are bytes from the start of the workspace. */
typedef struct lh_attention_plan {
    const lh_attention_backward_args *args;
    lh_attention_table table;
    int64_t ranges, range_rows, tasks;
    bool apart;            /* gradients of keys are summed in buffers, then joined */
    bool by_distance;      /* gradients of scores are summed by distance */
    int64_t position_size; /* elements of one sum of position gradients; 0: not wanted */
    int64_t groups;        /* of consecutive tasks that are worked on one after the other */
    int64_t partial_keys[LH_KEY_SOURCES];  /* most keys that a range sees */
    int64_t partial_start[LH_KEY_SOURCES]; /* in elements; keys before values */
    int64_t partial_size;                  /* elements per task; 0 with one range */
    size_t partial, distance, position, scale, bucket, slot;
    size_t slot_bytes, bytes;
    uint8_t *memory;
} lh_attention_plan;

/* Cuts the work, for slots of `slot_bytes` each. The tables are not made. */
void lh_cpu_attention_plan_make(const lh_attention_backward_args *args, size_t slot_bytes,
                                lh_attention_plan *plan);

/* The tile of the queries of `task`, as one whole. */
lh_attention_tile lh_cpu_attention_plan_task(const lh_attention_plan *plan, int64_t task);

/* Where `task` adds the gradient of the keys (or values) of `source` from key `begin` on; data
 * NULL when nobody wants it. */
lh_rows lh_cpu_attention_plan_target(const lh_attention_plan *plan, int64_t task, int source,
                                     bool values, int64_t begin);

/* Sums of a task: [span] gradients of scores by distance, and the gradient of the head scale. */
double *lh_cpu_attention_plan_distance(const lh_attention_plan *plan, int64_t task);
double *lh_cpu_attention_plan_scale(const lh_attention_plan *plan, int64_t task);

/* Tasks of a group, [begin, end). */
lh_range lh_cpu_attention_plan_group(const lh_attention_plan *plan, int64_t group);

/* Sums [span][head_width] that the tasks of a group share, for each position table: gradients of
 * the position vectors by distance; NULL when nobody wants them. */
real *lh_cpu_attention_plan_positions(const lh_attention_plan *plan, int64_t task);

/* Before the first task of a group: zeros where its tasks will add together. */
void lh_cpu_attention_plan_clear_group(const lh_attention_plan *plan, int64_t group);

/* Before the first tile of a task: zeros wherever it will add. */
void lh_cpu_attention_plan_clear(const lh_attention_plan *plan, int64_t task);

/* After all tasks: joins their sums into the outputs. */
void lh_cpu_attention_plan_join(const lh_attention_plan *plan);

#endif
