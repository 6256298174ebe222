/* Stochastic gradient descent with momentum and weight decay. */
#include "tests/kernels/reference/loops.h"

void REFERENCE(sgd)(const void *arguments) {
    const lh_sgd_args *args = arguments;
    const number *factor = (const void *)args->factor, *g = (const void *)args->g;
    const number momentum = (number)args->momentum, decay = (number)args->weight_decay;
    const number rate = (number)args->step->rate;
    number *x = (void *)args->x, *m = (void *)args->m;
    for (int64_t i = 0; i < args->count; i++) {
        number move = (factor == NULL ? 1 : *factor) * g[i] + decay * x[i];
        if (m != NULL) move = m[i] = momentum * m[i] + move;
        x[i] -= rate * move;
    }
}
