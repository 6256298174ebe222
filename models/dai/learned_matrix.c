/* The learnable matrices of FL-XL (Huang et al. 2023, section 4.4), full and Toeplitz, and how they
 * are mixed into attention (eq. 4). */
#include "models/dai/learned_matrix.h"

#include <stdlib.h>

#include "models/layers/common.h"

static const int heads_first[] = {2, 1, 0, 3};

void lh_learned_matrix_declare(lh_learned_matrix *layer, double gate, lh_declare *declaration,
                               const char *prefix) {
    const int64_t keys = layer->memory + layer->segment, one = 1,
                  whole[] = {layer->encoded, layer->segment, keys},
                  lags[] = {keys - 1, layer->encoded};
    if (layer->encoded == 0) return;
    layer->first_mu = gate;
    layer->matrix = lh_declare_param(declaration, lh_init_normal(0.02), layer->toeplitz ? 2 : 3,
                                     layer->toeplitz ? lags : whole, "%s.matrix", prefix);
    lh_declare_undecayed(declaration);
    layer->mu = lh_declare_param(declaration, lh_init_zeros(), 1, &one, "%s.mu", prefix);
    lh_declare_initial(declaration, &layer->first_mu);
}

/* 1 where a key stands before its query, else 0: [length][memory + length]. */
static lh_tensor *make_mask(const lh_learned_matrix *layer, lh_tape *tape, int64_t length) {
    const int64_t keys = layer->memory + length, shape[] = {length, keys};
    real *values = lh_allocate((size_t)(length * keys) * sizeof *values);
    if (values == NULL) return NULL;
    for (int64_t i = 0; i < length * keys; ++i)
        values[i] = i % keys < layer->memory + i / keys ? 1 : 0;
    lh_tensor *mask = lh_reals(tape, 2, shape, values);
    free(values);
    return lh_repeat(tape, mask, layer->encoded);
}

/* Which number of a Toeplitz matrix an entry has: that of its lag, any where the mask will be 0. */
static lh_tensor *make_lags(const lh_learned_matrix *layer, lh_tape *tape, int64_t length) {
    const int64_t keys = layer->memory + length, shape[] = {length, keys};
    int32_t *values = lh_allocate((size_t)(length * keys) * sizeof *values);
    if (values == NULL) return NULL;
    for (int64_t i = 0; i < length * keys; ++i) {
        const int64_t lag = layer->memory + i / keys - i % keys;
        values[i] = lag > 0 ? (int32_t)(lag - 1) : 0;
    }
    lh_tensor *lags = lh_integers(tape, 2, shape, values);
    free(values);
    return lags;
}

/* [encoded][length][memory + length] before the mask. */
static lh_tensor *entries(const lh_learned_matrix *layer, const lh_pass *pass, int64_t length) {
    static const int heads_to_front[] = {2, 0, 1};
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *matrix = lh_pass_param(pass, layer->matrix);
    if (layer->toeplitz)
        return lh_permute(tape, lh_gather(tape, matrix, make_lags(layer, tape, length)),
                          heads_to_front);
    matrix = lh_slice(tape, matrix, 1, 0, length);
    return lh_slice(tape, matrix, 2, 0, layer->memory + length);
}

/* The matrices of a segment of this length. */
static lh_tensor *masked(const lh_learned_matrix *layer, const lh_pass *pass, int64_t length) {
    lh_tape *tape = lh_pass_tape(pass);
    return lh_multiply(tape, lh_contiguous(tape, entries(layer, pass, length)),
                       make_mask(layer, tape, length));
}

/* matrix v: [batch][length][encoded][head_width]. */
static lh_tensor *product(const lh_learned_matrix *layer, const lh_pass *pass, lh_tensor *v,
                          int64_t length) {
    lh_tape *tape = lh_pass_tape(pass);
    v = lh_permute(tape, lh_slice(tape, v, 2, 0, layer->encoded), heads_first);
    if (v == NULL) return NULL;
    const int64_t batch = v->shape[2], head_width = v->shape[3];
    const int64_t joined[] = {layer->encoded, v->shape[1], batch * head_width};
    const int64_t apart[] = {layer->encoded, length, batch, head_width};
    lh_tensor *y =
        lh_matmul(tape, masked(layer, pass, length), lh_reshape(tape, v, 3, joined), false, false);
    return y != NULL ? lh_permute(tape, lh_reshape(tape, y, 4, apart), heads_first) : NULL;
}

lh_tensor *lh_learned_matrix_mix(const lh_learned_matrix *layer, const lh_pass *pass, lh_tensor *v,
                                 lh_tensor *attended) {
    lh_tape *tape = lh_pass_tape(pass);
    if (layer->encoded == 0 || attended == NULL) return attended;
    const int64_t heads = attended->shape[2], head_width = attended->shape[3];
    lh_tensor *kept = lh_slice(tape, attended, 2, 0, layer->encoded);
    lh_tensor *apart = lh_subtract(tape, product(layer, pass, v, attended->shape[1]), kept);
    lh_tensor *gate = lh_unary(tape, LH_UNARY_SIGMOID, lh_pass_param(pass, layer->mu));
    gate = lh_repeat(tape, gate, head_width);
    if (gate == NULL || apart == NULL) return NULL;
    lh_tensor *mixed =
        lh_add(tape, kept, lh_multiply_row(tape, apart, lh_reshape(tape, gate, 1, &head_width)));
    if (heads == layer->encoded) return mixed;
    lh_tensor *const parts[] = {
        mixed, lh_slice(tape, attended, 2, layer->encoded, heads - layer->encoded)};
    return lh_concat(tape, 2, parts, 2);
}
