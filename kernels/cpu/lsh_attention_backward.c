/* LSH attention, backward: the weights come again from the saved log sum exp over all rounds, so
 * rounds need nothing of one another. A tile adds to the gradients of the keys it sees, which are
 * those of few tiles beside it; tiles far enough apart work at the same time, in turns. */
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/lsh_tile.h"
#include "kernels/product.h"

/* What a thread works in. */
typedef struct scratch {
    real lse[LH_ATTENTION_ROWS], delta[LH_ATTENTION_ROWS], bias[LH_ATTENTION_ROWS];
    real *tile, *q, *dout, *dq, *k, *v, *dk, *dv; /* [lanes or keys][head_width] */
    real *score, *gradient;                       /* [keys][lanes] */
    lh_attention_rounding *rounding;
} scratch;

static size_t tile_bytes(const lh_lsh_attention_spec *spec) {
    const int64_t rows = 3 * LH_ATTENTION_ROWS * spec->head_width;
    const int64_t keys = lh_lsh_most_keys(spec) * (4 * spec->head_width + 2 * LH_ATTENTION_ROWS);
    return lh_attention_align(sizeof(scratch)) +
           lh_attention_align((size_t)(lh_lsh_tile_elements(spec) + rows + keys) * sizeof(real));
}

static size_t scratch_bytes(const lh_lsh_attention_spec *spec) {
    return tile_bytes(spec) + lh_cpu_attention_rounding_bytes(spec->precision, spec->head_width);
}

static scratch *lay_out(const lh_lsh_attention_spec *spec, uint8_t *memory) {
    scratch *work = (scratch *)(void *)memory;
    const int64_t rows = LH_ATTENTION_ROWS * spec->head_width, keys = lh_lsh_most_keys(spec);
    work->tile = (real *)(void *)(memory + lh_attention_align(sizeof *work));
    work->score = work->tile + lh_lsh_tile_elements(spec);
    work->gradient = work->score + keys * LH_ATTENTION_ROWS;
    work->q = work->gradient + keys * LH_ATTENTION_ROWS;
    work->dout = work->q + rows;
    work->dq = work->dout + rows;
    work->k = work->dq + rows;
    work->v = work->k + keys * spec->head_width;
    work->dk = work->v + keys * spec->head_width;
    work->dv = work->dk + keys * spec->head_width;
    work->rounding =
        lh_cpu_attention_rounding(spec->precision, spec->head_width, memory + tile_bytes(spec));
    return work;
}

/* What a tile knows of its queries. One that saw nobody gets a log sum exp of infinity. */
static void ready_lanes(const lh_lsh_attention_backward_args *args, const lh_lsh_tile *tile,
                        const real *delta, scratch *work) {
    const int64_t at = (tile->batch * args->spec.heads + tile->head) * args->spec.length;
    lh_lane_fill(LH_ATTENTION_ROWS, work->lse, LH_R(INFINITY));
    lh_lane_fill(LH_ATTENTION_ROWS, work->delta, 0);
    for (int64_t row = 0; row < lh_lsh_rows(tile); ++row) {
        const int64_t token = at + tile->order[tile->slots.begin + row];
        const real lse = args->lse[token];
        work->lse[row] = lse == -LH_R(INFINITY) ? LH_R(INFINITY) : lse;
        work->delta[row] = delta[token];
    }
}

/* Scores and gradients of the weights to the weights and gradients of the scores. */
LH_SPECIALIZED void differentiate_lanes(const lh_lsh_tile *tile, int64_t lanes, scratch *work) {
    real *score = work->score, *gradient = work->gradient;
    int64_t end = 0;
    for (int64_t key = tile->keys.begin; key < tile->keys.end; ++key) {
        const lh_range seen = lh_lsh_seen(tile, key, &end);
        if (seen.begin == seen.end) {
            lh_lane_fill(lanes, score, 0);
            lh_lane_fill(lanes, gradient, 0);
        } else {
            const real *bias = lh_cpu_lsh_bias(tile, key, work->bias);
            lh_lane_gradient(lanes, 1, score, gradient, bias, seen, work->lse, work->delta);
        }
        score += lanes;
        gradient += lanes;
    }
}

static void differentiate(const lh_lsh_tile *tile, scratch *work) {
    const int64_t lanes = lh_lsh_lanes(tile);
    if (lanes == LH_ATTENTION_ROWS)
        differentiate_lanes(tile, LH_ATTENTION_ROWS, work);
    else
        differentiate_lanes(tile, lanes, work);
}

static void multiply(const scratch *work, bool transpose_a, bool transpose_b, int64_t m, int64_t n,
                     int64_t k, lh_attention_operand a, lh_attention_operand b, lh_rows c) {
    lh_cpu_attention_multiply(work->rounding, transpose_a, transpose_b, m, n, k, 1, a, b, LH_SET,
                              c);
}

static void differentiate_tile(const lh_lsh_attention_backward_args *args, const lh_lsh_tile *tile,
                               const real *delta, scratch *work) {
    const int64_t width = args->spec.head_width;
    const int64_t rows = lh_lsh_rows(tile), lanes = lh_lsh_lanes(tile);
    const int64_t keys = tile->keys.end - tile->keys.begin;
    const lh_attention_operand q = {work->q, width, LH_REAL}, k = {work->k, width, LH_REAL};
    const lh_attention_operand v = {work->v, width, LH_REAL}, dout = {work->dout, width, LH_REAL};
    const lh_rows dq = {work->dq, width}, dk = {work->dk, width}, dv = {work->dv, width};
    const lh_rows score = {work->score, lanes}, gradient = {work->gradient, lanes};
    if (keys == 0) return;
    ready_lanes(args, tile, delta, work);
    lh_cpu_lsh_gather_queries(tile, args->q, work->q);
    lh_cpu_lsh_gather_queries(tile, args->dout, work->dout);
    lh_cpu_lsh_gather(tile, tile->keys, args->k, work->k);
    lh_cpu_lsh_gather(tile, tile->keys, args->v, work->v);
    multiply(work, false, true, keys, lanes, width, k, q, score);
    multiply(work, false, true, keys, lanes, width, v, dout, gradient);
    differentiate(tile, work);
    const lh_attention_operand slope = lh_attention_reals(gradient);
    multiply(work, true, false, rows, width, keys, slope, k, dq);
    multiply(work, false, false, keys, width, rows, slope, q, dk);
    multiply(work, false, false, keys, width, rows, lh_attention_reals(score), dout, dv);
    lh_cpu_lsh_scatter(tile, tile->slots, work->dq, args->dq);
    lh_cpu_lsh_scatter(tile, tile->keys, work->dk, args->dk);
    lh_cpu_lsh_scatter(tile, tile->keys, work->dv, args->dv);
}

static void clear_row(lh_heads x, int64_t batch, int64_t head, int64_t token, int64_t width,
                      lh_write write) {
    if (!x.act.data || write == LH_ADD) return;
    real *row = lh_head_rows(x, batch, head, token).data;
    for (int64_t d = 0; d < width; ++d)
        row[d] = 0;
}

/* What a token's gradients begin with, and delta = dout . out. Who saw nobody attended to itself:
 * its value gets dout. */
static void begin_token(const lh_lsh_attention_backward_args *args, int64_t pair, int64_t token,
                        real *delta) {
    const int64_t batch = pair / args->spec.heads, head = pair % args->spec.heads;
    const int64_t width = args->spec.head_width;
    const real *out = lh_head_rows(args->out, batch, head, token).data;
    const real *dout = lh_head_rows(args->dout, batch, head, token).data;
    const bool alone = args->lse[pair * args->spec.length + token] == -LH_R(INFINITY);
    delta[pair * args->spec.length + token] = lh_attention_dot(width, out, dout);
    clear_row(args->dq, batch, head, token, width, args->dq_write);
    clear_row(args->dk, batch, head, token, width, args->dk_write);
    clear_row(args->dv, batch, head, token, width, args->dv_write);
    if (!alone || !args->dv.act.data) return;
    real *dv = lh_head_rows(args->dv, batch, head, token).data;
    for (int64_t d = 0; d < width; ++d)
        dv[d] += dout[d];
}

static void begin_tokens(const lh_lsh_attention_backward_args *args, real *delta) {
    const int64_t size = lh_rows_per_chunk(args->spec.head_width);
    const int64_t count = args->spec.batch * args->spec.heads * args->spec.length;
    const int64_t chunks = lh_chunk_count(count, size);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range range = lh_chunk(count, size, chunk);
        for (int64_t i = range.begin; i < range.end; ++i)
            begin_token(args, i / args->spec.length, i % args->spec.length, delta);
    }
}

static size_t delta_bytes(const lh_lsh_attention_backward_args *args) {
    return lh_attention_align((size_t)(args->spec.batch * args->spec.heads * args->spec.length) *
                              sizeof(real));
}

size_t lh_cpu_lsh_attention_backward_workspace(const lh_lsh_attention_backward_args *args) {
    return delta_bytes(args) + (size_t)lh_attention_slots() * scratch_bytes(&args->spec);
}

lh_status lh_cpu_lsh_attention_backward(const lh_launch *launch,
                                        const lh_lsh_attention_backward_args *args) {
    const lh_lsh_attention_spec *spec = &args->spec;
    if (!lh_product_knows(args->q.act.dtype, spec->precision)) return LH_EOPTION;
    real *delta = launch->workspace;
    uint8_t *memory = (uint8_t *)launch->workspace + delta_bytes(args);
    const int64_t tiles = lh_lsh_tiles(spec), pairs = spec->batch * spec->heads;
    const int64_t turns = lh_min(tiles, 1 + lh_chunk_count(lh_lsh_reach(spec), LH_ATTENTION_ROWS));
    int worst = LH_OK;
    begin_tokens(args, delta);
    for (int64_t step = 0; step < spec->rounds * turns; ++step) {
        const int64_t turn = step % turns, most = lh_chunk_count(tiles - turn, turns);
#pragma omp parallel for schedule(static) num_threads(lh_attention_threads())                      \
    reduction(max                                                                                  \
              : worst) if (pairs * most > 1)
        for (int64_t task = 0; task < pairs * most; ++task) {
            const size_t slot = (size_t)lh_attention_thread() * scratch_bytes(spec);
            scratch *work = lay_out(spec, memory + slot);
            const int64_t index = task / most * tiles + task % most * turns + turn;
            const lh_lsh_tile tile = lh_cpu_lsh_tile(spec, step / turns, index, work->tile);
            differentiate_tile(args, &tile, delta, work);
            worst = (int)lh_max(worst, lh_attention_outcome(work->rounding));
        }
    }
    return (lh_status)worst;
}
