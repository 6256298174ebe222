#include "models/layers/batch_norm.h"

#include "models/layers/initial.h"

#define EPSILON  1e-5
#define MOMENTUM 0.1

static int declare_one(lh_declare *declare, int64_t width, double value, const char *prefix,
                       const char *part) {
    const lh_init constant = {LH_INIT_CONSTANT, value, 0.0};
    return lh_declare_param(declare, constant, 1, &width, "%s.%s", prefix, part);
}

lh_batch_norm lh_batch_norm_declare(lh_declare *declare, int64_t width, const char *prefix) {
    lh_batch_norm norm;
    norm.gain = declare_one(declare, width, 1.0, prefix, "gain");
    norm.bias = declare_one(declare, width, 0.0, prefix, "bias");
    norm.mean = declare_one(declare, width, 0.0, prefix, "mean");
    lh_declare_statistic(declare);
    norm.variance = declare_one(declare, width, 1.0, prefix, "variance");
    lh_declare_statistic(declare);
    return norm;
}

/* The running statistic moves towards `found`. */
static lh_status move_on(lh_pass *pass, int index, lh_tensor *found, double factor) {
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *kept = lh_scale(tape, lh_pass_param(pass, index), 1.0 - MOMENTUM);
    lh_tensor *joined = lh_scale(tape, lh_detach(tape, found), MOMENTUM * factor);
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

lh_tensor *lh_batch_norm_apply(lh_batch_norm norm, lh_pass *pass, lh_tensor *x) {
    lh_tape *tape = lh_pass_tape(pass);
    if (x == NULL) return NULL;
    const int64_t width = x->shape[x->rank - 1], flat[] = {-1, width};
    lh_tensor *variance = NULL, *rows = lh_reshape(tape, lh_contiguous(tape, x), 2, flat);
    lh_tensor *y = rows != NULL ? centre(norm, pass, rows, &variance) : NULL;
    if (y == NULL) return NULL;
    lh_tensor *widened = lh_add(tape, variance, lh_filled(tape, 1, &width, EPSILON));
    lh_tensor *scale =
        lh_multiply(tape, lh_pass_param(pass, norm.gain), lh_unary(tape, LH_UNARY_RSQRT, widened));
    y = lh_add_row(tape, lh_multiply_row(tape, y, scale), lh_pass_param(pass, norm.bias));
    return lh_reshape(tape, y, x->rank, x->shape);
}
