/* Of attention by hashing: lsh_hash.cu, lsh_sort.cu, lsh_attention.cu, lsh_attention_tile.cu of
 * kernels/cuda. How many keys a token meets depends on the data: half of its own chunk and all of
 * the one before are counted, as in the model's own FLOPs. */
#include "kernels/cost/cost.h"

enum { WIDEST = 128, MOST_ROUNDS = 16, RADIX_BITS = 4, HASH_COLUMNS = 32 };

/* Columns are multiplied 32 at a time, those that fill up the last of them for nothing. */
lh_cost lh_cost_lsh_hash(const lh_lsh_hash_args *args) {
    const int64_t lists = args->batch * args->heads, rows = lists * args->rounds * args->length;
    const int64_t count = lh_lsh_columns(args->factors, args->factor);
    const double columns = (double)count, width = (double)args->head_width;
    const double padded = (double)(lh_chunk_count(count, HASH_COLUMNS) * HASH_COLUMNS);
    lh_cost cost = {.kind = LH_COST_REGISTERS,
                    .products = 2 * (double)rows * width * columns,
                    .flops = 2 * (double)rows * width * (padded - columns),
                    .read = lh_cost_bytes(args->x.act, (double)(lists * args->length) * width) +
                            (double)(lists * args->rounds) * width * columns * LH_COST_REAL,
                    .written = (double)rows * LH_COST_INTEGER};
    lh_cost_launch(&cost, rows);
    return cost;
}

/* A block sorts a row: a pass reads numbers and buckets and writes numbers. */
lh_cost lh_cost_lsh_sort(const lh_lsh_sort_args *args) {
    const double tokens = (double)(args->rows * args->length);
    lh_cost cost = {0};
    if (args->rows * args->length == 0) return cost;
    int passes = 1;
    while ((args->buckets - 1) >> (passes * RADIX_BITS) > 0)
        ++passes;
    cost.launches = 1;
    cost.serial = passes * (double)args->length * 3 * LH_COST_INTEGER;
    cost.read = (2 * passes + 2) * tokens * LH_COST_INTEGER;
    cost.written = (passes + 2) * tokens * LH_COST_INTEGER;
    return cost;
}

double lh_lsh_products(int64_t rounds, int64_t length, int64_t chunk, int64_t head_width) {
    const double own = (double)lh_min(chunk, length);
    const double pairs = 0.5 * own + (chunk < length ? own : 0);
    return 4.0 * (double)(rounds * length * head_width) * pairs;
}

static bool fits_tiles(const lh_lsh_attention_spec *spec) {
    return spec->precision != LH_PRECISION_F32 && spec->head_width <= WIDEST &&
           spec->rounds <= MOST_ROUNDS && !spec->any_bucket;
}

lh_cost lh_cost_lsh_attention_forward(const lh_lsh_attention_forward_args *args) {
    const lh_lsh_attention_spec *spec = &args->spec;
    const int64_t rows = spec->batch * spec->heads * spec->length;
    const double elements = (double)(rows * spec->head_width), rounds = (double)spec->rounds;
    const bool tiles = fits_tiles(spec);
    lh_cost cost = {.kind = tiles ? LH_COST_TILE : LH_COST_REFERENCE, .precision = spec->precision};
    if (rows == 0) return cost;
    const double bytes = lh_cost_bytes(args->q.act, elements);
    const double out = lh_cost_bytes(args->out.act, elements);
    cost.launches = tiles ? spec->rounds : 1;
    cost.products = (double)(spec->batch * spec->heads) *
                    lh_lsh_products(spec->rounds, spec->length, spec->chunk, spec->head_width);
    cost.read = rounds * (3 * bytes + 3 * (double)rows * LH_COST_INTEGER);
    cost.written = out + (double)rows * LH_COST_REAL;
    if (tiles) { /* rounds after the first take up what the others left */
        cost.read += (rounds - 1) * (out + (double)rows * LH_COST_REAL);
        cost.written += (rounds - 1) * (out + (double)rows * LH_COST_REAL);
    }
    return cost;
}

/* Of one pass over queries, or over keys with two results: `products` of queries by keys; `bytes`
 * of q, k, v and dout. */
static void pass(lh_cost *cost, const lh_lsh_attention_spec *spec, double products, double bytes) {
    const double rows = (double)(spec->batch * spec->heads * spec->length);
    const double rounds = (double)spec->rounds;
    cost->products += products / 2 * (double)(spec->batch * spec->heads) *
                      lh_lsh_products(spec->rounds, spec->length, spec->chunk, spec->head_width);
    cost->read += rounds * (bytes + 3 * rows * LH_COST_INTEGER + 2 * rows * LH_COST_REAL);
}

/* A gradient is written in each round of tiles, and added to in all but the first. */
static void gradient(lh_cost *cost, lh_act act, double elements, lh_write write, int64_t times) {
    lh_cost_write(cost, lh_cost_bytes(act, elements), write);
    for (int64_t round = 1; round < times; ++round)
        lh_cost_write(cost, lh_cost_bytes(act, elements), LH_ADD);
}

lh_cost lh_cost_lsh_attention_backward(const lh_lsh_attention_backward_args *args) {
    const lh_lsh_attention_spec *spec = &args->spec;
    const int64_t rows = spec->batch * spec->heads * spec->length;
    const double elements = (double)(rows * spec->head_width);
    const bool tiles = fits_tiles(spec);
    const bool queries = !tiles || args->dq.act.data != NULL;
    const bool keys = !tiles || args->dk.act.data != NULL || args->dv.act.data != NULL;
    const int64_t times = tiles ? spec->rounds : 1;
    lh_cost cost = {.kind = tiles ? LH_COST_TILE : LH_COST_REFERENCE, .precision = spec->precision};
    if (rows == 0) return cost;
    const double dout = lh_cost_bytes(args->dout.act, elements);
    const double all = 3 * lh_cost_bytes(args->q.act, elements) + dout;
    cost.launches = 1 + times * (queries + keys);
    cost.read = lh_cost_bytes(args->out.act, elements) + dout;
    cost.written = (double)rows * LH_COST_REAL;
    if (queries) pass(&cost, spec, 3, all);
    if (keys) pass(&cost, spec, 4, all);
    gradient(&cost, args->dq.act, elements, args->dq_write, times);
    gradient(&cost, args->dk.act, elements, args->dk_write, times);
    gradient(&cost, args->dv.act, elements, args->dv_write, times);
    return cost;
}
