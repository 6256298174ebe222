/* Of attention: attention_*.cu, knn_attention.cu, prob_attention.cu, top_tokens.cu of kernels/cuda.
 */
#include "kernels/cost/cost.h"

/* A tile of queries or keys and its warps, the widest head that has tiles, and that which has them
 * in tf32 with position vectors: kernels/cuda/attention_tile.cuh. */
enum { TILE = 64, WARPS = 4, WIDEST = 128, ROOMY = 64 };
enum { KEPT_KEYS = 32 }; /* of a word of bits: kernels/cuda/attention_tile_dropout.cuh */

/* Products of queries by keys of its passes: each makes scores and their gradients; over queries
 * then dq, over keys dk and dv. With position vectors there are more (docs/performance.md), and
 * those of the vectors' own gradient, of a tile and without. */
static const double of_queries = 3, of_keys = 4, of_queries_placed = 7, of_keys_placed = 6,
                    of_distances = 5.25, of_single_distances = 3;

/* ---- pairs ---- */

/* Keys of a source with positions that the queries see, counted for each query. */
static double visible_pairs(const lh_attention_spec *spec, const lh_key_source *source) {
    double pairs = 0;
    for (int64_t i = 0; i < spec->queries; ++i) {
        int64_t low = i - spec->max_distance, high = i - spec->min_distance;
        if (spec->chunk > 0) {
            const int64_t edge = (i / spec->chunk - spec->chunks_back) * spec->chunk;
            if (edge > low) low = edge;
        }
        if (low < source->first) low = source->first;
        if (high > source->first + source->count - 1) high = source->first + source->count - 1;
        if (high >= low) pairs += (double)(high - low + 1);
    }
    return pairs;
}

/* Of one batch row and head. */
static double pairs_of(const lh_attention_spec *spec, const lh_key_source *source) {
    if (source->everywhere) return (double)spec->queries * (double)source->count;
    return visible_pairs(spec, source);
}

/* FLOPs of one product over so many pairs. */
static double of_pairs(const lh_attention_spec *spec, double pairs) {
    return 2.0 * pairs * (double)(spec->batch * spec->heads * spec->head_width);
}

double lh_attention_products(const lh_attention_spec *spec) {
    double products = 0;
    for (int s = 0; s < spec->source_count; ++s) {
        const lh_key_source *source = &spec->source[s];
        const bool placed = spec->positions != NULL && !source->everywhere;
        products += (placed ? 3.0 : 2.0) * pairs_of(spec, source);
    }
    return of_pairs(spec, products);
}

/* ---- memory ---- */

static double heads_bytes(const lh_heads *heads, int64_t batch, int64_t tokens, int64_t count,
                          int64_t width) {
    return lh_cost_bytes(heads->act, (double)(batch * tokens * count * width));
}

static double query_bytes(const lh_attention_spec *spec, const lh_heads *heads) {
    return heads_bytes(heads, spec->batch, spec->queries, spec->heads, spec->head_width);
}

static double key_bytes(const lh_attention_spec *spec, const lh_key_source *source,
                        const lh_heads *heads) {
    return heads_bytes(heads, spec->batch, source->count, spec->heads, spec->head_width);
}

static double keys_and_values(const lh_attention_spec *spec) {
    double bytes = 0;
    for (int s = 0; s < spec->source_count; ++s)
        bytes += key_bytes(spec, &spec->source[s], &spec->source[s].k) +
                 key_bytes(spec, &spec->source[s], &spec->source[s].v);
    return bytes;
}

static int64_t rows_of(const lh_attention_spec *spec) {
    return spec->batch * spec->heads * spec->queries;
}

static double position_elements(const lh_attention_spec *spec) {
    return (double)(spec->position_heads * spec->position_count * spec->head_width);
}

/* Distances that are seen: kernels/cuda/attention.cuh. */
static int64_t seen_distances(const lh_attention_spec *spec) {
    int64_t nearest = INT64_MAX, farthest = INT64_MIN;
    for (int s = 0; s < spec->source_count; ++s) {
        const lh_key_source *keys = &spec->source[s];
        const int64_t near = -(keys->first + keys->count - 1);
        const int64_t far = spec->queries - 1 - keys->first;
        if (keys->everywhere || keys->count == 0) continue;
        if (near < nearest) nearest = near;
        if (far > farthest) farthest = far;
    }
    if (nearest < spec->min_distance) nearest = spec->min_distance;
    if (farthest > spec->max_distance) farthest = spec->max_distance;
    return nearest > farthest ? 0 : farthest - nearest + 1;
}

/* ---- dropout ---- */

/* Of tiles: the table of a period, once a call. */
static void draw_table(lh_cost *cost, const lh_attention_spec *spec) {
    const bool periodic = spec->dropout > 0 && spec->dropout_period > 0;
    if (!periodic || cost->kind == LH_COST_REFERENCE || spec->batch * spec->queries == 0) return;
    const int64_t words = lh_chunk_count(seen_distances(spec), KEPT_KEYS);
    const double table = (double)(spec->heads * spec->dropout_period * words);
    lh_cost_launch(cost, spec->heads * words);
    cost->flops += LH_COST_WORD * KEPT_KEYS * table;
    cost->read += LH_COST_INTEGER * table;
    cost->written += LH_COST_INTEGER * table;
}

/* A pass over the pairs of a source: tiles draw for four of them at once, or read the table. */
static void draw_pairs(lh_cost *cost, const lh_attention_spec *spec, const lh_key_source *source) {
    const bool single = cost->kind == LH_COST_REFERENCE, periodic = spec->dropout_period > 0;
    if (!(spec->dropout > 0) || (periodic && (source->everywhere || !single))) return;
    cost->flops += LH_COST_WORD * (single ? LH_COST_WORDS : 1) *
                   (double)(spec->batch * spec->heads) * pairs_of(spec, source);
}

/* ---- of any architecture ---- */

/* In tf32 those of f32 that have room for position vectors, if there are any. */
static bool fits_tiles(const lh_attention_spec *spec, lh_dtype dtype) {
    const bool roomy = spec->head_width <= ROOMY || spec->positions == NULL;
    if (spec->head_width > WIDEST || spec->precision == LH_PRECISION_F32) return false;
    return spec->precision == LH_PRECISION_BF16 || (roomy && dtype == LH_REAL);
}

/* Of kernels that fit tiles; those that take two stripes in bf16 are `plain` or `biased`. */
static lh_cost_class class_of(const lh_attention_spec *spec, lh_cost_class plain,
                              lh_cost_class biased) {
    if (spec->positions != NULL) return LH_COST_TILE;
    if (spec->precision != LH_PRECISION_BF16) return LH_COST_STRIPE;
    return spec->bias != NULL ? biased : plain;
}

lh_cost lh_cost_attention_forward(const lh_attention_forward_args *args) {
    const lh_attention_spec *spec = &args->spec;
    const lh_cost_class tile = class_of(spec, LH_COST_FORWARD, LH_COST_FORWARD_BIASED);
    lh_cost cost = {.kind = fits_tiles(spec, args->q.act.dtype) ? tile : LH_COST_REFERENCE,
                    .precision = spec->precision};
    if (rows_of(spec) == 0) return cost;
    cost.launches = 1;
    cost.products = lh_attention_products(spec);
    cost.read = query_bytes(spec, &args->q) + keys_and_values(spec);
    draw_table(&cost, spec);
    for (int s = 0; s < spec->source_count; ++s)
        draw_pairs(&cost, spec, &spec->source[s]);
    cost.written = query_bytes(spec, &args->out) + lh_cost_reals(args->lse, (double)rows_of(spec));
    return cost;
}

/* Whether there is something to do for the keys of a source. */
static bool wants_keys(const lh_attention_spec *spec, const lh_key_source *source) {
    return spec->batch * spec->heads * source->count > 0 &&
           (source->dk.act.data != NULL || source->dv.act.data != NULL);
}

/* What either pass reads of queries: q, dout, log sums and products with the output. */
static double read_of_queries(const lh_attention_backward_args *args) {
    const lh_attention_spec *spec = &args->spec;
    return query_bytes(spec, &args->q) + query_bytes(spec, &args->dout) +
           2.0 * (double)rows_of(spec) * LH_COST_REAL;
}

static void pass_queries(lh_cost *cost, const lh_attention_backward_args *args) {
    const lh_attention_spec *spec = &args->spec;
    lh_cost_launch(cost, rows_of(spec));
    for (int s = 0; s < spec->source_count; ++s) {
        const bool placed = spec->positions != NULL && !spec->source[s].everywhere;
        cost->products += of_pairs(spec, (placed ? of_queries_placed : of_queries) *
                                             pairs_of(spec, &spec->source[s]));
        draw_pairs(cost, spec, &spec->source[s]);
    }
    cost->read += read_of_queries(args) + keys_and_values(spec);
    lh_cost_write(cost, query_bytes(spec, &args->dq), args->dq_write);
}

static void pass_keys(lh_cost *cost, const lh_attention_backward_args *args,
                      const lh_key_source *source) {
    const lh_attention_spec *spec = &args->spec;
    const bool placed = spec->positions != NULL && !source->everywhere;
    if (!wants_keys(spec, source)) return;
    cost->launches += 1;
    cost->products += of_pairs(spec, (placed ? of_keys_placed : of_keys) * pairs_of(spec, source));
    draw_pairs(cost, spec, source);
    cost->read += read_of_queries(args) + key_bytes(spec, source, &source->k) +
                  key_bytes(spec, source, &source->v);
    lh_cost_write(cost, key_bytes(spec, source, &source->dk), source->write);
    lh_cost_write(cost, key_bytes(spec, source, &source->dv), source->write);
}

/* Sums of all rows for each of `results`, a warp each. */
static void join(lh_cost *cost, double partial, int64_t results, lh_write write) {
    lh_cost_launch(cost, results);
    cost->read += partial * LH_COST_REAL;
    cost->written += partial * LH_COST_REAL;
    lh_cost_write(cost, (double)results * LH_COST_REAL, write);
}

static int64_t floor_divide(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

/* Distances between tiles of queries and of keys that see each other. */
static int64_t tile_distances(const lh_attention_spec *spec, const lh_key_source *keys) {
    if (keys->everywhere || keys->count == 0) return 0;
    const int64_t first = lh_max(floor_divide(spec->min_distance + keys->first, TILE),
                                 1 - lh_chunk_count(keys->count, TILE));
    const int64_t last = lh_min(floor_divide(spec->max_distance + keys->first + TILE - 1, TILE),
                                lh_chunk_count(spec->queries, TILE) - 1);
    return lh_max(0, last - first + 1);
}

static void tile_positions(lh_cost *cost, const lh_attention_backward_args *args) {
    const lh_attention_spec *spec = &args->spec;
    double partial = 0;
    if (args->dpositions == NULL || spec->positions == NULL) return;
    for (int s = 0; s < spec->source_count; ++s) {
        const lh_key_source *source = &spec->source[s];
        const int64_t tasks = spec->batch * spec->heads * tile_distances(spec, source);
        if (tasks == 0) continue;
        cost->launches += 1;
        cost->products += of_pairs(spec, of_distances * pairs_of(spec, source));
        draw_pairs(cost, spec, source);
        cost->read += read_of_queries(args) + key_bytes(spec, source, &source->k) +
                      key_bytes(spec, source, &source->v);
        partial += (double)(tasks * 2 * TILE * spec->head_width);
    }
    join(cost, partial, (int64_t)position_elements(spec), args->dpositions_write);
}

static void tile_backward(lh_cost *cost, const lh_attention_backward_args *args) {
    const lh_attention_spec *spec = &args->spec;
    const int64_t rows = rows_of(spec), tiles = lh_chunk_count(spec->queries, TILE);
    lh_cost_launch(cost, rows); /* products of gradient and output */
    cost->read += query_bytes(spec, &args->out) + query_bytes(spec, &args->dout);
    cost->written += (double)rows * LH_COST_REAL;
    draw_table(cost, spec);
    pass_queries(cost, args);
    for (int s = 0; s < spec->source_count; ++s)
        pass_keys(cost, args, &spec->source[s]);
    tile_positions(cost, args);
    if (args->dhead_scale != NULL) join(cost, (double)rows, spec->heads, args->dhead_scale_write);
    if (args->dbias != NULL && spec->bias != NULL)
        join(cost, (double)(spec->batch * spec->heads * tiles * WARPS * spec->buckets),
             spec->heads * spec->buckets, args->dbias_write);
}

static void single_distances(lh_cost *cost, const lh_attention_backward_args *args) {
    const lh_attention_spec *spec = &args->spec;
    const int64_t span = seen_distances(spec);
    const bool bias = args->dbias != NULL && spec->bias != NULL;
    const bool positions = args->dpositions != NULL && spec->positions != NULL;
    if (!bias && !positions) return;
    lh_cost_launch(cost, spec->heads * span);
    for (int s = 0; s < spec->source_count; ++s) {
        if (spec->source[s].everywhere) continue;
        cost->products += of_pairs(spec, of_single_distances * pairs_of(spec, &spec->source[s]));
        draw_pairs(cost, spec, &spec->source[s]);
    }
    cost->read += read_of_queries(args) + keys_and_values(spec);
    if (bias)
        join(cost, (double)(spec->heads * span), spec->heads * spec->buckets, args->dbias_write);
    if (positions)
        join(cost, (double)(spec->heads * span * spec->head_width),
             (int64_t)position_elements(spec), args->dpositions_write);
}

static void single_backward(lh_cost *cost, const lh_attention_backward_args *args) {
    const lh_attention_spec *spec = &args->spec;
    pass_queries(cost, args);
    cost->read += query_bytes(spec, &args->out);
    for (int s = 0; s < spec->source_count; ++s)
        pass_keys(cost, args, &spec->source[s]);
    single_distances(cost, args);
    if (args->dhead_scale != NULL)
        join(cost, (double)rows_of(spec), spec->heads, args->dhead_scale_write);
}

lh_cost lh_cost_attention_backward(const lh_attention_backward_args *args) {
    const lh_attention_spec *spec = &args->spec;
    const bool tiles = fits_tiles(spec, args->q.act.dtype);
    const lh_cost_class tile = class_of(spec, LH_COST_BACKWARD, LH_COST_BACKWARD_BIASED);
    lh_cost cost = {.kind = tiles ? tile : LH_COST_REFERENCE, .precision = spec->precision};
    if (tiles)
        tile_backward(&cost, args);
    else
        single_backward(&cost, args);
    return cost;
}

/* ---- to the nearest keys ---- */

/* Finding each of the nearest is a pass over the scores of all. */
lh_cost lh_cost_knn_attention_forward(const lh_knn_attention_forward_args *args) {
    const int64_t rows = args->batch * args->queries * args->heads;
    const double elements = (double)(rows * args->head_width), found = (double)(rows * args->top);
    const double memory = (double)(args->batch * args->capacity * args->heads * args->head_width);
    lh_cost cost = {.kind = LH_COST_REFERENCE,
                    .products = 2 * elements * (double)(args->capacity + args->top),
                    .flops = found * (double)args->capacity,
                    .read = lh_cost_bytes(args->q.act, elements) + 2 * memory * LH_COST_REAL,
                    .written = lh_cost_bytes(args->out.act, elements) +
                               found * (LH_COST_REAL + LH_COST_INTEGER)};
    lh_cost_launch(&cost, rows);
    return cost;
}

lh_cost lh_cost_knn_attention_backward(const lh_knn_attention_backward_args *args) {
    const int64_t rows = args->batch * args->queries * args->heads;
    const double elements = (double)(rows * args->head_width), found = (double)(rows * args->top);
    lh_cost cost = {.kind = LH_COST_REFERENCE,
                    .products = 8 * elements * (double)args->top,
                    .read = lh_cost_bytes(args->q.act, elements) +
                            lh_cost_bytes(args->dout.act, elements) +
                            found * (LH_COST_REAL + LH_COST_INTEGER) +
                            3 * elements * (double)args->top * LH_COST_REAL};
    lh_cost_launch(&cost, rows);
    lh_cost_write(&cost, lh_cost_bytes(args->dq.act, elements), args->dq_write);
    if (args->dhead_scale != NULL) join(&cost, (double)rows, args->heads, args->dhead_scale_write);
    return cost;
}

/* ---- of the queries that are farthest from uniform ---- */

/* Elements of one view, and pairs of chosen queries and keys, of all batch rows and heads. */
typedef struct prob_sizes {
    int64_t lists, tokens, chosen;
    double elements, pairs;
} prob_sizes;

static prob_sizes prob_sizes_of(const lh_prob_attention_spec *spec) {
    const int64_t lists = spec->batch * spec->heads;
    const double pairs = (double)(lists * spec->top * spec->length);
    return (prob_sizes){.lists = lists,
                        .tokens = lists * spec->length,
                        .chosen = lists * spec->top,
                        .elements = (double)(lists * spec->length * spec->head_width),
                        .pairs = spec->causal ? pairs / 2 : pairs};
}

lh_cost lh_cost_prob_attention_forward(const lh_prob_attention_forward_args *args) {
    const lh_prob_attention_spec *spec = &args->spec;
    const prob_sizes sizes = prob_sizes_of(spec);
    const double width = (double)spec->head_width, bytes = sizes.elements * LH_COST_REAL;
    lh_cost cost = {.kind = LH_COST_REFERENCE};
    if (spec->head_width == 0) return cost;
    cost.products = 2 * width * ((double)(sizes.tokens * args->samples) + 2 * sizes.pairs);
    cost.flops = (double)sizes.tokens * (double)spec->length; /* comparing measures */
    cost.read = 5 * bytes;
    cost.written = bytes + (double)sizes.chosen * (LH_COST_REAL + LH_COST_INTEGER);
    for (int i = 0; i < 3; ++i) /* measures, ranks, the choice */
        lh_cost_launch(&cost, sizes.tokens);
    lh_cost_launch(&cost, sizes.lists * spec->head_width);
    lh_cost_launch(&cost, sizes.chosen);
    return cost;
}

lh_cost lh_cost_prob_attention_backward(const lh_prob_attention_backward_args *args) {
    const lh_prob_attention_spec *spec = &args->spec;
    const prob_sizes sizes = prob_sizes_of(spec);
    const double width = (double)spec->head_width, bytes = sizes.elements * LH_COST_REAL;
    const bool keys = args->dk.act.data != NULL || args->dv.act.data != NULL;
    lh_cost cost = {.kind = LH_COST_REFERENCE, .read = 2 * bytes};
    if (spec->head_width == 0) return (lh_cost){.kind = LH_COST_REFERENCE};
    lh_cost_launch(&cost, sizes.chosen);
    if (args->dq.act.data != NULL) {
        if (args->dq_write == LH_SET) lh_cost_launch(&cost, sizes.tokens);
        lh_cost_launch(&cost, sizes.chosen);
        cost.products += of_queries * 2 * width * sizes.pairs;
        cost.read += 2 * bytes;
        lh_cost_write(&cost, bytes, args->dq_write);
    }
    if (keys) {
        lh_cost_launch(&cost, sizes.tokens);
        cost.products += of_keys * 2 * width * sizes.pairs;
        cost.read += 2 * bytes;
        lh_cost_write(&cost, lh_cost_bytes(args->dk.act, sizes.elements), args->dk_write);
        lh_cost_write(&cost, lh_cost_bytes(args->dv.act, sizes.elements), args->dv_write);
    }
    if (args->dv.act.data == NULL) return cost;
    lh_cost_launch(&cost, sizes.lists * spec->head_width);
    cost.read += bytes;
    lh_cost_write(&cost, bytes, LH_ADD);
    return cost;
}

/* ---- which tokens a cluster takes ---- */

lh_cost lh_cost_top_tokens(const lh_top_tokens_args *args) {
    const double scores = (double)args->rows * (double)args->length,
                 taken = (double)args->rows * (double)args->top;
    lh_cost cost = {.kind = LH_COST_STREAM};
    if (taken == 0) return cost;
    lh_cost_launch(&cost, args->rows);
    cost.flops = 15 * scores; /* a count for each of four digits, and the choice */
    cost.read = scores * LH_COST_REAL;
    cost.written = taken * LH_COST_INTEGER;
    return cost;
}
