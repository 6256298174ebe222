/* Softmax and cross entropy of each row, with the gradient in the logits' place or beside them. */
#include "tests/kernels/reference/loops.h"

/* One row of a weight other than 0. */
static void cross_entropy_row(const lh_cross_entropy_args *args, int64_t r, number weight,
                              const number *x, number *dx) {
    const int64_t target = args->target[r];
    const number *gradient_scale = (const void *)args->gradient_scale;
    number *loss = (void *)args->loss, *correct = (void *)args->correct;
    int64_t first = 0, steepest = 0; /* the guess, and the largest of the scaled logits */
    number sum = 0;
    for (int64_t v = 1; v < args->vocabulary; v++) {
        if (x[v] > x[first]) first = v;
        if (args->scale * x[v] > args->scale * x[steepest]) steepest = v;
    }
    const number most = x[steepest];
    for (int64_t v = 0; v < args->vocabulary; v++)
        sum += exp(args->scale * (x[v] - most));
    loss[r] = weight * (log(sum) - args->scale * (x[target] - most));
    if (correct != NULL) correct[r] = target == first;
    const number factor = weight * args->scale * (gradient_scale == NULL ? 1 : *gradient_scale);
    for (int64_t v = 0; v < args->vocabulary && args->gradient; v++)
        dx[v] = factor * (exp(args->scale * (x[v] - most)) / sum - (v == target));
}

void REFERENCE(cross_entropy)(const void *arguments) {
    const lh_cross_entropy_args *args = arguments;
    const number *weights = (const void *)args->weight;
    number *loss = (void *)args->loss, *correct = (void *)args->correct;
    for (int64_t r = 0; r < args->rows; r++) {
        const number weight = weights == NULL ? 1 : weights[r];
        number *x = (number *)(void *)args->x + r * args->leading;
        number *dx = args->dx.data != NULL ? (number *)args->dx.data + r * args->leading : x;
        for (int64_t v = args->vocabulary; v < args->leading && args->gradient; v++)
            dx[v] = 0;
        const bool valid = args->target[r] >= 0 && args->target[r] < args->vocabulary;
        if (weight != 0 && valid) {
            cross_entropy_row(args, r, weight, x, dx);
            continue;
        }
        loss[r] = 0;
        if (correct != NULL) correct[r] = 0;
        for (int64_t v = 0; v < args->vocabulary && args->gradient; v++)
            dx[v] = 0;
    }
}
