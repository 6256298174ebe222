/* Transformer-XL's relative positions (Dai et al. 2019, section 3.3):
 *
 *   score(i, j) = ((q_i + u) . k_j + (q_i + v) . r_{i - j}) / sqrt(head_width),
 *   r_d = W_r sinusoid(d),
 *
 * with learned u (content), v (position) and W_r of each layer. */
#ifndef LH_LAYERS_RELATIVE_POSITION_H
#define LH_LAYERS_RELATIVE_POSITION_H

#include "harness/engine/model.h"
#include "harness/ops/ops.h"

typedef struct lh_relative_position {
    int64_t heads, head_width;
    int projection, content, position; /* [width][inner], [inner], [inner] */
} lh_relative_position;

/* Declares <prefix>.relative.projection, .content and .position. */
void lh_relative_position_declare(lh_relative_position *layer, int64_t width, int64_t heads,
                                  int64_t head_width, lh_init init, lh_declare *declaration,
                                  const char *prefix);

/* A layer with the content and position vectors of `first`: declares its projection alone. */
void lh_relative_position_declare_shared(lh_relative_position *layer,
                                         const lh_relative_position *first, int64_t width,
                                         lh_init init, lh_declare *declaration, const char *prefix);

/* Sets positions and bias of `attention`, whose scale is set, from sinusoids [distances][width] of
 * the distances 0 and up; larger distances than there are sinusoids count as the largest. q
 * [rows][queries][heads][head_width], slices allowed; returns the queries to attend with. */
lh_tensor *lh_relative_position_apply(const lh_relative_position *layer, const lh_pass *pass,
                                      lh_tensor *sinusoids, lh_attention *attention, lh_tensor *q);

#endif
