/* What ops are written with: shapes and records of operands, for the files of this folder and for
 * benchmarks that run kernels as ops do. */
#ifndef LH_OPS_OP_H
#define LH_OPS_OP_H

#include "harness/engine/record.h"
#include "harness/engine/run_kernel.h"
#include "harness/ops/ops.h"

/* Size of the last axis (1 for rank 0) and how many rows of it there are. */
static inline int64_t lh_last_axis(const lh_tensor *x) {
    return x->rank == 0 ? 1 : x->shape[x->rank - 1];
}

static inline int64_t lh_row_count(const lh_tensor *x) {
    const int64_t width = lh_last_axis(x);
    return width == 0 ? 0 : lh_tensor_count(x) / width;
}

/* What an op of operands of both kinds makes: reals unless all are bf16. */
static inline lh_dtype lh_common_dtype(const lh_tensor *x, lh_dtype other) {
    return x->dtype == other ? other : LH_REAL;
}

/* `act`, laid out as x is, for kernels that take head vectors: x [batch][tokens][heads][width]. */
static inline lh_heads lh_heads_at(const lh_tensor *x, lh_act act) {
    return (lh_heads){.act = act,
                      .batch_stride = x->stride[0],
                      .token_stride = x->stride[1],
                      .head_stride = x->stride[2]};
}

/* x, as such kernels read it. */
static inline lh_heads lh_heads_of(const lh_tensor *x) {
    return lh_heads_at(x, lh_tensor_activation(x));
}

/* Where such a kernel writes the gradient of x; nowhere where none is wanted. */
static inline lh_status lh_gradient_write_heads(lh_gradient *gradient, const lh_tensor *x,
                                                lh_heads *to, lh_write *mode) {
    lh_act act = {.data = NULL};
    if (gradient == NULL) return LH_OK;
    LH_TRY(lh_gradient_write(gradient, &act, mode));
    *to = lh_heads_at(x, act);
    return LH_OK;
}

/* What lanes of CUDA's attention kernels have registers for (kernels/cuda/attention.cuh). */
enum { LH_WIDEST_CUDA_HEAD = 256 };

/* Whether the device takes head vectors as wide as those of q [batch][tokens][heads][width]; false
 * after a message of the op. */
static inline bool lh_heads_suit_device(const lh_tape *tape, const char *op, const lh_tensor *q) {
    const lh_device *device = lh_pool_device(lh_tape_pool(tape));
    if (device->kind != LH_CUDA || q->shape[3] <= LH_WIDEST_CUDA_HEAD) return true;
    (void)lh_fail(LH_ESHAPE,
                  "%s: heads of %lld elements, and a GPU takes up to %d; more 'heads' of the same "
                  "'width' are narrower",
                  op, (long long)q->shape[3], LH_WIDEST_CUDA_HEAD);
    return false;
}

/* Whether integers (NULL: none) lie as kernels read them, which no op brings about; false after a
 * message of the op. */
static inline bool lh_integers_suit(const char *op, const lh_tensor *x) {
    if (x == NULL || (x->dtype == LH_I32 && lh_tensor_is_contiguous(x))) return true;
    (void)lh_fail(LH_ESHAPE, "%s: integers lie side by side, and those of %s do not", op,
                  lh_shape_text(x));
    return false;
}

/* What a tensor of lh_tape_random_key holds. */
static inline const lh_random_key *lh_tensor_random_key(const lh_tensor *key) {
    return (const lh_random_key *)(const void *)lh_tensor_integer(key);
}

/* A matrix product in the precision of the pool. */
static inline lh_status lh_run_matmul(lh_pool *pool, const lh_matmul_args *product) {
    lh_matmul_args args = *product;
    args.precision = lh_pool_precision(pool);
    return LH_RUN_W(pool, matmul, &args);
}

/* The failure that every check ends in: leaves the message and gives NULL. */
#define LH_OP_FAIL(...) ((void)lh_fail(LH_ESHAPE, __VA_ARGS__), (lh_tensor *)NULL)

/* The result of an op: y when its kernel and its record went well. */
static inline lh_tensor *lh_op_done(lh_tape *tape, lh_status launched, lh_tensor *y,
                                    const lh_record *record) {
    if (launched != LH_OK) return NULL;
    return lh_tape_record(tape, record) == LH_OK ? y : NULL;
}

/* Fields of a record from lists of tensors, counted. Where fewer of them count, the array and its
 * count are given each. */
/* clang-format off */
#define LH_TENSORS(...)      ((lh_tensor *const[]){__VA_ARGS__})
#define LH_TENSOR_COUNT(...) ((int)(sizeof LH_TENSORS(__VA_ARGS__) / sizeof(lh_tensor *)))
#define LH_INPUTS(...)                                                                             \
    .input = LH_TENSORS(__VA_ARGS__), .input_count = LH_TENSOR_COUNT(__VA_ARGS__)
#define LH_OUTPUTS(...)                                                                            \
    .output = LH_TENSORS(__VA_ARGS__), .output_count = LH_TENSOR_COUNT(__VA_ARGS__)
#define LH_SAVED(...)                                                                              \
    .saved = LH_TENSORS(__VA_ARGS__), .saved_count = LH_TENSOR_COUNT(__VA_ARGS__)
/* clang-format on */

#endif
