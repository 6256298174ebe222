/* Gradients against central differences, in double. The cotangent is random (a sum of outputs would
 * be blind to softmax), the comparison signed, the bound relative to the size of the gradient. */
#ifndef LH_TESTS_GRADIENT_CHECK_H
#define LH_TESTS_GRADIENT_CHECK_H

#include "harness/ops/ops.h"

enum { CHECK_INPUTS = 12 };

/* A pool, a tape and the random leaves of one check. */
typedef struct check_bench {
    lh_device *device;
    lh_pool *pool;
    lh_tape *tape;
    int count;
    lh_tensor *input[CHECK_INPUTS];
} check_bench;

bool check_open(check_bench *bench);
void check_close(check_bench *bench);

/* A new leaf, uniform in +-1, that needs a gradient. */
lh_tensor *check_leaf(check_bench *bench, int rank, const int64_t *shape);
#define LEAF(bench, ...)                                                                           \
    check_leaf((bench), (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                 \
               (const int64_t[]){__VA_ARGS__})

/* A constant i32 tensor that lives until the bench is closed. */
lh_tensor *check_integers(check_bench *bench, int64_t count, const int32_t *values);

/* The function under test, of the bench's leaves. */
typedef lh_tensor *(*check_function)(check_bench *bench, void *context);

/* Largest relative error over all leaves: every element when small, random directions when large.
 * Infinity when anything fails. */
double check_gradients(check_bench *bench, check_function function, void *context);

#endif
