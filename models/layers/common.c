/* Checks of options and segments, first values, layer norms, dropout, heads, the tokens that a
 * cache keeps, the sinusoids of Vaswani et al. 2017, section 3.5, and pairs of local attention. */
#include "models/layers/common.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

lh_status lh_require_tokens(const lh_model_setup *setup) {
    if (setup->vocabulary >= 1) return LH_OK;
    return lh_fail(LH_EOPTION, "needs a task over tokens (vocabulary %lld)",
                   (long long)setup->vocabulary);
}

lh_status lh_settle_head_width(int64_t width, int64_t heads, int64_t *head_width) {
    if (*head_width == 0 && width % heads != 0) {
        return lh_fail(LH_EOPTION,
                       "option 'heads' (%lld) does not divide 'width' (%lld); set "
                       "'head_width'",
                       (long long)heads, (long long)width);
    }
    if (*head_width == 0) *head_width = width / heads;
    return LH_OK;
}

lh_status lh_divide_heads(int64_t width, int64_t heads, int64_t *head_width) {
    *head_width = width / heads;
    if (width % heads == 0) return LH_OK;
    return lh_fail(
        LH_EOPTION, "option 'heads' (%lld) does not divide 'width' (%lld); set 'width' to %lld",
        (long long)heads, (long long)width, (long long)(heads * lh_chunk_count(width, heads)));
}

lh_status lh_settle_layer(const char *option, int64_t given, int64_t layers, int64_t *layer) {
    *layer = given < 0 ? layers + given : given - 1;
    if (*layer >= 0 && *layer < layers) return LH_OK;
    return lh_fail(LH_EOPTION, "option '%s' names layer %lld, but there are %lld", option,
                   (long long)given, (long long)layers);
}

lh_status lh_refuse_idle(const lh_part_option *options, const char *part) {
    for (; options->name != NULL; ++options)
        if (options->given) return lh_fail(LH_EOPTION, "option '%s' needs %s", options->name, part);
    return LH_OK;
}

lh_status lh_require_whole_chunks(const char *option, int64_t size, int64_t length) {
    if (length % size == 0) return LH_OK;
    const int64_t below = length / size * size;
    return lh_fail(LH_ESHAPE, "%s %lld does not divide segment %lld (try %lld)", option,
                   (long long)size, (long long)length, (long long)(below > 0 ? below : size));
}

const char *lh_layer_name(char *name, int64_t i, const char *part) {
    (void)snprintf(name, LH_LAYER_NAME, "layers.%lld.%s", (long long)i, part);
    return name;
}

lh_init lh_init_zeros(void) {
    return (lh_init){LH_INIT_CONSTANT, 0.0, 0.0};
}

lh_init lh_init_ones(void) {
    return (lh_init){LH_INIT_CONSTANT, 1.0, 0.0};
}

lh_init lh_init_normal(double deviation) {
    return (lh_init){LH_INIT_NORMAL, 0.0, deviation};
}

lh_init lh_init_uniform(double bound) {
    return (lh_init){LH_INIT_UNIFORM, 0.0, bound};
}

lh_norm lh_norm_declare_normal(lh_declare *declaration, int64_t width, double deviation,
                               const char *prefix) {
    const lh_init gain = {LH_INIT_NORMAL, 1.0, deviation};
    lh_norm norm;
    norm.gain = lh_declare_param(declaration, gain, 1, &width, "%s.gain", prefix);
    norm.bias = lh_declare_param(declaration, lh_init_zeros(), 1, &width, "%s.bias", prefix);
    return norm;
}

lh_norm lh_norm_declare(lh_declare *declaration, int64_t width, const char *prefix) {
    return lh_norm_declare_normal(declaration, width, 0.0, prefix);
}

lh_tensor *lh_norm_apply(lh_norm norm, const lh_pass *pass, lh_tensor *x) {
    return lh_layer_norm(lh_pass_tape(pass), x, lh_pass_param(pass, norm.gain),
                         lh_pass_param(pass, norm.bias), 1e-5);
}

lh_tensor *lh_pass_dropout(const lh_pass *pass, double rate, lh_tensor *x) {
    return lh_dropout(lh_pass_tape(pass), x, lh_pass_is_training(pass) ? rate : 0.0, 0);
}

/* A mask with a period does not go by batch rows; one as long as the table is that of no period. */
lh_tensor *lh_pass_dropout_table(const lh_pass *pass, double rate, lh_tensor *table) {
    if (table == NULL) return NULL;
    return lh_dropout(lh_pass_tape(pass), table, lh_pass_is_training(pass) ? rate : 0.0,
                      table->shape[0]);
}

lh_tensor *lh_project_heads(lh_tape *tape, lh_tensor *x, lh_tensor *weight, int64_t head_width) {
    return lh_split_heads(tape, lh_linear(tape, x, weight, NULL, LH_UNARY_IDENTITY), head_width);
}

lh_tensor *lh_last_tokens(lh_tape *tape, int64_t count, lh_tensor *before, lh_tensor *now) {
    if (before == NULL || now == NULL) return NULL;
    const int64_t length = now->shape[1];
    if (length >= count) return lh_slice(tape, now, 1, length - count, count);
    const int64_t kept = count - length;
    lh_tensor *const parts[] = {lh_slice(tape, before, 1, before->shape[1] - kept, kept), now};
    return lh_concat(tape, 1, parts, 2);
}

/* Columns i and, where there is one, i + 1: the angle grows by `rate` from row to row, so that one
 * rotation a row does for a sine and a cosine (its error grows by a rounding of double a row). */
static void write_pair(real *values, int64_t length, int64_t width, int64_t i) {
    const double rate = pow(10000.0, -(double)i / (double)width);
    const double turn_sine = sin(rate), turn_cosine = cos(rate);
    double sine = 0.0, cosine = 1.0;
    for (int64_t t = 0; t < length; ++t) {
        const double before = sine;
        values[t * width + i] = (real)sine;
        if (i + 1 < width) values[t * width + i + 1] = (real)cosine;
        sine = sine * turn_cosine + cosine * turn_sine;
        cosine = cosine * turn_cosine - before * turn_sine;
    }
}

lh_tensor *lh_sinusoids(lh_tape *tape, int64_t length, int64_t width) {
    const int64_t shape[] = {length, width};
    real *values = lh_allocate((size_t)(length * width) * sizeof *values);
    if (values == NULL) return NULL;
    for (int64_t i = 0; i < width; i += 2)
        write_pair(values, length, width, i);
    lh_tensor *y = lh_reals(tape, 2, shape, values);
    free(values);
    return y;
}

double lh_local_pairs(int64_t chunk, int64_t length) {
    double pairs = 0;
    for (int64_t begin = 0; begin < length; begin += chunk) {
        const double size = (double)(begin + chunk < length ? chunk : length - begin);
        pairs += 0.5 * size * (size + 1.0) + (begin > 0 ? size * (double)chunk : 0.0);
    }
    return pairs;
}
