/* LSH attention, forward. One round after the other, each joined to what the rounds before it gave
 * by their partition functions (Kitaev et al. 2020, eq. 7). */
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/lsh_tile.h"
#include "kernels/product.h"

/* What a thread works in. */
typedef struct scratch {
    real maximum[LH_ATTENTION_ROWS], shift[LH_ATTENTION_ROWS], sum[LH_ATTENTION_ROWS];
    real bias[LH_ATTENTION_ROWS];
    real *tile, *q, *k, *v, *out; /* [lanes or keys][head_width] */
    real *score;                  /* [keys][lanes] */
    lh_attention_rounding *rounding;
} scratch;

static size_t tile_bytes(const lh_lsh_attention_spec *spec) {
    const int64_t rows = 2 * LH_ATTENTION_ROWS * spec->head_width;
    const int64_t keys = lh_lsh_most_keys(spec) * (2 * spec->head_width + LH_ATTENTION_ROWS);
    return lh_attention_align(sizeof(scratch)) +
           lh_attention_align((size_t)(lh_lsh_tile_elements(spec) + rows + keys) * sizeof(real));
}

static size_t scratch_bytes(const lh_lsh_attention_spec *spec) {
    return tile_bytes(spec) + lh_cpu_attention_rounding_bytes(spec->precision, spec->head_width);
}

static scratch *lay_out(const lh_lsh_attention_spec *spec, uint8_t *memory) {
    scratch *work = (scratch *)(void *)memory;
    const int64_t rows = LH_ATTENTION_ROWS * spec->head_width;
    work->tile = (real *)(void *)(memory + lh_attention_align(sizeof *work));
    work->score = work->tile + lh_lsh_tile_elements(spec);
    work->q = work->score + lh_lsh_most_keys(spec) * LH_ATTENTION_ROWS;
    work->out = work->q + rows;
    work->k = work->out + rows;
    work->v = work->k + lh_lsh_most_keys(spec) * spec->head_width;
    work->rounding =
        lh_cpu_attention_rounding(spec->precision, spec->head_width, memory + tile_bytes(spec));
    return work;
}

/* Scores to weights exp(score - maximum), their sums in work->sum. What the next tile will gather
 * is asked for meanwhile, a row with each key: all at once would wait for one another. */
LH_SPECIALIZED void weigh_lanes(const lh_lsh_attention_forward_args *args, const lh_lsh_tile *tile,
                                int64_t lanes, scratch *work) {
    real *score = work->score;
    int64_t end = 0;
    lh_lane_fill(lanes, work->maximum, -LH_R(INFINITY));
    lh_lane_fill(lanes, work->sum, 0);
    for (int64_t key = tile->keys.begin; key < tile->keys.end; ++key, score += lanes) {
        const lh_range seen = lh_lsh_seen(tile, key, &end);
        lh_lsh_prefetch(tile, key - tile->keys.begin, args->q);
        lh_lsh_prefetch(tile, key - tile->keys.begin, args->k);
        if (seen.begin == seen.end)
            lh_lane_fill(lanes, score, -LH_R(INFINITY));
        else
            lh_lane_mask(lanes, 1, score, lh_cpu_lsh_bias(tile, key, work->bias), seen,
                         work->maximum);
    }
#pragma omp simd
    for (int64_t l = 0; l < lanes; ++l)
        work->shift[l] = work->maximum[l] == -LH_R(INFINITY) ? 0 : work->maximum[l];
    score = work->score;
    for (int64_t key = tile->keys.begin; key < tile->keys.end; ++key, score += lanes) {
        lh_lsh_prefetch(tile, key - tile->keys.begin, args->v);
        lh_lane_exp(lanes, score, work->shift, work->sum);
    }
}

static void weigh(const lh_lsh_attention_forward_args *args, const lh_lsh_tile *tile,
                  scratch *work) {
    const int64_t lanes = lh_lsh_lanes(tile);
    if (lanes == LH_ATTENTION_ROWS)
        weigh_lanes(args, tile, LH_ATTENTION_ROWS, work);
    else
        weigh_lanes(args, tile, lanes, work);
}

static void set_row(real *y, const real *x, real factor, int64_t width) {
    for (int64_t d = 0; d < width; ++d)
        y[d] = factor * x[d];
}

/* out of the rounds before, with partition function exp(lse), and x of this one with exp(now). */
static void mix_rows(real *out, real *lse, const real *x, real now, real inverse, int64_t width) {
    const real most = *lse > now ? *lse : now;
    const real joined = most + (real)log((double)(lh_exp(*lse - most) + lh_exp(now - most)));
    const real before = lh_exp(*lse - joined), here = lh_exp(now - joined) * inverse;
    for (int64_t d = 0; d < width; ++d)
        out[d] = before * out[d] + here * x[d];
    *lse = joined;
}

/* Joins a round's row to the rounds before it; a token that saw nobody in any gets its own value.
 */
static void join_row(const lh_lsh_attention_forward_args *args, const lh_lsh_tile *tile,
                     int64_t row, const scratch *work) {
    const int64_t width = args->spec.head_width;
    const int64_t token = tile->order[tile->slots.begin + row];
    const real *x = work->out + row * width, sum = work->sum[row];
    real *out = lh_head_rows(args->out, tile->batch, tile->head, token).data;
    const int64_t pair = tile->batch * args->spec.heads + tile->head;
    real *lse = args->lse + pair * args->spec.length + token;
    const bool first = tile->round == 0 || *lse == -LH_R(INFINITY);
    if (sum != 0) {
        const real now = work->shift[row] + (real)log((double)sum);
        if (!first) {
            mix_rows(out, lse, x, now, 1 / sum, width);
            return;
        }
        set_row(out, x, 1 / sum, width);
        *lse = now;
    } else if (first) {
        const int64_t slot = tile->slots.begin + row;
        lh_cpu_lsh_gather(tile, (lh_range){slot, slot + 1}, args->v, out);
        *lse = -LH_R(INFINITY);
    }
}

static void attend_tile(const lh_lsh_attention_forward_args *args, const lh_lsh_tile *tile,
                        scratch *work) {
    const int64_t width = args->spec.head_width;
    const int64_t rows = lh_lsh_rows(tile), lanes = lh_lsh_lanes(tile);
    const int64_t keys = tile->keys.end - tile->keys.begin;
    const lh_attention_operand q = {work->q, width, LH_REAL}, k = {work->k, width, LH_REAL};
    const lh_attention_operand v = {work->v, width, LH_REAL};
    const lh_rows score = {work->score, lanes}, out = {work->out, width};
    lh_cpu_lsh_gather_queries(tile, args->q, work->q);
    lh_cpu_lsh_gather(tile, tile->keys, args->k, work->k);
    lh_cpu_lsh_gather(tile, tile->keys, args->v, work->v);
    if (keys > 0)
        lh_cpu_attention_multiply(work->rounding, false, true, keys, lanes, width, 1, k, q, LH_SET,
                                  score);
    weigh(args, tile, work);
    if (keys > 0)
        lh_cpu_attention_multiply(work->rounding, true, false, rows, width, keys, 1,
                                  lh_attention_reals(score), v, LH_SET, out);
    for (int64_t row = 0; row < rows; ++row) {
        lh_lsh_prefetch(tile, row, args->out);
        join_row(args, tile, row, work);
    }
}

size_t lh_cpu_lsh_attention_forward_workspace(const lh_lsh_attention_forward_args *args) {
    return (size_t)lh_attention_slots() * scratch_bytes(&args->spec);
}

lh_status lh_cpu_lsh_attention_forward(const lh_launch *launch,
                                       const lh_lsh_attention_forward_args *args) {
    const lh_lsh_attention_spec *spec = &args->spec;
    if (!lh_product_knows(args->q.act.dtype, spec->precision)) return LH_EOPTION;
    const int64_t tasks = spec->batch * spec->heads * lh_lsh_tiles(spec);
    uint8_t *memory = launch->workspace;
    int worst = LH_OK;
    for (int64_t round = 0; round < spec->rounds; ++round) {
#pragma omp parallel for schedule(static) num_threads(lh_attention_threads())                      \
    reduction(max                                                                                  \
              : worst) if (tasks > 1)
        for (int64_t task = 0; task < tasks; ++task) {
            const size_t slot = (size_t)lh_attention_thread() * scratch_bytes(spec);
            scratch *work = lay_out(spec, memory + slot);
            const lh_lsh_tile tile = lh_cpu_lsh_tile(spec, round, task, work->tile);
            attend_tile(args, &tile, work);
            worst = (int)lh_max(worst, lh_attention_outcome(work->rounding));
        }
    }
    return (lh_status)worst;
}
