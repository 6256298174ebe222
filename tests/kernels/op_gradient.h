/* Gradients of an op, what the tape makes of a kernel and its backward kernel, against differences:
 * for the cases of kernels that are one op. */
#ifndef LH_TESTS_KERNELS_OP_GRADIENT_H
#define LH_TESTS_KERNELS_OP_GRADIENT_H

#include "harness/ops/ops.h"
#include "tests/kernels/conformance.h"

/* The op under test, of tensors of one shape, which is also that of its result. */
typedef lh_tensor *(*op_of_tensors)(lh_tape *tape, lh_tensor *const *inputs);

/* With `count` random inputs, at most 4, of [rows][width]; reports and counts like a case. */
void op_gradient(suite *s, op_of_tensors op, int count, int64_t rows, int64_t width);

#endif
