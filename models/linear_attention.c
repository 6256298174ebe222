/* Linear attention (Katharopoulos et al. 2020): a Transformer whose softmax is replaced by the
 * feature map phi(x) = elu(x) + 1 (eq. 7), so that a causal attention is a recurrence with a matrix
 * for a state (section 3.4):
 *   S_i = S_{i-1} + phi(k_i)^T v_i,  z_i = z_{i-1} + phi(k_i)^T,
 *   y_i = phi(q_i) S_i / (phi(q_i) z_i)                        (eqs. 9 to 12 and 18 to 20).
 * Layers are those of the released fast-transformers: post-norm, with biases, ReLU, and a norm
 * behind the last. */
#include <math.h>

#include "models/layers/common.h"
#include "models/layers/dense.h"

enum { LAYERS = 64 };

typedef struct layer {
    lh_dense query, key, value, out;
    lh_norm attention_norm;
    lh_post_norm_network network;
    int memory; /* state: S of each head, and z as its last column */
} layer;

typedef struct instance {
    int64_t vocabulary, layers, width, heads, head_width, hidden;
    double dropout, epsilon;
    int embedding;
    lh_norm norm;
    lh_dense head;
    layer layer[LAYERS];
} instance;

static const lh_option instance_options[] = {
    LH_INTEGER("layers", instance, layers, 6, 1, LAYERS, "layers (L)"),
    LH_INTEGER("width", instance, width, 512, 1, 65536, "embedding size D"),
    LH_INTEGER("heads", instance, heads, 8, 1, 1024, "attention heads"),
    LH_INTEGER("head_width", instance, head_width, 0, 0, 4096, "size of a head; 0: width / heads"),
    LH_INTEGER("hidden", instance, hidden, 0, 0, 1048576,
               "hidden size of the feed-forward network; 0: 4 * width"),
    LH_REAL("dropout", instance, dropout, 0, 0, 0.99,
            "dropout rate of embeddings, hidden units and residual branches in training"),
    LH_REAL("epsilon", instance, epsilon, 1e-6, 0, 1, "what is added to the divisor of eq. 9"),
    {0}};

static const lh_option_table options[] = {LH_OWN_TABLE(instance), {0}};

static int64_t inner_of(const instance *model) {
    return model->heads * model->head_width;
}

/* ---- parameters ---- */

static void declare_layer(instance *model, int64_t i, lh_declare *declaration) {
    layer *l = &model->layer[i];
    const int64_t width = model->width, inner = inner_of(model),
                  memory[] = {model->heads, model->head_width, model->head_width + 1};
    char name[LH_LAYER_NAME];
    l->query =
        lh_dense_declare(declaration, width, inner, lh_layer_name(name, i, "attention.query"));
    l->key = lh_dense_declare(declaration, width, inner, lh_layer_name(name, i, "attention.key"));
    l->value =
        lh_dense_declare(declaration, width, inner, lh_layer_name(name, i, "attention.value"));
    l->out = lh_dense_declare(declaration, inner, width, lh_layer_name(name, i, "attention.out"));
    l->attention_norm =
        lh_norm_declare(declaration, width, lh_layer_name(name, i, "attention.norm"));
    l->network.in = lh_dense_declare(declaration, width, model->hidden,
                                     lh_layer_name(name, i, "feed_forward.in"));
    l->network.back = lh_dense_declare(declaration, model->hidden, width,
                                       lh_layer_name(name, i, "feed_forward.out"));
    l->network.norm =
        lh_norm_declare(declaration, width, lh_layer_name(name, i, "feed_forward.norm"));
    l->memory = lh_declare_state(declaration, LH_STATE_REPLACE, 3, memory, "layers.%lld.memory",
                                 (long long)i);
}

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    instance *model = self;
    const int64_t table[] = {setup->vocabulary, model->width};
    LH_TRY(lh_require_tokens(setup));
    LH_TRY(lh_settle_head_width(model->width, model->heads, &model->head_width));
    model->vocabulary = setup->vocabulary;
    if (model->hidden == 0) model->hidden = 4 * model->width;
    model->embedding =
        lh_declare_param(declaration, lh_init_normal(1.0), 2, table, "embedding.weight");
    lh_declare_embedding(declaration);
    for (int64_t i = 0; i < model->layers; ++i)
        declare_layer(model, i, declaration);
    model->norm = lh_norm_declare(declaration, model->width, "norm");
    const lh_init uniform = lh_init_uniform(1.0 / sqrt((double)model->width));
    model->head.weight = lh_declare_param(declaration, uniform, 2, table, "head.weight");
    model->head.bias = lh_declare_param(declaration, uniform, 1, table, "head.bias");
    return LH_OK;
}

/* ---- forward ---- */

/* phi(x) = elu(x) + 1, eq. 7. */
static lh_tensor *feature_map(lh_tape *tape, lh_tensor *x) {
    if (x == NULL) return NULL;
    lh_tensor *one = lh_filled(tape, 1, &x->shape[2], 1.0);
    return lh_add_row(tape, lh_unary(tape, LH_UNARY_ELU, x), one);
}

/* Values with a last number 1, so that the same scan sums z beside S: [batch][length][heads *
 * (head_width + 1)]. */
static lh_tensor *with_ones(const instance *model, lh_tape *tape, lh_tensor *v) {
    if (v == NULL) return NULL;
    const int64_t one[] = {v->shape[0], v->shape[1], model->heads, 1};
    lh_tensor *const parts[] = {lh_split_heads(tape, v, model->head_width),
                                lh_filled(tape, 4, one, 1.0)};
    return lh_join_heads(tape, lh_concat(tape, 3, parts, 2));
}

/* y = phi(q) S / (phi(q) z + epsilon), eq. 9, from both [batch][length][heads * (head_width + 1)].
 */
static lh_tensor *divide(const instance *model, lh_tape *tape, lh_tensor *sums) {
    const int64_t width = model->head_width, one = 1;
    sums = lh_split_heads(tape, sums, width + 1);
    lh_tensor *mixed = lh_contiguous(tape, lh_slice(tape, sums, 3, 0, width));
    lh_tensor *divisor = lh_contiguous(tape, lh_slice(tape, sums, 3, width, 1));
    divisor = lh_add_row(tape, divisor, lh_filled(tape, 1, &one, model->epsilon));
    lh_tensor *root = lh_unary(tape, LH_UNARY_RSQRT, divisor);
    lh_tensor *y = lh_multiply_column(tape, mixed, lh_unary(tape, LH_UNARY_SQUARE, root));
    return lh_join_heads(tape, y);
}

static lh_tensor *attend(const instance *model, const layer *l, lh_pass *pass, lh_tensor *x) {
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *q = feature_map(tape, lh_dense_apply(l->query, pass, x, LH_UNARY_IDENTITY));
    lh_tensor *k = feature_map(tape, lh_dense_apply(l->key, pass, x, LH_UNARY_IDENTITY));
    lh_tensor *v = with_ones(model, tape, lh_dense_apply(l->value, pass, x, LH_UNARY_IDENTITY));
    lh_tensor *memory = NULL;
    lh_tensor *y = lh_decay_scan(tape, q, k, v, NULL, lh_pass_state(pass, l->memory), &memory);
    if (y == NULL || lh_pass_carry(pass, l->memory, memory) != LH_OK) return NULL;
    return lh_dense_apply(l->out, pass, divide(model, tape, y), LH_UNARY_IDENTITY);
}

static lh_tensor *apply_layer(const instance *model, const layer *l, lh_pass *pass, lh_tensor *x) {
    lh_tape *tape = lh_pass_tape(pass);
    const lh_scope scope = lh_scope_open(tape);
    lh_tensor *y = attend(model, l, pass, x);
    y = lh_post_norm_join(l->attention_norm, pass, model->dropout, x, y);
    y = lh_post_norm_network_apply(&l->network, pass, model->dropout, LH_UNARY_RELU, y);
    return lh_scope_close(tape, scope, y);
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    const instance *model = self;
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *x =
        lh_gather(tape, lh_pass_param(pass, model->embedding), lh_pass_batch(pass)->tokens);
    x = lh_pass_dropout(pass, model->dropout, x);
    for (int64_t i = 0; i < model->layers && x != NULL; ++i)
        x = apply_layer(model, &model->layer[i], pass, x);
    out->hidden = lh_norm_apply(model->norm, pass, x);
    out->head_weight = lh_pass_param(pass, model->head.weight);
    out->head_bias = lh_pass_param(pass, model->head.bias);
    return out->hidden != NULL ? LH_OK : lh_failed();
}

/* The recurrence reads and writes each number of its state once a token, whatever the length. */
static double flops_per_token(const void *self, int64_t length) {
    (void)length;
    const instance *model = self;
    const double width = (double)model->width, inner = (double)inner_of(model);
    const double products = 4.0 * width * inner + 2.0 * width * (double)model->hidden;
    const double memory = 2.0 * inner * (double)(model->head_width + 1);
    return 2.0 * ((double)model->layers * (products + memory) + width * (double)model->vocabulary);
}

/* The layout of fast-transformers' encoder. */
static const lh_tensor_name published_names[] = {
    {"layers.#.attention.query_projection.weight", "layers.#.attention.query.weight",
     LH_TRANSPOSED},
    {"layers.#.attention.query_projection.bias", "layers.#.attention.query.bias", LH_ALIKE},
    {"layers.#.attention.key_projection.weight", "layers.#.attention.key.weight", LH_TRANSPOSED},
    {"layers.#.attention.key_projection.bias", "layers.#.attention.key.bias", LH_ALIKE},
    {"layers.#.attention.value_projection.weight", "layers.#.attention.value.weight",
     LH_TRANSPOSED},
    {"layers.#.attention.value_projection.bias", "layers.#.attention.value.bias", LH_ALIKE},
    {"layers.#.attention.out_projection.weight", "layers.#.attention.out.weight", LH_TRANSPOSED},
    {"layers.#.attention.out_projection.bias", "layers.#.attention.out.bias", LH_ALIKE},
    {"layers.#.norm1.weight", "layers.#.attention.norm.gain", LH_ALIKE},
    {"layers.#.norm1.bias", "layers.#.attention.norm.bias", LH_ALIKE},
    {"layers.#.linear1.weight", "layers.#.feed_forward.in.weight", LH_TRANSPOSED},
    {"layers.#.linear1.bias", "layers.#.feed_forward.in.bias", LH_ALIKE},
    {"layers.#.linear2.weight", "layers.#.feed_forward.out.weight", LH_TRANSPOSED},
    {"layers.#.linear2.bias", "layers.#.feed_forward.out.bias", LH_ALIKE},
    {"layers.#.norm2.weight", "layers.#.feed_forward.norm.gain", LH_ALIKE},
    {"layers.#.norm2.bias", "layers.#.feed_forward.norm.bias", LH_ALIKE},
    {"norm.weight", "norm.gain", LH_ALIKE},
    {"norm.bias", "norm.bias", LH_ALIKE},
    {"embedding.weight", "embedding.weight", LH_ALIKE},
    {"head.weight", "head.weight", LH_ALIKE},
    {"head.bias", "head.bias", LH_ALIKE},
    {NULL, NULL, LH_ALIKE},
};

static const lh_refused refused[] = {LH_NO_ATTENTION, LH_NO_STAIRCASE, {0}};

const lh_model_class lh_model_linear_attention = {
    .name = "linear_attention",
    .summary = "Transformer with linear attention: a recurrence whose state is a matrix",
    .paper = "Katharopoulos et al. 2020, arXiv:2006.16236",
    .layout = "layer norms add 1e-5 to the variance",
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
