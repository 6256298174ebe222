/* The Routing Transformer (Roy et al. 2020): half of the heads attend to their neighbourhood, the
 * other half, in the last layers, to the tokens of their cluster. Layers are those of the released
 * code: post-norm, without biases, GEGLU networks. Which tokens a cluster takes is decided by the
 * whole segment, so that a later token can take the place of an earlier one: causal is what is
 * attended to, not the choice. A segment knows nothing of the one before. */
#include <math.h>

#include "models/layers/common.h"
#include "models/layers/dense.h"
#include "models/routing/routed_heads.h"

enum { LAYERS = 64, ALL = -1 };

/* Parameters of one layer; -1 where there are none. */
typedef struct layer {
    int64_t local; /* heads that are local; the others are routed */
    int query, key, value, out, positions;
    lh_routed_heads routed;
    lh_norm attention_norm;
    int in, gate, back;
    lh_norm network_norm;
} layer;

typedef struct instance {
    int64_t vocabulary, layers, width, heads, head_width, hidden, window;
    int64_t routing_layers, routing_heads;
    double dropout;
    lh_routing_config routing;
    int embedding, head, head_bias;
    layer layer[LAYERS];
} instance;

static const lh_option instance_options[] = {
    LH_INTEGER("layers", instance, layers, 12, 1, LAYERS, "layers (L)"),
    LH_INTEGER("width", instance, width, 512, 1, 65536, "embedding size D"),
    LH_INTEGER("heads", instance, heads, 8, 1, 1024, "attention heads, local and routed"),
    LH_INTEGER("head_width", instance, head_width, 0, 0, 4096, "size of a head; 0: width / heads"),
    LH_INTEGER("hidden", instance, hidden, 0, 0, 1048576,
               "hidden size of the feed-forward network; 0: 4 * width"),
    LH_INTEGER("window", instance, window, 256, 1, 1e6,
               "tokens of a block; local heads see their own block and the one before"),
    LH_INTEGER("routing_layers", instance, routing_layers, ALL, ALL, LAYERS,
               "last layers that have routed heads; -1: all, 0: none"),
    LH_INTEGER("routing_heads", instance, routing_heads, 0, 0, 1024,
               "routed heads of such a layer; 0: half of the heads"),
    LH_REAL("dropout", instance, dropout, 0, 0, 0.99,
            "dropout rate of embeddings, hidden units and residual branches in training"),
    {0}};

static const lh_option_table options[] = {
    LH_OWN_TABLE(instance), LH_TABLE(instance, routing, lh_routing_config), {0}};

/* ---- parameters ---- */

/* tensor2tensor's uniform_unit_scaling with a gain of 0.2: a variance of the gain over the mean of
 * both sides. */
static lh_init unit_scaling(int64_t in, int64_t out) {
    return lh_init_uniform(sqrt(3.0 * 0.2 / (0.5 * (double)(in + out))));
}

static int declare_matrix(lh_declare *declaration, int64_t in, int64_t out, const char *prefix,
                          const char *part) {
    const int64_t shape[] = {in, out};
    if (in * out == 0) return -1;
    return lh_declare_param(declaration, unit_scaling(in, out), 2, shape, "%s.%s", prefix, part);
}

/* Local heads come first. Those that are routed have their queries for keys. */
static void declare_attention(const instance *model, layer *l, lh_declare *declaration,
                              const char *prefix) {
    const int64_t width = model->width, inner = model->heads * model->head_width,
                  own = l->local * model->head_width, reach = l->local > 0 ? 2 * model->window : 0;
    l->query = declare_matrix(declaration, width, inner, prefix, "query");
    l->key = declare_matrix(declaration, width, own, prefix, "key");
    l->value = declare_matrix(declaration, width, inner, prefix, "value");
    l->out = declare_matrix(declaration, inner, width, prefix, "out");
    l->positions = declare_matrix(declaration, reach, model->head_width, prefix, "positions");
    l->routed.heads = model->heads - l->local;
    l->routed.head_width = model->head_width;
    if (l->routed.heads > 0)
        lh_routed_heads_declare(
            &l->routed, &model->routing,
            unit_scaling(model->routing.longest_distance + 1, model->head_width), declaration,
            prefix);
}

static void declare_layer(instance *model, int64_t i, lh_declare *declaration) {
    layer *l = &model->layer[i];
    const bool routes = i >= model->layers - model->routing_layers;
    char name[LH_LAYER_NAME];
    l->local = model->heads - (routes ? model->routing_heads : 0);
    declare_attention(model, l, declaration, lh_layer_name(name, i, "attention"));
    l->attention_norm =
        lh_norm_declare(declaration, model->width, lh_layer_name(name, i, "attention.norm"));
    (void)lh_layer_name(name, i, "feed_forward");
    l->gate = declare_matrix(declaration, model->width, model->hidden, name, "gate");
    l->in = declare_matrix(declaration, model->width, model->hidden, name, "in");
    l->back = declare_matrix(declaration, model->hidden, model->width, name, "out");
    l->network_norm =
        lh_norm_declare(declaration, model->width, lh_layer_name(name, i, "feed_forward.norm"));
}

static lh_status settle(instance *model) {
    LH_TRY(lh_settle_head_width(model->width, model->heads, &model->head_width));
    if (model->hidden == 0) model->hidden = 4 * model->width;
    if (model->routing_layers == ALL) model->routing_layers = model->layers;
    if (model->routing_heads == 0) model->routing_heads = (model->heads + 1) / 2;
    if (model->routing_layers > model->layers)
        return lh_fail(LH_EOPTION,
                       "option 'routing_layers' (%lld) is above 'layers' (%lld); -1 is all",
                       (long long)model->routing_layers, (long long)model->layers);
    if (model->routing_heads > model->heads)
        return lh_fail(LH_EOPTION, "option 'routing_heads' (%lld) is above 'heads' (%lld)",
                       (long long)model->routing_heads, (long long)model->heads);
    return LH_OK;
}

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    instance *model = self;
    LH_TRY(lh_require_tokens(setup));
    LH_TRY(settle(model));
    model->vocabulary = setup->vocabulary;
    const int64_t table[] = {model->vocabulary, model->width};
    const lh_init weight = unit_scaling(model->vocabulary, model->width);
    model->embedding = lh_declare_param(declaration, weight, 2, table, "embedding.weight");
    lh_declare_embedding(declaration);
    for (int64_t i = 0; i < model->layers; ++i)
        declare_layer(model, i, declaration);
    model->head = lh_declare_param(declaration, weight, 2, table, "head.weight");
    model->head_bias = lh_declare_param(declaration, lh_init_zeros(), 1, table, "head.bias");
    return LH_OK;
}

/* ---- forward ---- */

static lh_tensor *project(lh_pass *pass, lh_tensor *x, int weight, lh_unary_op activation) {
    return lh_linear(lh_pass_tape(pass), x, lh_pass_param(pass, weight), NULL, activation);
}

static lh_tensor *project_heads(const instance *model, lh_pass *pass, lh_tensor *x, int weight) {
    return lh_project_heads(lh_pass_tape(pass), x, lh_pass_param(pass, weight), model->head_width);
}

/* softmax_j((q_i . (k_j + p_(i - j))) / sqrt(head_width)) over the own block and the one before
 * (Shaw et al. 2018, eq. 4). */
static lh_tensor *attend_locally(const instance *model, const layer *l, lh_pass *pass, lh_tensor *q,
                                 lh_tensor *k, lh_tensor *v) {
    lh_attention attention = LH_ATTENTION;
    attention.scale = 1.0 / sqrt((double)model->head_width);
    attention.min_distance = 0;
    attention.chunk = model->window;
    attention.chunks_back = 1;
    attention.positions = lh_pass_param(pass, l->positions);
    attention.keys[attention.key_count++] = (lh_keys){.k = k, .v = v};
    return lh_attend(lh_pass_tape(pass), &attention, q);
}

static lh_tensor *attend(const instance *model, const layer *l, lh_pass *pass, lh_tensor *x) {
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *q = project_heads(model, pass, x, l->query);
    lh_tensor *v = project_heads(model, pass, x, l->value);
    lh_tensor *parts[2];
    int count = 0;
    if (q == NULL || v == NULL) return NULL;
    if (l->local > 0)
        parts[count++] = attend_locally(model, l, pass, lh_slice(tape, q, 2, 0, l->local),
                                        project_heads(model, pass, x, l->key),
                                        lh_slice(tape, v, 2, 0, l->local));
    if (l->routed.heads > 0)
        parts[count++] = lh_routed_heads_attend(&l->routed, &model->routing, pass,
                                                lh_slice(tape, q, 2, l->local, l->routed.heads),
                                                lh_slice(tape, v, 2, l->local, l->routed.heads));
    lh_tensor *y = lh_concat(tape, 2, parts, count);
    return project(pass, lh_join_heads(tape, y), l->out, LH_UNARY_IDENTITY);
}

/* (gelu(x gate) * (x in)) out, Shazeer 2020. */
static lh_tensor *feed_forward(const instance *model, const layer *l, lh_pass *pass, lh_tensor *x) {
    lh_tensor *gate = project(pass, x, l->gate, LH_UNARY_GELU);
    lh_tensor *y = project(pass, x, l->in, LH_UNARY_IDENTITY);
    y = lh_pass_dropout(pass, model->dropout, lh_multiply(lh_pass_tape(pass), gate, y));
    return project(pass, y, l->back, LH_UNARY_IDENTITY);
}

static lh_tensor *apply_layer(const instance *model, const layer *l, lh_pass *pass, lh_tensor *x) {
    lh_tape *tape = lh_pass_tape(pass);
    const lh_scope scope = lh_scope_open(tape);
    lh_tensor *y = attend(model, l, pass, x);
    x = lh_post_norm_join(l->attention_norm, pass, model->dropout, x, y);
    y = feed_forward(model, l, pass, x);
    x = lh_post_norm_join(l->network_norm, pass, model->dropout, x, y);
    return lh_scope_close(tape, scope, x);
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    const instance *model = self;
    lh_tensor *table = lh_pass_param(pass, model->embedding);
    lh_tensor *x = lh_gather(lh_pass_tape(pass), table, lh_pass_batch(pass)->tokens);
    x = lh_pass_dropout(pass, model->dropout, x);
    for (int64_t i = 0; i < model->layers && x != NULL; ++i)
        x = apply_layer(model, &model->layer[i], pass, x);
    out->hidden = x;
    out->head_weight = lh_pass_param(pass, model->head);
    out->head_bias = lh_pass_param(pass, model->head_bias);
    return out->hidden != NULL ? LH_OK : lh_failed();
}

/* ---- accounting ---- */

static double layer_flops(const instance *model, const layer *l, int64_t length) {
    const double width = (double)model->width, head = (double)model->head_width,
                 local = (double)l->local, routed = (double)l->routed.heads;
    const double matrices = 3.0 * (local + routed) + local;
    const double products = width * (matrices * head + 3.0 * (double)model->hidden);
    const double seen = 3.0 * head * local * lh_local_pairs(model->window, length) / (double)length;
    return 2.0 * (products + seen) +
           routed * lh_routed_head_flops(&model->routing, length, model->head_width) /
               (double)length;
}

static double flops_per_token(const void *self, int64_t length) {
    const instance *model = self;
    double flops = 2.0 * (double)(model->width * model->vocabulary);
    for (int64_t i = 0; i < model->layers; ++i)
        flops += layer_flops(model, &model->layer[i], length);
    return flops;
}

static const lh_refused refused[] = {
    {"rsa_", "recurrence encodings go by distances in a sequence, and its routed heads attend to "
             "tokens of a cluster"},
    {0}};

const lh_model_class lh_model_routing = {
    .name = "routing",
    .summary = "Routing Transformer: local heads, and heads that attend in clusters of content",
    .paper = "Roy et al. 2020, arXiv:2003.05997",
    .layout = "layer norms add 1e-5 to the variance, that of routed queries 1e-6; local heads come "
              "before routed ones",
    .version = 1,
    .abilities = LH_ABLE_CAUSAL_BY_MASK | LH_ABLE_TOKENS,
    .options = options,
    .instance_size = sizeof(instance),
    .declare = declare,
    .forward = forward,
    .flops_per_token = flops_per_token,
    .refused = refused,
};
