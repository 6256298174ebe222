/* What references are written with, in the plainest loops and from the contract alone: the type of
 * their numbers, and what several of them do. Every file of this folder is compiled twice: as what
 * is right (REFERENCE_PRECISE), and as how far off the same loops are in the type of the kernels.
 * The pointers in the arguments lead to arrays of `number`, whatever their declared type. */
#ifndef LH_TESTS_KERNELS_REFERENCE_LOOPS_H
#define LH_TESTS_KERNELS_REFERENCE_LOOPS_H

#include "tests/kernels/conformance.h"

#include <fenv.h>
#include <tgmath.h>

/* `wide` is for the sums that the contract wants in double. */
#ifdef REFERENCE_PRECISE
/* `real` scalars among the arguments widen, as they should. */
#pragma GCC diagnostic ignored "-Wdouble-promotion"
#define number                precise
#define wide                  long double
#define REFERENCE(kernel)     precise_##kernel
#define ROUNDED(x, precision) (x)
#else
#define number                real
#define wide                  double
#define REFERENCE(kernel)     naive_##kernel
#define ROUNDED(x, precision) rounded(x, precision)
#endif

/* ---- numbers ---- */

/* y (+)= value */
static inline void store(number *y, lh_write write, number value) {
    *y = write == LH_ADD ? *y + value : value;
}

/* Whether an operand that ends with `rest` of a unit in the last place is rounded up; towards zero
 * stands for up and down by turns. */
static inline bool rounds_up(uint32_t rest, uint32_t unit, bool odd) {
    if (suite_rounding == FE_TONEAREST) return rest + odd > unit / 2;
    if (suite_rounding == FE_TOWARDZERO) return rest > 0 && suite_roundings++ % 2 == 0;
    return suite_rounding == FE_UPWARD && rest > 0;
}

/* The operand of a matrix product, rounded as the rest of the arithmetic is at present. */
static inline real rounded(real x, lh_precision precision) {
    const int dropped = precision == LH_PRECISION_BF16   ? 16
                        : precision == LH_PRECISION_TF32 ? 13
                                                         : 0;
    if (dropped == 0 || isnan(x)) return x;
    const float from = (float)x;
    uint32_t bits = 0;
    memcpy(&bits, &from, sizeof bits);
    const uint32_t unit = (uint32_t)1 << dropped, rest = bits & (unit - 1);
    const bool odd = (bits & unit) != 0;
    bits = bits - rest + (rounds_up(rest, unit, odd) ? unit : 0);
    float to = 0;
    memcpy(&to, &bits, sizeof to);
    return (real)to;
}

/* ---- functions of a number ---- */

/* Once not a number, always. */
static inline number larger(number a, number b) {
    return isnan(a) || a >= b ? a : b;
}

/* What a softmax subtracts from scores of which this is the largest: where all are minus infinity
 * weights are zeros. */
static inline number shift_of(number most) {
    return most == -(number)INFINITY ? 0 : most;
}

#define SQRT_2_OVER_PI ((number)0.797884560802865355879892119868763737L)
#define SQRT_HALF      ((number)0.707106781186547524400844362104849039L)
#define GELU_CUBIC     ((number)0.044715L)

static inline number sigmoid(number x) {
    return 1 / (1 + exp(-x));
}

static inline number activate(lh_unary_op op, number x) {
    const number half = (number)0.5L;
    switch (op) {
    case LH_UNARY_IDENTITY:
        return x;
    case LH_UNARY_RELU:
        return x < 0 ? 0 : x;
    case LH_UNARY_GELU:
        return half * x * (1 + tanh(SQRT_2_OVER_PI * (x + GELU_CUBIC * x * x * x)));
    case LH_UNARY_GELU_EXACT:
        return half * x * (1 + erf(x * SQRT_HALF));
    case LH_UNARY_TANH:
        return tanh(x);
    case LH_UNARY_SIGMOID:
        return sigmoid(x);
    case LH_UNARY_EXP:
        return exp(x);
    case LH_UNARY_LOG:
        return log(x);
    case LH_UNARY_SQUARE:
        return x * x;
    case LH_UNARY_RSQRT:
        return 1 / sqrt(x);
    case LH_UNARY_ELU:
        return x > 0 ? x : exp(x) - 1;
    case LH_UNARY_SILU:
        return x * sigmoid(x);
    case LH_UNARY_SOFTPLUS:
        return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
    case LH_UNARY_SQRT:
        break;
    }
    return sqrt(x);
}

/* ---- head vectors ---- */

static inline number *row_of(const lh_heads *view, int64_t b, int64_t t, int64_t h) {
    number *data = view->act.data;
    return data + b * view->batch_stride + t * view->token_stride + h * view->head_stride;
}

static inline number inner(const number *a, const number *b, int64_t count) {
    number sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* The same from the other end and with the other sign, for what an inner product is taken from:
 * however both are rounded, they are so apart. Two that are equal by the formula need not be in a
 * kernel. */
static inline number inner_against(const number *a, const number *b, int64_t count) {
    number sum = 0;
    for (int64_t i = count - 1; i >= 0; i--)
        sum -= a[i] * b[i];
    return -sum;
}

/* A product of two operands, as the attention rounds them. */
static inline number inner_rounded(const lh_attention_spec *spec, const number *a,
                                   const number *b) {
    number sum = 0;
    for (int64_t i = 0; i < spec->head_width; i++)
        sum += ROUNDED(a[i], spec->precision) * ROUNDED(b[i], spec->precision);
    return sum;
}

static inline void clear_view(const lh_attention_spec *spec, const lh_heads *view, int64_t tokens) {
    if (view->act.data == NULL) return;
    for (int64_t b = 0; b < spec->batch; b++)
        for (int64_t t = 0; t < tokens; t++)
            for (int64_t h = 0; h < spec->heads; h++)
                for (int64_t d = 0; d < spec->head_width; d++)
                    row_of(view, b, t, h)[d] = 0;
}

/* Zeros in the rows of a scan that a write mode sets; sums over groups go on from there. */
static inline void clear_rows(const lh_heads *view, lh_write write, const lh_decay_scan_spec *spec,
                              int64_t heads, int64_t width) {
    if (view->act.data == NULL || write == LH_ADD) return;
    for (int64_t b = 0; b < spec->batch; b++)
        for (int64_t t = 0; t < spec->length; t++)
            for (int64_t h = 0; h < heads; h++)
                for (int64_t i = 0; i < width; i++)
                    row_of(view, b, t, h)[i] = 0;
}

static inline void clear_array(real *array, int64_t count) {
    number *x = (void *)array;
    for (int64_t i = 0; i < count && x != NULL; i++)
        x[i] = 0;
}

/* y += scale (weight x), the product rounded as the attention does. */
static inline void add_rounded(const lh_attention_spec *spec, const lh_heads *view, int64_t b,
                               int64_t t, int64_t h, number scale, number weight, const number *x) {
    if (view->act.data == NULL) return;
    number *y = row_of(view, b, t, h);
    for (int64_t d = 0; d < spec->head_width; d++)
        y[d] += scale * ROUNDED(weight, spec->precision) * ROUNDED(x[d], spec->precision);
}

/* y += factor x, for head vectors of `count` elements. */
static inline void add_scaled(const lh_heads *view, int64_t b, int64_t t, int64_t h, number factor,
                              const number *x, int64_t count) {
    if (view->act.data == NULL) return;
    number *y = row_of(view, b, t, h);
    for (int64_t d = 0; d < count; d++)
        y[d] += factor * x[d];
}

#endif
