/* The Routing Transformer: what is causal in it and what is not, when its centroids move, what it
 * has of parameters. */
#include "models/routing/routed_heads.h"

#include "tests/test.h"

#include "tests/models/model_bench.h"

enum { ROWS = 2, LENGTH = 8, WIDTH = 8 };

#define SIZES "layers=2 width=8 heads=2 hidden=12 dropout=0 window=2 longest_distance=9 "

static const int32_t fresh[ROWS] = {1, 1};

/* ---- what a later token changes ---- */

/* Whether a token put in another's place changes what stands before it in its row. */
static bool leaks(const char *options, int64_t at) {
    int32_t tokens[ROWS * LENGTH];
    real before[ROWS * LENGTH * WIDTH], after[ROWS * LENGTH * WIDTH];
    model_bench bench;
    random_tokens(tokens, ROWS * LENGTH);
    bool good = bench_open(&bench, "routing", options, ROWS) &&
                bench_run(&bench, tokens, LENGTH, LENGTH, fresh, before);
    tokens[at] = (tokens[at] + 1) % BENCH_VOCABULARY;
    good = good && bench_run(&bench, tokens, LENGTH, LENGTH, fresh, after);
    bench_close(&bench);
    const size_t own = (size_t)(at * WIDTH);
    CHECK(good && memcmp(before + own, after + own, WIDTH * sizeof(real)) != 0);
    return good && memcmp(before, after, own * sizeof(real)) != 0;
}

/* One cluster of all tokens; several that all take every token; no cluster at all. */
TEST(where_nothing_is_left_out_the_model_is_causal) {
    static const char *const options[] = {SIZES "clusters=1", SIZES "clusters=3 routing_window=8",
                                          SIZES "clusters=3 routing_window=8 overlap=mean",
                                          SIZES "routing_layers=0"};
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i)
        for (int64_t at = 1; at < LENGTH; ++at)
            test_check(!leaks(options[i], at), __FILE__, __LINE__, "%s: token %lld", options[i],
                       (long long)at);
}

/* The choice is made over the whole segment, as released (docs/fidelity.md). */
TEST(a_later_token_can_take_the_place_of_an_earlier_one) {
    int times = 0;
    for (int trial = 0; trial < 10; ++trial)
        times += leaks(SIZES "clusters=3", LENGTH - 1);
    CHECK(times > 0);
}

/* ---- routed heads alone, on vectors [q | v] ---- */

enum { HEADS = 2, HEAD_WIDTH = 4, INPUT = 2 * HEADS * HEAD_WIDTH };

typedef struct routed_layer {
    lh_routing_config config;
    lh_routed_heads routed;
} routed_layer;

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    (void)setup;
    routed_layer *layer = self;
    const lh_init positions = {LH_INIT_NORMAL, 0.0, 1.0};
    layer->routed = (lh_routed_heads){.heads = HEADS, .head_width = HEAD_WIDTH};
    lh_routed_heads_declare(&layer->routed, &layer->config, positions, declaration, "r");
    return LH_OK;
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    const routed_layer *layer = self;
    lh_tape *tape = lh_pass_tape(pass);
    const int64_t heads[] = {ROWS, LENGTH, 2 * HEADS, HEAD_WIDTH}, flat[] = {ROWS, LENGTH, -1};
    lh_tensor *x = lh_reshape(tape, lh_pass_batch(pass)->vectors, 4, heads);
    lh_tensor *y =
        lh_routed_heads_attend(&layer->routed, &layer->config, pass, lh_slice(tape, x, 2, 0, HEADS),
                               lh_slice(tape, x, 2, HEADS, HEADS));
    out->hidden = y != NULL ? lh_reshape(tape, y, 3, flat) : NULL;
    return out->hidden != NULL ? LH_OK : lh_error_get()->status;
}

static const lh_option_table layer_options[] = {LH_TABLE(routed_layer, config, lh_routing_config),
                                                {0}};
static const lh_model_class one_layer = {.name = "routed_heads",
                                         .abilities = LH_ABLE_VECTORS,
                                         .options = layer_options,
                                         .instance_size = sizeof(routed_layer),
                                         .declare = declare,
                                         .forward = forward};

static bool open_layer(model_bench *b, const char *text) {
    return bench_open_of(b, &one_layer, text, (lh_model_setup){.input_features = INPUT}, ROWS);
}

/* x [ROWS][LENGTH][INPUT] -> y [ROWS][LENGTH][HEADS * HEAD_WIDTH]. */
static void run_layer(model_bench *b, const real *x, bool training, real *y) {
    const int64_t shape[] = {ROWS, LENGTH, INPUT}, rows = ROWS;
    lh_output out = {0};
    lh_tape_begin(b->tape, false, 1, 0);
    const lh_batch batch = {.rows = ROWS,
                            .length = LENGTH,
                            .vectors = lh_reals(b->tape, 3, shape, x),
                            .starts = lh_integers(b->tape, 1, &rows, fresh)};
    REQUIRE_OK(lh_model_forward(b->model, b->tape, b->state, &batch, training, &out));
    memcpy(y, lh_tensor_real(out.hidden), ROWS * LENGTH * INPUT / 2 * sizeof *y);
}

static void random_reals(real *x, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        x[i] = (real)(2.0 * test_uniform());
}

/* Values take no part in the choice: with other ones at a token the clusters are what they were,
 * and what stands before it is the same, bit for bit. */
TEST(within_fixed_clusters_attention_is_causal) {
    static const char *const options[] = {"clusters=2", "clusters=3 routing_window=5",
                                          "clusters=3 routing_window=4 overlap=mean"};
    enum { OUTPUT = INPUT / 2 };
    real x[ROWS * LENGTH * INPUT], before[ROWS * LENGTH * OUTPUT], after[ROWS * LENGTH * OUTPUT];
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i) {
        model_bench b;
        int changed = 0;
        REQUIRE(open_layer(&b, options[i]));
        random_reals(x, ROWS * LENGTH * INPUT);
        run_layer(&b, x, false, before);
        for (int64_t at = 0; at < LENGTH; ++at) {
            real kept[OUTPUT];
            real *values = x + at * INPUT + OUTPUT;
            memcpy(kept, values, sizeof kept);
            random_reals(values, OUTPUT);
            run_layer(&b, x, false, after);
            memcpy(values, kept, sizeof kept);
            CHECK(memcmp(before, after, (size_t)(at * OUTPUT) * sizeof *after) == 0);
            changed +=
                memcmp(before + at * OUTPUT, after + at * OUTPUT, OUTPUT * sizeof *after) != 0;
        }
        CHECK(changed > LENGTH / 2); /* a token of no cluster has zeros whatever its values */
        bench_close(&b);
    }
}

/* Every centroid takes the tokens that it is told to: 2 of 8 for each of 2 leave some out, and
 * those have zeros in that head. */
TEST(a_token_of_no_cluster_has_zeros) {
    enum { OUTPUT = INPUT / 2 };
    real x[ROWS * LENGTH * INPUT], y[ROWS * LENGTH * OUTPUT];
    model_bench b;
    REQUIRE(open_layer(&b, "clusters=2 routing_window=2"));
    random_reals(x, ROWS * LENGTH * INPUT);
    run_layer(&b, x, false, y);
    for (int64_t head = 0; head < ROWS * HEADS; ++head) {
        int zeros = 0;
        for (int64_t t = 0; t < LENGTH; ++t) {
            const real *out = y + (head / HEADS * LENGTH + t) * OUTPUT + head % HEADS * HEAD_WIDTH;
            zeros += out[0] == 0 && out[1] == 0 && out[2] == 0 && out[3] == 0;
        }
        CHECK(zeros >= LENGTH - 4 && zeros <= LENGTH - 2);
    }
    bench_close(&b);
}

/* ---- centroids ---- */

static const real *centroids(const model_bench *b) {
    const lh_params *params = b->model->params;
    return lh_tensor_real(lh_params_get(params, lh_params_find(params, "r.centroids")));
}

/* In training alone, and not before the step is committed. With a decay of 1 they stay. */
TEST(centroids_move_in_training) {
    enum { COUNT = HEADS * 3 * HEAD_WIDTH };
    real x[ROWS * LENGTH * INPUT], y[ROWS * LENGTH * INPUT / 2], first[COUNT];
    model_bench b;
    REQUIRE(open_layer(&b, "clusters=3 centroid_decay=0.9"));
    memcpy(first, centroids(&b), sizeof first);
    random_reals(x, ROWS * LENGTH * INPUT);
    run_layer(&b, x, false, y);
    CHECK_OK(lh_state_commit(b.state));
    CHECK(memcmp(first, centroids(&b), sizeof first) == 0);
    run_layer(&b, x, true, y);
    CHECK(memcmp(first, centroids(&b), sizeof first) == 0);
    CHECK_OK(lh_state_commit(b.state));
    CHECK(memcmp(first, centroids(&b), sizeof first) != 0);
    bench_close(&b);
    REQUIRE(open_layer(&b, "clusters=3 centroid_decay=1"));
    memcpy(first, centroids(&b), sizeof first);
    run_layer(&b, x, true, y);
    CHECK_OK(lh_state_commit(b.state));
    CHECK(memcmp(first, centroids(&b), sizeof first) == 0);
    bench_close(&b);
}

/* A centroid far off is nearest to no token, whose mean there is none of. */
TEST(a_centroid_without_tokens_stays) {
    enum { CLUSTERS = 3, COUNT = HEADS * CLUSTERS * HEAD_WIDTH };
    real x[ROWS * LENGTH * INPUT], y[ROWS * LENGTH * INPUT / 2], first[COUNT];
    model_bench b;
    REQUIRE(open_layer(&b, "clusters=3 centroid_decay=0.5"));
    lh_params *params = b.model->params;
    real *mu = lh_tensor_real(lh_params_get(params, lh_params_find(params, "r.centroids")));
    for (int i = 0; i < COUNT; ++i) /* the last of each head is zero, the others opposites */
        mu[i] = (real)((i / HEAD_WIDTH % CLUSTERS == 0) - (i / HEAD_WIDTH % CLUSTERS == 1)) *
                (real)(1 + i % HEAD_WIDTH);
    memcpy(first, mu, sizeof first);
    random_reals(x, ROWS * LENGTH * INPUT);
    run_layer(&b, x, true, y);
    CHECK_OK(lh_state_commit(b.state));
    for (int h = 0; h < HEADS; ++h)
        for (int c = 0; c < CLUSTERS; ++c) {
            const size_t at = (size_t)(h * CLUSTERS + c) * HEAD_WIDTH;
            const bool stayed =
                memcmp(first + at, centroids(&b) + at, HEAD_WIDTH * sizeof *mu) == 0;
            CHECK(stayed == (c == CLUSTERS - 1));
        }
    bench_close(&b);
}

/* ---- parameters and options ---- */

/* Counted by hand; centroids are statistics and no parameters. Heads of width 6: 2 of the 4 are
 * routed in the last layer, whose keys are their queries. */
TEST(routing_has_so_many_parameters) {
    const int64_t width = 32, inner = 4 * 6, hidden = 64, vocabulary = 256;
    const int64_t shared = 3 * width * inner + 3 * width * hidden + 4 * width + 2 * 16 * 6;
    const int64_t local = shared + width * inner, routed = shared + width * inner / 2 + 11 * 6;
    CHECK_EQ_INT(count_parameters("routing",
                                  "layers=3 width=32 heads=4 head_width=6 hidden=64 window=16 "
                                  "routing_layers=1 longest_distance=10",
                                  (lh_model_setup){.vocabulary = vocabulary}),
                 2 * local + routed + 2 * vocabulary * width + vocabulary);
}

TEST(routing_refuses_what_does_not_fit) {
    lh_model *model = NULL;
    CHECK_FAILS(create_model("routing", "layers=2 routing_layers=3", &model), LH_EOPTION,
                "'routing_layers' (3) is above 'layers' (2)");
    CHECK_FAILS(create_model("routing", "heads=4 routing_heads=5", &model), LH_EOPTION,
                "'routing_heads' (5) is above 'heads' (4)");
    CHECK_FAILS(create_model("routing", "clusters=0", &model), LH_EOPTION, "clusters");
    CHECK_FAILS(create_model("routing", "width=10 heads=4", &model), LH_EOPTION, "heads");
}
