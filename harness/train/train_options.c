/* The rows of the training options, and which of them belong to the identity of a run. */
#include "harness/train/train_options.h"

#include <string.h>

static const char *const optimizer_names[] = {"sgd", "adam", "adamw", "adafactor", NULL};
static const char *const schedule_names[] = {"constant", "linear",       "rsqrt", "cosine",
                                             "step",     "delayed_step", NULL};
static const char *const first_rate_names[] = {"zero", "step", "full", NULL};
static const char *const decay_from_names[] = {"warmup", "start", "start_held", NULL};
static const char *const keep_best_names[] = {"false",
                                              "true",
                                              "accuracy",
                                              "error_percent",
                                              "bits_per_token",
                                              "bits_per_byte",
                                              "perplexity",
                                              "word_perplexity",
                                              "mse",
                                              "mae",
                                              NULL};
static const char *const precision_names[] = {"f32", "tf32", "bf16", NULL};

static const lh_option lh_train_plan_options[] = {
    LH_INTEGER("steps", lh_train_plan, steps, 1000, 0, 1e12, "training steps"),
    LH_CHOICE("optimizer", lh_train_plan, optimizer.kind, LH_OPTIMIZER_ADAFACTOR, optimizer_names,
              "update rule"),
    LH_REAL("rate", lh_train_plan, schedule.rate, 1, 0, 1e9, "learning rate before the schedule"),
    LH_CHOICE("schedule", lh_train_plan, schedule.kind, LH_SCHEDULE_RSQRT, schedule_names,
              "decay: rsqrt is rate / sqrt(max(step, warmup))"),
    LH_INTEGER("warmup", lh_train_plan, schedule.warmup, 1000, 0, 1e12,
               "steps of linear warm-up from 0"),
    LH_CHOICE("first_rate", lh_train_plan, schedule.first_rate, LH_FIRST_ZERO, first_rate_names,
              "of the first step of a warm-up: 0; rate / warmup, the schedule one step ahead; or, "
              "once, the full rate"),
    LH_REAL("final_rate", lh_train_plan, schedule.final_rate, 0, 0, 1e9,
            "rate at the end of linear and cosine"),
    LH_CHOICE("decay_from", lh_train_plan, schedule.decay_from, LH_DECAY_FROM_WARMUP,
              decay_from_names,
              "linear and cosine over the steps behind the warm-up, or over all steps: the warm-up "
              "then rises to the full rate, or held to what the decay leaves at its end (which is "
              "before the last step)"),
    LH_INTEGER("step_every", lh_train_plan, schedule.step_every, 1000, 1, 1e12,
               "steps between drops of step and delayed_step"),
    LH_REAL("step_factor", lh_train_plan, schedule.step_factor, 0.5, 0, 1e9,
            "what step multiplies the rate with"),
    LH_REAL("clip", lh_train_plan, optimizer.clip, 0, 0, 1e30,
            "largest global gradient norm; 0: no clipping"),
    LH_REAL("momentum", lh_train_plan, optimizer.momentum, 0.9, 0, 1,
            "of sgd and adafactor (its beta1, below 1)"),
    LH_REAL("beta1", lh_train_plan, optimizer.beta1, 0.9, 0, 1, "of adam and adamw, below 1"),
    LH_REAL("beta2", lh_train_plan, optimizer.beta2, 0.999, 0, 1, "of adam and adamw, below 1"),
    LH_REAL("epsilon", lh_train_plan, optimizer.epsilon, 1e-8, 0, 1, "of adam and adamw, above 0"),
    LH_REAL("weight_decay", lh_train_plan, optimizer.weight_decay, 0, 0, 1e9,
            "of matrices; not with adafactor"),
    LH_REAL("second_moment_decay", lh_train_plan, optimizer.second_moment_decay, 0.8, 0, 1e3,
            "adafactor: beta2 = 1 - (step + 1)^-this"),
    LH_REAL("update_clip", lh_train_plan, optimizer.update_clip, 1, 0, 1e30,
            "adafactor: largest rms of an update (d); 0: no clipping"),
    LH_FLAG("parameter_scale", lh_train_plan, optimizer.parameter_scale, true,
            "adafactor: updates relative to the parameter's rms"),
    LH_INTEGER(
        "factor_minimum", lh_train_plan, optimizer.factor_minimum, 128, 1, 1e12,
        "adafactor: smallest axis whose second moment is factored; t5x: 128, transformers: 1"),
    LH_INTEGER("log_every", lh_train_plan, log_every, 10, 1, LH_LOG_LIMIT,
               "steps between points of the loss curve"),
    LH_INTEGER("evaluate_every", lh_train_plan, evaluate_every, 0, 0, 1e12,
               "steps between evaluations on the validation split; 0: none"),
    LH_CHOICE("keep_best", lh_train_plan, keep_best, LH_KEEP_LAST, keep_best_names,
              "experiments end with the weights of the best evaluation (early stopping): true by "
              "its loss, or by the metric that is named"),
    LH_INTEGER("patience", lh_train_plan, patience, 0, 0, 1e9,
               "evaluations in a row without a better loss (nor a better metric, where keep_best "
               "names one) after which training ends; 0: never"),
    LH_FLAG("evaluate_test", lh_train_plan, evaluate_test, false,
            "evaluations read the test split too: its accuracies join the curve, the best of them "
            "the results (nothing is chosen by them)"),
    LH_INTEGER("checkpoint_every", lh_train_plan, checkpoint_every, 0, 0, 1e12,
               "steps between checkpoints; 0: by time only"),
    LH_REAL("checkpoint_seconds", lh_train_plan, checkpoint_seconds, 60, 0, 1e9,
            "seconds between checkpoints; 0: by steps only"),
    LH_CHOICE("precision", lh_train_plan, precision, LH_PRECISION_F32, precision_names,
              "what matrix products round their operands to, bf16 also what activations are in "
              "memory; tf32 on a GPU only, bf16 also on a processor with avx512_bf16 or AMX"),
    LH_FLAG("swap_parameters", lh_train_plan, swap_parameters, false,
            "layers' parameters rest in host memory, where the optimizer works, and visit the "
            "device while their layer computes (reversible layers)"),
    LH_INTEGER("accumulate", lh_train_plan, accumulate, 1, 1, 65536,
               "micro-batches that the rows of a step are cut into, one after the other in memory; "
               "their gradients are summed, so that the batch stays that of the step"),
    LH_INTEGER("segments_per_step", lh_train_plan, segments_per_step, 1, 1, 65536,
               "consecutive segments that a step goes through, carrying the state from each to the "
               "next; their gradients are summed before the one update, but statistics (centroids, "
               "running means) move in each of them"),
    {0}};

const lh_option_table lh_train_options[] = {LH_OWN_TABLE(lh_train_plan), {0}};

const char *const lh_train_later_options[] = {"accumulate", "segments_per_step", "first_rate",
                                              "decay_from", NULL};

/* Fails for what is done at evaluations, without any. */
static lh_status check_evaluations(const lh_train_plan *plan) {
    if (plan->evaluate_every > 0) return LH_OK;
    if (plan->patience > 0)
        return lh_fail(LH_EOPTION,
                       "train: patience=%lld counts evaluations, but there are none: "
                       "set evaluate_every",
                       (long long)plan->patience);
    if (plan->evaluate_test)
        return lh_fail(LH_EOPTION, "train: evaluate_test adds to evaluations, but there are none: "
                                   "set evaluate_every");
    if (plan->keep_best != LH_KEEP_LAST)
        return lh_fail(LH_EOPTION,
                       "train: keep_best=%s chooses among evaluations, but there are none: "
                       "set evaluate_every",
                       keep_best_names[plan->keep_best]);
    return LH_OK;
}

/* Fails for a warm-up to what a decay leaves at its end, where the decay ends no later: that is
 * final_rate, and all steps would be a warm-up to it. */
static lh_status check_schedule(const lh_schedule *schedule) {
    const bool held = schedule->decay_from == LH_DECAY_FROM_START_HELD;
    if (!held || !lh_schedule_uses_steps(schedule) || schedule->steps == 0 ||
        schedule->warmup < schedule->steps)
        return LH_OK;
    return lh_fail(LH_EOPTION,
                   "train: decay_from=start_held rises to what the decay leaves after the warm-up, "
                   "but warmup=%lld leaves none of %lld steps: make it shorter",
                   (long long)schedule->warmup, (long long)schedule->steps);
}

lh_status lh_train_plan_read(const lh_options *options, lh_train_plan *out) {
    *out = (lh_train_plan){0};
    lh_options_fill(options, out);
    out->schedule.steps = out->steps;
    LH_TRY(check_schedule(&out->schedule));
    return check_evaluations(out);
}

const char *lh_train_keep_best_metric(const lh_train_plan *plan) {
    return plan->keep_best >= LH_KEEP_METRIC ? keep_best_names[plan->keep_best] : NULL;
}

bool lh_train_option_is_identity(const lh_train_plan *plan, const char *name) {
    static const char *const free_names[] = {"log_every", "checkpoint_every", "checkpoint_seconds",
                                             "swap_parameters", "accumulate"};
    for (size_t i = 0; i < sizeof free_names / sizeof free_names[0]; ++i) {
        if (strcmp(name, free_names[i]) == 0) return false;
    }
    if (strcmp(name, "evaluate_every") == 0)
        return plan->patience > 0 || plan->evaluate_test || plan->keep_best != LH_KEEP_LAST;
    return strcmp(name, "steps") != 0 || lh_schedule_uses_steps(&plan->schedule);
}
