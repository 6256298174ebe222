/* Training steps of the Routing Transformer, in which its centroids move, against those of an
 * independent implementation (tests/oracles/routing.py). */
#include "tests/test.h"

#include "tests/models/model_bench.h"
#include "tests/models/oracle_values.h"

enum { ROWS = 2, LENGTH = 8, STEPS = 5, LINE = 256 };

static const double rate = 0.1;

static void add_step(model_bench *bench) {
    lh_params *params = bench->model->params;
    for (int i = 0; i < lh_params_count(params); ++i) {
        const lh_param *param = lh_params_at(params, i);
        const lh_tensor *flowed = lh_tensor_gradient(param->value);
        for (int64_t e = 0; flowed != NULL && e < param->count; ++e)
            lh_tensor_real(param->value)[e] -= (real)rate * lh_tensor_real(flowed)[e];
    }
    lh_params_clear_gradients(params);
}

/* One step of gradient descent; the loss before it. */
static double step(model_bench *bench) {
    const int32_t fresh[ROWS] = {1, 1};
    int32_t tokens[ROWS * LENGTH], target[ROWS * LENGTH];
    lh_output out;
    for (int n = 0; n < ROWS * LENGTH; ++n) {
        const int r = n / LENGTH, i = n % LENGTH;
        tokens[n] = (7 * i * i + 3 * i + 5 * r + 1) % BENCH_VOCABULARY;
        target[n] = (3 * i + 4 * r + 2) % BENCH_VOCABULARY;
    }
    lh_tape_begin(bench->tape, true, 1, 0);
    if (bench_forward(bench, LENGTH, tokens, fresh, true, &out) == NULL) return (double)NAN;
    lh_tensor *loss = bench_loss(bench, &out, LENGTH, target, 1.0 / (ROWS * LENGTH));
    if (loss == NULL) return (double)NAN;
    const double before = (double)*lh_tensor_real(loss);
    CHECK_OK(lh_tape_backward(bench->tape, loss));
    add_step(bench);
    CHECK_OK(lh_state_commit(bench->state));
    return before;
}

/* A fixture line: options,step,name,element,value. */
typedef struct line_fields {
    char *options, *name;
    int step, element;
    double value;
} line_fields;

static bool split_line(char *line, line_fields *fields) {
    char *number = strchr(line, ',');
    if (number == NULL) return false;
    *number++ = '\0';
    char *name = strchr(number, ',');
    if (name == NULL) return false;
    *name++ = '\0';
    char *rest = strchr(name, ',');
    if (rest == NULL) return false;
    *rest++ = '\0';
    *fields = (line_fields){.options = line, .name = name};
    return sscanf(number, "%d", &fields->step) == 1 &&
           sscanf(rest, "%d,%lf", &fields->element, &fields->value) == 2;
}

/* An element of a statistic, the sum of squares of another parameter. */
static double found(const model_bench *bench, const line_fields *line) {
    const lh_params *params = bench->model->params;
    const int index = lh_params_find(params, line->name);
    if (index < 0) return (double)NAN;
    const lh_param *param = lh_params_at(params, index);
    const real *value = lh_tensor_real(param->value);
    if (param->statistic)
        return line->element < param->count ? (double)value[line->element] : (double)NAN;
    double sum = 0;
    for (int64_t e = 0; e < param->count; ++e)
        sum += (double)value[e] * (double)value[e];
    return sum;
}

/* Every parameter has its lines, and every element of a statistic one. */
static int lines_of_step(const model_bench *bench) {
    const lh_params *params = bench->model->params;
    int lines = 1;
    for (int i = 0; i < lh_params_count(params); ++i)
        lines += lh_params_at(params, i)->statistic ? (int)lh_params_at(params, i)->count : 1;
    return lines;
}

static bool open_case(model_bench *bench, const char *options) {
    if (!bench_open(bench, "routing", options, ROWS)) return false;
    fill_params(bench->model->params);
    return true;
}

TEST(training_steps_equal_the_oracle) {
    FILE *file = fopen("tests/golden/routing_steps.csv", "r");
    char line[LINE], ran[LINE] = "";
    model_bench bench = {0};
    double loss = 0;
    int at = -1, cases = 0, compared = 0, expected = 0;
    REQUIRE(file != NULL);
    REQUIRE(fgets(line, sizeof line, file) != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        line_fields is;
        REQUIRE(split_line(line, &is));
        if (strcmp(is.options, ran) != 0) {
            (void)snprintf(ran, sizeof ran, "%s", is.options);
            if (cases > 0) bench_close(&bench);
            REQUIRE(open_case(&bench, is.options));
            expected += STEPS * lines_of_step(&bench);
            cases += 1;
            at = -1;
        }
        for (; at < is.step; ++at)
            loss = step(&bench);
        const double got = strcmp(is.name, "loss") == 0 ? loss : found(&bench, &is);
        test_check(fabs(got - is.value) < 1e-10, __FILE__, __LINE__,
                   "%s: after step %d %s %d is %.12g, the oracle says %.12g", is.options, is.step,
                   is.name, is.element, got, is.value);
        compared += 1;
    }
    bench_close(&bench);
    (void)fclose(file);
    CHECK_EQ_INT(cases, 2);
    CHECK_EQ_INT(compared, expected);
}
