/* What the attention kernels share: which keys a query sees, the tiling, the tables by distance.
 *
 * A tile of queries meets the keys of all sources in panels of at most LH_ATTENTION_COLUMNS score
 * columns; a panel is cut into segments, one per source. Within a segment a query sees one run of
 * adjacent keys, so masking is a matter of two column numbers per row and no mask is ever read. */
#ifndef LH_KERNELS_CPU_ATTENTION_H
#define LH_KERNELS_CPU_ATTENTION_H

#include <cblas.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "kernels/cpu/isa.h"
#include "kernels/cpu/parallel.h"
#include "kernels/kernels.h"

/* Queries per tile: narrow, since what a window wastes grows with the tile; and score columns per
 * panel: the scores of one panel stay in the second-level cache. Both measured. */
enum { LH_ATTENTION_ROWS = 64, LH_ATTENTION_COLUMNS = 1024 };

/* Elements between two rows of scores: a little over the panel, so that rows do not fall on one
 * another in the cache. */
enum { LH_ATTENTION_PITCH = LH_ATTENTION_COLUMNS + 16 };

/* Keys [begin, end) of one source, in the score columns from `column` on. */
typedef struct lh_attention_segment {
    int source;
    int64_t begin, end;
    int64_t column;
} lh_attention_segment;

typedef struct lh_attention_panel {
    int segments;
    int64_t columns;
    lh_attention_segment segment[LH_KEY_SOURCES];
} lh_attention_panel;

/* Which panel comes next: keys before `key` of `source` are done. */
typedef struct lh_attention_cursor {
    int source;
    int64_t key;
} lh_attention_cursor;

/* What depends on the distance i - p alone, made once per call. Entry x of a row stands for
 * distance farthest - x, so that neighbouring keys have neighbouring entries.
 *
 * bias  [heads][span]          head_scale * bias; NULL without bias
 * keep  [heads][period][span]  1 where dropout keeps; NULL without a dropout period */
typedef struct lh_attention_table {
    int64_t nearest, farthest, span;
    real *bias;
    uint8_t *keep;
} lh_attention_table;

/* One tile of queries of one batch row and head. */
typedef struct lh_attention_tile {
    const lh_attention_spec *spec;
    const lh_attention_table *table;
    int64_t batch, head;
    lh_range rows;
} lh_attention_tile;

/* A matrix of head vectors: row r begins at data + r * stride. */
typedef struct lh_attention_rows {
    real *data;
    int64_t stride;
} lh_attention_rows;

static inline lh_attention_rows lh_attention_rows_of(lh_heads heads, int64_t batch, int64_t head,
                                                     int64_t token) {
    const lh_attention_rows rows = {heads.data + batch * heads.batch_stride +
                                        head * heads.head_stride + token * heads.token_stride,
                                    heads.token_stride};
    return rows;
}

/* Bytes rounded up, so that parts of a workspace stay aligned. */
static inline size_t lh_attention_align(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/* Threads that may work at once, hence how many scratch areas a workspace has. Not OpenMP's
 * current setting: that may change between the workspace query and the launch. */
static inline int lh_attention_slots(void) {
#ifdef _OPENMP
    return (int)lh_max(omp_get_num_procs(), 8);
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

/* c = alpha * op(a) op(b) + beta * c. OpenBLAS runs on one thread: the tiles are the parallelism.
 * A single row may have any stride, BLAS wants one that holds a row. */
static inline void lh_attention_product(bool transpose_a, bool transpose_b, int64_t m, int64_t n,
                                        int64_t k, real alpha, lh_attention_rows a,
                                        lh_attention_rows b, real beta, lh_attention_rows c) {
    const enum CBLAS_TRANSPOSE ta = transpose_a ? CblasTrans : CblasNoTrans;
    const enum CBLAS_TRANSPOSE tb = transpose_b ? CblasTrans : CblasNoTrans;
    const int lda = (int)lh_max(lh_max(a.stride, 1), transpose_a ? m : k);
    const int ldb = (int)lh_max(lh_max(b.stride, 1), transpose_b ? k : n);
    const int ldc = (int)lh_max(lh_max(c.stride, 1), n);
#ifdef LH_REAL_DOUBLE
    cblas_dgemm(CblasRowMajor, ta, tb, (int)m, (int)n, (int)k, alpha, a.data, lda, b.data, ldb,
                beta, c.data, ldc);
#else
    cblas_sgemm(CblasRowMajor, ta, tb, (int)m, (int)n, (int)k, alpha, a.data, lda, b.data, ldb,
                beta, c.data, ldc);
#endif
}

static inline real lh_attention_head_scale(const lh_attention_spec *spec, int64_t head) {
    return spec->head_scale ? spec->head_scale[head] : LH_R(1);
}

/* Entry of the table by distance that belongs to key 0 of a source, seen from query i. */
static inline int64_t lh_attention_offset(const lh_attention_tile *tile, int source, int64_t i) {
    return tile->table->farthest - i + tile->spec->source[source].first;
}

/* Entry of the table by distance that belongs to a column, seen from query i. */
static inline int64_t lh_attention_entry(const lh_attention_tile *tile,
                                         const lh_attention_segment *segment, int64_t i,
                                         int64_t column) {
    return lh_attention_offset(tile, segment->source, i) + segment->begin + column -
           segment->column;
}

/* Columns of a panel that query i sees within a segment. */
static inline lh_range lh_attention_columns(const lh_attention_segment *segment, lh_range keys) {
    const int64_t begin = lh_min(lh_max(keys.begin, segment->begin), segment->end);
    const int64_t end = lh_max(lh_min(keys.end, segment->end), begin);
    const lh_range columns = {segment->column + begin - segment->begin,
                              segment->column + end - segment->begin};
    return columns;
}

/* Keys of `source` that query i sees. Both ends rise with i. */
lh_range LH_CPU(attention_visible)(const lh_attention_spec *spec, int source, int64_t i);

/* Keys of `source` that some query of `rows` sees. */
lh_range LH_CPU(attention_visible_rows)(const lh_attention_spec *spec, int source, lh_range rows);

/* The next panel of a tile; false when there is none. */
bool LH_CPU(attention_next_panel)(const lh_attention_spec *spec, lh_range rows,
                                  lh_attention_cursor *cursor, lh_attention_panel *panel);

/* scores [rows][pitch] = alpha * q k^T for every segment; `values` takes v in place of k. */
void LH_CPU(attention_scores)(const lh_attention_tile *tile, const lh_attention_panel *panel,
                              bool values, real alpha, lh_attention_rows q, real *scores);

/* Whether rows [0, count) of `width` hold neither NaN nor infinity. A product over a masked tile
 * must otherwise go key by key, since 0 * NaN is NaN. */
bool LH_CPU(attention_is_finite)(lh_attention_rows x, int64_t count, int64_t width);

/* y [rows] += alpha * weight [rows][pitch] x [keys of the segment], visible keys only. */
void LH_CPU(attention_gather_exact)(const lh_attention_tile *tile,
                                    const lh_attention_segment *segment, const real *weight,
                                    real alpha, lh_attention_rows x, lh_attention_rows y);

/* y [keys of the segment] += alpha * weight^T x [rows], visible keys only. */
void LH_CPU(attention_scatter_exact)(const lh_attention_tile *tile,
                                     const lh_attention_segment *segment, const real *weight,
                                     real alpha, lh_attention_rows x, lh_attention_rows y);

/* Distances that can be seen, bytes of the tables, and the tables made in `memory`. */
int64_t LH_CPU(attention_table_span)(const lh_attention_spec *spec);
size_t LH_CPU(attention_table_bytes)(const lh_attention_spec *spec);
void LH_CPU(attention_table_make)(const lh_attention_spec *spec, void *memory,
                                  lh_attention_table *table);

/* Readies a padded row of scores of query i for the softmax: bias added, -infinity where masked. */
void LH_CPU(attention_mask_row)(const lh_attention_tile *tile, const lh_attention_panel *panel,
                                int64_t i, real *score);

/* Dropout of a row of query i, of what it sees. `keep` [columns] is scratch. */
void LH_CPU(attention_drop_row)(const lh_attention_tile *tile, const lh_attention_panel *panel,
                                int64_t i, uint8_t *keep, real *x);

/* Sizes that make sense together. */
lh_status LH_CPU(attention_check)(const lh_attention_spec *spec);

#endif
