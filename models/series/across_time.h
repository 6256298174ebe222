/* Forecasts that are linear maps over time, the same for every channel: what is observed as rows of
 * steps, and back. */
#ifndef LH_SERIES_ACROSS_TIME_H
#define LH_SERIES_ACROSS_TIME_H

#include "harness/engine/model.h"

/* The observed values of a window, [rows][channels][seq_len], without time features. */
lh_tensor *lh_observed_values(const lh_pass *pass, const lh_model_setup *setup);

/* Predictions [rows][channels][pred_len] as the task wants them, [rows][pred_len][channels]. */
lh_tensor *lh_predicted_values(const lh_pass *pass, lh_tensor *y);

/* Forward FLOPs per step of a window of seq_len + pred_len steps, of maps that multiply so many
 * numbers for one channel. */
double lh_across_time_flops(const lh_model_setup *setup, double products);

#endif
