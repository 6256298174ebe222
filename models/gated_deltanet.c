/* Gated DeltaNet (Yang, Kautz and Hatamizadeh 2024): layers whose state is a matrix that decays and
 * is led by the delta rule towards answering each key with its value:
 *   q, k, v = silu(convolution(projection(norm(x)))), of which
 *   q and k of unit length, q / sqrt(head_width),
 *   a_t = exp(-exp(A) softplus(step_t + bias)),  beta_t = sigmoid(write_t),
 *   S_t = a_t (1 - beta_t k_t^T k_t) S_{t-1} + beta_t k_t^T v_t,  y_t = q_t S_t    (eq. 10)
 *   x + out(norm(y) silu(gate)),
 * each followed by a feed-forward network with SwiGLU. Computed in chunks (section 3.3). Names,
 * first values and what the paper leaves open are those of the authors' flash-linear-attention. */
#include <math.h>

#include "models/layers/common.h"
#include "models/layers/state_space.h"

enum { LAYERS = 128, HEADS = LH_STATE_SPACE_HEADS };

/* What an input of the recurrence is made with. */
typedef struct path {
    int projection, convolution;
    int before; /* state: tokens ahead of the convolution */
} path;

typedef struct layer {
    path query, key, value;
    int norm, gate, step, step_bias, rate, write, memory_norm, out;
    int memory; /* state: S of each head */
    int network_norm, network_gate, network_in, network_out;
} layer;

typedef struct instance {
    int64_t vocabulary, layers, width, heads, value_heads, head_width, hidden, kernel;
    double expand, epsilon, initial_deviation;
    bool negative_eigenvalues, tied;
    int64_t value_width, keys, values; /* of a head; of all heads */
    lh_stack_ends ends;
    lh_first_decays first;
    layer layer[LAYERS];
} instance;

static const lh_option instance_options[] = {
    LH_INTEGER("layers", instance, layers, 21, 1, LAYERS, "layers (L)"),
    LH_INTEGER("width", instance, width, 2048, 1, 65536, "embedding size D"),
    LH_INTEGER("heads", instance, heads, 6, 1, HEADS, "heads of queries and keys"),
    LH_INTEGER("value_heads", instance, value_heads, 0, 0, HEADS,
               "heads of values, a multiple of heads; 0: heads"),
    LH_INTEGER("head_width", instance, head_width, 256, 1, 4096, "size of a head's query and key"),
    LH_REAL("expand", instance, expand, 2, 0, 64, "size of a head's value for each of head_width"),
    LH_INTEGER("hidden", instance, hidden, 0, 0, 1048576,
               "hidden size of the feed-forward network; 0: 8/3 width, up to the next 256"),
    LH_INTEGER("kernel", instance, kernel, 4, 2, 64, "tokens that the convolutions read"),
    LH_FLAG("negative_eigenvalues", instance, negative_eigenvalues, false,
            "beta within 0 and 2: a state may change its sign"),
    LH_REAL("epsilon", instance, epsilon, 1e-6, 0, 1, "what norms add to the mean square"),
    LH_REAL("initial_deviation", instance, initial_deviation, 0.02, 0, 1,
            "deviation of first weights"),
    LH_FLAG("tied", instance, tied, false, "the head is the embedding"),
    {0}};

static const lh_option_table options[] = {LH_OWN_TABLE(instance), {0}};

/* ---- parameters ---- */

static lh_status settle(instance *model, const lh_model_setup *setup) {
    LH_TRY(lh_require_tokens(setup));
    const double value_width = (double)model->head_width * model->expand;
    model->vocabulary = setup->vocabulary;
    if (model->value_heads == 0) model->value_heads = model->heads;
    if (model->hidden == 0) model->hidden = 256 * ((8 * model->width / 3 + 255) / 256);
    model->value_width = llround(value_width);
    model->keys = model->heads * model->head_width;
    model->values = model->value_heads * model->value_width;
    if (model->value_heads % model->heads != 0)
        return lh_fail(LH_EOPTION, "option 'value_heads': %lld is no multiple of heads, %lld",
                       (long long)model->value_heads, (long long)model->heads);
    if (model->value_width < 1 || fabs(value_width - (double)model->value_width) > 1e-5)
        return lh_fail(LH_EOPTION, "option 'expand': head_width times %g is %g, no whole number",
                       model->expand, value_width);
    lh_spread_decays(model->value_heads, (const double[]){0.001, 0.1}, (const double[]){0, 16},
                     &model->first);
    return LH_OK;
}

static int declare_weight(const instance *model, lh_declare *declaration, int64_t in, int64_t out,
                          long long i, const char *name) {
    const int64_t shape[] = {in, out};
    return lh_declare_param(declaration, lh_init_normal(model->initial_deviation), 2, shape,
                            "layers.%lld.%s", i, name);
}

static int declare_gain(lh_declare *declaration, int64_t width, long long i, const char *name) {
    return lh_declare_param(declaration, lh_init_ones(), 1, &width, "layers.%lld.%s.gain", i, name);
}

static path declare_path(const instance *model, lh_declare *declaration, int64_t width, long long i,
                         const char *name) {
    const int64_t taps[] = {width, 1, model->kernel}, before[] = {model->kernel - 1, width};
    path p = {.projection = declare_weight(model, declaration, model->width, width, i, name)};
    p.convolution = lh_declare_param(declaration, lh_init_normal(model->initial_deviation), 3, taps,
                                     "layers.%lld.%s_convolution", i, name);
    p.before = lh_declare_state(declaration, LH_STATE_REPLACE, 2, before, "layers.%lld.%s_before",
                                i, name);
    return p;
}

static void declare_layer(instance *model, int64_t i, lh_declare *declaration) {
    layer *l = &model->layer[i];
    const long long n = i;
    const int64_t width = model->width, heads = model->value_heads,
                  memory[] = {heads, model->head_width, model->value_width};
    l->norm = declare_gain(declaration, width, n, "norm");
    l->query = declare_path(model, declaration, model->keys, n, "query");
    l->key = declare_path(model, declaration, model->keys, n, "key");
    l->value = declare_path(model, declaration, model->values, n, "value");
    l->step = declare_weight(model, declaration, width, heads, n, "step");
    l->step_bias =
        lh_declare_param(declaration, lh_init_zeros(), 1, &heads, "layers.%lld.step_bias", n);
    lh_declare_initial(declaration, model->first.step_bias);
    l->rate = lh_declare_param(declaration, lh_init_zeros(), 1, &heads, "layers.%lld.rate", n);
    lh_declare_initial(declaration, model->first.rate);
    l->write = declare_weight(model, declaration, width, heads, n, "write");
    l->gate = declare_weight(model, declaration, width, model->values, n, "gate");
    l->memory_norm = declare_gain(declaration, model->value_width, n, "memory_norm");
    l->out = declare_weight(model, declaration, model->values, width, n, "out");
    l->memory = lh_declare_state(declaration, LH_STATE_REPLACE, 3, memory, "layers.%lld.memory", n);
    l->network_norm = declare_gain(declaration, width, n, "feed_forward.norm");
    l->network_gate =
        declare_weight(model, declaration, width, model->hidden, n, "feed_forward.gate");
    l->network_in = declare_weight(model, declaration, width, model->hidden, n, "feed_forward.in");
    l->network_out =
        declare_weight(model, declaration, model->hidden, width, n, "feed_forward.out");
}

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    instance *model = self;
    LH_TRY(settle(model, setup));
    const int64_t table[] = {model->vocabulary, model->width};
    const lh_init first = lh_init_normal(model->initial_deviation);
    model->ends.embedding = lh_declare_param(declaration, first, 2, table, "embedding.weight");
    lh_declare_embedding(declaration);
    for (int64_t i = 0; i < model->layers; ++i)
        declare_layer(model, i, declaration);
    model->ends.norm = lh_declare_param(declaration, lh_init_ones(), 1, &model->width, "norm.gain");
    model->ends.head = -1;
    if (!model->tied)
        model->ends.head = lh_declare_param(declaration, first, 2, table, "head.weight");
    return LH_OK;
}

/* ---- forward ---- */

/* One layer in one forward pass. */
typedef struct run {
    const instance *model;
    const layer *layer;
    lh_pass *pass;
    lh_tape *tape;
} run;

static lh_tensor *parameter(const run *r, int index) {
    return lh_pass_param(r->pass, index);
}

static lh_tensor *project(const run *r, lh_tensor *x, int weight, lh_unary_op activation) {
    return lh_linear(r->tape, x, parameter(r, weight), NULL, activation);
}

static lh_tensor *follow(const run *r, const path *p, lh_tensor *u) {
    return lh_carried_convolution(r->pass, p->before,
                                  project(r, u, p->projection, LH_UNARY_IDENTITY),
                                  parameter(r, p->convolution), NULL);
}

/* Queries or keys, each head's of unit length. */
static lh_tensor *unit_heads(const run *r, const path *p, lh_tensor *u) {
    lh_tensor *x = lh_split_heads(r->tape, follow(r, p, u), r->model->head_width);
    return lh_join_heads(r->tape, lh_unit_norm(r->tape, x, 1e-6));
}

/* log a, [batch][length][value_heads]. */
static lh_tensor *decays(const run *r, lh_tensor *u) {
    lh_tensor *step = project(r, u, r->layer->step, LH_UNARY_IDENTITY);
    step = lh_add_row(r->tape, step, parameter(r, r->layer->step_bias));
    lh_tensor *rate = lh_unary(r->tape, LH_UNARY_EXP, parameter(r, r->layer->rate));
    return lh_multiply_row(r->tape, lh_unary(r->tape, LH_UNARY_SOFTPLUS, step),
                           lh_scale(r->tape, rate, -1.0));
}

/* The recurrence, [batch][length][values]. */
static lh_tensor *remember(const run *r, lh_tensor *u) {
    const instance *model = r->model;
    lh_tensor *memory = lh_pass_state(r->pass, r->layer->memory), *end = NULL;
    lh_tensor *queries = unit_heads(r, &r->layer->query, u);
    queries = lh_scale(r->tape, queries, 1.0 / sqrt((double)model->head_width));
    lh_tensor *keys = unit_heads(r, &r->layer->key, u), *values = follow(r, &r->layer->value, u);
    lh_tensor *beta = project(r, u, r->layer->write, LH_UNARY_SIGMOID);
    beta = lh_scale(r->tape, beta, model->negative_eigenvalues ? 2.0 : 1.0);
    lh_tensor *decay = decays(r, u);
    if (decay == NULL) return NULL;
    lh_tensor *written = lh_delta_rule(r->tape, keys, values, beta, decay, memory);
    lh_tensor *y = lh_decay_scan(r->tape, queries, keys, written, decay, memory, &end);
    if (y == NULL || lh_pass_carry(r->pass, r->layer->memory, end) != LH_OK) return NULL;
    return y;
}

/* norm(y) silu(gate), each head for itself. */
static lh_tensor *gated_norm(const run *r, lh_tensor *y, lh_tensor *gate) {
    lh_tensor *heads = lh_split_heads(r->tape, y, r->model->value_width);
    lh_tensor *gain = parameter(r, r->layer->memory_norm);
    lh_tensor *unit = lh_join_heads(r->tape, lh_rms_norm(r->tape, heads, gain, r->model->epsilon));
    return lh_multiply(r->tape, unit, lh_unary(r->tape, LH_UNARY_SILU, gate));
}

/* x + out(norm(y) silu(gate)) */
static lh_tensor *mix(const run *r, lh_tensor *x) {
    lh_tensor *u = lh_rms_norm(r->tape, x, parameter(r, r->layer->norm), r->model->epsilon);
    lh_tensor *gate = project(r, u, r->layer->gate, LH_UNARY_IDENTITY);
    lh_tensor *y = gated_norm(r, remember(r, u), gate);
    return lh_linear_add(r->tape, x, y, parameter(r, r->layer->out));
}

/* x + out(silu(gate(norm(x))) in(norm(x))) (Shazeer 2020, eq. 6) */
static lh_tensor *feed_forward(const run *r, lh_tensor *x) {
    lh_tensor *u = lh_rms_norm(r->tape, x, parameter(r, r->layer->network_norm), r->model->epsilon);
    lh_tensor *gate = project(r, u, r->layer->network_gate, LH_UNARY_SILU);
    lh_tensor *hidden =
        lh_multiply(r->tape, gate, project(r, u, r->layer->network_in, LH_UNARY_IDENTITY));
    return lh_linear_add(r->tape, x, hidden, parameter(r, r->layer->network_out));
}

static lh_tensor *apply_layer(const void *self, lh_pass *pass, int64_t i, lh_tensor *x) {
    const instance *model = self;
    const run r = {model, &model->layer[i], pass, lh_pass_tape(pass)};
    return feed_forward(&r, mix(&r, x));
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    const instance *model = self;
    return lh_stack_forward(&model->ends, model->layers, apply_layer, model->epsilon, model, pass,
                            out);
}

/* The recurrence reads each number of its state twice and writes it once a token, whatever the
 * length. */
static double flops_per_token(const void *self, int64_t length) {
    (void)length;
    const instance *model = self;
    const double width = (double)model->width, keys = (double)model->keys,
                 values = (double)model->values;
    const double products = width * (2.0 * keys + 3.0 * values + 2.0 * (double)model->value_heads +
                                     3.0 * (double)model->hidden);
    const double memory = 3.0 * values * (double)model->head_width;
    const double convolved = (2.0 * keys + values) * (double)model->kernel;
    return 2.0 * ((double)model->layers * (products + convolved + memory) +
                  width * (double)model->vocabulary);
}

/* The layout of flash-linear-attention's GatedDeltaNetForCausalLM. */
static const lh_tensor_name published_names[] = {
    {"model.embeddings.weight", "embedding.weight", LH_ALIKE},
    {"model.layers.#.attn_norm.weight", "layers.#.norm.gain", LH_ALIKE},
    {"model.layers.#.attn.q_proj.weight", "layers.#.query", LH_TRANSPOSED},
    {"model.layers.#.attn.k_proj.weight", "layers.#.key", LH_TRANSPOSED},
    {"model.layers.#.attn.v_proj.weight", "layers.#.value", LH_TRANSPOSED},
    {"model.layers.#.attn.a_proj.weight", "layers.#.step", LH_TRANSPOSED},
    {"model.layers.#.attn.b_proj.weight", "layers.#.write", LH_TRANSPOSED},
    {"model.layers.#.attn.g_proj.weight", "layers.#.gate", LH_TRANSPOSED},
    {"model.layers.#.attn.o_proj.weight", "layers.#.out", LH_TRANSPOSED},
    {"model.layers.#.attn.q_conv1d.weight", "layers.#.query_convolution", LH_ALIKE},
    {"model.layers.#.attn.k_conv1d.weight", "layers.#.key_convolution", LH_ALIKE},
    {"model.layers.#.attn.v_conv1d.weight", "layers.#.value_convolution", LH_ALIKE},
    {"model.layers.#.attn.A_log", "layers.#.rate", LH_ALIKE},
    {"model.layers.#.attn.dt_bias", "layers.#.step_bias", LH_ALIKE},
    {"model.layers.#.attn.o_norm.weight", "layers.#.memory_norm.gain", LH_ALIKE},
    {"model.layers.#.mlp_norm.weight", "layers.#.feed_forward.norm.gain", LH_ALIKE},
    {"model.layers.#.mlp.gate_proj.weight", "layers.#.feed_forward.gate", LH_TRANSPOSED},
    {"model.layers.#.mlp.up_proj.weight", "layers.#.feed_forward.in", LH_TRANSPOSED},
    {"model.layers.#.mlp.down_proj.weight", "layers.#.feed_forward.out", LH_TRANSPOSED},
    {"model.norm.weight", "norm.gain", LH_ALIKE},
    {"lm_head.weight", "head.weight", LH_ALIKE},
    {NULL, NULL, LH_ALIKE},
};

static const lh_refused refused[] = {LH_NO_ATTENTION, LH_NO_STAIRCASE, {0}};

const lh_model_class lh_model_gated_deltanet = {
    .name = "gated_deltanet",
    .summary = "Gated DeltaNet: a matrix state that decays and is corrected by the delta rule",
    .paper = "Yang et al. 2024, arXiv:2412.06464",
    .layout = "RMS norms add option epsilon to the mean square",
    .version = 1,
    .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS | LH_ABLE_STATE,
    .options = options,
    .instance_size = sizeof(instance),
    .declare = declare,
    .forward = forward,
    .flops_per_token = flops_per_token,
    .refused = refused,
    .published_names = published_names,
};
