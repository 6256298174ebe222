/* One document, read in segments of several lengths. */
#include "harness/infer/check_segments.h"

#include "harness/train/adapter.h"

#include <math.h>
#include <stdlib.h>

/* Where outputs differ by more than rounding, in segments of which length, and by how much. */
typedef struct division {
    int64_t length, row, position;
    double gap;
} division;

static double tolerance_of_build(void) {
    return sizeof(real) == sizeof(double) ? 1e-9 : 1e-3;
}

static double usual_of(const real *values, int64_t count) {
    double squares = 0.0;
    for (int64_t i = 0; i < count; ++i)
        squares += (double)values[i] * (double)values[i];
    return sqrt(squares / (double)count);
}

/* The first position that is off. What is no number is found by the check of outputs. */
static void compare(const lh_check_bench *b, const real *x, const real *y, division *out) {
    const int64_t whole = LH_CHECK_SEGMENTS * b->length, count = b->rows * whole * b->columns;
    const double allowed = tolerance_of_build() * usual_of(x, count);
    for (int64_t i = 0; i < count && out->gap == 0.0; ++i) {
        const double gap = fabs((double)x[i] - (double)y[i]);
        if (!(gap > allowed)) continue;
        out->gap = gap;
        out->row = i / b->columns / whole;
        out->position = i / b->columns % whole;
    }
}

static lh_status compare_division(lh_check_bench *b, const real *values, int64_t length,
                                  division *out) {
    real *divided = NULL;
    lh_status status = lh_check_run_divided(b, length, &divided);
    if (status == LH_OK) compare(b, values, divided, out);
    out->length = length;
    free(divided);
    return status;
}

/* The shortest segment that windows keep their places in: one below is itself the window. */
static int64_t least_length(const lh_check_bench *b) {
    const lh_model_class *class = b->model->class;
    return class->window != NULL ? lh_max(class->window(b->model->instance).tokens, 1) : 1;
}

/* The longest part of a segment that the model takes; 0: none. */
static int64_t shorter_length(const lh_check_bench *b) {
    for (int64_t length = b->length / 2; length >= least_length(b); --length)
        if (b->length % length == 0 && lh_check_takes(b->model, length)) return length;
    return 0;
}

/* Each of `lengths` against segments as they are, up to the first that differs. */
static lh_status compare_all(lh_check_bench *b, const int64_t *lengths, int count, division *out) {
    real *values = NULL;
    lh_status status = lh_check_run_divided(b, b->length, &values);
    for (int i = 0; status == LH_OK && i < count && out->gap == 0.0; ++i)
        status = compare_division(b, values, lengths[i], out);
    free(values);
    return status;
}

/* Only outputs of every position can be compared, and texts that an adapter cuts are not whole. */
static bool divides(const lh_check_bench *b) {
    const uint32_t abilities = b->spec->model->abilities;
    return lh_model_splits(b->model) && (abilities & LH_NEEDS_ONE_LENGTH) == 0 &&
           b->model->adapter.ways == 0 && b->setup.pred_len == 0 && b->setup.past_length == 0 &&
           b->given == b->length && b->length >= least_length(b);
}

lh_status lh_check_segments(lh_check_bench *bench, lh_finding *out) {
    const int64_t whole = LH_CHECK_SEGMENTS * bench->length;
    int64_t lengths[2];
    int count = 0;
    division found = {0};
    if (divides(bench)) {
        const int64_t shorter = shorter_length(bench);
        if (lh_check_takes(bench->model, whole)) lengths[count++] = whole;
        if (shorter > 0) lengths[count++] = shorter;
    }
    if (count == 0) {
        lh_find(out, "segments", LH_CHECK_LEFT_OUT, "%s",
                !lh_model_splits(bench->model)
                    ? "not declared, or not with these options"
                    : "no other length of whole windows is taken, or an adapter stands between");
        return LH_OK;
    }
    LH_TRY(compare_all(bench, lengths, count, &found));
    if (found.gap > 0.0)
        lh_find(out, "segments", LH_CHECK_FAILED,
                "it declares LH_ABLE_STATE, but in segments of %lld and of %lld the output of "
                "position %lld (row %lld) differs by %.3g",
                (long long)bench->length, (long long)found.length, (long long)found.position,
                (long long)found.row, found.gap);
    else
        lh_find(out, "segments", LH_CHECK_OK,
                "segments of another length change nothing but rounding");
    return LH_OK;
}
