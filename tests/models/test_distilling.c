/* Informer's distilling (Zhou et al. 2021, eq. 5) and its batch normalisation, against plain loops:
 * in training, what is then kept of a batch, and in evaluation; whole and odd lengths. */
#include "models/series/forecaster.h"

#include "tests/test.h"

#include "tests/models/model_bench.h"

enum { ROWS = 2, WIDTH = 3, MOST = 8, PASSES = 4 };

/* ---- a model of one layer ---- */

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    *(lh_distilling *)self = lh_distilling_declare(declaration, setup->input_features, "d");
    return LH_OK;
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    out->hidden = lh_distilling_apply(self, pass, lh_pass_batch(pass)->vectors);
    return out->hidden != NULL ? LH_OK : lh_error_get()->status;
}

static const lh_option_table no_options[] = {{0}};
static const lh_model_class one_layer = {.name = "distilling",
                                         .abilities = LH_ABLE_VECTORS,
                                         .options = no_options,
                                         .instance_size = sizeof(lh_distilling),
                                         .declare = declare,
                                         .forward = forward};

static bool open_layer(model_bench *b) {
    return bench_open_of(b, &one_layer, "", (lh_model_setup){.input_features = WIDTH}, ROWS);
}

static const real *param(const model_bench *b, const char *name) {
    return lh_tensor_real(lh_params_get(b->model->params, lh_params_find(b->model->params, name)));
}

/* ---- the same in plain loops ---- */

typedef struct running {
    double mean[WIDTH], variance[WIDTH];
} running;

/* y = the circular convolution of x [ROWS][length][WIDTH]. */
static void convolve(const model_bench *b, const real *x, int length, double *y) {
    const real *weight = param(b, "d.convolution.weight"), *bias = param(b, "d.convolution.bias");
    for (int i = 0; i < ROWS * length * WIDTH; ++i) {
        const int channel = i % WIDTH, t = i / WIDTH % length, row = i / WIDTH / length;
        y[i] = (double)bias[channel];
        for (int tap = 0; tap < 3; ++tap) {
            const real *from = x + (row * length + (t + tap - 1 + length) % length) * WIDTH;
            for (int c = 0; c < WIDTH; ++c)
                y[i] += (double)from[c] * (double)weight[(tap * WIDTH + c) * WIDTH + channel];
        }
    }
}

/* Mean and variance of each channel of y [count][WIDTH]. */
static running measure(const double *y, int count) {
    running found = {0};
    for (int i = 0; i < count * WIDTH; ++i)
        found.mean[i % WIDTH] += y[i] / count;
    for (int i = 0; i < count * WIDTH; ++i)
        found.variance[i % WIDTH] += pow(y[i] - found.mean[i % WIDTH], 2) / count;
    return found;
}

/* The layer; in training `kept` takes in what the batch says. out [ROWS][(length + 1) / 2][WIDTH].
 */
static void expect(const model_bench *b, const real *x, int length, bool training, running *kept,
                   double *out) {
    double y[ROWS * MOST * WIDTH];
    const int count = ROWS * length, half = (length + 1) / 2;
    convolve(b, x, length, y);
    const running now = training ? measure(y, count) : *kept;
    for (int c = 0; training && c < WIDTH; ++c) {
        kept->mean[c] = 0.9 * kept->mean[c] + 0.1 * now.mean[c];
        kept->variance[c] = 0.9 * kept->variance[c] + 0.1 * now.variance[c] * count / (count - 1);
    }
    for (int i = 0; i < count * WIDTH; ++i) {
        const int c = i % WIDTH;
        y[i] = (y[i] - now.mean[c]) / sqrt(now.variance[c] + 1e-5);
        y[i] = y[i] > 0 ? y[i] : expm1(y[i]);
    }
    for (int i = 0; i < ROWS * half * WIDTH; ++i) {
        const int c = i % WIDTH, t = i / WIDTH % half, row = i / WIDTH / half;
        out[i] = -INFINITY;
        for (int from = 2 * t - 1; from <= 2 * t + 1; ++from)
            if (from >= 0 && from < length)
                out[i] = fmax(out[i], y[(row * length + from) * WIDTH + c]);
    }
}

/* ---- the two compared ---- */

static void compare(model_bench *b, int length, bool training, running *kept) {
    const int64_t shape[] = {ROWS, length, WIDTH}, rows = ROWS;
    const int32_t starts[ROWS] = {1, 1};
    real x[ROWS * MOST * WIDTH];
    double out[ROWS * MOST * WIDTH];
    for (int i = 0; i < ROWS * length * WIDTH; ++i)
        x[i] = (real)(3.0 * test_uniform());
    expect(b, x, length, training, kept, out);
    lh_output found = {0};
    lh_tape_begin(b->tape, training, 1, 0);
    const lh_batch batch = {.rows = ROWS,
                            .length = length,
                            .vectors = lh_reals(b->tape, 3, shape, x),
                            .starts = lh_integers(b->tape, 1, &rows, starts)};
    REQUIRE_OK(lh_model_forward(b->model, b->tape, b->state, &batch, training, &found));
    REQUIRE(found.hidden->shape[1] == (length + 1) / 2);
    for (int i = 0; i < ROWS * ((length + 1) / 2) * WIDTH; ++i)
        CHECK_NEAR((double)lh_tensor_real(found.hidden)[i], out[i], 2e-5);
}

static void compare_kept(const model_bench *b, const running *kept) {
    for (int c = 0; c < WIDTH; ++c) {
        CHECK_NEAR((double)param(b, "d.norm.mean")[c], kept->mean[c], 1e-5);
        CHECK_NEAR((double)param(b, "d.norm.variance")[c], kept->variance[c], 1e-5);
    }
}

TEST(passes_equal_plain_loops) {
    for (int length = 1; length <= MOST; ++length) {
        model_bench b;
        running kept = {.variance = {1, 1, 1}};
        REQUIRE(open_layer(&b));
        for (int pass = 0; pass < PASSES; ++pass) {
            const running before = kept;
            compare(&b, length, true, &kept);
            compare_kept(&b, &before); /* until it is committed */
            CHECK_OK(lh_state_commit(b.state));
            compare_kept(&b, &kept);
            compare(&b, length, false, &kept);
            CHECK_OK(lh_state_commit(b.state));
            compare_kept(&b, &kept);
        }
        bench_close(&b);
    }
}

/* A state that is cleared forgets what a pass handed over, but not what has been committed. */
TEST(a_cleared_state_keeps_statistics) {
    model_bench b;
    running kept = {.variance = {1, 1, 1}}, lost;
    REQUIRE(open_layer(&b));
    compare(&b, 6, true, &kept);
    CHECK_OK(lh_state_commit(b.state));
    lost = kept;
    compare(&b, 6, true, &lost);
    CHECK_OK(lh_state_clear(b.state));
    CHECK_OK(lh_state_commit(b.state));
    compare_kept(&b, &kept);
    bench_close(&b);
}

TEST(statistics_are_no_parameters_to_count) {
    lh_model_setup setup = {.input_features = 11,
                            .output_features = 7,
                            .time_features = 4,
                            .seq_len = 96,
                            .label_len = 48,
                            .pred_len = 24};
    /* A kernel of 3 x 512 x 512 and its bias, gain and bias of a norm. */
    const int64_t one = 3 * 512 * 512 + 512 + 2 * 512;
    CHECK_EQ_INT(count_parameters("informer", "distil=true", setup),
                 count_parameters("informer", "", setup) + one);
    CHECK_EQ_INT(count_parameters("informer", "layers=3 distil=true", setup),
                 count_parameters("informer", "layers=3", setup) + 2 * one);
    CHECK_EQ_INT(count_parameters("informer", "layers=1 distil=true", setup),
                 count_parameters("informer", "layers=1", setup));
    lh_model *model = NULL;
    CHECK_FAILS(create_model_for("informer", "distil=true rsa_kinds=8,0,0,0,0,0", &setup, &model),
                LH_EOPTION, "give up one of distil and rsa_kinds");
    CHECK_FAILS(create_model_for("logsparse", "distil=true", &setup, &model), LH_EOPTION, "distil");
}
