/* A pass as a model sees it: its parameters, statistics that it sets, and rings that count what was
 * handed over. */
#include "harness/engine/state.h"

#include "harness/ops/ops.h"
#include "tests/tape_bench.h"
#include "tests/test.h"

enum { ROWS = 2, LENGTH = 3, WIDTH = 2 };

typedef struct tiny {
    int64_t capacity;
    int weight, mean, ring, newer, older;
} tiny;

static const lh_option tiny_options[] = {
    LH_INTEGER("capacity", tiny, capacity, 4, 1, 64, "rows of the ring"), {0}};
static const lh_option_table tables[] = {LH_OWN_TABLE(tiny), {0}};

static lh_status declare(void *instance, const lh_model_setup *setup, lh_declare *declaration) {
    tiny *m = instance;
    const int64_t vector[] = {WIDTH}, ring[] = {m->capacity, WIDTH};
    const lh_init half = {.kind = LH_INIT_CONSTANT, .mean = 0.5};
    (void)setup;
    m->weight = lh_declare_param(declaration, half, 1, vector, "weight");
    m->mean = lh_declare_param(declaration, half, 1, vector, "mean");
    lh_declare_statistic(declaration);
    m->ring = lh_declare_state(declaration, LH_STATE_RING, 2, ring, "ring");
    m->newer = lh_declare_state(declaration, LH_STATE_REPLACE, 1, vector, "newer");
    m->older = lh_declare_state(declaration, LH_STATE_REPLACE, 1, vector, "older");
    return LH_OK;
}

/* What forward is to set, and what it saw. */
static struct {
    int index;
    int64_t width;
    double value;
} statistic;
static struct {
    lh_tensor *const *param;
    lh_tensor *weight;
    double mean;
    int32_t count[ROWS];
} seen;

static lh_status forward(const void *instance, lh_pass *pass, lh_output *out) {
    const tiny *m = instance;
    lh_tape *tape = lh_pass_tape(pass);
    seen.param = lh_pass_params(pass);
    seen.weight = lh_pass_param(pass, m->weight);
    seen.mean = (double)lh_tensor_real(lh_pass_param(pass, m->mean))[WIDTH - 1];
    LH_TRY(lh_tensor_read(lh_pass_ring_count(pass, m->ring), seen.count, ROWS));
    out->hidden = lh_filled(tape, 3, (const int64_t[]){ROWS, LENGTH, WIDTH}, 1.0);
    LH_TRY(lh_pass_carry(pass, m->ring, out->hidden));
    LH_TRY(lh_pass_carry(pass, m->older, lh_pass_state(pass, m->newer)));
    LH_TRY(lh_pass_carry(pass, m->newer,
                         lh_filled(tape, 2, (const int64_t[]){ROWS, WIDTH}, statistic.value)));
    return lh_pass_set_statistic(pass, statistic.index,
                                 lh_filled(tape, 1, &statistic.width, statistic.value));
}

static const lh_model_class class = {.name = "tiny",
                                     .options = tables,
                                     .instance_size = sizeof(tiny),
                                     .declare = declare,
                                     .forward = forward};

typedef struct bench {
    lh_device *device;
    lh_pool *pool;
    lh_tape *tape;
    lh_model *model;
    lh_state *state;
    const tiny *tiny;
} bench;

static bool bench_begin(bench *b) {
    const lh_model_setup setup = {.vocabulary = 2};
    lh_options *options = NULL;
    *b = (bench){0};
    const bool good = bench_open_tape("cpu", &b->device, &b->pool, &b->tape) &&
                      CHECK_OK(lh_options_create("tiny", tables, &options)) &&
                      CHECK_OK(lh_model_create(&class, options, &setup, &b->model)) &&
                      CHECK_OK(lh_params_allocate(b->model->params, b->pool)) &&
                      CHECK_OK(lh_params_initialize(b->model->params, 1)) &&
                      CHECK_OK(lh_state_create(b->model, b->pool, ROWS, &b->state));
    lh_options_destroy(options);
    if (!good) return false;
    b->tiny = b->model->instance;
    statistic.index = b->tiny->mean;
    statistic.width = WIDTH;
    return true;
}

static void bench_end(bench *b) {
    lh_tape_destroy(b->tape);
    lh_state_destroy(b->state);
    lh_model_destroy(b->model);
    bench_close_pool(b->device, b->pool);
}

/* A segment whose row 0 begins a document or does not. */
static lh_status pass_over(bench *b, bool begins, double value) {
    lh_output out;
    lh_tape_begin(b->tape, true, 1, 0);
    statistic.value = value;
    const lh_batch batch = {
        .rows = ROWS,
        .length = LENGTH,
        .starts = lh_integers(b->tape, 1, (const int64_t[]){ROWS}, (const int32_t[]){begins, 0})};
    return lh_model_forward(b->model, b->tape, b->state, &batch, true, &out);
}

static double mean_of(const bench *b) {
    return (double)lh_tensor_real(lh_params_get(b->model->params, b->tiny->mean))[0];
}

TEST(a_pass_has_all_parameters_and_statistics_take_no_gradient) {
    bench b;
    REQUIRE(bench_begin(&b));
    REQUIRE_OK(pass_over(&b, false, 1));
    const lh_tensor *weight = lh_params_get(b.model->params, b.tiny->weight);
    CHECK(seen.weight == weight && weight->gradient != NULL);
    CHECK(seen.param[b.tiny->weight] == weight); /* the pass is over, its list is not */
    CHECK(seen.param[b.tiny->mean]->gradient == NULL);
    CHECK(lh_tensor_real(seen.param[b.tiny->mean]) ==
          lh_tensor_real(lh_params_get(b.model->params, b.tiny->mean)));
    bench_end(&b);
}

TEST(a_statistic_changes_when_the_step_is_committed) {
    bench b;
    REQUIRE(bench_begin(&b));
    REQUIRE_OK(pass_over(&b, false, 2));
    CHECK_NEAR(seen.mean, 0.5, 0);
    CHECK_NEAR(mean_of(&b), 0.5, 0);
    REQUIRE_OK(lh_state_commit(b.state));
    CHECK_NEAR(mean_of(&b), 2, 0);
    REQUIRE_OK(pass_over(&b, false, 3));
    CHECK_NEAR(seen.mean, 2, 0);
    REQUIRE_OK(lh_state_clear(b.state)); /* what is not committed yet is forgotten */
    REQUIRE_OK(lh_state_commit(b.state));
    CHECK_NEAR(mean_of(&b), 2, 0);
    bench_end(&b);
}

/* What is carried on from another state is what that one held in the pass. */
TEST(a_state_may_become_what_another_was) {
    bench b;
    REQUIRE(bench_begin(&b));
    for (int i = 1; i <= 3; ++i) {
        real newer[ROWS * WIDTH], older[ROWS * WIDTH];
        REQUIRE_OK(pass_over(&b, false, i));
        REQUIRE_OK(lh_state_commit(b.state));
        REQUIRE_OK(lh_tensor_read(lh_state_tensor(b.state, 2 * b.tiny->newer), newer, 4));
        REQUIRE_OK(lh_tensor_read(lh_state_tensor(b.state, 2 * b.tiny->older), older, 4));
        CHECK_NEAR((double)newer[3], i, 0);
        CHECK_NEAR((double)older[3], i - 1, 0);
    }
    bench_end(&b);
}

TEST(only_statistics_are_set_and_in_their_shape) {
    bench b;
    REQUIRE(bench_begin(&b));
    statistic.width = WIDTH + 1;
    CHECK_FAILS(pass_over(&b, false, 1), LH_ESHAPE,
                "statistic 'mean' is [2], the model handed over [3]");
    statistic.width = WIDTH;
    statistic.index = b.tiny->weight;
    CHECK_FAILS(pass_over(&b, false, 1), LH_ESHAPE, "statistic 'weight'");
    REQUIRE_OK(lh_state_commit(b.state));
    CHECK_NEAR(mean_of(&b), 0.5, 0);
    bench_end(&b);
}

TEST(a_ring_counts_its_tokens_from_where_a_document_begins) {
    static const int expected[][ROWS] = {{0, 0}, {3, 3}, {0, 6}, {3, 5}}; /* 9 - 4: it wraps */
    bench b;
    REQUIRE(bench_begin(&b));
    for (int i = 0; i < 4; ++i) {
        REQUIRE_OK(pass_over(&b, i == 2, 1));
        CHECK_EQ_INT(seen.count[0], expected[i][0]);
        CHECK_EQ_INT(seen.count[1], expected[i][1]);
        REQUIRE_OK(lh_state_commit(b.state));
    }
    REQUIRE_OK(lh_state_clear(b.state));
    REQUIRE_OK(pass_over(&b, false, 1));
    CHECK(seen.count[0] == 0 && seen.count[1] == 0);
    bench_end(&b);
}

/* What becomes current in a view of some rows does so in the whole, and in no other row. */
TEST(a_view_of_rows_is_their_state) {
    enum { ALL = 5, FIRST = 2 };
    bench b;
    lh_state *whole = NULL, *rows = NULL;
    lh_output out = {0};
    int32_t count[ALL] = {0};
    if (!bench_begin(&b)) return;
    REQUIRE_OK(lh_state_create(b.model, b.pool, ALL, &whole));
    REQUIRE_OK(lh_state_create_rows(b.model, whole, FIRST, ROWS, &rows));
    CHECK(lh_state_takes(rows, ROWS) && !lh_state_takes(rows, ALL));
    statistic.index = b.tiny->mean;
    statistic.width = WIDTH;
    lh_tape_begin(b.tape, true, 1, 0);
    const lh_batch batch = {.rows = ROWS, .length = LENGTH};
    REQUIRE_OK(lh_model_forward(b.model, b.tape, rows, &batch, true, &out));
    CHECK_OK(lh_state_commit(rows));
    CHECK_OK(lh_tensor_read(lh_state_tensor(whole, 1), count, ALL));
    const real *ring = lh_tensor_real(lh_state_tensor(whole, 0));
    for (int r = 0; r < ALL; ++r) {
        const bool inside = r >= FIRST && r < FIRST + ROWS;
        CHECK_EQ_INT(count[r], inside ? LENGTH : 0);
        CHECK_NEAR(ring[r * b.tiny->capacity * WIDTH], inside ? 1.0 : 0.0, 0.0);
    }
    lh_state_destroy(rows);
    lh_state_destroy(whole);
    bench_end(&b);
}
