/* The causal Transformer that regular languages are learnt with (Huang et al. 2023, section 4.2,
 * after Bhattamishra et al. 2020): post-norm layers as PyTorch's TransformerEncoderLayer has them,
 * with sinusoidal positions, or with Transformer-XL's relative ones ("Transformer*"), whose layers
 * have no biases in the attention and smaller initial values; RSA-Transformer with recurrence
 * encodings, which replace the positions (positions=none). */
#include <math.h>

#include "models/layers/common.h"
#include "models/layers/dense.h"
#include "models/layers/recurrence_encoding.h"
#include "models/layers/relative_position.h"

enum { LAYERS = 64, DEFAULT_DISTANCE = 1000 };

typedef enum position_kind { SINUSOIDAL, RELATIVE, NONE } position_kind;

static const char *const position_names[] = {"sinusoidal", "relative", "none", NULL};

/* Parameters of one layer; a bias is -1 where there is none. */
typedef struct layer {
    int joined, joined_bias, out, out_bias; /* [width][3 inner]: query, key, value */
    lh_relative_position relative;
    lh_recurrence_encoding recurrence;
    lh_norm attention_norm;
    lh_post_norm_network network;
} layer;

typedef struct instance {
    int64_t vocabulary, layers, width, heads, head_width, hidden;
    int64_t longest_distance, zero_memory;
    position_kind positions;
    double dropout;
    lh_recurrence_config recurrence;
    int embedding, embedding_projection, head, head_bias;
    layer layer[LAYERS];
} instance;

static const lh_option instance_options[] = {
    LH_INTEGER("layers", instance, layers, 6, 1, LAYERS, "layers (L)"),
    LH_INTEGER("width", instance, width, 512, 1, 65536, "embedding size D"),
    LH_INTEGER("heads", instance, heads, 8, 1, 1024, "attention heads"),
    LH_INTEGER("head_width", instance, head_width, 0, 0, 4096, "size of a head; 0: width / heads"),
    LH_INTEGER("hidden", instance, hidden, 0, 0, 1048576,
               "hidden size of the feed-forward network; 0: 4 * width"),
    LH_CHOICE(
        "positions", instance, positions, SINUSOIDAL, position_names,
        "sinusoidal: added to the embeddings; relative: Transformer-XL's, in every layer; none"),
    LH_INTEGER("longest_distance", instance, longest_distance, DEFAULT_DISTANCE, 0, 1e9,
               "relative positions: larger distances count as this one"),
    LH_INTEGER(
        "zero_memory", instance, zero_memory, 0, 0, 1e9,
        "relative positions: zero states before a sequence that are attended to, and how many "
        "tokens one then sees, itself included; 0: none, and all; 1600 as released"),
    LH_REAL("dropout", instance, dropout, 0, 0, 0.99,
            "dropout rate of embeddings, attention (not with positions=relative), hidden units and "
            "residual branches in training"),
    {0}};

static const lh_option_table options[] = {
    LH_OWN_TABLE(instance), LH_TABLE(instance, recurrence, lh_recurrence_config), {0}};

static int64_t inner_of(const instance *model) {
    return model->heads * model->head_width;
}

static bool is_relative(const instance *model) {
    return model->positions == RELATIVE;
}

/* ---- parameters ---- */

/* Deviation of a relative model's weights and, around 1, of its gains. */
static const double small = 0.02;

/* PyTorch: the joined projection is Xavier's over all three, its bias 0; transformers: N(0, 0.02)
 * without biases. */
static void declare_attention(const instance *model, layer *l, lh_declare *declaration,
                              const char *prefix) {
    const int64_t inner = inner_of(model), three = 3 * inner, joined[] = {model->width, three},
                  out[] = {inner, model->width};
    const bool relative = is_relative(model);
    const lh_init normal = lh_init_normal(small);
    const lh_init xavier = lh_init_uniform(sqrt(6.0 / (double)(model->width + three)));
    l->joined_bias = l->out_bias = -1;
    l->joined =
        lh_declare_param(declaration, relative ? normal : xavier, 2, joined, "%s.joined", prefix);
    if (!relative)
        l->joined_bias =
            lh_declare_param(declaration, lh_init_zeros(), 1, &three, "%s.joined_bias", prefix);
    l->out = lh_declare_param(declaration,
                              relative ? normal : lh_init_uniform(1.0 / sqrt((double)inner)), 2,
                              out, "%s.out", prefix);
    if (!relative)
        l->out_bias =
            lh_declare_param(declaration, lh_init_zeros(), 1, &model->width, "%s.out_bias", prefix);
    if (relative)
        lh_relative_position_declare(&l->relative, model->width, model->heads, model->head_width,
                                     normal, declaration, prefix);
}

static lh_dense declare_dense(const instance *model, int64_t in, int64_t out,
                              lh_declare *declaration, const char *prefix) {
    return is_relative(model) ? lh_dense_declare_normal(declaration, in, out, small, prefix)
                              : lh_dense_declare(declaration, in, out, prefix);
}

static lh_norm declare_norm(const instance *model, lh_declare *declaration, const char *prefix) {
    return lh_norm_declare_normal(declaration, model->width, is_relative(model) ? small : 0.0,
                                  prefix);
}

static void declare_layer(instance *model, int64_t i, lh_declare *declaration) {
    layer *l = &model->layer[i];
    char name[LH_LAYER_NAME];
    declare_attention(model, l, declaration, lh_layer_name(name, i, "attention"));
    lh_recurrence_encoding_declare(&l->recurrence, &model->recurrence, declaration,
                                   lh_layer_name(name, i, "recurrence"));
    l->attention_norm = declare_norm(model, declaration, lh_layer_name(name, i, "attention.norm"));
    l->network.in = declare_dense(model, model->width, model->hidden, declaration,
                                  lh_layer_name(name, i, "feed_forward.in"));
    l->network.back = declare_dense(model, model->hidden, model->width, declaration,
                                    lh_layer_name(name, i, "feed_forward.out"));
    l->network.norm = declare_norm(model, declaration, lh_layer_name(name, i, "feed_forward.norm"));
}

/* transformers' adaptive embedding has a projection even where it keeps the width. */
static void declare_embedding(instance *model, lh_declare *declaration) {
    const int64_t table[] = {model->vocabulary, model->width},
                  square[] = {model->width, model->width};
    const bool relative = is_relative(model);
    model->embedding =
        lh_declare_param(declaration, relative ? lh_init_normal(small) : lh_init_uniform(0.1), 2,
                         table, "embedding.weight");
    lh_declare_embedding(declaration);
    if (relative)
        model->embedding_projection =
            lh_declare_param(declaration, lh_init_normal(0.01), 2, square, "embedding.projection");
}

/* Bhattamishra et al.'s wrappers: one sets the head's first values, the other leaves PyTorch's. */
static void declare_head(instance *model, lh_declare *declaration) {
    const int64_t shape[] = {model->vocabulary, model->width};
    const bool relative = is_relative(model);
    const lh_init standard = lh_init_uniform(1.0 / sqrt((double)model->width));
    model->head = lh_declare_param(declaration, relative ? standard : lh_init_uniform(0.1), 2,
                                   shape, "head.weight");
    model->head_bias =
        lh_declare_param(declaration, relative ? standard : lh_init_zeros(), 1, shape, "head.bias");
}

static lh_status check_positions(const instance *model) {
    const lh_part_option idle[] = {
        {"longest_distance", model->longest_distance != DEFAULT_DISTANCE},
        {"zero_memory", model->zero_memory != 0},
        {0}};
    return is_relative(model) ? LH_OK : lh_refuse_idle(idle, "positions=relative");
}

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    instance *model = self;
    LH_TRY(lh_require_tokens(setup));
    model->vocabulary = setup->vocabulary;
    if (model->hidden == 0) model->hidden = 4 * model->width;
    LH_TRY(check_positions(model));
    LH_TRY(lh_settle_head_width(model->width, model->heads, &model->head_width));
    LH_TRY(lh_recurrence_config_settle(&model->recurrence, model->heads));
    declare_embedding(model, declaration);
    for (int64_t i = 0; i < model->layers; ++i)
        declare_layer(model, i, declaration);
    declare_head(model, declaration);
    return LH_OK;
}

/* ---- forward ---- */

/* One forward pass. */
typedef struct run {
    const instance *model;
    lh_pass *pass;
    lh_tape *tape;
    double dropout;       /* 0 outside training */
    lh_tensor *sinusoids; /* of distances, where positions are relative */
} run;

static lh_tensor *drop(const run *r, lh_tensor *x) {
    return lh_dropout(r->tape, x, r->dropout, 0);
}

static lh_tensor *embed(const run *r) {
    const instance *model = r->model;
    const lh_batch *batch = lh_pass_batch(r->pass);
    lh_tensor *x = lh_gather(r->tape, lh_pass_param(r->pass, model->embedding), batch->tokens);
    if (is_relative(model))
        x = lh_linear(r->tape, x, lh_pass_param(r->pass, model->embedding_projection), NULL,
                      LH_UNARY_IDENTITY);
    x = lh_scale(r->tape, x, sqrt((double)model->width));
    if (model->positions == SINUSOIDAL)
        x = lh_add_batch(r->tape, x, lh_sinusoids(r->tape, batch->length, model->width));
    return drop(r, x);
}

/* Zeros that stand before the sequence. transformers 2.5.1 lets row i see those of distances up to
 * zero_memory - 1 ("same_length"). */
static void add_zero_memory(const run *r, const lh_tensor *q, lh_attention *attention) {
    const int64_t count = r->model->zero_memory;
    const int64_t shape[] = {q->shape[0], count, q->shape[2], q->shape[3]};
    if (count == 0) return;
    lh_tensor *zeros = lh_zeros(r->tape, 4, shape);
    attention->max_distance = count - 1;
    attention->keys[attention->key_count++] = (lh_keys){.k = zeros, .v = zeros, .first = -count};
}

static lh_tensor *parameter(const run *r, int index) {
    return index >= 0 ? lh_pass_param(r->pass, index) : NULL;
}

static lh_tensor *attend(const run *r, const layer *l, lh_tensor *x) {
    const instance *model = r->model;
    const int64_t heads = model->heads;
    lh_tensor *joined = lh_linear(r->tape, x, lh_pass_param(r->pass, l->joined),
                                  parameter(r, l->joined_bias), LH_UNARY_IDENTITY);
    joined = lh_split_heads(r->tape, joined, model->head_width);
    lh_tensor *q = lh_slice(r->tape, joined, 2, 0, heads);
    lh_attention attention = LH_ATTENTION;
    attention.scale = 1.0 / sqrt((double)model->head_width);
    attention.min_distance = 0;
    attention.keys[attention.key_count++] =
        (lh_keys){.k = lh_slice(r->tape, joined, 2, heads, heads),
                  .v = lh_slice(r->tape, joined, 2, 2 * heads, heads)};
    if (q == NULL) return NULL;
    if (is_relative(model)) {
        add_zero_memory(r, q, &attention);
        q = lh_relative_position_apply(&l->relative, r->pass, r->sinusoids, &attention, q);
    } else {
        attention.dropout = r->dropout;
    }
    lh_tensor *y = lh_attend(r->tape, &attention, q);
    y = lh_recurrence_encoding_mix(&l->recurrence, r->pass, &attention, y);
    return lh_linear(r->tape, lh_join_heads(r->tape, y), lh_pass_param(r->pass, l->out),
                     parameter(r, l->out_bias), LH_UNARY_IDENTITY);
}

static lh_tensor *apply_layer(const run *r, const layer *l, lh_tensor *x) {
    const lh_scope scope = lh_scope_open(r->tape);
    lh_tensor *y = attend(r, l, x);
    y = lh_post_norm_join(l->attention_norm, r->pass, r->model->dropout, x, y);
    y = lh_post_norm_network_apply(&l->network, r->pass, r->model->dropout, LH_UNARY_RELU, y);
    return lh_scope_close(r->tape, scope, y);
}

/* Sinusoids of all distances that queries of a sequence of this length can have. */
static lh_tensor *distances(const run *r, int64_t length) {
    const instance *model = r->model;
    const int64_t reach = length + model->zero_memory, most = model->longest_distance + 1;
    return lh_pass_dropout_table(r->pass, model->dropout,
                                 lh_sinusoids(r->tape, reach < most ? reach : most, model->width));
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    const instance *model = self;
    run r = {.model = model,
             .pass = pass,
             .tape = lh_pass_tape(pass),
             .dropout = lh_pass_is_training(pass) ? model->dropout : 0.0};
    if (is_relative(model)) r.sinusoids = distances(&r, lh_pass_batch(pass)->length);
    lh_tensor *x = embed(&r);
    for (int64_t i = 0; i < model->layers; ++i)
        x = apply_layer(&r, &model->layer[i], x);
    out->hidden = is_relative(model) ? drop(&r, x) : x;
    out->head_weight = lh_pass_param(pass, model->head);
    out->head_bias = lh_pass_param(pass, model->head_bias);
    return out->hidden != NULL ? LH_OK : lh_failed();
}

/* ---- accounting and figures ---- */

static lh_status probe(const void *self, const lh_params *params, const lh_report *report) {
    const instance *model = self;
    return lh_recurrence_encodings_probe(&model->layer->recurrence, sizeof *model->layer,
                                         model->layers, params, report);
}

/* Keys that a query sees on average. */
static double visible_keys(const instance *model, int64_t length) {
    return model->zero_memory > 0 ? (double)model->zero_memory : 0.5 * (double)(length + 1);
}

static double flops_per_token(const void *self, int64_t length) {
    const instance *model = self;
    const double width = (double)model->width, inner = (double)inner_of(model);
    const double products = 4.0 * width * inner + 2.0 * width * (double)model->hidden;
    /* Scores, mixing and position vectors. */
    const double attention = (is_relative(model) ? 3.0 : 2.0) * visible_keys(model, length) * inner;
    const double embedding = is_relative(model) ? width * width : 0.0;
    return 2.0 * ((double)model->layers * (products + attention) + embedding +
                  width * (double)model->vocabulary);
}

const lh_model_class lh_model_transformer = {
    .name = "transformer",
    .summary = "Causal Transformer with post-norm layers, absolute or relative positions",
    .paper = "Vaswani et al. 2017, arXiv:1706.03762; Huang et al. 2023, section 4.2",
    .layout = "layer norms add 1e-5 to the variance; joined: queries, keys, values",
    .version = 2,
    .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS,
    .options = options,
    .instance_size = sizeof(instance),
    .declare = declare,
    .forward = forward,
    .flops_per_token = flops_per_token,
    .probe = probe,
};
