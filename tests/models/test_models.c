/* Laws that every model of the table must keep, whatever its paper (style: one parametrised suite).
 */
#include "tests/test.h"

#include <unistd.h>

#include "tests/models/model_bench.h"

enum { ROWS = 2, COUNT = 16, WIDTH = 8 };

static const int32_t fresh[ROWS] = {1, 1};

static bool fail_case(const model_case *c, bool good, const char *law) {
    return test_check(good, __FILE__, __LINE__, "%s %s: %s", c->name, c->options, law);
}

/* Opens one case with COUNT tokens per row and the hidden states that whole segments give. */
typedef struct trial {
    model_bench bench;
    const model_case *which;
    int32_t tokens[ROWS * COUNT];
    real hidden[ROWS * COUNT * WIDTH];
} trial;

static bool begin(trial *t, const model_case *which) {
    t->which = which;
    random_tokens(t->tokens, ROWS * COUNT);
    return bench_open(&t->bench, which->name, which->options, ROWS) &&
           bench_run(&t->bench, t->tokens, COUNT, which->segment, fresh, t->hidden);
}

static void each_case(void (*law)(trial *t)) {
    for (int i = 0; i < MODEL_CASES; ++i) {
        trial t = {0};
        if (begin(&t, &model_cases[i])) law(&t);
        bench_close(&t.bench);
    }
}

static void causality(trial *t) {
    real changed[ROWS * COUNT * WIDTH];
    const uint32_t abilities = t->bench.model->class->abilities;
    const int64_t at = (abilities & LH_NEEDS_HORIZON) != 0 ? 2 : 6; /* a step that it reads */
    t->tokens[at] = (t->tokens[at] + 1) % BENCH_VOCABULARY;
    CHECK_OK(lh_state_clear(t->bench.state));
    if (!bench_run(&t->bench, t->tokens, COUNT, t->which->segment, fresh, changed)) return;
    const bool causal = (abilities & (LH_ABLE_CAUSAL | LH_ABLE_CAUSAL_BY_MASK)) != 0;
    if ((abilities & LH_ABLE_CAUSAL) != 0)
        fail_case(t->which, memcmp(changed, t->hidden, (size_t)(at * WIDTH) * sizeof(real)) == 0,
                  "a changed token must not change what stands before it");
    const int64_t row = COUNT * WIDTH;
    fail_case(t->which, memcmp(changed + row, t->hidden + row, (size_t)row * sizeof(real)) == 0,
              "a changed token must not change another batch row");
    const int64_t own = causal ? at * WIDTH : 0, reach = causal ? WIDTH : row;
    fail_case(t->which, memcmp(changed + own, t->hidden + own, (size_t)reach * sizeof(real)) != 0,
              "a changed token must change its own hidden state");
}

TEST(future_tokens_and_other_rows_change_nothing) {
    each_case(causality);
}

static void fresh_start(trial *t) {
    real again[ROWS * COUNT * WIDTH];
    if (!bench_run(&t->bench, t->tokens, COUNT, t->which->segment, fresh, again)) return;
    fail_case(t->which, memcmp(again, t->hidden, sizeof again) == 0,
              "a document's start must forget the document before, bit for bit");
    if ((t->bench.model->class->abilities & (LH_ABLE_STATE | LH_ABLE_STATE_TRUNCATED)) == 0) return;
    const int32_t going_on[ROWS] = {0, 0};
    if (!bench_run(&t->bench, t->tokens, COUNT, t->which->segment, going_on, again)) return;
    fail_case(t->which, memcmp(again, t->hidden, sizeof again) != 0,
              "without a start the state must carry over");
}

TEST(a_start_flag_is_a_fresh_start) {
    each_case(fresh_start);
}

static void segments(trial *t) {
    real split[ROWS * COUNT * WIDTH];
    if (!t->which->splits) return;
    const bool carries = (t->bench.model->class->abilities & LH_ABLE_STATE) != 0;
    fail_case(t->which, lh_model_splits(t->bench.model) == carries,
              "it must say that segments change nothing, where it carries a state");
    CHECK_OK(lh_state_clear(t->bench.state));
    if (!bench_run(&t->bench, t->tokens, COUNT, t->which->segment / 2, fresh, split)) return;
    fail_case(t->which, largest_difference(split, t->hidden, ROWS * COUNT * WIDTH) < 2e-5,
              "shorter segments with carried state must change nothing");
    CHECK_OK(lh_state_clear(t->bench.state));
    if (!bench_run(&t->bench, t->tokens, COUNT, COUNT, fresh, split)) return;
    fail_case(t->which, largest_difference(split, t->hidden, ROWS * COUNT * WIDTH) < 2e-5,
              "one long segment must change nothing");
}

TEST(segments_change_nothing_where_state_carries) {
    each_case(segments);
}

/* The loss of one segment, recorded. */
static lh_tensor *segment_loss(trial *t) {
    lh_output out;
    int32_t target[ROWS * COUNT];
    const int64_t length = t->which->segment;
    for (int64_t i = 0; i < ROWS * length; ++i)
        target[i] = (int32_t)(i % BENCH_VOCABULARY);
    lh_tape_begin(t->bench.tape, true, 3, 1);
    if (bench_forward(&t->bench, length, t->tokens, fresh, true, &out) == NULL) return NULL;
    return bench_loss(&t->bench, &out, length, target, 1.0 / (double)(ROWS * length));
}

static void learning(trial *t) {
    lh_params *params = t->bench.model->params;
    lh_tensor *loss = segment_loss(t);
    REQUIRE(loss != NULL);
    const double before = (double)*lh_tensor_real(loss);
    CHECK_OK(lh_tape_backward(t->bench.tape, loss));
    for (int i = 0; i < lh_params_count(params); ++i) {
        const lh_param *param = lh_params_at(params, i);
        const lh_tensor *flowed = lh_tensor_gradient(param->value);
        for (int64_t e = 0; flowed != NULL && e < param->count; ++e) {
            lh_tensor_real(param->value)[e] -= LH_R(0.02) * lh_tensor_real(flowed)[e];
        }
    }
    lh_params_clear_gradients(params);
    loss = segment_loss(t);
    REQUIRE(loss != NULL);
    fail_case(t->which, (double)*lh_tensor_real(loss) < before,
              "a small step down the gradient must lower the loss");
}

TEST(one_step_lowers_the_loss) {
    each_case(learning);
}

/* What the loss multiplies with for one token; columns of clusters are not counted. */
static double head_flops(const lh_output *out) {
    const double wide = 2.0 * WIDTH;
    if (out->head_weight == NULL) return 0;
    if (out->head_projection == NULL) return wide * BENCH_VOCABULARY;
    double flops = 2.0 * (double)lh_tensor_count(out->head_weight) +
                   wide * (double)out->head_projection->shape[0];
    for (int i = 0; i < out->clusters; ++i)
        flops += 2.0 * (double)lh_tensor_count(out->cluster[i].weight) +
                 wide * (double)out->cluster[i].projection->shape[0];
    return flops;
}

static void flops(trial *t) {
    lh_output out;
    const int64_t length = t->which->segment;
    lh_tape_begin(t->bench.tape, false, 3, 1);
    if (bench_forward(&t->bench, length, t->tokens, fresh, false, &out) == NULL) return;
    const double counted =
        lh_tape_flops(t->bench.tape) / (double)(ROWS * length) + head_flops(&out);
    const double formula = lh_model_flops_per_token(t->bench.model, length);
    test_check(fabs(counted - formula) < 1e-6 * formula, __FILE__, __LINE__,
               "%s %s: %.1f FLOP per token counted, %.1f by formula", t->which->name,
               t->which->options, counted, formula);
}

TEST(counted_flops_are_those_of_the_formula) {
    each_case(flops);
}

static void state_size(trial *t) {
    int64_t bytes = 0;
    for (int i = 0; i < lh_state_count(t->bench.state); ++i) {
        const lh_tensor *tensor = lh_state_tensor(t->bench.state, i);
        if (tensor == NULL) continue;
        const size_t element = tensor->dtype == LH_I32 ? sizeof(int32_t) : sizeof(real);
        bytes += lh_tensor_count(tensor) * (int64_t)element;
    }
    fail_case(t->which, ROWS * lh_model_state_bytes(t->bench.model) == bytes,
              "the bytes of a row's state are those that are kept");
}

TEST(state_bytes_are_those_of_what_is_carried) {
    each_case(state_size);
}

/* Keys and values of the last window in each layer; states of a recurrent layer; inputs of the
 * layers; h and c of the cells; S and z of each head; S of each
 * channel and the tokens ahead of the convolution; a ring of keys and one of values with a count
 * each; memory tokens and inputs of the layers; inputs of the layers and what older ones were
 * compressed to. */
TEST(state_bytes_by_hand) {
    static const struct {
        const char *name, *options;
        int64_t reals, counts;
    } cases[] = {
        {"slide", "layers=3 width=32 heads=2 window=16", 3 * 2 * 16 * 32, 0},
        {"brt", "layers=4 width=32 heads=2 window=16 states=8 recurrence=fixed:skip",
         4 * 2 * 16 * 32 + 8 * 32, 0},
        {"transformer_xl", "layers=3 width=32 heads=2 span=24", 3 * 24 * 32, 0},
        {"lstm", "layers=2 width=16 hidden=48", 2 * 2 * 48, 0},
        {"linear_attention", "layers=3 width=32 heads=4 head_width=6", 3 * 4 * 6 * (6 + 1), 0},
        {"mamba2", "layers=3 width=32 state=5 head_width=16 groups=2",
         3 * (64 * 5 + 3 * (64 + 2 * 2 * 5)), 0},
        {"gated_deltanet", "layers=3 width=32 heads=2 value_heads=4 head_width=6",
         3 * (4 * 6 * 12 + 3 * (2 * 12 + 4 * 12)), 0},
        {"memorizing", "layers=4 width=32 heads=2 window=16 memory=64 top=16",
         4 * 2 * 16 * 32 + 2 * 64 * 32, 2},
        {"rmt", "layers=3 width=32 heads=2 block=8 memory_tokens=5 memory=12", (5 + 3 * 12) * 32,
         0},
        {"compressive", "layers=3 width=32 heads=2 block=8 memory=16 compressed_memory=10",
         3 * (16 + 10) * 32, 0},
        {"gpt2", "layers=2 width=32 heads=2 context=32 window=16", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        lh_model *model = NULL;
        REQUIRE_OK(create_model(cases[i].name, cases[i].options, &model));
        test_check(lh_model_state_bytes(model) ==
                       cases[i].reals * (int64_t)sizeof(real) + 4 * cases[i].counts,
                   __FILE__, __LINE__, "%s: %lld bytes", cases[i].name,
                   (long long)lh_model_state_bytes(model));
        lh_model_destroy(model);
    }
}

static void steady_memory(trial *t) {
    lh_params *params = t->bench.model->params;
    int64_t allocations = 0;
    for (int step = 0; step < 4; ++step) {
        lh_tensor *loss = segment_loss(t);
        REQUIRE(loss != NULL);
        CHECK_OK(lh_tape_backward(t->bench.tape, loss));
        CHECK_OK(lh_state_commit(t->bench.state));
        lh_params_clear_gradients(params);
        const int64_t now = lh_pool_get_stats(t->bench.pool).device_allocations;
        if (step >= 2)
            fail_case(t->which, now == allocations, "a steady step must allocate nothing");
        allocations = now;
    }
}

/* What a watcher of backward saw of the parameters. */
typedef struct watch_log {
    const lh_params *params;
    int told[256];
    real *then; /* the flat block of gradients, each as it was when told */
} watch_log;

static lh_status log_gradient(void *context, const lh_tensor *gradient) {
    watch_log *log = context;
    for (int i = 0; gradient != NULL && i < lh_params_count(log->params); ++i) {
        if (lh_params_at(log->params, i)->value->offset != gradient->offset) continue;
        log->told[i] += 1;
        memcpy(log->then + gradient->offset, lh_tensor_real(gradient),
               (size_t)lh_tensor_count(gradient) * sizeof(real));
    }
    return LH_OK;
}

/* Each parameter is told once, and nothing is added to its gradient afterwards. */
static void watching(trial *t) {
    lh_params *params = t->bench.model->params;
    const lh_tensor *gradients = lh_params_gradients(params);
    watch_log log = {.params = params,
                     .then = calloc((size_t)lh_tensor_count(gradients), sizeof(real))};
    lh_tensor *loss = segment_loss(t);
    REQUIRE(loss != NULL && lh_params_count(params) <= 256);
    lh_tape_watch(t->bench.tape, log_gradient, &log);
    CHECK_OK(lh_tape_backward(t->bench.tape, loss));
    lh_tape_watch(t->bench.tape, NULL, NULL);
    bool once = true, complete = true;
    for (int i = 0; i < lh_params_count(params); ++i) {
        const lh_param *param = lh_params_at(params, i);
        if (lh_tensor_gradient(param->value) == NULL) continue;
        once = once && log.told[i] == 1;
        complete = complete && memcmp(log.then + param->value->offset,
                                      lh_tensor_real(gradients) + param->value->offset,
                                      (size_t)param->count * sizeof(real)) == 0;
    }
    fail_case(t->which, once, "every gradient is told of once");
    fail_case(t->which, complete, "nothing may be added to a gradient once it is complete");
    free(log.then);
}

TEST(a_gradient_is_told_of_when_it_is_complete) {
    each_case(watching);
}

TEST(steady_steps_allocate_nothing) {
    each_case(steady_memory);
}

static void weights(trial *t) {
    char path[64];
    real again[ROWS * COUNT * WIDTH];
    (void)snprintf(path, sizeof path, "/tmp/longhaul-test-%ld.safetensors", (long)getpid());
    CHECK_OK(lh_params_save(t->bench.model->params, path, NULL, NULL));
    CHECK_OK(lh_params_initialize(t->bench.model->params, 99));
    CHECK_OK(lh_params_load(t->bench.model->params, path, NULL, NULL, false));
    (void)remove(path);
    CHECK_OK(lh_state_clear(t->bench.state));
    if (!bench_run(&t->bench, t->tokens, COUNT, t->which->segment, fresh, again)) return;
#ifndef LH_REAL_DOUBLE
    fail_case(t->which, memcmp(again, t->hidden, sizeof again) == 0,
              "saved and loaded weights must give the same bits");
#endif
}

TEST(weights_save_and_load) {
    each_case(weights);
}

TEST(unknown_options_are_refused_with_the_nearest_name) {
    lh_model *model = NULL;
    for (int i = 0; lh_model_class_at(i) != NULL; ++i) {
        const lh_model_class *class = lh_model_class_at(i);
        const char *name = class->options[0].rows[0].name;
        char misspelt[80], meant[80];
        (void)snprintf(misspelt, sizeof misspelt, "%sx=8", name);
        (void)snprintf(meant, sizeof meant, "did you mean '%s'?", name);
        CHECK_FAILS(create_model(class->name, misspelt, &model), LH_EOPTION, meant);
    }
    CHECK_FAILS(create_model("brtt", "", &model), LH_EOPTION, "did you mean 'brt'?");
    CHECK_FAILS(create_model("brt", "recurrence=fixed:skp", &model), LH_EOPTION, "fixed:skip");
    CHECK_FAILS(create_model("brt", "layers=3 recurrent_layers=7", &model), LH_EOPTION, "layer 7");
    CHECK_FAILS(create_model("slide", "width=10 heads=4", &model), LH_EOPTION, "heads");
}

static bool has_option(const lh_model_class *class, const char *name) {
    for (const lh_option_table *table = class->options; table->rows != NULL; ++table)
        for (const lh_option *row = table->rows; row->name != NULL; ++row)
            if (strcmp(row->name, name) == 0) return true;
    return false;
}

TEST(what_shall_be_set_where_heads_do_not_divide_the_width_is_an_option) {
    lh_model *model = NULL;
    for (int i = 0; lh_model_class_at(i) != NULL; ++i) {
        const lh_model_class *class = lh_model_class_at(i);
        if (!has_option(class, "heads") || !has_option(class, "width")) continue;
        if (create_model(class->name, "width=10 heads=4", &model) == LH_OK) {
            lh_model_destroy(model);
            continue;
        }
        const char *fix = strstr(lh_error_get()->message, "; set 'head_width'");
        test_check((fix != NULL) == has_option(class, "head_width"), __FILE__, __LINE__, "%s: %s",
                   class->name, lh_error_get()->message);
        lh_error_clear();
    }
    CHECK_FAILS(create_model("gpt2", "width=10 heads=4", &model), LH_EOPTION, "set 'width' to 12");
}

TEST(options_of_a_part_that_is_not_there_are_refused) {
    static const struct {
        const char *name, *options, *message;
    } wrong[] = {
        {"brt", "recurrence=none feedback=true", "'feedback' needs a recurrent layer"},
        {"brt", "recurrent_layers=", "'recurrent_layers' names none: set recurrence=none"},
        {"dai_xl", "segment=8", "'segment' needs rsa_matrix=learned"},
        {"compressive", "compression=mean compression_loss=auto_encoding", "learn nothing"},
        {"t5", "rsa_padding=true", "'rsa_padding' needs rsa_kinds"},
        {"transformer", "longest_distance=9", "'longest_distance' needs positions=relative"},
        {"transformer", "zero_memory=9", "'zero_memory' needs positions=relative"}};
    lh_model *model = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
        CHECK_FAILS(create_model(wrong[i].name, wrong[i].options, &model), LH_EOPTION,
                    wrong[i].message);
}

TEST(recurrence_encoding_options_that_do_not_fit_are_refused) {
    static const struct {
        const char *options, *message;
    } wrong[] = {
        {"rsa_kinds=1,1", "has 2 numbers, not 6"},
        {"rsa_kinds=1,0,-1,0,0,0", "must be integers between 0 and 32, got '-1'"},
        {"rsa_kinds=9223372036854775807,1,0,0,0,0", "got '9223372036854775807'"},
        {"heads=2 width=8 rsa_kinds=1,0,0,1,0,1 rsa_dilation=2", "3 heads with a REM"},
        {"heads=64 head_width=1 rsa_kinds=32,32,0,0,0,0", "64 heads with a REM, at most 32"},
        {"rsa_kinds=0,0,0,0,2,2 rsa_dilation=3,6", "2 numbers for 4 dilated heads"},
        {"rsa_kinds=0,0,0,0,1,1", "0 numbers for 2 dilated heads"},
        {"rsa_kinds=2,0,0,0,0,0 rsa_dilation=3", "1 numbers for 0 dilated heads"},
        {"rsa_kinds=0,0,0,0,1,1 rsa_dilation=3,0",
         "must be integers between 1 and 1000000000, got '0'"},
        {"rsa_cutoff=-1", "rsa_cutoff"},
        {"rsa_gate=1", "'rsa_gate' needs rsa_kinds"},
        {"rsa_kinds=0,0,0,0,0,0 rsa_gate=-1", "'rsa_gate' needs rsa_kinds"},
        {"rsa_cutoff=0", "'rsa_cutoff' needs rsa_kinds"},
        {"rsa_sharing=frozen", "'rsa_sharing' needs rsa_kinds"},
        {"rsa_spread=random", "'rsa_spread' needs rsa_kinds"}};
    lh_model *model = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
        CHECK_FAILS(create_model("slide", wrong[i].options, &model), LH_EOPTION, wrong[i].message);
}

/* Huang et al. 2023, section 3: eta in [-2, -1] and [1, 2] (printed as lambda, which tanh bounds by
 * 1), nu in [1, 2], theta = pi / 4, mu chosen; dilated and plain heads are spread apart. */
TEST(recurrence_encodings_begin_spread_out) {
    static const struct {
        const char *name;
        int64_t count;
        double value[5];
    } lists[] = {{"layers.0.recurrence.eta", 5, {1, -1, 2, -2, 1.5}},
                 {"layers.0.recurrence.nu", 3, {1.5, 1, 2}},
                 {"layers.0.recurrence.theta", 3, {0.7853981634, 0.7853981634, 0.7853981634}},
                 {"layers.0.recurrence.mu", 1, {-3}}};
    model_bench bench;
    REQUIRE(bench_open(&bench, "slide",
                       "layers=1 width=20 heads=20 window=4 rsa_gate=-3 rsa_kinds=4,1,1,1,2,2 "
                       "rsa_dilation=2",
                       1));
    for (int i = 0; i < 4; ++i) {
        const int index = lh_params_find(bench.model->params, lists[i].name);
        REQUIRE(index >= 0);
        const lh_tensor *list = lh_params_get(bench.model->params, index);
        REQUIRE(lh_tensor_count(list) == lists[i].count);
        for (int64_t e = 0; e < lists[i].count; ++e)
            CHECK_NEAR((double)lh_tensor_real(list)[e], lists[i].value[e], 1e-6);
    }
    bench_close(&bench);
}

static int64_t count_of(const char *name, const char *options) {
    lh_model *model = NULL;
    if (!CHECK_OK(create_model(name, options, &model))) return -1;
    const int64_t count = lh_params_elements(model->params, true);
    lh_model_destroy(model);
    return count;
}

/* Table 7 of Huang et al. 2023: 1 + the number of encoded heads per layer, none in a recurrent one;
 * the other two readings give the same, and twice as many for the cyclical heads. */
TEST(recurrence_encodings_add_what_table_7_counts) {
#define WIDE "layers=14 width=16 heads=8 window=4 "
#define RSA  " rsa_kinds=0,0,0,0,2,2 rsa_dilation=3,6,9,12"
    const int64_t plain = count_of("slide", WIDE), recurrent = count_of("brt", WIDE);
    CHECK_EQ_INT(count_of("slide", WIDE RSA) - plain, 70);
    CHECK_EQ_INT(count_of("slide", WIDE RSA " rsa_sharing=frozen") - plain, 70);
    CHECK_EQ_INT(count_of("slide", WIDE RSA " rsa_sharing=independent") - plain, 126);
    CHECK_EQ_INT(count_of("brt", WIDE RSA) - recurrent, 65);
    CHECK_EQ_INT(count_of("slide", WIDE " rsa_kinds=0,0,0,8,0,0 rsa_dilation=64") - plain, 126);
}

/* Section 4.1: 151 and 164 million; Table 2: 327, 375 and 320 million; without the embedding table.
 */
TEST(parameter_counts_of_the_paper) {
    static const struct {
        const char *name, *options;
        double millions;
    } rows[] = {{"xl", "", 151.02},
                {"slide", "", 151.02},
                {"slide", "layers=13", 163.61},
                {"brt", "recurrence=lstm:dual", 181.44},
                {"brt", "recurrence=lstm:single", 179.34},
                {"brt", "recurrence=lstm:skip", 164.66},
                {"brt", "recurrence=fixed:dual", 168.85},
                {"brt", "recurrence=fixed:single", 170.95},
                {"brt", "recurrence=fixed:skip", 160.46},
                {"brt", "recurrence=lstm:single feedback=true", 202.41},
                {"brt", "recurrence=fixed:skip feedback=true", 183.53},
                {"slide", "layers=13 heads=16 head_width=128 hidden=8192", 327.19},
                {"brt", "recurrence=lstm:single heads=16 head_width=128 hidden=8192", 374.38},
                {"brt", "recurrence=fixed:skip heads=16 head_width=128 hidden=8192", 319.85}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        lh_model *model = NULL;
        REQUIRE_OK(create_model(rows[i].name, rows[i].options, &model));
        CHECK_NEAR((double)lh_params_elements(model->params, false) / 1e6, rows[i].millions, 0.006);
        lh_model_destroy(model);
    }
}
