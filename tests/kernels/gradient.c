/* Backward kernels against central differences of their own forward kernels. The signs count; the
 * cotangent is random. Only the double build is precise enough for the bound. */
#include "tests/kernels/conformance.h"

enum { EVERY_ELEMENT_UP_TO = 48, DIRECTIONS = 10 };
static const double step = 1e-4, relative_bound = 1e-6, absolute_bound = 1e-9;

static void move_along(real *input, const real *from, const real *direction, int64_t count,
                       double distance) {
    for (int64_t i = 0; i < count; i++)
        input[i] = from[i] + (real)distance * direction[i];
}

/* Fourth order: the error is about step^4. */
static double slope_along(suite *s, const gradient_pair *pair, const real *direction,
                          objective loss, const void *args) {
    static const double distance[4] = {-2, -1, 1, 2}, weight[4] = {1, -8, 8, -1};
    real *from = scratch(pair->count);
    memcpy(from, pair->input, (size_t)pair->count * sizeof *from);
    double slope = 0;
    for (int i = 0; i < 4; i++) {
        move_along(pair->input, from, direction, pair->count, distance[i] * step);
        slope += weight[i] * loss(s, args);
    }
    memcpy(pair->input, from, (size_t)pair->count * sizeof *from);
    free(from);
    return slope / (12 * step);
}

static bool slope_good(suite *s, const gradient_pair *pair, const real *direction, int64_t index,
                       double scale, objective loss, const void *args) {
    const double measured = slope_along(s, pair, direction, loss, args);
    const double given = dot(pair->gradient, direction, pair->count);
    const double allowed = relative_bound * fmax(scale, fabs(measured)) + absolute_bound;
    if (fabs(measured - given) <= allowed) return true;
    return case_fails(s, "gradient of %s, %s %" PRId64 ": %.9g, by differences %.9g, allowed %.3g",
                      pair->name, pair->count <= EVERY_ELEMENT_UP_TO ? "element" : "direction",
                      index, given, measured, allowed);
}

static bool pair_good(suite *s, const gradient_pair *pair, objective loss, const void *args) {
    const bool each = pair->count <= EVERY_ELEMENT_UP_TO;
    const int64_t trials = each ? pair->count : DIRECTIONS;
    const double scale = largest(pair->gradient, pair->count);
    real *direction = scratch(pair->count);
    bool good = true;
    for (int64_t t = 0; t < trials && good; t++) {
        for (int64_t i = 0; i < pair->count; i++)
            direction[i] = each ? (real)(i == t) : (real)suite_normal(s);
        good = slope_good(s, pair, direction, t, scale, loss, args);
    }
    free(direction);
    return good;
}

void gradient_check(suite *s, const gradient_pair *pairs, int count, objective loss,
                    const void *args) {
    bool good = true;
    lh_cpu_set_threads(1); /* the sizes are small */
    for (int i = 0; i < count && good; i++)
        good = pair_good(s, &pairs[i], loss, args);
    s->passed += good;
    s->failed += !good;
}

/* What the kernel added to the buffer. */
static real *added(const buffer *b) {
    real *gradient = scratch(b->count);
    const real *after = (const void *)b->data, *before = b->initial;
    for (int64_t i = 0; i < b->count; i++)
        gradient[i] = b->role == ROLE_OUT ? after[i] : after[i] - before[i];
    return gradient;
}

static void check_pairs(suite *s) {
    gradient_pair pairs[CASE_PAIRS];
    for (int i = 0; i < s->pair_count; i++) {
        const buffer *input = &s->buffers[s->pair_input[i]];
        const buffer *gradient = &s->buffers[s->pair_gradient[i]];
        pairs[i] = (gradient_pair){.name = input->name,
                                   .input = (real *)(void *)input->data,
                                   .gradient = added(gradient),
                                   .count = input->count};
    }
    gradient_check(s, pairs, s->pair_count, s->loss, s->args);
    for (int i = 0; i < s->pair_count; i++)
        free((real *)pairs[i].gradient);
}

void gradient_case(suite *s) {
    if (s->loss == NULL || s->pair_count == 0) return;
    for (int i = 0; i < s->buffer_count; i++)
        if (s->buffers[i].shares >= 0) return; /* the kernel eats its own cotangent */
    call_prepare(s, false);
    call_restore(s);
    if (call_kernel(s, 2) == LH_OK) {
        call_fetch(s);
        check_pairs(s);
    } else {
        s->failed++;
        case_fails(s, "the backward kernel fails");
    }
    call_release(s);
}
