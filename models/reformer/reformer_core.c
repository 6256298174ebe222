/* Reformer's attentions (Kitaev et al. 2020, section 2), its chunked feed-forward network and
 * reversible residuals (section 3): options, parameters, forward pass, cost. */
#include "models/reformer/reformer_core.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/nearest_name.h"
#include "harness/ops/ops.h"
#include "models/layers/common.h"

static const double epsilon = 1e-6;

static const char *const residuals[] = {"reversible", "two_streams", "plain", NULL};

static const char *const kinds[] = {"full",       "shared", "shared_plain", "lsh",
                                    "lsh_chunks", "local",  "dot_product",  NULL};

/* ---- options ---- */

const lh_option lh_reformer_config_options[] = {
    LH_INTEGER("layers", lh_reformer_config, layers, 12, 1, LH_REFORMER_LAYERS,
               "number of layers (n_l)"),
    LH_INTEGER("width", lh_reformer_config, width, 1024, 1, 65536, "embedding size (d_model)"),
    LH_INTEGER("heads", lh_reformer_config, heads, 8, 1, 1024, "attention heads (n_h)"),
    LH_INTEGER("head_width", lh_reformer_config, head_width, 0, 0, 4096,
               "size of a head (d_k); 0: width / heads"),
    LH_INTEGER("hidden", lh_reformer_config, hidden, 0, 0, 1048576,
               "hidden size of the feed-forward network (d_ff); 0: 4 * width"),
    LH_CHOICE("residual", lh_reformer_config, residual, LH_RESIDUAL_REVERSIBLE, residuals,
              "reversible, the same with activations kept, or plain residual connections"),
    LH_INTEGER("feed_forward_chunk", lh_reformer_config, feed_forward_chunk, 0, 0, 1e9,
               "tokens that pass through a feed-forward network at a time; 0: all"),
    LH_REAL(
        "dropout", lh_reformer_config, dropout, 0, 0, 0.99,
        "dropout rate of embeddings and branches in training, one mask along the sequence (or a "
        "feed_forward_chunk)"),
    {0}};

const lh_option lh_reformer_attention_options[] = {
    LH_TEXT("attention", lh_reformer_config, attention, "lsh",
            "of the layers, in turn and from the first one again: full, shared, shared_plain, lsh, "
            "lsh_chunks, local or dot_product, separated by commas"),
    LH_INTEGER("rounds", lh_reformer_config, lsh.rounds, 1, 1, 1024, "hash rounds (n_rounds)"),
    LH_INTEGER("eval_rounds", lh_reformer_config, eval_rounds, 0, 0, 1024,
               "hash rounds in evaluation; 0: as in training"),
    LH_INTEGER("chunk", lh_reformer_config, lsh.chunk, 64, 1, 1e9, "sorted tokens of a chunk (m)"),
    LH_LIST("buckets", lh_reformer_config, buckets, LH_NO_INTEGERS, 1, 1e9,
            "hash buckets, or their even factors; empty: two a chunk"),
    LH_INTEGER("local_chunk", lh_reformer_config, local_chunk, 64, 1, 1e9,
               "tokens of a chunk of local layers"),
    {0}};

lh_status lh_reformer_config_settle(lh_reformer_config *config, const lh_model_setup *setup) {
    config->vocabulary = setup->vocabulary;
    if (config->hidden == 0) config->hidden = 4 * config->width;
    LH_TRY(lh_require_tokens(setup));
    return lh_settle_head_width(config->width, config->heads, &config->head_width);
}

static lh_status read_kind(const char *name, lh_reformer_kind *kind) {
    for (int i = 0; kinds[i] != NULL; ++i) {
        *kind = (lh_reformer_kind)i;
        if (strcmp(name, kinds[i]) == 0) return LH_OK;
    }
    return lh_fail(LH_EOPTION, "option 'attention', names separated by commas: there is no '%s'%s",
                   name, lh_did_you_mean(name, kinds));
}

static int64_t count_names(const char *names) {
    int64_t count = 1;
    for (const char *at = names; *at != '\0'; ++at)
        count += *at == ',';
    return count;
}

/* The names in turn, over and over until every layer has one. */
static lh_status settle_kinds(lh_reformer_config *config) {
    const int64_t names = count_names(config->attention);
    const char *at = config->attention;
    if (names > config->layers)
        return lh_fail(LH_EOPTION, "option 'attention' has %lld names for %lld layers",
                       (long long)names, (long long)config->layers);
    for (int64_t i = 0; i < names; ++i) {
        char name[32];
        const size_t size = strcspn(at, ",");
        (void)snprintf(name, sizeof name, "%.*s", (int)size, at);
        LH_TRY(read_kind(name, &config->kind[i]));
        at += size + 1;
    }
    for (int64_t i = names; i < config->layers; ++i)
        config->kind[i] = config->kind[i - names];
    return LH_OK;
}

static lh_status settle_buckets(lh_reformer_config *config) {
    lh_lsh *lsh = &config->lsh;
    lsh->factors = lh_list_copy(&config->buckets, lsh->factor, LH_LSH_FACTORS);
    if (lh_lsh_factors_sound(lsh)) return LH_OK;
    return lh_fail(LH_EOPTION,
                   "option 'buckets' takes at most %d even numbers (a bucket is a direction or its "
                   "opposite), or 1, whose product is below 2^31",
                   LH_LSH_FACTORS);
}

lh_status lh_reformer_attention_settle(lh_reformer_config *config) {
    LH_TRY(settle_buckets(config));
    return settle_kinds(config);
}

/* ---- parameters ---- */

lh_init lh_reformer_weight(int64_t in, int64_t out) {
    return lh_init_uniform(sqrt(6.0 / (double)(in + out)));
}

lh_init lh_reformer_bias(void) {
    return lh_init_normal(1e-6);
}

static bool uses_lsh(lh_reformer_kind kind) {
    return kind == LH_REFORMER_LSH || kind == LH_REFORMER_LSH_CHUNKS;
}

bool lh_reformer_shares(lh_reformer_kind kind) {
    return kind == LH_REFORMER_SHARED || kind == LH_REFORMER_SHARED_PLAIN || uses_lsh(kind);
}

static lh_norm declare_norm(lh_declare *declaration, int64_t width, const char *prefix) {
    char name[LH_LAYER_NAME];
    (void)snprintf(name, sizeof name, "%snorm", prefix);
    return lh_norm_declare(declaration, width, name);
}

static int declare_weight(lh_declare *declaration, int64_t in, int64_t out, const char *prefix,
                          const char *name) {
    const int64_t shape[] = {in, out};
    return lh_declare_param(declaration, lh_reformer_weight(in, out), 2, shape, "%s%s", prefix,
                            name);
}

static int declare_bias(lh_declare *declaration, int64_t width, const char *prefix,
                        const char *name) {
    return lh_declare_param(declaration, lh_reformer_bias(), 1, &width, "%s%s", prefix, name);
}

/* Only reversible layers run again in backward, so only theirs need not be there all the time. */
static void declare_group(const lh_reformer_config *config, lh_declare *declaration) {
    if (config->residual == LH_RESIDUAL_REVERSIBLE) lh_declare_group(declaration);
}

void lh_reformer_attention_declare(lh_reformer_attention *layer, const lh_reformer_config *config,
                                   bool shared, lh_declare *declaration, const char *prefix) {
    const int64_t width = config->width, inner = config->heads * config->head_width;
    declare_group(config, declaration);
    layer->norm = declare_norm(declaration, width, prefix);
    layer->query =
        declare_weight(declaration, width, inner, prefix, shared ? "query_key" : "query");
    layer->key = shared ? -1 : declare_weight(declaration, width, inner, prefix, "key");
    layer->value = declare_weight(declaration, width, inner, prefix, "value");
    layer->out = declare_weight(declaration, inner, width, prefix, "out");
    lh_declare_no_group(declaration);
}

void lh_reformer_feed_forward_declare(lh_reformer_feed_forward *layer,
                                      const lh_reformer_config *config, lh_declare *declaration,
                                      const char *prefix) {
    declare_group(config, declaration);
    layer->norm = declare_norm(declaration, config->width, prefix);
    layer->in = declare_weight(declaration, config->width, config->hidden, prefix, "in");
    layer->in_bias = declare_bias(declaration, config->hidden, prefix, "in_bias");
    layer->out = declare_weight(declaration, config->hidden, config->width, prefix, "out");
    layer->out_bias = declare_bias(declaration, config->width, prefix, "out_bias");
    lh_declare_no_group(declaration);
}

/* ---- forward ---- */

const lh_reformer_run *lh_reformer_begin(const lh_reformer_config *config, const lh_pass *pass) {
    lh_tape *tape = lh_pass_tape(pass);
    const bool training = lh_pass_is_training(pass);
    lh_reformer_run *run = lh_tape_scratch(tape, sizeof *run);
    if (run == NULL) return NULL;
    run->config = config;
    run->tape = tape;
    run->lsh = config->lsh;
    if (!training && config->eval_rounds > 0) run->lsh.rounds = config->eval_rounds;
    run->dropout = training ? config->dropout : 0.0;
    run->param = lh_pass_params(pass);
    return run->param != NULL ? run : NULL;
}

lh_tensor *lh_reformer_norm(const lh_reformer_run *run, lh_tensor *x, lh_norm norm) {
    return lh_layer_norm(run->tape, x, run->param[norm.gain], run->param[norm.bias], epsilon);
}

lh_tensor *lh_reformer_dropout(const lh_reformer_run *run, lh_tensor *x) {
    return lh_dropout(run->tape, x, run->dropout, 1);
}

static lh_tensor *project(const lh_reformer_run *run, lh_tensor *x, int weight) {
    return lh_project_heads(run->tape, x, run->param[weight], run->config->head_width);
}

/* Keys of a shared projection: q / sqrt(mean(q^2) + epsilon), and the scores divided by
 * sqrt(head_width), which is q / sqrt(|q|^2 + epsilon head_width). */
static lh_tensor *unit_keys(const lh_reformer_run *run, lh_tensor *q) {
    return lh_unit_norm(run->tape, q, epsilon * (double)run->config->head_width);
}

/* All tokens up to and with its own, or those in its chunk and the one before. */
static lh_tensor *attend_plain(const lh_reformer_run *run, int64_t chunk, lh_tensor *q,
                               lh_tensor *k, lh_tensor *v) {
    lh_attention attention = LH_ATTENTION;
    attention.scale = 1.0 / sqrt((double)run->config->head_width);
    attention.min_distance = 0;
    attention.chunk = chunk;
    attention.chunks_back = 1;
    attention.keys[attention.key_count++] = (lh_keys){.k = k, .v = v};
    return lh_attend(run->tape, &attention, q);
}

/* All tokens before its own; the first attends to itself, having nothing else. */
static lh_tensor *attend_before(const lh_reformer_run *run, lh_tensor *q, lh_tensor *k,
                                lh_tensor *v) {
    lh_tape *tape = run->tape;
    if (q == NULL || k == NULL || v == NULL) return NULL;
    const int64_t rest = q->shape[1] - 1;
    lh_tensor *first = lh_slice(tape, v, 1, 0, 1);
    if (rest <= 0) return lh_contiguous(tape, first);
    lh_attention attention = LH_ATTENTION;
    attention.min_distance = 0; /* of token i + 1 to key i */
    attention.keys[attention.key_count++] =
        (lh_keys){.k = lh_slice(tape, k, 1, 0, rest), .v = lh_slice(tape, v, 1, 0, rest)};
    lh_tensor *parts[] = {first, lh_attend(tape, &attention, lh_slice(tape, q, 1, 1, rest))};
    return lh_concat(tape, 1, parts, 2);
}

/* 0 up to and with the diagonal, -infinity above. */
static lh_tensor *causal_mask(lh_tape *tape, int64_t length) {
    const int64_t shape[] = {length, length};
    real *mask = lh_allocate((size_t)(length * length) * sizeof *mask);
    if (mask == NULL) return NULL;
    for (int64_t i = 0; i < length * length; ++i)
        mask[i] = i % length <= i / length ? 0 : -LH_R(INFINITY);
    lh_tensor *y = lh_reals(tape, 2, shape, mask);
    free(mask);
    return y;
}

/* Eq. 1 as it stands. */
static lh_tensor *attend_dot_product(const lh_reformer_run *run, lh_tensor *q, lh_tensor *k,
                                     lh_tensor *v) {
    static const int swap[] = {0, 2, 1, 3};
    lh_tape *tape = run->tape;
    if (q == NULL || k == NULL || v == NULL) return NULL;
    const int64_t length = q->shape[1], rows = q->shape[0] * q->shape[2], width = q->shape[3];
    const int64_t flat[] = {rows, length, width},
                  heads[] = {q->shape[0], q->shape[2], length, width};
    q = lh_reshape(tape, lh_permute(tape, q, swap), 3, flat);
    k = lh_reshape(tape, lh_permute(tape, k, swap), 3, flat);
    v = lh_reshape(tape, lh_permute(tape, v, swap), 3, flat);
    q = lh_scale(tape, q, 1.0 / sqrt((double)width));
    lh_tensor *score = lh_matmul(tape, q, k, false, true);
    score = lh_softmax(tape, lh_add_batch(tape, score, causal_mask(tape, length)));
    lh_tensor *y = lh_matmul(tape, score, v, false, false);
    return lh_permute(tape, lh_reshape(tape, y, 4, heads), swap);
}

static lh_tensor *attend_hashed(const lh_reformer_run *run, bool any_bucket, lh_tensor *q,
                                lh_tensor *v) {
    lh_lsh lsh = run->lsh;
    lsh.any_bucket = any_bucket;
    return lh_attend_lsh(run->tape, &lsh, q, unit_keys(run, q), v);
}

static lh_tensor *attend(const lh_reformer_run *run, const lh_reformer_attention *layer,
                         lh_reformer_kind kind, lh_tensor *x) {
    lh_tensor *q = project(run, x, layer->query), *v = project(run, x, layer->value);
    switch (kind) {
    case LH_REFORMER_SHARED:
        return attend_before(run, q, unit_keys(run, q), v);
    case LH_REFORMER_LSH:
    case LH_REFORMER_LSH_CHUNKS:
        return attend_hashed(run, kind == LH_REFORMER_LSH_CHUNKS, q, v);
    case LH_REFORMER_SHARED_PLAIN: /* of a copy: keys and queries have gradients of their own */
        return attend_plain(run, 0, q, lh_scale(run->tape, q, 1.0), v);
    case LH_REFORMER_LOCAL:
        return attend_plain(run, run->config->local_chunk, q, project(run, x, layer->key), v);
    case LH_REFORMER_DOT_PRODUCT:
        return attend_dot_product(run, q, project(run, x, layer->key), v);
    case LH_REFORMER_FULL:
        break;
    }
    return attend_plain(run, 0, q, project(run, x, layer->key), v);
}

/* Heads joined, through the output projection. */
static lh_tensor *project_out(const lh_reformer_run *run, const lh_reformer_attention *layer,
                              lh_tensor *y) {
    y = lh_linear(run->tape, lh_join_heads(run->tape, y), run->param[layer->out], NULL,
                  LH_UNARY_IDENTITY);
    return lh_reformer_dropout(run, y);
}

lh_tensor *lh_reformer_attend(const lh_reformer_run *run, const lh_reformer_attention *layer,
                              lh_reformer_kind kind, lh_tensor *x) {
    if (lh_tape_need(run->tape, run->param[layer->norm.gain]) != LH_OK) return NULL;
    const lh_scope scope = lh_scope_open(run->tape);
    lh_tensor *n = lh_reformer_norm(run, x, layer->norm);
    return lh_scope_close(run->tape, scope, project_out(run, layer, attend(run, layer, kind, n)));
}

lh_tensor *lh_reformer_attend_all(const lh_reformer_run *run, const lh_reformer_attention *layer,
                                  lh_tensor *x, lh_tensor *source, lh_tensor *count) {
    if (lh_tape_need(run->tape, run->param[layer->norm.gain]) != LH_OK) return NULL;
    const lh_scope scope = lh_scope_open(run->tape);
    lh_tensor *n = lh_reformer_norm(run, x, layer->norm);
    lh_tensor *seen = source != NULL ? source : n;
    lh_attention attention = LH_ATTENTION;
    attention.scale = 1.0 / sqrt((double)run->config->head_width);
    attention.keys[attention.key_count++] = (lh_keys){.k = project(run, seen, layer->key),
                                                      .v = project(run, seen, layer->value),
                                                      .everywhere = true,
                                                      .filled = count};
    lh_tensor *y = lh_attend(run->tape, &attention, project(run, n, layer->query));
    return lh_scope_close(run->tape, scope, project_out(run, layer, y));
}

/* What the region of a chunk is told. */
typedef struct feed_forward_context {
    const lh_reformer_run *run;
    const lh_reformer_feed_forward *layer;
} feed_forward_context;

/* The released code drops before the rectifier; a mask that is 0 or positive commutes with it. */
static lh_status feed_forward(lh_tape *tape, void *context, lh_tensor *const *inputs,
                              lh_tensor **outputs) {
    const lh_reformer_run *run = ((feed_forward_context *)context)->run;
    const lh_reformer_feed_forward *layer = ((feed_forward_context *)context)->layer;
    const lh_scope scope = lh_scope_open(tape);
    lh_tensor *y = lh_reformer_norm(run, inputs[0], layer->norm);
    y = lh_linear(tape, y, run->param[layer->in], run->param[layer->in_bias], LH_UNARY_RELU);
    y = lh_linear(tape, lh_reformer_dropout(run, y), run->param[layer->out],
                  run->param[layer->out_bias], LH_UNARY_IDENTITY);
    outputs[0] = lh_scope_close(tape, scope, lh_reformer_dropout(run, y));
    return outputs[0] != NULL ? LH_OK : lh_failed();
}

lh_tensor *lh_reformer_feed_forward_apply(const lh_reformer_run *run,
                                          const lh_reformer_feed_forward *layer, lh_tensor *x) {
    feed_forward_context context = {run, layer};
    lh_tensor *y = NULL;
    if (x == NULL || lh_tape_need(run->tape, run->param[layer->norm.gain]) != LH_OK) return NULL;
    const int64_t chunk = run->config->feed_forward_chunk;
    if (chunk > 0 && chunk < x->shape[1])
        return lh_chunked(run->tape, feed_forward, &context, sizeof context, x, chunk);
    return feed_forward(run->tape, &context, &x, &y) == LH_OK ? y : NULL;
}

static lh_status keep_streams(lh_tape *tape, const lh_reversible_block *block, lh_tensor **x1,
                              lh_tensor **x2) {
    const lh_scope scope = lh_scope_open(tape);
    lh_tensor *y[2] = {lh_add(tape, *x1, block->f(tape, block->f_context, *x2)), NULL};
    if (y[0] != NULL) y[1] = lh_add(tape, *x2, block->g(tape, block->g_context, y[0]));
    lh_scope_close_many(tape, scope, y, 2);
    *x1 = y[0];
    *x2 = y[1];
    return y[1] != NULL ? LH_OK : lh_failed();
}

static lh_status keep_stream(lh_tape *tape, const lh_reversible_block *block, lh_tensor **x) {
    const lh_scope scope = lh_scope_open(tape);
    lh_tensor *y = lh_add(tape, *x, block->f(tape, block->f_context, *x));
    if (y != NULL) y = lh_add(tape, y, block->g(tape, block->g_context, y));
    *x = lh_scope_close(tape, scope, y);
    return *x != NULL ? LH_OK : lh_failed();
}

lh_status lh_reformer_blocks(const lh_reformer_run *run, const lh_reversible_block *blocks,
                             int count, lh_tensor *x, lh_tensor **y1, lh_tensor **y2) {
    const lh_reformer_residual residual = run->config->residual;
    if (x == NULL) return lh_failed();
    if (residual == LH_RESIDUAL_REVERSIBLE)
        return lh_reversible(run->tape, blocks, count, x, x, y1, y2);
    *y1 = x;
    *y2 = residual == LH_RESIDUAL_PLAIN ? NULL : x;
    for (int i = 0; i < count; ++i) {
        if (residual == LH_RESIDUAL_PLAIN)
            LH_TRY(keep_stream(run->tape, &blocks[i], y1));
        else
            LH_TRY(keep_streams(run->tape, &blocks[i], y1, y2));
    }
    return LH_OK;
}

/* ---- accounting ---- */

double lh_reformer_attention_flops(const lh_reformer_config *config, lh_reformer_kind kind,
                                   int64_t length) {
    const double n = (double)length, inner = (double)(config->heads * config->head_width);
    const double matrices = lh_reformer_shares(kind) ? 3.0 : 4.0;
    const double projections = 2.0 * matrices * (double)config->width * inner;
    if (uses_lsh(kind)) {
        const double heads = (double)config->heads / n;
        return projections + heads * lh_lsh_flops(&config->lsh, length, config->head_width);
    }
    double pairs = 0.5 * n * (n + 1.0);
    if (kind == LH_REFORMER_SHARED) pairs -= n;
    if (kind == LH_REFORMER_DOT_PRODUCT) pairs = n * n;
    if (kind == LH_REFORMER_LOCAL) pairs = lh_local_pairs(config->local_chunk, length);
    return projections + 4.0 * inner * pairs / n;
}

double lh_reformer_feed_forward_flops(const lh_reformer_config *config) {
    return 4.0 * (double)(config->width * config->hidden);
}
