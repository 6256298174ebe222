/* The model, its inputs and its passes. */
#include "harness/infer/check_bench.h"

#include "harness/engine/draw.h"
#include "harness/train/adapter.h"
#include "harness/train/batch.h"
#include "harness/train/loss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The shortest segment that is tried first, the longest that is tried at all. */
enum { USUAL = 16, LONGEST = 1 << 16 };

/* ---- the model ---- */

bool lh_check_takes(const lh_model *model, int64_t length) {
    const lh_status before = lh_error_get()->status;
    if (lh_model_check(model, length) == LH_OK) return true;
    lh_error_survive(before);
    return false;
}

/* The shortest length from USUAL on that the model takes, else the longest below it; `most` where
 * it takes none. */
static int64_t find_length(const lh_model *model, int64_t most) {
    const int64_t usual = lh_min(USUAL, most);
    for (int64_t length = usual; length <= most; ++length)
        if (lh_check_takes(model, length)) return length;
    for (int64_t length = usual - 1; length > 0; --length)
        if (lh_check_takes(model, length)) return length;
    return most;
}

/* A class that does not tell which lengths it takes is given that of its task. */
static int64_t length_of(const lh_check_spec *spec, const lh_model *model) {
    const lh_model_setup *setup = &spec->setup;
    const bool tells = model->class->check != NULL &&
                       (model->class->abilities & LH_NEEDS_ONE_LENGTH) == 0 && setup->pred_len == 0;
    if (spec->length > 0)
        return spec->shorter && tells ? find_length(model, spec->length) : spec->length;
    return setup->pred_len > 0 ? setup->seq_len + setup->pred_len : find_length(model, LONGEST);
}

/* Adds to each value a tenth of what is usual in its parameter. */
static lh_status disturb_param(const lh_param *param, lh_random_key key) {
    real *values = lh_allocate((size_t)param->count * sizeof *values);
    if (values == NULL) return LH_EMEMORY;
    lh_status status = lh_tensor_read(param->value, values, param->count);
    double squares = 0.0;
    for (int64_t i = 0; status == LH_OK && i < param->count; ++i)
        squares += (double)values[i] * (double)values[i];
    const double usual = squares > 0.0 ? sqrt(squares / (double)param->count) : 0.2;
    for (int64_t i = 0; status == LH_OK && i < param->count; ++i)
        values[i] += (real)(0.1 * usual * lh_random_normal(key, (uint64_t)i));
    if (status == LH_OK) status = lh_tensor_write(param->value, values, param->count);
    free(values);
    return status;
}

static lh_status disturb(const lh_params *params, uint64_t seed) {
    for (int i = 0; i < lh_params_count(params); ++i) {
        const lh_random_key key = {.seed = seed, .stream = LH_STREAM_SAMPLE, .op = (uint32_t)i};
        const lh_param *param = lh_params_at(params, i);
        if (!param->statistic) LH_TRY(disturb_param(param, key));
    }
    return LH_OK;
}

/* ---- inputs ---- */

/* How many numbers all segments have of each array. */
typedef struct sizes {
    size_t positions, rows, source, past, vectors, target_vectors;
} sizes;

static sizes sizes_of(const lh_check_bench *b) {
    const lh_model_setup *setup = &b->setup;
    const int64_t rows = LH_CHECK_SEGMENTS * b->rows, positions = rows * b->length;
    return (sizes){
        .positions = (size_t)positions,
        .rows = (size_t)rows,
        .source = (size_t)(b->rows * setup->source_length),
        .past = (size_t)(rows * setup->past_length),
        .vectors = (size_t)(positions * setup->input_features),
        .target_vectors = (size_t)(rows * b->target_length * setup->output_features),
    };
}

static lh_random_key key_of(const lh_check_bench *b, uint32_t array) {
    return (lh_random_key){.seed = b->spec->seed, .stream = LH_STREAM_DATA, .op = array};
}

/* Integers from `least` to `most`; NULL where there are none to draw. */
static lh_status draw_integers(const lh_check_bench *b, uint32_t array, size_t count, int64_t least,
                               int64_t most, int32_t **out) {
    lh_draws draws = {.key = key_of(b, array)};
    if (count == 0 || most < least) return LH_OK;
    *out = lh_allocate(count * sizeof **out);
    for (size_t i = 0; *out != NULL && i < count; ++i)
        (*out)[i] = (int32_t)(least + lh_draw(&draws, most - least + 1));
    return *out != NULL ? LH_OK : LH_EMEMORY;
}

static lh_status draw_reals(const lh_check_bench *b, uint32_t array, size_t count, real **out) {
    lh_draws draws = {.key = key_of(b, array)};
    if (count == 0) return LH_OK;
    *out = lh_allocate(count * sizeof **out);
    for (size_t i = 0; *out != NULL && i < count; ++i)
        (*out)[i] = (real)lh_draw_normal(&draws);
    return *out != NULL ? LH_OK : LH_EMEMORY;
}

/* Whether number i of vectors [...][length][features] is one that a window does not know yet. */
static bool is_unknown(const lh_check_bench *b, size_t i) {
    const lh_model_setup *setup = &b->setup;
    const int64_t step = (int64_t)i / setup->input_features % b->length,
                  feature = (int64_t)i % setup->input_features;
    return step >= b->length - setup->pred_len &&
           feature < setup->input_features - setup->time_features;
}

/* Targets of a task that asks yes or no for each entry are 0 or 1. */
static void round_targets(const lh_check_bench *b, size_t count, real *targets) {
    for (size_t i = 0; b->setup.vocabulary > 0 && i < count; ++i)
        targets[i] = targets[i] > LH_R(0) ? LH_R(1) : LH_R(0);
}

static lh_status draw_inputs(const lh_check_bench *b, lh_check_inputs *in) {
    const lh_model_setup *setup = &b->setup;
    const sizes size = sizes_of(b);
    const bool reads_vectors = setup->vocabulary == 0, answers = setup->output_features > 0;
    const int64_t targets = setup->classes > 0 ? setup->classes : setup->vocabulary;
    const size_t encoded = setup->source_vocabulary > 0 ? size.source : 0;
    LH_TRY(draw_integers(b, 1, size.positions, 0, setup->vocabulary - 1, &in->tokens));
    LH_TRY(draw_integers(b, 2, answers ? 0 : size.positions, 0, targets - 1, &in->target));
    LH_TRY(draw_integers(b, 3, encoded, 0, setup->source_vocabulary - 1, &in->source));
    LH_TRY(draw_integers(b, 4, encoded > 0 ? (size_t)b->rows : 0, (setup->source_length + 1) / 2,
                         setup->source_length, &in->source_count));
    LH_TRY(draw_integers(b, 5, size.past, 0, setup->vocabulary - 1, &in->past));
    LH_TRY(draw_integers(b, 6, size.past > 0 ? size.rows : 0, setup->past_length,
                         setup->past_length, &in->past_count));
    LH_TRY(draw_reals(b, 7, reads_vectors ? size.vectors : 0, &in->vectors));
    LH_TRY(draw_reals(b, 8, size.target_vectors, &in->target_vectors));
    for (size_t i = 0; in->vectors != NULL && i < size.vectors; ++i)
        if (is_unknown(b, i)) in->vectors[i] = LH_R(0);
    round_targets(b, size.target_vectors, in->target_vectors);
    in->starts = lh_allocate_zeroed(size.rows, sizeof *in->starts);
    for (int64_t r = 0; in->starts != NULL && r < b->rows; ++r) {
        in->starts[r] = 1;
        in->starts[(LH_CHECK_SEGMENTS - 1) * b->rows + r] = r > 0;
    }
    return in->starts != NULL ? LH_OK : LH_EMEMORY;
}

/* NULL of NULL, and after LH_EMEMORY, which *status keeps. */
static void *copy_of(const void *from, size_t bytes, lh_status *status) {
    void *copy = from != NULL && *status == LH_OK ? lh_allocate(bytes) : NULL;
    if (copy != NULL)
        memcpy(copy, from, bytes);
    else if (from != NULL)
        *status = LH_EMEMORY;
    return copy;
}

lh_status lh_check_inputs_copy(const lh_check_bench *bench, lh_check_inputs *out) {
    const sizes size = sizes_of(bench);
    const lh_check_inputs *in = &bench->inputs;
    const size_t whole = sizeof(int32_t), number = sizeof(real);
    lh_status status = LH_OK;
    out->tokens = copy_of(in->tokens, size.positions * whole, &status);
    out->target = copy_of(in->target, size.positions * whole, &status);
    out->source = copy_of(in->source, size.source * whole, &status);
    out->source_count = copy_of(in->source_count, (size_t)bench->rows * whole, &status);
    out->past = copy_of(in->past, size.past * whole, &status);
    out->past_count = copy_of(in->past_count, size.rows * whole, &status);
    out->starts = copy_of(in->starts, size.rows * whole, &status);
    out->vectors = copy_of(in->vectors, size.vectors * number, &status);
    out->target_vectors = copy_of(in->target_vectors, size.target_vectors * number, &status);
    return status;
}

void lh_check_inputs_clear(lh_check_inputs *inputs) {
    free(inputs->tokens);
    free(inputs->target);
    free(inputs->source);
    free(inputs->source_count);
    free(inputs->past);
    free(inputs->past_count);
    free(inputs->starts);
    free(inputs->vectors);
    free(inputs->target_vectors);
    *inputs = (lh_check_inputs){0};
}

/* Position `at` [segments][rows][length] gets another token or vector. */
static void change_position(const lh_check_bench *b, lh_check_inputs *in, int64_t at) {
    const int64_t features = b->setup.input_features, vocabulary = b->setup.vocabulary;
    if (in->tokens != NULL)
        in->tokens[at] =
            (int32_t)((in->tokens[at] + 1 + at % lh_max(vocabulary - 1, 1)) % vocabulary);
    for (int64_t i = at * features; in->vectors != NULL && i < (at + 1) * features; ++i)
        if (!is_unknown(b, (size_t)i)) in->vectors[i] = LH_R(0.5) - in->vectors[i];
}

void lh_check_inputs_change(const lh_check_bench *bench, lh_check_inputs *inputs, int64_t row,
                            int64_t from) {
    const int64_t positions = LH_CHECK_SEGMENTS * bench->rows * bench->length;
    for (int64_t i = 0; i < positions; ++i) {
        const int64_t of = i / bench->length % bench->rows,
                      segment = i / bench->length / bench->rows,
                      at = segment * bench->length + i % bench->length;
        if ((row < 0 || row == of) && at >= from) change_position(bench, inputs, i);
    }
}

/* ---- passes ---- */

lh_status lh_check_upload(lh_check_bench *bench, const lh_check_inputs *inputs, int64_t segment,
                          lh_host_batch *host) {
    const lh_model_setup *setup = &bench->setup;
    const int64_t row = segment * bench->rows, at = row * bench->length;
    *host = (lh_host_batch){.rows = bench->rows,
                            .length = bench->length,
                            .source_length = setup->source_length,
                            .target_length = bench->target_length,
                            .tokens = lh_integers_from(inputs->tokens, at),
                            .target = lh_integers_from(inputs->target, at),
                            .starts = lh_integers_from(inputs->starts, row),
                            .source_tokens = inputs->source,
                            .source_count = inputs->source_count,
                            .past = lh_integers_from(inputs->past, row * setup->past_length),
                            .past_count = lh_integers_from(inputs->past_count, row),
                            .vectors = lh_reals_from(inputs->vectors, at * setup->input_features),
                            .target_vectors =
                                lh_reals_from(inputs->target_vectors,
                                              row * bench->target_length * setup->output_features)};
    return lh_model_upload(bench->pool, bench->model, host, &bench->batch);
}

int64_t lh_check_count(const lh_check_bench *bench) {
    return bench->rows * bench->given * bench->columns;
}

static lh_status read_outputs(lh_check_bench *bench, const lh_host_batch *host, lh_output *output,
                              real *values) {
    if ((bench->model->adapter.ways & LH_ADAPT_JOIN) != 0)
        LH_TRY(lh_model_pick(bench->tape, bench->model, host, 0, bench->length, output));
    const lh_tensor *y = lh_loss_logits(bench->tape, output);
    if (y == NULL) return lh_failed();
    if (y->rank != 3 || y->shape[0] != bench->rows)
        return lh_fail(LH_ESHAPE, "%s: outputs are %s, for %lld rows", bench->model->class->name,
                       lh_shape_text(y), (long long)bench->rows);
    /* values have room for what the first pass gave */
    if (values != NULL && (y->shape[1] != bench->given || y->shape[2] != bench->columns))
        return lh_fail(LH_ESHAPE, "%s: outputs are %s, and were %lld by %lld a row before",
                       bench->model->class->name, lh_shape_text(y), (long long)bench->given,
                       (long long)bench->columns);
    bench->given = y->shape[1];
    bench->columns = y->shape[2];
    return values != NULL ? lh_tensor_read(y, values, lh_tensor_count(y)) : LH_OK;
}

lh_status lh_check_pass(lh_check_bench *bench, const lh_check_inputs *inputs, int64_t segment,
                        real *values) {
    lh_output output = {0};
    lh_host_batch host;
    LH_TRY(lh_check_upload(bench, inputs, segment, &host));
    lh_tape_begin(bench->tape, false, bench->spec->seed, (uint64_t)segment);
    const lh_scope scope = lh_scope_open(bench->tape);
    LH_TRY(
        lh_model_forward(bench->model, bench->tape, bench->state, &bench->batch, false, &output));
    LH_TRY(read_outputs(bench, &host, &output, values));
    LH_TRY(lh_state_commit(bench->state));
    lh_scope_close(bench->tape, scope, NULL);
    return LH_OK;
}

lh_status lh_check_run(lh_check_bench *bench, const lh_check_inputs *inputs, real **values) {
    const int64_t count = lh_check_count(bench);
    *values = lh_allocate((size_t)(LH_CHECK_SEGMENTS * count) * sizeof **values);
    if (*values == NULL) return LH_EMEMORY;
    for (int64_t s = 0; s < LH_CHECK_SEGMENTS; ++s)
        LH_TRY(lh_check_pass(bench, inputs, s, *values + s * count));
    return LH_OK;
}

/* ---- one document in other segments ---- */

/* Where number i of [segments][rows][from] stands in [segments][rows][to]. */
static int64_t place_of(int64_t rows, int64_t from, int64_t to, int64_t i) {
    const int64_t row = i / from % rows, at = i / from / rows * from + i % from;
    return (at / to * rows + row) * to + at % to;
}

/* The same with `bytes` at each position. */
static void move_places(const lh_check_bench *b, int64_t from, int64_t to, size_t bytes,
                        const void *x, void *y) {
    const int64_t positions = LH_CHECK_SEGMENTS * b->rows * b->length;
    for (int64_t i = 0; x != NULL && i < positions; ++i)
        memcpy((char *)y + (size_t)place_of(b->rows, from, to, i) * bytes,
               (const char *)x + (size_t)i * bytes, bytes);
}

/* A copy of the inputs, one document a row, in segments of `length`. */
static lh_status divide_inputs(const lh_check_bench *b, int64_t length, lh_check_inputs *out) {
    const lh_check_inputs *in = &b->inputs;
    const lh_model_setup *setup = &b->setup;
    const int64_t segments = LH_CHECK_SEGMENTS * b->length / length;
    LH_TRY(lh_check_inputs_copy(b, out));
    move_places(b, b->length, length, sizeof *in->tokens, in->tokens, out->tokens);
    move_places(b, b->length, length, sizeof *in->target, in->target, out->target);
    move_places(b, b->length, length, (size_t)setup->input_features * sizeof(real), in->vectors,
                out->vectors);
    move_places(b, b->length, length, (size_t)setup->output_features * sizeof(real),
                in->target_vectors, out->target_vectors);
    free(out->starts);
    out->starts = lh_allocate_zeroed((size_t)(segments * b->rows), sizeof *out->starts);
    for (int64_t r = 0; out->starts != NULL && r < b->rows; ++r)
        out->starts[r] = 1;
    return out->starts != NULL ? LH_OK : LH_EMEMORY;
}

/* Passes over segments of `length`, which the bench has meanwhile. */
static lh_status run_divided(lh_check_bench *bench, const lh_check_inputs *inputs, int64_t length,
                             real *values) {
    const int64_t own = bench->length, count = bench->rows * length * bench->columns;
    lh_status status = LH_OK;
    bench->length = bench->target_length = bench->given = length;
    for (int64_t s = 0; status == LH_OK && s < LH_CHECK_SEGMENTS * own / length; ++s)
        status = lh_check_pass(bench, inputs, s, values + s * count);
    bench->length = bench->target_length = bench->given = own;
    return status;
}

lh_status lh_check_run_divided(lh_check_bench *bench, int64_t length, real **values) {
    const int64_t whole = LH_CHECK_SEGMENTS * bench->length;
    const size_t count = (size_t)(bench->rows * whole * bench->columns);
    lh_check_inputs inputs;
    real *parts = lh_allocate(count * sizeof *parts);
    *values = lh_allocate(count * sizeof **values);
    lh_status status = divide_inputs(bench, length, &inputs);
    if (parts == NULL || *values == NULL) status = LH_EMEMORY;
    if (status == LH_OK) status = run_divided(bench, &inputs, length, parts);
    if (status == LH_OK)
        move_places(bench, length, whole, (size_t)bench->columns * sizeof **values, parts, *values);
    lh_check_inputs_clear(&inputs);
    free(parts);
    return status;
}

/* ---- the whole ---- */

lh_status lh_check_open(const lh_check_spec *spec, int64_t rows, lh_check_bench *bench) {
    *bench = (lh_check_bench){.spec = spec, .setup = spec->setup, .rows = rows};
    LH_TRY(lh_pool_open_device("cpu", &bench->device));
    LH_TRY(lh_pool_create(bench->device, &bench->pool));
    LH_TRY(lh_tape_create(bench->pool, &bench->tape));
    LH_TRY(lh_model_create_for(spec->model, spec->options, &bench->setup, &bench->model));
    bench->length = length_of(spec, bench->model);
    bench->target_length = spec->setup.pred_len > 0 ? spec->setup.pred_len : bench->length;
    LH_TRY(lh_model_check(bench->model, bench->length));
    LH_TRY(lh_params_allocate(bench->model->params, bench->pool));
    LH_TRY(lh_params_initialize(bench->model->params, spec->seed));
    LH_TRY(disturb(bench->model->params, spec->seed));
    LH_TRY(lh_state_create(bench->model, bench->pool, rows, &bench->state));
    LH_TRY(draw_inputs(bench, &bench->inputs));
    LH_TRY(lh_check_pass(bench, &bench->inputs, 0, NULL)); /* tells how many numbers there are */
    return lh_state_clear(bench->state);
}

void lh_check_tell(lh_check_bench *bench, const char *what) {
    const lh_check_spec *spec = bench->spec;
    if (spec->hear != NULL) spec->hear(spec->context, what, bench->done, bench->all);
    bench->done += 1;
}

void lh_check_close(lh_check_bench *bench) {
    lh_batch_clear(&bench->batch);
    lh_check_inputs_clear(&bench->inputs);
    if (bench->tape != NULL) lh_tape_destroy(bench->tape);
    lh_state_destroy(bench->state);
    if (bench->model != NULL) lh_model_destroy(bench->model);
    if (bench->pool != NULL) lh_pool_destroy(bench->pool);
    lh_device_close(bench->device);
}
