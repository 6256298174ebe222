/* The decaying scan token by token, and its gradients from the last token back. */
#include "tests/kernels/reference/loops.h"

/* One batch row and head; S is [key_width][value_width]. */
typedef struct one {
    const lh_decay_scan_spec *spec;
    int64_t batch, head, group, size;
} one;

static number decay_of(const one *o, int64_t t) {
    const number *decay = (const void *)o->spec->log_decay;
    const int64_t token = o->batch * o->spec->length + t;
    return decay != NULL ? exp(decay[token * o->spec->heads + o->head]) : 1;
}

/* to = a_t from + k_t^T v_t */
static void step(const one *o, int64_t t, const number *from, number *to) {
    const number *k = row_of(&o->spec->k, o->batch, t, o->group);
    const number *v = row_of(&o->spec->v, o->batch, t, o->head), a = decay_of(o, t);
    for (int64_t i = 0; i < o->size; i++)
        to[i] = a * from[i] + k[i / o->spec->value_width] * v[i % o->spec->value_width];
}

static void forward(const one *o, const lh_heads *y, number *end) {
    const int64_t values = o->spec->value_width;
    for (int64_t t = 0; t < o->spec->length; t++) {
        const number *q = row_of(&o->spec->q, o->batch, t, o->group);
        number *out = row_of(y, o->batch, t, o->head);
        step(o, t, end, end);
        for (int64_t n = 0; n < values; n++)
            out[n] = 0;
        for (int64_t i = 0; i < o->size; i++)
            out[i % values] += q[i / values] * end[i];
    }
}

static void each_head(const lh_decay_scan_spec *spec, const void *arguments,
                      void (*run)(const one *, const void *)) {
    for (int64_t b = 0; b < spec->batch; b++)
        for (int64_t h = 0; h < spec->heads; h++)
            run(&(one){spec, b, h, h / (spec->heads / spec->groups),
                       spec->key_width * spec->value_width},
                arguments);
}

static void forward_head(const one *o, const void *arguments) {
    const lh_decay_scan_forward_args *args = arguments;
    const int64_t at = (o->batch * o->spec->heads + o->head) * o->size;
    number *end = (number *)(void *)args->end + at;
    for (int64_t i = 0; i < o->size; i++)
        end[i] = ((const number *)(const void *)o->spec->start)[at + i];
    forward(o, &args->y, end);
}

void REFERENCE(decay_scan_forward)(const void *arguments) {
    const lh_decay_scan_forward_args *args = arguments;
    each_head(&args->spec, arguments, forward_head);
}

/* ---- backward ---- */

/* All gradients of token t from dS, the gradient of S_t, which becomes that of S_{t-1}. */
static void step_back(const one *o, const lh_decay_scan_backward_args *args, int64_t t,
                      const number *before, const number *state, number *gradient) {
    const lh_decay_scan_spec *spec = o->spec;
    const int64_t values = spec->value_width;
    const number *q = row_of(&spec->q, o->batch, t, o->group);
    const number *k = row_of(&spec->k, o->batch, t, o->group);
    const number *v = row_of(&spec->v, o->batch, t, o->head), a = decay_of(o, t);
    const bool has_dy = args->dy.act.data != NULL;
    number slope = 0;
    for (int64_t i = 0; i < o->size; i++) {
        const int64_t m = i / values, n = i % values;
        const number dy = has_dy ? row_of(&args->dy, o->batch, t, o->head)[n] : 0;
        gradient[i] += q[m] * dy;
        slope += a * before[i] * gradient[i];
        if (args->dq.act.data != NULL) row_of(&args->dq, o->batch, t, o->group)[m] += dy * state[i];
        if (args->dk.act.data != NULL)
            row_of(&args->dk, o->batch, t, o->group)[m] += gradient[i] * v[n];
        if (args->dv.act.data != NULL)
            row_of(&args->dv, o->batch, t, o->head)[n] += gradient[i] * k[m];
        gradient[i] *= a;
    }
    number *decay = (void *)args->dlog_decay;
    if (decay != NULL)
        store(&decay[(o->batch * spec->length + t) * spec->heads + o->head], args->dlog_decay_write,
              slope);
}

static void backward_head(const one *o, const void *arguments) {
    const lh_decay_scan_backward_args *args = arguments;
    const int64_t length = o->spec->length, at = (o->batch * o->spec->heads + o->head) * o->size;
    const number *start = (const number *)(const void *)o->spec->start + at;
    const number *dend = (const void *)args->dend;
    number *dstart = (void *)args->dstart;
    number *states = calloc((size_t)((length + 2) * o->size), sizeof *states);
    if (states == NULL) abort();
    number *gradient = states + (length + 1) * o->size;
    for (int64_t i = 0; i < o->size; i++) {
        states[i] = start[i];
        gradient[i] = dend != NULL ? dend[at + i] : 0;
    }
    for (int64_t t = 0; t < length; t++)
        step(o, t, states + t * o->size, states + (t + 1) * o->size);
    for (int64_t t = length - 1; t >= 0; t--)
        step_back(o, args, t, states + t * o->size, states + (t + 1) * o->size, gradient);
    for (int64_t i = 0; i < o->size && dstart != NULL; i++)
        store(&dstart[at + i], args->dstart_write, gradient[i]);
    free(states);
}

void REFERENCE(decay_scan_backward)(const void *arguments) {
    const lh_decay_scan_backward_args *args = arguments;
    const lh_decay_scan_spec *spec = &args->spec;
    clear_rows(&args->dq, args->dq_write, spec, spec->groups, spec->key_width);
    clear_rows(&args->dk, args->dk_write, spec, spec->groups, spec->key_width);
    clear_rows(&args->dv, args->dv_write, spec, spec->heads, spec->value_width);
    each_head(spec, arguments, backward_head);
}
