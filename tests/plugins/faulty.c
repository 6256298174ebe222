/* A model outside of the tree that makes one mistake of those that `longhaul check` looks for: each
 * token's vector and the one before it, which is carried, through one matrix. */
#include <math.h>

#include "harness/engine/model.h"
#include "harness/ops/ops.h"

enum fault {
    NONE,
    NEXT,
    CHUNK,
    PAIR,
    ROWS,
    LATER,
    SEED,
    UNCARRIED,
    SIGN,
    TERM,
    UNUSED,
    BLIND,
    INFINITE,
    LENGTH,
    GROWING,
    COUNT
};
static const char *const faults[] = {"none",     "next",      "chunk",   "pair",  "rows",   "later",
                                     "seed",     "uncarried", "sign",    "term",  "unused", "blind",
                                     "infinite", "length",    "growing", "count", NULL};

typedef struct faulty {
    int64_t width;
    int fault;
    int embedding, mix, gain, unused, before;
} faulty;

static const lh_option faulty_options[] = {
    LH_INTEGER("width", faulty, width, 8, 1, 4096, "size of a token's vector"),
    LH_CHOICE("fault", faulty, fault, NONE, faults, "what is wrong"),
    {0}};

static const lh_option_table options[] = {LH_OWN_TABLE(faulty), {0}};

static lh_status declare(void *instance, const lh_model_setup *setup, lh_declare *declaration) {
    faulty *model = instance;
    const int64_t table[] = {setup->vocabulary, model->width}, width = model->width,
                  square[] = {width, width};
    const lh_init normal = {LH_INIT_NORMAL, 0.0, 0.5}, zero = {LH_INIT_CONSTANT, 0.0, 0.0};
    model->embedding = lh_declare_param(declaration, normal, 2, table, "embedding.weight");
    lh_declare_embedding(declaration);
    model->mix = lh_declare_param(declaration, normal, 2, square, "mix.weight");
    model->gain = lh_declare_param(declaration, zero, 1, &width, "mix.gain");
    if (model->fault == UNUSED)
        model->unused = lh_declare_param(declaration, normal, 1, &width, "unused.bias");
    model->before =
        lh_declare_state(declaration, LH_STATE_REPLACE, 2, (const int64_t[]){1, width}, "before");
    return LH_OK;
}

/* x without its last position, behind what stood before it. */
static lh_tensor *shifted(lh_tape *tape, lh_tensor *before, lh_tensor *x) {
    lh_tensor *const parts[] = {before, lh_slice(tape, x, 1, 0, x->shape[1] - 1)};
    return lh_concat(tape, 1, parts, 2);
}

/* What stands `by` places behind along an axis, and the first ones at the end. */
static lh_tensor *rolled(lh_tape *tape, lh_tensor *x, int axis, int64_t by) {
    const int64_t rest = x->shape[axis] - by;
    if (rest < 1) return x;
    lh_tensor *const parts[] = {lh_slice(tape, x, axis, by, rest), lh_slice(tape, x, axis, 0, by)};
    return lh_concat(tape, axis, parts, 2);
}

/* Each position sees the mean of its chunk. */
static lh_tensor *chunked(lh_tape *tape, lh_tensor *x, int64_t size) {
    const int64_t rows = x->shape[0], length = x->shape[1], width = x->shape[2],
                  chunks[] = {rows * length / size, size, width},
                  spread[] = {size, rows * length / size, width}, whole[] = {rows, length, width};
    if (length % size != 0) return x;
    lh_tensor *mean = lh_mean(tape, lh_reshape(tape, lh_contiguous(tape, x), 3, chunks), 1);
    lh_tensor *all = lh_reshape(tape, lh_repeat(tape, mean, size), 3, spread);
    return lh_reshape(tape, lh_permute(tape, all, (const int[]){1, 0, 2}), 3, whole);
}

/* The mistakes of a pass forward, to what it reads. */
static lh_tensor *misread(const faulty *model, const lh_pass *pass, lh_tensor *x) {
    static int passes;
    lh_tape *tape = lh_pass_tape(pass);
    switch ((enum fault)model->fault) {
    case NEXT:
        return lh_add(tape, x, rolled(tape, x, 1, 1));
    case CHUNK:
        return lh_add(tape, x, chunked(tape, x, 4));
    case PAIR:
        return lh_add(tape, x, chunked(tape, x, 2));
    case ROWS:
        return lh_add(tape, x, rolled(tape, x, 0, 1));
    case LATER:
        return lh_scale(tape, x, 1.0 + 0.1 * (double)++passes);
    case SEED:
        return lh_pass_is_training(pass) ? lh_scale(tape, x, (double)++passes) : x;
    case BLIND:
        return lh_scale(tape, x, 0.0);
    case LENGTH:
        return lh_scale(tape, x, 1.0 + 0.01 * (double)x->shape[1]);
    case INFINITE:
        return lh_scale(tape, x, (double)INFINITY);
    default:
        return x;
    }
}

/* From the second pass on each position stands there twice. */
static lh_tensor *grown(lh_tape *tape, lh_tensor *x) {
    static int passes;
    return ++passes == 1 ? x : lh_concat(tape, 1, (lh_tensor *const[]){x, x}, 2);
}

/* The same values with another gradient. */
static lh_tensor *misled(const faulty *model, lh_tape *tape, lh_tensor *y) {
    lh_tensor *detached = lh_detach(tape, y);
    if (model->fault == SIGN) return lh_subtract(tape, lh_scale(tape, detached, 2.0), y);
    if (model->fault == TERM)
        return lh_add(tape, lh_scale(tape, y, 0.75), lh_scale(tape, detached, 0.25));
    return y;
}

static lh_status forward(const void *instance, lh_pass *pass, lh_output *out) {
    const faulty *model = instance;
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *table = lh_pass_param(pass, model->embedding);
    lh_tensor *x = misread(model, pass, lh_gather(tape, table, lh_pass_batch(pass)->tokens));
    if (x == NULL) return lh_failed();
    lh_tensor *before = shifted(tape, lh_pass_state(pass, model->before), x);
    lh_tensor *y = lh_linear(tape, before, lh_pass_param(pass, model->mix), NULL, LH_UNARY_SIGMOID);
    y = misled(model, tape, lh_multiply_row(tape, y, lh_pass_param(pass, model->gain)));
    out->hidden = lh_add(tape, x, y);
    out->head_weight = table;
    if (model->fault == GROWING) out->hidden = grown(tape, out->hidden);
    if (model->fault != UNCARRIED)
        LH_TRY(lh_pass_carry(pass, model->before, lh_slice(tape, x, 1, x->shape[1] - 1, 1)));
    return out->hidden != NULL ? LH_OK : lh_failed();
}

static double flops_per_token(const void *instance, int64_t length) {
    (void)length;
    return ((const faulty *)instance)->fault == COUNT ? -7.0 : 0.0;
}

static const lh_model_class class = {.name = "faulty",
                                     .summary = "Makes one mistake",
                                     .paper = "none",
                                     .version = 1,
                                     .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS | LH_ABLE_STATE,
                                     .options = options,
                                     .instance_size = sizeof(faulty),
                                     .declare = declare,
                                     .forward = forward,
                                     .flops_per_token = flops_per_token};

static const lh_model_class *const classes[] = {&class, NULL};

static const lh_plugin plugin = {.magic = LH_PLUGIN_MAGIC,
                                 .abi_major = LH_MODEL_ABI_MAJOR,
                                 .abi_minor = LH_MODEL_ABI_MINOR,
                                 .class_size = sizeof(lh_model_class),
                                 .classes = classes};

const lh_plugin *lh_plugin_get(void);
const lh_plugin *lh_plugin_get(void) {
    return &plugin;
}
