/* T5 (Raffel et al. 2020, section 2.1; version 1.0 of the released models, which CodeT5 of Wang et
 * al. 2021 keeps): an encoder that sees all of the source, a decoder that sees the target up to the
 * token itself and all of the source. Pre-norm by root mean square, no biases, scores without
 * 1 / sqrt(d); one table of relative position biases for all layers of a stack, none between
 * decoder and source; the head is the embedding, hidden states times width^-1/2.
 *
 * With `rsa` all self-attentions mix in recurrence encodings (Huang et al. 2023, section 4.3),
 * unmasked in the encoder and masked in the decoder; those between decoder and source do not.
 *
 * Where the task has classes, a linear head over these takes the place of the embedding (the defect
 * classifier of CodeT5's released code). */
#include <math.h>
#include <stdio.h>

#include "models/layers/common.h"
#include "models/layers/recurrence_encoding.h"
#include "models/layers/t5_bias.h"

enum { MOST_LAYERS = 64, ENCODER_SPAN = 2 * LH_T5_MAX_DISTANCE + 1 };

static const double epsilon = 1e-6;

typedef struct sizes {
    int64_t vocabulary, source_length, classes;
    int64_t layers, width, heads, head_width, hidden;
    double dropout;
    lh_recurrence_config recurrence;
    bool encodes_padding;
} sizes;

/* Indices of parameters. */
typedef struct attention_layer {
    int gain, query, key, value, out;
} attention_layer;

typedef struct block {
    attention_layer self, cross; /* cross: of the decoder only */
    lh_recurrence_encoding recurrence;
    int gain, in, out; /* feed-forward */
} block;

typedef struct stack {
    bool decodes;
    int bias, gain;
    block layer[MOST_LAYERS];
} stack;

typedef struct instance {
    sizes size;
    int embedding, classifier, classifier_bias;
    stack encoder, decoder;
} instance;

static const lh_option sizes_options[] = {
    LH_INTEGER("layers", sizes, layers, 6, 1, MOST_LAYERS,
               "layers of the encoder, and of the decoder"),
    LH_INTEGER("width", sizes, width, 512, 1, 65536, "embedding size (d_model)"),
    LH_INTEGER("heads", sizes, heads, 8, 1, 1024, "attention heads"),
    LH_INTEGER("head_width", sizes, head_width, 0, 0, 65536,
               "size of a head (d_kv); 0: width / heads"),
    LH_INTEGER("hidden", sizes, hidden, 2048, 1, 1048576, "feed-forward size (d_ff)"),
    LH_REAL(
        "dropout", sizes, dropout, 0.1, 0, 0.99,
        "dropout rate of embeddings, attention, feed-forward and residual branches in training"),
    LH_FLAG("rsa_padding", sizes, encodes_padding, false,
            "recurrence encodings mix in the padding behind a source, too"),
    {0}};

static const lh_option_table options[] = {LH_TABLE(instance, size, sizes),
                                          LH_TABLE(instance, size.recurrence, lh_recurrence_config),
                                          {0}};

/* ---- declaring ---- */

static int declare_gain(lh_declare *declaration, const sizes *size, const char *prefix) {
    return lh_declare_param(declaration, lh_init_ones(), 1, &size->width, "%s.norm.gain", prefix);
}

static int declare_matrix(lh_declare *declaration, int64_t in, int64_t out, double variance,
                          const char *prefix, const char *name) {
    const int64_t shape[] = {in, out};
    return lh_declare_param(declaration, lh_init_normal(sqrt(variance)), 2, shape, "%s.%s", prefix,
                            name);
}

/* The released initial values; queries take up the missing 1 / sqrt(d) of the scores. */
static attention_layer declare_attention(lh_declare *declaration, const sizes *size,
                                         const char *prefix) {
    const int64_t inner = size->heads * size->head_width;
    const double width = (double)size->width, head_width = (double)size->head_width;
    attention_layer l = {.gain = declare_gain(declaration, size, prefix)};
    l.query =
        declare_matrix(declaration, size->width, inner, 1 / (width * head_width), prefix, "query");
    l.key = declare_matrix(declaration, size->width, inner, 1 / width, prefix, "key");
    l.value = declare_matrix(declaration, size->width, inner, 1 / width, prefix, "value");
    l.out = declare_matrix(declaration, inner, size->width, 1 / (double)inner, prefix, "out");
    return l;
}

static void declare_block(block *b, lh_declare *declaration, const sizes *size, bool decodes,
                          const char *name, int64_t i) {
    char prefix[64];
    (void)snprintf(prefix, sizeof prefix, "%s.layers.%lld.attention", name, (long long)i);
    b->self = declare_attention(declaration, size, prefix);
    lh_recurrence_encoding_declare(&b->recurrence, &size->recurrence, declaration, prefix);
    (void)snprintf(prefix, sizeof prefix, "%s.layers.%lld.cross", name, (long long)i);
    if (decodes) b->cross = declare_attention(declaration, size, prefix);
    (void)snprintf(prefix, sizeof prefix, "%s.layers.%lld.feed_forward", name, (long long)i);
    b->gain = declare_gain(declaration, size, prefix);
    b->in = declare_matrix(declaration, size->width, size->hidden, 1 / (double)size->width, prefix,
                           "in");
    b->out = declare_matrix(declaration, size->hidden, size->width, 1 / (double)size->hidden,
                            prefix, "out");
}

static void declare_stack(stack *s, lh_declare *declaration, const sizes *size, const char *name) {
    const int64_t table[] = {size->heads, LH_T5_BUCKETS};
    const lh_init init = lh_init_normal(1 / sqrt((double)size->width));
    s->bias = lh_declare_param(declaration, init, 2, table, "%s.bias", name);
    for (int64_t i = 0; i < size->layers; ++i)
        declare_block(&s->layer[i], declaration, size, s->decodes, name, i);
    s->gain = declare_gain(declaration, size, name);
}

static void declare_classifier(instance *model, lh_declare *declaration) {
    const sizes *size = &model->size;
    const int64_t shape[] = {size->classes, size->width};
    const lh_init init = lh_init_uniform(1 / sqrt((double)size->width));
    model->classifier = lh_declare_param(declaration, init, 2, shape, "classifier.weight");
    model->classifier_bias = lh_declare_param(declaration, init, 1, shape, "classifier.bias");
}

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    instance *model = self;
    sizes *size = &model->size;
    LH_TRY(lh_require_tokens(setup));
    if (setup->source_vocabulary > 0 && setup->source_vocabulary != setup->vocabulary)
        return lh_fail(LH_EOPTION,
                       "source and target share one vocabulary; the task has %lld and %lld",
                       (long long)setup->source_vocabulary, (long long)setup->vocabulary);
    size->vocabulary = setup->vocabulary;
    size->source_length = setup->source_length;
    size->classes = setup->classes;
    LH_TRY(lh_settle_head_width(size->width, size->heads, &size->head_width));
    LH_TRY(lh_recurrence_config_settle(&size->recurrence, size->heads));
    const lh_part_option idle[] = {{"rsa_padding", size->encodes_padding}, {0}};
    if (size->recurrence.heads == 0) LH_TRY(lh_refuse_idle(idle, "rsa_kinds"));
    const int64_t table[] = {size->vocabulary, size->width};
    model->embedding =
        lh_declare_param(declaration, lh_init_normal(1.0), 2, table, "embedding.weight");
    lh_declare_embedding(declaration);
    model->decoder.decodes = true;
    declare_stack(&model->encoder, declaration, size, "encoder");
    declare_stack(&model->decoder, declaration, size, "decoder");
    if (size->classes > 0) declare_classifier(model, declaration);
    return LH_OK;
}

/* ---- forward ---- */

/* One stack in one pass. */
typedef struct walk {
    const sizes *size;
    const stack *stack;
    lh_pass *pass;
    lh_tape *tape;
    double dropout; /* 0 outside training */
    lh_tensor *bucket_of, *counts;
    lh_tensor *source; /* the encoder's outputs; NULL in the encoder itself */
} walk;

static lh_tensor *normed(const walk *w, lh_tensor *x, int gain) {
    return lh_rms_norm(w->tape, x, lh_pass_param(w->pass, gain), epsilon);
}

static lh_tensor *into_heads(const walk *w, lh_tensor *x, int weight) {
    return lh_project_heads(w->tape, x, lh_pass_param(w->pass, weight), w->size->head_width);
}

static lh_keys keys_of(const walk *w, const attention_layer *l, lh_tensor *x) {
    return (lh_keys){.k = into_heads(w, x, l->key), .v = into_heads(w, x, l->value)};
}

/* x + dropout(y weight) */
static lh_tensor *join(const walk *w, lh_tensor *x, lh_tensor *y, int weight) {
    lh_tensor *matrix = lh_pass_param(w->pass, weight);
    if (w->dropout == 0) return lh_linear_add(w->tape, x, y, matrix);
    y = lh_linear(w->tape, y, matrix, NULL, LH_UNARY_IDENTITY);
    return lh_add(w->tape, x, lh_dropout(w->tape, y, w->dropout, 0));
}

static lh_tensor *attend(const walk *w, const attention_layer *l, lh_attention *attention,
                         const lh_recurrence_encoding *recurrence, lh_tensor *x, lh_tensor *n) {
    attention->dropout = w->dropout;
    lh_tensor *y = lh_attend(w->tape, attention, into_heads(w, n, l->query));
    if (w->size->encodes_padding) attention->keys[0].filled = NULL;
    if (recurrence != NULL) y = lh_recurrence_encoding_mix(recurrence, w->pass, attention, y);
    return join(w, x, lh_join_heads(w->tape, y), l->out);
}

/* The decoder sees no later token; the encoder all but the padding. */
static lh_tensor *attend_self(const walk *w, const block *b, lh_tensor *x) {
    const attention_layer *l = &b->self;
    lh_attention attention = LH_ATTENTION;
    lh_tensor *n = normed(w, x, l->gain);
    if (w->stack->decodes) attention.min_distance = 0;
    attention.bias = lh_pass_param(w->pass, w->stack->bias);
    attention.bucket_of = w->bucket_of;
    attention.bucket_first = w->stack->decodes ? 0 : -LH_T5_MAX_DISTANCE;
    attention.keys[0] = keys_of(w, l, n);
    if (!w->stack->decodes) attention.keys[0].filled = w->counts;
    attention.key_count = 1;
    return attend(w, l, &attention, &b->recurrence, x, n);
}

static lh_tensor *attend_source(const walk *w, const attention_layer *l, lh_tensor *x) {
    lh_attention attention = LH_ATTENTION;
    attention.keys[0] = keys_of(w, l, w->source);
    attention.keys[0].everywhere = true;
    attention.keys[0].filled = w->counts;
    attention.key_count = 1;
    return attend(w, l, &attention, NULL, x, normed(w, x, l->gain));
}

static lh_tensor *feed_forward(const walk *w, const block *b, lh_tensor *x) {
    lh_tensor *in = lh_pass_param(w->pass, b->in);
    lh_tensor *y = lh_linear(w->tape, normed(w, x, b->gain), in, NULL, LH_UNARY_RELU);
    return join(w, x, lh_dropout(w->tape, y, w->dropout, 0), b->out);
}

static lh_tensor *apply_block(const walk *w, int64_t i, lh_tensor *x) {
    const block *b = &w->stack->layer[i];
    const lh_scope scope = lh_scope_open(w->tape);
    x = attend_self(w, b, x);
    if (w->stack->decodes) x = attend_source(w, &b->cross, x);
    return lh_scope_close(w->tape, scope, feed_forward(w, b, x));
}

/* Beyond the largest distance all buckets are the same, so the table serves every length. */
static lh_tensor *bucket_table(const walk *w) {
    int32_t bucket_of[ENCODER_SPAN];
    const bool decodes = w->stack->decodes;
    const int64_t span = decodes ? LH_T5_MAX_DISTANCE + 1 : ENCODER_SPAN;
    for (int64_t i = 0; i < span; ++i)
        bucket_of[i] = decodes ? lh_t5_bucket(i) : lh_t5_bucket_both_ways(i - LH_T5_MAX_DISTANCE);
    return lh_integers(w->tape, 1, &span, bucket_of);
}

/* tokens i32 [rows][length] -> [rows][length][width]. */
static lh_tensor *run_stack(const instance *model, lh_pass *pass, const stack *s, lh_tensor *tokens,
                            lh_tensor *source) {
    const double dropout = lh_pass_is_training(pass) ? model->size.dropout : 0.0;
    walk w = {.size = &model->size,
              .stack = s,
              .pass = pass,
              .tape = lh_pass_tape(pass),
              .dropout = dropout,
              .counts = lh_pass_batch(pass)->source_count,
              .source = source};
    w.bucket_of = bucket_table(&w);
    lh_tensor *x = lh_gather(w.tape, lh_pass_param(pass, model->embedding), tokens);
    x = lh_dropout(w.tape, x, dropout, 0);
    for (int64_t i = 0; i < model->size.layers && x != NULL; ++i)
        x = apply_block(&w, i, x);
    return lh_dropout(w.tape, normed(&w, x, s->gain), dropout, 0);
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    const instance *model = self;
    const lh_batch *batch = lh_pass_batch(pass);
    if (batch->source_tokens == NULL)
        return lh_fail(LH_EOPTION, "needs a source sequence for its encoder");
    lh_tensor *source = batch->encoded;
    if (source == NULL)
        source = run_stack(model, pass, &model->encoder, batch->source_tokens, NULL);
    if (source == NULL) return lh_failed();
    out->encoded = source;
    out->hidden = run_stack(model, pass, &model->decoder, batch->tokens, source);
    if (model->size.classes > 0) {
        out->head_weight = lh_pass_param(pass, model->classifier);
        out->head_bias = lh_pass_param(pass, model->classifier_bias);
    } else {
        out->head_weight = lh_pass_param(pass, model->embedding);
        out->logit_scale = 1 / sqrt((double)model->size.width);
    }
    return out->hidden != NULL ? LH_OK : lh_failed();
}

/* ---- accounting ---- */

/* Projections of queries and outputs, or of keys and values. */
static double projection_flops(const sizes *size) {
    return 4.0 * (double)(size->width * size->heads * size->head_width);
}

static double attention_flops(const sizes *size, double keys) {
    return 4.0 * keys * (double)(size->heads * size->head_width);
}

/* Of a token of the target; the source is shared out among them. */
static double flops_per_token(const void *self, int64_t length) {
    const sizes *size = &((const instance *)self)->size;
    const double source = (double)size->source_length, target = (double)length;
    const double projections = projection_flops(size);
    const double network = 4.0 * (double)(size->width * size->hidden);
    const double encoder = 2 * projections + attention_flops(size, source) + network;
    const double decoder = 2 * projections + attention_flops(size, (target + 1) / 2) + network +
                           projections + attention_flops(size, source);
    const double read = projections * source / target; /* the source's keys and values */
    const int64_t columns = size->classes > 0 ? size->classes : size->vocabulary;
    const double head = 2.0 * (double)(size->width * columns);
    return (double)size->layers * (encoder * source / target + decoder + read) + head;
}

/* The decoder's layers are counted on from the encoder's. */
static lh_status probe(const void *self, const lh_params *params, const lh_report *report) {
    const instance *model = self;
    const int64_t layers = model->size.layers;
    for (int64_t i = 0; i < 2 * layers; ++i) {
        const block *b = i < layers ? &model->encoder.layer[i] : &model->decoder.layer[i - layers];
        LH_TRY(lh_recurrence_encoding_probe(&b->recurrence, params, i, report));
    }
    return LH_OK;
}

/* The layout of Hugging Face's T5. Its tables of the stacks and its head are the shared one. */
static const lh_tensor_name published_names[] = {
    {"shared.weight", "embedding.weight", LH_ALIKE},
    {"encoder.block.#.layer.0.SelfAttention.q.weight", "encoder.layers.#.attention.query",
     LH_TRANSPOSED},
    {"encoder.block.#.layer.0.SelfAttention.k.weight", "encoder.layers.#.attention.key",
     LH_TRANSPOSED},
    {"encoder.block.#.layer.0.SelfAttention.v.weight", "encoder.layers.#.attention.value",
     LH_TRANSPOSED},
    {"encoder.block.#.layer.0.SelfAttention.o.weight", "encoder.layers.#.attention.out",
     LH_TRANSPOSED},
    {"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", "encoder.bias",
     LH_TRANSPOSED},
    {"encoder.block.#.layer.0.layer_norm.weight", "encoder.layers.#.attention.norm.gain", LH_ALIKE},
    {"encoder.block.#.layer.1.DenseReluDense.wi.weight", "encoder.layers.#.feed_forward.in",
     LH_TRANSPOSED},
    {"encoder.block.#.layer.1.DenseReluDense.wo.weight", "encoder.layers.#.feed_forward.out",
     LH_TRANSPOSED},
    {"encoder.block.#.layer.1.layer_norm.weight", "encoder.layers.#.feed_forward.norm.gain",
     LH_ALIKE},
    {"encoder.final_layer_norm.weight", "encoder.norm.gain", LH_ALIKE},
    {"decoder.block.#.layer.0.SelfAttention.q.weight", "decoder.layers.#.attention.query",
     LH_TRANSPOSED},
    {"decoder.block.#.layer.0.SelfAttention.k.weight", "decoder.layers.#.attention.key",
     LH_TRANSPOSED},
    {"decoder.block.#.layer.0.SelfAttention.v.weight", "decoder.layers.#.attention.value",
     LH_TRANSPOSED},
    {"decoder.block.#.layer.0.SelfAttention.o.weight", "decoder.layers.#.attention.out",
     LH_TRANSPOSED},
    {"decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", "decoder.bias",
     LH_TRANSPOSED},
    {"decoder.block.#.layer.0.layer_norm.weight", "decoder.layers.#.attention.norm.gain", LH_ALIKE},
    {"decoder.block.#.layer.1.EncDecAttention.q.weight", "decoder.layers.#.cross.query",
     LH_TRANSPOSED},
    {"decoder.block.#.layer.1.EncDecAttention.k.weight", "decoder.layers.#.cross.key",
     LH_TRANSPOSED},
    {"decoder.block.#.layer.1.EncDecAttention.v.weight", "decoder.layers.#.cross.value",
     LH_TRANSPOSED},
    {"decoder.block.#.layer.1.EncDecAttention.o.weight", "decoder.layers.#.cross.out",
     LH_TRANSPOSED},
    {"decoder.block.#.layer.1.layer_norm.weight", "decoder.layers.#.cross.norm.gain", LH_ALIKE},
    {"decoder.block.#.layer.2.DenseReluDense.wi.weight", "decoder.layers.#.feed_forward.in",
     LH_TRANSPOSED},
    {"decoder.block.#.layer.2.DenseReluDense.wo.weight", "decoder.layers.#.feed_forward.out",
     LH_TRANSPOSED},
    {"decoder.block.#.layer.2.layer_norm.weight", "decoder.layers.#.feed_forward.norm.gain",
     LH_ALIKE},
    {"decoder.final_layer_norm.weight", "decoder.norm.gain", LH_ALIKE},
    {"encoder.embed_tokens.weight", "=embedding.weight", LH_ALIKE},
    {"decoder.embed_tokens.weight", "=embedding.weight", LH_ALIKE},
    {"lm_head.weight", "=embedding.weight", LH_ALIKE},
    {NULL, NULL, LH_ALIKE},
};

const lh_model_class lh_model_t5 = {
    .name = "t5",
    .summary = "T5 encoder-decoder with relative position biases",
    .paper = "Raffel et al. 2020, arXiv:1910.10683; Wang et al. 2021, arXiv:2109.00859",
    .layout = "RMS norms add 1e-6 to the mean square",
    .version = 1,
    .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS | LH_ABLE_SEQUENCE_TO_SEQUENCE,
    .options = options,
    .instance_size = sizeof(instance),
    .declare = declare,
    .forward = forward,
    .flops_per_token = flops_per_token,
    .probe = probe,
    .published_names = published_names,
};
