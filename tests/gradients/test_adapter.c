/* Gradients through adapters: of every parameter of every kind of adapted pair, the adapter's own
 * included, against central differences. */
#include "tests/test.h"

#include "tests/models/adapted_bench.h"

enum { DIRECTIONS = 3, MOST_ELEMENTS = 1024 };

/* One of several steps carries no rectified unit across its kink. */
static const double sizes[] = {1e-5, 1e-6, 3e-7};

typedef struct trial {
    model_bench bench;
    pair_batch batch;
    lh_batch uploaded;
    const pair_case *which;
} trial;

static lh_tensor *loss(trial *t, bool recording) {
    lh_output out;
    lh_tensor *y = NULL;
    const double weight = lh_host_batch_weight(&t->which->setup, &t->batch.host);
    if (!run_pair(&t->bench, &t->batch, &t->uploaded, recording, &out)) return NULL;
    CHECK_OK(lh_loss_forward(t->bench.tape, &out, &t->uploaded, weight, &y, NULL));
    return y;
}

static void move(lh_tensor *param, const double *direction, double size) {
    for (int64_t i = 0; i < lh_tensor_count(param); ++i)
        lh_tensor_real(param)[i] += (real)(size * direction[i]);
}

static double value_beside(trial *t, lh_tensor *param, const double *direction, double size) {
    move(param, direction, size);
    const lh_tensor *y = loss(t, false);
    const double value = y != NULL ? (double)*lh_tensor_real(y) : (double)NAN;
    move(param, direction, -size);
    return value;
}

static double error_of(trial *t, lh_tensor *param, const double *direction, double analytic) {
    double best = INFINITY;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        const double above = value_beside(t, param, direction, sizes[i]),
                     below = value_beside(t, param, direction, -sizes[i]);
        const double error = fabs((above - below) / (2 * sizes[i]) - analytic);
        if (!(error >= best)) best = error;
    }
    return best;
}

static void check_param(trial *t, const lh_param *param) {
    const lh_tensor *flowed = lh_tensor_gradient(param->value);
    double direction[MOST_ELEMENTS];
    REQUIRE(param->count <= MOST_ELEMENTS && flowed != NULL);
    for (int d = 0; d < DIRECTIONS; ++d) {
        double analytic = 0;
        for (int64_t i = 0; i < param->count; ++i) {
            direction[i] = test_uniform();
            analytic += direction[i] * (double)lh_tensor_real(flowed)[i];
        }
        const double error = error_of(t, param->value, direction, analytic);
        test_check(error < 1e-6 * fmax(fabs(analytic), 1e-2), __FILE__, __LINE__,
                   "%s %s: %s is off by %.3g of %.3g", t->which->name, t->which->options,
                   param->name, error, analytic);
    }
}

static void check_pair(const pair_case *which) {
    trial t = {.which = which};
    REQUIRE(bench_open_for(&t.bench, which->name, which->options, which->setup, PAIR_ROWS));
    draw_pair_batch(&which->setup, &t.batch);
    lh_params *params = t.bench.model->params;
    lh_params_clear_gradients(params);
    CHECK_OK(lh_tape_backward(t.bench.tape, loss(&t, true)));
    CHECK_OK(lh_params_settle_gradients(params));
    for (int i = 0; i < lh_params_count(params); ++i)
        check_param(&t, lh_params_at(params, i));
    lh_batch_clear(&t.uploaded);
    bench_close(&t.bench);
}

TEST(every_parameter_of_every_adapted_pair) {
    for (int i = 0; i < PAIR_CASES; ++i)
        check_pair(&pair_cases[i]);
}

/* The adapter's parameters get a gradient at all. */
TEST(an_embedding_of_tokens_learns) {
    trial t = {.which = NULL};
    for (int i = 0; i < PAIR_CASES; ++i) {
        const pair_case *which = &pair_cases[i];
        double sum = 0;
        t = (trial){.which = which};
        REQUIRE(bench_open_for(&t.bench, which->name, which->options, which->setup, PAIR_ROWS));
        const lh_params *params = t.bench.model->params;
        const int index = lh_params_find(params, "adapter.embedding.weight");
        CHECK((index >= 0) == ((t.bench.model->adapter.ways & LH_ADAPT_EMBED) != 0));
        draw_pair_batch(&which->setup, &t.batch);
        CHECK_OK(lh_tape_backward(t.bench.tape, loss(&t, true)));
        const lh_tensor *flowed =
            index >= 0 ? lh_tensor_gradient(lh_params_at(params, index)->value) : NULL;
        for (int64_t e = 0; flowed != NULL && e < lh_params_at(params, index)->count; ++e)
            sum += fabs((double)lh_tensor_real(flowed)[e]);
        CHECK(index < 0 || sum > 1e-3);
        lh_batch_clear(&t.uploaded);
        bench_close(&t.bench);
    }
}
