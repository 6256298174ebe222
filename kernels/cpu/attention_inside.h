/* What the attention kernels share: which queries see a key, the tiling, the tables by distance.
 *
 * A tile of queries meets the keys of all sources in panels of at most LH_ATTENTION_KEYS; a panel
 * is cut into segments, one per source. Scores lie transposed, [keys][lanes] with one lane per
 * query: the softmax then runs along the vector registers without ragged ends, the products are
 * the ones that OpenBLAS does best, and a key is seen by one run of adjacent lanes. */
#ifndef LH_KERNELS_CPU_ATTENTION_INSIDE_H
#define LH_KERNELS_CPU_ATTENTION_INSIDE_H

#ifdef _OPENMP
#include <omp.h>
#endif

#include "kernels/cpu/blas.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/parallel.h"
#include "kernels/kernels.h"

/* Queries per tile: narrow, since what a window wastes grows with the tile; no more than the bits
 * of a word of dropout. Keys per panel: its scores stay in the second-level cache. Lanes come in
 * whole vectors. */
enum { LH_ATTENTION_ROWS = 64, LH_ATTENTION_KEYS = 1024, LH_ATTENTION_VECTOR = 16 };

/* Keys of a product in bf16, at most. */
enum { LH_ATTENTION_PIECE = 256 };

/* Distances that the keys of a panel can have from the queries of a tile. */
enum { LH_ATTENTION_DISTANCES = LH_ATTENTION_ROWS + LH_ATTENTION_KEYS };

/* Keys [begin, end) of one source; their scores begin at row `row` of the panel. */
typedef struct lh_attention_segment {
    int source;
    int64_t begin, end;
    int64_t row;
} lh_attention_segment;

typedef struct lh_attention_panel {
    int segments;
    int64_t keys;
    lh_attention_segment segment[LH_KEY_SOURCES];
} lh_attention_panel;

/* Which panel comes next: keys before `key` of `source` are done. */
typedef struct lh_attention_cursor {
    int source;
    int64_t key;
} lh_attention_cursor;

/* What depends on the distance i - p alone, made once per call.
 *
 * bias  [heads][span + two margins]         head_scale * bias of distance nearest + x; the margins,
 *                                           of LH_ATTENTION_ROWS each, are read but masked
 * keep  [heads][period / 64][period + span] dropout with a period: word x of a group of 64 queries
 *                                           is for a key x - farthest after the block begins, a
 *                                           bit per query; NULL without */
typedef struct lh_attention_table {
    int64_t nearest, farthest, span;
    real *bias;
    uint64_t *keep;
} lh_attention_table;

/* Where a product in bf16 rounds its operands: a part of one at a time. */
typedef struct lh_attention_rounding {
    lh_status status; /* of the first product that failed */
    lh_bf16 *a, *b;   /* [LH_ATTENTION_PIECE][LH_ATTENTION_ROWS or head_width, the larger] each */
} lh_attention_rounding;

/* One tile of queries of one batch row and head. */
typedef struct lh_attention_tile {
    const lh_attention_spec *spec;
    const lh_attention_table *table;
    int64_t batch, head;
    lh_range rows;
    lh_attention_rounding *rounding; /* NULL: products in f32 */
} lh_attention_tile;

static inline int64_t lh_attention_lanes(const lh_attention_tile *tile) {
    const int64_t rows = tile->rows.end - tile->rows.begin;
    return lh_chunk_count(rows, LH_ATTENTION_VECTOR) * LH_ATTENTION_VECTOR;
}

/* What scores are multiplied by while they are made, and after: in bf16 all of it after, in f32. */
static inline real lh_attention_early(const lh_attention_tile *tile, real alpha) {
    return tile->rounding == NULL ? alpha : 1;
}

static inline real lh_attention_late(const lh_attention_tile *tile, real alpha) {
    return tile->rounding == NULL ? 1 : alpha;
}

/* A matrix that a product reads: of reals, or of bf16 as activations may lie in memory. */
typedef struct lh_attention_operand {
    const void *data;
    int64_t stride;
    lh_dtype dtype;
} lh_attention_operand;

static inline lh_attention_operand lh_attention_operand_of(lh_heads heads, int64_t batch,
                                                           int64_t head, int64_t token) {
    const int64_t at =
        batch * heads.batch_stride + head * heads.head_stride + token * heads.token_stride;
    const lh_attention_operand x = {lh_at(heads.act, at), heads.token_stride, heads.act.dtype};
    return x;
}

static inline lh_attention_operand lh_attention_reals(lh_rows rows) {
    const lh_attention_operand x = {rows.data, rows.stride, LH_REAL};
    return x;
}

/* The products of a . (b + c), c optional, from *begin on in whole vectors of `lanes`, summed. As
 * many partial sums as lanes, which join in halves: a sum that the compiler vectorises ends with
 * its lanes one after the other, which takes longer than the products of a head. */
LH_SPECIALIZED real lh_attention_dot_lanes(int lanes, int64_t width, const real *a, const real *b,
                                           const real *c, int64_t *begin) {
    real lane[LH_ATTENTION_VECTOR] = {0};
    int64_t d = *begin;
    for (; d + lanes <= width; d += lanes)
#pragma omp simd
        for (int l = 0; l < lanes; ++l)
            lane[l] += a[d + l] * (c ? b[d + l] + c[d + l] : b[d + l]);
    *begin = d;
    for (int half = lanes / 2; half > 0; half /= 2)
#pragma omp simd
        for (int l = 0; l < half; ++l)
            lane[l] += lane[l + half];
    return lane[0];
}

/* a . (b + c), c optional. What a head has beyond whole vectors is summed apart: added to some of
 * their lanes it would go through memory, where the processor waits for it. */
LH_SPECIALIZED real lh_attention_dot_sum(int64_t width, const real *a, const real *b,
                                         const real *c) {
    int64_t d = 0;
    real sum = lh_attention_dot_lanes(LH_ATTENTION_VECTOR, width, a, b, c, &d);
    sum += lh_attention_dot_lanes(4, width, a, b, c, &d);
    for (; d < width; ++d)
        sum += a[d] * (c ? b[d] + c[d] : b[d]);
    return sum;
}

LH_SPECIALIZED real lh_attention_dot(int64_t width, const real *a, const real *b) {
    return lh_attention_dot_sum(width, a, b, NULL);
}

/* Bytes rounded up, so that parts of a workspace stay aligned. */
static inline size_t lh_attention_align(size_t bytes) {
    return lh_round_up(bytes, 64);
}

/* Threads that may work at once, hence how many scratch areas a workspace has. Not OpenMP's
 * current setting: that may change between the workspace query and the launch. Asked once, since
 * each answer is a system call. */
static inline int lh_attention_slots(void) {
#ifdef _OPENMP
    static _Thread_local int slots;
    if (slots == 0) slots = (int)lh_max(omp_get_num_procs(), 8);
    return slots;
#else
    return 1;
#endif
}

static inline int lh_attention_threads(void) {
#ifdef _OPENMP
    return (int)lh_min(omp_get_max_threads(), lh_attention_slots());
#else
    return 1;
#endif
}

/* Number of the thread that asks, hence its scratch area. */
static inline int lh_attention_thread(void) {
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

/* c = alpha * op(a) op(b), or c += that, in bf16 where there is `rounding`. Keys run along the rows
 * of a: along those of c, or when a is transposed along those of b, which then is not. An alpha
 * other than 1 multiplies a, which then is of reals and not transposed, before it is rounded. */
void lh_cpu_attention_multiply(lh_attention_rounding *rounding, bool transpose_a, bool transpose_b,
                               int64_t m, int64_t n, int64_t k, real alpha, lh_attention_operand a,
                               lh_attention_operand b, lh_write write, lh_rows c);

/* Bytes of what rounds for products in bf16, 0 in f32; lays it out in such memory, NULL in f32. */
size_t lh_cpu_attention_rounding_bytes(lh_precision precision, int64_t head_width);
lh_attention_rounding *lh_cpu_attention_rounding(lh_precision precision, int64_t head_width,
                                                 uint8_t *memory);

static inline lh_status lh_attention_outcome(const lh_attention_rounding *rounding) {
    return rounding == NULL ? LH_OK : rounding->status;
}

/* `count` head vectors as reals: where they lie, or widened into `memory` [count][width]. */
lh_rows lh_cpu_attention_load(lh_attention_operand x, int64_t count, int64_t width, real *memory);

/* Rounds head vectors to where they belong; nothing when `to` is of reals. */
void lh_cpu_attention_store(lh_rows x, int64_t count, int64_t width, lh_attention_operand to);

static inline real lh_attention_head_scale(const lh_attention_spec *spec, int64_t head) {
    return spec->head_scale ? spec->head_scale[head] : LH_R(1);
}

/* Distance between the first query of a tile and a key. */
static inline int64_t lh_attention_distance(const lh_attention_tile *tile, int source,
                                            int64_t key) {
    return tile->rows.begin - tile->spec->source[source].first - key;
}

/* Chunk that a position lies in; positions may be negative. */
static inline int64_t lh_attention_chunk(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

/* Keys of a source that a batch row has. */
static inline int64_t lh_attention_filled(const lh_key_source *source, int64_t batch) {
    return source->filled ? lh_min(source->count, source->filled[batch]) : source->count;
}

/* Lanes of a tile that see a key of `source`. */
static inline lh_range lh_attention_seen(const lh_attention_tile *tile, int source, int64_t key) {
    const lh_attention_spec *spec = tile->spec;
    const int64_t first = tile->rows.begin, rows = tile->rows.end - first;
    lh_range lanes = {0, rows};
    if (key >= lh_attention_filled(&spec->source[source], tile->batch)) lanes.end = 0;
    if (spec->source[source].everywhere || lanes.end == 0) return lanes;
    const int64_t position = spec->source[source].first + key;
    int64_t end = position + spec->max_distance + 1;
    if (spec->chunk > 0) {
        const int64_t chunk = lh_attention_chunk(position, spec->chunk) + spec->chunks_back + 1;
        end = lh_min(end, chunk * spec->chunk);
    }
    lanes.begin = lh_min(rows, lh_max(0, position + spec->min_distance - first));
    lanes.end = lh_max(lanes.begin, lh_min(rows, end - first));
    return lanes;
}

/* Elements of one head's biases. */
static inline int64_t lh_attention_bias_row(int64_t span) {
    return span + 2 * LH_ATTENTION_ROWS;
}

/* Biases of a key of `source` that some lane sees, one per lane. */
static inline const real *lh_attention_bias(const lh_attention_tile *tile, int source,
                                            int64_t key) {
    static const real none[LH_ATTENTION_ROWS];
    const lh_attention_table *table = tile->table;
    if (!table->bias || tile->spec->source[source].everywhere) return none;
    return table->bias + tile->head * lh_attention_bias_row(table->span) + LH_ATTENTION_ROWS +
           lh_attention_distance(tile, source, key) - table->nearest;
}

/* Keys of `source` that query i sees. Both ends rise with i. */
lh_range lh_cpu_attention_visible(const lh_attention_spec *spec, int source, int64_t i);

/* Keys of `source` that some query of `rows` sees. */
lh_range lh_cpu_attention_visible_rows(const lh_attention_spec *spec, int source, lh_range rows);

/* The next panel of a tile; false when there is none. */
bool lh_cpu_attention_next_panel(const lh_attention_spec *spec, lh_range rows,
                                 lh_attention_cursor *cursor, lh_attention_panel *panel);

/* y [head_width][lanes] = x^T for the queries of a tile, zeros in the lanes left over. */
void lh_cpu_attention_transpose(const lh_attention_tile *tile, lh_rows x, real *y);

/* scores [keys][lanes] = alpha * k q^T for every segment; `values` takes v in place of k. */
void lh_cpu_attention_scores(const lh_attention_tile *tile, const lh_attention_panel *panel,
                             bool values, real alpha, const real *q_transposed, real *scores);

/* y [rows] (+)= weight^T x for the keys x of a segment, weight [keys][lanes]. */
void lh_cpu_attention_gather(const lh_attention_tile *tile, const lh_attention_segment *segment,
                             const real *weight, lh_attention_operand x, lh_write write, lh_rows y);

/* y += alpha * weight x for the keys y of a segment, x [rows]. */
void lh_cpu_attention_scatter(const lh_attention_tile *tile, const lh_attention_segment *segment,
                              const real *weight, real alpha, lh_rows x, lh_rows y);

/* Elements of scratch memory that the two functions below work in; 0 without positions. */
static inline int64_t lh_attention_position_elements(const lh_attention_spec *spec) {
    return spec->positions ? LH_ATTENTION_DISTANCES * (LH_ATTENTION_ROWS + spec->head_width) : 0;
}

/* Whether the keys of `source` have position vectors. */
static inline bool lh_attention_has_positions(const lh_attention_spec *spec, int source) {
    return spec->positions && !spec->source[source].everywhere;
}

/* Adds alpha * q . r to the scores of a segment. */
void lh_cpu_attention_add_positions(const lh_attention_tile *tile,
                                    const lh_attention_segment *segment, real alpha,
                                    const real *q_transposed, real *memory, real *scores);

/* From the gradients of a segment's scores: dq [rows] += gradient r, sums [span][head_width]
 * (optional) += alpha * gradient q by distance. */
void lh_cpu_attention_position_gradients(const lh_attention_tile *tile,
                                         const lh_attention_segment *segment, const real *gradients,
                                         real alpha, lh_rows q, real *memory, lh_rows dq,
                                         real *sums);

/* Rows of those sums that belong to one entry of the position table. */
lh_range lh_cpu_attention_position_distances(const lh_attention_spec *spec,
                                             const lh_attention_table *table, int64_t entry);

/* Distances that can be seen, bytes of the tables, and the tables made in `memory`. */
int64_t lh_cpu_attention_table_span(const lh_attention_spec *spec);
size_t lh_cpu_attention_table_bytes(const lh_attention_spec *spec);
void lh_cpu_attention_table_make(const lh_attention_spec *spec, void *memory,
                                 lh_attention_table *table);

/* What dropout multiplies a kept weight by, 1 when the source is not dropped. */
real lh_cpu_attention_keep_scale(const lh_attention_spec *spec, int source);

/* keep[key of the panel]: a bit per lane. Only under dropout. */
void lh_cpu_attention_keep(const lh_attention_tile *tile, const lh_attention_panel *panel,
                           uint64_t *keep);

#endif
