/* Updates against each rule's formula in double. */
#include "harness/train/optimizer.h"

#include "tests/test.h"

/* The optimizers against plain loops in double, over several steps and unlike tensors. */

enum { PARAMETERS = 5, STEPS = 6 };

static const int rank_of[PARAMETERS] = {2, 1, 2, 3, 3};
static const int64_t shape_of[PARAMETERS][3] = {
    {4, 3}, {5}, {130, 141}, {2, 128, 129}, {133, 2, 131}};
static const bool is_factored[PARAMETERS] = {false, false, true, true, false};

/* The parameters in the harness, and the same in double with three moment vectors each. */
typedef struct fixture {
    lh_device *device;
    lh_pool *pool;
    lh_params *params;
    lh_optimizer *optimizer;
    double *x[PARAMETERS], *g[PARAMETERS], *m[PARAMETERS], *v[PARAMETERS], *c[PARAMETERS];
    real *flat; /* staging for all parameters or gradients */
} fixture;

static int64_t count_of(const fixture *f, int i) {
    return lh_params_at(f->params, i)->count;
}

static int64_t offset_of(const fixture *f, int i) {
    return lh_tensor_real(lh_params_get(f->params, i)) -
           lh_tensor_real(lh_params_values(f->params));
}

static double *zeros(int64_t count) {
    return calloc((size_t)count, sizeof(double));
}

static void read_values(fixture *f) {
    const lh_tensor *values = lh_params_values(f->params);
    CHECK_OK(lh_tensor_read(values, f->flat, lh_tensor_count(values)));
}

static bool create_params(fixture *f) {
    const lh_init init = {.kind = LH_INIT_NORMAL, .deviation = 0.3};
    if (lh_params_create(&f->params) != LH_OK) return false;
    for (int i = 0; i < PARAMETERS; ++i)
        lh_params_declare(f->params, init, rank_of[i], shape_of[i], "p%d", i);
    return lh_params_allocate(f->params, f->pool) == LH_OK &&
           lh_params_initialize(f->params, 3) == LH_OK;
}

static bool open_fixture(fixture *f, const lh_optimizer_spec *spec) {
    *f = (fixture){0};
    if (lh_device_open("cpu", &f->device) != LH_OK) return false;
    if (lh_pool_create(f->device, &f->pool) != LH_OK) return false;
    if (!create_params(f)) return false;
    f->flat = calloc((size_t)lh_tensor_count(lh_params_values(f->params)), sizeof(real));
    read_values(f);
    for (int i = 0; i < PARAMETERS; ++i) {
        const int64_t count = count_of(f, i);
        f->x[i] = zeros(count);
        f->g[i] = zeros(count);
        f->m[i] = zeros(count);
        f->v[i] = zeros(count);
        f->c[i] = zeros(count);
        for (int64_t k = 0; k < count; ++k)
            f->x[i][k] = (double)f->flat[offset_of(f, i) + k];
    }
    return lh_optimizer_create(spec, f->params, &f->optimizer) == LH_OK;
}

static void close_fixture(fixture *f) {
    lh_optimizer_destroy(f->optimizer);
    lh_params_destroy(f->params);
    lh_pool_destroy(f->pool);
    lh_device_close(f->device);
    for (int i = 0; i < PARAMETERS; ++i) {
        free(f->x[i]);
        free(f->g[i]);
        free(f->m[i]);
        free(f->v[i]);
        free(f->c[i]);
    }
    free(f->flat);
}

/* New random gradients on both sides; padding stays zero. */
static void draw_gradients(fixture *f) {
    lh_tensor *gradients = lh_params_gradients(f->params);
    const int64_t total = lh_tensor_count(gradients);
    memset(f->flat, 0, (size_t)total * sizeof *f->flat);
    for (int i = 0; i < PARAMETERS; ++i) {
        for (int64_t k = 0; k < count_of(f, i); ++k) {
            const real value = (real)(test_uniform() * (1.0 + (double)(k % 7)));
            f->flat[offset_of(f, i) + k] = value;
            f->g[i][k] = (double)value;
        }
    }
    CHECK_OK(lh_tensor_write(gradients, f->flat, total));
}

/* Largest deviation, relative to one where values are small. */
static double deviation(fixture *f) {
    double worst = 0.0;
    read_values(f);
    for (int i = 0; i < PARAMETERS; ++i) {
        for (int64_t k = 0; k < count_of(f, i); ++k) {
            const double is = (double)f->flat[offset_of(f, i) + k], should = f->x[i][k];
            const double error = fabs(is - should) / (1.0 + fabs(should));
            worst = error <= worst ? worst : error;
        }
    }
    return worst;
}

/* The global-norm factor of the present gradients. */
static double clip_factor(const fixture *f, double clip) {
    double sum = 0.0;
    for (int i = 0; i < PARAMETERS; ++i) {
        for (int64_t k = 0; k < count_of(f, i); ++k)
            sum += f->g[i][k] * f->g[i][k];
    }
    return clip > 0.0 && sqrt(sum) > clip ? clip / sqrt(sum) : 1.0;
}

typedef void (*reference)(fixture *f, const lh_optimizer_spec *spec, int i, double rate, int step,
                          double factor);

static void run(const lh_optimizer_spec *spec, reference update) {
    fixture f;
    REQUIRE(open_fixture(&f, spec));
    for (int step = 0; step < STEPS; ++step) {
        const double rate = 0.02 * (step + 1);
        draw_gradients(&f);
        const double factor = clip_factor(&f, spec->clip);
        REQUIRE_OK(lh_optimizer_update(f.optimizer, rate, step));
        for (int i = 0; i < PARAMETERS; ++i)
            update(&f, spec, i, rate, step, factor);
    }
    CHECK_NEAR(deviation(&f), 0.0, sizeof(real) == 4 ? 2e-5 : 1e-12);
    close_fixture(&f);
}

/* ---- references ---- */

static double decay_of(const lh_optimizer_spec *spec, int i) {
    return rank_of[i] > 1 ? spec->weight_decay : 0.0;
}

static void plain_sgd(fixture *f, const lh_optimizer_spec *spec, int i, double rate, int step,
                      double factor) {
    (void)step;
    for (int64_t k = 0; k < count_of(f, i); ++k) {
        const double g = factor * f->g[i][k] + decay_of(spec, i) * f->x[i][k];
        f->m[i][k] = spec->momentum * f->m[i][k] + g;
        f->x[i][k] -= rate * f->m[i][k];
    }
}

static void plain_adam(fixture *f, const lh_optimizer_spec *spec, int i, double rate, int step,
                       double factor) {
    const bool decoupled = spec->kind == LH_OPTIMIZER_ADAMW;
    for (int64_t k = 0; k < count_of(f, i); ++k) {
        double *x = &f->x[i][k], *m = &f->m[i][k], *v = &f->v[i][k];
        const double decay = decay_of(spec, i) * *x;
        const double g = factor * f->g[i][k] + (decoupled ? 0.0 : decay);
        *m = spec->beta1 * *m + (1.0 - spec->beta1) * g;
        *v = spec->beta2 * *v + (1.0 - spec->beta2) * g * g;
        const double mean = *m / (1.0 - pow(spec->beta1, step + 1));
        const double square = *v / (1.0 - pow(spec->beta2, step + 1));
        *x -= rate * (mean / (sqrt(square) + spec->epsilon) + (decoupled ? decay : 0.0));
    }
}

static double rms(const double *x, int64_t count) {
    double sum = 0.0;
    for (int64_t k = 0; k < count; ++k)
        sum += x[k] * x[k];
    return sqrt(sum / (double)count);
}

/* Factored second moment of one [rows][columns] matrix: v holds the rows' means, c the columns'. */
static void factored_update(const double *g, double *v, double *c, double *y, int64_t rows,
                            int64_t columns, double beta) {
    for (int64_t r = 0; r < rows; ++r) {
        double sum = 0.0;
        for (int64_t k = 0; k < columns; ++k)
            sum += g[r * columns + k] * g[r * columns + k] + 1e-30;
        v[r] = beta * v[r] + (1.0 - beta) * sum / (double)columns;
    }
    for (int64_t k = 0; k < columns; ++k) {
        double sum = 0.0;
        for (int64_t r = 0; r < rows; ++r)
            sum += g[r * columns + k] * g[r * columns + k] + 1e-30;
        c[k] = beta * c[k] + (1.0 - beta) * sum / (double)rows;
    }
    double mean = 0.0;
    for (int64_t r = 0; r < rows; ++r)
        mean += v[r] / (double)rows;
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t k = 0; k < columns; ++k)
            y[r * columns + k] = g[r * columns + k] / sqrt(v[r] / mean) / sqrt(c[k]);
    }
}

static void plain_adafactor(fixture *f, const lh_optimizer_spec *spec, int i, double rate, int step,
                            double factor) {
    const int64_t count = count_of(f, i);
    const double beta = 1.0 - pow(step + 1, -spec->second_moment_decay);
    double *y = zeros(count), *g = zeros(count);
    for (int64_t k = 0; k < count; ++k)
        g[k] = factor * f->g[i][k];
    if (is_factored[i]) {
        const int rank = rank_of[i];
        const int64_t rows = shape_of[i][rank - 2], columns = shape_of[i][rank - 1];
        for (int64_t o = 0; o < count / (rows * columns); ++o)
            factored_update(g + o * rows * columns, f->v[i] + o * rows, f->c[i] + o * columns,
                            y + o * rows * columns, rows, columns, beta);
    } else {
        for (int64_t k = 0; k < count; ++k) {
            f->v[i][k] = beta * f->v[i][k] + (1.0 - beta) * (g[k] * g[k] + 1e-30);
            y[k] = g[k] / sqrt(f->v[i][k]);
        }
    }
    const double clipped =
        spec->update_clip > 0.0 ? fmax(1.0, rms(y, count) / spec->update_clip) : 1.0;
    const double scale = rate * (spec->parameter_scale ? fmax(rms(f->x[i], count), 1e-3) : 1.0);
    for (int64_t k = 0; k < count; ++k) {
        const double u = scale * y[k] / clipped;
        f->m[i][k] = spec->momentum * f->m[i][k] + (1.0 - spec->momentum) * u;
        f->x[i][k] -= spec->momentum > 0.0 ? f->m[i][k] : u;
    }
    free(y);
    free(g);
}

/* ---- tests ---- */

TEST(sgd_with_momentum_decay_and_clipping) {
    const lh_optimizer_spec spec = {
        .kind = LH_OPTIMIZER_SGD, .momentum = 0.9, .weight_decay = 0.1, .clip = 2.0};
    run(&spec, plain_sgd);
}

TEST(sgd_without_extras) {
    const lh_optimizer_spec spec = {.kind = LH_OPTIMIZER_SGD};
    run(&spec, plain_sgd);
}

TEST(adam_adds_decay_to_the_gradient) {
    const lh_optimizer_spec spec = {.kind = LH_OPTIMIZER_ADAM,
                                    .beta1 = 0.9,
                                    .beta2 = 0.98,
                                    .epsilon = 1e-6,
                                    .weight_decay = 0.05};
    run(&spec, plain_adam);
}

TEST(adamw_decays_matrices_only) {
    const lh_optimizer_spec spec = {.kind = LH_OPTIMIZER_ADAMW,
                                    .beta1 = 0.9,
                                    .beta2 = 0.999,
                                    .epsilon = 1e-8,
                                    .weight_decay = 0.5,
                                    .clip = 5.0};
    run(&spec, plain_adam);
}

static const lh_optimizer_spec paper_adafactor = {.kind = LH_OPTIMIZER_ADAFACTOR,
                                                  .momentum = 0.9,
                                                  .second_moment_decay = 0.8,
                                                  .update_clip = 1.0,
                                                  .parameter_scale = true,
                                                  .factor_minimum = 128};

TEST(adafactor_as_in_the_paper) {
    run(&paper_adafactor, plain_adafactor);
}

TEST(adafactor_clipped_without_momentum_and_scale) {
    lh_optimizer_spec spec = paper_adafactor;
    spec.momentum = 0.0;
    spec.parameter_scale = false;
    spec.clip = 3.0;
    for (int i = 0; i < 2; ++i) {
        spec.update_clip = 0.5 * i; /* 0: not clipped */
        run(&spec, plain_adafactor);
    }
}

TEST(adafactor_keeps_rows_and_columns_of_large_matrices) {
    fixture f;
    REQUIRE(open_fixture(&f, &paper_adafactor));
    int64_t elements = 0;
    for (int i = 0; i < lh_optimizer_moment_count(f.optimizer); ++i)
        elements += lh_tensor_count(lh_optimizer_moment(f.optimizer, i));
    const int64_t second = 12 + 5 + (130 + 141) + 2 * (128 + 129) + 133 * 2 * 131;
    const int64_t first = 12 + 5 + 130 * 141 + 2 * 128 * 129 + 133 * 2 * 131;
    CHECK_EQ_INT(elements, first + second);
    close_fixture(&f);
}

TEST(factoring_follows_the_two_largest_axes) {
    const int64_t narrow[] = {127, 512}, wide[] = {128, 512}, leading[] = {512, 128, 300};
    const int64_t batch[] = {3, 128, 300}, vector[] = {4096};
    CHECK(!lh_adafactor_factoring(2, narrow, 128).factored);
    CHECK(lh_adafactor_factoring(2, wide, 128).factored);
    CHECK(!lh_adafactor_factoring(3, leading, 128).factored);
    CHECK(!lh_adafactor_factoring(1, vector, 128).factored);
    const lh_factoring factoring = lh_adafactor_factoring(3, batch, 128);
    CHECK(factoring.factored);
    CHECK_EQ_INT(factoring.outer, 3);
    CHECK_EQ_INT(factoring.rows, 128);
    CHECK_EQ_INT(factoring.columns, 300);
    CHECK_EQ_INT(lh_adafactor_factoring(3, leading, 128).columns, 512 * 128 * 300);
}

TEST(the_gradient_norm_is_global_and_before_clipping) {
    const lh_optimizer_spec spec = {.kind = LH_OPTIMIZER_SGD, .clip = 0.5};
    fixture f;
    REQUIRE(open_fixture(&f, &spec));
    draw_gradients(&f);
    double norm = 0.0;
    CHECK_OK(lh_optimizer_gradient_norm(f.optimizer, &norm));
    CHECK_NEAR(norm, 0.5 / clip_factor(&f, 0.5), 1e-3);
    close_fixture(&f);
}

static void check_refused(const lh_optimizer_spec *spec, const char *message) {
    fixture f;
    CHECK(!open_fixture(&f, spec));
    CHECK_FAILS(lh_error_get()->status, LH_EOPTION, message);
    close_fixture(&f);
}

TEST(weight_decay_with_adafactor_is_refused) {
    lh_optimizer_spec spec = paper_adafactor;
    spec.weight_decay = 0.1;
    check_refused(&spec, "weight_decay");
}

TEST(averages_that_take_nothing_in_are_refused) {
    lh_optimizer_spec spec = paper_adafactor;
    spec.momentum = 1.0;
    check_refused(&spec, "momentum=1 must be below 1");
    for (int i = 0; i < 4; ++i) {
        spec.kind = i < 2 ? LH_OPTIMIZER_ADAM : LH_OPTIMIZER_ADAMW;
        spec.beta1 = i % 2 == 0 ? 1.0 : 0.9;
        spec.beta2 = i % 2 == 0 ? 0.999 : 1.0;
        check_refused(&spec, i % 2 == 0 ? "beta1=1" : "beta2=1");
    }
}

/* A float makes 0 of the second. */
TEST(nothing_above_a_root_of_zero_is_refused) {
    lh_optimizer_spec spec = {.kind = LH_OPTIMIZER_ADAMW, .beta1 = 0.9, .beta2 = 0.999};
    check_refused(&spec, "epsilon=0 must be above 0");
    spec.epsilon = sizeof(real) == sizeof(float) ? 1e-60 : 0.0;
    check_refused(&spec, "must be above 0");
}

/* What a model sets itself no optimizer touches: its gradient is zero. */
TEST(statistics_are_left_alone) {
    static const lh_optimizer_spec specs[] = {
        {.kind = LH_OPTIMIZER_SGD, .momentum = 0.9},
        {.kind = LH_OPTIMIZER_ADAM, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
        {.kind = LH_OPTIMIZER_ADAMW,
         .beta1 = 0.9,
         .beta2 = 0.999,
         .epsilon = 1e-8,
         .weight_decay = 0.1},
    };
    for (size_t s = 0; s <= sizeof specs / sizeof specs[0]; ++s) {
        const bool last = s == sizeof specs / sizeof specs[0];
        fixture f;
        REQUIRE(open_fixture(&f, last ? &paper_adafactor : &specs[s]));
        const int statistic = 1; /* a vector, as they are */
        const int64_t first = offset_of(&f, statistic), count = count_of(&f, statistic);
        for (int step = 0; step < STEPS; ++step) {
            draw_gradients(&f);
            lh_tensor *gradients = lh_params_gradients(f.params);
            memset(lh_tensor_real(gradients) + first, 0, (size_t)count * sizeof(real));
            REQUIRE_OK(lh_optimizer_update(f.optimizer, 0.1, step));
        }
        read_values(&f);
        for (int64_t k = 0; k < count; ++k)
            CHECK_NEAR((double)f.flat[first + k], f.x[statistic][k], 0);
        close_fixture(&f);
    }
}

static lh_status no_download(lh_device *device, void *host, const void *from, size_t bytes) {
    (void)device, (void)host, (void)from, (void)bytes;
    lh_device_explain("an illegal memory access");
    return LH_EDEVICE;
}

TEST(a_device_that_fails_says_why) {
    fixture f;
    double norm = 0.0;
    REQUIRE(open_fixture(&f, &paper_adafactor));
    f.device->download = no_download;
    CHECK_FAILS(lh_optimizer_gradient_norm(f.optimizer, &norm), LH_EDEVICE,
                "download: an illegal memory access");
    close_fixture(&f);
}

TEST(updates_allocate_nothing) {
    fixture f;
    REQUIRE(open_fixture(&f, &paper_adafactor));
    draw_gradients(&f);
    REQUIRE_OK(lh_optimizer_update(f.optimizer, 0.1, 0));
    const int64_t before = lh_pool_get_stats(f.pool).device_allocations;
    for (int step = 1; step < 4; ++step)
        CHECK_OK(lh_optimizer_update(f.optimizer, 0.1, step));
    CHECK_EQ_INT(lh_pool_get_stats(f.pool).device_allocations, before);
    close_fixture(&f);
}
