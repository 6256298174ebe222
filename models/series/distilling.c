/* Distilling (Zhou et al. 2021, eq. 5) and the batch normalisation in it (Ioffe and Szegedy 2015).
 */
#include "models/series/forecaster.h"

#include <stdio.h>

#include "models/layers/common.h"

/* ---- batch normalisation: names are "<prefix>.gain", ".bias", ".mean" and ".variance" ---- */

static const double epsilon = 1e-5, momentum = 0.1;

static int declare_one(lh_declare *declaration, lh_init init, int64_t width, const char *prefix,
                       const char *part) {
    return lh_declare_param(declaration, init, 1, &width, "%s.%s", prefix, part);
}

static lh_batch_norm declare_batch_norm(lh_declare *declaration, int64_t width,
                                        const char *prefix) {
    lh_batch_norm norm;
    norm.gain = declare_one(declaration, lh_init_ones(), width, prefix, "gain");
    norm.bias = declare_one(declaration, lh_init_zeros(), width, prefix, "bias");
    norm.mean = declare_one(declaration, lh_init_zeros(), width, prefix, "mean");
    lh_declare_statistic(declaration);
    norm.variance = declare_one(declaration, lh_init_ones(), width, prefix, "variance");
    lh_declare_statistic(declaration);
    return norm;
}

/* The running statistic moves towards `found`. */
static lh_status move_on(lh_pass *pass, int index, lh_tensor *found, double factor) {
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *kept = lh_scale(tape, lh_pass_param(pass, index), 1.0 - momentum);
    lh_tensor *joined = lh_scale(tape, lh_detach(tape, found), momentum * factor);
    return lh_pass_set_statistic(pass, index, lh_add(tape, kept, joined));
}

/* x minus its mean, [count][width]; *variance as it is to divide by. */
static lh_tensor *centre(lh_batch_norm norm, lh_pass *pass, lh_tensor *x, lh_tensor **variance) {
    lh_tape *tape = lh_pass_tape(pass);
    const bool training = lh_pass_is_training(pass);
    const double count = (double)x->shape[0];
    lh_tensor *mean = training ? lh_mean(tape, x, 0) : lh_pass_param(pass, norm.mean);
    lh_tensor *y = lh_add_row(tape, x, lh_scale(tape, mean, -1.0));
    if (!training) {
        *variance = lh_pass_param(pass, norm.variance);
        return y;
    }
    *variance = lh_mean(tape, lh_unary(tape, LH_UNARY_SQUARE, y), 0);
    const double unbiased = count > 1.0 ? count / (count - 1.0) : 1.0;
    if (move_on(pass, norm.mean, mean, 1.0) != LH_OK) return NULL;
    return move_on(pass, norm.variance, *variance, unbiased) == LH_OK ? y : NULL;
}

/* gain (x - mean) / sqrt(variance + epsilon) + bias, x [...][width]. In training mean and variance
 * are the batch's (of this rank's rows, as in PyTorch's data-parallel training), and a tenth of
 * them, the variance times n / (n - 1), enters the running ones; in evaluation they are those. */
static lh_tensor *batch_norm(lh_batch_norm norm, lh_pass *pass, lh_tensor *x) {
    lh_tape *tape = lh_pass_tape(pass);
    if (x == NULL) return NULL;
    const int64_t width = x->shape[x->rank - 1], flat[] = {-1, width};
    lh_tensor *variance = NULL, *rows = lh_reshape(tape, lh_contiguous(tape, x), 2, flat);
    lh_tensor *y = rows != NULL ? centre(norm, pass, rows, &variance) : NULL;
    if (y == NULL) return NULL;
    lh_tensor *widened = lh_add(tape, variance, lh_filled(tape, 1, &width, epsilon));
    lh_tensor *scale =
        lh_multiply(tape, lh_pass_param(pass, norm.gain), lh_unary(tape, LH_UNARY_RSQRT, widened));
    y = lh_add_row(tape, lh_multiply_row(tape, y, scale), lh_pass_param(pass, norm.bias));
    return lh_reshape(tape, y, x->rank, x->shape);
}

/* ---- distilling ---- */

lh_distilling lh_distilling_declare(lh_declare *declaration, int64_t width, const char *prefix) {
    lh_distilling layer;
    char name[80];
    (void)snprintf(name, sizeof name, "%s.convolution", prefix);
    layer.convolution = lh_dense_declare(declaration, 3 * width, width, name);
    (void)snprintf(name, sizeof name, "%s.norm", prefix);
    layer.norm = declare_batch_norm(declaration, width, name);
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
    y = lh_unary(tape, LH_UNARY_ELU, batch_norm(layer->norm, pass, y));
    y = in_threes(tape, y);
    return lh_scope_close(tape, scope, y != NULL ? lh_maximum(tape, y, 2) : NULL);
}

int64_t lh_distilled_length(int64_t length) {
    return (length + 1) / 2;
}

double lh_distilling_flops(int64_t width) {
    return 2.0 * 3.0 * (double)width * (double)width;
}
