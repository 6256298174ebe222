/* Recurrent Memory Transformer (Bulatov et al. 2022, arXiv:2207.06881, section 3): a Transformer-XL
 * that reads blocks of tokens between memory tokens, and whose memory is what its last layer makes
 * of them. For block t,
 *   X_t = [M_t; x_t; M_t],  [read; y_t; write] = Transformer(X_t),  M_{t+1} = write,   (eqs. 3, 4)
 * where tokens see the memory before them and themselves causally, and the memory behind them sees
 * all: so it is written. Gradients flow through memories from block to block of a segment; a cache
 * of layers' inputs, as in Transformer-XL, is optional and takes none. */
#include <stdlib.h>

#include "models/dai/dai_core.h"
#include "models/layers/common.h"
#include "models/layers/recurrence_encoding.h"

typedef struct instance {
    lh_dai_core core;
    int64_t block, tokens, memory, unroll;
    bool reads_cache, shifted;
    int initial, carried;     /* memory tokens: parameter and state slot */
    int cache[LH_DAI_LAYERS]; /* state slots */
    lh_recurrence_config recurrence;
    lh_recurrence_encoding encoding[LH_DAI_LAYERS];
} instance;

static const lh_option instance_options[] = {
    LH_INTEGER("block", instance, block, 150, 1, 1048576, "tokens between two memories"),
    LH_INTEGER("memory_tokens", instance, tokens, 10, 1, 65536, "memory tokens (m)"),
    LH_INTEGER("unroll", instance, unroll, 0, 0, 1048576,
               "blocks through which gradients flow: at each so many the memory is a constant; 0: "
               "all of a segment"),
    LH_INTEGER("memory", instance, memory, 0, 0, 1048576,
               "inputs of the blocks before, memory tokens included, that every layer attends to; "
               "0: memory tokens alone"),
    LH_FLAG("memory_reads_cache", instance, reads_cache, false,
            "memory tokens, too, attend to those"),
    LH_FLAG("shifted_positions", instance, shifted, false,
            "what distance adds to a memory token's score for one behind it is what the release's "
            "shift of its matrix of positions leaves there; else that of distance 0"),
    {0}};

static const lh_option_table options[] = {
    {lh_dai_size_options, LH_FIELD(instance, core.config, lh_dai_config)},
    LH_OWN_TABLE(instance),
    {lh_dai_training_options, LH_FIELD(instance, core.config, lh_dai_config)},
    LH_TABLE(instance, recurrence, lh_recurrence_config),
    {lh_dai_release_options, LH_FIELD(instance, core.config, lh_dai_config)},
    {0}};

static const char *const later_options[] = {
    "shifted_positions", "rsa_kinds",  "rsa_dilation",    "rsa_gate",     "rsa_cutoff",
    "rsa_sharing",       "rsa_spread", "cluster_divisor", "share_biases", NULL};

/* ---- parameters and state ---- */

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    instance *model = self;
    const lh_dai_config *config = &model->core.config;
    LH_TRY(lh_dai_config_settle(&model->core.config, setup));
    if (model->reads_cache && model->memory == 0)
        return lh_fail(LH_EOPTION, "option 'memory_reads_cache' needs option 'memory'");
    char name[LH_LAYER_NAME];
    LH_TRY(lh_recurrence_config_settle(&model->recurrence, config->heads));
    const int64_t tokens[] = {model->tokens, config->width},
                  memory[] = {model->memory, config->width};
    lh_dai_declare_head(&model->core, declaration);
    model->initial = lh_declare_param(declaration, lh_init_normal(1.0), 2, tokens, "memory_tokens");
    model->carried = lh_declare_state(declaration, LH_STATE_REPLACE, 2, tokens, "memory_tokens");
    for (int64_t i = 0; i < config->layers; ++i) {
        lh_dai_declare_attention(&model->core, i, 0, declaration);
        lh_dai_declare_network(&model->core, i, declaration);
        lh_recurrence_encoding_declare(&model->encoding[i], &model->recurrence, declaration,
                                       lh_layer_name(name, i, "recurrence"));
        if (model->memory > 0)
            model->cache[i] = lh_declare_state(declaration, LH_STATE_REPLACE, 2, memory,
                                               "layers.%lld.memory", (long long)i);
    }
    return LH_OK;
}

static lh_status check(const void *self, int64_t length) {
    const instance *model = self;
    return lh_require_whole_chunks("block", model->block, length);
}

/* ---- forward ---- */

/* A part of [memory; tokens; memory] as queries: its place, the keys up to `seen` that it sees, and
 * whether in order and with the cache. */
typedef struct part {
    int64_t first, count, seen;
    bool causal, cached;
} part;

/* Keys and queries of all of it, and the cache's keys; NULL: none. */
typedef struct projected {
    lh_attention attention;
    lh_tensor *keys, *q, *cache;
} projected;

/* Recurrence encodings are mixed in where there is an order: lags are those of places, the memory's
 * before the tokens'. */
static lh_tensor *attend_part(const instance *model, const lh_dai_pass *p, int64_t i,
                              const projected *of, part own) {
    lh_attention attention = of->attention;
    if (!own.causal) attention.min_distance = -LH_FAR;
    if (of->cache != NULL && own.cached)
        lh_dai_add_keys(p, &attention, of->cache, -own.first - model->memory);
    lh_dai_add_keys(p, &attention, lh_slice(p->tape, of->keys, 1, 0, own.seen), -own.first);
    lh_tensor *y =
        lh_attend(p->tape, &attention, lh_slice(p->tape, of->q, 1, own.first, own.count));
    if (!own.causal) return y;
    return lh_recurrence_encoding_mix(&model->encoding[i], p->pass, &attention, y);
}

/* ---- the release's positions of memory tokens ----
 *
 * The release multiplies all queries with the vectors of all distances, farthest first, and moves
 * row i of that matrix by what its places lie behind those of the last row: a column of zeros in
 * front, and the numbers cut anew into rows. For a key j behind query i that leaves 0 where
 * j = i + 1, and then what query i + 1 has for the distances from the farthest on. */

/* r [heads][distances][head_width] in the order that the release has. */
static lh_tensor *farthest_first(lh_tape *tape, lh_tensor *r) {
    static const int swap[] = {1, 0, 2};
    const int64_t count = r->shape[1], head_width = r->shape[2];
    int32_t *order = lh_allocate((size_t)count * sizeof *order);
    if (order == NULL) return NULL;
    for (int64_t i = 0; i < count; ++i)
        order[i] = (int32_t)(count - 1 - i);
    lh_tensor *index = lh_integers(tape, 1, &count, order);
    free(order);
    r = lh_join_heads(tape, lh_permute(tape, r, swap));
    return lh_permute(tape, lh_split_heads(tape, lh_gather(tape, r, index), head_width), swap);
}

/* [batch][n][heads][head_width] with the heads before n, or back. */
static lh_tensor *swap_heads(lh_tape *tape, lh_tensor *x) {
    static const int heads_first[] = {0, 2, 1, 3};
    return lh_permute(tape, x, heads_first);
}

/* (q + v) . r of all distances, before the shift: [batch][heads][queries][distances]; q has the
 * content vector u. */
static lh_tensor *position_products(const lh_dai_pass *p, int64_t i, lh_tensor *r, lh_tensor *q) {
    const lh_relative_position *relative = &p->core->layer[i].relative;
    lh_tensor *apart = lh_subtract(p->tape, lh_pass_param(p->pass, relative->position),
                                   lh_pass_param(p->pass, relative->content));
    lh_tensor *moved = lh_add_row(p->tape, lh_join_heads(p->tape, q), apart);
    moved = lh_split_heads(p->tape, moved, p->core->config.head_width);
    return lh_matmul(p->tape, swap_heads(p->tape, moved), lh_repeat(p->tape, r, q->shape[0]), false,
                     true);
}

/* The shift of n rows that stand together, for the last `seen` of the keys that these see. */
static lh_tensor *shift(lh_tape *tape, lh_tensor *products, int64_t seen) {
    if (products == NULL) return NULL;
    const int64_t batch = products->shape[0], heads = products->shape[1], n = products->shape[2],
                  distances = products->shape[3], zero[] = {batch, heads, n, 1},
                  flat[] = {batch, heads, n * (distances + 1)};
    lh_tensor *const parts[] = {lh_zeros(tape, 4, zero), products};
    lh_tensor *row = lh_reshape(tape, lh_concat(tape, 3, parts, 2), 3, flat);
    lh_tensor *cut = lh_slice(tape, row, 2, n, n * distances);
    return lh_slice(tape, lh_reshape(tape, cut, 4, products->shape), 3, distances - seen, seen);
}

/* The attention of a part that is memory. */
static lh_tensor *attend_shifted(const instance *model, const lh_dai_pass *p, int64_t i,
                                 const projected *of, lh_tensor *r, part own) {
    lh_tape *tape = p->tape;
    const int64_t heads = model->core.config.heads;
    lh_tensor *q = lh_contiguous(tape, lh_slice(tape, of->q, 1, own.first, own.count));
    lh_tensor *keys = lh_slice(tape, of->keys, 1, 0, own.seen);
    lh_tensor *const both[] = {of->cache, keys};
    if (of->cache != NULL && own.cached) keys = lh_concat(tape, 1, both, 2);
    if (q == NULL || keys == NULL || r == NULL) return NULL;
    lh_tensor *k = swap_heads(tape, lh_slice(tape, keys, 2, 0, heads));
    lh_tensor *v = swap_heads(tape, lh_slice(tape, keys, 2, heads, heads));
    lh_tensor *content = lh_matmul(tape, swap_heads(tape, q), k, false, true);
    lh_tensor *position = shift(tape, position_products(p, i, r, q), keys->shape[1]);
    lh_tensor *scores = lh_add(tape, content, position);
    lh_tensor *weights = lh_softmax(tape, lh_scale(tape, scores, of->attention.scale));
    weights = lh_dropout(tape, weights, of->attention.dropout, 0);
    return swap_heads(tape, lh_matmul(tape, weights, v, false, false));
}

/* ---- layers and blocks ---- */

/* Section 3.2: memory that is read sees itself, tokens see it and what is before them, memory that
 * is written sees all. */
static lh_tensor *attend(const instance *model, const lh_dai_pass *p, int64_t i,
                         const projected *of) {
    const int64_t tokens = model->tokens, block = model->block, behind = tokens + block;
    const part read = {0, tokens, tokens, false, model->reads_cache},
               own = {tokens, block, behind, true, true},
               written = {behind, tokens, behind + tokens, false, model->reads_cache};
    if (of->q == NULL || of->keys == NULL) return NULL;
    lh_tensor *r = model->shifted ? farthest_first(p->tape, of->attention.positions) : NULL;
    lh_tensor *const parts[] = {
        model->shifted ? attend_shifted(model, p, i, of, r, read)
                       : attend_part(model, p, i, of, read),
        attend_part(model, p, i, of, own),
        model->shifted ? attend_shifted(model, p, i, of, r, written)
                       : attend_part(model, p, i, of, written),
    };
    return lh_concat(p->tape, 1, parts, 3);
}

/* x [batch][memory; tokens; memory][width]. *cache, where there is one, is that of this block and
 * becomes that of the next. */
static lh_tensor *apply_layer(const instance *model, const lh_dai_pass *p, int64_t i, lh_tensor *x,
                              lh_tensor **cache) {
    const lh_scope scope = lh_scope_open(p->tape);
    projected of = {.cache = NULL};
    if (*cache != NULL) of.cache = lh_dai_keys(p, i, *cache);
    of.keys = lh_dai_keys(p, i, x);
    of.q = lh_dai_queries(p, i, x, &of.attention);
    lh_tensor *y = lh_dai_finish_layer(p, i, x, attend(model, p, i, &of));
    if (*cache != NULL)
        *cache = lh_last_tokens(p->tape, model->memory, *cache, lh_detach(p->tape, x));
    lh_tensor *const kept[] = {y, *cache};
    lh_scope_close_many(p->tape, scope, kept, 2);
    return y;
}

/* One block; *memory becomes what it writes. */
static lh_tensor *run_block(const instance *model, const lh_dai_pass *p, lh_tensor *x,
                            lh_tensor **memory, lh_tensor **cache) {
    lh_tensor *const parts[] = {lh_dai_drop(p, *memory), x, lh_dai_drop(p, *memory)};
    lh_tensor *all = lh_concat(p->tape, 1, parts, 3);
    for (int64_t i = 0; i < model->core.config.layers && all != NULL; ++i)
        all = apply_layer(model, p, i, all, &cache[i]);
    *memory = lh_slice(p->tape, all, 1, model->tokens + model->block, model->tokens);
    return lh_slice(p->tape, all, 1, model->tokens, model->block);
}

static lh_status carry(const instance *model, lh_pass *pass, lh_tensor *memory,
                       lh_tensor *const *cache) {
    LH_TRY(lh_pass_carry(pass, model->carried, memory));
    for (int64_t i = 0; model->memory > 0 && i < model->core.config.layers; ++i)
        LH_TRY(lh_pass_carry(pass, model->cache[i], cache[i]));
    return LH_OK;
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    const instance *model = self;
    const lh_batch *batch = lh_pass_batch(pass);
    lh_tensor *x = NULL, *cache[LH_DAI_LAYERS] = {NULL};
    const lh_dai_pass p =
        lh_dai_begin(&model->core, pass, model->memory + 2 * model->tokens + model->block, &x);
    lh_tensor *memory = lh_select_rows(p.tape, batch->starts, lh_pass_param(pass, model->initial),
                                       lh_pass_state(pass, model->carried));
    for (int64_t i = 0; model->memory > 0 && i < model->core.config.layers; ++i)
        cache[i] = lh_pass_state(pass, model->cache[i]);
    lh_tensor *y = x != NULL ? lh_sequence(p.tape, 3, x->shape) : NULL;
    if (y == NULL || memory == NULL) return lh_failed();
    for (int64_t b = 0; b < batch->length / model->block; ++b) {
        const int64_t at = b * model->block;
        if (b > 0 && model->unroll > 0 && b % model->unroll == 0)
            memory = lh_detach(p.tape, memory);
        lh_tensor *own =
            run_block(model, &p, lh_slice(p.tape, x, 1, at, model->block), &memory, cache);
        if (own == NULL || memory == NULL) return lh_failed();
        LH_TRY(lh_sequence_write(p.tape, y, 1, at, own));
    }
    LH_TRY(carry(model, pass, memory, cache));
    return lh_dai_finish(&p, y, out);
}

/* ---- accounting ---- */

/* With the release's positions a memory token is multiplied with all distances, seen or not. */
static double flops_per_token(const void *self, int64_t length) {
    (void)length;
    const instance *model = self;
    const lh_dai_config *config = &model->core.config;
    const double tokens = (double)model->tokens, block = (double)model->block,
                 memory = (double)model->memory, all = block + 2.0 * tokens;
    const double of_memory = tokens * (tokens + all + (model->reads_cache ? 2.0 * memory : 0.0));
    const double pairs = block * (memory + tokens + 0.5 * (block + 1.0)) + of_memory;
    const double unseen = model->shifted ? 2.0 * tokens * (memory + all) - of_memory : 0.0;
    const double each = lh_dai_layer_flops(config, all, all + memory, pairs) +
                        2.0 * (double)lh_dai_inner(config) * unseen;
    return (double)config->layers * each / block + lh_dai_head_flops(config);
}

static lh_status probe(const void *self, const lh_params *params, const lh_report *report) {
    const instance *model = self;
    return lh_recurrence_encodings_probe(model->encoding, sizeof *model->encoding,
                                         model->core.config.layers, params, report);
}

static const lh_refused refused[] = {LH_NO_STAIRCASE, {0}};

const lh_model_class lh_model_rmt = {
    .name = "rmt",
    .summary = "Transformer-XL that reads and writes memory tokens around every block",
    .paper = "Bulatov et al. 2022, arXiv:2207.06881",
    .layout =
        "layer norms add 1e-5 to the variance; relative.content and .position: r_w_bias, r_r_bias",
    .version = 1,
    .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS | LH_ABLE_STATE,
    .options = options,
    .instance_size = sizeof(instance),
    .declare = declare,
    .forward = forward,
    .flops_per_token = flops_per_token,
    .check = check,
    .probe = probe,
    .refused = refused,
    .later_options = later_options,
};
