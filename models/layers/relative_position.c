/* Transformer-XL's relative positions (Dai et al. 2019, section 3.3) as a bias and as shifted
 * queries of the attention kernel. */
#include "models/layers/relative_position.h"

#include <stdlib.h>

void lh_relative_position_declare(lh_relative_position *layer, int64_t width, int64_t heads,
                                  int64_t head_width, lh_init init, lh_declare *declaration,
                                  const char *prefix) {
    const int64_t inner = heads * head_width, projection[] = {width, inner};
    layer->heads = heads;
    layer->head_width = head_width;
    layer->projection =
        lh_declare_param(declaration, init, 2, projection, "%s.relative.projection", prefix);
    layer->content = lh_declare_param(declaration, init, 1, &inner, "%s.relative.content", prefix);
    lh_declare_rows(declaration, heads);
    layer->position =
        lh_declare_param(declaration, init, 1, &inner, "%s.relative.position", prefix);
    lh_declare_rows(declaration, heads);
}

void lh_relative_position_declare_shared(lh_relative_position *layer,
                                         const lh_relative_position *first, int64_t width,
                                         lh_init init, lh_declare *declaration,
                                         const char *prefix) {
    const int64_t projection[] = {width, first->heads * first->head_width};
    *layer = *first;
    layer->projection =
        lh_declare_param(declaration, init, 2, projection, "%s.relative.projection", prefix);
}

/* 0, 1 ... count - 1. */
static lh_tensor *count_up(lh_tape *tape, int64_t count) {
    int32_t *values = lh_allocate((size_t)count * sizeof *values);
    if (values == NULL) return NULL;
    for (int64_t i = 0; i < count; ++i)
        values[i] = (int32_t)i;
    lh_tensor *y = lh_integers(tape, 1, &count, values);
    free(values);
    return y;
}

/* r_d of all distances and heads: [heads][distances][head_width]. */
static lh_tensor *project(const lh_relative_position *layer, const lh_pass *pass,
                          lh_tensor *sinusoids) {
    static const int heads_first[] = {1, 0, 2};
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *r =
        lh_linear(tape, sinusoids, lh_pass_param(pass, layer->projection), NULL, LH_UNARY_IDENTITY);
    return lh_permute(tape, lh_split_heads(tape, r, layer->head_width), heads_first);
}

/* The attention kernel multiplies one query with keys and position vectors alike; the rest of the
 * score is the same for all queries, a bias by head and distance: (v - u) . r_d, scaled. */
static lh_tensor *bias_of(const lh_relative_position *layer, const lh_pass *pass, double scale,
                          lh_tensor *r) {
    lh_tape *tape = lh_pass_tape(pass);
    const int64_t vectors[] = {layer->heads, 1, layer->head_width};
    lh_tensor *apart = lh_subtract(tape, lh_pass_param(pass, layer->position),
                                   lh_pass_param(pass, layer->content));
    if (apart == NULL || r == NULL) return NULL;
    const int64_t table[] = {layer->heads, r->shape[1]};
    lh_tensor *bias = lh_matmul(tape, lh_reshape(tape, apart, 3, vectors), r, false, true);
    return bias != NULL ? lh_scale(tape, lh_reshape(tape, bias, 2, table), scale) : NULL;
}

lh_tensor *lh_relative_position_apply(const lh_relative_position *layer, const lh_pass *pass,
                                      lh_tensor *sinusoids, lh_attention *attention, lh_tensor *q) {
    lh_tape *tape = lh_pass_tape(pass);
    if (sinusoids == NULL || q == NULL) return NULL;
    /* All rows of a batch share these vectors: no work of a token. */
    lh_tape_pause_flops(tape);
    attention->positions = project(layer, pass, sinusoids);
    attention->bias = bias_of(layer, pass, attention->scale, attention->positions);
    attention->bucket_of = count_up(tape, sinusoids->shape[0]);
    lh_tape_resume_flops(tape);
    if (attention->bias == NULL || attention->bucket_of == NULL) return NULL;
    q = lh_add_row(tape, lh_join_heads(tape, q), lh_pass_param(pass, layer->content));
    return lh_split_heads(tape, q, layer->head_width);
}
