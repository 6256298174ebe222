/* The linear RNN on vectors is the sum that the recurrence encoding starts from (Huang et al. 2023,
 * section 2.2): h_t = sum_{j < t} W^j (U x_{t-j} + b), y_t = V h_t + c. */
#include "tests/test.h"

#include "tests/models/model_bench.h"

enum { ROWS = 2, LENGTH = 7, FEATURES = 2, HIDDEN = 3, OUTPUTS = 2 };

static bool open_rnn(model_bench *bench, const char *options, int64_t pred_len) {
    const lh_model_setup setup = {
        .input_features = FEATURES, .output_features = OUTPUTS, .pred_len = pred_len};
    return bench_open_for(bench, "rnn", options, setup, ROWS);
}

static const real *param(const model_bench *r, const char *name) {
    return lh_tensor_real(lh_params_get(r->model->params, lh_params_find(r->model->params, name)));
}

/* v <- v W for the row vector v. */
static void multiply(double *v, const real *w) {
    double y[HIDDEN] = {0};
    for (int i = 0; i < HIDDEN; ++i)
        for (int k = 0; k < HIDDEN; ++k)
            y[k] += v[i] * (double)w[i * HIDDEN + k];
    memcpy(v, y, sizeof y);
}

/* y_t by the sum over lags. */
static void expected(const model_bench *r, const real *x, int t, double *y) {
    const real *u = param(r, "layers.0.input"), *w = param(r, "layers.0.recurrent");
    const real *b = param(r, "layers.0.bias"), *v = param(r, "head.weight");
    double h[HIDDEN] = {0};
    for (int lag = 0; lag <= t; ++lag) {
        double term[HIDDEN];
        for (int k = 0; k < HIDDEN; ++k) {
            term[k] = (double)b[k];
            for (int f = 0; f < FEATURES; ++f)
                term[k] += (double)x[(t - lag) * FEATURES + f] * (double)u[f * HIDDEN + k];
        }
        for (int j = 0; j < lag; ++j)
            multiply(term, w);
        for (int k = 0; k < HIDDEN; ++k)
            h[k] += term[k];
    }
    for (int o = 0; o < OUTPUTS; ++o) {
        y[o] = (double)param(r, "head.bias")[o];
        for (int k = 0; k < HIDDEN; ++k)
            y[o] += h[k] * (double)v[o * HIDDEN + k];
    }
}

/* Reads x [ROWS][LENGTH][FEATURES]; starts says whether documents begin. */
static const lh_tensor *read_vectors(model_bench *r, const real *x, int32_t start) {
    const int64_t shape[] = {ROWS, LENGTH, FEATURES}, rows[] = {ROWS};
    const int32_t starts[ROWS] = {start, start};
    lh_output out = {0};
    lh_tape_begin(r->tape, false, 1, 0);
    const lh_batch batch = {.rows = ROWS,
                            .length = LENGTH,
                            .vectors = lh_reals(r->tape, 3, shape, x),
                            .starts = lh_integers(r->tape, 1, rows, starts)};
    if (!CHECK_OK(lh_model_forward(r->model, r->tape, r->state, &batch, false, &out))) return NULL;
    CHECK(out.head_weight == NULL);
    return CHECK_OK(lh_state_commit(r->state)) ? out.hidden : NULL;
}

static void fill(real *x) {
    for (int i = 0; i < ROWS * LENGTH * FEATURES; ++i)
        x[i] = (real)test_uniform();
}

/* Whether outputs [ROWS][count][OUTPUTS] are those of the last `count` steps. */
static void check_outputs(const model_bench *r, const real *x, const lh_tensor *out, int count) {
    REQUIRE(out != NULL && out->shape[1] == count);
    for (int row = 0; row < ROWS; ++row)
        for (int i = 0; i < count; ++i) {
            double y[OUTPUTS];
            expected(r, x + row * LENGTH * FEATURES, LENGTH - count + i, y);
            for (int o = 0; o < OUTPUTS; ++o)
                CHECK_NEAR(lh_tensor_real(out)[(row * count + i) * OUTPUTS + o], y[o], 1e-5);
        }
}

TEST(a_linear_rnn_is_a_sum_over_powers) {
    model_bench r;
    real x[ROWS * LENGTH * FEATURES];
    REQUIRE(open_rnn(&r, "layers=1 hidden=3 activation=linear", 0));
    fill(x);
    check_outputs(&r, x, read_vectors(&r, x, 1), LENGTH);
    bench_close(&r);
}

/* The second window is no continuation of the first. */
TEST(windows_of_a_series_start_afresh_and_predict_their_end) {
    model_bench r;
    real x[ROWS * LENGTH * FEATURES];
    REQUIRE(open_rnn(&r, "layers=1 hidden=3 activation=linear", 2));
    fill(x);
    CHECK(read_vectors(&r, x, 1) != NULL);
    fill(x);
    check_outputs(&r, x, read_vectors(&r, x, 0), 2);
    bench_close(&r);
}
