/* Losses, their gradients, and differences of the losses. */
#include "harness/infer/check_gradients.h"

#include "harness/train/batch.h"
#include "harness/train/loss.h"
#include "kernels/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAST = LH_CHECK_SEGMENTS - 1 };

/* ---- the loss ---- */

/* What the last segment is read with. */
static lh_status read_first_segments(lh_check_bench *bench) {
    for (int64_t s = 0; s < LAST; ++s)
        LH_TRY(lh_check_pass(bench, &bench->inputs, s, NULL));
    return LH_OK;
}

/* The loss of the last segment, on a tape of its own; nothing is carried on from it. */
static lh_status find_loss(lh_check_bench *bench, bool recording, lh_output *output,
                           lh_tensor **loss, lh_loss_sums *sums) {
    lh_host_batch host;
    LH_TRY(lh_check_upload(bench, &bench->inputs, LAST, &host));
    const double weight = lh_host_batch_weight(&bench->setup, &host);
    lh_tape_begin(bench->tape, recording, bench->spec->seed, LAST);
    LH_TRY(lh_model_forward(bench->model, bench->tape, bench->state, &bench->batch, true, output));
    return lh_loss_forward(bench->tape, output, &bench->batch, weight, loss, sums);
}

/* The same as a number, summed in double. */
static lh_status read_loss(lh_check_bench *bench, double *out) {
    lh_output output = {0};
    lh_tensor *loss = NULL;
    lh_loss_sums sums = {0};
    LH_TRY(find_loss(bench, false, &output, &loss, &sums));
    *out = (bench->setup.output_features > 0 ? sums.squared : sums.nats) / sums.weight;
    return LH_OK;
}

static lh_status go_backward(lh_check_bench *bench, bool auxiliary) {
    lh_output output = {0};
    lh_tensor *loss = NULL;
    LH_TRY(find_loss(bench, true, &output, &loss, NULL));
    if (auxiliary && output.auxiliary_loss != NULL)
        loss = lh_add(bench->tape, loss, output.auxiliary_loss);
    if (loss == NULL) return lh_failed();
    return lh_params_count(bench->model->params) > 0 ? lh_tape_backward(bench->tape, loss) : LH_OK;
}

lh_status lh_check_differentiate(lh_check_bench *bench, bool auxiliary) {
    LH_TRY(read_first_segments(bench));
    LH_TRY(go_backward(bench, auxiliary));
    return lh_state_clear(bench->state); /* with the statistics that training would keep */
}

/* ---- differences ---- */

/* Steps are shares of what is usual in a parameter, the first one only to see by how much the slope
 * depends on the step. One may carry a rectified unit across its kink, or choose other keys, where
 * no derivative exists; one of several does not. A wrong gradient is off at every step. `rounding`
 * is what a loss near 1 is uncertain by. */
typedef struct accuracy {
    double step[5];
    double relative, rounding;
    const char *text;
} accuracy;
enum { STEPS = 5, DIRECTIONS = 3 };

static accuracy accuracy_of_build(void) {
    if (sizeof(real) == sizeof(double))
        return (accuracy){{2e-3, 1e-3, 1e-4, 1e-5, 1e-6}, 1e-4, 1e-13, "0.01 %"};
    return (accuracy){{2e-2, 1e-2, 3e-3, 1e-3, 3e-4}, 0.1, 1e-6, "10 %"};
}

/* A parameter, its gradient, and a direction in which it moves; [count] each. */
typedef struct line {
    lh_check_bench *bench;
    const lh_param *param;
    real *values, *gradient, *moved;
    double *direction;
    double usual;  /* root mean square of the values */
    double here;   /* the loss as they are */
    double shaken; /* what it changes by where they hardly do: rounding on the way to it */
} line;

/* The worst that was found: how many times more than allowed it is off. */
typedef struct worst {
    double excess, analytic, numeric;
    const char *name;
    int wrong, weak, checked; /* parameters; weak: rounding hides as much as they change */
} worst;

static double root_mean_square(const real *x, int64_t count) {
    double squares = 0.0;
    for (int64_t i = 0; i < count; ++i)
        squares += (double)x[i] * (double)x[i];
    return count > 0 ? sqrt(squares / (double)count) : 0.0;
}

static lh_status open_line(line *l) {
    const size_t count = (size_t)l->param->count;
    l->values = lh_allocate(count * sizeof *l->values);
    l->gradient = lh_allocate_zeroed(count, sizeof *l->gradient);
    l->moved = lh_allocate(count * sizeof *l->moved);
    l->direction = lh_allocate(count * sizeof *l->direction);
    if (!l->values || !l->gradient || !l->moved || !l->direction) return LH_EMEMORY;
    const lh_tensor *flowed = lh_tensor_gradient(l->param->value);
    if (flowed != NULL) LH_TRY(lh_tensor_read(flowed, l->gradient, l->param->count));
    LH_TRY(lh_tensor_read(l->param->value, l->values, l->param->count));
    l->usual = root_mean_square(l->values, l->param->count);
    return read_loss(l->bench, &l->here);
}

static void close_line(line *l) {
    free(l->values);
    free(l->gradient);
    free(l->moved);
    free(l->direction);
}

/* The first direction is that of the gradient, where a wrong sign or size shows most; what it lacks
 * shows in random ones. Each is 1 in the root mean square. */
static void choose_direction(line *l, int number) {
    const lh_random_key key = {
        .seed = l->bench->spec->seed, .stream = LH_STREAM_SAMPLE, .step = (uint64_t)number + 1};
    const double usual = root_mean_square(l->gradient, l->param->count);
    for (int64_t i = 0; i < l->param->count; ++i)
        l->direction[i] = number == 0 && usual > 0.0 ? (double)l->gradient[i] / usual
                                                     : lh_random_normal(key, (uint64_t)i);
}

static lh_status loss_at(line *l, double step, double *out) {
    for (int64_t i = 0; i < l->param->count; ++i)
        l->moved[i] = (real)((double)l->values[i] + step * l->direction[i]);
    LH_TRY(lh_tensor_write(l->param->value, l->moved, l->param->count));
    return read_loss(l->bench, out);
}

/* Long sums round by more than one loss does: by how much is seen at steps of a rounding error. */
static lh_status shake(line *l, const accuracy *limits) {
    const double step = limits->rounding * l->usual;
    double above = 0.0, below = 0.0;
    choose_direction(l, DIRECTIONS);
    LH_TRY(loss_at(l, step, &above));
    LH_TRY(loss_at(l, -step, &below));
    l->shaken = fmax(fabs(above - l->here), fabs(below - l->here));
    return LH_OK;
}

/* What rounding of the losses makes of a difference. */
static double noise_of(const line *l, const accuracy *limits, double step) {
    return (limits->rounding * (1.0 + fabs(l->here)) + l->shaken) / step;
}

static double along(const line *l) {
    double sum = 0.0;
    for (int64_t i = 0; i < l->param->count; ++i)
        sum += l->direction[i] * (double)l->gradient[i];
    return sum;
}

/* The slope of the loss along the direction by central differences, and what kinks between the
 * losses make of it, by which the slopes on both sides differ. */
static lh_status find_slope(line *l, double step, double *slope, double *bend) {
    double above = 0.0, below = 0.0;
    LH_TRY(loss_at(l, step, &above));
    LH_TRY(loss_at(l, -step, &below));
    *slope = (above - below) / (2.0 * step);
    *bend = fabs(above - 2.0 * l->here + below) / step;
    return LH_OK;
}

/* How many times more than allowed the gradient is off along the direction: at the step where it is
 * least, of those where rounding does not hide what is looked for. */
static lh_status measure(line *l, const accuracy *limits, worst *out) {
    const double analytic = along(l),
                 size =
                     root_mean_square(l->gradient, l->param->count) * sqrt((double)l->param->count),
                 usual = fmax(size, fabs(analytic));
    double before = 0.0, bend = 0.0;
    *out = (worst){.excess = (double)INFINITY, .analytic = analytic};
    out->weak = noise_of(l, limits, limits->step[1] * l->usual) > fabs(analytic);
    LH_TRY(find_slope(l, limits->step[0] * l->usual, &before, &bend));
    for (int i = 1; i < STEPS && !(out->excess <= 1.0); ++i) {
        const double step = limits->step[i] * l->usual, noise = noise_of(l, limits, step);
        double slope = 0.0;
        if (i > 1 && noise > limits->relative * usual) break;
        LH_TRY(find_slope(l, step, &slope, &bend));
        const double allowed = limits->relative * usual + noise + bend + fabs(slope - before),
                     excess = fabs(slope - analytic) / allowed;
        before = slope;
        if (!(excess < out->excess)) continue;
        out->excess = excess;
        out->numeric = slope;
    }
    return LH_OK;
}

static lh_status check_line(line *l, const accuracy *limits, worst *all) {
    bool wrong = false;
    LH_TRY(shake(l, limits));
    for (int d = 0; d < DIRECTIONS; ++d) {
        worst found;
        choose_direction(l, d);
        LH_TRY(measure(l, limits, &found));
        if (d == 0) all->weak += found.weak;
        wrong = wrong || !(found.excess <= 1.0);
        if (!(found.excess > all->excess)) continue;
        all->excess = found.excess;
        all->analytic = found.analytic;
        all->numeric = found.numeric;
        all->name = l->param->name;
    }
    all->checked += 1;
    all->wrong += wrong;
    return lh_tensor_write(l->param->value, l->values, l->param->count);
}

static lh_status check_param(lh_check_bench *bench, const lh_param *param, const accuracy *limits,
                             worst *all) {
    line l = {.bench = bench, .param = param};
    if (param->statistic) return LH_OK;
    lh_status status = open_line(&l);
    if (status == LH_OK) status = check_line(&l, limits, all);
    close_line(&l);
    return status;
}

/* Where a model chooses keys by what they hold, a choice that changes moves the loss at once, which
 * no gradient tells. */
static void tell_wrong(const accuracy *limits, const worst *all, bool chooses, lh_finding *out) {
    lh_find(out, "gradients", chooses ? LH_CHECK_WARNING : LH_CHECK_FAILED,
            "of %d of %d parameters: along a direction of %s the loss changes by %.3g a step, "
            "where its gradient says %.3g; %s is allowed%s",
            all->wrong, all->checked, all->name, all->numeric, all->analytic, limits->text,
            chooses ? "; other keys may have been chosen: try another seed" : "");
}

static void tell_gradients(const accuracy *limits, const worst *all, bool chooses,
                           lh_finding *out) {
    char weak[96] = "";
    if (all->wrong > 0) {
        tell_wrong(limits, all, chooses, out);
        return;
    }
    if (all->weak > 0)
        (void)snprintf(weak, sizeof weak, "; too small to tell of %d of %d parameters", all->weak,
                       all->checked);
    lh_find(out, "gradients", LH_CHECK_OK, "those of differences within %s%s", limits->text, weak);
}

lh_status lh_check_gradients(lh_check_bench *bench, lh_finding *out) {
    const lh_params *params = bench->model->params;
    const accuracy limits = accuracy_of_build();
    worst all = {0};
    char what[160];
    lh_params_clear_gradients(bench->model->params);
    LH_TRY(read_first_segments(bench));
    LH_TRY(go_backward(bench, false));
    for (int i = 0; i < lh_params_count(params); ++i) {
        const lh_param *param = lh_params_at(params, i);
        (void)snprintf(what, sizeof what, "gradient of %s", param->name);
        lh_check_tell(bench, what);
        LH_TRY(check_param(bench, param, &limits, &all));
    }
    lh_params_clear_gradients(bench->model->params);
    tell_gradients(&limits, &all, (bench->model->class->abilities & LH_ABLE_CAUSAL_BY_MASK) != 0,
                   out);
    return lh_state_clear(bench->state);
}

/* ---- which parameters learn ---- */

/* Adds a name to a list, of which the end may be cut. */
static void add_name(char *list, size_t room, const char *name) {
    const size_t used = strlen(list);
    (void)snprintf(list + used, room - used, "%s%s", used > 0 ? ", " : "", name);
}

static lh_status is_reached(const lh_param *param, bool *out) {
    const lh_tensor *flowed = lh_tensor_gradient(param->value);
    *out = false;
    if (flowed == NULL) return LH_OK;
    real *values = lh_allocate((size_t)param->count * sizeof *values);
    lh_status status = values != NULL ? lh_tensor_read(flowed, values, param->count) : LH_EMEMORY;
    for (int64_t i = 0; status == LH_OK && i < param->count && !*out; ++i)
        *out = values[i] != LH_R(0);
    free(values);
    return status;
}

lh_status lh_check_reach(lh_check_bench *bench, lh_finding *out) {
    const lh_params *params = bench->model->params;
    char missing[320] = "";
    LH_TRY(lh_check_differentiate(bench, true));
    for (int i = 0; i < lh_params_count(params); ++i) {
        const lh_param *param = lh_params_at(params, i);
        bool reached = false;
        LH_TRY(is_reached(param, &reached));
        if (!param->statistic && !reached) add_name(missing, sizeof missing, param->name);
    }
    lh_params_clear_gradients(bench->model->params);
    if (missing[0] != '\0')
        lh_find(out, "parameters", LH_CHECK_WARNING, "no gradient comes to %s", missing);
    else
        lh_find(out, "parameters", LH_CHECK_OK, "a gradient comes to every one");
    return LH_OK;
}
