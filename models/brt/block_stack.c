/* The stack of sliding-window layers: its options, its parameters, the walk of a segment through
 * layers and blocks (Hutchins et al. 2022, section 3, figure 1), and what that costs. */
#include "models/brt/block_stack.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "models/layers/common.h"
#include "models/layers/t5_bias.h"

enum { TILE = 128, SMALLEST_TILE = 8 };

static const double epsilon = 1e-6;

/* ---- options ---- */

static const char *const divisors[] = {"sqrt_vocabulary", "sqrt_width", "one", NULL};

const lh_option lh_block_config_options[] = {
    LH_INTEGER("layers", lh_block_config, layers, 12, 1, LH_BLOCK_LAYERS, "number of layers"),
    LH_INTEGER("width", lh_block_config, width, 1024, 1, 65536, "embedding size D"),
    LH_INTEGER("heads", lh_block_config, heads, 8, 1, 1024, "attention heads H"),
    LH_INTEGER("head_width", lh_block_config, head_width, 0, 0, 4096,
               "size of a head; 0: width / heads"),
    LH_INTEGER("hidden", lh_block_config, hidden, 0, 0, 1048576,
               "hidden size of the feed-forward network; 0: 4 * width"),
    LH_INTEGER("window", lh_block_config, window, 512, 1, 1048576, "window W in tokens"),
    LH_REAL("dropout", lh_block_config, dropout, 0.05, 0, 0.99, "dropout rate in training"),
    LH_FLAG("normalize", lh_block_config, normalize, true,
            "unit-length queries and keys with a learned scale per head"),
    LH_FLAG("position_bias", lh_block_config, position_bias, true, "T5 relative position bias"),
    LH_FLAG("see_self", lh_block_config, see_self, false,
            "let a token attend to itself (the released code does not)"),
    LH_CHOICE("logit_divisor", lh_block_config, divisor, LH_DIVISOR_SQRT_VOCABULARY, divisors,
              "what the tied head's logits are divided by"),
    {0}};

lh_status lh_block_config_settle(lh_block_config *config, const lh_model_setup *setup) {
    config->vocabulary = setup->vocabulary;
    config->memory_layer = -1;
    if (config->hidden == 0) config->hidden = 4 * config->width;
    LH_TRY(lh_require_tokens(setup));
    LH_TRY(lh_recurrence_config_settle(&config->recurrence_encoding, config->heads));
    return lh_settle_head_width(config->width, config->heads, &config->head_width);
}

lh_init lh_init_fan_in(double variance, int64_t fan_in) {
    return (lh_init){LH_INIT_TRUNCATED_NORMAL, 0.0, sqrt(variance / (double)fan_in)};
}

/* ---- feed-forward network ---- */

static void declare_feed_forward(lh_feed_forward *layer, const lh_block_config *config,
                                 lh_declare *declaration, const char *prefix) {
    const int64_t gain[] = {config->width}, in[] = {config->width, config->hidden},
                  out[] = {config->hidden, config->width};
    layer->gain = lh_declare_param(declaration, lh_init_ones(), 1, gain, "%s.norm.gain", prefix);
    layer->in =
        lh_declare_param(declaration, lh_init_fan_in(1.0, config->width), 2, in, "%s.in", prefix);
    layer->out = lh_declare_param(declaration, lh_init_fan_in(1.0, config->hidden), 2, out,
                                  "%s.out", prefix);
}

lh_tensor *lh_tiled_dropout(const lh_block_config *config, const lh_pass *pass, lh_tensor *x) {
    if (x == NULL || !lh_pass_is_training(pass) || config->dropout == 0) return x;
    const int64_t length = x->shape[1];
    int64_t tile = TILE;
    while (tile > SMALLEST_TILE && length % tile != 0)
        tile /= 2;
    return lh_dropout(lh_pass_tape(pass), x, config->dropout, tile < length ? tile : length);
}

static lh_tensor *feed_forward(const lh_feed_forward *layer, const lh_block_config *config,
                               const lh_pass *pass, lh_tensor *x) {
    lh_tape *tape = lh_pass_tape(pass);
    const lh_scope scope = lh_scope_open(tape);
    lh_tensor *normed = lh_rms_norm(tape, x, lh_pass_param(pass, layer->gain), epsilon);
    lh_tensor *hidden =
        lh_linear(tape, normed, lh_pass_param(pass, layer->in), NULL, LH_UNARY_RELU);
    lh_tensor *out = lh_pass_param(pass, layer->out);
    if (!lh_pass_is_training(pass) || config->dropout == 0) {
        return lh_scope_close(tape, scope, lh_linear_add(tape, x, hidden, out));
    }
    lh_tensor *y = lh_linear(tape, hidden, out, NULL, LH_UNARY_IDENTITY);
    y = lh_add(tape, x, lh_tiled_dropout(config, pass, y));
    return lh_scope_close(tape, scope, y);
}

/* ---- declaring ---- */

static lh_status make_buckets(lh_block_stack *stack) {
    const int64_t span = stack->config.window + 1;
    stack->bucket_of = lh_allocate((size_t)span * sizeof *stack->bucket_of);
    if (stack->bucket_of == NULL) return LH_EMEMORY;
    for (int64_t d = 0; d < span; ++d)
        stack->bucket_of[d] = lh_t5_bucket(d);
    return LH_OK;
}

static void declare_layer(lh_block_stack *stack, int64_t i, lh_declare *declaration) {
    const lh_block_config *config = &stack->config;
    lh_block_layer *layer = &stack->layer[i];
    char prefix[48];
    layer->attention.reads_states = config->recurrent[i] || config->feedback;
    layer->attention.reads_memory = i == config->memory_layer;
    (void)snprintf(prefix, sizeof prefix, "layers.%lld.attention", (long long)i);
    lh_window_attention_declare(&layer->attention, config, declaration, prefix);
    if (!config->recurrent[i]) { /* Huang et al. 2023: RSA-BRT keeps its recurrent layer */
        (void)snprintf(prefix, sizeof prefix, "layers.%lld.recurrence", (long long)i);
        lh_recurrence_encoding_declare(&layer->attention.recurrence, &config->recurrence_encoding,
                                       declaration, prefix);
    }
    if (config->recurrent[i]) {
        (void)snprintf(prefix, sizeof prefix, "layers.%lld.state", (long long)i);
        lh_recurrent_state_declare(&layer->state, config, declaration, prefix);
    }
    (void)snprintf(prefix, sizeof prefix, "layers.%lld.feed_forward", (long long)i);
    declare_feed_forward(&layer->feed_forward, config, declaration, prefix);
}

lh_status lh_block_stack_declare(lh_block_stack *stack, lh_declare *declaration) {
    const lh_block_config *config = &stack->config;
    const int64_t table[] = {config->vocabulary, config->width}, gain[] = {config->width};
    LH_TRY(make_buckets(stack));
    stack->embedding =
        lh_declare_param(declaration, lh_init_normal(1.0), 2, table, "embedding.weight");
    lh_declare_embedding(declaration);
    for (int64_t i = 0; i < config->layers; ++i)
        declare_layer(stack, i, declaration);
    stack->gain = lh_declare_param(declaration, lh_init_ones(), 1, gain, "norm.gain");
    return LH_OK;
}

void lh_block_stack_clear(void *self) {
    lh_block_stack *stack = self;
    free(stack->bucket_of);
}

/* ---- forward ---- */

/* What passes from one span of a segment to the next. With feedback a span is a block, else the
 * segment. */
typedef struct carried {
    lh_window_cache cache[LH_BLOCK_LAYERS];
    lh_tensor *state[LH_BLOCK_LAYERS];
    lh_window_keys keys[LH_BLOCK_LAYERS]; /* of the last span */
} carried;

typedef struct walk {
    const lh_block_stack *stack;
    lh_pass *pass;
    lh_tape *tape;
    lh_tensor *bucket_of;
    carried now;
    lh_state_keys fed_back; /* with feedback: the states that every layer reads */
} walk;

/* Tokens that recurrent step `block` absorbs: its own block and the one before (section 3.2). */
static int token_sources(walk *w, int64_t layer, const lh_window_keys *keys, int64_t block,
                         lh_keys *sources) {
    const int64_t window = w->stack->config.window;
    const bool first = block == 0;
    const int64_t start = first ? 0 : (block - 1) * window, length = first ? window : 2 * window;
    int count = 0;
    if (first) {
        const lh_window_cache cache = w->now.cache[layer];
        sources[count++] = (lh_keys){.k = cache.k, .v = cache.v, .everywhere = true};
    }
    sources[count++] = (lh_keys){.k = lh_slice(w->tape, keys->k, 1, start, length),
                                 .v = lh_slice(w->tape, keys->v, 1, start, length),
                                 .everywhere = true};
    return count;
}

/* Steps the layer's states through the span's blocks; gives what the tokens read from them. */
static lh_tensor *recur(walk *w, int64_t layer, const lh_window_keys *keys) {
    const lh_block_config *config = &w->stack->config;
    const lh_block_layer *l = &w->stack->layer[layer];
    lh_tensor *queries = lh_window_attention_state_queries(&l->attention, config, w->pass, keys);
    if (queries == NULL) return NULL;
    const int64_t blocks = queries->shape[1] / config->window;
    lh_tensor **read = lh_tape_scratch(w->tape, (size_t)blocks * sizeof(lh_tensor *));
    if (read == NULL) return NULL;
    for (int64_t b = 0; b < blocks; ++b) {
        lh_tensor *c = w->now.state[layer];
        const lh_state_keys own = lh_recurrent_state_keys(&l->state, config, w->pass, c);
        lh_tensor *query = lh_slice(w->tape, queries, 1, b * config->window, config->window);
        read[b] = lh_window_attention_read(&l->attention, config, w->pass, query, &own);
        lh_keys tokens[2];
        const int sources = token_sources(w, layer, keys, b, tokens);
        w->now.state[layer] =
            lh_recurrent_state_step(&l->state, config, w->pass, c, &own, tokens, sources);
    }
    return blocks == 1 ? read[0] : lh_concat(w->tape, 1, read, (int)blocks);
}

static lh_tensor *read_states(walk *w, int64_t layer, const lh_window_keys *keys) {
    const lh_block_config *config = &w->stack->config;
    const lh_window_attention *attention = &w->stack->layer[layer].attention;
    if (config->recurrent[layer]) return recur(w, layer, keys);
    if (!config->feedback) return NULL;
    lh_tensor *query = lh_window_attention_state_queries(attention, config, w->pass, keys);
    return lh_window_attention_read(attention, config, w->pass, query, &w->fed_back);
}

static lh_tensor *apply_layer(walk *w, int64_t i, lh_tensor *x) {
    const lh_block_config *config = &w->stack->config;
    const lh_block_layer *layer = &w->stack->layer[i];
    const lh_scope scope = lh_scope_open(w->tape);
    const lh_window_keys keys = lh_window_attention_keys(&layer->attention, config, w->pass, x);
    lh_tensor *read = read_states(w, i, &keys);
    lh_tensor *self = lh_window_attention_self(&layer->attention, config, w->pass, &keys,
                                               w->now.cache[i], w->bucket_of);
    x = lh_window_attention_output(&layer->attention, config, w->pass, x, self, read);
    x = feed_forward(&layer->feed_forward, config, w->pass, x);
    w->now.cache[i] = lh_window_attention_advance(config, w->pass, w->now.cache[i], &keys);
    w->now.keys[i] = keys;
    lh_tensor *const keep[] = {x,
                               w->now.cache[i].k,
                               w->now.cache[i].v,
                               w->now.state[i],
                               layer->attention.reads_memory ? keys.k : NULL,
                               layer->attention.reads_memory ? keys.v : NULL};
    lh_scope_close_many(w->tape, scope, keep, 6);
    return x;
}

static int64_t topmost_recurrent(const lh_block_config *config) {
    int64_t layer = config->layers - 1;
    while (layer > 0 && !config->recurrent[layer])
        layer -= 1;
    return layer;
}

/* One span through all layers. */
static lh_tensor *apply_span(walk *w, lh_tensor *x) {
    const lh_block_config *config = &w->stack->config;
    if (config->feedback) {
        const int64_t source = topmost_recurrent(config);
        w->fed_back = lh_recurrent_state_keys(&w->stack->layer[source].state, config, w->pass,
                                              w->now.state[source]);
    }
    for (int64_t i = 0; i < config->layers && x != NULL; ++i) {
        x = apply_layer(w, i, x);
        if (x == NULL) lh_note("layer %lld", (long long)i + 1);
    }
    return x;
}

/* Section 3.7: the whole stack runs on one block at a time, so that every layer can read the state.
 */
static lh_tensor *apply_by_block(walk *w, lh_tensor *x) {
    const int64_t window = w->stack->config.window, blocks = x->shape[1] / window;
    lh_tensor **out = lh_tape_scratch(w->tape, (size_t)blocks * sizeof(lh_tensor *));
    if (out == NULL) return NULL;
    for (int64_t b = 0; b < blocks; ++b) {
        lh_tensor *block = lh_slice(w->tape, x, 1, b * window, window);
        out[b] = apply_span(w, lh_contiguous(w->tape, block));
        if (out[b] == NULL) return NULL;
    }
    return blocks == 1 ? out[0] : lh_concat(w->tape, 1, out, (int)blocks);
}

static lh_status begin(walk *w) {
    const lh_block_stack *stack = w->stack;
    const int64_t span = stack->config.window + 1;
    w->bucket_of = lh_integers(w->tape, 1, &span, stack->bucket_of);
    if (w->bucket_of == NULL) return lh_failed();
    for (int64_t i = 0; i < stack->config.layers; ++i) {
        w->now.cache[i] = lh_window_attention_begin(&stack->layer[i].attention, w->pass);
        if (!stack->config.recurrent[i]) continue;
        w->now.state[i] = lh_recurrent_state_begin(&stack->layer[i].state, w->pass);
        if (w->now.state[i] == NULL) return lh_failed();
    }
    return LH_OK;
}

static lh_status carry(walk *w) {
    const lh_block_stack *stack = w->stack;
    for (int64_t i = 0; i < stack->config.layers; ++i) {
        const lh_block_layer *layer = &stack->layer[i];
        LH_TRY(lh_window_attention_carry(&layer->attention, w->pass, w->now.cache[i],
                                         &w->now.keys[i]));
        if (!stack->config.recurrent[i]) continue;
        LH_TRY(lh_pass_carry(w->pass, layer->state.carried, w->now.state[i]));
    }
    return LH_OK;
}

static double logit_scale(const lh_block_config *config) {
    switch (config->divisor) {
    case LH_DIVISOR_SQRT_VOCABULARY:
        return 1.0 / sqrt((double)config->vocabulary);
    case LH_DIVISOR_SQRT_WIDTH:
        return 1.0 / sqrt((double)config->width);
    case LH_DIVISOR_ONE:
        break;
    }
    return 1.0;
}

lh_status lh_block_stack_forward(const void *self, lh_pass *pass, lh_output *out) {
    const lh_block_stack *stack = self;
    walk w = {.stack = stack, .pass = pass, .tape = lh_pass_tape(pass)};
    lh_tensor *table = lh_pass_param(pass, stack->embedding);
    LH_TRY(begin(&w));
    lh_tensor *x = lh_gather(w.tape, table, lh_pass_batch(pass)->tokens);
    if (x == NULL) return lh_failed();
    x = stack->config.feedback ? apply_by_block(&w, x) : apply_span(&w, x);
    if (x == NULL) return lh_failed();
    LH_TRY(carry(&w));
    x = lh_rms_norm(w.tape, x, lh_pass_param(pass, stack->gain), epsilon);
    out->hidden = lh_tiled_dropout(&stack->config, pass, x);
    out->head_weight = table;
    out->logit_scale = logit_scale(&stack->config);
    return out->hidden != NULL ? LH_OK : lh_failed();
}

/* ---- accounting ---- */

lh_status lh_block_stack_probe(const void *self, const lh_params *params, const lh_report *report) {
    const lh_block_stack *stack = self;
    return lh_recurrence_encodings_probe(&stack->layer->attention.recurrence, sizeof *stack->layer,
                                         stack->config.layers, params, report);
}

double lh_block_stack_flops(const void *self, int64_t length) {
    (void)length;
    const lh_block_stack *stack = self;
    const lh_block_config *config = &stack->config;
    const double width = (double)config->width, window = (double)config->window;
    double flops = 2.0 * width * (double)config->vocabulary;
    for (int64_t i = 0; i < config->layers; ++i) {
        flops += lh_window_attention_flops(&stack->layer[i].attention, config);
        flops += 4.0 * width * (double)config->hidden;
        if (config->recurrent[i]) flops += lh_recurrent_state_flops(config) / window;
    }
    if (config->feedback) {
        /* The fed-back keys and values are made once more per block, beside the recurrent layer's
         * own. */
        flops += 4.0 * (double)config->states * width * (double)lh_block_inner(config) / window;
    }
    return flops;
}
