/* Learning-rate schedules: a pure function of the 0-based step. */
#ifndef LH_TRAIN_SCHEDULE_H
#define LH_TRAIN_SCHEDULE_H

#include "kernels/base.h"

typedef enum lh_schedule_kind {
    LH_SCHEDULE_CONSTANT,
    LH_SCHEDULE_LINEAR,
    LH_SCHEDULE_RSQRT,
    LH_SCHEDULE_COSINE,
    LH_SCHEDULE_STEP,
    LH_SCHEDULE_DELAYED_STEP
} lh_schedule_kind;

/* The rate of a run's first step, where there is a warm-up. */
typedef enum lh_first_rate {
    LH_FIRST_ZERO, /* 0 */
    LH_FIRST_STEP, /* rate / W: code that steps its schedule before the optimizer (Ju et al. 2022)
                    */
    LH_FIRST_FULL  /* the whole rate, once: Transformer-XL's PyTorch code */
} lh_first_rate;

/* What linear and cosine decay over. */
typedef enum lh_decay_from {
    LH_DECAY_FROM_WARMUP,    /* the steps behind the warm-up */
    LH_DECAY_FROM_START,     /* all steps; the warm-up rises to the whole rate (Transformer-XL) */
    LH_DECAY_FROM_START_HELD /* all steps; it rises to what the decay leaves at its end (meliad) */
} lh_decay_from;

/* With t the step, or the step + 1 with LH_FIRST_STEP, W = warmup, T = steps, warm = min(t, W) / W
 * (1 when W is 0, and in the first step with LH_FIRST_FULL) and, by decay_from,
 *
 *   p = clamp((t - W) / (T - W), 0, 1),   t < W ? 0 : min(t / T, 1)   or   min(max(t, W) / T, 1):
 *
 *   constant  warm * rate
 *   linear    warm * (rate + (final_rate - rate) * p)
 *   rsqrt     warm * rate / sqrt(max(t, W, 1))
 *   cosine    warm * (final_rate + (rate - final_rate) * (1 + cos(pi p)) / 2)
 *   step      warm * rate * step_factor^floor(t / step_every)
 *   delayed_step: the same with one drop less, so that the first is at 2 step_every (what
 *             Informer's code calls type1)
 *
 * rsqrt is the schedule of Hutchins et al. 2022 (W = 1000, rate = 1, 0.5 or 0.25): the
 * first step has rate 0, the peak is rate / sqrt(W) at t = W. */
typedef struct lh_schedule {
    lh_schedule_kind kind;
    double rate, final_rate, step_factor;
    int64_t warmup, steps, step_every;
    lh_first_rate first_rate;
    lh_decay_from decay_from;
} lh_schedule;

/* The learning rate of 0-based `step`. */
double lh_schedule_rate(const lh_schedule *schedule, int64_t step);

/* Whether the rate depends on the planned number of steps. */
bool lh_schedule_uses_steps(const lh_schedule *schedule);

#endif
