/* Forecasts that are linear maps over time. */
#include "models/series/across_time.h"

#include "harness/ops/ops.h"

static const int swapped[] = {0, 2, 1};

lh_tensor *lh_observed_values(const lh_pass *pass, const lh_model_setup *setup) {
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *x = lh_slice(tape, lh_pass_batch(pass)->vectors, 1, 0, setup->seq_len);
    return lh_permute(tape, lh_slice(tape, x, 2, 0, setup->output_features), swapped);
}

lh_tensor *lh_predicted_values(const lh_pass *pass, lh_tensor *y) {
    return lh_permute(lh_pass_tape(pass), y, swapped);
}

double lh_across_time_flops(const lh_model_setup *setup, double products) {
    return 2.0 * products * (double)setup->output_features /
           (double)(setup->seq_len + setup->pred_len);
}
