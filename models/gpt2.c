/* GPT-2 (Radford et al. 2019) on windows of text, and the same with recurrence between windows
 * (Yoshida et al. 2020).
 *
 * A segment is a run of windows of T tokens, each of which repeats the last `overlap` tokens of the
 * one before it. Positions begin anew in every window, and a token's prediction is that of the
 * first window that has it (section 4.2): of the first window all, of the others those after the
 * repeated tokens. With recurrence a window's pooled hidden states become vectors that the next
 * window attends to at one layer, as keys and values only (section 3.1, figure 2). Each window is
 * then a bottleneck, and is computed again in backward from the vectors before it (section 3.2). */
#include <stdlib.h>

#include "models/gpt2/gpt2_core.h"
#include "models/gpt2/window_summary.h"

typedef struct instance {
    lh_gpt2_core core;
    int64_t window, overlap; /* window 0: the whole segment */
    bool recomputes;         /* of several windows each runs again in backward */
    bool caches;             /* a segment continues the window, for generation */
    bool recurrent;
    bool final_norm;   /* the last of the pooled layers is what follows the last norm */
    int64_t insertion; /* layer that sees the summary, from 0; -1: all of them */
    bool carries_in_training;
    bool never_learns; /* segments of documents are one window each, and none sees another */
    bool of_documents; /* segments may go on with a document */
    lh_window_summary summary;
    int previous;              /* ring: the summary of the window before */
    int pooled;                /* with caches: sums over the window so far */
    int cache[LH_GPT2_LAYERS]; /* with caches: rings of keys and values */
} instance;

static const char *const poolings[] = {"mean", "max", "attention", NULL};

static const lh_option instance_options[] = {
    LH_INTEGER("window", instance, window, 0, 0, 1048576,
               "tokens that the model sees at once (T); 0: the segment"),
    LH_INTEGER("overlap", instance, overlap, 0, 0, 1048576,
               "tokens of a window that the next one repeats"),
    LH_FLAG("recompute", instance, recomputes, true,
            "of several windows keep one's activations at a time, and compute the others again in "
            "backward"),
    LH_FLAG("cache", instance, caches, false,
            "keep keys and values, so that segments continue a window (for generation)"),
    {0}};

static const lh_option_table options[] = {
    LH_TABLE(instance, core.config, lh_gpt2_config),
    LH_TABLE(instance, core.config.recurrence_encoding, lh_recurrence_config),
    LH_OWN_TABLE(instance),
    {0}};

static const lh_option recurrent_rows[] = {
    LH_INTEGER("insertion", instance, insertion, 2, 0, LH_GPT2_LAYERS,
               "layer, from 1, that attends to the window before (l_ins); 0: all layers"),
    LH_CHOICE("pooling", instance, summary.pooling, LH_POOL_MEAN, poolings,
              "over the tokens of a window"),
    LH_INTEGER("embeddings", instance, summary.embeddings, 1, 1, 64,
               "vectors that a window hands on"),
    LH_INTEGER("summary_layers", instance, summary.hidden_layers, 3, 0, LH_SUMMARY_HIDDEN_LAYERS,
               "hidden layers of the network that makes them"),
    LH_INTEGER("summary_hidden", instance, summary.hidden, 200, 1, 65536, "size of those layers"),
    LH_FLAG("final_norm", instance, final_norm, true,
            "pool the last layer after the final norm, as Hugging Face numbers hidden states"),
    LH_FLAG("carry", instance, carries_in_training, false,
            "in training too, a segment goes on from the one before it; without it segments of one "
            "window learn no recurrence, and are refused where documents are longer"),
    {0}};

static const lh_option_table recurrent_options[] = {
    LH_TABLE(instance, core.config, lh_gpt2_config),
    LH_TABLE(instance, core.config.recurrence_encoding, lh_recurrence_config),
    LH_OWN_TABLE(instance),
    {recurrent_rows, 0},
    {0}};

/* ---- declaring ---- */

static lh_status check_windows(const instance *model) {
    const long long window = model->window, overlap = model->overlap,
                    context = model->core.config.context;
    if (window > context)
        return lh_fail(LH_EOPTION, "option 'window' (%lld) is above 'context' (%lld)", window,
                       context);
    if (overlap > 0 && overlap >= window)
        return lh_fail(LH_EOPTION, "option 'overlap' (%lld) must be below 'window' (%lld)", overlap,
                       window);
    if (model->caches && window == 0) return lh_fail(LH_EOPTION, "option 'cache' needs a 'window'");
    return LH_OK;
}

/* A cache needs a window: without one it is as long as the context. */
static void settle_cache(instance *model, const lh_model_setup *setup) {
    if (!setup->generates) return;
    model->caches = true;
    if (model->window == 0) model->window = model->core.config.context;
}

static lh_window get_window(const void *self) {
    const instance *model = self;
    return (lh_window){.tokens = model->window, .overlap = model->overlap};
}

static void declare_cache(instance *model, lh_declare *declaration) {
    const int64_t width = model->core.config.width, ring[] = {model->window, 2 * width};
    for (int64_t i = 0; model->caches && i < model->core.config.layers; ++i)
        model->cache[i] = lh_declare_state(declaration, LH_STATE_RING, 2, ring, "layers.%lld.cache",
                                           (long long)i);
}

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    instance *model = self;
    LH_TRY(lh_gpt2_config_settle(&model->core.config, setup));
    settle_cache(model, setup);
    LH_TRY(check_windows(model));
    lh_gpt2_declare(&model->core, declaration);
    declare_cache(model, declaration);
    return LH_OK;
}

static lh_status settle_recurrence(instance *model) {
    const lh_gpt2_config *config = &model->core.config;
    model->recurrent = true;
    model->insertion -= 1; /* the option counts from 1 */
    model->summary.layers = config->layers;
    model->summary.width = config->width;
    if (model->insertion >= config->layers)
        return lh_fail(LH_EOPTION, "option 'insertion' (%lld) is above 'layers' (%lld)",
                       (long long)model->insertion + 1, (long long)config->layers);
    if (model->caches && model->summary.pooling != LH_POOL_MEAN)
        return lh_fail(LH_EOPTION, "option 'cache' goes with pooling mean only");
    return LH_OK;
}

static lh_status declare_recurrent(void *self, const lh_model_setup *setup,
                                   lh_declare *declaration) {
    instance *model = self;
    model->never_learns =
        model->window == 0 && !model->carries_in_training && setup->past_length > 0;
    model->of_documents = setup->past_length > 0;
    LH_TRY(declare(self, setup, declaration));
    LH_TRY(settle_recurrence(model));
    lh_window_summary_declare(&model->summary, declaration);
    const int64_t width = model->core.config.width, previous[] = {model->summary.embeddings, width},
                  pooled[] = {model->core.config.layers, width};
    model->previous = lh_declare_state(declaration, LH_STATE_RING, 2, previous, "previous");
    if (model->caches)
        model->pooled = lh_declare_state(declaration, LH_STATE_REPLACE, 2, pooled, "pooled");
    return LH_OK;
}

static int64_t window_of(const instance *model, int64_t length) {
    return model->window == 0 || model->window > length ? length : model->window;
}

static lh_status check(const void *self, int64_t length) {
    const instance *model = self;
    const int64_t window = window_of(model, length), stride = window - model->overlap;
    if (window > model->core.config.context)
        return lh_fail(LH_ESHAPE, "segment %lld is above 'context' (%lld): give a 'window'",
                       (long long)length, (long long)model->core.config.context);
    if (length <= window || (length - model->overlap) % stride == 0) return LH_OK;
    const int64_t windows = (length - model->overlap) / stride;
    return lh_fail(LH_ESHAPE,
                   "windows of %lld that overlap by %lld do not fill a segment of %lld: try %lld",
                   (long long)window, (long long)model->overlap, (long long)length,
                   (long long)(model->overlap + windows * stride));
}

/* ---- one window ---- */

/* What a window needs beside its tokens and the summary before it. */
typedef struct window_pass {
    const instance *model;
    const lh_gpt2_run *run;
    bool recomputes;   /* the window is a region that runs again in backward */
    lh_tensor *filled; /* optional i32 [rows]: whether a row has a summary */
} window_pass;

/* Layer outputs of a window as its summary wants them. */
typedef struct collector {
    const window_pass *pass;
    lh_tensor *layers; /* [L][rows][width], or [L][rows][tokens][width]; NULL: not wanted */
} collector;

static collector collector_begin(const window_pass *pass, bool wanted, const lh_tensor *x) {
    collector c = {.pass = pass};
    if (!wanted) return c;
    const bool means = pass->model->summary.pooling == LH_POOL_MEAN;
    const int64_t layers = pass->model->core.config.layers,
                  pooled[] = {layers, x->shape[0], x->shape[2]},
                  whole[] = {layers, x->shape[0], x->shape[1], x->shape[2]};
    c.layers =
        means ? lh_sequence(pass->run->tape, 3, pooled) : lh_sequence(pass->run->tape, 4, whole);
    return c;
}

/* The mean commutes with the mixture of layers and is taken first: nothing of a window's size is
 * kept. */
static lh_status collect(const collector *c, int64_t layer, lh_tensor *x) {
    if (c->layers == NULL) return LH_OK;
    lh_tape *tape = c->pass->run->tape;
    if (c->layers->rank == 3) x = lh_window_summary_pool(&c->pass->model->summary, c->pass->run, x);
    if (x == NULL) return lh_failed();
    int64_t shape[LH_MAX_RANK] = {1};
    for (int i = 0; i < x->rank; ++i)
        shape[i + 1] = x->shape[i];
    return lh_sequence_write(tape, c->layers, 0, layer, lh_reshape(tape, x, x->rank + 1, shape));
}

static lh_tensor *summarise(const collector *c) {
    const lh_window_summary *summary = &c->pass->model->summary;
    lh_tensor *z = lh_window_summary_mix(summary, c->pass->run, c->layers);
    if (z != NULL && z->rank == 3) z = lh_window_summary_pool(summary, c->pass->run, z);
    return lh_window_summary_project(summary, c->pass->run, z);
}

static bool inserts_at(const instance *model, int64_t layer) {
    return model->recurrent && (model->insertion < 0 || model->insertion == layer);
}

/* Region: inputs embedded tokens [rows][tokens][width] and the summary before (or NULL); outputs
 * final hidden states and, when it is wanted, the window's own summary. */
static lh_status run_window(const window_pass *pass, lh_tensor *x, lh_tensor *previous,
                            lh_tensor **hidden, lh_tensor **summary) {
    const instance *model = pass->model;
    const lh_gpt2_run *run = pass->run;
    const int64_t layers = model->core.config.layers;
    x = lh_gpt2_place(run, x, 0);
    if (x == NULL) return lh_failed();
    const collector c = collector_begin(pass, summary != NULL, x);
    for (int64_t i = 0; i < layers; ++i) {
        const bool inserts = previous != NULL && inserts_at(model, i);
        const lh_gpt2_view view = {.inserted = inserts ? previous : NULL, .filled = pass->filled};
        x = lh_gpt2_block(run, i, x, &view, NULL);
        const bool last = i + 1 == layers;
        if (last) *hidden = lh_gpt2_finish(run, x);
        LH_TRY(collect(&c, i, last && model->final_norm ? *hidden : x));
    }
    if (summary != NULL) *summary = summarise(&c);
    const bool good = *hidden != NULL && (summary == NULL || *summary != NULL);
    return good ? LH_OK : lh_failed();
}

static lh_status window_region(lh_tape *tape, void *context, lh_tensor *const *inputs,
                               lh_tensor **outputs) {
    (void)tape;
    return run_window(context, inputs[0], inputs[1], &outputs[0], &outputs[1]);
}

static lh_status last_region(lh_tape *tape, void *context, lh_tensor *const *inputs,
                             lh_tensor **outputs) {
    (void)tape;
    return run_window(context, inputs[0], inputs[1], &outputs[0], NULL);
}

/* outputs: hidden states and, when `summarises`, the summary. */
static lh_status visit_window(const window_pass *pass, lh_tensor *x, lh_tensor *previous,
                              bool summarises, lh_tensor **outputs) {
    lh_tensor *inputs[] = {lh_contiguous(pass->run->tape, x), previous};
    if (inputs[0] == NULL) return lh_failed();
    if (!pass->recomputes)
        return run_window(pass, inputs[0], previous, &outputs[0], summarises ? &outputs[1] : NULL);
    return lh_checkpoint(pass->run->tape, summarises ? window_region : last_region, pass,
                         sizeof *pass, inputs, 2, outputs, summarises ? 2 : 1);
}

/* ---- a segment of windows ---- */

/* Whether the first window of this segment sees the one before it. */
static bool continues(const instance *model, const lh_pass *pass) {
    return model->recurrent && (model->carries_in_training || !lh_pass_is_training(pass));
}

static lh_status forward_windows(const instance *model, lh_pass *pass, const lh_gpt2_run *run,
                                 lh_tensor *x, lh_output *out) {
    lh_tape *tape = run->tape;
    const int64_t length = x->shape[1], window = window_of(model, length),
                  stride = window - model->overlap;
    const bool goes_on = continues(model, pass);
    /* One window alone would be kept whole in backward, so that nothing would be saved. */
    window_pass now = {
        .model = model, .run = run, .recomputes = model->recomputes && window < length};
    if (goes_on) now.filled = lh_pass_ring_count(pass, model->previous);
    lh_tensor *previous = goes_on ? lh_pass_state(pass, model->previous) : NULL;
    lh_tensor *hidden = lh_sequence(tape, 3, x->shape);
    if (hidden == NULL) return lh_failed();
    const lh_scope scope = lh_scope_open(tape);
    for (int64_t first = 0; first == 0 || first + window <= length; first += stride) {
        const bool last = first + window == length;
        const bool summarises = model->recurrent && (goes_on || !last);
        const int64_t repeated = first == 0 ? 0 : model->overlap;
        lh_tensor *outputs[2] = {NULL, NULL};
        LH_TRY(
            visit_window(&now, lh_slice(tape, x, 1, first, window), previous, summarises, outputs));
        lh_tensor *own = lh_slice(tape, outputs[0], 1, repeated, window - repeated);
        LH_TRY(lh_sequence_write(tape, hidden, 1, first + repeated, own));
        now.filled = NULL;
        previous = lh_scope_close(tape, scope, outputs[1]);
    }
    out->hidden = hidden;
    return goes_on ? lh_pass_carry(pass, model->previous, previous) : LH_OK;
}

/* ---- a segment that continues a window ---- */

/* The layers' sums over the window's tokens so far, [rows][L][width]. */
static lh_tensor *add_pooled(const instance *model, lh_pass *pass, const lh_gpt2_run *run,
                             const collector *c, int64_t position, int64_t tokens) {
    static const int rows_first[] = {1, 0, 2};
    lh_tensor *sums =
        lh_scale(run->tape, lh_permute(run->tape, c->layers, rows_first), (double)tokens);
    return position == 0 ? sums : lh_add(run->tape, sums, lh_pass_state(pass, model->pooled));
}

/* The window is full: its summary is for the next one. */
static lh_status carry_summary(const instance *model, lh_pass *pass, const lh_gpt2_run *run,
                               lh_tensor *sums) {
    static const int layers_first[] = {1, 0, 2};
    const window_pass now = {.model = model, .run = run};
    lh_tensor *means =
        lh_scale(run->tape, lh_permute(run->tape, sums, layers_first), 1.0 / (double)model->window);
    const collector c = {.pass = &now, .layers = means};
    return lh_pass_carry(pass, model->previous, summarise(&c));
}

static lh_status forward_cached(const instance *model, lh_pass *pass, const lh_gpt2_run *run,
                                lh_tensor *x, lh_output *out) {
    const int64_t position = lh_pass_batch(pass)->position, tokens = x->shape[1],
                  layers = model->core.config.layers;
    const window_pass now = {.model = model, .run = run};
    if (position + tokens > model->window)
        return lh_fail(LH_ESHAPE, "%lld tokens at position %lld of a window of %lld",
                       (long long)tokens, (long long)position, (long long)model->window);
    x = lh_gpt2_place(run, x, position);
    if (x == NULL) return lh_failed();
    const collector c = collector_begin(&now, model->recurrent, x);
    for (int64_t i = 0; i < layers; ++i) {
        lh_gpt2_view view = {0};
        lh_tensor *keys = NULL;
        if (position > 0)
            view.cached = lh_slice(run->tape, lh_pass_state(pass, model->cache[i]), 1, 0, position);
        if (inserts_at(model, i)) {
            view.inserted = lh_pass_state(pass, model->previous);
            view.filled = lh_pass_ring_count(pass, model->previous);
        }
        x = lh_gpt2_block(run, i, x, &view, &keys);
        LH_TRY(lh_pass_carry(pass, model->cache[i], keys));
        const bool last = i + 1 == layers;
        if (last) out->hidden = lh_gpt2_finish(run, x);
        LH_TRY(collect(&c, i, last && model->final_norm ? out->hidden : x));
    }
    if (!model->recurrent) return LH_OK;
    lh_tensor *sums = add_pooled(model, pass, run, &c, position, tokens);
    LH_TRY(lh_pass_carry(pass, model->pooled, sums));
    return position + tokens == model->window ? carry_summary(model, pass, run, sums) : LH_OK;
}

/* Whether a row's segment goes on with a document. */
static lh_status any_goes_on(const lh_batch *batch, bool *any) {
    int32_t *starts = lh_allocate((size_t)batch->rows * sizeof *starts);
    if (starts == NULL) return LH_EMEMORY;
    const lh_status status = lh_tensor_read(batch->starts, starts, batch->rows);
    for (int64_t r = 0; r < batch->rows && status == LH_OK; ++r)
        *any = *any || starts[r] == 0;
    free(starts);
    return status;
}

/* Documents that are as long as a window, as strings are that are read whole, have nothing to
 * learn. A device that holds no numbers cannot tell.
 */
static lh_status check_learning(const instance *model, const lh_pass *pass) {
    const lh_batch *batch = lh_pass_batch(pass);
    const bool is_alone =
        model->of_documents && !model->carries_in_training && model->window >= batch->length;
    bool unlearned = model->never_learns;
    if (!lh_pass_is_training(pass)) return LH_OK;
    const bool is_told = batch->starts != NULL && !lh_tape_device(lh_pass_tape(pass))->is_hollow;
    if (is_alone && is_told) LH_TRY(any_goes_on(batch, &unlearned));
    if (!unlearned) return LH_OK;
    return lh_fail(LH_EOPTION, "the recurrence is not learned: without 'carry' a segment begins "
                               "afresh, and it is one window: give a smaller 'window', or "
                               "carry=true");
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    const instance *model = self;
    LH_TRY(check_learning(model, pass));
    const lh_gpt2_run *run = lh_gpt2_begin(&model->core, pass);
    if (run == NULL) return LH_EMEMORY;
    lh_tensor *x = lh_gpt2_embed(run, lh_pass_batch(pass)->tokens);
    if (x == NULL) return lh_failed();
    LH_TRY(model->caches ? forward_cached(model, pass, run, x, out)
                         : forward_windows(model, pass, run, x, out));
    out->head_weight = run->param[model->core.embedding];
    return out->hidden != NULL ? LH_OK : lh_failed();
}

/* ---- accounting ---- */

/* One row's segment as evaluation takes it: every window sees the one before it. */
static double flops_per_token(const void *self, int64_t length) {
    const instance *model = self;
    const lh_gpt2_config *config = &model->core.config;
    const int64_t window = window_of(model, length), stride = window - model->overlap,
                  windows = length <= window ? 1 : (length - model->overlap) / stride;
    const double pairs = (double)window * (double)(window + 1) / 2;
    double flops = 0;
    for (int64_t i = 0; i < config->layers; ++i)
        flops += lh_gpt2_block_flops(config, window, pairs,
                                     inserts_at(model, i) ? model->summary.embeddings : 0);
    if (model->recurrent) flops += lh_window_summary_flops(&model->summary, window);
    const double head = 2.0 * (double)config->width * (double)config->vocabulary;
    return (double)windows * flops / (double)length + head;
}

/* The layout of Hugging Face's GPT-2. Its masks are buffers, its head is the embedding again. */
static const lh_tensor_name published_names[] = {
    {"wte.weight", "embedding.weight", LH_ALIKE},
    {"wpe.weight", "positions.weight", LH_ALIKE},
    {"h.#.ln_1.weight", "layers.#.norm.gain", LH_ALIKE},
    {"h.#.ln_1.bias", "layers.#.norm.bias", LH_ALIKE},
    {"h.#.attn.c_attn.weight", "layers.#.attention.joined", LH_ALIKE},
    {"h.#.attn.c_attn.bias", "layers.#.attention.joined_bias", LH_ALIKE},
    {"h.#.attn.c_proj.weight", "layers.#.attention.out", LH_ALIKE},
    {"h.#.attn.c_proj.bias", "layers.#.attention.out_bias", LH_ALIKE},
    {"h.#.ln_2.weight", "layers.#.feed_forward.norm.gain", LH_ALIKE},
    {"h.#.ln_2.bias", "layers.#.feed_forward.norm.bias", LH_ALIKE},
    {"h.#.mlp.c_fc.weight", "layers.#.feed_forward.in", LH_ALIKE},
    {"h.#.mlp.c_fc.bias", "layers.#.feed_forward.in_bias", LH_ALIKE},
    {"h.#.mlp.c_proj.weight", "layers.#.feed_forward.out", LH_ALIKE},
    {"h.#.mlp.c_proj.bias", "layers.#.feed_forward.out_bias", LH_ALIKE},
    {"ln_f.weight", "norm.gain", LH_ALIKE},
    {"ln_f.bias", "norm.bias", LH_ALIKE},
    {"h.#.attn.bias", NULL, LH_ALIKE},
    {"h.#.attn.masked_bias", NULL, LH_ALIKE},
    {"lm_head.weight", "=embedding.weight", LH_ALIKE},
    {NULL, NULL, LH_ALIKE},
};

static lh_status probe(const void *self, const lh_params *params, const lh_report *report) {
    const lh_gpt2_core *core = &((const instance *)self)->core;
    return lh_recurrence_encodings_probe(&core->layer->recurrence, sizeof *core->layer,
                                         core->config.layers, params, report);
}

const lh_model_class lh_model_gpt2 = {
    .name = "gpt2",
    .summary = "GPT-2 on windows of text, disjoint or overlapping",
    .paper = "Radford et al. 2019, Language models are unsupervised multitask learners",
    .layout = "layer norms add 1e-5 to the variance; joined: queries, keys, values",
    .version = 1,
    .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS | LH_ABLE_CACHE,
    .options = options,
    .instance_size = sizeof(instance),
    .declare = declare,
    .forward = forward,
    .flops_per_token = flops_per_token,
    .check = check,
    .probe = probe,
    .published_names = published_names,
    .window = get_window,
};

/* What is handed on is of windows: without a width of their own they are the segments, and with an
 * overlap segments that do not overlap begin others. */
static bool splits(const void *self) {
    const instance *model = self;
    return model->window > 0 && model->overlap == 0;
}

const lh_model_class lh_model_gpt2_recurrent = {
    .name = "gpt2_recurrent",
    .summary = "GPT-2 whose windows hand a pooled embedding to the next window",
    .paper = "Yoshida et al. 2020, arXiv:2008.07027",
    .layout = "layer norms add 1e-5 to the variance; joined: queries, keys, values",
    .version = 1,
    .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS | LH_ABLE_STATE | LH_ABLE_CACHE,
    .options = recurrent_options,
    .instance_size = sizeof(instance),
    .declare = declare_recurrent,
    .forward = forward,
    .flops_per_token = flops_per_token,
    .check = check,
    .probe = probe,
    .published_names = published_names,
    .window = get_window,
    .splits = splits,
};
