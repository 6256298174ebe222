/* Transformer-XL for time series, as Huang et al. 2023 (RSA, section 4.1) compare with it: the
 * causal post-norm layers of Dai et al. 2019 over a window of observed steps and the zeros behind
 * them.
 *
 * The windows of a batch row move on by `stride` steps. What a layer reads of the steps that leave
 * the window goes to its memory, which so holds the `memory` steps directly before the window; the
 * steps to predict never get there, and no step is seen twice. */
#include <math.h>

#include "models/layers/common.h"
#include "models/layers/dense.h"
#include "models/layers/recurrence_encoding.h"
#include "models/layers/relative_position.h"
#include "models/series/series_embedding.h"

enum { LAYERS = 32 };

typedef struct layer {
    int query, key_value, out; /* [width][width], [width][2 width], [width][width] */
    lh_relative_position relative;
    lh_recurrence_encoding recurrence;
    lh_norm attention_norm;
    lh_post_norm_network network;
    int memory; /* state slot */
} layer;

typedef enum position_kind { RELATIVE, NONE } position_kind;
static const char *const position_names[] = {"relative", "none", NULL};

typedef struct instance {
    lh_model_setup setup;
    int64_t layers, width, heads, head_width, hidden, memory;
    position_kind positions;
    double dropout;
    lh_recurrence_config recurrence;
    lh_series_embedding embedding;
    lh_dense projection;
    layer layer[LAYERS];
} instance;

static const lh_option instance_options[] = {
    LH_INTEGER("layers", instance, layers, 3, 1, LAYERS, "layers (L)"),
    LH_INTEGER("width", instance, width, 512, 1, 65536, "size of hidden states (d_model)"),
    LH_INTEGER("heads", instance, heads, 8, 1, 1024, "attention heads"),
    LH_INTEGER("hidden", instance, hidden, 0, 0, 1048576,
               "hidden size of the feed-forward network; 0: 4 * width"),
    LH_INTEGER("memory", instance, memory, 0, 0, 1048576,
               "steps before the window that a layer remembers; 0: seq_len"),
    LH_CHOICE("positions", instance, positions, RELATIVE, position_names,
              "relative: Transformer-XL's, in every layer; none"),
    LH_REAL("dropout", instance, dropout, 0.05, 0, 0.99,
            "dropout rate of embeddings, positions, layers and the last hidden states in training"),
    {0}};

static const lh_option_table options[] = {
    LH_OWN_TABLE(instance), LH_TABLE(instance, recurrence, lh_recurrence_config), {0}};

/* ---- declaring: N(0, 0.02), gains N(1, 0.02), as Dai et al. released ---- */

static const double deviation = 0.02;

/* All layers share the content and position vectors of the first. */
static void declare_positions(instance *model, int64_t i, lh_declare *declaration) {
    lh_relative_position *first = &model->layer[0].relative, *own = &model->layer[i].relative;
    const lh_init small = lh_init_normal(deviation);
    char name[LH_LAYER_NAME];
    lh_layer_name(name, i, "attention");
    if (model->positions == NONE) return;
    if (i == 0) {
        lh_relative_position_declare(own, model->width, model->heads, model->head_width, small,
                                     declaration, name);
    } else {
        lh_relative_position_declare_shared(own, first, model->width, small, declaration, name);
    }
}

static void declare_layer(instance *model, int64_t i, lh_declare *declaration) {
    layer *l = &model->layer[i];
    char name[LH_LAYER_NAME];
    const int64_t square[] = {model->width, model->width},
                  twice[] = {model->width, 2 * model->width},
                  memory[] = {model->memory, model->width};
    const lh_init small = lh_init_normal(deviation);
    const long long n = i;
    l->query = lh_declare_param(declaration, small, 2, square, "layers.%lld.attention.query", n);
    l->key_value =
        lh_declare_param(declaration, small, 2, twice, "layers.%lld.attention.key_value", n);
    l->out = lh_declare_param(declaration, small, 2, square, "layers.%lld.attention.out", n);
    declare_positions(model, i, declaration);
    lh_recurrence_encoding_declare(&l->recurrence, &model->recurrence, declaration,
                                   lh_layer_name(name, i, "attention"));
    l->attention_norm = lh_norm_declare_normal(declaration, model->width, deviation,
                                               lh_layer_name(name, i, "attention.norm"));
    l->network.in = lh_dense_declare_normal(declaration, model->width, model->hidden, deviation,
                                            lh_layer_name(name, i, "feed_forward.in"));
    l->network.back = lh_dense_declare_normal(declaration, model->hidden, model->width, deviation,
                                              lh_layer_name(name, i, "feed_forward.out"));
    l->network.norm = lh_norm_declare_normal(declaration, model->width, deviation,
                                             lh_layer_name(name, i, "feed_forward.norm"));
    l->memory = lh_declare_state(declaration, LH_STATE_REPLACE, 2, memory, "layers.%lld.memory", n);
}

static lh_status check_order(const lh_model_setup *setup) {
    if (setup->stride < 1)
        return lh_fail(LH_EOPTION,
                       "remembers earlier windows: give the task sampler=sequential or streams");
    if (setup->stride <= setup->seq_len) return LH_OK;
    return lh_fail(LH_EOPTION,
                   "windows move on by the batch, %lld steps, more than seq_len (%lld): give the "
                   "task a longer seq_len or a smaller batch",
                   (long long)setup->stride, (long long)setup->seq_len);
}

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    instance *model = self;
    LH_TRY(lh_require_series(setup));
    LH_TRY(check_order(setup));
    model->setup = *setup;
    if (model->hidden == 0) model->hidden = 4 * model->width;
    if (model->memory == 0) model->memory = setup->seq_len;
    LH_TRY(lh_divide_heads(model->width, model->heads, &model->head_width));
    LH_TRY(lh_recurrence_config_settle(&model->recurrence, model->heads));
    model->embedding = (lh_series_embedding){
        .channels = setup->output_features, .width = model->width, .dropout = model->dropout};
    lh_series_embedding_declare(&model->embedding, setup, declaration, "embedding");
    for (int64_t i = 0; i < model->layers; ++i)
        declare_layer(model, i, declaration);
    model->projection =
        lh_dense_declare(declaration, model->width, setup->output_features, "projection");
    return LH_OK;
}

/* ---- forward ---- */

static lh_tensor *project(const instance *model, const lh_pass *pass, lh_tensor *x, int weight) {
    return lh_project_heads(lh_pass_tape(pass), x, lh_pass_param(pass, weight), model->head_width);
}

/* Causal attention to the memory and the window. */
static lh_tensor *attend(const instance *model, const layer *l, const lh_pass *pass, lh_tensor *x,
                         lh_tensor *memory, lh_tensor *sinusoids) {
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *const parts[] = {memory, x};
    lh_tensor *q = project(model, pass, x, l->query),
              *joined = project(model, pass, lh_concat(tape, 1, parts, 2), l->key_value);
    lh_attention attention = LH_ATTENTION;
    attention.scale = 1.0 / sqrt((double)model->head_width);
    attention.min_distance = 0;
    attention.keys[0] = (lh_keys){.k = lh_slice(tape, joined, 2, 0, model->heads),
                                  .v = lh_slice(tape, joined, 2, model->heads, model->heads),
                                  .first = -model->memory};
    attention.key_count = 1;
    if (model->positions == RELATIVE)
        q = lh_relative_position_apply(&l->relative, pass, sinusoids, &attention, q);
    lh_tensor *y = lh_attend(tape, &attention, q);
    y = lh_recurrence_encoding_mix(&l->recurrence, pass, &attention, y);
    return lh_linear(tape, lh_join_heads(tape, y), lh_pass_param(pass, l->out), NULL,
                     LH_UNARY_IDENTITY);
}

static lh_tensor *run_layer(const instance *model, const layer *l, lh_pass *pass, lh_tensor *x,
                            lh_tensor *sinusoids) {
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *memory = lh_pass_state(pass, l->memory);
    if (x == NULL) return NULL;
    lh_tensor *leaving = lh_slice(tape, x, 1, 0, model->setup.stride);
    if (lh_pass_carry(pass, l->memory, lh_last_tokens(tape, model->memory, memory, leaving)) !=
        LH_OK)
        return NULL;
    lh_tensor *y = attend(model, l, pass, x, memory, sinusoids);
    y = lh_post_norm_join(l->attention_norm, pass, model->dropout, x, y);
    return lh_post_norm_network_apply(&l->network, pass, model->dropout, LH_UNARY_RELU, y);
}

/* Of all distances that there are; dropped out, too, as released. */
static lh_tensor *distances(const instance *model, const lh_pass *pass) {
    const int64_t reach = model->memory + lh_pass_batch(pass)->length;
    if (model->positions == NONE) return NULL;
    return lh_pass_dropout_table(pass, model->dropout,
                                 lh_sinusoids(lh_pass_tape(pass), reach, model->width));
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    const instance *model = self;
    const lh_model_setup *setup = &model->setup;
    lh_tape *tape = lh_pass_tape(pass);
    const lh_batch *batch = lh_pass_batch(pass);
    lh_tensor *sinusoids = distances(model, pass);
    lh_tensor *x = lh_series_embedding_apply(&model->embedding, pass, batch->vectors);
    for (int64_t i = 0; i < model->layers; ++i) {
        const lh_scope scope = lh_scope_open(tape);
        x = lh_scope_close(tape, scope, run_layer(model, &model->layer[i], pass, x, sinusoids));
    }
    const int64_t seen = lh_observed_steps(setup, batch);
    x = lh_contiguous(tape, lh_slice(tape, x, 1, seen, batch->length - seen));
    out->hidden = lh_dense_apply(model->projection, pass, lh_pass_dropout(pass, model->dropout, x),
                                 LH_UNARY_IDENTITY);
    return out->hidden != NULL ? LH_OK : lh_failed();
}

static lh_status check(const void *self, int64_t length) {
    const instance *model = self;
    return lh_require_window(&model->setup, length);
}

static double flops_per_token(const void *self, int64_t length) {
    const instance *model = self;
    const lh_model_setup *setup = &model->setup;
    const double steps = (double)length, width = (double)model->width,
                 memory = (double)model->memory;
    const double pairs = steps * memory + steps * (steps + 1.0) / 2.0;
    const double products = 2.0 * steps * width * width + 2.0 * (memory + steps) * width * width +
                            2.0 * steps * width * (double)model->hidden;
    const double layer_flops =
        2.0 * (products + (model->positions == RELATIVE ? 3.0 : 2.0) * pairs * width);
    const double head =
        2.0 * (double)lh_asked_steps(setup, length) * width * (double)setup->output_features;
    return ((double)model->layers * layer_flops + head) / steps +
           lh_series_embedding_flops(&model->embedding, setup->time_features);
}

static lh_status probe(const void *self, const lh_params *params, const lh_report *report) {
    const instance *model = self;
    return lh_recurrence_encodings_probe(&model->layer->recurrence, sizeof *model->layer,
                                         model->layers, params, report);
}

const lh_model_class lh_model_series_xl = {
    .name = "series_xl",
    .summary = "Transformer-XL over the windows of a time series",
    .paper = "Dai et al. 2019, arXiv:1901.02860; Huang et al. 2023 (RSA), section 4.1",
    .layout =
        "layer norms add 1e-5 to the variance; relative.content and .position: r_w_bias, r_r_bias",
    .version = 2,
    .abilities = LH_ABLE_VECTORS | LH_ABLE_WINDOWS | LH_ABLE_STATE_TRUNCATED,
    .options = options,
    .instance_size = sizeof(instance),
    .declare = declare,
    .forward = forward,
    .flops_per_token = flops_per_token,
    .check = check,
    .probe = probe,
};
