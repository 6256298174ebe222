/* The gradient of every parameter of every model against central differences, with carried state
 * that came from an earlier segment and is a constant of this one. */
#include "tests/gradients/gradient_check.h"
#include "tests/test.h"

#include "tests/models/model_bench.h"

enum { ROWS = 2, DIRECTIONS = 4, MOST = 16 };

/* A step may carry a rectified unit across its kink, where no derivative exists; one of several
 * does not. A wrong gradient is off at every step. */
static const double steps[] = {1e-5, 3e-6, 1e-6, 3e-7};

typedef struct trial {
    model_bench bench;
    const model_case *which;
    int32_t first[ROWS * MOST], second[ROWS * MOST], target[ROWS * MOST];
    bool training;
} trial;

/* Reads the first segment so that the state is not fresh. */
static bool prepare(trial *t) {
    const int32_t fresh[ROWS] = {1, 1};
    lh_output out;
    random_tokens(t->first, ROWS * t->which->segment);
    random_tokens(t->second, ROWS * t->which->segment);
    random_tokens(t->target, ROWS * t->which->segment);
    lh_tape_begin(t->bench.tape, false, 9, 1);
    return bench_forward(&t->bench, t->which->segment, t->first, fresh, false, &out) != NULL &&
           CHECK_OK(lh_state_commit(t->bench.state));
}

/* The loss of the second segment: row 0 goes on, row 1 begins a document. Nothing is committed. */
static lh_tensor *loss(trial *t, bool recording) {
    const int32_t starts[ROWS] = {0, 1};
    model_bench *b = &t->bench;
    lh_output out;
    lh_tape_begin(b->tape, recording, 9, 2);
    if (bench_forward(b, t->which->segment, t->second, starts, t->training, &out) == NULL) {
        return NULL;
    }
    return bench_loss(b, &out, t->which->segment, t->target, 0.1);
}

static double value(trial *t) {
    const lh_tensor *y = loss(t, false);
    return y != NULL ? (double)*lh_tensor_real(y) : (double)NAN;
}

static double difference(trial *t, lh_tensor *param, const double *direction, double step) {
    real *x = lh_tensor_real(param);
    const int64_t count = lh_tensor_count(param);
    for (int64_t i = 0; i < count; ++i)
        x[i] += (real)(step * direction[i]);
    const double above = value(t);
    for (int64_t i = 0; i < count; ++i)
        x[i] -= (real)(2 * step * direction[i]);
    const double below = value(t);
    for (int64_t i = 0; i < count; ++i)
        x[i] += (real)(step * direction[i]);
    return (above - below) / (2 * step);
}

/* How far the derivative along a direction is from `analytic`. */
static double error_of(trial *t, lh_tensor *param, const double *direction, double analytic) {
    double best = INFINITY;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; ++i) {
        const double error = fabs(difference(t, param, direction, steps[i]) - analytic);
        if (!(error >= best)) best = error;
        if (best < 1e-6 * fabs(analytic)) break;
    }
    return best;
}

static void check_param(trial *t, const lh_param *param) {
    const lh_tensor *flowed = lh_tensor_gradient(param->value);
    if (param->statistic) {
        CHECK(flowed == NULL);
        return;
    }
    if (!test_check(flowed != NULL, __FILE__, __LINE__, "%s %s: no gradient reaches %s",
                    t->which->name, t->which->options, param->name)) {
        return;
    }
    /* Below 1e-3 the rounding of the loss shows: keys' biases have no gradient at all. */
    double direction[512], worst = 0, largest = 1e-3;
    REQUIRE(param->count <= 512);
    for (int d = 0; d < DIRECTIONS; ++d) {
        double analytic = 0;
        for (int64_t i = 0; i < param->count; ++i) {
            direction[i] = test_uniform();
            analytic += direction[i] * (double)lh_tensor_real(flowed)[i];
        }
        const double error = error_of(t, param->value, direction, analytic);
        if (!(error <= worst)) worst = error;
        if (fabs(analytic) > largest) largest = fabs(analytic);
    }
    test_check(worst / largest < 1e-6, __FILE__, __LINE__, "%s %s: %s is off by %.3g of %.3g",
               t->which->name, t->which->options, param->name, worst, largest);
}

static void check_case(const model_case *which, bool training) {
    trial t = {.which = which, .training = training};
    char options[256];
    (void)snprintf(options, sizeof options, "%s%s", which->options, training ? " dropout=0.2" : "");
    REQUIRE(bench_open(&t.bench, which->name, options, ROWS));
    REQUIRE(prepare(&t));
    lh_tensor *y = loss(&t, true);
    CHECK_OK(lh_tape_backward(t.bench.tape, y));
    lh_params *params = t.bench.model->params;
    for (int i = 0; i < lh_params_count(params); ++i)
        check_param(&t, lh_params_at(params, i));
    bench_close(&t.bench);
}

TEST(every_parameter_of_every_model) {
    for (int i = 0; i < MODEL_CASES; ++i)
        check_case(&model_cases[i], false);
}

/* The first whose options have this. */
static const model_case *case_with(const char *option) {
    int i = 0;
    while (i < MODEL_CASES - 1 && strstr(model_cases[i].options, option) == NULL)
        ++i;
    CHECK(strstr(model_cases[i].options, option) != NULL);
    return &model_cases[i];
}

TEST(with_dropout) {
    check_case(&model_cases[0], true);
    check_case(&model_cases[3], true);
    check_case(&model_cases[9], true);
    check_case(case_with("distil=true"), true);  /* normalises by the batch */
    check_case(case_with("overlap=mean"), true); /* moves centroids */
    check_case(case_with("cluster_divisor"), true);
}
