/* The seasonal naive forecast (Hyndman and Athanasopoulos, Forecasting: Principles and Practice,
 * section 5.2): every step is what was observed at the same time of the last season; with a season
 * of 1, the last value. It has no parameters and nothing to learn. */
#include <stdlib.h>

#include "harness/ops/ops.h"
#include "models/series/across_time.h"
#include "models/series/series_embedding.h"

typedef struct instance {
    lh_model_setup setup;
    int64_t season;
    real *repeats; /* [seq_len][pred_len]: which observed step a predicted one repeats */
} instance;

static const lh_option instance_options[] = {
    LH_INTEGER("season", instance, season, 24, 1, 1000000, "steps of a season, a day of hours"),
    {0}};

static const lh_option_table options[] = {LH_OWN_TABLE(instance), {0}};

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    instance *model = self;
    (void)declaration;
    LH_TRY(lh_require_series(setup));
    model->setup = *setup;
    if (model->season > setup->seq_len)
        return lh_fail(LH_EOPTION, "option 'season' (%lld) is above the task's seq_len (%lld)",
                       (long long)model->season, (long long)setup->seq_len);
    model->repeats =
        lh_allocate_zeroed((size_t)(setup->seq_len * setup->pred_len), sizeof *model->repeats);
    if (model->repeats == NULL) return LH_EMEMORY;
    for (int64_t t = 0; t < setup->pred_len; ++t)
        model->repeats[(setup->seq_len - model->season + t % model->season) * setup->pred_len + t] =
            1;
    return LH_OK;
}

static void destroy(void *self) {
    free(((instance *)self)->repeats);
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    const instance *model = self;
    lh_tape *tape = lh_pass_tape(pass);
    const int64_t shape[] = {model->setup.seq_len, model->setup.pred_len};
    lh_tensor *repeats = lh_reals(tape, 2, shape, model->repeats),
              *y = lh_linear(tape, lh_observed_values(pass, &model->setup), repeats, NULL,
                             LH_UNARY_IDENTITY);
    out->hidden = lh_predicted_values(pass, y);
    return out->hidden != NULL ? LH_OK : lh_failed();
}

static lh_status check(const void *self, int64_t length) {
    return lh_require_window(&((const instance *)self)->setup, length);
}

static double flops_per_token(const void *self, int64_t length) {
    const lh_model_setup *setup = &((const instance *)self)->setup;
    (void)length;
    return lh_across_time_flops(setup, (double)setup->seq_len * (double)setup->pred_len);
}

const lh_model_class lh_model_seasonal_naive = {
    .name = "seasonal_naive",
    .summary = "Repeats the last season: the forecast that needs no training",
    .paper = "Hyndman and Athanasopoulos 2021",
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
