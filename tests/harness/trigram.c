/* The tiny model and the tiny task, and sessions of them. */
#include "tests/harness/trigram.h"

#include <string.h>

#include "harness/ops/ops.h"
#include "harness/train/train_options.h"

/* ---- model ---- */

typedef struct trigram {
    int64_t width;
    double dropout;
    int embedding, now, before, state;
} trigram;

static const lh_option trigram_rows[] = {
    LH_INTEGER("width", trigram, width, 8, 1, 1024, "width of the embedding"),
    LH_REAL("dropout", trigram, dropout, 0, 0, 0.9, "dropout of the embedding"),
    {0}};

static const lh_option_table trigram_options[] = {{trigram_rows, 0}, {0}};

static lh_status declare_trigram(void *instance, const lh_model_setup *setup, lh_declare *declare) {
    trigram *model = instance;
    const int64_t table[] = {setup->vocabulary, model->width};
    const int64_t square[] = {model->width, model->width};
    const int64_t carried[] = {1, model->width};
    const lh_init init = {.kind = LH_INIT_NORMAL, .mean = 0, .deviation = 0.5};
    model->embedding = lh_declare_param(declare, init, 2, table, "embedding");
    lh_declare_embedding(declare);
    model->now = lh_declare_param(declare, init, 2, square, "now");
    model->before = lh_declare_param(declare, init, 2, square, "before");
    model->state = lh_declare_state(declare, LH_STATE_REPLACE, 2, carried, "last");
    return LH_OK;
}

static lh_status run_trigram(const void *instance, lh_pass *pass, lh_output *out) {
    const trigram *model = instance;
    lh_tape *tape = lh_pass_tape(pass);
    const lh_batch *batch = lh_pass_batch(pass);
    lh_tensor *table = lh_pass_param(pass, model->embedding);
    lh_tensor *x = lh_gather(tape, table, batch->tokens);
    x = lh_dropout(tape, x, lh_pass_is_training(pass) ? model->dropout : 0.0, 0);
    lh_tensor *parts[] = {lh_pass_state(pass, model->state),
                          lh_slice(tape, x, 1, 0, batch->length - 1)};
    lh_tensor *shifted = lh_concat(tape, 1, parts, 2);
    lh_tensor *now = lh_linear(tape, x, lh_pass_param(pass, model->now), NULL, LH_UNARY_IDENTITY);
    out->hidden = lh_linear_add(tape, now, shifted, lh_pass_param(pass, model->before));
    out->head_weight = table;
    out->logit_scale = 1.0;
    return lh_pass_carry(pass, model->state, lh_slice(tape, x, 1, batch->length - 1, 1));
}

static double count_flops(const void *instance, int64_t length) {
    (void)length;
    const trigram *model = instance;
    return 4.0 * (double)(model->width * model->width);
}

const lh_model_class trigram_class = {.name = "trigram",
                                      .summary = "Two tokens predict the next",
                                      .paper = "none",
                                      .version = 1,
                                      .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS | LH_ABLE_STATE,
                                      .options = trigram_options,
                                      .instance_size = sizeof(trigram),
                                      .declare = declare_trigram,
                                      .forward = run_trigram,
                                      .flops_per_token = count_flops};

/* ---- task ---- */

enum { DOCUMENTS = 7, VALIDATION = 2, LONGEST = 60 };

static const int64_t document_length[DOCUMENTS] = {13, 2, 60, 33, 9, 41, 12};
static int32_t document_tokens[DOCUMENTS][LONGEST];

/* Each token is a function of the two before it, so that there is something to learn. */
static void write_document(int32_t *tokens, int64_t count, int32_t first) {
    tokens[0] = first;
    for (int64_t t = 1; t < count; ++t) {
        const int32_t before = t > 1 ? tokens[t - 2] : 1;
        tokens[t] = (3 * tokens[t - 1] + before + 1) % TRIGRAM_VOCABULARY;
    }
}

double pattern_unspelled;

static lh_status get_pattern(void *context, int64_t index, lh_document *out) {
    const int64_t first = *(const int64_t *)context;
    const int64_t document = first + index;
    int32_t *tokens = document_tokens[document];
    write_document(tokens, document_length[document], (int32_t)(document % TRIGRAM_VOCABULARY));
    *out = (lh_document){.name = "pattern",
                         .tokens = tokens,
                         .count = document_length[document],
                         .bytes = 2 * document_length[document],
                         .words = document_length[document] / 5,
                         .unspelled = document == DOCUMENTS - 1 ? pattern_unspelled : 0};
    return LH_OK;
}

lh_document_source pattern_source(lh_split split) {
    static int64_t first[] = {0, DOCUMENTS - VALIDATION};
    const int part = split == LH_TRAIN ? 0 : 1;
    return (lh_document_source){.context = &first[part],
                                .get = get_pattern,
                                .count = part == 0 ? DOCUMENTS - VALIDATION : VALIDATION};
}

typedef struct pattern {
    lh_batcher_spec spec;
    bool past;
    lh_batcher *train, *pass;
} pattern;

static const lh_option pattern_rows[] = {
    LH_INTEGER("segment", pattern, spec.length, 5, 1, 1024, "tokens of a segment"),
    LH_INTEGER("batch", pattern, spec.rows, 3, 1, 64, "rows"),
    LH_FLAG("across", pattern, spec.predict_across, true, "predict_across"),
    LH_INTEGER("overlap", pattern, spec.overlap, 0, 0, 1024, "tokens that are repeated"),
    LH_FLAG("past", pattern, past, false, "encoders read what is before a segment"),
    {0}};

static const lh_option_table pattern_options[] = {{pattern_rows, 0}, {0}};

static lh_status open_pattern(void *instance, uint64_t seed, lh_model_setup *setup) {
    pattern *task = instance;
    task->spec.source = pattern_source(LH_TRAIN);
    task->spec.endless = true;
    task->spec.seed = seed;
    *setup = (lh_model_setup){.vocabulary = TRIGRAM_VOCABULARY,
                              .past_length = task->past ? task->spec.length : 0};
    return lh_batcher_create(&task->spec, &task->train);
}

static void close_pattern(void *instance) {
    pattern *task = instance;
    lh_batcher_destroy(task->train);
    lh_batcher_destroy(task->pass);
}

static void shape_pattern(const void *instance, int64_t *rows, int64_t *length) {
    const pattern *task = instance;
    *rows = task->spec.rows;
    *length = task->spec.length;
}

static lh_status train_pattern(void *instance, lh_host_batch *out) {
    pattern *task = instance;
    return lh_batcher_next(task->train, out);
}

static lh_status begin_pattern(void *instance, lh_split split) {
    pattern *task = instance;
    lh_batcher_destroy(task->pass);
    task->pass = NULL;
    lh_batcher_spec spec = task->spec;
    spec.source = pattern_source(split);
    spec.endless = false;
    return lh_batcher_create(&spec, &task->pass);
}

static lh_status evaluate_pattern(void *instance, lh_host_batch *out) {
    pattern *task = instance;
    return lh_batcher_next(task->pass, out);
}

static int get_cursor(const void *instance, int64_t *words) {
    const pattern *task = instance;
    return lh_batcher_cursor_get(task->train, words);
}

static lh_status set_cursor(void *instance, const int64_t *words, int count) {
    pattern *task = instance;
    return lh_batcher_cursor_set(task->train, words, count);
}

static char *describe_pattern(const void *instance) {
    (void)instance;
    return lh_duplicate_text("");
}

static uint64_t digest_pattern(const void *instance) {
    (void)instance;
    return 7;
}

const lh_task_class pattern_class = {.name = "pattern",
                                     .summary = "Tokens that follow from two before",
                                     .options = pattern_options,
                                     .instance_size = sizeof(pattern),
                                     .open = open_pattern,
                                     .close = close_pattern,
                                     .shape = shape_pattern,
                                     .train_batch = train_pattern,
                                     .evaluate_begin = begin_pattern,
                                     .evaluate_batch = evaluate_pattern,
                                     .cursor_get = get_cursor,
                                     .cursor_set = set_cursor,
                                     .describe = describe_pattern,
                                     .digest = digest_pattern};

/* ---- session ---- */

static lh_status parse(const char *owner, const lh_option_table *table, const char *text,
                       lh_options **out) {
    LH_TRY(lh_options_create(owner, table, out));
    return lh_options_parse(*out, text);
}

/* What the texts say goes into the spec. */
static lh_status open_session(lh_session_spec spec, const char *model_text, const char *task_text,
                              const char *train, lh_session **out) {
    lh_options *options[3] = {NULL};
    lh_status status = parse(spec.model->name, spec.model->options, model_text, &options[0]);
    if (status == LH_OK)
        status = parse(spec.task->name, spec.task->options, task_text, &options[1]);
    if (status == LH_OK) status = parse("train", lh_train_options, train, &options[2]);
    spec.model_options = options[0];
    spec.task_options = options[1];
    spec.train_options = options[2];
    spec.device = "cpu";
    if (status == LH_OK) status = lh_session_create(&spec, out);
    for (int i = 0; i < 3; ++i) {
        if (options[i] != NULL) lh_options_destroy(options[i]);
    }
    return status;
}

lh_status any_session(const lh_model_class *model, const char *model_text,
                      const lh_task_class *task, const char *task_text, const char *train,
                      uint64_t seed, lh_session **out) {
    const lh_session_spec spec = {.model = model, .task = task, .seed = seed};
    return open_session(spec, model_text, task_text, train, out);
}

lh_status shared_session(const lh_model_class *model, const char *train, lh_communicator *ranks,
                         lh_session **out) {
    const lh_session_spec spec = {.model = model, .task = &pattern_class, .ranks = ranks};
    return open_session(spec, "", "", train, out);
}

lh_status pattern_session(const lh_model_class *class, const char *model, const char *task,
                          const char *train, uint64_t seed, lh_session **out) {
    return any_session(class, model, &pattern_class, task, train, seed, out);
}

lh_status trigram_session(const char *model, const char *task, const char *train, uint64_t seed,
                          lh_session **out) {
    return pattern_session(&trigram_class, model, task, train, seed, out);
}

bool same_values(const lh_session *a, const lh_session *b) {
    const lh_tensor *x = lh_params_values(lh_session_model(a)->params);
    const lh_tensor *y = lh_params_values(lh_session_model(b)->params);
    return lh_tensor_count(x) == lh_tensor_count(y) &&
           memcmp(lh_tensor_real(x), lh_tensor_real(y),
                  (size_t)lh_tensor_count(x) * sizeof(real)) == 0;
}

/* ---- another rank that adds zeros ---- */

static lh_status start_sum(lh_communicator *ranks, lh_device *device, real *x, int64_t count) {
    (void)ranks, (void)device, (void)x, (void)count;
    return LH_OK;
}

static lh_status make_progress(lh_communicator *ranks) {
    (void)ranks;
    return LH_OK;
}

static lh_status finish_sums(lh_communicator *ranks, lh_device *device) {
    (void)ranks, (void)device;
    return LH_OK;
}

static void abandon_sums(lh_communicator *ranks) {
    (void)ranks;
}

static lh_status add_zeros(lh_communicator *ranks, double *x, int64_t count) {
    (void)ranks, (void)x, (void)count;
    return LH_OK;
}

static lh_status agree(lh_communicator *ranks, void *x, size_t bytes) {
    (void)ranks, (void)x, (void)bytes;
    return LH_OK;
}

lh_communicator first_rank(void) {
    return (lh_communicator){.size = 2,
                             .start = start_sum,
                             .progress = make_progress,
                             .finish = finish_sums,
                             .abandon = abandon_sums,
                             .sum = add_zeros,
                             .merge = agree};
}
