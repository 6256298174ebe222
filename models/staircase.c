/* Staircase attention (Ju et al. 2022, section 3.2). Time is cut into chunks of C tokens. Step s
 * puts chunk s, fresh from the embedding, beside the N - 1 chunks before it, which come from the
 * step before, and passes all through the core once (eq. 3); a chunk's output is read after its
 * N-th pass. N - 1 drain steps without new tokens finish a segment.
 *
 * The ramp-up steps of the next segment continue the same diagonal: step s then sees, as context
 * only, what drain step s saw of the chunks before it, layer by layer and without gradient. So with
 * cache=inputs a segment split at whole chunks changes nothing. The released code keeps the
 * layers' outputs instead (cache=outputs): its context at a boundary is one layer too high. And it
 * keeps those of one segment alone: where its chunks are fewer than N - 1 (segment_chunks), steps
 * see fewer chunks than the zeros before a stream stand for. */
#include "models/layers/common.h"
#include "models/staircase/staircase_core.h"

enum { STEPS = 32 };

typedef enum cache_kind { INPUTS, OUTPUTS } cache_kind;
static const char *const caches[] = {"inputs", "outputs", NULL};

typedef struct instance {
    lh_staircase_core core;
    int64_t forward_size, steps; /* C, N */
    cache_kind cache;
    int64_t segment_chunks; /* > 0: what a segment leaves to the next */
    int memory[STEPS]
              [LH_STAIRCASE_LAYERS]; /* state slots: [step][layer] holds N - 1 - step chunks */
} instance;

static const lh_option instance_options[] = {
    LH_INTEGER("forward_size", instance, forward_size, 64, 1, 1048576, "new tokens of a step (C)"),
    LH_INTEGER("steps", instance, steps, 4, 1, STEPS,
               "recurrent steps N: passes of every token through the core; the step size is N * C"),
    LH_CHOICE("cache", instance, cache, INPUTS, caches,
              "what crosses a segment boundary: the layers' inputs (section 3.2) or, as in the "
              "released code, their outputs"),
    LH_INTEGER(
        "segment_chunks", instance, segment_chunks, 0, 0, 1048576,
        "with cache=outputs: chunks of a segment, whose outputs alone the released code keeps; "
        "0: all N - 1 in reach stay"),
    {0}};

static const lh_option_table options[] = {
    {lh_staircase_layers_options, LH_FIELD(instance, core.config, lh_staircase_config)},
    LH_TABLE(instance, core.config, lh_staircase_config),
    LH_TABLE(instance, core.config.recurrence_encoding, lh_recurrence_config),
    LH_OWN_TABLE(instance),
    {0}};

static const char *const later_options[] = {"post_norm", "segment_chunks", NULL};

static void declare_memory(instance *model, lh_declare *declaration) {
    for (int64_t s = 0; s + 1 < model->steps; ++s) {
        const int64_t shape[] = {(model->steps - 1 - s) * model->forward_size,
                                 model->core.config.width};
        for (int64_t i = 0; i < model->core.config.layers; ++i) {
            model->memory[s][i] =
                lh_declare_state(declaration, LH_STATE_REPLACE, 2, shape,
                                 "step.%lld.layer.%lld.memory", (long long)s, (long long)i);
        }
    }
}

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    instance *model = self;
    LH_TRY(lh_staircase_config_settle(&model->core.config, setup));
    if (model->segment_chunks > 0 && model->cache != OUTPUTS)
        return lh_fail(LH_EOPTION, "option 'segment_chunks' goes with cache outputs only");
    model->core.config.positions = model->steps * model->forward_size;
    lh_staircase_declare(&model->core, declaration);
    declare_memory(model, declaration);
    return LH_OK;
}

static lh_status check(const void *self, int64_t length) {
    const instance *model = self;
    const long long most = model->segment_chunks, chunks = length / model->forward_size;
    LH_TRY(lh_require_whole_chunks("forward_size", model->forward_size, length));
    if (most == 0 || chunks <= most) return LH_OK;
    return lh_fail(LH_ESHAPE, "segment %lld has %lld chunks, option 'segment_chunks' says %lld",
                   (long long)length, chunks, most);
}

/* ---- forward ---- */

static const lh_staircase_view own_tokens = {
    .among = true, .min_distance = 0, .max_distance = LH_FAR};

/* How many of the tokens before it step `step` sees within a stream; 0: all that its memory holds.
 */
static int64_t recent_tokens(const instance *model, int64_t step) {
    const bool fewer = model->segment_chunks < model->steps - 1 - step;
    return fewer ? model->segment_chunks * model->forward_size : 0;
}

/* Pass of step `step` through the core; `drain` is its number after the last new chunk, else -1. */
static lh_tensor *pass_once(const instance *model, const lh_staircase_pass *core, int64_t step,
                            int64_t drain, lh_tensor *x) {
    for (int64_t i = 0; i < model->core.config.layers && x != NULL; ++i) {
        lh_staircase_view view = own_tokens;
        view.recent = recent_tokens(model, step);
        lh_tensor *before = NULL, *in = x;
        if (step + 1 < model->steps) {
            before = lh_pass_state(core->pass, model->memory[step][i]);
            view.before = lh_staircase_keys(core, i, before);
        }
        x = lh_staircase_apply(core, i, x, &view);
        if (drain < 0) continue;
        lh_tensor *kept = model->cache == OUTPUTS ? x : in;
        if (before != NULL) {
            lh_tensor *const parts[] = {before, kept};
            kept = lh_concat(core->tape, 1, parts, 2);
        }
        if (lh_pass_carry(core->pass, model->memory[drain][i], kept) != LH_OK) return NULL;
    }
    return x;
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    const instance *model = self;
    const lh_staircase_pass core = lh_staircase_begin(&model->core, pass);
    lh_tensor *embedded = lh_staircase_embed(&core), *x = NULL;
    if (embedded == NULL) return lh_failed();
    const int64_t size = model->forward_size, chunks = embedded->shape[1] / size;
    lh_tensor *done = lh_sequence(core.tape, 3, embedded->shape);
    const lh_scope scope = lh_scope_open(core.tape);
    for (int64_t step = 0; step < chunks + model->steps - 1; ++step) {
        x = lh_staircase_tokens(&core, embedded, size, model->steps, step, x);
        x = pass_once(model, &core, step, step - chunks, x);
        if (x == NULL) return lh_failed();
        const int64_t finished = step - model->steps + 1;
        if (finished >= 0) {
            LH_TRY(lh_sequence_write(core.tape, done, 1, finished * size,
                                     lh_slice(core.tape, x, 1, 0, size)));
        }
        x = lh_scope_close(core.tape, scope, x);
    }
    return lh_staircase_finish(&core, done, out);
}

/* ---- accounting ---- */

/* One row's segment, step by step as forward takes it. */
static double flops_per_token(const void *self, int64_t length) {
    const instance *model = self;
    const lh_staircase_config *config = &model->core.config;
    const int64_t chunks = length / model->forward_size;
    double flops = 0;
    for (int64_t step = 0; step < chunks + model->steps - 1; ++step) {
        const int64_t oldest = step < model->steps ? 0 : step - model->steps + 1,
                      newest = step < chunks ? step : chunks - 1,
                      queries = (newest - oldest + 1) * model->forward_size,
                      before = step + 1 < model->steps
                                   ? (model->steps - 1 - step) * model->forward_size
                                   : 0;
        const int64_t recent = recent_tokens(model, step);
        const double own = (double)queries * (double)(queries + 1) / 2;
        double pairs = own + (double)queries * (double)before;
        if (recent > 0) pairs += own + (double)queries * (double)recent;
        flops += lh_staircase_apply_flops(config, &own_tokens, queries, pairs);
        flops += lh_staircase_keys_flops(config, before);
    }
    return (double)config->layers * flops / (double)length + lh_staircase_head_flops(config);
}

static bool splits(const void *self) {
    return ((const instance *)self)->cache == INPUTS;
}

const lh_model_class lh_model_staircase = {
    .name = "staircase",
    .summary = "Staircase attention: every token passes the core N times, moving through time",
    .paper = "Ju et al. 2022, arXiv:2106.04279, section 3.2",
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
    .later_options = later_options,
    .splits = splits,
};
