#include "harness/train/train_options.h"

#include <string.h>

static const char *const optimizer_names[] = {"sgd", "adam", "adamw", "adafactor", NULL};
static const char *const schedule_names[] = {"constant", "linear",       "rsqrt", "cosine",
                                             "step",     "delayed_step", NULL};
static const char *const keep_best_names[] = {"false", "true", "accuracy", NULL};
static const char *const precision_names[] = {"f32", "tf32", "bf16", NULL};

const lh_option lh_train_options[] = {
    {"steps", LH_OPTION_INTEGER, "1000", 0, 1e12, NULL, "training steps"},
    {"optimizer", LH_OPTION_CHOICE, "adafactor", 0, 0, optimizer_names, "update rule"},
    {"rate", LH_OPTION_REAL, "1", 0, 1e9, NULL, "learning rate before the schedule"},
    {"schedule", LH_OPTION_CHOICE, "rsqrt", 0, 0, schedule_names,
     "decay: rsqrt is rate / sqrt(max(step, warmup))"},
    {"warmup", LH_OPTION_INTEGER, "1000", 0, 1e12, NULL, "steps of linear warm-up from 0"},
    {"final_rate", LH_OPTION_REAL, "0", 0, 1e9, NULL, "rate at the end of linear and cosine"},
    {"step_every", LH_OPTION_INTEGER, "1000", 1, 1e12, NULL,
     "steps between drops of step and delayed_step"},
    {"step_factor", LH_OPTION_REAL, "0.5", 0, 1e9, NULL, "what step multiplies the rate with"},
    {"clip", LH_OPTION_REAL, "0", 0, 1e30, NULL, "largest global gradient norm; 0: no clipping"},
    {"momentum", LH_OPTION_REAL, "0.9", 0, 1, NULL, "of sgd and adafactor (its beta1)"},
    {"beta1", LH_OPTION_REAL, "0.9", 0, 1, NULL, "of adam and adamw"},
    {"beta2", LH_OPTION_REAL, "0.999", 0, 1, NULL, "of adam and adamw"},
    {"epsilon", LH_OPTION_REAL, "1e-8", 0, 1, NULL, "of adam and adamw"},
    {"weight_decay", LH_OPTION_REAL, "0", 0, 1e9, NULL, "of matrices; not with adafactor"},
    {"second_moment_decay", LH_OPTION_REAL, "0.8", 0, 1e3, NULL,
     "adafactor: beta2 = 1 - (step + 1)^-this"},
    {"update_clip", LH_OPTION_REAL, "1", 0, 1e30, NULL, "adafactor: largest rms of an update (d)"},
    {"parameter_scale", LH_OPTION_FLAG, "true", 0, 0, NULL,
     "adafactor: updates relative to the parameter's rms"},
    {"factor_minimum", LH_OPTION_INTEGER, "128", 1, 1e12, NULL,
     "adafactor: smallest axis whose second moment is factored"},
    {"log_every", LH_OPTION_INTEGER, "10", 1, LH_LOG_LIMIT, NULL,
     "steps between points of the loss curve"},
    {"evaluate_every", LH_OPTION_INTEGER, "0", 0, 1e12, NULL,
     "steps between evaluations on the validation split; 0: none"},
    {"keep_best", LH_OPTION_CHOICE, "false", 0, 0, keep_best_names,
     "experiments end with the weights of the best evaluation (early stopping): true by its loss, "
     "accuracy by that"},
    {"patience", LH_OPTION_INTEGER | LH_OPTION_LATE, "0", 0, 1e9, NULL,
     "evaluations in a row without a better loss (keep_best=accuracy: nor a better accuracy) after "
     "which training ends; 0: never"},
    {"evaluate_test", LH_OPTION_FLAG | LH_OPTION_LATE, "false", 0, 0, NULL,
     "evaluations read the test split too: its accuracies join the curve, the best of them the "
     "results (nothing is chosen by them)"},
    {"checkpoint_every", LH_OPTION_INTEGER, "0", 0, 1e12, NULL,
     "steps between checkpoints; 0: by time only"},
    {"checkpoint_seconds", LH_OPTION_REAL, "60", 0, 1e9, NULL,
     "seconds between checkpoints; 0: by steps only"},
    {"precision", LH_OPTION_CHOICE | LH_OPTION_LATE, "f32", 0, 0, precision_names,
     "what matrix products round their operands to, bf16 also what activations are in memory; tf32 "
     "and bf16 on a GPU only"},
    {"swap_parameters", LH_OPTION_FLAG | LH_OPTION_LATE, "false", 0, 0, NULL,
     "layers' parameters rest in host memory, where the optimiser works, and visit the device "
     "while their layer computes (reversible layers)"},
    {NULL, LH_OPTION_INTEGER, NULL, 0, 0, NULL, NULL},
};

static void read_schedule(const lh_options *options, lh_schedule *out) {
    out->kind = (lh_schedule_kind)lh_options_choice(options, "schedule");
    out->rate = lh_options_real(options, "rate");
    out->final_rate = lh_options_real(options, "final_rate");
    out->step_factor = lh_options_real(options, "step_factor");
    out->step_every = lh_options_integer(options, "step_every");
    out->warmup = lh_options_integer(options, "warmup");
    out->steps = lh_options_integer(options, "steps");
}

static void read_optimizer(const lh_options *options, lh_optimizer_spec *out) {
    out->kind = (lh_optimizer_kind)lh_options_choice(options, "optimizer");
    out->clip = lh_options_real(options, "clip");
    out->momentum = lh_options_real(options, "momentum");
    out->beta1 = lh_options_real(options, "beta1");
    out->beta2 = lh_options_real(options, "beta2");
    out->epsilon = lh_options_real(options, "epsilon");
    out->weight_decay = lh_options_real(options, "weight_decay");
    out->second_moment_decay = lh_options_real(options, "second_moment_decay");
    out->update_clip = lh_options_real(options, "update_clip");
    out->parameter_scale = lh_options_flag(options, "parameter_scale");
    out->factor_minimum = lh_options_integer(options, "factor_minimum");
}

lh_status lh_train_plan_read(const lh_options *options, lh_train_plan *out) {
    out->steps = lh_options_integer(options, "steps");
    out->log_every = lh_options_integer(options, "log_every");
    out->evaluate_every = lh_options_integer(options, "evaluate_every");
    out->evaluate_test = lh_options_flag(options, "evaluate_test");
    out->keep_best = (lh_keep_best)lh_options_choice(options, "keep_best");
    out->patience = lh_options_integer(options, "patience");
    out->checkpoint_every = lh_options_integer(options, "checkpoint_every");
    out->checkpoint_seconds = lh_options_real(options, "checkpoint_seconds");
    out->precision = (lh_precision)lh_options_choice(options, "precision");
    out->swap_parameters = lh_options_flag(options, "swap_parameters");
    read_schedule(options, &out->schedule);
    read_optimizer(options, &out->optimizer);
    if (out->patience > 0 && out->evaluate_every == 0)
        return lh_fail(LH_EOPTION,
                       "train: patience=%lld counts evaluations, but there are none: "
                       "set evaluate_every",
                       (long long)out->patience);
    if (out->evaluate_test && out->evaluate_every == 0)
        return lh_fail(LH_EOPTION, "train: evaluate_test adds to evaluations, but there are none: "
                                   "set evaluate_every");
    return LH_OK;
}

bool lh_train_option_is_identity(const lh_train_plan *plan, const char *name) {
    static const char *const free_names[] = {"log_every", "checkpoint_every", "checkpoint_seconds",
                                             "swap_parameters"};
    for (size_t i = 0; i < sizeof free_names / sizeof free_names[0]; ++i) {
        if (strcmp(name, free_names[i]) == 0) return false;
    }
    if (strcmp(name, "evaluate_every") == 0) return plan->patience > 0 || plan->evaluate_test;
    return strcmp(name, "steps") != 0 || lh_schedule_uses_steps(&plan->schedule);
}
