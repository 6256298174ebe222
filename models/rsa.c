/* Self-attention with recurrence and nothing else (Huang et al. 2023, sections 2.2 and 3): a layer
 * is a linear RNN written as heads (Proposition 2), mixed with self-attention by the gate of eq. 4,
 *
 *   y_t = W_o [ ((1 - g) softmax(Q K^T) + g P) V ]_t + W_0 x_t + b,
 *
 * where W_0 stands for the head whose matrix is the identity. With the gate fully open that is a
 * linear RNN with as many eigenvalues as there are recurrence encodings. */
#include <math.h>
#include <stdio.h>

#include "models/layers/common.h"
#include "models/layers/recurrence_encoding.h"

enum { LAYERS = 16 };

typedef struct layer {
    int joined, out, own, bias; /* [inputs][3 inner], [inner][width], [inputs][width], [width] */
    lh_recurrence_encoding recurrence;
} layer;

typedef struct instance {
    int64_t features, outputs, layers, width, heads, head_width;
    int64_t pred_len; /* > 0: windows of a series, whose last steps are predicted */
    lh_recurrence_config recurrence;
    int head, head_bias;
    layer layer[LAYERS];
} instance;

static const lh_option instance_options[] = {
    LH_INTEGER("layers", instance, layers, 2, 1, LAYERS, "number of layers"),
    LH_INTEGER("width", instance, width, 2, 1, 65536, "outputs of a layer"),
    LH_INTEGER("heads", instance, heads, 4, 1, 1024, "attention heads"),
    LH_INTEGER("head_width", instance, head_width, 2, 1, 4096, "size of a head"),
    {0}};

static const lh_option_table options[] = {
    LH_OWN_TABLE(instance), LH_TABLE(instance, recurrence, lh_recurrence_config), {0}};

static int64_t inner_of(const instance *model) {
    return model->heads * model->head_width;
}

static int64_t inputs_of(const instance *model, int64_t i) {
    return i == 0 ? model->features : model->width;
}

static lh_init uniform(int64_t fan_in) {
    return lh_init_uniform(1.0 / sqrt((double)fan_in));
}

static void declare_layer(instance *model, int64_t i, lh_declare *declaration) {
    layer *l = &model->layer[i];
    const int64_t inputs = inputs_of(model, i), inner = inner_of(model),
                  joined[] = {inputs, 3 * inner}, out[] = {inner, model->width},
                  own[] = {inputs, model->width};
    const long long n = i;
    char prefix[48];
    (void)snprintf(prefix, sizeof prefix, "layers.%lld.recurrence", n);
    l->joined = lh_declare_param(declaration, uniform(inputs), 2, joined, "layers.%lld.joined", n);
    l->out = lh_declare_param(declaration, uniform(inner), 2, out, "layers.%lld.out", n);
    l->own = lh_declare_param(declaration, uniform(inputs), 2, own, "layers.%lld.own", n);
    l->bias =
        lh_declare_param(declaration, uniform(inputs), 1, &model->width, "layers.%lld.bias", n);
    lh_recurrence_encoding_declare(&l->recurrence, &model->recurrence, declaration, prefix);
}

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    instance *model = self;
    model->features = setup->input_features;
    model->outputs = setup->output_features;
    model->pred_len = setup->pred_len;
    LH_TRY(lh_recurrence_config_settle(&model->recurrence, model->heads));
    for (int64_t i = 0; i < model->layers; ++i)
        declare_layer(model, i, declaration);
    const int64_t head[] = {model->width, model->outputs};
    model->head = lh_declare_param(declaration, uniform(model->width), 2, head, "head.weight");
    model->head_bias =
        lh_declare_param(declaration, uniform(model->width), 1, &model->outputs, "head.bias");
    return LH_OK;
}

static lh_tensor *apply_layer(const instance *model, const layer *l, const lh_pass *pass,
                              lh_tensor *x) {
    lh_tape *tape = lh_pass_tape(pass);
    const int64_t heads = model->heads;
    lh_tensor *joined = lh_linear(tape, x, lh_pass_param(pass, l->joined), NULL, LH_UNARY_IDENTITY);
    joined = lh_split_heads(tape, joined, model->head_width);
    lh_attention attention = LH_ATTENTION;
    attention.scale = 1.0 / sqrt((double)model->head_width);
    attention.min_distance = 0;
    attention.keys[attention.key_count++] =
        (lh_keys){.k = lh_slice(tape, joined, 2, heads, heads),
                  .v = lh_slice(tape, joined, 2, 2 * heads, heads)};
    lh_tensor *y = lh_attend(tape, &attention, lh_slice(tape, joined, 2, 0, heads));
    y = lh_recurrence_encoding_mix(&l->recurrence, pass, &attention, y);
    lh_tensor *own = lh_linear(tape, x, lh_pass_param(pass, l->own), lh_pass_param(pass, l->bias),
                               LH_UNARY_IDENTITY);
    return lh_linear_add(tape, own, lh_join_heads(tape, y), lh_pass_param(pass, l->out));
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    const instance *model = self;
    lh_tensor *x = lh_pass_batch(pass)->vectors;
    for (int64_t i = 0; i < model->layers; ++i)
        x = apply_layer(model, &model->layer[i], pass, x);
    if (x != NULL && model->pred_len > 0)
        x = lh_slice(lh_pass_tape(pass), x, 1, x->shape[1] - model->pred_len, model->pred_len);
    x = lh_contiguous(lh_pass_tape(pass), x);
    out->hidden = lh_linear(lh_pass_tape(pass), x, lh_pass_param(pass, model->head),
                            lh_pass_param(pass, model->head_bias), LH_UNARY_IDENTITY);
    return out->hidden != NULL ? LH_OK : lh_failed();
}

static lh_status probe(const void *self, const lh_params *params, const lh_report *report) {
    const instance *model = self;
    return lh_recurrence_encodings_probe(&model->layer->recurrence, sizeof *model->layer,
                                         model->layers, params, report);
}

static double flops_per_token(const void *self, int64_t length) {
    const instance *model = self;
    const double inner = (double)inner_of(model), width = (double)model->width;
    const double predicted = model->pred_len > 0 ? (double)model->pred_len / (double)length : 1.0;
    double products = predicted * width * (double)model->outputs;
    for (int64_t i = 0; i < model->layers; ++i)
        products += (double)inputs_of(model, i) * (3.0 * inner + width) + inner * width +
                    (double)(length + 1) * inner;
    return 2.0 * products;
}

const lh_model_class lh_model_rsa = {
    .name = "rsa",
    .summary = "Self-attention with recurrence alone: linear RNNs mixed with attention",
    .paper = "Huang et al. 2023, sections 2.2 and 3 and appendix B.2",
    .layout = "joined: queries, keys, values",
    .version = 1,
    .abilities = LH_ABLE_VECTORS,
    .options = options,
    .instance_size = sizeof(instance),
    .declare = declare,
    .forward = forward,
    .flops_per_token = flops_per_token,
    .probe = probe,
};
