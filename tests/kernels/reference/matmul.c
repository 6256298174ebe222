/* Matrix products, one inner product after the other, with bias and activation. */
#include "tests/kernels/reference/loops.h"

static number product(const lh_matmul_args *args, const number *a, const number *b, int64_t i,
                      int64_t j) {
    number sum = 0;
    for (int64_t l = 0; l < args->k; l++) {
        const number left =
            args->transpose_a ? a[l * args->a_leading + i] : a[i * args->a_leading + l];
        const number right =
            args->transpose_b ? b[j * args->b_leading + l] : b[l * args->b_leading + j];
        sum += ROUNDED(left, args->precision) * ROUNDED(right, args->precision);
    }
    return args->alpha * sum;
}

void REFERENCE(matmul)(const void *arguments) {
    const lh_matmul_args *args = arguments;
    const number *bias = (const void *)args->bias;
    const number *residual = args->residual.data;
    number *c = args->c.data, *pre = args->pre.data;
    for (int64_t batch = 0; batch < args->batch; batch++) {
        const number *a = (const number *)args->a.data + batch * args->a_step;
        const number *b = (const number *)args->b.data + batch * args->b_step;
        for (int64_t i = 0; i < args->m; i++) {
            for (int64_t j = 0; j < args->n; j++) {
                const int64_t at = batch * args->c_step + i * args->c_leading + j;
                const number added =
                    (bias == NULL ? 0 : bias[j]) + (residual == NULL ? 0 : residual[at]);
                const number value = product(args, a, b, i, j) + added;
                if (pre != NULL) pre[at] = value;
                store(&c[at], args->write, activate(args->activation, value));
            }
        }
    }
}
