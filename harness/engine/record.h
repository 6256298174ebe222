/* The tape as an op sees it, which puts itself there; for the engine's own files. What a model sees
 * of it is tape.h. */
#ifndef LH_ENGINE_RECORD_H
#define LH_ENGINE_RECORD_H

#include "harness/engine/gradient.h"

typedef struct lh_tape lh_tape; /* engine/tape.h */
typedef struct lh_swap lh_swap; /* engine/swap.h */
typedef struct lh_node lh_node;

/* Reads the outputs' gradients, writes the inputs'. Output 0's gradient is present for ops of one
 * output. */
typedef lh_status (*lh_backward)(lh_tape *tape, lh_node *node);

/* A parameter that a region reads without recording; its backward will contribute to it. */
typedef struct lh_hold {
    lh_gradient *gradient;
    struct lh_hold *next;
} lh_hold;

struct lh_node {
    lh_node *previous;
    const char *op;
    lh_backward backward;
    int input_count, output_count, saved_count;
    lh_gradient **input; /* NULL where no gradient is wanted */
    lh_gradient **output;
    lh_tensor **saved; /* retained until the node's backward; entries may be NULL */
    lh_hold *holds;    /* of a region */
    bool at_once;      /* as recorded */
    void *args;        /* the op's copy, in the arena */
};

enum { LH_RECORD_TENSORS = 16 };

/* What an op hands over. Arrays end at their count; NULL entries are allowed among inputs and
 * saved. */
typedef struct lh_record {
    const char *op;
    lh_backward backward;
    lh_tensor *const *input;
    int input_count;
    lh_tensor *const *output;
    int output_count;
    lh_tensor *const *saved;
    int saved_count;
    const void *args;
    size_t args_bytes;
    lh_hold *holds; /* a region's: what lh_tape_leave_region gave */
    bool at_once; /* one kernel writes the gradients of at most LH_RECORD_TENSORS inputs, so that no
                     two may lie in one place: where they would, each but the first gets a buffer
                     of its own, which the tape adds */
} lh_record;

/* Whether recording is on and any of the tensors (NULL allowed) needs a gradient. */
bool lh_tape_wants(const lh_tape *tape, lh_tensor *const *tensors, int count);

/* Appends a node when lh_tape_wants its inputs, and gives the outputs their slots; otherwise does
 * nothing. */
lh_status lh_tape_record(lh_tape *tape, const lh_record *record);

/* A new tensor that belongs to the current scope; NULL after a failure. */
lh_tensor *lh_tape_new(lh_tape *tape, lh_dtype dtype, int rank, const int64_t *shape);
/* The same with the shape of another. */
lh_tensor *lh_tape_new_like(lh_tape *tape, const lh_tensor *like);
/* Hands a reference over to the current scope; NULL passes. Releases it on failure. */
lh_tensor *lh_tape_own(lh_tape *tape, lh_tensor *tensor);

/* The key of the next random op, on the device: an i32 tensor that holds one lh_random_key. */
lh_tensor *lh_tape_random_key(lh_tape *tape);

/* What a random op decided (integers) under its number, so that a region that runs again can take
 * it over. Kept until the backward pass has ended, if there will be one. recall: NULL when nothing
 * was remembered; lends. */
lh_status lh_tape_remember(lh_tape *tape, uint32_t position, lh_tensor *decision);
lh_tensor *lh_tape_recall(const lh_tape *tape, uint32_t position);

/* How many of `count` equal parts of this process's batch rows other processes have before them. */
int64_t lh_tape_parts_before(const lh_tape *tape, int64_t count);

/* Adds to lh_tape_flops, unless a recomputation is running or the count is paused. */
void lh_tape_count_flops(lh_tape *tape, double flops);

/* ---- for the region tools ---- */

lh_node *lh_tape_last(const lh_tape *tape);
/* Runs and forgets the nodes recorded after `stop`. */
lh_status lh_tape_run_back(lh_tape *tape, const lh_node *stop);
bool lh_tape_set_recording(lh_tape *tape, bool recording); /* returns the former value */
/* Notes the parameter behind a slot, if it is one's, while a region runs that backward will run
 * again.
 */
lh_status lh_tape_hold(lh_tape *tape, lh_gradient *gradient);
/* Round the first run of a region, which is not recorded: notes the parameters that it reads. leave
 * gives them, in the arena; inside another region they stay with that one. */
typedef struct lh_region_mark {
    bool recording, holding;
} lh_region_mark;
lh_region_mark lh_tape_enter_region(lh_tape *tape);
lh_hold *lh_tape_leave_region(lh_tape *tape, lh_region_mark mark);
/* Where parameters that a region needs from here on begin, and the end of that region. */
int lh_tape_visits(const lh_tape *tape);
lh_status lh_tape_end_visits(lh_tape *tape, int mark);
lh_swap *lh_tape_swap(const lh_tape *tape);
uint32_t lh_tape_random_position(const lh_tape *tape);
void lh_tape_set_random_position(lh_tape *tape, uint32_t position);
/* A detached header with a gradient slot of its own when `differentiate`, in the current scope. */
lh_tensor *lh_tape_leaf(lh_tape *tape, lh_tensor *tensor, bool differentiate);

#endif
