/* Forecasting: from a window of a time series to the values that follow it.
 *
 * A batch row is `seq_len` observed steps and the `pred_len` steps to predict, one behind the
 * other: vectors [rows][seq_len + pred_len][channels + time features], where the channels of the
 * steps to predict are zeros and their time features are known; target_vectors
 * [rows][pred_len][channels]. */
#ifndef LH_TRAIN_FORECASTING_H
#define LH_TRAIN_FORECASTING_H

#include "harness/train/task.h"

/* The class "forecasting". Its options are its own (seq_len, label_len, pred_len, batch, sampler,
 * drop_last, limit_windows, evaluate_windows) followed by those of its series. */
extern const lh_task_class lh_forecasting_class;

#endif
