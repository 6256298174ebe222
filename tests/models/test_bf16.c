/* The gradients of every model in bf16 beside those in f32, from the same weights and tokens: no
 * rounded product, norm or attention may turn them elsewhere. What is in f32 was held against
 * finite differences in double (tests/gradients). */
#include <math.h>

#include "kernels/product.h"
#include "tests/test.h"

#include "tests/models/model_bench.h"

enum { ROWS = 2, MOST = 16, DRAWS = 6 };

typedef struct trial {
    model_bench bench;
    const model_case *which;
    int32_t first[ROWS * MOST], second[ROWS * MOST], target[ROWS * MOST];
} trial;

static bool open_trial(trial *t, const model_case *which, lh_precision precision) {
    t->which = which;
    return bench_open(&t->bench, which->name, which->options, ROWS) &&
           CHECK_OK(lh_pool_set_precision(t->bench.pool, precision));
}

/* Two segments, so that what is carried is rounded too, and the gradients of the second one. */
static bool differentiate(trial *t) {
    const int32_t fresh[ROWS] = {1, 1}, starts[ROWS] = {0, 1};
    const int64_t segment = t->which->segment;
    lh_output out;
    lh_tape_begin(t->bench.tape, false, 9, 1);
    if (bench_forward(&t->bench, segment, t->first, fresh, false, &out) == NULL ||
        !CHECK_OK(lh_state_commit(t->bench.state)))
        return false;
    lh_tape_begin(t->bench.tape, true, 9, 2);
    if (bench_forward(&t->bench, segment, t->second, starts, false, &out) == NULL) return false;
    lh_tensor *loss = bench_loss(&t->bench, &out, segment, t->target, 0.1);
    return loss != NULL && CHECK_OK(lh_tape_backward(t->bench.tape, loss));
}

/* Squares summed: of the gradient in f32, and of what bf16 is away from it. */
typedef struct sums {
    double size, apart;
} sums;

static sums compare(const lh_param *fine, const lh_param *coarse) {
    const lh_tensor *x = lh_tensor_gradient(fine->value), *y = lh_tensor_gradient(coarse->value);
    sums sum = {0};
    if (!CHECK((x == NULL) == (y == NULL)) || x == NULL) return sum;
    for (int64_t i = 0; i < fine->count; ++i) {
        const double value = (double)lh_tensor_real(x)[i];
        const double off = (double)lh_tensor_real(y)[i] - value;
        sum.size += value * value;
        sum.apart += off * off;
    }
    return sum;
}

/* The most that the gradient of a parameter is off by, over its size, where what it has little of
 * is rounded with the rest. */
static double worst_of(const trial *fine, const trial *coarse) {
    const double share = 0.1;
    const lh_params *x = fine->bench.model->params, *y = coarse->bench.model->params;
    double all = 0, worst = 0;
    for (int i = 0; i < lh_params_count(x); ++i)
        all += compare(lh_params_at(x, i), lh_params_at(x, i)).size;
    for (int i = 0; i < lh_params_count(x); ++i) {
        const sums sum = compare(lh_params_at(x, i), lh_params_at(y, i));
        const double off = sqrt(sum.apart) / (sqrt(sum.size) + share * sqrt(all));
        if (!(off <= worst)) worst = off;
    }
    return worst;
}

/* One draw of tokens; NaN where a model fails. */
static double draw(const model_case *which) {
    trial fine = {0}, coarse = {0};
    double worst = NAN;
    random_tokens(fine.first, ROWS * which->segment);
    random_tokens(fine.second, ROWS * which->segment);
    random_tokens(fine.target, ROWS * which->segment);
    coarse = fine;
    if (open_trial(&fine, which, LH_PRECISION_F32) &&
        open_trial(&coarse, which, LH_PRECISION_BF16) && differentiate(&fine) &&
        differentiate(&coarse))
        worst = worst_of(&fine, &coarse);
    bench_close(&fine.bench);
    bench_close(&coarse.bench);
    return worst;
}

/* Rounding may carry a rectified unit over its kink, or send a query to other keys; not for most
 * tokens. A wrong gradient is off for any. */
static void check_case(const model_case *which) {
    const double limit = 0.15;
    double best = INFINITY, worst = 0;
    for (int i = 0; i < DRAWS && !(best < limit); ++i) {
        const double off = draw(which);
        if (!(off >= best)) best = off;
        if (!(off <= worst)) worst = off;
    }
    test_check(best < limit, __FILE__, __LINE__, "%s %s: a gradient is off by %.3g of its size",
               which->name, which->options, best);
    test_check(worst > 0, __FILE__, __LINE__, "%s %s: computes in f32", which->name,
               which->options);
}

TEST(every_model_has_its_gradients_in_bf16) {
    if (lh_product_lacks_bf16() != NULL) SKIP("no bf16 here");
    for (int i = 0; i < MODEL_CASES; ++i)
        check_case(&model_cases[i]);
}
