/* What a window hands on to the next (Yoshida et al. 2020, section 3.1): the mixture of layers of
 * eq. 1, pooling, and the network that makes h_prev. */
#include "models/gpt2/window_summary.h"

#include <math.h>

#include "models/layers/common.h"

/* Glorot and Bengio 2010, eq. 16: uniform within sqrt(6 / (in + out)). */
static lh_init glorot(int64_t in, int64_t out) {
    return lh_init_uniform(sqrt(6.0 / (double)(in + out)));
}

/* Widths between the layers of the network: width, hidden ..., embeddings * width. */
static int64_t size_at(const lh_window_summary *summary, int place) {
    if (place == 0) return summary->width;
    return place > summary->hidden_layers ? summary->embeddings * summary->width : summary->hidden;
}

void lh_window_summary_declare(lh_window_summary *summary, lh_declare *declaration) {
    const int64_t layers[] = {1, summary->layers}, width[] = {summary->width};
    const lh_init zero = lh_init_zeros();
    summary->layer_weights =
        lh_declare_param(declaration, zero, 2, layers, "summary.layer_weights");
    lh_declare_undecayed(declaration);
    if (summary->pooling == LH_POOL_ATTENTION)
        summary->query =
            lh_declare_param(declaration, glorot(summary->width, 1), 1, width, "summary.query");
    for (int i = 0; i <= summary->hidden_layers; ++i) {
        const int64_t in = size_at(summary, i), out = size_at(summary, i + 1), shape[] = {in, out};
        summary->weight[i] =
            lh_declare_param(declaration, glorot(in, out), 2, shape, "summary.%d.weight", i);
        summary->bias[i] = lh_declare_param(declaration, zero, 1, shape + 1, "summary.%d.bias", i);
    }
}

lh_tensor *lh_window_summary_mix(const lh_window_summary *summary, const lh_gpt2_run *run,
                                 lh_tensor *layers) {
    if (layers == NULL) return NULL;
    const int64_t flat[] = {summary->layers, -1};
    lh_tensor *weights = lh_softmax(run->tape, run->param[summary->layer_weights]);
    lh_tensor *sum =
        lh_matmul(run->tape, weights, lh_reshape(run->tape, layers, 2, flat), false, false);
    return lh_reshape(run->tape, sum, layers->rank - 1, layers->shape + 1);
}

/* One query for all rows, which attends to the tokens (softmax of query . h / sqrt(width)). */
static lh_tensor *pool_by_attention(const lh_window_summary *summary, const lh_gpt2_run *run,
                                    lh_tensor *x) {
    const int64_t rows = x->shape[0], width = summary->width;
    const int64_t query[] = {rows, 1, 1, width}, out[] = {rows, width};
    lh_tensor *repeated = lh_repeat(run->tape, run->param[summary->query], rows);
    lh_tensor *heads = lh_split_heads(run->tape, x, width);
    lh_attention attention = LH_ATTENTION;
    attention.scale = 1.0 / sqrt((double)width);
    attention.keys[attention.key_count++] = (lh_keys){.k = heads, .v = heads, .everywhere = true};
    lh_tensor *y = lh_attend(run->tape, &attention, lh_reshape(run->tape, repeated, 4, query));
    return y == NULL ? NULL : lh_reshape(run->tape, y, 2, out);
}

lh_tensor *lh_window_summary_pool(const lh_window_summary *summary, const lh_gpt2_run *run,
                                  lh_tensor *x) {
    if (x == NULL) return NULL;
    switch (summary->pooling) {
    case LH_POOL_MAX:
        return lh_maximum(run->tape, x, 1);
    case LH_POOL_ATTENTION:
        return pool_by_attention(summary, run, x);
    case LH_POOL_MEAN:
        break;
    }
    return lh_mean(run->tape, x, 1);
}

lh_tensor *lh_window_summary_project(const lh_window_summary *summary, const lh_gpt2_run *run,
                                     lh_tensor *z) {
    for (int i = 0; i <= summary->hidden_layers; ++i)
        z = lh_linear(run->tape, z, run->param[summary->weight[i]], run->param[summary->bias[i]],
                      i < summary->hidden_layers ? LH_UNARY_RELU : LH_UNARY_IDENTITY);
    if (z == NULL) return NULL;
    const int64_t shape[] = {z->shape[0], summary->embeddings, summary->width};
    return lh_reshape(run->tape, z, 3, shape);
}

double lh_window_summary_flops(const lh_window_summary *summary, int64_t tokens) {
    const double width = (double)summary->width, mixed = (double)summary->layers * width;
    double flops = 2.0 * mixed * (summary->pooling == LH_POOL_MEAN ? 1.0 : (double)tokens);
    if (summary->pooling == LH_POOL_ATTENTION) flops += 4.0 * (double)tokens * width;
    for (int i = 0; i <= summary->hidden_layers; ++i)
        flops += 2.0 * (double)size_at(summary, i) * (double)size_at(summary, i + 1);
    return flops;
}
