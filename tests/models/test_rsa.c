/* RSA layers with the gate fully open are linear RNNs (Huang et al. 2023, Proposition 2): a regular
 * head is h_t = lambda (h_{t-1} + v_{t-1}), worked out here step by step. */
#include "tests/test.h"

#include "tests/models/model_bench.h"

enum { ROWS = 2, LENGTH = 9, FEATURES = 2, WIDTH = 3, HEADS = 2, HEAD = 2, INNER = HEADS * HEAD };

static bool open_rsa(model_bench *bench, const char *options, int64_t pred_len) {
    const lh_model_setup setup = {
        .input_features = FEATURES, .output_features = FEATURES, .pred_len = pred_len};
    return bench_open_for(bench, "rsa", options, setup, ROWS);
}

static const lh_tensor *read_vectors(model_bench *r, const real *x) {
    const int64_t shape[] = {ROWS, LENGTH, FEATURES}, rows[] = {ROWS};
    const int32_t starts[ROWS] = {1, 1};
    lh_output out = {0};
    lh_tape_begin(r->tape, false, 1, 0);
    const lh_batch batch = {.rows = ROWS,
                            .length = LENGTH,
                            .vectors = lh_reals(r->tape, 3, shape, x),
                            .starts = lh_integers(r->tape, 1, rows, starts)};
    if (!CHECK_OK(lh_model_forward(r->model, r->tape, r->state, &batch, false, &out))) return NULL;
    return out.hidden;
}

static const real *param(const model_bench *r, const char *name) {
    return lh_tensor_real(lh_params_get(r->model->params, lh_params_find(r->model->params, name)));
}

/* y [columns] += x [rows] times weight [rows][stride], from column `first` on. */
static void multiply_add(const double *x, int rows, const real *weight, int stride, int first,
                         int columns, double *y) {
    for (int i = 0; i < rows; ++i)
        for (int c = 0; c < columns; ++c)
            y[c] += x[i] * (double)weight[i * stride + first + c];
}

/* h_t of the first layer's heads from h_{t-1} and v_{t-1}, which v_t takes the place of. */
static void step_on(const model_bench *r, const double *now, double *h, double *before) {
    double v[INNER] = {0};
    multiply_add(now, FEATURES, param(r, "layers.0.joined"), 3 * INNER, 2 * INNER, INNER, v);
    for (int i = 0; i < INNER; ++i) {
        const double lambda = tanh((double)param(r, "layers.0.recurrence.eta")[i / HEAD]);
        h[i] = lambda * (h[i] + before[i]);
        before[i] = v[i];
    }
}

/* The outputs of one row, by the recursion. */
static void expected(const model_bench *r, const real *x, double y[LENGTH][FEATURES]) {
    double h[INNER] = {0}, before[INNER] = {0};
    for (int t = 0; t < LENGTH; ++t) {
        double now[FEATURES], z[WIDTH];
        for (int f = 0; f < FEATURES; ++f)
            now[f] = (double)x[t * FEATURES + f];
        step_on(r, now, h, before);
        for (int c = 0; c < WIDTH; ++c)
            z[c] = (double)param(r, "layers.0.bias")[c];
        multiply_add(h, INNER, param(r, "layers.0.out"), WIDTH, 0, WIDTH, z);
        multiply_add(now, FEATURES, param(r, "layers.0.own"), WIDTH, 0, WIDTH, z);
        for (int f = 0; f < FEATURES; ++f)
            y[t][f] = (double)param(r, "head.bias")[f];
        multiply_add(z, WIDTH, param(r, "head.weight"), FEATURES, 0, FEATURES, y[t]);
    }
}

/* With pred_len only the last steps come out. */
static void check(int64_t pred_len) {
    model_bench r;
    real x[ROWS * LENGTH * FEATURES];
    const int count = pred_len > 0 ? (int)pred_len : LENGTH;
    for (int i = 0; i < ROWS * LENGTH * FEATURES; ++i)
        x[i] = (real)test_uniform();
    REQUIRE(open_rsa(&r, "layers=1 width=3 heads=2 head_width=2 rsa_kinds=2,0,0,0,0,0 rsa_gate=30",
                     pred_len));
    const lh_tensor *out = read_vectors(&r, x);
    REQUIRE(out != NULL && out->shape[1] == count);
    for (int row = 0; row < ROWS; ++row) {
        double y[LENGTH][FEATURES];
        expected(&r, x + row * LENGTH * FEATURES, y);
        for (int i = 0; i < count * FEATURES; ++i)
            CHECK_NEAR(lh_tensor_real(out)[row * count * FEATURES + i],
                       y[LENGTH - count + i / FEATURES][i % FEATURES], 1e-5);
    }
    bench_close(&r);
}

TEST(an_open_gate_leaves_a_linear_rnn) {
    check(0);
}

TEST(windows_of_a_series_predict_their_end) {
    check(3);
}

/* ---- what is shown of heads ---- */

typedef struct sight {
    int count;
    real first[ROWS * LENGTH * INNER]; /* of the first layer */
} sight;

static lh_status look(void *context, const lh_tensor *shown) {
    sight *s = context;
    const int64_t shape[] = {ROWS, LENGTH, HEADS, HEAD};
    for (int i = 0; i < 4; ++i)
        CHECK_EQ_INT(shown->shape[i], shape[i]);
    if (s->count++ > 0) return LH_OK;
    return lh_tensor_read(shown, s->first, ROWS * LENGTH * INNER);
}

/* A viewer sees g h_t of each layer, whatever attention gives, and changes nothing. */
TEST(a_viewer_sees_what_encodings_add) {
    model_bench r;
    sight s = {0};
    real x[ROWS * LENGTH * FEATURES], unseen[ROWS * LENGTH * FEATURES];
    for (int i = 0; i < ROWS * LENGTH * FEATURES; ++i)
        x[i] = (real)test_uniform();
    REQUIRE(open_rsa(&r, "layers=2 width=3 heads=2 head_width=2 rsa_kinds=2,0,0,0,0,0 rsa_gate=0.4",
                     0));
    const lh_tensor *out = read_vectors(&r, x);
    REQUIRE(out != NULL);
    memcpy(unseen, lh_tensor_real(out), sizeof unseen);
    lh_tape_set_viewer(r.tape, look, &s);
    out = read_vectors(&r, x);
    REQUIRE(out != NULL);
    CHECK(memcmp(unseen, lh_tensor_real(out), sizeof unseen) == 0);
    CHECK_EQ_INT(s.count, 2);
    for (int row = 0; row < ROWS; ++row) {
        double h[INNER] = {0}, before[INNER] = {0};
        for (int t = 0; t < LENGTH; ++t) {
            double now[FEATURES];
            for (int f = 0; f < FEATURES; ++f)
                now[f] = (double)x[(row * LENGTH + t) * FEATURES + f];
            step_on(&r, now, h, before);
            for (int i = 0; i < INNER; ++i)
                CHECK_NEAR(s.first[(row * LENGTH + t) * INNER + i], h[i] / (1.0 + exp(-0.4)), 1e-5);
        }
    }
    bench_close(&r);
}
