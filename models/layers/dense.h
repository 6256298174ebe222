/* A linear map with a bias as PyTorch has it (weight and bias begin uniform within 1 /
 * sqrt(fan_in)), and the halves of a post-norm layer (Vaswani et al. 2017, sections 3.1 and 5.4):
 * what a sub-layer makes of x is dropped out, added to x, and normed. */
#ifndef LH_LAYERS_DENSE_H
#define LH_LAYERS_DENSE_H

#include "models/layers/common.h"

typedef struct lh_dense {
    int weight, bias; /* [in][out], [out] */
} lh_dense;

/* Names are "<prefix>.weight" and "<prefix>.bias". */
lh_dense lh_dense_declare(lh_declare *declaration, int64_t in, int64_t out, const char *prefix);

/* The same with a weight of N(0, deviation^2) and a bias of 0. */
lh_dense lh_dense_declare_normal(lh_declare *declaration, int64_t in, int64_t out, double deviation,
                                 const char *prefix);

/* activation(x weight + bias), x [...][in] -> [...][out]. */
lh_tensor *lh_dense_apply(lh_dense dense, const lh_pass *pass, lh_tensor *x,
                          lh_unary_op activation);

/* norm(x + dropout(y)); `dropout` is the rate in training. */
lh_tensor *lh_post_norm_join(lh_norm norm, const lh_pass *pass, double dropout, lh_tensor *x,
                             lh_tensor *y);

/* The feed-forward half. The model declares its parts, in the order and by the names it has. */
typedef struct lh_post_norm_network {
    lh_dense in, back;
    lh_norm norm;
} lh_post_norm_network;

/* norm(x + dropout(back(dropout(activation(in(x)))))), x [...][width]. */
lh_tensor *lh_post_norm_network_apply(const lh_post_norm_network *network, const lh_pass *pass,
                                      double dropout, lh_unary_op activation, lh_tensor *x);

#endif
