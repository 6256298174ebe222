/* What the attention kernels share: who sees whom, scores, dropout. One warp works for one query
 * (or one key), its lanes each for one of 32 keys (or queries) staged in shared memory; sums over
 * them then go with a lane for each element of a head vector. Scores live in registers only. */
#ifndef LH_KERNELS_CUDA_ATTENTION_CUH
#define LH_KERNELS_CUDA_ATTENTION_CUH

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/warp.cuh"

/* Head vectors of up to LH_HEAD_PARTS * 32 elements. */
enum { LH_HEAD_PARTS = 8 };

/* ---- shape, on the host as well ---- */

/* Distances between queries and positioned keys that can be seen: nearest .. nearest + span - 1. */
typedef struct lh_distances {
    int64_t nearest, span;
} lh_distances;

/* Those of all sources with positions together, no wider than the spec allows; span 0 where no key
 * can be seen. */
static inline lh_distances lh_distances_of(const lh_attention_spec *spec) {
    int64_t nearest = INT64_MAX, farthest = INT64_MIN;
    for (int s = 0; s < spec->source_count; ++s) {
        const lh_key_source *keys = &spec->source[s];
        if (keys->everywhere || keys->count == 0) continue;
        nearest = lh_min(nearest, -(keys->first + keys->count - 1));
        farthest = lh_max(farthest, spec->queries - 1 - keys->first);
    }
    nearest = lh_max(nearest, spec->min_distance);
    farthest = lh_min(farthest, spec->max_distance);
    return {nearest, nearest > farthest ? 0 : farthest - nearest + 1};
}

/* Whether a warp's lanes hold a head vector. */
static inline bool lh_head_fits(int64_t head_width) {
    return head_width <= LH_HEAD_PARTS * LH_WARP;
}

/* ---- who sees whom ---- */

/* a / b, rounded down; b > 0. */
LH_INLINE int64_t lh_floor_divide(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

/* Whether a query sees a key of a source: one that is filled, within the distances, and in a chunk
 * that the query's looks back on. */
__device__ static inline bool lh_sees(const lh_attention_spec &spec, int source, int64_t batch,
                                      int64_t query, int64_t key) {
    const lh_key_source &keys = spec.source[source];
    if (keys.filled != NULL && key >= keys.filled[batch]) return false;
    if (keys.everywhere) return true;
    const int64_t position = keys.first + key, distance = query - position;
    if (distance < spec.min_distance || distance > spec.max_distance) return false;
    return spec.chunk == 0 || lh_floor_divide(position, spec.chunk) >=
                                  lh_floor_divide(query, spec.chunk) - spec.chunks_back;
}

typedef struct lh_span {
    int64_t begin, end;
} lh_span;

/* Keys of a source that some query of [first, last] may see; chunks left out of account. */
__device__ static inline lh_span lh_keys_seen(const lh_attention_spec &spec, int source,
                                              int64_t first, int64_t last) {
    const lh_key_source &keys = spec.source[source];
    if (keys.everywhere) return {0, keys.count};
    const int64_t begin = lh_max(0, first - spec.max_distance - keys.first);
    return {begin, lh_min(keys.count, last - spec.min_distance - keys.first + 1)};
}

/* Queries that may see some key of [first, last]. */
__device__ static inline lh_span lh_queries_seeing(const lh_attention_spec &spec, int source,
                                                   int64_t first, int64_t last) {
    const lh_key_source &keys = spec.source[source];
    if (keys.everywhere) return {0, spec.queries};
    const int64_t begin = lh_max(0, keys.first + first + spec.min_distance);
    return {begin, lh_min(spec.queries, keys.first + last + spec.max_distance + 1)};
}

/* ---- rows of head vectors ---- */

/* The element at which the vector of a token begins. */
__device__ static inline int64_t lh_head_offset(const lh_heads &heads, int64_t batch, int64_t head,
                                                int64_t token) {
    return batch * heads.batch_stride + head * heads.head_stride + token * heads.token_stride;
}

/* The head_width elements of a token, which lie side by side. */
template <typename element = real>
__device__ static inline element *lh_head_row(const lh_heads &heads, int64_t batch, int64_t head,
                                              int64_t token) {
    return lh_elements<element>(heads.act) + lh_head_offset(heads, batch, head, token);
}

/* A block copies rows [begin, begin + LH_WARP) into shared memory, `pitch` elements apart; what
 * lies past `end` is not touched. */
template <typename element>
__device__ static inline void lh_stage_rows(const lh_heads &heads, int64_t batch, int64_t head,
                                            int64_t begin, int64_t end, int64_t width, real *tile,
                                            int64_t pitch) {
    for (int64_t i = threadIdx.x; i < LH_WARP * width; i += LH_THREADS) {
        const int64_t row = i / width, column = i % width;
        if (begin + row < end)
            tile[row * pitch + column] =
                lh_load(lh_head_row<element>(heads, batch, head, begin + row) + column);
    }
}

/* a . b of two vectors in memory; one thread sums all of it. */
template <typename element>
__device__ static inline real lh_dot(const element *a, const real *b, int64_t width) {
    real sum = 0;
    for (int64_t d = 0; d < width; ++d)
        sum += lh_load(a + d) * b[d];
    return sum;
}

/* ---- scores ---- */

/* What multiplies the raw scores of a head (cosine attention learns it); 1 without a table. */
__device__ static inline real lh_scale_of_head(const lh_attention_spec &spec, int64_t head) {
    return spec.head_scale != NULL ? spec.head_scale[head] : 1;
}

/* The entry of a distance in a table of position vectors. */
__device__ static inline int64_t lh_position_entry(const lh_attention_spec &spec,
                                                   int64_t distance) {
    return lh_max(0, lh_min(distance - spec.position_first, spec.position_count - 1));
}

/* The position vector of a distance, or NULL. */
__device__ static inline const real *lh_position(const lh_attention_spec &spec, int source,
                                                 int64_t head, int64_t distance) {
    if (spec.positions == NULL || spec.source[source].everywhere) return NULL;
    const int64_t table = spec.position_heads > 1 ? head * spec.position_count : 0;
    return spec.positions + (table + lh_position_entry(spec, distance)) * spec.head_width;
}

/* The score before the head's scale: scale * q . (k + r) + bias; `dot` is q . k. */
template <typename element>
__device__ static inline real lh_raw_score(const lh_attention_spec &spec, int source, int64_t head,
                                           int64_t distance, const element *q, real dot) {
    const real *r = lh_position(spec, source, head, distance);
    if (r != NULL) dot += lh_dot(q, r, spec.head_width);
    const real raw = spec.scale * dot;
    if (spec.bias == NULL || spec.source[source].everywhere) return raw;
    const int64_t entry = lh_max(0, lh_min(distance - spec.bucket_first, spec.bucket_span - 1));
    return raw + spec.bias[head * spec.buckets + spec.bucket_of[entry]];
}

/* delta = dO . O of every query: [batch][heads][queries]. */
static inline lh_status lh_attention_delta(const lh_launch *launch, const lh_heads &out,
                                           const lh_heads &dout, int64_t batch, int64_t heads,
                                           int64_t queries, int64_t width, real *delta) {
    return lh_each_row(launch, batch * heads * queries, [=] __device__(int64_t number, int lane) {
        const int64_t query = number % queries, pair = number / queries;
        const int64_t o = lh_head_offset(out, pair / heads, pair % heads, query);
        const int64_t d = lh_head_offset(dout, pair / heads, pair % heads, query);
        real sum = 0;
        for (int64_t x = lane; x < width; x += LH_WARP)
            sum += lh_load_as(out.act, o + x) * lh_load_as(dout.act, d + x);
        sum = lh_warp_sum(sum);
        if (lane == 0) delta[number] = sum;
    });
}

/* ---- dropout ---- */

/* Whether weights of a source's keys are dropped. */
__device__ static inline bool lh_drops(const lh_attention_spec &spec, int source) {
    return spec.dropout > 0 && !(spec.dropout_period > 0 && spec.source[source].everywhere);
}

/* The word of the stream that a query draws for key 0 of a source, those of the other keys behind
 * it; without a period. */
__device__ static inline int64_t lh_word_of_keys(const lh_attention_spec &spec, int64_t batch,
                                                 int64_t head, int64_t query, int source) {
    const int64_t row = ((batch + spec.first_batch) * spec.heads + head) * spec.queries + query;
    int64_t before = 0, keys = 0;
    for (int s = 0; s < spec.source_count; ++s) {
        before += s < source ? spec.source[s].count : 0;
        keys += spec.source[s].count;
    }
    return row * keys + before;
}

/* With one, that which a query of the period draws for a distance of 0, those of the others behind
 * and before it. */
__device__ static inline int64_t lh_word_of_distances(const lh_attention_spec &spec, int64_t head,
                                                      int64_t query) {
    const int64_t period = spec.dropout_period;
    return (head * period + query) * 3 * period + period;
}

/* What dropout multiplies a weight by. */
__device__ static inline real lh_kept(const lh_attention_spec &spec, int64_t batch, int64_t head,
                                      int64_t query, int source, int64_t key) {
    const int64_t period = spec.dropout_period;
    if (!lh_drops(spec, source)) return 1;
    const int64_t number = period > 0 ? lh_word_of_distances(spec, head, query % period) + query -
                                            spec.source[source].first - key
                                      : lh_word_of_keys(spec, batch, head, query, source) + key;
    const uint32_t word = lh_random_word(*spec.key, (uint64_t)number);
    return word >= lh_dropout_threshold(spec.dropout) ? (real)(1 / (1 - spec.dropout)) : 0;
}

#endif
