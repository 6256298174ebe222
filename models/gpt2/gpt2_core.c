/* GPT-2's blocks (Radford et al. 2019, section 2.3) on one window, which may see inserted vectors
 * and a cache: options, parameters, forward pass, cost. */
#include "models/gpt2/gpt2_core.h"

#include <math.h>
#include <stdio.h>

#include "harness/ops/ops.h"
#include "models/layers/common.h"

static const double epsilon = 1e-5;

/* ---- options and parameters ---- */

const lh_option lh_gpt2_config_options[] = {
    LH_INTEGER("layers", lh_gpt2_config, layers, 12, 1, LH_GPT2_LAYERS, "blocks (L)"),
    LH_INTEGER("width", lh_gpt2_config, width, 768, 1, 65536, "embedding size (k)"),
    LH_INTEGER("heads", lh_gpt2_config, heads, 12, 1, 1024, "attention heads"),
    LH_INTEGER("context", lh_gpt2_config, context, 1024, 1, 1048576,
               "learned positions: the longest window"),
    LH_REAL("dropout", lh_gpt2_config, dropout, 0.1, 0, 0.99,
            "dropout rate of embeddings, attention and residual branches in training"),
    {0}};

lh_status lh_gpt2_config_settle(lh_gpt2_config *config, const lh_model_setup *setup) {
    config->vocabulary = setup->vocabulary;
    LH_TRY(lh_require_tokens(setup));
    LH_TRY(lh_recurrence_config_settle(&config->recurrence_encoding, config->heads));
    return lh_divide_heads(config->width, config->heads, &config->head_width);
}

/* A weight [in][out] named `name` and its bias. */
static void declare_linear(lh_declare *declaration, double deviation, int64_t in, int64_t out,
                           const char *name, int *weight, int *bias) {
    const int64_t shape[] = {in, out};
    *weight = lh_declare_param(declaration, lh_init_normal(deviation), 2, shape, "%s", name);
    *bias = lh_declare_param(declaration, lh_init_zeros(), 1, shape + 1, "%s_bias", name);
}

/* All weights are normal with deviation 0.02; those that write to the residual stream are divided
 * by sqrt(2 L) (Radford et al. 2019, section 2.3, counts residual layers). */
static void declare_block(lh_gpt2_core *core, int64_t i, lh_declare *declaration) {
    const lh_gpt2_config *config = &core->config;
    const double deviation = 0.02, residual = 0.02 / sqrt(2.0 * (double)config->layers);
    const int64_t width = config->width;
    lh_gpt2_layer *layer = &core->layer[i];
    char name[64];
    (void)snprintf(name, sizeof name, "layers.%lld.norm", (long long)i);
    layer->norm = lh_norm_declare(declaration, width, name);
    (void)snprintf(name, sizeof name, "layers.%lld.attention.joined", (long long)i);
    declare_linear(declaration, deviation, width, 3 * width, name, &layer->joined,
                   &layer->joined_bias);
    (void)snprintf(name, sizeof name, "layers.%lld.attention.out", (long long)i);
    declare_linear(declaration, residual, width, width, name, &layer->out, &layer->out_bias);
    (void)snprintf(name, sizeof name, "layers.%lld.recurrence", (long long)i);
    lh_recurrence_encoding_declare(&layer->recurrence, &config->recurrence_encoding, declaration,
                                   name);
    (void)snprintf(name, sizeof name, "layers.%lld.feed_forward.norm", (long long)i);
    layer->feed_forward_norm = lh_norm_declare(declaration, width, name);
    (void)snprintf(name, sizeof name, "layers.%lld.feed_forward.in", (long long)i);
    declare_linear(declaration, deviation, width, 4 * width, name, &layer->in, &layer->in_bias);
    (void)snprintf(name, sizeof name, "layers.%lld.feed_forward.out", (long long)i);
    declare_linear(declaration, residual, 4 * width, width, name, &layer->feed_forward_out,
                   &layer->feed_forward_out_bias);
}

void lh_gpt2_declare(lh_gpt2_core *core, lh_declare *declaration) {
    const lh_gpt2_config *config = &core->config;
    const int64_t table[] = {config->vocabulary, config->width},
                  positions[] = {config->context, config->width};
    core->embedding =
        lh_declare_param(declaration, lh_init_normal(0.02), 2, table, "embedding.weight");
    lh_declare_embedding(declaration);
    core->positions =
        lh_declare_param(declaration, lh_init_normal(0.01), 2, positions, "positions.weight");
    lh_declare_embedding(declaration);
    for (int64_t i = 0; i < config->layers; ++i)
        declare_block(core, i, declaration);
    core->norm = lh_norm_declare(declaration, config->width, "norm");
}

/* ---- forward ---- */

const lh_gpt2_run *lh_gpt2_begin(const lh_gpt2_core *core, const lh_pass *pass) {
    lh_tape *tape = lh_pass_tape(pass);
    lh_gpt2_run *run = lh_tape_scratch(tape, sizeof *run);
    if (run == NULL) return NULL;
    run->core = core;
    run->tape = tape;
    run->dropout = lh_pass_is_training(pass) ? core->config.dropout : 0.0;
    run->param = lh_pass_params(pass);
    return run->param != NULL ? run : NULL;
}

lh_tensor *lh_gpt2_embed(const lh_gpt2_run *run, lh_tensor *tokens) {
    return lh_gather(run->tape, run->param[run->core->embedding], tokens);
}

lh_tensor *lh_gpt2_place(const lh_gpt2_run *run, lh_tensor *x, int64_t first) {
    if (x == NULL) return NULL;
    lh_tensor *positions =
        lh_slice(run->tape, run->param[run->core->positions], 0, first, x->shape[1]);
    x = lh_add_batch(run->tape, lh_contiguous(run->tape, x), positions);
    return lh_dropout(run->tape, x, run->dropout, 0);
}

static lh_tensor *normed(const lh_gpt2_run *run, lh_tensor *x, lh_norm norm) {
    return lh_layer_norm(run->tape, x, run->param[norm.gain], run->param[norm.bias], epsilon);
}

/* The joined projections of a block for vectors x: [rows][count][3 * width], then as heads
 * [rows][count][3 * heads][head_width]. */
static lh_tensor *project(const lh_gpt2_run *run, const lh_gpt2_layer *l, lh_tensor *x) {
    return lh_linear(run->tape, normed(run, x, l->norm), run->param[l->joined],
                     run->param[l->joined_bias], LH_UNARY_IDENTITY);
}

static lh_tensor *into_heads(const lh_gpt2_run *run, lh_tensor *x) {
    return lh_split_heads(run->tape, x, run->core->config.head_width);
}

/* Keys, then values, from head `first` on. */
static lh_keys keys_from(const lh_gpt2_run *run, lh_tensor *heads, int64_t first) {
    const int64_t count = run->core->config.heads;
    return (lh_keys){.k = lh_slice(run->tape, heads, 2, first, count),
                     .v = lh_slice(run->tape, heads, 2, first + count, count)};
}

static void add_view(const lh_gpt2_run *run, const lh_gpt2_layer *l, const lh_gpt2_view *view,
                     lh_attention *attention) {
    if (view->inserted != NULL) {
        lh_tensor *heads = into_heads(run, project(run, l, view->inserted));
        lh_keys keys = keys_from(run, heads, run->core->config.heads);
        keys.everywhere = true;
        keys.filled = view->filled;
        attention->keys[attention->key_count++] = keys;
    }
    if (view->cached != NULL) {
        lh_keys keys = keys_from(run, into_heads(run, view->cached), 0);
        keys.first = -view->cached->shape[1];
        attention->keys[attention->key_count++] = keys;
    }
}

static lh_tensor *attend(const lh_gpt2_run *run, const lh_gpt2_layer *l, lh_tensor *x,
                         const lh_gpt2_view *view, lh_tensor **keys) {
    const lh_gpt2_config *config = &run->core->config;
    lh_attention attention = LH_ATTENTION;
    attention.scale = 1.0 / sqrt((double)config->head_width);
    attention.min_distance = 0;
    attention.dropout = run->dropout;
    add_view(run, l, view, &attention);
    lh_tensor *joined = project(run, l, x), *heads = into_heads(run, joined);
    attention.keys[attention.key_count++] = keys_from(run, heads, config->heads);
    if (keys != NULL)
        *keys = lh_contiguous(run->tape,
                              lh_slice(run->tape, joined, 2, config->width, 2 * config->width));
    lh_tensor *y =
        lh_attend(run->tape, &attention, lh_slice(run->tape, heads, 2, 0, config->heads));
    y = lh_recurrence_encoding_mix_again(&l->recurrence, run->tape, run->param, &attention, y);
    return lh_join_heads(run->tape, y);
}

/* x + dropout(y weight + bias) */
static lh_tensor *join(const lh_gpt2_run *run, lh_tensor *x, lh_tensor *y, int weight, int bias) {
    y = lh_linear(run->tape, y, run->param[weight], run->param[bias], LH_UNARY_IDENTITY);
    return lh_add(run->tape, x, lh_dropout(run->tape, y, run->dropout, 0));
}

lh_tensor *lh_gpt2_block(const lh_gpt2_run *run, int64_t layer, lh_tensor *x,
                         const lh_gpt2_view *view, lh_tensor **keys) {
    const lh_gpt2_layer *l = &run->core->layer[layer];
    const lh_scope scope = lh_scope_open(run->tape);
    x = join(run, x, attend(run, l, x, view, keys), l->out, l->out_bias);
    lh_tensor *n = normed(run, x, l->feed_forward_norm);
    lh_tensor *hidden =
        lh_linear(run->tape, n, run->param[l->in], run->param[l->in_bias], LH_UNARY_GELU);
    lh_tensor *kept[] = {join(run, x, hidden, l->feed_forward_out, l->feed_forward_out_bias),
                         keys != NULL ? *keys : NULL};
    lh_scope_close_many(run->tape, scope, kept, keys != NULL ? 2 : 1);
    return kept[0];
}

lh_tensor *lh_gpt2_finish(const lh_gpt2_run *run, lh_tensor *x) {
    return normed(run, x, run->core->norm);
}

/* ---- accounting ---- */

double lh_gpt2_block_flops(const lh_gpt2_config *config, int64_t tokens, double pairs,
                           int64_t inserted) {
    const double width = (double)config->width;
    const double projections =
        2.0 * (12.0 * (double)tokens + 3.0 * (double)inserted) * width * width;
    return projections + 4.0 * (pairs + (double)tokens * (double)inserted) * width;
}
