/* Linear maps with a bias, and what joins them with norms in a post-norm layer (Vaswani et al.
 * 2017, sections 3.1 and 5.4). */
#include "models/layers/dense.h"

#include <math.h>

static lh_dense declare_dense(lh_declare *declaration, int64_t in, int64_t out, lh_init weight,
                              lh_init bias, const char *prefix) {
    const int64_t matrix[] = {in, out};
    lh_dense dense;
    dense.weight = lh_declare_param(declaration, weight, 2, matrix, "%s.weight", prefix);
    dense.bias = lh_declare_param(declaration, bias, 1, &out, "%s.bias", prefix);
    return dense;
}

lh_dense lh_dense_declare(lh_declare *declaration, int64_t in, int64_t out, const char *prefix) {
    const lh_init uniform = lh_init_uniform(1.0 / sqrt((double)in));
    return declare_dense(declaration, in, out, uniform, uniform, prefix);
}

lh_dense lh_dense_declare_normal(lh_declare *declaration, int64_t in, int64_t out, double deviation,
                                 const char *prefix) {
    return declare_dense(declaration, in, out, lh_init_normal(deviation), lh_init_zeros(), prefix);
}

lh_tensor *lh_dense_apply(lh_dense dense, const lh_pass *pass, lh_tensor *x,
                          lh_unary_op activation) {
    return lh_linear(lh_pass_tape(pass), x, lh_pass_param(pass, dense.weight),
                     lh_pass_param(pass, dense.bias), activation);
}

lh_tensor *lh_post_norm_join(lh_norm norm, const lh_pass *pass, double dropout, lh_tensor *x,
                             lh_tensor *y) {
    return lh_norm_apply(norm, pass,
                         lh_add(lh_pass_tape(pass), x, lh_pass_dropout(pass, dropout, y)));
}

lh_tensor *lh_post_norm_network_apply(const lh_post_norm_network *network, const lh_pass *pass,
                                      double dropout, lh_unary_op activation, lh_tensor *x) {
    lh_tensor *hidden =
        lh_pass_dropout(pass, dropout, lh_dense_apply(network->in, pass, x, activation));
    lh_tensor *y = lh_dense_apply(network->back, pass, hidden, LH_UNARY_IDENTITY);
    return lh_post_norm_join(network->norm, pass, dropout, x, y);
}
