/* DLinear and NLinear (Zeng et al. 2023, section 4): one linear map over time from what is observed
 * to what is predicted, shared by all channels. The floor under every forecaster: what does not
 * beat it has learnt nothing from its size. */
#include <stdlib.h>

#include "harness/ops/ops.h"
#include "models/layers/common.h"
#include "models/layers/dense.h"
#include "models/series/across_time.h"
#include "models/series/series_embedding.h"

typedef struct instance {
    lh_model_setup setup;
    int64_t kernel;
    bool decompose, subtract_last;
    lh_dense seasonal, trend; /* [seq_len][pred_len]; trend only where decomposed */
    real *average;            /* [seq_len][seq_len]: observed values to their moving average */
} instance;

static const lh_option instance_options[] = {
    LH_FLAG("decompose", instance, decompose, true,
            "DLinear: maps of their own for the moving average and for what is left"),
    LH_INTEGER("kernel", instance, kernel, 25, 1, 65535, "steps of the moving average, odd"),
    LH_FLAG("subtract_last", instance, subtract_last, false,
            "NLinear (with decompose=false): predict differences from the last observed value"),
    {0}};

static const lh_option_table options[] = {LH_OWN_TABLE(instance), {0}};

static int64_t within(int64_t step, int64_t steps) {
    return step < 0 ? 0 : step < steps ? step : steps - 1;
}

/* The released series_decomp: the first and the last value stand for those beyond the ends. Column
 * t averages around step t. */
static lh_status make_average(instance *model) {
    const int64_t steps = model->setup.seq_len, half = (model->kernel - 1) / 2;
    model->average = lh_allocate_zeroed((size_t)(steps * steps), sizeof *model->average);
    if (model->average == NULL) return LH_EMEMORY;
    for (int64_t t = 0; t < steps; ++t)
        for (int64_t offset = -half; offset <= half; ++offset)
            model->average[within(t + offset, steps) * steps + t] += 1 / (real)model->kernel;
    return LH_OK;
}

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    instance *model = self;
    LH_TRY(lh_require_series(setup));
    model->setup = *setup;
    if (model->kernel % 2 == 0)
        return lh_fail(LH_EOPTION, "option 'kernel' (%lld) must be odd", (long long)model->kernel);
    model->seasonal = lh_dense_declare(declaration, setup->seq_len, setup->pred_len, "seasonal");
    if (!model->decompose) return LH_OK;
    model->trend = lh_dense_declare(declaration, setup->seq_len, setup->pred_len, "trend");
    return make_average(model);
}

static void destroy(void *self) {
    free(((instance *)self)->average);
}

/* ---- forward ---- */

/* x - trend and trend, each by its own map (section 4, DLinear). */
static lh_tensor *map_decomposed(const instance *model, const lh_pass *pass, lh_tensor *x) {
    lh_tape *tape = lh_pass_tape(pass);
    const int64_t square[] = {model->setup.seq_len, model->setup.seq_len};
    lh_tensor *average = lh_reals(tape, 2, square, model->average),
              *trend = lh_linear(tape, x, average, NULL, LH_UNARY_IDENTITY),
              *rest = lh_subtract(tape, x, trend);
    return lh_add(tape, lh_dense_apply(model->seasonal, pass, rest, LH_UNARY_IDENTITY),
                  lh_dense_apply(model->trend, pass, trend, LH_UNARY_IDENTITY));
}

/* The last observed value of every channel at each of so many steps. */
static lh_tensor *last_value(const instance *model, const lh_pass *pass, lh_tensor *x,
                             int64_t steps) {
    lh_tape *tape = lh_pass_tape(pass);
    const int64_t row[] = {1, steps};
    return lh_linear(tape, lh_slice(tape, x, 2, model->setup.seq_len - 1, 1),
                     lh_filled(tape, 2, row, 1.0), NULL, LH_UNARY_IDENTITY);
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    const instance *model = self;
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *observed = lh_observed_values(pass, &model->setup), *x = observed;
    if (model->subtract_last)
        x = lh_subtract(tape, x, last_value(model, pass, observed, model->setup.seq_len));
    lh_tensor *y = model->decompose ? map_decomposed(model, pass, x)
                                    : lh_dense_apply(model->seasonal, pass, x, LH_UNARY_IDENTITY);
    if (model->subtract_last)
        y = lh_add(tape, y, last_value(model, pass, observed, model->setup.pred_len));
    out->hidden = lh_predicted_values(pass, y);
    return out->hidden != NULL ? LH_OK : lh_failed();
}

static lh_status check(const void *self, int64_t length) {
    return lh_require_window(&((const instance *)self)->setup, length);
}

static double flops_per_token(const void *self, int64_t length) {
    const instance *model = self;
    const double seen = (double)model->setup.seq_len, predicted = (double)model->setup.pred_len,
                 maps = model->decompose ? seen * seen + 2.0 * seen * predicted : seen * predicted;
    (void)length;
    return lh_across_time_flops(&model->setup,
                                maps + (model->subtract_last ? seen + predicted : 0.0));
}

const lh_model_class lh_model_dlinear = {
    .name = "dlinear",
    .summary = "One linear map over time: the baseline of forecasting",
    .paper = "Zeng et al. 2023, arXiv:2205.13504",
    .version = 1,
    .abilities = LH_ABLE_VECTORS | LH_ABLE_WINDOWS | LH_NEEDS_HORIZON,
    .options = options,
    .instance_size = sizeof(instance),
    .declare = declare,
    .forward = forward,
    .flops_per_token = flops_per_token,
    .check = check,
    .destroy = destroy,
};
