/* LSTM language model (Hochreiter and Schmidhuber 1997), the recurrent baseline of the Staircase
 * paper: PyTorch's layers, with one bias per gate. */
#include <math.h>

#include "models/layers/common.h"
#include "models/layers/initial.h"
#include "models/models.h"

enum { LAYERS = 16 };

typedef struct layer {
    int input, recurrent, bias; /* parameters */
    int h, c;                   /* state slots */
} layer;

typedef struct instance {
    int64_t vocabulary, layers, width, hidden;
    double dropout;
    int embedding, head, head_bias;
    layer layer[LAYERS];
} instance;

static const lh_option options[] = {
    {"layers", LH_OPTION_INTEGER, "2", 1, LAYERS, NULL, "number of layers"},
    {"width", LH_OPTION_INTEGER, "128", 1, 65536, NULL, "embedding size D"},
    {"hidden", LH_OPTION_INTEGER, "512", 1, 65536, NULL, "cells of a layer"},
    {"dropout", LH_OPTION_REAL, "0", 0, 0.99, NULL, "dropout rate between layers in training"},
    {NULL, LH_OPTION_TEXT, NULL, 0, 0, NULL, NULL}};

static int64_t inputs_of(const instance *model, int64_t i) {
    return i == 0 ? model->width : model->hidden;
}

static void declare_layer(instance *model, int64_t i, lh_declare *declaration) {
    layer *l = &model->layer[i];
    const int64_t gates = 4 * model->hidden, input[] = {inputs_of(model, i), gates},
                  recurrent[] = {model->hidden, gates}, state[] = {model->hidden};
    const lh_init uniform = {LH_INIT_UNIFORM, 0.0, 1.0 / sqrt((double)model->hidden)};
    const long long n = i;
    l->input = lh_declare_param(declaration, uniform, 2, input, "layers.%lld.input", n);
    l->recurrent = lh_declare_param(declaration, uniform, 2, recurrent, "layers.%lld.recurrent", n);
    l->bias = lh_declare_param(declaration, uniform, 1, &gates, "layers.%lld.bias", n);
    l->h = lh_declare_state(declaration, LH_STATE_REPLACE, 1, state, "layers.%lld.h", n);
    l->c = lh_declare_state(declaration, LH_STATE_REPLACE, 1, state, "layers.%lld.c", n);
}

static lh_status declare(void *self, const lh_options *values, const lh_model_setup *setup,
                         lh_declare *declaration) {
    instance *model = self;
    LH_TRY(lh_require_tokens(setup));
    model->vocabulary = setup->vocabulary;
    model->layers = lh_options_integer(values, "layers");
    model->width = lh_options_integer(values, "width");
    model->hidden = lh_options_integer(values, "hidden");
    model->dropout = lh_options_real(values, "dropout");
    const int64_t table[] = {model->vocabulary, model->width},
                  head[] = {model->vocabulary, model->hidden};
    const lh_init uniform = {LH_INIT_UNIFORM, 0.0, 1.0 / sqrt((double)model->hidden)};
    model->embedding =
        lh_declare_param(declaration, lh_init_normal(1.0), 2, table, "embedding.weight");
    lh_declare_embedding(declaration);
    for (int64_t i = 0; i < model->layers; ++i)
        declare_layer(model, i, declaration);
    model->head = lh_declare_param(declaration, uniform, 2, head, "head.weight");
    model->head_bias = lh_declare_param(declaration, uniform, 1, head, "head.bias");
    return LH_OK;
}

/* One layer on x [length][batch][inputs], time first so that a step is one piece of memory. The
 * input's share of all steps' gates is one product. */
static lh_tensor *run_layer(const layer *l, lh_pass *pass, int64_t hidden, lh_tensor *x) {
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *gates = lh_linear(tape, x, lh_pass_param(pass, l->input),
                                 lh_pass_param(pass, l->bias), LH_UNARY_IDENTITY);
    if (gates == NULL) return NULL;
    const int64_t length = x->shape[0], batch = x->shape[1], state[] = {1, batch, hidden},
                  whole[] = {length, batch, hidden}, flat[] = {batch, hidden};
    lh_tensor *recurrent = lh_pass_param(pass, l->recurrent);
    lh_tensor *y = lh_sequence(tape, 3, whole);
    const lh_scope scope = lh_scope_open(tape);
    lh_tensor *h = lh_reshape(tape, lh_pass_state(pass, l->h), 3, state);
    lh_tensor *c = lh_reshape(tape, lh_pass_state(pass, l->c), 3, state);
    for (int64_t t = 0; t < length; ++t) {
        lh_tensor *step = lh_linear_add(tape, lh_slice(tape, gates, 0, t, 1), h, recurrent);
        lh_tensor *next = NULL;
        h = lh_lstm_cell(tape, step, c, &next);
        if (h == NULL || lh_sequence_write(tape, y, 0, t, h) != LH_OK) return NULL;
        c = next;
        lh_scope_close_many(tape, scope, (lh_tensor *const[]){h, c}, 2);
    }
    if (lh_pass_carry(pass, l->h, lh_reshape(tape, h, 2, flat)) != LH_OK) return NULL;
    return lh_pass_carry(pass, l->c, lh_reshape(tape, c, 2, flat)) == LH_OK ? y : NULL;
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    static const int swap[] = {1, 0, 2};
    const instance *model = self;
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *x =
        lh_gather(tape, lh_pass_param(pass, model->embedding), lh_pass_batch(pass)->tokens);
    x = lh_permute(tape, x, swap);
    for (int64_t i = 0; i < model->layers && x != NULL; ++i) {
        if (i > 0 && lh_pass_is_training(pass)) x = lh_dropout(tape, x, model->dropout, 0);
        x = run_layer(&model->layer[i], pass, model->hidden, x);
    }
    out->hidden = lh_permute(tape, x, swap);
    out->head_weight = lh_pass_param(pass, model->head);
    out->head_bias = lh_pass_param(pass, model->head_bias);
    return out->hidden != NULL ? LH_OK : lh_error_get()->status;
}

static double flops_per_token(const void *self, int64_t length) {
    (void)length;
    const instance *model = self;
    const double hidden = (double)model->hidden;
    double products = hidden * (double)model->vocabulary;
    for (int64_t i = 0; i < model->layers; ++i)
        products += 4.0 * hidden * ((double)inputs_of(model, i) + hidden);
    return 2.0 * products;
}

const lh_model_class lh_model_lstm = {
    .name = "lstm",
    .summary = "LSTM: the recurrent baseline",
    .paper = "Hochreiter and Schmidhuber 1997; Ju et al. 2022, section 4.2",
    .version = 1,
    .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS | LH_ABLE_STATE,
    .options = options,
    .instance_size = sizeof(instance),
    .declare = declare,
    .forward = forward,
    .flops_per_token = flops_per_token,
};
