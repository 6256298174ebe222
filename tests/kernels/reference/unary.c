/* Functions of one operand and their slopes. */
#include "tests/kernels/reference/loops.h"

static number gelu_slope(number x) {
    const number half = (number)0.5L;
    const number t = tanh(SQRT_2_OVER_PI * (x + GELU_CUBIC * x * x * x));
    const number inner = SQRT_2_OVER_PI * (1 + 3 * GELU_CUBIC * x * x);
    return half * (1 + t) + half * x * (1 - t * t) * inner;
}

/* The normal distribution function, and x times its density. */
static number gelu_exact_slope(number x) {
    const number half = (number)0.5L;
    return half * (1 + erf(x * SQRT_HALF)) + x * half * SQRT_2_OVER_PI * exp(-half * x * x);
}

/* Of the output, or of the input where the output does not tell. */
static number slope(lh_unary_op op, const number *x, const number *y, int64_t i) {
    switch (op) {
    case LH_UNARY_IDENTITY:
        return 1;
    case LH_UNARY_RELU:
        return y[i] > 0 ? 1 : 0;
    case LH_UNARY_GELU:
        return gelu_slope(x[i]);
    case LH_UNARY_GELU_EXACT:
        return gelu_exact_slope(x[i]);
    case LH_UNARY_TANH:
        return 1 - y[i] * y[i];
    case LH_UNARY_SIGMOID:
        return y[i] * (1 - y[i]);
    case LH_UNARY_EXP:
        return y[i];
    case LH_UNARY_LOG:
        return 1 / x[i];
    case LH_UNARY_SQUARE:
        return 2 * x[i];
    case LH_UNARY_RSQRT:
        return -y[i] * y[i] * y[i] / 2;
    case LH_UNARY_ELU:
        return y[i] > 0 ? 1 : y[i] + 1;
    case LH_UNARY_SILU:
        return sigmoid(x[i]) * (1 + x[i] * (1 - sigmoid(x[i])));
    case LH_UNARY_SOFTPLUS:
        return sigmoid(x[i]);
    case LH_UNARY_SQRT:
        break;
    }
    return 1 / (2 * y[i]);
}

void REFERENCE(unary_forward)(const void *arguments) {
    const lh_unary_forward_args *args = arguments;
    const number *x = args->x.data;
    number *y = args->y.data;
    for (int64_t i = 0; i < args->count; i++)
        y[i] = activate(args->op, x[i]);
}

void REFERENCE(unary_backward)(const void *arguments) {
    const lh_unary_backward_args *args = arguments;
    const number *x = args->x.data, *y = args->y.data;
    const number *dy = args->dy.data;
    number *dx = args->dx.data;
    for (int64_t i = 0; i < args->count; i++)
        store(&dx[i], args->write, dy[i] * slope(args->op, x, y, i));
}
