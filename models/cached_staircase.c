/* Cached Staircase (Ju et al. 2022, section 3.2.1) and its special case, the Feedback Transformer
 * (Fan et al. 2020; Ju et al., section 3.3).
 *
 * A chunk of C tokens passes the core M times; then what came out is frozen and stays, for the
 * other N - M steps, as context of every layer, through that layer's own norm, keys and values.
 * Step s puts the M newest chunks through the core in the context of the N - M before them. With C
 * = 1 and M = 1 each token sees the frozen vectors of the tokens before it: the Feedback
 * Transformer, which freezes a learned mixture of all layers instead of the last one. */
#include "models/layers/common.h"
#include "models/staircase/staircase_core.h"

typedef enum memory_kind { MIX, TOP } memory_kind;
static const char *const memories[] = {"mix", "top", NULL};

typedef enum carried_kind { RAW, NORMED } carried_kind;
static const char *const carried[] = {"raw", "normed", NULL};
static const char *const feedback_later_options[] = {"post_norm", "carry", NULL};

typedef struct instance {
    lh_staircase_core core;
    int64_t forward_size, context; /* C; frozen tokens in reach: (N - 1) * C */
    int64_t step_size;             /* N * C */
    int64_t passes;                /* M */
    memory_kind memory;            /* of the Feedback Transformer */
    carried_kind carried;          /* how memory vectors cross a segment */
    bool mixes;                    /* freezes a mixture of all layers */
    bool sees_self;                /* tokens of a step attend to those of the same step */
    int memory_weight;             /* with mixes: parameter [layers + 1] */
    int frozen;                    /* state slot: the last `context` frozen vectors */
} instance;

static const lh_option instance_options[] = {
    LH_INTEGER("forward_size", instance, forward_size, 64, 1, 1048576, "new tokens of a step (C)"),
    LH_INTEGER("step_size", instance, step_size, 256, 1, 1048576,
               "tokens that a step reads, cached ones included (N * C)"),
    LH_INTEGER("computed_steps", instance, passes, 1, 1, 64,
               "passes of every token before it is cached (M)"),
    {0}};

static const lh_option_table options[] = {
    {lh_staircase_layers_options, LH_FIELD(instance, core.config, lh_staircase_config)},
    LH_TABLE(instance, core.config, lh_staircase_config),
    LH_TABLE(instance, core.config.recurrence_encoding, lh_recurrence_config),
    LH_OWN_TABLE(instance),
    {0}};

static const lh_option feedback_rows[] = {
    LH_INTEGER("span", instance, context, 512, 1, 1048576,
               "tokens before each one that it sees (S)"),
    LH_CHOICE("memory", instance, memory, MIX, memories,
              "what a token leaves behind: a learned mixture of all its layers, or the top one"),
    LH_FLAG("see_self", instance, sees_self, false,
            "let a token attend to itself too (as a cached staircase does)"),
    LH_FLAG("share_kv", instance, core.config.share_keys, false,
            "one norm, key and value matrix for all layers (the paper's 102M row)"),
    LH_CHOICE("carry", instance, carried, RAW, carried,
              "memory vectors as they cross a segment: as they are, or through the first layer's "
              "norm, which the released code then applies twice"),
    {0}};

static const lh_option_table feedback_options[] = {
    {lh_staircase_layers_options, LH_FIELD(instance, core.config, lh_staircase_config)},
    LH_TABLE(instance, core.config, lh_staircase_config),
    LH_TABLE(instance, core.config.recurrence_encoding, lh_recurrence_config),
    {feedback_rows, 0},
    {0}};

/* ---- declaring ---- */

static void declare_all(instance *model, lh_declare *declaration) {
    lh_staircase_config *config = &model->core.config;
    config->first_distance = model->sees_self ? 0 : 1;
    config->positions = model->context + (model->sees_self ? model->forward_size : 0);
    lh_staircase_declare(&model->core, declaration);
    const int64_t shape[] = {model->context, config->width}, weights[] = {config->layers + 1};
    if (model->mixes)
        model->memory_weight =
            lh_declare_param(declaration, lh_init_zeros(), 1, weights, "memory.weight");
    model->frozen = lh_declare_state(declaration, LH_STATE_REPLACE, 2, shape, "frozen");
}

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    instance *model = self;
    const int64_t size = model->forward_size, step = model->step_size;
    LH_TRY(lh_staircase_config_settle(&model->core.config, setup));
    model->context = step - size;
    model->sees_self = true;
    if (step % size != 0 || step == size || model->passes * size > step) {
        return lh_fail(LH_EOPTION,
                       "option 'step_size' (%lld) must be a multiple of 'forward_size' (%lld), at "
                       "least twice it and 'computed_steps' (%lld) times it",
                       (long long)step, (long long)size, (long long)model->passes);
    }
    declare_all(model, declaration);
    return LH_OK;
}

static lh_status declare_feedback(void *self, const lh_model_setup *setup,
                                  lh_declare *declaration) {
    instance *model = self;
    LH_TRY(lh_staircase_config_settle(&model->core.config, setup));
    if (model->carried == NORMED && model->core.config.post_norm)
        return lh_fail(LH_EOPTION, "options 'carry=normed' and 'post_norm' exclude each other: "
                                   "with post_norm no norm stands before a layer");
    model->forward_size = 1;
    model->passes = 1;
    model->mixes = model->memory == MIX;
    declare_all(model, declaration);
    return LH_OK;
}

static lh_status check(const void *self, int64_t length) {
    return lh_require_whole_chunks("forward_size", ((const instance *)self)->forward_size, length);
}

/* ---- the frozen tokens ---- */

/* Keys and values of [context; segment] at every layer, filled as chunks freeze, and the frozen
 * vectors of the segment themselves. */
typedef struct bank {
    const instance *model;
    const lh_staircase_pass *core;
    int64_t layers; /* with keys of their own */
    lh_tensor *keys[LH_STAIRCASE_LAYERS];
    lh_tensor *vectors;
} bank;

static lh_status write_keys(const bank *b, int64_t start, lh_tensor *vectors) {
    for (int64_t i = 0; i < b->layers; ++i) {
        lh_tensor *keys = lh_staircase_keys(b->core, i, vectors);
        LH_TRY(lh_sequence_write(b->core->tape, b->keys[i], 1, start, keys));
    }
    return LH_OK;
}

static lh_status bank_begin(bank *b, const instance *model, const lh_staircase_pass *core,
                            const lh_tensor *embedded) {
    const lh_staircase_config *config = &model->core.config;
    const int64_t keys[] = {embedded->shape[0], model->context + embedded->shape[1],
                            2 * config->heads, config->head_width};
    *b = (bank){.model = model, .core = core, .layers = config->share_keys ? 1 : config->layers};
    for (int64_t i = 0; i < b->layers; ++i)
        b->keys[i] = lh_sequence(core->tape, 4, keys);
    b->vectors = lh_sequence(core->tape, 3, embedded->shape);
    return write_keys(b, 0, lh_pass_state(core->pass, model->frozen));
}

/* Token `start` of the segment on: these vectors change no more. */
static lh_status bank_freeze(const bank *b, int64_t start, lh_tensor *vectors) {
    LH_TRY(lh_sequence_write(b->core->tape, b->vectors, 1, start, vectors));
    return write_keys(b, b->model->context + start, vectors);
}

/* What the tokens of `step`, of which the first is `first`, see at a layer. */
static lh_staircase_view bank_view(const bank *b, int64_t layer, int64_t step, int64_t first) {
    const int64_t start = step * b->model->forward_size;
    lh_tensor *keys = b->keys[b->layers == 1 ? 0 : layer];
    return (lh_staircase_view){
        .before = lh_slice(b->core->tape, keys, 1, start, b->model->context + first - start),
        .among = b->model->sees_self,
        .max_distance = LH_FAR};
}

/* ---- forward ---- */

/* m = sum_l softmax(w)_l x^l over the embedding and every layer's output (Fan et al. 2020, eq. 5).
 * `outputs` [layers + 1][batch][count][width]. */
static lh_tensor *mixed(const instance *model, const lh_staircase_pass *core, lh_tensor *outputs,
                        const lh_tensor *like) {
    lh_tape *tape = core->tape;
    const int64_t levels = model->core.config.layers + 1, row[] = {1, levels},
                  flat[] = {levels, -1};
    lh_tensor *weight = lh_softmax(tape, lh_pass_param(core->pass, model->memory_weight));
    lh_tensor *sum = lh_matmul(tape, lh_reshape(tape, weight, 2, row),
                               lh_reshape(tape, outputs, 2, flat), false, false);
    return lh_reshape(tape, sum, 3, like->shape);
}

static lh_status collect(const lh_staircase_pass *core, lh_tensor *outputs, int64_t level,
                         lh_tensor *x) {
    if (outputs == NULL || x == NULL) return x != NULL ? LH_OK : lh_failed();
    const int64_t shape[] = {1, x->shape[0], x->shape[1], x->shape[2]};
    return lh_sequence_write(core->tape, outputs, 0, level, lh_reshape(core->tape, x, 4, shape));
}

/* The tokens of a step, of which the first is `first`, through the core once. *memory is what they
 * leave behind when frozen. */
static lh_tensor *pass_once(const bank *b, int64_t step, int64_t first, lh_tensor *x,
                            lh_tensor **memory) {
    const instance *model = b->model;
    const lh_staircase_pass *core = b->core;
    const int64_t layers = model->core.config.layers,
                  shape[] = {layers + 1, x->shape[0], x->shape[1], x->shape[2]};
    lh_tensor *outputs = model->mixes ? lh_sequence(core->tape, 4, shape) : NULL;
    x = lh_contiguous(core->tape, x);
    if (collect(core, outputs, 0, x) != LH_OK) return NULL;
    for (int64_t i = 0; i < layers; ++i) {
        const lh_staircase_view view = bank_view(b, i, step, first);
        x = lh_staircase_apply(core, i, x, &view);
        if (collect(core, outputs, i + 1, x) != LH_OK) return NULL;
    }
    *memory = model->mixes ? mixed(model, core, outputs, x) : x;
    return x;
}

/* Chunks of step `step`: [oldest, newest]. */
static int64_t oldest_live(const instance *model, int64_t step) {
    return step < model->passes ? 0 : step - model->passes + 1;
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    const instance *model = self;
    const lh_staircase_pass core = lh_staircase_begin(&model->core, pass);
    lh_tensor *embedded = lh_staircase_embed(&core), *x = NULL;
    if (embedded == NULL) return lh_failed();
    bank b;
    LH_TRY(bank_begin(&b, model, &core, embedded));
    lh_tensor *done = model->mixes ? lh_sequence(core.tape, 3, embedded->shape) : b.vectors;
    const int64_t size = model->forward_size, chunks = embedded->shape[1] / size;
    const lh_scope scope = lh_scope_open(core.tape);
    for (int64_t step = 0; step < chunks + model->passes - 1; ++step) {
        lh_tensor *memory = NULL;
        const int64_t first = oldest_live(model, step) * size;
        x = lh_staircase_tokens(&core, embedded, size, model->passes, step, x);
        if (x != NULL) x = pass_once(&b, step, first, x, &memory);
        if (x == NULL) return lh_failed();
        if (step + 1 >= model->passes) {
            LH_TRY(bank_freeze(&b, first, lh_slice(core.tape, memory, 1, 0, size)));
        }
        if (model->mixes) LH_TRY(lh_sequence_write(core.tape, done, 1, first, x));
        x = lh_scope_close(core.tape, scope, x);
    }
    lh_tensor *before = lh_pass_state(pass, model->frozen),
              *vectors = lh_detach(core.tape, b.vectors);
    if (model->carried == NORMED) vectors = lh_staircase_normed(&core, 0, vectors);
    LH_TRY(lh_pass_carry(pass, model->frozen,
                         lh_last_tokens(core.tape, model->context, before, vectors)));
    return lh_staircase_finish(&core, done, out);
}

/* ---- accounting ---- */

/* One row's segment, step by step as forward takes it. */
static double flops_per_token(const void *self, int64_t length) {
    const instance *model = self;
    const lh_staircase_config *config = &model->core.config;
    const lh_staircase_view view = {.among = model->sees_self};
    const int64_t size = model->forward_size, chunks = length / size,
                  stored = config->share_keys ? 1 : config->layers;
    double flops = 0;
    for (int64_t step = 0; step < chunks + model->passes - 1; ++step) {
        const int64_t oldest = oldest_live(model, step), newest = step < chunks ? step : chunks - 1,
                      queries = (newest - oldest + 1) * size,
                      before = model->context + (oldest - step) * size;
        double pairs = (double)queries * (double)before;
        if (model->sees_self) pairs += (double)queries * (double)(queries + 1) / 2;
        flops += (double)config->layers * lh_staircase_apply_flops(config, &view, queries, pairs);
    }
    flops += (double)stored * lh_staircase_keys_flops(config, model->context + length);
    if (model->mixes) {
        flops += 2.0 * (double)(config->layers + 1) * (double)config->width * (double)length;
    }
    return flops / (double)length + lh_staircase_head_flops(config);
}

/* Steps that drain a segment freeze its last chunks before the next one's first passes see them,
 * where in one segment they would see them live. */
static bool splits(const void *self) {
    const instance *model = self;
    return model->passes == 1 && model->carried == RAW;
}

const lh_model_class lh_model_cached_staircase = {
    .name = "cached_staircase",
    .summary = "Staircase attention whose chunks are cached after M passes",
    .paper = "Ju et al. 2022, arXiv:2106.04279, section 3.2.1",
    .layout =
        "layer norms add 1e-5 to the variance; row d of positions is row limit - 1 - d of key_pe",
    .version = 1,
    .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS | LH_ABLE_STATE,
    .options = options,
    .instance_size = sizeof(instance),
    .declare = declare,
    .forward = forward,
    .flops_per_token = flops_per_token,
    .check = check,
    .later_options = lh_staircase_later_options,
    .splits = splits,
};

const lh_model_class lh_model_feedback = {
    .name = "feedback",
    .summary = "Feedback Transformer: each token sees one memory vector of every token before it",
    .paper = "Fan et al. 2020, arXiv:2002.09402; Ju et al. 2022, section 3.3",
    .layout =
        "layer norms add 1e-5 to the variance; row d of positions is row limit - 1 - d of key_pe",
    .version = 1,
    .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS | LH_ABLE_STATE | LH_IS_SEQUENTIAL,
    .options = feedback_options,
    .instance_size = sizeof(instance),
    .declare = declare_feedback,
    .forward = forward,
    .flops_per_token = flops_per_token,
    .later_options = feedback_later_options,
    .splits = splits,
};
