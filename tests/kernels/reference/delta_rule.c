/* The delta rule token by token, and its gradients from the last token back. */
#include "tests/kernels/reference/loops.h"

/* One batch row and head; S is [key_width][value_width]. */
typedef struct one {
    const lh_delta_rule_spec *spec;
    int64_t batch, head, group, size, keys, values;
} one;

static int64_t token_of(const one *o, int64_t t) {
    return (o->batch * o->spec->scan.length + t) * o->spec->scan.heads + o->head;
}

static number decay_of(const one *o, int64_t t) {
    const number *decay = (const void *)o->spec->scan.log_decay;
    return decay != NULL ? exp(decay[token_of(o, t)]) : 1;
}

static number beta_of(const one *o, int64_t t) {
    return ((const number *)(const void *)o->spec->beta)[token_of(o, t)];
}

/* v_t - a_t k_t S_{t-1}, element n */
static number error_of(const one *o, int64_t t, const number *before, int64_t n) {
    const number *k = row_of(&o->spec->scan.k, o->batch, t, o->group);
    number answer = 0;
    for (int64_t m = 0; m < o->keys; m++)
        answer += k[m] * before[m * o->values + n];
    return row_of(&o->spec->scan.v, o->batch, t, o->head)[n] - decay_of(o, t) * answer;
}

/* S_t of S_{t-1} and u_t */
static void step(const one *o, int64_t t, const number *u, const number *before, number *after) {
    const number *k = row_of(&o->spec->scan.k, o->batch, t, o->group), a = decay_of(o, t);
    for (int64_t i = 0; i < o->size; i++)
        after[i] = a * before[i] + k[i / o->values] * u[i % o->values];
}

static one one_of(const lh_delta_rule_spec *spec, int64_t pair) {
    const lh_decay_scan_spec *scan = &spec->scan;
    const int64_t head = pair % scan->heads;
    return (one){.spec = spec,
                 .batch = pair / scan->heads,
                 .head = head,
                 .group = head / (scan->heads / scan->groups),
                 .size = scan->key_width * scan->value_width,
                 .keys = scan->key_width,
                 .values = scan->value_width};
}

static number *copy_start(const one *o, int64_t copies) {
    const int64_t at = (o->batch * o->spec->scan.heads + o->head) * o->size;
    number *states = calloc((size_t)(copies * o->size), sizeof *states);
    if (states == NULL) abort();
    for (int64_t i = 0; i < o->size; i++)
        states[i] = ((const number *)(const void *)o->spec->scan.start)[at + i];
    return states;
}

void REFERENCE(delta_rule_forward)(const void *arguments) {
    const lh_delta_rule_forward_args *args = arguments;
    const lh_decay_scan_spec *scan = &args->spec.scan;
    for (int64_t pair = 0; pair < scan->batch * scan->heads; pair++) {
        const one o = one_of(&args->spec, pair);
        number *state = copy_start(&o, 1);
        for (int64_t t = 0; t < scan->length; t++) {
            number *u = row_of(&args->u, o.batch, t, o.head);
            for (int64_t n = 0; n < o.values; n++)
                u[n] = beta_of(&o, t) * error_of(&o, t, state, n);
            step(&o, t, u, state, state);
        }
        free(state);
    }
}

/* ---- backward ---- */

/* All gradients of token t from dS, the gradient of S_t, which becomes that of S_{t-1}. */
static void step_back(const one *o, const lh_delta_rule_backward_args *args, int64_t t,
                      const number *before, number *gradient) {
    const number *k = row_of(&o->spec->scan.k, o->batch, t, o->group);
    const number *u = row_of(&args->u, o->batch, t, o->head);
    const number a = decay_of(o, t), beta = beta_of(o, t);
    number *dk = args->dk.act.data != NULL ? row_of(&args->dk, o->batch, t, o->group) : NULL;
    number slope = 0, dbeta = 0;
    for (int64_t n = 0; n < o->values; n++) {
        number du = row_of(&args->du, o->batch, t, o->head)[n];
        for (int64_t m = 0; m < o->keys; m++)
            du += k[m] * gradient[m * o->values + n];
        dbeta += du * error_of(o, t, before, n);
        if (args->dv.act.data != NULL)
            store(&row_of(&args->dv, o->batch, t, o->head)[n], args->dv_write, beta * du);
        for (int64_t m = 0; m < o->keys; m++) {
            const int64_t i = m * o->values + n;
            if (dk != NULL) dk[m] += gradient[i] * u[n] - beta * du * a * before[i];
            gradient[i] -= beta * du * k[m];
            slope += a * before[i] * gradient[i];
            gradient[i] *= a;
        }
    }
    number *dlog_decay = (void *)args->dlog_decay, *to = (void *)args->dbeta;
    if (dlog_decay != NULL) store(&dlog_decay[token_of(o, t)], args->dlog_decay_write, slope);
    if (to != NULL) store(&to[token_of(o, t)], args->dbeta_write, dbeta);
}

static void backward_head(const one *o, const lh_delta_rule_backward_args *args) {
    const int64_t length = o->spec->scan.length;
    const int64_t at = (o->batch * o->spec->scan.heads + o->head) * o->size;
    number *states = copy_start(o, length + 2), *gradient = states + (length + 1) * o->size;
    number *dstart = (void *)args->dstart;
    for (int64_t t = 0; t < length; t++)
        step(o, t, row_of(&args->u, o->batch, t, o->head), states + t * o->size,
             states + (t + 1) * o->size);
    for (int64_t t = length - 1; t >= 0; t--)
        step_back(o, args, t, states + t * o->size, gradient);
    for (int64_t i = 0; i < o->size && dstart != NULL; i++)
        store(&dstart[at + i], args->dstart_write, gradient[i]);
    free(states);
}

void REFERENCE(delta_rule_backward)(const void *arguments) {
    const lh_delta_rule_backward_args *args = arguments;
    const lh_decay_scan_spec *scan = &args->spec.scan;
    clear_rows(&args->dk, args->dk_write, scan, scan->groups, scan->key_width);
    for (int64_t pair = 0; pair < scan->batch * scan->heads; pair++) {
        const one o = one_of(&args->spec, pair);
        backward_head(&o, args);
    }
}
