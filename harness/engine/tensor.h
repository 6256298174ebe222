/* Tensors: dense, row-major, at most five dimensions, reference-counted storage, cheap views.
 *
 * A tensor is a header over storage. Views (lh_slice, lh_reshape) share storage; a slice may have
 * gaps between its rows, everything else is contiguous. A tensor that takes part in differentiation
 * has a gradient slot; a constant has none.
 *
 * Ownership: create functions give one reference. Tensors returned by ops (ops.h) belong to the
 * tape's current scope, and live until that scope is closed (tape.h) unless retained.
 *
 * Failure: an op returns NULL after leaving its message with lh_fail, and every op that is given a
 * NULL tensor returns NULL at once, so a model's forward pass checks only its last result. */
#ifndef LH_ENGINE_TENSOR_H
#define LH_ENGINE_TENSOR_H

#include "harness/engine/pool.h"

typedef struct lh_storage lh_storage;
typedef struct lh_gradient lh_gradient;

/* Fields are for reading. Strides and offset are in elements. */
typedef struct lh_tensor {
    lh_dtype dtype;
    int rank;
    int64_t shape[LH_MAX_RANK];
    int64_t stride[LH_MAX_RANK];
    int64_t offset;
    lh_storage *storage;
    lh_gradient *gradient; /* NULL: a constant */
    lh_pool *pool;
    int references;
} lh_tensor;

/* More than any memory holds, and few enough that sums and bytes of many tensors stay integers. */
#define LH_TENSOR_ELEMENTS ((int64_t)1 << 48)

/* The product of the sizes; false where one is negative or there are more than `most` elements. */
bool lh_shape_count(int rank, const int64_t *shape, int64_t most, int64_t *count);

/* Contents undefined. Gives *out. Fails: LH_EMEMORY, LH_ESHAPE for a negative size or rank, or more
 * than LH_TENSOR_ELEMENTS. */
lh_status lh_tensor_create(lh_pool *pool, lh_dtype dtype, int rank, const int64_t *shape,
                           lh_tensor **out);

/* Zero-filled. */
lh_status lh_tensor_create_zero(lh_pool *pool, lh_dtype dtype, int rank, const int64_t *shape,
                                lh_tensor **out);

/* One reference more, one less: the last one frees it and its gradient slot (gradient.c). */
lh_tensor *lh_tensor_retain(lh_tensor *tensor);
void lh_tensor_release(lh_tensor *tensor); /* NULL is allowed */

/* Number of elements; whether they lie densely in row-major order; same rank and sizes. */
int64_t lh_tensor_count(const lh_tensor *tensor);
bool lh_tensor_is_contiguous(const lh_tensor *tensor);
bool lh_tensor_same_shape(const lh_tensor *a, const lh_tensor *b);

/* Address of the first element, on the tensor's device. real: NULL when the elements are bf16;
 * activation: for kernels that take either. */
real *lh_tensor_real(const lh_tensor *tensor);
lh_act lh_tensor_activation(const lh_tensor *tensor);
int32_t *lh_tensor_integer(const lh_tensor *tensor);

/* The same from element `first` on. */
lh_act lh_act_from(lh_act act, int64_t first);

/* What lh_tensor_read fills. */
size_t lh_tensor_host_bytes(const lh_tensor *tensor);

/* Contiguous host copies of the whole tensor; `count` must match. bf16 is read as reals and not
 * written. Synchronises. */
lh_status lh_tensor_read(const lh_tensor *tensor, void *host, int64_t count);
lh_status lh_tensor_write(lh_tensor *tensor, const void *host, int64_t count);

/* Copies contents between contiguous tensors of equal count on one device, rounding or widening
 * between real and bf16. */
lh_status lh_tensor_copy(lh_tensor *to, const lh_tensor *from);

/* Sets all elements of a contiguous tensor to 0. One that is not real reaches the end of its
 * storage.
 */
lh_status lh_tensor_clear(lh_tensor *tensor);

/* A new header on the same storage without a gradient slot: a cache across segments. Gives. */
lh_tensor *lh_tensor_detached(const lh_tensor *tensor);

/* "[8][512][128]" for messages. Lends thread-local storage, four at a time. */
const char *lh_shape_text(const lh_tensor *tensor);

/* ---- gradients (gradient.c) ---- */

/* Gives the tensor its own gradient slot, so that ops on it are recorded. Needed for inputs of
 * gradient checks; parameters have theirs from params.h. */
lh_status lh_tensor_require_gradient(lh_tensor *tensor);

/* The accumulated gradient as a contiguous tensor of the tensor's shape, or NULL when nothing
 * flowed. Lends until the gradient is cleared. */
const lh_tensor *lh_tensor_gradient(const lh_tensor *tensor);
void lh_tensor_clear_gradient(lh_tensor *tensor);

#endif
