/* Warm-up times decay, for each kind of decay. */
#include "harness/train/schedule.h"

#include <math.h>

static double warm_fraction(const lh_schedule *schedule, int64_t step) {
    if (schedule->warmup <= 0 || step >= schedule->warmup) return 1.0;
    return (double)step / (double)schedule->warmup;
}

/* How much of what linear and cosine decay over is behind, 0..1. */
static double decay_fraction(const lh_schedule *schedule, int64_t step) {
    const int64_t warmup = schedule->warmup, steps = schedule->steps;
    const bool from_warmup = schedule->decay_from == LH_DECAY_FROM_WARMUP;
    if (schedule->decay_from == LH_DECAY_FROM_START_HELD && step < warmup) step = warmup;
    if (step < warmup || (step == warmup && from_warmup)) return 0.0;
    if (step >= steps) return 1.0;
    const int64_t begin = from_warmup ? warmup : 0;
    return (double)(step - begin) / (double)(steps - begin);
}

static double rsqrt_rate(const lh_schedule *schedule, int64_t step) {
    return schedule->rate / sqrt((double)lh_max(1, lh_max(step, schedule->warmup)));
}

static double cosine_rate(const lh_schedule *schedule, int64_t step) {
    const double pi = 3.14159265358979323846;
    const double height = 0.5 * (1.0 + cos(pi * decay_fraction(schedule, step)));
    return schedule->final_rate + (schedule->rate - schedule->final_rate) * height;
}

static double step_rate(const lh_schedule *schedule, int64_t step, int64_t missed) {
    if (schedule->step_every <= 0) return schedule->rate;
    const int64_t drops = step / schedule->step_every - missed;
    return schedule->rate * pow(schedule->step_factor, drops > 0 ? (double)drops : 0.0);
}

static double shape_rate(const lh_schedule *schedule, int64_t step) {
    switch (schedule->kind) {
    case LH_SCHEDULE_LINEAR:
        return schedule->rate +
               (schedule->final_rate - schedule->rate) * decay_fraction(schedule, step);
    case LH_SCHEDULE_RSQRT:
        return rsqrt_rate(schedule, step);
    case LH_SCHEDULE_COSINE:
        return cosine_rate(schedule, step);
    case LH_SCHEDULE_STEP:
        return step_rate(schedule, step, 0);
    case LH_SCHEDULE_DELAYED_STEP:
        return step_rate(schedule, step, 1);
    case LH_SCHEDULE_CONSTANT:
        break;
    }
    return schedule->rate;
}

double lh_schedule_rate(const lh_schedule *schedule, int64_t step) {
    const bool whole = schedule->first_rate == LH_FIRST_FULL && step == 0;
    if (schedule->first_rate == LH_FIRST_STEP) step += 1;
    return (whole ? 1.0 : warm_fraction(schedule, step)) * shape_rate(schedule, step);
}

bool lh_schedule_uses_steps(const lh_schedule *schedule) {
    return schedule->kind == LH_SCHEDULE_LINEAR || schedule->kind == LH_SCHEDULE_COSINE;
}
