/* The core's options, parameters, layers and cost: attention with positions on the key side (Shaw
 * et al. 2018, eq. 4) and a ReLU network, both pre-norm or both post-norm, as Ju et al. 2022
 * released them. */
#include "models/staircase/staircase_core.h"

#include <math.h>
#include <stdio.h>

#include "models/layers/common.h"

/* ---- options and parameters ---- */

const lh_option lh_staircase_layers_options[] = {LH_INTEGER("layers", lh_staircase_config, layers,
                                                            8, 1, LH_STAIRCASE_LAYERS,
                                                            "layers of the core (L)"),
                                                 {0}};

const lh_option lh_staircase_config_options[] = {
    LH_INTEGER("width", lh_staircase_config, width, 1024, 1, 65536, "embedding size D"),
    LH_INTEGER("heads", lh_staircase_config, heads, 8, 1, 1024, "attention heads"),
    LH_INTEGER("head_width", lh_staircase_config, head_width, 0, 0, 4096,
               "size of a head; 0: width / heads"),
    LH_INTEGER("hidden", lh_staircase_config, hidden, 0, 0, 1048576,
               "hidden size of the feed-forward network; 0: 4 * width"),
    LH_REAL("dropout", lh_staircase_config, dropout, 0, 0, 0.99,
            "dropout rate of attention and feed-forward network in training"),
    LH_FLAG("post_norm", lh_staircase_config, post_norm, false,
            "norms behind the residual sums instead of before attention and feed-forward network"),
    {0}};

const char *const lh_staircase_later_options[] = {"post_norm", NULL};

lh_status lh_staircase_config_settle(lh_staircase_config *config, const lh_model_setup *setup) {
    config->vocabulary = setup->vocabulary;
    if (config->hidden == 0) config->hidden = 4 * config->width;
    LH_TRY(lh_require_tokens(setup));
    LH_TRY(lh_recurrence_config_settle(&config->recurrence_encoding, config->heads));
    return lh_settle_head_width(config->width, config->heads, &config->head_width);
}

/* nn.Linear's initial values: uniform within 1 / sqrt(fan_in), weight and bias alike. */
static lh_init linear_init(int64_t fan_in, double divisor) {
    return lh_init_uniform(1.0 / (sqrt((double)fan_in) * divisor));
}

static void declare_attention(lh_staircase_core *core, int64_t i, double divisor,
                              lh_declare *declaration) {
    const lh_staircase_config *config = &core->config;
    lh_staircase_layer *layer = &core->layer[i];
    const int64_t inner = lh_staircase_inner(config), in[] = {config->width, inner},
                  out[] = {inner, config->width};
    const lh_init weight = linear_init(config->width, 1.0);
    char name[LH_LAYER_NAME], prefix[48];
    (void)snprintf(prefix, sizeof prefix, "layers.%lld.attention.", (long long)i);
    const bool own_keys = i == 0 || !config->share_keys;
    if (!own_keys) *layer = core->layer[0];
    if (own_keys || config->post_norm)
        layer->norm =
            lh_norm_declare(declaration, config->width, lh_layer_name(name, i, "attention.norm"));
    layer->query = lh_declare_param(declaration, weight, 2, in, "%squery", prefix);
    if (own_keys) {
        layer->key = lh_declare_param(declaration, weight, 2, in, "%skey", prefix);
        layer->value = lh_declare_param(declaration, weight, 2, in, "%svalue", prefix);
    }
    layer->out =
        lh_declare_param(declaration, linear_init(inner, divisor), 2, out, "%sout", prefix);
    (void)snprintf(prefix, sizeof prefix, "layers.%lld.recurrence", (long long)i);
    lh_recurrence_encoding_declare(&layer->recurrence, &config->recurrence_encoding, declaration,
                                   prefix);
}

static void declare_feed_forward(lh_staircase_core *core, int64_t i, double divisor,
                                 lh_declare *declaration) {
    const lh_staircase_config *config = &core->config;
    lh_staircase_layer *layer = &core->layer[i];
    const int64_t in[] = {config->width, config->hidden}, out[] = {config->hidden, config->width},
                  hidden[] = {config->hidden}, width[] = {config->width};
    const lh_init first = linear_init(config->width, 1.0),
                  second = linear_init(config->hidden, divisor);
    char name[LH_LAYER_NAME], prefix[48];
    (void)snprintf(prefix, sizeof prefix, "layers.%lld.feed_forward.", (long long)i);
    layer->feed_forward_norm =
        lh_norm_declare(declaration, config->width, lh_layer_name(name, i, "feed_forward.norm"));
    layer->in = lh_declare_param(declaration, first, 2, in, "%sin", prefix);
    layer->in_bias = lh_declare_param(declaration, first, 1, hidden, "%sin_bias", prefix);
    layer->feed_forward_out = lh_declare_param(declaration, second, 2, out, "%sout", prefix);
    layer->out_bias = lh_declare_param(declaration, second, 1, width, "%sout_bias", prefix);
}

void lh_staircase_declare(lh_staircase_core *core, lh_declare *declaration) {
    const lh_staircase_config *config = &core->config;
    const int64_t table[] = {config->vocabulary, config->width},
                  positions[] = {config->positions, config->head_width},
                  bias[] = {config->vocabulary};
    /* The released code divides what is added to a residual stream without norms by sqrt(2 L). */
    const double divisor = config->post_norm ? 1.0 : sqrt(2.0 * (double)config->layers);
    core->embedding =
        lh_declare_param(declaration, lh_init_normal(1.0), 2, table, "embedding.weight");
    lh_declare_embedding(declaration);
    core->positions = lh_declare_param(declaration, lh_init_normal(1.0), 2, positions, "positions");
    lh_declare_undecayed(declaration);
    for (int64_t i = 0; i < config->layers; ++i) {
        declare_attention(core, i, divisor, declaration);
        declare_feed_forward(core, i, divisor, declaration);
    }
    if (!config->post_norm) core->norm = lh_norm_declare(declaration, config->width, "norm");
    const lh_init head = linear_init(config->width, 1.0);
    core->head = lh_declare_param(declaration, head, 2, table, "head.weight");
    core->head_bias = lh_declare_param(declaration, head, 1, bias, "head.bias");
}

/* ---- forward ---- */

lh_staircase_pass lh_staircase_begin(const lh_staircase_core *core, lh_pass *pass) {
    lh_staircase_pass run = {.core = core, .pass = pass, .tape = lh_pass_tape(pass)};
    for (int64_t i = 0; i < core->config.layers; ++i) {
        const lh_staircase_layer *layer = &core->layer[i];
        lh_tensor *const parts[] = {lh_pass_param(pass, layer->query),
                                    lh_pass_param(pass, layer->key),
                                    lh_pass_param(pass, layer->value)};
        run.query_key_value[i] = lh_concat(run.tape, 1, parts, 3);
        run.key_value[i] = lh_concat(run.tape, 1, parts + 1, 2);
    }
    return run;
}

lh_tensor *lh_staircase_embed(const lh_staircase_pass *pass) {
    return lh_gather(pass->tape, lh_pass_param(pass->pass, pass->core->embedding),
                     lh_pass_batch(pass->pass)->tokens);
}

lh_tensor *lh_staircase_tokens(const lh_staircase_pass *pass, lh_tensor *embedded, int64_t size,
                               int64_t times, int64_t step, lh_tensor *left) {
    const bool grows = step * size < embedded->shape[1];
    lh_tensor *fresh = grows ? lh_slice(pass->tape, embedded, 1, step * size, size) : NULL;
    if (left == NULL) return fresh;
    const int64_t gone = step >= times ? size : 0;
    if (left->shape[1] == gone) return fresh;
    if (gone > 0) left = lh_slice(pass->tape, left, 1, gone, left->shape[1] - gone);
    if (!grows) return left;
    lh_tensor *const parts[] = {left, fresh};
    return lh_concat(pass->tape, 1, parts, 2);
}

/* Before attention and network, and behind their residual sums: one of the two norms. */
static lh_tensor *normed_before(const lh_staircase_pass *pass, lh_tensor *x, lh_norm norm) {
    return pass->core->config.post_norm ? x : lh_norm_apply(norm, pass->pass, x);
}

static lh_tensor *normed_behind(const lh_staircase_pass *pass, lh_tensor *x, lh_norm norm) {
    return pass->core->config.post_norm ? lh_norm_apply(norm, pass->pass, x) : x;
}

lh_tensor *lh_staircase_normed(const lh_staircase_pass *pass, int64_t layer, lh_tensor *x) {
    const lh_staircase_layer *l = &pass->core->layer[layer];
    return normed_before(pass, x, l->norm);
}

static lh_tensor *project(const lh_staircase_pass *pass, lh_tensor *x, lh_tensor *weight) {
    return lh_project_heads(pass->tape, x, weight, pass->core->config.head_width);
}

lh_tensor *lh_staircase_keys(const lh_staircase_pass *pass, int64_t layer, lh_tensor *x) {
    const lh_scope scope = lh_scope_open(pass->tape);
    lh_tensor *n = lh_staircase_normed(pass, layer, x);
    return lh_scope_close(pass->tape, scope, project(pass, n, pass->key_value[layer]));
}

static lh_keys split_keys(const lh_staircase_pass *pass, lh_tensor *joined, int64_t first) {
    const int64_t heads = pass->core->config.heads;
    return (lh_keys){.k = lh_slice(pass->tape, joined, 2, 0, heads),
                     .v = lh_slice(pass->tape, joined, 2, heads, heads),
                     .first = first};
}

/* `joined`: queries, and with view->among keys and values. */
static lh_tensor *attend_to(const lh_staircase_pass *pass, int64_t layer, lh_tensor *joined,
                            const lh_staircase_view *view, lh_tensor *before) {
    const lh_staircase_config *config = &pass->core->config;
    const lh_staircase_layer *l = &pass->core->layer[layer];
    lh_attention attention = LH_ATTENTION;
    attention.scale = 1.0 / sqrt((double)config->head_width);
    attention.min_distance = view->min_distance;
    attention.max_distance = view->max_distance;
    attention.positions = lh_pass_param(pass->pass, pass->core->positions);
    attention.position_first = config->first_distance;
    if (lh_pass_is_training(pass->pass)) attention.dropout = config->dropout;
    if (before != NULL) {
        attention.keys[attention.key_count++] = split_keys(pass, before, -before->shape[1]);
    }
    lh_tensor *q = joined;
    if (view->among) {
        const int64_t heads = config->heads;
        q = lh_slice(pass->tape, joined, 2, 0, heads);
        lh_tensor *keys = lh_slice(pass->tape, joined, 2, heads, 2 * heads);
        attention.keys[attention.key_count++] = split_keys(pass, keys, 0);
    }
    lh_tensor *y = lh_attend(pass->tape, &attention, q);
    return lh_recurrence_encoding_mix(&l->recurrence, pass->pass, &attention, y);
}

/* `whole` in rows where a document begins, else `part`: part + begun (whole - part). */
static lh_tensor *choose_rows(const lh_staircase_pass *pass, lh_tensor *whole, lh_tensor *part) {
    lh_tape *tape = pass->tape;
    lh_tensor *starts = lh_pass_batch(pass->pass)->starts;
    if (starts == NULL) return part;
    lh_tensor *apart = lh_subtract(tape, whole, part);
    if (apart == NULL) return NULL;
    const int64_t table[] = {2, 1}, rows[] = {apart->shape[0], -1};
    lh_tensor *begun = lh_gather(tape, lh_reals(tape, 2, table, (const real[]){0, 1}), starts);
    lh_tensor *added = lh_multiply_column(tape, lh_reshape(tape, apart, 2, rows), begun);
    return added != NULL ? lh_add(tape, part, lh_reshape(tape, added, 4, part->shape)) : NULL;
}

static lh_tensor *attend(const lh_staircase_pass *pass, int64_t layer, lh_tensor *x,
                         const lh_staircase_view *view) {
    const lh_staircase_layer *l = &pass->core->layer[layer];
    lh_tensor *n = lh_staircase_normed(pass, layer, x);
    lh_tensor *weight =
        view->among ? pass->query_key_value[layer] : lh_pass_param(pass->pass, l->query);
    lh_tensor *joined = project(pass, n, weight), *before = view->before;
    lh_tensor *y = attend_to(pass, layer, joined, view, before);
    if (view->recent > 0 && before != NULL) {
        const int64_t old = before->shape[1] - view->recent;
        before = lh_slice(pass->tape, before, 1, old, view->recent);
        y = choose_rows(pass, y, attend_to(pass, layer, joined, view, before));
    }
    y = lh_linear_add(pass->tape, x, lh_join_heads(pass->tape, y),
                      lh_pass_param(pass->pass, l->out));
    return normed_behind(pass, y, l->norm);
}

static lh_tensor *feed_forward(const lh_staircase_pass *pass, int64_t layer, lh_tensor *x) {
    const lh_staircase_layer *l = &pass->core->layer[layer];
    lh_tensor *n = normed_before(pass, x, l->feed_forward_norm);
    lh_tensor *hidden = lh_linear(pass->tape, n, lh_pass_param(pass->pass, l->in),
                                  lh_pass_param(pass->pass, l->in_bias), LH_UNARY_RELU);
    hidden = lh_pass_dropout(pass->pass, pass->core->config.dropout, hidden);
    lh_tensor *y =
        lh_linear_add(pass->tape, x, hidden, lh_pass_param(pass->pass, l->feed_forward_out));
    y = lh_add_row(pass->tape, y, lh_pass_param(pass->pass, l->out_bias));
    return normed_behind(pass, y, l->feed_forward_norm);
}

lh_tensor *lh_staircase_apply(const lh_staircase_pass *pass, int64_t layer, lh_tensor *x,
                              const lh_staircase_view *view) {
    const lh_scope scope = lh_scope_open(pass->tape);
    x = attend(pass, layer, x, view);
    return lh_scope_close(pass->tape, scope, feed_forward(pass, layer, x));
}

lh_status lh_staircase_finish(const lh_staircase_pass *pass, lh_tensor *x, lh_output *out) {
    out->hidden = normed_before(pass, x, pass->core->norm);
    out->head_weight = lh_pass_param(pass->pass, pass->core->head);
    out->head_bias = lh_pass_param(pass->pass, pass->core->head_bias);
    return out->hidden != NULL ? LH_OK : lh_failed();
}

/* ---- accounting ---- */

double lh_staircase_apply_flops(const lh_staircase_config *config, const lh_staircase_view *view,
                                int64_t queries, double pairs) {
    const double width = (double)config->width, inner = (double)lh_staircase_inner(config);
    const double projections = view->among ? 4.0 : 2.0; /* query, out; key, value */
    const double products = projections * width * inner + 2.0 * width * (double)config->hidden;
    /* Scores, positions and mixing of values. */
    return 2.0 * (double)queries * products + 6.0 * pairs * inner;
}

double lh_staircase_keys_flops(const lh_staircase_config *config, int64_t count) {
    return 4.0 * (double)count * (double)config->width * (double)lh_staircase_inner(config);
}

double lh_staircase_head_flops(const lh_staircase_config *config) {
    return 2.0 * (double)config->width * (double)config->vocabulary;
}
