/* Mamba-2 (Dao and Gu 2024): layers whose only mixing over time is a short convolution and a
 * recurrence with a matrix for a state, which decays by a number that each head makes of its input:
 *   z, x, B, C, dt = in(norm(u)),  x, B, C = silu(convolution(x, B, C)),
 *   dt = softplus(dt + b),  a_t = exp(-dt_t exp(A)),
 *   S_t = a_t S_{t-1} + B_t^T dt_t x_t,  y_t = C_t S_t + D x_t       (eqs. 1 and 2, section 7.1)
 *   u + out(norm(y silu(z))).
 * The recurrence is computed in chunks, the state-space duality of section 6. Names, first values
 * and what the paper leaves open are those of the authors' mamba_ssm. */
#include <math.h>

#include "models/layers/common.h"
#include "models/layers/state_space.h"

enum { LAYERS = 128, HEADS = LH_STATE_SPACE_HEADS };

typedef struct layer {
    int norm, in, convolution, convolution_bias, step_bias, rate, skip, gated_norm, out;
    int before, memory; /* states: tokens ahead of the convolution, S of each head */
} layer;

typedef struct instance {
    int64_t vocabulary, layers, width, expand, state, head_width, groups, kernel;
    double epsilon, step_min, step_max;
    bool tied;
    int64_t inner, heads, convolved; /* channels of x, their heads, channels of x, B and C */
    lh_stack_ends ends;
    lh_first_decays first;
    layer layer[LAYERS];
} instance;

static const lh_option instance_options[] = {
    LH_INTEGER("layers", instance, layers, 24, 1, LAYERS, "layers (L)"),
    LH_INTEGER("width", instance, width, 768, 1, 65536, "embedding size D"),
    LH_INTEGER("expand", instance, expand, 2, 1, 64, "channels of x for each of width"),
    LH_INTEGER("state", instance, state, 128, 1, 4096, "size of B and C (N)"),
    LH_INTEGER("head_width", instance, head_width, 64, 1, 4096, "channels of a head (P)"),
    LH_INTEGER("groups", instance, groups, 1, 1, HEADS,
               "groups of heads that share B and C; the gated norm is by groups, too"),
    LH_INTEGER("kernel", instance, kernel, 4, 2, 64, "tokens that the convolution reads"),
    LH_REAL("epsilon", instance, epsilon, 1e-5, 0, 1, "what norms add to the mean square"),
    LH_REAL("step_min", instance, step_min, 0.001, 1e-9, 1e3, "least dt that heads begin with"),
    LH_REAL("step_max", instance, step_max, 0.1, 1e-9, 1e3, "largest dt that heads begin with"),
    LH_FLAG("tied", instance, tied, true, "the head is the embedding"),
    {0}};

static const lh_option_table options[] = {LH_OWN_TABLE(instance), {0}};

/* ---- parameters ---- */

static lh_status settle(instance *model, const lh_model_setup *setup) {
    LH_TRY(lh_require_tokens(setup));
    model->vocabulary = setup->vocabulary;
    model->inner = model->expand * model->width;
    model->heads = model->inner / model->head_width;
    model->convolved = model->inner + 2 * model->groups * model->state;
    if (model->inner % model->head_width != 0)
        return lh_fail(LH_EOPTION, "option 'head_width': %lld does not divide expand * width, %lld",
                       (long long)model->head_width, (long long)model->inner);
    if (model->heads > HEADS)
        return lh_fail(LH_EOPTION, "option 'head_width': %lld makes %lld heads, more than %d",
                       (long long)model->head_width, (long long)model->heads, HEADS);
    if (model->heads % model->groups != 0)
        return lh_fail(LH_EOPTION, "option 'groups': %lld does not divide the %lld heads",
                       (long long)model->groups, (long long)model->heads);
    if (model->step_min > model->step_max)
        return lh_fail(LH_EOPTION, "option 'step_min' (%g) is above 'step_max' (%g)",
                       model->step_min, model->step_max);
    lh_spread_decays(model->heads, (const double[]){model->step_min, model->step_max},
                     (const double[]){1, 16}, &model->first);
    return LH_OK;
}

static void declare_layer(instance *model, int64_t i, lh_declare *declaration) {
    layer *l = &model->layer[i];
    const long long n = i;
    const int64_t in[] = {model->width, model->inner + model->convolved + model->heads},
                  out[] = {model->inner, model->width},
                  taps[] = {model->convolved, 1, model->kernel},
                  before[] = {model->kernel - 1, model->convolved},
                  memory[] = {model->heads, model->state, model->head_width};
    const lh_init tap = lh_init_uniform(1.0 / sqrt((double)model->kernel));
    const double joining = 1.0 / sqrt((double)(model->inner * model->layers));
    l->norm =
        lh_declare_param(declaration, lh_init_ones(), 1, &model->width, "layers.%lld.norm.gain", n);
    l->in = lh_declare_param(declaration, lh_init_uniform(1.0 / sqrt((double)model->width)), 2, in,
                             "layers.%lld.in", n);
    l->convolution = lh_declare_param(declaration, tap, 3, taps, "layers.%lld.convolution", n);
    l->convolution_bias =
        lh_declare_param(declaration, tap, 1, taps, "layers.%lld.convolution_bias", n);
    l->step_bias = lh_declare_param(declaration, lh_init_zeros(), 1, &model->heads,
                                    "layers.%lld.step_bias", n);
    lh_declare_initial(declaration, model->first.step_bias);
    l->rate =
        lh_declare_param(declaration, lh_init_zeros(), 1, &model->heads, "layers.%lld.rate", n);
    lh_declare_initial(declaration, model->first.rate);
    l->skip =
        lh_declare_param(declaration, lh_init_ones(), 1, &model->heads, "layers.%lld.skip", n);
    l->gated_norm = lh_declare_param(declaration, lh_init_ones(), 1, &model->inner,
                                     "layers.%lld.gated_norm.gain", n);
    l->out = lh_declare_param(declaration, lh_init_uniform(joining), 2, out, "layers.%lld.out", n);
    l->before = lh_declare_state(declaration, LH_STATE_REPLACE, 2, before, "layers.%lld.before", n);
    l->memory = lh_declare_state(declaration, LH_STATE_REPLACE, 3, memory, "layers.%lld.memory", n);
}

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    instance *model = self;
    LH_TRY(settle(model, setup));
    const int64_t table[] = {model->vocabulary, model->width};
    model->ends.embedding =
        lh_declare_param(declaration, lh_init_normal(0.02), 2, table, "embedding.weight");
    lh_declare_embedding(declaration);
    for (int64_t i = 0; i < model->layers; ++i)
        declare_layer(model, i, declaration);
    model->ends.norm = lh_declare_param(declaration, lh_init_ones(), 1, &model->width, "norm.gain");
    model->ends.head = -1;
    if (!model->tied)
        model->ends.head =
            lh_declare_param(declaration, lh_init_uniform(1.0 / sqrt((double)model->width)), 2,
                             table, "head.weight");
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

/* D x, with a number D for each head. */
static lh_tensor *skip(const run *r, lh_tensor *x) {
    static const int heads_first[] = {1, 0};
    const int64_t flat = r->model->inner;
    lh_tensor *each = lh_repeat(r->tape, parameter(r, r->layer->skip), r->model->head_width);
    each = lh_permute(r->tape, each, heads_first);
    return each != NULL ? lh_multiply_row(r->tape, x, lh_reshape(r->tape, each, 1, &flat)) : NULL;
}

/* The recurrence: x [batch][length][inner], dt [batch][length][heads] after its softplus. */
static lh_tensor *scan(const run *r, lh_tensor *x, lh_tensor *keys, lh_tensor *queries,
                       lh_tensor *dt) {
    lh_tensor *rate = lh_unary(r->tape, LH_UNARY_EXP, parameter(r, r->layer->rate));
    lh_tensor *decay = lh_multiply_row(r->tape, dt, lh_scale(r->tape, rate, -1.0));
    lh_tensor *each = lh_split_heads(r->tape, x, r->model->head_width);
    lh_tensor *values = lh_join_heads(r->tape, lh_multiply_column(r->tape, each, dt));
    lh_tensor *memory = NULL;
    if (decay == NULL || values == NULL) return NULL;
    lh_tensor *y = lh_decay_scan(r->tape, queries, keys, values, decay,
                                 lh_pass_state(r->pass, r->layer->memory), &memory);
    if (y == NULL || lh_pass_carry(r->pass, r->layer->memory, memory) != LH_OK) return NULL;
    return lh_add(r->tape, y, skip(r, x));
}

/* norm(y gate), each group for itself. */
static lh_tensor *gated_norm(const run *r, lh_tensor *y, lh_tensor *gate) {
    const instance *model = r->model;
    lh_tensor *gain = parameter(r, r->layer->gated_norm);
    y = lh_multiply(r->tape, y, gate);
    if (model->groups == 1) return lh_rms_norm(r->tape, y, gain, model->epsilon);
    const int64_t size = model->inner / model->groups;
    lh_tensor *one = lh_filled(r->tape, 1, &size, 1.0);
    lh_tensor *unit = lh_rms_norm(r->tape, lh_split_heads(r->tape, y, size), one, model->epsilon);
    return lh_multiply_row(r->tape, lh_join_heads(r->tape, unit), gain);
}

/* u through `count` columns of the input projection: the weight is cut, which is smaller than what
 * it makes. */
static lh_tensor *project(const run *r, lh_tensor *u, int64_t first, int64_t count,
                          lh_unary_op activation) {
    lh_tensor *weight = lh_slice(r->tape, parameter(r, r->layer->in), 1, first, count);
    return lh_linear(r->tape, u, weight, NULL, activation);
}

/* Channels of the convolution from `first` on; *last gets the tokens that the next segment needs of
 * them. */
static lh_tensor *convolve(const run *r, lh_tensor *u, int64_t first, int64_t count,
                           lh_tensor **last) {
    lh_tensor *x = project(r, u, r->model->inner + first, count, LH_UNARY_IDENTITY);
    *last = lh_slice(r->tape, lh_pass_state(r->pass, r->layer->before), 2, first, count);
    return lh_convolve_on(
        r->tape, x, last, lh_slice(r->tape, parameter(r, r->layer->convolution), 0, first, count),
        lh_slice(r->tape, parameter(r, r->layer->convolution_bias), 0, first, count));
}

static lh_tensor *mix(const run *r, lh_tensor *u) {
    const instance *model = r->model;
    const int64_t inner = model->inner, shared = model->groups * model->state;
    lh_tensor *last[2];
    lh_tensor *gate = project(r, u, 0, inner, LH_UNARY_SILU);
    lh_tensor *x = convolve(r, u, 0, inner, &last[0]);
    lh_tensor *both = convolve(r, u, inner, 2 * shared, &last[1]);
    lh_tensor *keys = lh_slice(r->tape, both, 2, 0, shared);
    lh_tensor *queries = lh_slice(r->tape, both, 2, shared, shared);
    lh_tensor *dt = project(r, u, inner + model->convolved, model->heads, LH_UNARY_IDENTITY);
    dt = lh_unary(r->tape, LH_UNARY_SOFTPLUS,
                  lh_add_row(r->tape, dt, parameter(r, r->layer->step_bias)));
    if (x == NULL || dt == NULL) return NULL;
    lh_tensor *y = gated_norm(r, scan(r, x, keys, queries, dt), gate);
    lh_tensor *before = y != NULL ? lh_concat(r->tape, 2, last, 2) : NULL;
    if (before == NULL || lh_pass_carry(r->pass, r->layer->before, before) != LH_OK) return NULL;
    return y;
}

static lh_tensor *apply_layer(const void *self, lh_pass *pass, int64_t i, lh_tensor *x) {
    const instance *model = self;
    const run r = {model, &model->layer[i], pass, lh_pass_tape(pass)};
    lh_tensor *u = lh_rms_norm(r.tape, x, parameter(&r, r.layer->norm), model->epsilon);
    return lh_linear_add(r.tape, x, mix(&r, u), parameter(&r, r.layer->out));
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    const instance *model = self;
    return lh_stack_forward(&model->ends, model->layers, apply_layer, model->epsilon, model, pass,
                            out);
}

/* The recurrence reads and writes each number of its state once a token, whatever the length. */
static double flops_per_token(const void *self, int64_t length) {
    (void)length;
    const instance *model = self;
    const double width = (double)model->width, inner = (double)model->inner,
                 convolved = (double)model->convolved;
    const double products = width * (inner + convolved + (double)model->heads) + inner * width;
    const double memory = 2.0 * inner * (double)model->state;
    return 2.0 * ((double)model->layers * (products + convolved * (double)model->kernel + memory) +
                  width * (double)model->vocabulary);
}

/* The layout of transformers' Mamba2ForCausalLM. */
static const lh_tensor_name published_names[] = {
    {"backbone.embeddings.weight", "embedding.weight", LH_ALIKE},
    {"backbone.layers.#.norm.weight", "layers.#.norm.gain", LH_ALIKE},
    {"backbone.layers.#.mixer.in_proj.weight", "layers.#.in", LH_TRANSPOSED},
    {"backbone.layers.#.mixer.conv1d.weight", "layers.#.convolution", LH_ALIKE},
    {"backbone.layers.#.mixer.conv1d.bias", "layers.#.convolution_bias", LH_ALIKE},
    {"backbone.layers.#.mixer.dt_bias", "layers.#.step_bias", LH_ALIKE},
    {"backbone.layers.#.mixer.A_log", "layers.#.rate", LH_ALIKE},
    {"backbone.layers.#.mixer.D", "layers.#.skip", LH_ALIKE},
    {"backbone.layers.#.mixer.norm.weight", "layers.#.gated_norm.gain", LH_ALIKE},
    {"backbone.layers.#.mixer.out_proj.weight", "layers.#.out", LH_TRANSPOSED},
    {"backbone.norm_f.weight", "norm.gain", LH_ALIKE},
    {"lm_head.weight", "head.weight", LH_ALIKE},
    {NULL, NULL, LH_ALIKE},
};

static const lh_refused refused[] = {LH_NO_ATTENTION, LH_NO_STAIRCASE, {0}};

const lh_model_class lh_model_mamba2 = {
    .name = "mamba2",
    .summary = "Mamba-2: a state-space layer whose matrix state decays as its input says",
    .paper = "Dao and Gu 2024, arXiv:2405.21060",
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
