/* LSH attention, backward: the weights come again from the saved log sum exp over all rounds, so
 * rounds need nothing of one another. A tile adds to the gradients of the keys it sees, which are
 * those of few tiles before it; tiles far enough apart work at the same time, in turns. */
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/lsh_tile.h"

/* What a thread works in. */
typedef struct scratch {
    real lse[LH_ATTENTION_ROWS], delta[LH_ATTENTION_ROWS], bias[LH_ATTENTION_ROWS];
    real *tile, *q, *dout, *dq, *k, *v, *dk, *dv; /* [lanes or keys][head_width] */
    real *score, *gradient;                       /* [keys][lanes] */
} scratch;

static size_t scratch_bytes(const lh_lsh_tables *t) {
    const int64_t rows = 3 * LH_ATTENTION_ROWS * t->head_width;
    const int64_t keys = lh_lsh_most_keys(t) * (4 * t->head_width + 2 * LH_ATTENTION_ROWS);
    return lh_attention_align(sizeof(scratch)) +
           lh_attention_align((size_t)(lh_lsh_tile_elements(t) + rows + keys) * sizeof(real));
}

static scratch *lay_out(const lh_lsh_tables *t, uint8_t *memory) {
    scratch *work = (scratch *)(void *)memory;
    const int64_t rows = LH_ATTENTION_ROWS * t->head_width, keys = lh_lsh_most_keys(t);
    work->tile = (real *)(void *)(memory + lh_attention_align(sizeof *work));
    work->score = work->tile + lh_lsh_tile_elements(t);
    work->gradient = work->score + keys * LH_ATTENTION_ROWS;
    work->q = work->gradient + keys * LH_ATTENTION_ROWS;
    work->dout = work->q + rows;
    work->dq = work->dout + rows;
    work->k = work->dq + rows;
    work->v = work->k + keys * t->head_width;
    work->dk = work->v + keys * t->head_width;
    work->dv = work->dk + keys * t->head_width;
    return work;
}

/* What a tile knows of its queries. One that saw nobody gets a log sum exp of infinity. */
static void ready_lanes(const lh_lsh_attention_backward_args *args, const lh_lsh_tile *tile,
                        const real *delta, scratch *work) {
    const int64_t at = (tile->batch * args->heads + tile->head) * args->length;
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
            const real *bias = LH_CPU(lsh_bias)(tile, key, work->bias);
            lh_lane_gradient(lanes, score, gradient, bias, seen, work->lse, work->delta);
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

static void differentiate_tile(const lh_lsh_attention_backward_args *args, const lh_lsh_tile *tile,
                               const real *delta, scratch *work) {
    const int64_t width = args->head_width, rows = lh_lsh_rows(tile), lanes = lh_lsh_lanes(tile);
    const int64_t keys = tile->keys.end - tile->keys.begin;
    const lh_attention_rows q = {work->q, width}, k = {work->k, width}, v = {work->v, width};
    const lh_attention_rows dout = {work->dout, width}, dq = {work->dq, width};
    const lh_attention_rows dk = {work->dk, width}, dv = {work->dv, width};
    const lh_attention_rows score = {work->score, lanes}, gradient = {work->gradient, lanes};
    if (keys == 0) return;
    ready_lanes(args, tile, delta, work);
    LH_CPU(lsh_gather_queries)(tile, args->q, work->q);
    LH_CPU(lsh_gather_queries)(tile, args->dout, work->dout);
    LH_CPU(lsh_gather)(tile, tile->keys, args->k, work->k);
    LH_CPU(lsh_gather)(tile, tile->keys, args->v, work->v);
    lh_attention_product(false, true, keys, lanes, width, 1, k, q, 0, score);
    lh_attention_product(false, true, keys, lanes, width, 1, v, dout, 0, gradient);
    differentiate(tile, work);
    lh_attention_product(true, false, rows, width, keys, 1, gradient, k, 0, dq);
    lh_attention_product(false, false, keys, width, rows, 1, gradient, q, 0, dk);
    lh_attention_product(false, false, keys, width, rows, 1, score, dout, 0, dv);
    LH_CPU(lsh_scatter)(tile, tile->slots, work->dq, args->dq);
    LH_CPU(lsh_scatter)(tile, tile->keys, work->dk, args->dk);
    LH_CPU(lsh_scatter)(tile, tile->keys, work->dv, args->dv);
}

static void clear_row(lh_heads x, int64_t batch, int64_t head, int64_t token, int64_t width,
                      lh_write write) {
    if (!x.data || write == LH_ADD) return;
    real *row = lh_attention_rows_of(x, batch, head, token).data;
    for (int64_t d = 0; d < width; ++d)
        row[d] = 0;
}

/* What a token's gradients begin with, and delta = dout . out. Who saw nobody attended to itself:
 * its value gets dout. */
static void begin_token(const lh_lsh_attention_backward_args *args, int64_t pair, int64_t token,
                        real *delta) {
    const int64_t batch = pair / args->heads, head = pair % args->heads, width = args->head_width;
    const real *out = lh_attention_rows_of(args->out, batch, head, token).data;
    const real *dout = lh_attention_rows_of(args->dout, batch, head, token).data;
    const bool alone = args->lse[pair * args->length + token] == -LH_R(INFINITY);
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t d = 0; d < width; ++d)
        sum += out[d] * dout[d];
    delta[pair * args->length + token] = sum;
    clear_row(args->dq, batch, head, token, width, args->dq_write);
    clear_row(args->dk, batch, head, token, width, args->dk_write);
    clear_row(args->dv, batch, head, token, width, args->dv_write);
    if (!alone || !args->dv.data) return;
    real *dv = lh_attention_rows_of(args->dv, batch, head, token).data;
    for (int64_t d = 0; d < width; ++d)
        dv[d] += dout[d];
}

static void begin_tokens(const lh_lsh_attention_backward_args *args, real *delta) {
    const int64_t size = lh_rows_per_chunk(args->head_width);
    const int64_t count = args->batch * args->heads * args->length;
    const int64_t chunks = lh_chunk_count(count, size);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range range = lh_chunk(count, size, chunk);
        for (int64_t i = range.begin; i < range.end; ++i)
            begin_token(args, i / args->length, i % args->length, delta);
    }
}

static size_t delta_bytes(const lh_lsh_attention_backward_args *args) {
    return lh_attention_align((size_t)(args->batch * args->heads * args->length) * sizeof(real));
}

size_t LH_CPU(lsh_attention_backward_workspace)(const lh_lsh_attention_backward_args *args) {
    const lh_lsh_tables tables = LH_LSH_TABLES(args);
    return delta_bytes(args) + (size_t)lh_attention_slots() * scratch_bytes(&tables);
}

lh_status LH_CPU(lsh_attention_backward)(const lh_launch *launch,
                                         const lh_lsh_attention_backward_args *args) {
    const lh_lsh_tables tables = LH_LSH_TABLES(args);
    const lh_status status = LH_CPU(lsh_check)(&tables);
    if (status != LH_OK) return status;
    real *delta = launch->workspace;
    uint8_t *memory = (uint8_t *)launch->workspace + delta_bytes(args);
    const int64_t tiles = lh_lsh_tiles(&tables), pairs = args->batch * args->heads;
    const int64_t back = 2 * lh_min(args->chunk, args->length); /* slots that a tile looks back */
    const int64_t turns = lh_min(tiles, 1 + lh_chunk_count(back, LH_ATTENTION_ROWS));
    begin_tokens(args, delta);
    for (int64_t step = 0; step < args->rounds * turns; ++step) {
        const int64_t turn = step % turns, most = lh_chunk_count(tiles - turn, turns);
#pragma omp parallel for schedule(static) num_threads(lh_attention_threads()) if (pairs * most > 1)
        for (int64_t task = 0; task < pairs * most; ++task) {
            const size_t slot = (size_t)lh_attention_thread() * scratch_bytes(&tables);
            scratch *work = lay_out(&tables, memory + slot);
            const int64_t index = task / most * tiles + task % most * turns + turn;
            const lh_lsh_tile tile = LH_CPU(lsh_tile)(&tables, step / turns, index, work->tile);
            differentiate_tile(args, &tile, delta, work);
        }
    }
    return LH_OK;
}
