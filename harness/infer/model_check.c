/* The checks: each changes something that may not matter, and compares outputs bit for bit. */
#include "harness/infer/model_check.h"

#include "harness/infer/check_bench.h"
#include "harness/infer/check_gradients.h"
#include "harness/infer/check_segments.h"
#include "harness/train/adapter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 2 };

static lh_finding *next(lh_check_report *report) {
    return &report->finding[report->count++];
}

/* ---- outputs of all segments, two times ---- */

/* Which of them may not differ: of row `row` (-1: of all), from segment `segment` on, of positions
 * before `before`. */
typedef struct part {
    int64_t row, segment, before;
} part;

/* Where two runs differ first, and by how much at most. */
typedef struct gap {
    bool found;
    int64_t row, position; /* counted through all segments */
    double most;
} gap;

/* What is given of a segment are its last positions. */
static int64_t position_of(const lh_check_bench *b, int64_t segment, int64_t place) {
    return (segment + 1) * b->length - b->given + place;
}

static void compare_place(const lh_check_bench *b, const real *x, const real *y, int64_t row,
                          int64_t position, gap *out) {
    if (memcmp(x, y, (size_t)b->columns * sizeof *x) == 0) return;
    if (!out->found) *out = (gap){.found = true, .row = row, .position = position};
    for (int64_t c = 0; c < b->columns; ++c)
        out->most = fmax(out->most, fabs((double)x[c] - (double)y[c]));
}

static gap compare(const lh_check_bench *b, const real *x, const real *y, part of) {
    gap out = {0};
    const int64_t places = LH_CHECK_SEGMENTS * b->rows * b->given;
    for (int64_t i = 0; i < places; ++i) {
        const int64_t segment = i / b->given / b->rows, row = i / b->given % b->rows,
                      position = position_of(b, segment, i % b->given);
        const bool held =
            (of.row < 0 || of.row == row) && segment >= of.segment && position < of.before;
        if (held) compare_place(b, x + i * b->columns, y + i * b->columns, row, position, &out);
    }
    return out;
}

static int64_t end_of(const lh_check_bench *b) {
    return LH_CHECK_SEGMENTS * b->length;
}

/* ---- outputs of other inputs ---- */

/* Changes inputs, as from position `at` on or in row `at`. */
typedef void (*change)(const lh_check_bench *b, lh_check_inputs *inputs, int64_t at);

/* Where outputs differ from `values` once the inputs are changed. */
static lh_status compare_changed(lh_check_bench *b, const real *values, change make, int64_t at,
                                 part of, gap *out) {
    lh_check_inputs changed;
    real *answers = NULL;
    lh_status status = lh_check_inputs_copy(b, &changed);
    if (status == LH_OK) {
        make(b, &changed, at);
        status = lh_check_run(b, &changed, &answers);
    }
    if (status == LH_OK) *out = compare(b, values, answers, of);
    lh_check_inputs_clear(&changed);
    free(answers);
    return status;
}

static void change_from(const lh_check_bench *b, lh_check_inputs *inputs, int64_t position) {
    lh_check_inputs_change(b, inputs, -1, position);
}

/* ---- what is read ---- */

static bool are_finite(const lh_check_bench *b, const real *values) {
    for (int64_t i = 0; i < LH_CHECK_SEGMENTS * lh_check_count(b); ++i)
        if (!isfinite((double)values[i])) return false;
    return true;
}

/* Other inputs must give other outputs: a model that reads nothing passes all that follows. */
static lh_status check_outputs(lh_check_bench *b, const real *values, lh_finding *out) {
    gap found = {0};
    LH_TRY(compare_changed(b, values, change_from, 0, (part){-1, 0, end_of(b)}, &found));
    if (!are_finite(b, values))
        lh_find(out, "outputs", LH_CHECK_FAILED, "not all are finite numbers");
    else if (!found.found)
        lh_find(out, "outputs", LH_CHECK_FAILED, "other inputs give the same ones");
    else
        lh_find(out, "outputs", LH_CHECK_OK, "finite numbers, which depend on what is read");
    return LH_OK;
}

/* ---- causality ---- */

/* Everything from a cut on is another: what stands before it may not change. Cuts are of the last
 * segment, which has a state: a leak within chunks shows at one that lies in one. Most chunks end
 * in the middle, and of two cuts side by side one lies in any chunk. */
static lh_status check_cuts(lh_check_bench *b, const real *values, int most, lh_finding *out) {
    const int64_t length = b->length, first = end_of(b) - length,
                  cuts[] = {length / 2 + 1, length / 2, 1, 2, length - 1};
    for (int i = 0; i < most; ++i) {
        gap found = {0};
        const int64_t cut = first + lh_min(cuts[i], length - 1);
        LH_TRY(compare_changed(b, values, change_from, cut, (part){-1, 0, cut}, &found));
        if (!found.found) continue;
        lh_find(out, "causality", LH_CHECK_FAILED,
                "it declares LH_ABLE_CAUSAL, but what is read from position %lld on changes the "
                "output of position %lld (row %lld), by up to %.3g",
                (long long)cut, (long long)found.position, (long long)found.row, found.most);
        return LH_OK;
    }
    lh_find(out, "causality", LH_CHECK_OK,
            "what is read later changes no output before it, bit for bit");
    return LH_OK;
}

static lh_status check_causality(lh_check_bench *b, const real *values, int cuts, lh_finding *out) {
    const uint32_t abilities = b->spec->model->abilities;
    if ((abilities & LH_ABLE_CAUSAL) != 0) return check_cuts(b, values, cuts, out);
    lh_find(out, "causality", LH_CHECK_LEFT_OUT, "%s",
            (abilities & LH_ABLE_CAUSAL_BY_MASK) != 0
                ? "declared by mask alone: which keys are seen may depend on what is read later"
                : "not declared");
    return LH_OK;
}

/* ---- rows ---- */

/* A row gets other inputs, another source, and a document that begins elsewhere. */
static void change_row(const lh_check_bench *b, lh_check_inputs *inputs, int64_t row) {
    const int64_t sources = b->setup.source_length;
    lh_check_inputs_change(b, inputs, row, 0);
    for (int64_t i = 0; inputs->source != NULL && i < sources; ++i)
        inputs->source[row * sources + i] = 0;
    inputs->starts[(LH_CHECK_SEGMENTS - 1) * b->rows + row] ^= 1;
}

static lh_status check_rows(lh_check_bench *b, const real *values, lh_finding *out) {
    for (int64_t row = 0; row < ROWS; ++row) {
        gap found = {0};
        LH_TRY(compare_changed(b, values, change_row, 1 - row, (part){row, 0, end_of(b)}, &found));
        if (!found.found) continue;
        lh_find(
            out, "rows", LH_CHECK_FAILED,
            "what row %lld reads changes the output of row %lld at position %lld, by up to %.3g",
            (long long)(1 - row), (long long)row, (long long)found.position, found.most);
        return LH_OK;
    }
    lh_find(out, "rows", LH_CHECK_OK, "a row's outputs depend on that row alone, bit for bit");
    return LH_OK;
}

/* ---- state ---- */

/* Where the document before leaves something to one that begins. */
static lh_status check_fresh_start(lh_check_bench *b, const real *values, gap *out) {
    real *again = NULL;
    lh_status status = lh_check_run(b, &b->inputs, &again);
    if (status == LH_OK) *out = compare(b, values, again, (part){-1, 0, end_of(b)});
    free(again);
    return status;
}

/* What is carried, on the host: a tensor after the other. */
static lh_status read_state(const lh_state *state, void **kept) {
    for (int i = 0; i < lh_state_count(state); ++i) {
        const lh_tensor *tensor = lh_state_tensor(state, i);
        if (tensor == NULL) continue;
        const int64_t count = lh_tensor_count(tensor);
        kept[i] = lh_allocate((size_t)count * sizeof(real) + sizeof(int32_t));
        if (kept[i] == NULL) return LH_EMEMORY;
        LH_TRY(lh_tensor_read(tensor, kept[i], count));
    }
    return LH_OK;
}

static lh_status write_state(lh_state *state, void *const *kept) {
    for (int i = 0; i < lh_state_count(state); ++i) {
        lh_tensor *tensor = lh_state_tensor(state, i);
        if (tensor != NULL) LH_TRY(lh_tensor_write(tensor, kept[i], lh_tensor_count(tensor)));
    }
    return LH_OK;
}

/* Reads the last segment with the state that is kept before it, after another one came between. */
static lh_status read_again(lh_check_bench *b, void **kept, real *again) {
    const int64_t last = LH_CHECK_SEGMENTS - 1;
    for (int64_t s = 0; s < last; ++s)
        LH_TRY(lh_check_pass(b, &b->inputs, s, NULL));
    LH_TRY(read_state(b->state, kept));
    LH_TRY(lh_check_pass(b, &b->inputs, 0, NULL));
    LH_TRY(write_state(b->state, kept));
    return lh_check_pass(b, &b->inputs, last, again + last * lh_check_count(b));
}

/* Where the last segment differs when what is carried was saved and restored before it. */
static lh_status check_restored(lh_check_bench *b, const real *values, gap *out) {
    const int64_t last = LH_CHECK_SEGMENTS - 1;
    void **kept = lh_allocate_zeroed((size_t)lh_state_count(b->state) + 1, sizeof *kept);
    real *again =
        lh_allocate_zeroed((size_t)(LH_CHECK_SEGMENTS * lh_check_count(b)), sizeof *again);
    lh_status status = kept != NULL && again != NULL ? read_again(b, kept, again) : LH_EMEMORY;
    if (status == LH_OK) *out = compare(b, values, again, (part){-1, last, end_of(b)});
    for (int i = 0; kept != NULL && i < lh_state_count(b->state); ++i)
        free(kept[i]);
    free(kept);
    free(again);
    return status;
}

static void begin_all(const lh_check_bench *b, lh_check_inputs *inputs, int64_t first) {
    for (int64_t i = first; i < LH_CHECK_SEGMENTS * b->rows; ++i)
        inputs->starts[i] = 1;
}

/* Windows of a series that an adapter feeds overlap: none goes on. */
static bool begins_always(const lh_check_bench *b) {
    return (b->model->adapter.ways & LH_ADAPT_VECTORS) != 0 && b->setup.pred_len > 0;
}

static lh_status check_state(lh_check_bench *b, const real *values, lh_finding *out) {
    const bool declared =
        (b->spec->model->abilities & (LH_ABLE_STATE | LH_ABLE_STATE_TRUNCATED)) != 0 &&
        !begins_always(b);
    gap fresh = {0}, restored = {0}, carried = {0};
    LH_TRY(check_fresh_start(b, values, &fresh));
    LH_TRY(check_restored(b, values, &restored));
    LH_TRY(compare_changed(b, values, begin_all, 0, (part){-1, 0, end_of(b)}, &carried));
    if (fresh.found)
        lh_find(out, "state", LH_CHECK_FAILED,
                "where a document begins, what was read before it changes the output of position "
                "%lld (row %lld), by up to %.3g",
                (long long)fresh.position, (long long)fresh.row, fresh.most);
    else if (restored.found)
        lh_find(out, "state", LH_CHECK_FAILED,
                "saved and restored before position %lld, it gives another output at position %lld "
                "(row %lld), by up to %.3g: something else is carried",
                (long long)(end_of(b) - b->length), (long long)restored.position,
                (long long)restored.row, restored.most);
    else if (declared && !carried.found)
        lh_find(out, "state", LH_CHECK_FAILED,
                "the class declares that it carries some, but a segment's outputs are those of a "
                "fresh start");
    else
        lh_find(out, "state", LH_CHECK_OK, "%s",
                carried.found
                    ? "a document begins afresh; saved and restored it goes on bit for bit"
                    : "nothing is carried");
    return LH_OK;
}

/* ---- determinism ---- */

/* All that a model comes to from its options and a seed. */
typedef struct whole {
    int64_t parameters, outputs;
    real *values, *gradients, *answers;
} whole;

static lh_status read_whole(lh_check_bench *b, whole *out) {
    lh_params *params = b->model->params;
    out->parameters = lh_tensor_count(lh_params_values(params));
    out->outputs = LH_CHECK_SEGMENTS * lh_check_count(b);
    out->values = lh_allocate((size_t)out->parameters * sizeof *out->values);
    out->gradients = lh_allocate((size_t)out->parameters * sizeof *out->gradients);
    if (out->values == NULL || out->gradients == NULL) return LH_EMEMORY;
    LH_TRY(lh_tensor_read(lh_params_values(params), out->values, out->parameters));
    LH_TRY(lh_check_run(b, &b->inputs, &out->answers));
    LH_TRY(lh_check_differentiate(b, true));
    LH_TRY(lh_params_settle_gradients(params));
    LH_TRY(lh_tensor_read(lh_params_gradients(params), out->gradients, out->parameters));
    lh_params_clear_gradients(params);
    return LH_OK;
}

static void clear_whole(whole *of) {
    free(of->values);
    free(of->gradients);
    free(of->answers);
}

static bool same(const real *x, const real *y, int64_t count) {
    return memcmp(x, y, (size_t)count * sizeof *x) == 0;
}

static void compare_whole(const whole *a, const whole *b, lh_finding *out) {
    const char *differs = NULL;
    if (a->parameters != b->parameters || !same(a->values, b->values, a->parameters))
        differs = "initial values";
    else if (a->outputs != b->outputs || !same(a->answers, b->answers, a->outputs))
        differs = "outputs";
    else if (!same(a->gradients, b->gradients, a->parameters))
        differs = "gradients";
    if (differs == NULL)
        lh_find(out, "determinism", LH_CHECK_OK,
                "one seed gives the same initial values, outputs and gradients twice, bit for bit");
    else
        lh_find(out, "determinism", LH_CHECK_FAILED, "made twice from one seed it has other %s",
                differs);
}

static lh_status check_determinism(lh_check_bench *b, lh_finding *out) {
    lh_check_bench again;
    whole first = {0}, second = {0};
    lh_status status = lh_check_open(b->spec, b->rows, &again);
    if (status == LH_OK) status = read_whole(b, &first);
    if (status == LH_OK) status = read_whole(&again, &second);
    if (status == LH_OK) compare_whole(&first, &second, out);
    clear_whole(&first);
    clear_whole(&second);
    lh_check_close(&again);
    return status;
}

/* ---- what a token costs ---- */

static void check_flops(const lh_check_bench *b, lh_finding *out) {
    const double flops = lh_model_flops_per_token(b->model, b->length);
    const bool sound = isfinite(flops) && flops >= 0.0;
    lh_find(out, "flops", sound ? LH_CHECK_OK : LH_CHECK_FAILED,
            sound ? "%.3g for a token" : "%.3g for a token: it is to be a count", flops);
}

/* ---- the whole ---- */

/* Those of values before those of gradients, which tell of each parameter beside. */
static lh_status run_checks(lh_check_bench *b, real **values, lh_check_report *out) {
    enum { CUTS = 5, OTHERS = 7 };
    out->length = b->length;
    b->all = OTHERS + lh_params_count(b->model->params);
    lh_check_tell(b, "outputs");
    LH_TRY(lh_check_run(b, &b->inputs, values));
    LH_TRY(check_outputs(b, *values, next(out)));
    lh_check_tell(b, "causality");
    LH_TRY(check_causality(b, *values, CUTS, next(out)));
    lh_check_tell(b, "rows");
    LH_TRY(check_rows(b, *values, next(out)));
    lh_check_tell(b, "determinism");
    LH_TRY(check_determinism(b, next(out)));
    lh_check_tell(b, "state");
    LH_TRY(check_state(b, *values, next(out)));
    lh_check_tell(b, "segments");
    LH_TRY(lh_check_segments(b, next(out)));
    check_flops(b, next(out));
    LH_TRY(lh_check_gradients(b, next(out)));
    lh_check_tell(b, "parameters");
    return lh_check_reach(b, next(out));
}

lh_status lh_check_model(const lh_check_spec *spec, lh_check_report *out) {
    lh_check_bench bench;
    real *values = NULL;
    *out = (lh_check_report){0};
    lh_status status = lh_check_open(spec, ROWS, &bench);
    if (status == LH_OK) status = run_checks(&bench, &values, out);
    free(values);
    lh_check_close(&bench);
    return status;
}

static lh_status check_two_cuts(lh_check_bench *b, real **values, lh_finding *out) {
    LH_TRY(lh_check_run(b, &b->inputs, values));
    return check_causality(b, *values, 2, out);
}

lh_status lh_check_causality(const lh_check_spec *spec, lh_finding *out) {
    lh_check_bench bench;
    real *values = NULL;
    *out = (lh_finding){0};
    lh_status status = lh_check_open(spec, 1, &bench);
    if (status == LH_OK) status = check_two_cuts(&bench, &values, out);
    free(values);
    lh_check_close(&bench);
    return status;
}
