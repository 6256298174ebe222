#include "models/layers/post_norm.h"

static lh_tensor *drop(const lh_pass *pass, double dropout, lh_tensor *x) {
    return lh_dropout(lh_pass_tape(pass), x, lh_pass_is_training(pass) ? dropout : 0.0, 0);
}

lh_tensor *lh_post_norm_join(lh_norm norm, const lh_pass *pass, double dropout, lh_tensor *x,
                             lh_tensor *y) {
    return lh_norm_apply(norm, pass, lh_add(lh_pass_tape(pass), x, drop(pass, dropout, y)));
}

lh_tensor *lh_post_norm_network_apply(const lh_post_norm_network *network, const lh_pass *pass,
                                      double dropout, lh_unary_op activation, lh_tensor *x) {
    lh_tensor *hidden = drop(pass, dropout, lh_dense_apply(network->in, pass, x, activation));
    lh_tensor *y = lh_dense_apply(network->back, pass, hidden, LH_UNARY_IDENTITY);
    return lh_post_norm_join(network->norm, pass, dropout, x, y);
}
