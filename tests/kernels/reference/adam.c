/* Adam (Kingma and Ba 2015), and with decoupled decay AdamW. */
#include "tests/kernels/reference/loops.h"

void REFERENCE(adam)(const void *arguments) {
    const lh_adam_args *args = arguments;
    const number *factor = (const void *)args->factor, *g = (const void *)args->g;
    number *x = (void *)args->x, *m = (void *)args->m, *v = (void *)args->v;
    const double t = (double)args->step->step + 1;
    const number rate = (number)args->step->rate, decay = (number)args->weight_decay;
    const number beta1 = (number)args->beta1, rest1 = (number)(1 - args->beta1);
    const number beta2 = (number)args->beta2, rest2 = (number)(1 - args->beta2);
    const number correct1 = (number)(1 - pow(args->beta1, t));
    const number correct2 = (number)(1 - pow(args->beta2, t));
    for (int64_t i = 0; i < args->count; i++) {
        const number before = x[i];
        const number gradient =
            (factor == NULL ? 1 : *factor) * g[i] + (args->decoupled ? 0 : decay * before);
        m[i] = beta1 * m[i] + rest1 * gradient;
        v[i] = beta2 * v[i] + rest2 * gradient * gradient;
        x[i] -= rate * (m[i] / correct1) / (sqrt(v[i] / correct2) + (number)args->epsilon);
        if (args->decoupled) x[i] -= rate * decay * before;
    }
}
