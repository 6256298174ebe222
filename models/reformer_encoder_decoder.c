/* The Transformer for translation with reversible layers in encoder and decoder (Kitaev et al.
 * 2020, section 5 and table 4), and the same with plain residual connections. Full attention:
 * sentences are shorter than a chunk of LSH attention.
 *
 * A layer of the encoder has two residual branches, one of the decoder three. With two streams the
 * branches write to them in turn, so that the streams change roles from one layer of the decoder to
 * the next; both streams begin with the embeddings, and their mean is what a stack gives. */
#include <stdio.h>

#include "models/reformer/reformer_core.h"

typedef struct layer {
    lh_reformer_attention self, cross; /* cross: in the decoder alone */
    lh_reformer_feed_forward feed_forward;
} layer;

typedef struct stack {
    int embedding, positions;
    lh_norm norm;
    layer layer[LH_REFORMER_LAYERS];
} stack;

typedef struct instance {
    lh_reformer_config config;
    int64_t source_length, positions;
    bool shares; /* one table for source, target and head */
    int head, head_bias;
    stack encoder, decoder;
} instance;

static const lh_option instance_options[] = {
    LH_INTEGER("positions", instance, positions, 2048, 1, 1048576, "longest source and target"),
    LH_FLAG("shared", instance, shares, true, "one embedding for source, target and the head"),
    {0}};

static const lh_option_table options[] = {
    LH_TABLE(instance, config, lh_reformer_config), LH_OWN_TABLE(instance), {0}};

/* ---- declaring ---- */

static int declare_table(lh_declare *declaration, const instance *model, const char *name) {
    const int64_t shape[] = {model->config.vocabulary, model->config.width};
    const int index =
        lh_declare_param(declaration, lh_reformer_weight(shape[0], shape[1]), 2, shape, "%s", name);
    lh_declare_embedding(declaration);
    return index;
}

static void declare_layer(lh_declare *declaration, const instance *model, const char *stack_name,
                          int64_t i, layer *l) {
    char prefix[64];
    (void)snprintf(prefix, sizeof prefix, "%s.layers.%lld.attention.", stack_name, (long long)i);
    lh_reformer_attention_declare(&l->self, &model->config, false, declaration, prefix);
    (void)snprintf(prefix, sizeof prefix, "%s.layers.%lld.cross.", stack_name, (long long)i);
    if (stack_name[0] == 'd')
        lh_reformer_attention_declare(&l->cross, &model->config, false, declaration, prefix);
    (void)snprintf(prefix, sizeof prefix, "%s.layers.%lld.feed_forward.", stack_name, (long long)i);
    lh_reformer_feed_forward_declare(&l->feed_forward, &model->config, declaration, prefix);
}

static void declare_stack(lh_declare *declaration, const instance *model, const char *name,
                          stack *s) {
    const int64_t shape[] = {model->positions, model->config.width};
    char prefix[32];
    s->positions = lh_declare_param(declaration, (lh_init){LH_INIT_SINUSOIDS, 0.0, 1.0}, 2, shape,
                                    "%s.positions.weight", name);
    lh_declare_embedding(declaration);
    for (int64_t i = 0; i < model->config.layers; ++i)
        declare_layer(declaration, model, name, i, &s->layer[i]);
    (void)snprintf(prefix, sizeof prefix, "%s.norm", name);
    s->norm = lh_norm_declare(declaration, model->config.width, prefix);
}

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    instance *model = self;
    LH_TRY(lh_reformer_config_settle(&model->config, setup));
    if (setup->source_vocabulary > 0 && setup->source_vocabulary != setup->vocabulary)
        return lh_fail(LH_EOPTION,
                       "source and target share one vocabulary; the task has %lld and %lld",
                       (long long)setup->source_vocabulary, (long long)setup->vocabulary);
    model->source_length = setup->source_length;
    model->encoder.embedding = declare_table(declaration, model, "encoder.embedding.weight");
    model->decoder.embedding = model->head = model->encoder.embedding;
    if (!model->shares) {
        model->decoder.embedding = declare_table(declaration, model, "decoder.embedding.weight");
        const int64_t head[] = {model->config.vocabulary, model->config.width};
        model->head = lh_declare_param(declaration, lh_reformer_weight(head[0], head[1]), 2, head,
                                       "head.weight");
    }
    declare_stack(declaration, model, "encoder", &model->encoder);
    declare_stack(declaration, model, "decoder", &model->decoder);
    model->head_bias = lh_declare_param(declaration, lh_reformer_bias(), 1,
                                        &model->config.vocabulary, "head.bias");
    return LH_OK;
}

static lh_status check_length(const instance *model, int64_t length, const char *what) {
    if (length <= model->positions) return LH_OK;
    return lh_fail(LH_ESHAPE, "%s of %lld tokens is longer than the %lld 'positions'", what,
                   (long long)length, (long long)model->positions);
}

static lh_status check(const void *self, int64_t length) {
    return check_length(self, length, "a target");
}

/* ---- forward ---- */

typedef struct branch branch;
typedef lh_tensor *(*branch_function)(const branch *b, lh_tensor *x);

/* One residual branch of a pass. */
struct branch {
    branch_function apply;
    const lh_reformer_run *run;
    const layer *layer;
    lh_tensor *source, *count; /* what the encoder gave; tokens of each source */
};

static lh_tensor *see_all(const branch *b, lh_tensor *x) {
    return lh_reformer_attend_all(b->run, &b->layer->self, x, NULL, b->count);
}

static lh_tensor *see_before(const branch *b, lh_tensor *x) {
    return lh_reformer_attend(b->run, &b->layer->self, LH_REFORMER_FULL, x);
}

static lh_tensor *see_source(const branch *b, lh_tensor *x) {
    return lh_reformer_attend_all(b->run, &b->layer->cross, x, b->source, b->count);
}

static lh_tensor *feed_forward(const branch *b, lh_tensor *x) {
    return lh_reformer_feed_forward_apply(b->run, &b->layer->feed_forward, x);
}

static lh_tensor *half(lh_tape *tape, void *context, lh_tensor *x) {
    (void)tape;
    const branch *b = context;
    return b->apply(b, x);
}

/* to + branch(from). */
static lh_tensor *add_branch(const branch *b, lh_tensor *to, lh_tensor *from) {
    const lh_scope scope = lh_scope_open(b->run->tape);
    lh_tensor *y = lh_add(b->run->tape, to, b->apply(b, from));
    return lh_scope_close(b->run->tape, scope, y);
}

/* Pairs of branches as reversible blocks; of an odd number the last is left over. */
static lh_status run_reversible(branch *branches, int count, lh_tensor *x, lh_tensor *y[2]) {
    lh_reversible_block blocks[(3 * LH_REFORMER_LAYERS + 1) / 2];
    for (int i = 0; i + 1 < count; i += 2)
        blocks[i / 2] = (lh_reversible_block){half, half, &branches[i], &branches[i + 1]};
    LH_TRY(lh_reversible(branches[0].run->tape, blocks, count / 2, x, x, &y[0], &y[1]));
    if (count % 2 == 1) y[0] = add_branch(&branches[count - 1], y[0], y[1]);
    return y[0] != NULL ? LH_OK : lh_failed();
}

/* x [batch][length][width] through all branches: the mean of both streams, or the one there is. */
static lh_tensor *run_branches(branch *branches, int count, lh_tensor *x) {
    const lh_reformer_run *run = branches[0].run;
    lh_tensor *y[2] = {x, x};
    switch (run->config->residual) {
    case LH_RESIDUAL_REVERSIBLE:
        if (run_reversible(branches, count, x, y) != LH_OK) return NULL;
        break;
    case LH_RESIDUAL_TWO_STREAMS:
        for (int i = 0; i < count; ++i)
            y[i % 2] = add_branch(&branches[i], y[i % 2], y[1 - i % 2]);
        break;
    case LH_RESIDUAL_PLAIN:
        for (int i = 0; i < count; ++i)
            x = add_branch(&branches[i], x, x);
        return x;
    }
    return lh_scale(run->tape, lh_add(run->tape, y[0], y[1]), 0.5);
}

/* tokens i32 [batch][length]; source NULL: the encoder, else what it gave. */
static lh_tensor *run_stack(const instance *model, const lh_reformer_run *run, const stack *s,
                            lh_tensor *tokens, lh_tensor *source, lh_tensor *count) {
    const int kinds = source != NULL ? 3 : 2, branches = kinds * (int)model->config.layers;
    static const branch_function encoder[] = {see_all, feed_forward},
                                 decoder[] = {see_before, see_source, feed_forward};
    lh_tape *tape = run->tape;
    branch *list = lh_tape_scratch(tape, (size_t)branches * sizeof *list);
    if (list == NULL) return NULL;
    for (int i = 0; i < branches; ++i)
        list[i] = (branch){.apply = source != NULL ? decoder[i % kinds] : encoder[i % kinds],
                           .run = run,
                           .layer = &s->layer[i / kinds],
                           .source = source,
                           .count = count};
    lh_tensor *positions = lh_slice(tape, run->param[s->positions], 0, 0, tokens->shape[1]);
    lh_tensor *x = lh_reformer_dropout(run, lh_gather(tape, run->param[s->embedding], tokens));
    x = run_branches(list, branches, lh_add_batch(tape, x, positions));
    return lh_reformer_dropout(run, lh_reformer_norm(run, x, s->norm));
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    const instance *model = self;
    const lh_batch *batch = lh_pass_batch(pass);
    if (batch->source_tokens == NULL)
        return lh_fail(LH_EOPTION, "needs a source sequence for its encoder");
    LH_TRY(check_length(model, batch->source_tokens->shape[1], "a source"));
    const lh_reformer_run *run = lh_reformer_begin(&model->config, pass);
    if (run == NULL) return LH_EMEMORY;
    lh_tensor *source = batch->encoded;
    if (source == NULL)
        source =
            run_stack(model, run, &model->encoder, batch->source_tokens, NULL, batch->source_count);
    if (source == NULL) return lh_failed();
    out->encoded = source;
    out->hidden =
        run_stack(model, run, &model->decoder, batch->tokens, source, batch->source_count);
    out->head_weight = run->param[model->head];
    out->head_bias = run->param[model->head_bias];
    return out->hidden != NULL ? LH_OK : lh_failed();
}

/* ---- accounting ---- */

/* Of a token of the target; the source is shared out among them. */
static double flops_per_token(const void *self, int64_t length) {
    const instance *model = self;
    const lh_reformer_config *config = &model->config;
    const double inner = (double)(config->heads * config->head_width);
    const double matrix = 2.0 * (double)config->width * inner;
    const double source = (double)model->source_length, share = source / (double)length;
    const double network = lh_reformer_feed_forward_flops(config);
    const double encoder = 4.0 * matrix + 4.0 * inner * source + network;
    const double decoder = lh_reformer_attention_flops(config, LH_REFORMER_FULL, length) +
                           2.0 * matrix + 4.0 * inner * source + network;
    const double head = 2.0 * (double)(config->width * config->vocabulary);
    return (double)config->layers * ((encoder + 2.0 * matrix) * share + decoder) + head;
}

const lh_model_class lh_model_reformer_encoder_decoder = {
    .name = "reformer_encoder_decoder",
    .summary = "Transformer for translation with reversible or plain residual connections",
    .paper = "Kitaev et al. 2020, arXiv:2001.04451",
    .layout = "layer norms add 1e-6 to the variance, unit keys 1e-6 to the mean square",
    .version = 1,
    .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS | LH_ABLE_SEQUENCE_TO_SEQUENCE,
    .options = options,
    .instance_size = sizeof(instance),
    .declare = declare,
    .forward = forward,
    .flops_per_token = flops_per_token,
    .check = check,
};
