/* Gradient slots, for the engine's own files: where the contributions to d(loss)/d(tensor) gather.
 *
 * A root slot owns a flat buffer in its tensor's order and dtype; a slice's slot points into its
 * root's. The first whole contribution sets and later ones add; a first contribution through a
 * slice clears the root's buffer. */
#ifndef LH_ENGINE_GRADIENT_H
#define LH_ENGINE_GRADIENT_H

#include "harness/engine/tensor.h"

struct lh_gradient {
    int references;
    bool present;    /* holds a contribution */
    bool persistent; /* a parameter's: the buffer outlives the step */
    int uses;        /* root: places on the tape that may still contribute */
    lh_dtype dtype;  /* LH_REAL or LH_BF16 */
    int64_t count;
    lh_pool *pool;
    lh_tensor *value;  /* root: flat buffer, NULL until needed unless persistent */
    lh_gradient *root; /* slice: where the buffer is */
    int64_t offset;    /* slice: elements into the root's buffer */
    bool strided;      /* slice: its elements do not lie side by side */
};

/* Gives. NULL after LH_EMEMORY. */
lh_gradient *lh_gradient_create(lh_pool *pool, lh_dtype dtype, int64_t count);
lh_gradient *lh_gradient_create_slice(lh_gradient *of, int64_t offset, int64_t count, bool strided);
/* One that lies like another, in a buffer of its own. */
lh_gradient *lh_gradient_create_apart(const lh_gradient *like);
lh_gradient *lh_gradient_retain(lh_gradient *gradient);
void lh_gradient_release(lh_gradient *gradient);

/* Whether anything has flowed. */
bool lh_gradient_is_present(const lh_gradient *gradient);

/* The buffer, without memory when nothing has flowed. A slice's elements lie at its tensor's
 * strides. real: of a slot that is real; else NULL. */
lh_act lh_gradient_read(const lh_gradient *gradient);
real *lh_gradient_read_real(const lh_gradient *gradient);

/* Where a backward function writes, and how; both stay as they are for NULL, which wants no
 * gradient. real: to a slot that is real; else LH_ETYPE. */
lh_status lh_gradient_write(lh_gradient *gradient, lh_act *to, lh_write *write);
lh_status lh_gradient_write_real(lh_gradient *gradient, real **to, lh_write *write);

/* Contributes a whole contiguous tensor of either dtype; shares its storage instead of copying
 * where it can. */
lh_status lh_gradient_give(lh_gradient *gradient, lh_tensor *value);

/* The slot that owns the buffer: its own when it is no slice's. NULL passes. */
lh_gradient *lh_gradient_root(lh_gradient *gradient);

/* Zeros where nothing has flowed into a root. */
lh_status lh_gradient_settle(lh_gradient *root);

/* Before the inputs of one op are written (NULL passes): those that share a buffer, as the keys and
 * values of one tensor do, all add to zeros. Were the first to set, a kernel that writes each for
 * itself would leave the last one alone there. */
lh_status lh_gradient_settle_shared(lh_gradient *const *input, int count);

/* Whether two slots may have elements in common (NULL has none). Strided slices that begin apart,
 * as queries and keys of one projection do, are taken to lie apart. */
bool lh_gradient_overlaps(const lh_gradient *a, const lh_gradient *b);

/* Whether the buffer of a root is nobody else's, so that it may be overwritten. */
bool lh_gradient_is_exclusive(const lh_gradient *gradient);

/* Forgets the contributions and, unless persistent, returns the buffer. */
void lh_gradient_clear(lh_gradient *gradient);

#endif
