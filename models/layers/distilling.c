#include "models/layers/distilling.h"

#include <stdio.h>

#include "models/layers/common.h"

lh_distilling lh_distilling_declare(lh_declare *declare, int64_t width, const char *prefix) {
    lh_distilling layer;
    char name[80];
    (void)snprintf(name, sizeof name, "%s.convolution", prefix);
    layer.convolution = lh_dense_declare(declare, 3 * width, width, name);
    (void)snprintf(name, sizeof name, "%s.norm", prefix);
    layer.norm = lh_batch_norm_declare(declare, width, name);
    return layer;
}

/* Steps 2 t - 1, 2 t and 2 t + 1 for every t, [rows][distilled][3][width]. Beyond an end its last
 * step stands once more, which changes no maximum. */
static lh_tensor *in_threes(lh_tape *tape, lh_tensor *x) {
    if (x == NULL) return NULL;
    const int64_t rows = x->shape[0], length = x->shape[1], width = x->shape[2],
                  half = lh_distilled_length(length), pairs[] = {rows, half, 2, width};
    lh_tensor *first = lh_slice(tape, x, 1, 0, 1), *last = lh_slice(tape, x, 1, length - 1, 1);
    lh_tensor *const even[] = {x, last}, *const odd[] = {first,
                                                         lh_slice(tape, x, 1, 0, 2 * half - 1)};
    lh_tensor *own = length % 2 == 0 ? lh_contiguous(tape, x) : lh_concat(tape, 1, even, 2);
    lh_tensor *moved = lh_concat(tape, 1, odd, 2);
    own = lh_reshape(tape, own, 4, pairs);
    moved = lh_reshape(tape, moved, 4, pairs);
    if (own == NULL || moved == NULL) return NULL;
    lh_tensor *const threes[] = {lh_slice(tape, moved, 2, 0, 1), own};
    return lh_concat(tape, 2, threes, 2);
}

lh_tensor *lh_distilling_apply(const lh_distilling *layer, lh_pass *pass, lh_tensor *x) {
    lh_tape *tape = lh_pass_tape(pass);
    const lh_scope scope = lh_scope_open(tape);
    lh_tensor *y =
        lh_dense_apply(layer->convolution, pass, lh_circular_steps(tape, x), LH_UNARY_IDENTITY);
    y = lh_unary(tape, LH_UNARY_ELU, lh_batch_norm_apply(layer->norm, pass, y));
    y = in_threes(tape, y);
    return lh_scope_close(tape, scope, y != NULL ? lh_maximum(tape, y, 2) : NULL);
}

int64_t lh_distilled_length(int64_t length) {
    return (length + 1) / 2;
}

double lh_distilling_flops(int64_t width) {
    return 2.0 * 3.0 * (double)width * (double)width;
}
