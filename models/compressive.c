/* Compressive Transformer (Rae et al. 2019, arXiv:1911.05507, section 3): a Transformer-XL whose
 * oldest memories are not dropped but compressed, `compression_rate` of them to one, into a second
 * memory. Algorithm 1, for blocks of n_s tokens:
 *   x attends to [cm; m; x up to the token itself]
 *   cm <- the last n_cm of [cm; f(the n_s oldest of m)],  m <- the last n_m of [m; x]
 * What compresses is learned by a loss of its own, from which nothing else learns: attention to
 * what it made is to give what attention to the memories themselves gives (algorithm 2), or the
 * memories are to come back from it through a linear map (auto-encoding, section 3.2). */
#include <math.h>

#include "models/dai/dai_core.h"
#include "models/layers/common.h"
#include "models/layers/recurrence_encoding.h"

typedef enum compression_kind { CONVOLUTION, DILATED, MEAN, MAX } compression_kind;
static const char *const compressions[] = {"convolution", "dilated", "mean", "max", NULL};

typedef enum loss_kind { ATTENTION, TASK, AUTO_ENCODING } loss_kind;
static const char *const losses[] = {"attention", "task", "auto_encoding", NULL};

/* What a layer has beside those of the core. */
typedef struct layer {
    lh_dense compression;   /* [rate width][width], where it is learned */
    lh_dense decompression; /* [width][rate width], where that is what it learns from */
    lh_recurrence_encoding recurrence;
    int memory, compressed; /* state slots */
} layer;

typedef struct instance {
    lh_dai_core core;
    int64_t block, memory, compressed, rate; /* n_s, n_m, n_cm, c */
    compression_kind compression;
    loss_kind loss;
    bool goes_on; /* segments of documents, all of one length */
    lh_recurrence_config recurrence;
    layer layer[LH_DAI_LAYERS];
} instance;

static const lh_option instance_options[] = {
    LH_INTEGER("block", instance, block, 512, 1, 1048576,
               "tokens that are read at once, after which memories move on (n_s)"),
    LH_INTEGER("memory", instance, memory, 512, 1, 1048576,
               "tokens before the block that every layer attends to (n_m)"),
    LH_INTEGER("compressed_memory", instance, compressed, 512, 1, 1048576,
               "compressed memories before those (n_cm)"),
    LH_INTEGER("compression_rate", instance, rate, 2, 1, 1024,
               "memories that become one compressed memory (c)"),
    LH_CHOICE("compression", instance, compression, CONVOLUTION, compressions,
              "what makes one of them, section 3.2: a convolution over neighbours; one over tokens "
              "spread across the block; their mean; their largest"),
    LH_CHOICE(
        "compression_loss", instance, loss, ATTENTION, losses,
        "what a convolution learns from: attention reconstruction; the task's loss through the "
        "blocks of a segment, of which it needs two, which then reaches memories too; or that "
        "memories come back from it "
        "by a linear map"),
    {0}};

static const lh_option_table options[] = {
    {lh_dai_size_options, LH_FIELD(instance, core.config, lh_dai_config)},
    LH_OWN_TABLE(instance),
    {lh_dai_training_options, LH_FIELD(instance, core.config, lh_dai_config)},
    LH_TABLE(instance, recurrence, lh_recurrence_config),
    {lh_dai_release_options, LH_FIELD(instance, core.config, lh_dai_config)},
    {0}};

static const char *const later_options[] = {"rsa_kinds",       "rsa_dilation", "rsa_gate",
                                            "rsa_cutoff",      "rsa_sharing",  "rsa_spread",
                                            "cluster_divisor", "share_biases", NULL};

/* ---- parameters and state ---- */

static bool is_learned(const instance *model) {
    return model->compression == CONVOLUTION || model->compression == DILATED;
}

static void declare_layer(instance *model, int64_t i, lh_declare *declaration) {
    const int64_t width = model->core.config.width, memory[] = {model->memory, width},
                  compressed[] = {model->compressed, width};
    layer *l = &model->layer[i];
    char name[LH_LAYER_NAME];
    lh_dai_declare_attention(&model->core, i, 0, declaration);
    if (is_learned(model))
        l->compression = lh_dense_declare(declaration, model->rate * width, width,
                                          lh_layer_name(name, i, "compression"));
    if (is_learned(model) && model->loss == AUTO_ENCODING)
        l->decompression = lh_dense_declare(declaration, width, model->rate * width,
                                            lh_layer_name(name, i, "decompression"));
    lh_dai_declare_network(&model->core, i, declaration);
    lh_recurrence_encoding_declare(&l->recurrence, &model->recurrence, declaration,
                                   lh_layer_name(name, i, "recurrence"));
    l->memory = lh_declare_state(declaration, LH_STATE_REPLACE, 2, memory, "layers.%lld.memory",
                                 (long long)i);
    l->compressed = lh_declare_state(declaration, LH_STATE_REPLACE, 2, compressed,
                                     "layers.%lld.compressed_memory", (long long)i);
}

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    instance *model = self;
    LH_TRY(lh_dai_config_settle(&model->core.config, setup));
    LH_TRY(lh_recurrence_config_settle(&model->recurrence, model->core.config.heads));
    model->goes_on = setup->past_length > 0;
    if (model->loss == AUTO_ENCODING && !is_learned(model))
        return lh_fail(LH_EOPTION, "compression_loss=auto_encoding needs compression=convolution "
                                   "or compression=dilated: the others learn nothing");
    if (model->block % model->rate != 0)
        return lh_fail(LH_EOPTION, "option 'compression_rate': %lld does not divide block, %lld",
                       (long long)model->rate, (long long)model->block);
    lh_dai_declare_head(&model->core, declaration);
    for (int64_t i = 0; i < model->core.config.layers; ++i)
        declare_layer(model, i, declaration);
    return LH_OK;
}

static lh_status check(const void *self, int64_t length) {
    const instance *model = self;
    return lh_require_whole_chunks("block", model->block, length);
}

/* ---- compression ---- */

/* old [batch][count][width], of whole blocks -> [batch][count / rate][rate][width]: neighbours, or
 * tokens that stand a rate-th of a block apart. */
static lh_tensor *group(const instance *model, lh_tape *tape, lh_tensor *old) {
    static const int across[] = {0, 1, 3, 2, 4};
    const int64_t rate = model->rate, width = model->core.config.width, batch = old->shape[0],
                  blocks = old->shape[1] / model->block,
                  spread[] = {batch, blocks, rate, model->block / rate, width},
                  groups[] = {batch, -1, rate, width};
    if (model->compression == DILATED)
        old = lh_permute(tape, lh_reshape(tape, old, 5, spread), across);
    return lh_reshape(tape, old, 4, groups);
}

/* The vectors of a group side by side: -> [batch][count / rate][rate width]. */
static lh_tensor *join(lh_tape *tape, lh_tensor *groups) {
    if (groups == NULL) return NULL;
    const int64_t joined[] = {groups->shape[0], groups->shape[1],
                              groups->shape[2] * groups->shape[3]};
    return lh_reshape(tape, groups, 3, joined);
}

/* f_c: [batch][count][width] -> [batch][count / rate][width]. */
static lh_tensor *compress(const instance *model, const lh_dai_pass *p, int64_t i, lh_tensor *old) {
    lh_tensor *groups = old != NULL ? group(model, p->tape, old) : NULL;
    if (model->compression == MEAN) return lh_mean(p->tape, groups, 2);
    if (model->compression == MAX) return lh_maximum(p->tape, groups, 2);
    return lh_dense_apply(model->layer[i].compression, p->pass, join(p->tape, groups),
                          LH_UNARY_IDENTITY);
}

/* ---- the loss of compression (section 3.2, algorithm 2) ---- */

static lh_tensor *mean_square(const lh_dai_pass *p, lh_tensor *apart) {
    if (apart == NULL) return NULL;
    lh_tensor *sum = lh_sum_all(p->tape, lh_unary(p->tape, LH_UNARY_SQUARE, apart));
    return lh_scale(p->tape, sum, 1.0 / (double)lh_tensor_count(apart));
}

/* What a layer multiplies with its weights: plain queries and keys of its inputs, keys of memories
 * up to those of the last block. */
typedef struct projected {
    lh_tensor *q, *keys, *memories, *compressed;
} projected;

/* Constants [batch][count][k heads][head_width], of whole blocks -> [batch blocks][count /
 * blocks]... */
static lh_tensor *by_blocks(const lh_dai_pass *p, lh_tensor *x, int64_t blocks) {
    if (x == NULL) return NULL;
    const int64_t shape[] = {x->shape[0] * blocks, x->shape[1] / blocks, -1,
                             p->core->config.head_width};
    return lh_reshape(p->tape, lh_detach(p->tape, x), 4, shape);
}

/* Keys of the `length` oldest memories, of which the last are tokens of the last block where
 * memories are fewer than its tokens. */
static lh_tensor *old_keys(const instance *model, const lh_dai_pass *p, const projected *of,
                           int64_t length) {
    const int64_t before = length - model->block, own = model->block - model->memory;
    if (of->memories == NULL || of->keys == NULL) return NULL;
    if (own <= 0) return lh_slice(p->tape, of->memories, 1, 0, length);
    lh_tensor *const parts[] = {lh_detach(p->tape, of->memories),
                                lh_detach(p->tape, lh_slice(p->tape, of->keys, 1, before, own))};
    return lh_concat(p->tape, 1, parts, 2);
}

/* The same for compressed memories by a weight that does not learn from them. */
static lh_tensor *new_keys(const lh_dai_pass *p, int64_t i, lh_tensor *made, int64_t blocks) {
    lh_tensor *frozen = lh_detach(p->tape, lh_pass_param(p->pass, p->core->layer[i].key_value));
    lh_tensor *y = lh_linear(p->tape, made, frozen, NULL, LH_UNARY_IDENTITY);
    if (y == NULL) return NULL;
    const int64_t shape[] = {y->shape[0] * blocks, y->shape[1] / blocks, -1,
                             p->core->config.head_width};
    return lh_reshape(p->tape, y, 4, shape);
}

/* Attention by content alone of each block's queries to all keys that stand beside it. */
static lh_tensor *attend_content(const lh_dai_pass *p, lh_tensor *q, lh_tensor *keys) {
    lh_attention attention = LH_ATTENTION;
    attention.scale = 1.0 / sqrt((double)p->core->config.head_width);
    if (q == NULL || keys == NULL) return NULL;
    lh_dai_add_keys(p, &attention, keys, 0);
    attention.keys[0].everywhere = true;
    return lh_attend(p->tape, &attention, q);
}

/* The mean square of attn(h, old) - attn(h, new). */
static lh_tensor *attention_loss(const instance *model, const lh_dai_pass *p, int64_t i,
                                 const projected *of, lh_tensor *made) {
    const int64_t length = lh_pass_batch(p->pass)->length, blocks = length / model->block;
    lh_tensor *q = by_blocks(p, of->q, blocks);
    lh_tensor *old = by_blocks(p, old_keys(model, p, of, length), blocks);
    return mean_square(p, lh_subtract(p->tape, attend_content(p, q, old),
                                      attend_content(p, q, new_keys(p, i, made, blocks))));
}

/* The mean square of old - g(new), in the order of the groups. */
static lh_tensor *auto_encoding_loss(const instance *model, const lh_dai_pass *p, int64_t i,
                                     lh_tensor *old, lh_tensor *new_compressed) {
    lh_tensor *back =
        lh_dense_apply(model->layer[i].decompression, p->pass, new_compressed, LH_UNARY_IDENTITY);
    return mean_square(p, lh_subtract(p->tape, join(p->tape, group(model, p->tape, old)), back));
}

/* ---- forward ---- */

/* What the blocks of a segment attend to in a layer, oldest first. Block b sees `memory` vectors
 * from b * block on, and `compressed` ones from b * block / rate on. */
typedef struct past {
    lh_tensor *memories;   /* of the segments before, then this segment's own inputs */
    lh_tensor *compressed; /* of the segments before, then those that this one makes */
} past;

/* All blocks at once: what is evicted in a segment is known from its start, its own tokens last;
 * *old becomes it, *made what it is compressed to. Hands over what the next segment begins with. */
static lh_status remember(const instance *model, const lh_dai_pass *p, int64_t i, lh_tensor *x,
                          past *seen, lh_tensor **old, lh_tensor **made) {
    const layer *l = &model->layer[i];
    lh_tape *tape = p->tape;
    const int64_t length = lh_pass_batch(p->pass)->length;
    lh_tensor *const memories[] = {lh_pass_state(p->pass, l->memory),
                                   model->loss == TASK ? x : lh_detach(tape, x)};
    seen->memories = lh_concat(tape, 1, memories, 2);
    *old = lh_slice(tape, seen->memories, 1, 0, length);
    *made = compress(model, p, i, *old);
    lh_tensor *const compressed[] = {lh_pass_state(p->pass, l->compressed),
                                     model->loss == TASK ? *made : lh_detach(tape, *made)};
    seen->compressed = *made != NULL ? lh_concat(tape, 1, compressed, 2) : NULL;
    if (seen->compressed == NULL) return lh_failed();
    LH_TRY(lh_pass_carry(p->pass, l->memory,
                         lh_slice(tape, seen->memories, 1, length, model->memory)));
    return lh_pass_carry(
        p->pass, l->compressed,
        lh_slice(tape, seen->compressed, 1, length / model->rate, model->compressed));
}

static projected multiply(const instance *model, const lh_dai_pass *p, int64_t i, lh_tensor *x,
                          const past *seen) {
    const int64_t before = lh_pass_batch(p->pass)->length - model->block;
    return (projected){
        .q = lh_dai_plain_queries(p, i, x),
        .keys = lh_dai_keys(p, i, x),
        .memories =
            lh_dai_keys(p, i, lh_slice(p->tape, seen->memories, 1, 0, model->memory + before)),
        .compressed = lh_dai_keys(
            p, i,
            lh_slice(p->tape, seen->compressed, 1, 0, model->compressed + before / model->rate))};
}

/* One call of the attention for each block. */
static lh_tensor *attend(const instance *model, const lh_dai_pass *p, int64_t i,
                         const projected *of) {
    lh_tape *tape = p->tape;
    const int64_t block = model->block, length = lh_pass_batch(p->pass)->length;
    lh_attention shared;
    lh_tensor *q = lh_dai_place_queries(p, i, of->q, &shared);
    lh_tensor *y = q != NULL ? lh_sequence(tape, 4, q->shape) : NULL;
    for (int64_t at = 0; at < length && y != NULL; at += block) {
        lh_attention attention = shared;
        lh_dai_add_keys(p, &attention,
                        lh_slice(tape, of->compressed, 1, at / model->rate, model->compressed),
                        -model->memory - model->compressed);
        lh_dai_add_keys(p, &attention, lh_slice(tape, of->memories, 1, at, model->memory),
                        -model->memory);
        lh_dai_add_keys(p, &attention, lh_slice(tape, of->keys, 1, at, block), 0);
        lh_tensor *own = lh_attend(tape, &attention, lh_slice(tape, q, 1, at, block));
        own = lh_recurrence_encoding_mix(&model->layer[i].recurrence, p->pass, &attention, own);
        if (own == NULL || lh_sequence_write(tape, y, 1, at, own) != LH_OK) return NULL;
    }
    return y;
}

/* Adds to *loss what compression learns from. */
static lh_status learn(const instance *model, const lh_dai_pass *p, int64_t i, const projected *of,
                       lh_tensor *old, lh_tensor *made, lh_tensor **loss) {
    if (!lh_pass_is_training(p->pass) || !is_learned(model) || model->loss == TASK) return LH_OK;
    lh_tensor *own = model->loss == AUTO_ENCODING ? auto_encoding_loss(model, p, i, old, made)
                                                  : attention_loss(model, p, i, of, made);
    *loss = *loss != NULL ? lh_add(p->tape, *loss, own) : own;
    return *loss != NULL ? LH_OK : lh_failed();
}

static lh_tensor *apply_layer(const instance *model, const lh_dai_pass *p, int64_t i, lh_tensor *x,
                              lh_tensor **loss) {
    const lh_scope scope = lh_scope_open(p->tape);
    past seen;
    lh_tensor *old, *made;
    if (remember(model, p, i, x, &seen, &old, &made) != LH_OK) return NULL;
    const projected of = multiply(model, p, i, x, &seen);
    if (learn(model, p, i, &of, old, made, loss) != LH_OK) return NULL;
    lh_tensor *y = lh_dai_finish_layer(p, i, x, attend(model, p, i, &of));
    lh_tensor *const kept[] = {y, *loss};
    lh_scope_close_many(p->tape, scope, kept, 2);
    return y;
}

/* The task's loss reaches a compression from a later block of the same segment. */
static lh_status check_learning(const instance *model, const lh_pass *pass) {
    const int64_t length = lh_pass_batch(pass)->length;
    const bool by_task = is_learned(model) && model->loss == TASK && model->goes_on;
    if (!by_task || !lh_pass_is_training(pass) || length >= 2 * model->block) return LH_OK;
    return lh_fail(LH_EOPTION,
                   "compression_loss=task learns nothing from a segment of one block: give a "
                   "'block' of half the segment, %lld, or less",
                   (long long)(length / 2));
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    const instance *model = self;
    lh_tensor *x = NULL;
    LH_TRY(check_learning(model, pass));
    const lh_dai_pass p =
        lh_dai_begin(&model->core, pass, model->block + model->memory + model->compressed, &x);
    for (int64_t i = 0; i < model->core.config.layers && x != NULL; ++i)
        x = apply_layer(model, &p, i, x, &out->auxiliary_loss);
    return lh_dai_finish(&p, x, out);
}

/* ---- accounting ---- */

/* Keys are made of what is read and of each memory once a segment; the loss of compression, which
 * is there in training alone, is not counted. */
static double flops_per_token(const void *self, int64_t length) {
    const instance *model = self;
    const lh_dai_config *config = &model->core.config;
    const double tokens = (double)length, block = (double)model->block, rate = (double)model->rate,
                 width = (double)config->width,
                 memories = (double)(model->memory + model->compressed);
    const double keys = tokens + memories + (tokens - block) * (1.0 + 1.0 / rate);
    const double pairs = tokens * (memories + 0.5 * (block + 1.0));
    const double compression = is_learned(model) ? 2.0 * tokens * width * width : 0.0;
    const double each = lh_dai_layer_flops(config, tokens, keys, pairs) + compression;
    return (double)config->layers * each / tokens + lh_dai_head_flops(config);
}

static lh_status probe(const void *self, const lh_params *params, const lh_report *report) {
    const instance *model = self;
    return lh_recurrence_encodings_probe(&model->layer->recurrence, sizeof *model->layer,
                                         model->core.config.layers, params, report);
}

static const lh_refused refused[] = {LH_NO_STAIRCASE, {0}};

const lh_model_class lh_model_compressive = {
    .name = "compressive",
    .summary = "Transformer-XL whose oldest memories are compressed into a second memory",
    .paper = "Rae et al. 2019, arXiv:1911.05507",
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
