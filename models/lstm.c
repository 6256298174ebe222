/* Recurrent stacks with PyTorch's layers and one bias per gate: the LSTM (Hochreiter and
 * Schmidhuber 1997), the recurrent baseline of the Staircase paper, and the simple RNN, h_t = g(W_x
 * x_t + W_h h_{t-1} + b) (Elman 1990; Huang et al. 2023, eqs. 1 and 9), which is linear with g the
 * identity. */
#include <math.h>

#include "models/layers/common.h"

enum { LAYERS = 16 };

typedef enum cell_kind { SIMPLE = 1, LSTM = 4 } cell_kind; /* how many gates a cell has */

/* g of a simple cell. */
typedef enum cell_function { LINEAR, TANH, SIGMOID, RELU } cell_function;
static const char *const activation_names[] = {"linear", "tanh", "sigmoid", "relu", NULL};
static const lh_unary_op activations[] = {LH_UNARY_IDENTITY, LH_UNARY_TANH, LH_UNARY_SIGMOID,
                                          LH_UNARY_RELU};

typedef struct layer {
    int input, recurrent, bias; /* parameters */
    int h, c;                   /* state slots; c in an LSTM */
} layer;

typedef struct instance {
    cell_kind cell;
    cell_function function;
    lh_unary_op activation; /* which that is */
    int64_t vocabulary, features, outputs, layers, width, hidden;
    int64_t pred_len; /* > 0: windows of a series, whose last steps are predicted */
    double dropout;
    int embedding, head, head_bias;
    layer layer[LAYERS];
} instance;

static const lh_option instance_options[] = {
    LH_INTEGER("layers", instance, layers, 2, 1, LAYERS, "number of layers"),
    LH_INTEGER("width", instance, width, 128, 1, 65536, "embedding size D"),
    LH_INTEGER("hidden", instance, hidden, 512, 1, 65536, "cells of a layer"),
    LH_REAL("dropout", instance, dropout, 0, 0, 0.99, "dropout rate between layers in training"),
    {0}};

static const lh_option rnn_rows[] = {LH_CHOICE("activation", instance, function, TANH,
                                               activation_names,
                                               "g of the cells; linear: the identity"),
                                     {0}};

static const lh_option_table lstm_options[] = {LH_OWN_TABLE(instance), {0}};

static const lh_option_table rnn_options[] = {LH_OWN_TABLE(instance), {rnn_rows, 0}, {0}};

static int64_t inputs_of(const instance *model, int64_t i) {
    const int64_t first = model->vocabulary > 0 ? model->width : model->features;
    return i == 0 ? first : model->hidden;
}

static void declare_layer(instance *model, int64_t i, lh_declare *declaration) {
    layer *l = &model->layer[i];
    const int64_t gates = (int64_t)model->cell * model->hidden,
                  input[] = {inputs_of(model, i), gates}, recurrent[] = {model->hidden, gates},
                  state[] = {model->hidden};
    const lh_init uniform = lh_init_uniform(1.0 / sqrt((double)model->hidden));
    const long long n = i;
    l->input = lh_declare_param(declaration, uniform, 2, input, "layers.%lld.input", n);
    l->recurrent = lh_declare_param(declaration, uniform, 2, recurrent, "layers.%lld.recurrent", n);
    l->bias = lh_declare_param(declaration, uniform, 1, &gates, "layers.%lld.bias", n);
    if (model->pred_len > 0) return;
    l->h = lh_declare_state(declaration, LH_STATE_REPLACE, 1, state, "layers.%lld.h", n);
    if (model->cell == LSTM)
        l->c = lh_declare_state(declaration, LH_STATE_REPLACE, 1, state, "layers.%lld.c", n);
}

/* Tokens have an embedding and a head over the vocabulary; vectors are read as they are and
 * predicted by a linear map. */
static lh_status declare_stack(instance *model, const lh_model_setup *setup,
                               lh_declare *declaration) {
    model->vocabulary = setup->vocabulary;
    model->features = setup->input_features;
    model->pred_len = setup->vocabulary == 0 ? setup->pred_len : 0;
    const bool tokens = model->vocabulary > 0;
    model->outputs = tokens ? model->vocabulary : setup->output_features;
    const int64_t table[] = {model->vocabulary, model->width},
                  head[] = {model->outputs, model->hidden};
    const lh_init uniform = lh_init_uniform(1.0 / sqrt((double)model->hidden));
    if (tokens) {
        model->embedding =
            lh_declare_param(declaration, lh_init_normal(1.0), 2, table, "embedding.weight");
        lh_declare_embedding(declaration);
    }
    for (int64_t i = 0; i < model->layers; ++i)
        declare_layer(model, i, declaration);
    model->head = lh_declare_param(declaration, uniform, 2, head, "head.weight");
    model->head_bias = lh_declare_param(declaration, uniform, 1, head, "head.bias");
    return LH_OK;
}

static lh_status declare_lstm(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    instance *model = self;
    model->cell = LSTM;
    return declare_stack(model, setup, declaration);
}

static lh_status declare_rnn(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    instance *model = self;
    model->cell = SIMPLE;
    model->activation = activations[model->function];
    return declare_stack(model, setup, declaration);
}

/* One step of a layer from its gates before their functions; *c is replaced in an LSTM. */
static lh_tensor *step(const instance *model, lh_tape *tape, lh_tensor *gates, lh_tensor **c) {
    lh_tensor *before = *c;
    if (model->cell == LSTM) return lh_lstm_cell(tape, gates, before, c);
    return model->activation != LH_UNARY_IDENTITY ? lh_unary(tape, model->activation, gates)
                                                  : gates;
}

/* What a layer starts from, as one time step. The windows of a series overlap: each starts afresh.
 */
static lh_tensor *first_state(const instance *model, lh_pass *pass, int slot, int64_t batch) {
    lh_tape *tape = lh_pass_tape(pass);
    const int64_t shape[] = {1, batch, model->hidden};
    if (model->pred_len > 0) return lh_zeros(tape, 3, shape);
    return lh_reshape(tape, lh_pass_state(pass, slot), 3, shape);
}

static bool carry(const instance *model, lh_pass *pass, int slot, lh_tensor *last) {
    if (model->pred_len > 0) return last != NULL;
    const int64_t shape[] = {-1, model->hidden};
    return lh_pass_carry(pass, slot, lh_reshape(lh_pass_tape(pass), last, 2, shape)) == LH_OK;
}

static const int swap[] = {1, 0, 2}; /* [batch][length][...] to time first, and back */

/* x [length][batch][hidden] between layers. What is dropped goes by batch rows, which come first in
 * what dropout reads. */
static lh_tensor *drop(const instance *model, const lh_pass *pass, lh_tensor *x) {
    lh_tape *tape = lh_pass_tape(pass);
    if (model->dropout == 0 || !lh_pass_is_training(pass)) return x;
    return lh_permute(tape, lh_dropout(tape, lh_permute(tape, x, swap), model->dropout, 0), swap);
}

/* One layer on x [length][batch][inputs], time first so that a step is one piece of memory. The
 * input's share of all steps' gates is one product. */
static lh_tensor *run_layer(const instance *model, const layer *l, lh_pass *pass, lh_tensor *x) {
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *gates = lh_linear(tape, x, lh_pass_param(pass, l->input),
                                 lh_pass_param(pass, l->bias), LH_UNARY_IDENTITY);
    if (gates == NULL) return NULL;
    const bool has_c = model->cell == LSTM;
    const int64_t hidden = model->hidden, length = x->shape[0], batch = x->shape[1],
                  whole[] = {length, batch, hidden};
    lh_tensor *recurrent = lh_pass_param(pass, l->recurrent);
    lh_tensor *y = lh_sequence(tape, 3, whole);
    const lh_scope scope = lh_scope_open(tape);
    lh_tensor *h = first_state(model, pass, l->h, batch);
    lh_tensor *c = has_c ? first_state(model, pass, l->c, batch) : NULL;
    for (int64_t t = 0; t < length; ++t) {
        lh_tensor *now = lh_linear_add(tape, lh_slice(tape, gates, 0, t, 1), h, recurrent);
        h = step(model, tape, now, &c);
        if (h == NULL || lh_sequence_write(tape, y, 0, t, h) != LH_OK) return NULL;
        lh_scope_close_many(tape, scope, (lh_tensor *const[]){h, c}, has_c ? 2 : 1);
    }
    if (!carry(model, pass, l->h, h)) return NULL;
    return !has_c || carry(model, pass, l->c, c) ? y : NULL;
}

/* Vectors out of the hidden states of the predicted steps: the head's product here instead of in
 * the loss. */
static lh_status predict(const instance *model, const lh_pass *pass, lh_output *out) {
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *x = out->hidden;
    if (x == NULL) return lh_failed();
    const int64_t rows = x->shape[0], length = x->shape[1],
                  count = model->pred_len > 0 ? model->pred_len : length,
                  flat[] = {rows * count, model->hidden}, full[] = {rows, count, -1};
    x = lh_contiguous(tape, lh_slice(tape, x, 1, length - count, count));
    lh_tensor *y = x != NULL ? lh_matmul(tape, lh_reshape(tape, x, 2, flat),
                                         lh_pass_param(pass, model->head), false, true)
                             : NULL;
    y = lh_add_row(tape, y, lh_pass_param(pass, model->head_bias));
    out->hidden = y != NULL ? lh_reshape(tape, y, 3, full) : NULL;
    return out->hidden != NULL ? LH_OK : lh_failed();
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    const instance *model = self;
    lh_tape *tape = lh_pass_tape(pass);
    const lh_batch *batch = lh_pass_batch(pass);
    const bool tokens = model->vocabulary > 0;
    lh_tensor *x = tokens ? lh_gather(tape, lh_pass_param(pass, model->embedding), batch->tokens)
                          : batch->vectors;
    x = lh_permute(tape, x, swap);
    for (int64_t i = 0; i < model->layers && x != NULL; ++i) {
        if (i > 0) x = drop(model, pass, x);
        x = run_layer(model, &model->layer[i], pass, x);
    }
    out->hidden = lh_permute(tape, x, swap);
    if (!tokens) return predict(model, pass, out);
    out->head_weight = lh_pass_param(pass, model->head);
    out->head_bias = lh_pass_param(pass, model->head_bias);
    return out->hidden != NULL ? LH_OK : lh_failed();
}

static double flops_per_token(const void *self, int64_t length) {
    const instance *model = self;
    const double hidden = (double)model->hidden;
    const double predicted = model->pred_len > 0 ? (double)model->pred_len / (double)length : 1.0;
    double products = predicted * hidden * (double)model->outputs;
    for (int64_t i = 0; i < model->layers; ++i)
        products += (double)model->cell * hidden * ((double)inputs_of(model, i) + hidden);
    return 2.0 * products;
}

const lh_model_class lh_model_lstm = {
    .name = "lstm",
    .summary = "LSTM: the recurrent baseline",
    .paper = "Hochreiter and Schmidhuber 1997; Ju et al. 2022, section 4.2",
    .layout = "gates: input, forget, cell, output",
    .version = 1,
    .abilities =
        LH_ABLE_CAUSAL | LH_ABLE_TOKENS | LH_ABLE_VECTORS | LH_ABLE_STATE | LH_IS_SEQUENTIAL,
    .options = lstm_options,
    .instance_size = sizeof(instance),
    .declare = declare_lstm,
    .forward = forward,
    .flops_per_token = flops_per_token,
};

const lh_model_class lh_model_rnn = {
    .name = "rnn",
    .summary = "Simple recurrent network, linear or not",
    .paper = "Elman 1990; Huang et al. 2023, section 2.2 and appendix B.2",
    .version = 1,
    .abilities =
        LH_ABLE_CAUSAL | LH_ABLE_TOKENS | LH_ABLE_VECTORS | LH_ABLE_STATE | LH_IS_SEQUENTIAL,
    .options = rnn_options,
    .instance_size = sizeof(instance),
    .declare = declare_rnn,
    .forward = forward,
    .flops_per_token = flops_per_token,
};
