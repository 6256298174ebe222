/* Functions of two operands, the second spread over rows or columns. */
#include "tests/kernels/reference/loops.h"

static number combine(lh_binary_op op, number a, number b) {
    switch (op) {
    case LH_BINARY_ADD:
        return a + b;
    case LH_BINARY_SUB:
        return a - b;
    case LH_BINARY_MUL:
        return a * b;
    case LH_BINARY_DIV:
        break;
    }
    return a / b;
}

void REFERENCE(binary)(const void *arguments) {
    const lh_binary_args *args = arguments;
    const number *a = (const void *)args->a, *b = (const void *)args->b;
    number *y = (void *)args->y;
    for (int64_t r = 0; r < args->rows; r++) {
        for (int64_t c = 0; c < args->columns; c++) {
            const int64_t i = r * args->columns + c;
            const int64_t j = args->spread == LH_SPREAD_NONE   ? i
                              : args->spread == LH_SPREAD_ROWS ? c
                                                               : r;
            store(&y[i], args->write, combine(args->op, a[i], b[j]));
        }
    }
}
