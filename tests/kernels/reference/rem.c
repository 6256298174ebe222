/* Recurrence encodings (Huang et al. 2023): P and its derivatives entry by entry, then plain
 * products. */
#include "tests/kernels/reference/loops.h"

static number whole_power(number base, int64_t power) {
    number result = 1;
    for (int64_t i = 0; i < power; i++)
        result *= base;
    return result;
}

static number rem_angle(const lh_rem_spec *spec, const lh_rem_head *head) {
    const number *theta = (const void *)spec->theta;
    return head->angle < 0 ? atan((number)1) : theta[head->angle];
}

/* The power that stands at this lag, 0 for none. */
static int64_t rem_power(const lh_rem_spec *spec, const lh_rem_head *head, int64_t lag) {
    const int64_t distance = spec->both_ways && lag < 0 ? -lag : lag;
    if (distance <= 0 || distance % head->dilation != 0) return 0;
    const int64_t power = distance / head->dilation;
    return power <= head->cutoff ? power : 0;
}

/* f(t), or its derivative by eta or nu, or by theta. */
typedef enum rem_part { REM_VALUE, REM_BY_DECAY, REM_BY_ANGLE } rem_part;

static number rem_entry(const lh_rem_spec *spec, const lh_rem_head *head, int64_t lag,
                        rem_part part) {
    const number *eta = (const void *)spec->eta, *nu = (const void *)spec->nu;
    const int64_t t = rem_power(spec, head, lag);
    if (t == 0) return 0;
    if (head->kind == LH_REM_REGULAR) {
        const number lambda = tanh(eta[head->decay]);
        return part == REM_VALUE      ? whole_power(lambda, t)
               : part == REM_BY_DECAY ? t * whole_power(lambda, t - 1) * (1 - lambda * lambda)
                                      : 0;
    }
    const number gamma = sigmoid(nu[head->decay]), theta = rem_angle(spec, head);
    const bool sine = head->kind == LH_REM_SINE;
    const number power = whole_power(gamma, t);
    if (part == REM_BY_ANGLE) return t * power * (sine ? cos(t * theta) : -sin(t * theta));
    const number value = power * (sine ? sin(t * theta) : cos(t * theta));
    return part == REM_VALUE ? value : t * (1 - gamma) * value;
}

static bool rem_has(const lh_key_source *source, int64_t b, int64_t j) {
    return !source->everywhere && (source->filled == NULL || j < source->filled[b]);
}

/* Row i of P, or of a derivative, times the values. */
static void rem_product(const lh_rem_spec *spec, int64_t b, int64_t i, int64_t h, rem_part part,
                        wide *out) {
    for (int64_t e = 0; e < spec->head_width; e++)
        out[e] = 0;
    for (int s = 0; s < spec->source_count; s++)
        for (int64_t j = 0; j < spec->source[s].count; j++) {
            if (!rem_has(&spec->source[s], b, j)) continue;
            const number entry =
                rem_entry(spec, &spec->head[h], i - spec->source[s].first - j, part);
            const number *v = row_of(&spec->source[s].v, b, j, h);
            for (int64_t e = 0; e < spec->head_width && entry != 0; e++)
                out[e] += (wide)(entry * v[e]);
        }
}

enum { REM_WIDTH = 512 };

void REFERENCE(rem_forward)(const void *arguments) {
    const lh_rem_forward_args *args = arguments;
    const lh_rem_spec *spec = &args->spec;
    wide product[REM_WIDTH];
    for (int64_t b = 0; b < spec->batch; b++)
        for (int64_t i = 0; i < spec->queries; i++)
            for (int64_t h = 0; h < spec->heads; h++) {
                const number *attention = row_of(&args->attention, b, i, h);
                number *out = row_of(&args->out, b, i, h);
                const bool encoded = h < spec->encoded;
                const number g = encoded ? sigmoid(*(const number *)(const void *)spec->mu) : 0;
                if (encoded) rem_product(spec, b, i, h, REM_VALUE, product);
                for (int64_t e = 0; e < spec->head_width; e++)
                    out[e] = (1 - g) * attention[e] + (encoded ? g * (number)product[e] : 0);
            }
}

/* sum over rows of batch of dout times a product of head h. */
static wide rem_sum(const lh_rem_backward_args *args, int64_t h, rem_part part) {
    wide sum = 0, product[REM_WIDTH];
    for (int64_t b = 0; b < args->spec.batch; b++)
        for (int64_t i = 0; i < args->spec.queries; i++) {
            const number *dout = row_of(&args->dout, b, i, h);
            rem_product(&args->spec, b, i, h, part, product);
            for (int64_t e = 0; e < args->spec.head_width; e++)
                sum += (wide)dout[e] * product[e];
        }
    return sum;
}

static wide rem_attention_sum(const lh_rem_backward_args *args, int64_t h) {
    wide sum = 0;
    for (int64_t b = 0; b < args->spec.batch; b++)
        for (int64_t i = 0; i < args->spec.queries; i++)
            sum += (wide)inner(row_of(&args->dout, b, i, h), row_of(&args->attention, b, i, h),
                               args->spec.head_width);
    return sum;
}

static void rem_value_gradient(const lh_rem_backward_args *args, const lh_key_source *source,
                               number g) {
    const lh_rem_spec *spec = &args->spec;
    for (int64_t b = 0; b < spec->batch; b++)
        for (int64_t j = 0; j < source->count; j++)
            for (int64_t h = 0; h < spec->heads; h++)
                for (int64_t e = 0; e < spec->head_width; e++) {
                    wide sum = 0;
                    for (int64_t i = 0; i < spec->queries && h < spec->encoded; i++)
                        if (rem_has(source, b, j))
                            sum += (wide)(rem_entry(spec, &spec->head[h], i - source->first - j,
                                                    REM_VALUE) *
                                          row_of(&args->dout, b, i, h)[e]);
                    store(row_of(&source->dv, b, j, h) + e, source->write, g * (number)sum);
                }
}

static void rem_parameter_gradient(const lh_rem_backward_args *args, real *to, lh_write write,
                                   int32_t count, bool regular, rem_part part, number g) {
    const lh_rem_spec *spec = &args->spec;
    for (int32_t entry = 0; entry < count && to != NULL; entry++) {
        wide sum = 0;
        for (int h = 0; h < spec->encoded; h++) {
            const lh_rem_head *head = &spec->head[h];
            const int32_t own = part == REM_BY_ANGLE ? head->angle : head->decay;
            if ((head->kind == LH_REM_REGULAR) == regular && own == entry)
                sum += rem_sum(args, h, part);
        }
        store((number *)(void *)to + entry, write, g * (number)sum);
    }
}

void REFERENCE(rem_backward)(const void *arguments) {
    const lh_rem_backward_args *args = arguments;
    const lh_rem_spec *spec = &args->spec;
    const number g = sigmoid(*(const number *)(const void *)spec->mu);
    for (int64_t b = 0; b < spec->batch && args->dattention.act.data != NULL; b++)
        for (int64_t i = 0; i < spec->queries; i++)
            for (int64_t h = 0; h < spec->heads; h++)
                for (int64_t e = 0; e < spec->head_width; e++)
                    store(row_of(&args->dattention, b, i, h) + e, args->dattention_write,
                          (h < spec->encoded ? 1 - g : 1) * row_of(&args->dout, b, i, h)[e]);
    for (int s = 0; s < spec->source_count; s++)
        if (spec->source[s].dv.act.data != NULL) rem_value_gradient(args, &spec->source[s], g);
    rem_parameter_gradient(args, args->deta, args->deta_write, spec->eta_count, true, REM_BY_DECAY,
                           g);
    rem_parameter_gradient(args, args->dnu, args->dnu_write, spec->nu_count, false, REM_BY_DECAY,
                           g);
    rem_parameter_gradient(args, args->dtheta, args->dtheta_write, spec->theta_count, false,
                           REM_BY_ANGLE, g);
    wide mu = 0;
    for (int h = 0; h < spec->encoded; h++)
        mu += rem_sum(args, h, REM_VALUE) - rem_attention_sum(args, h);
    if (args->dmu != NULL) store((void *)args->dmu, args->dmu_write, g * (1 - g) * (number)mu);
}
