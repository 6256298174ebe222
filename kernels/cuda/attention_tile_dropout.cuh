/* Which weights of a pair of tiles dropout keeps: a bit for each in shared memory, so that four
 * keys share a block of random words, whichever lanes hold their scores. With a period they come
 * out of a table that is drawn once a call. */
#ifndef LH_KERNELS_CUDA_ATTENTION_TILE_DROPOUT_CUH
#define LH_KERNELS_CUDA_ATTENTION_TILE_DROPOUT_CUH

#include "kernels/cuda/attention_tile_pairs.cuh"

enum {
    LH_KEPT_KEYS = 32, /* of a word of bits */
    LH_RANDOM_WORDS = sizeof(lh_random_block) / sizeof(uint32_t)
};

/* Bit j of word [n][i]: whether query i keeps key 32 n + j. */
typedef struct lh_pair_kept {
    uint32_t word[LH_TILE / LH_KEPT_KEYS][LH_TILE];
} lh_pair_kept;

/* What dropout multiplies the weights of a pair by that it keeps. */
__device__ static inline real lh_kept_scale(const lh_attention_spec &spec,
                                            const lh_tile_pair &pair) {
    return lh_drops(spec, pair.source) ? (real)(1 / (1 - spec.dropout)) : 1;
}

/* Whether query i may see some of the 32 keys from `key` on. */
__device__ static inline bool lh_pair_reaches(const lh_tile_pair &pair, int i, int key) {
    return i < pair.queries && key < pair.keys && i - key >= pair.nearest &&
           i - (key + LH_KEPT_KEYS - 1) <= pair.farthest;
}

/* A bit for each of 32 words of the stream from `first` on: whether it keeps what it is drawn for.
 */
__device__ static inline uint32_t lh_draw_kept(const lh_random_key &key, int64_t first,
                                               uint32_t threshold) {
    const int64_t block = lh_floor_divide(first, LH_RANDOM_WORDS);
    const int before = (int)(first - block * LH_RANDOM_WORDS);
    const int blocks = LH_KEPT_KEYS / LH_RANDOM_WORDS + (before > 0);
    uint64_t kept = 0;
    LH_NO_UNROLL
    for (int n = 0; n < blocks; ++n) {
        const lh_random_block drawn = lh_random_words(key, (uint64_t)(block + n));
        uint32_t bits = 0;
        LH_UNROLL
        for (int w = 0; w < LH_RANDOM_WORDS; ++w)
            bits |= (uint32_t)(drawn.word[w] >= threshold) << w;
        kept |= (uint64_t)bits << (n * LH_RANDOM_WORDS);
    }
    return (uint32_t)(kept >> before);
}

/* ---- with a period: the mask of a head is one of distances, for all batch rows and blocks ---- */

/* Bits of distances from `nearest` on. */
typedef struct lh_kept_table {
    uint32_t *word; /* [heads][period][words] */
    int64_t nearest, words;
} lh_kept_table;

/* Takes what it needs of a workspace; nothing without a period. */
static inline size_t lh_take_kept_table(const lh_attention_spec *spec, char **at,
                                        lh_kept_table *table) {
    const lh_distances distances = lh_distances_of(spec);
    const bool periodic = spec->dropout > 0 && spec->dropout_period > 0;
    table->nearest = distances.nearest;
    table->words = periodic ? lh_chunk_count(distances.span, LH_KEPT_KEYS) : 0;
    return lh_take(at, spec->heads * spec->dropout_period * table->words, &table->word);
}

/* Fills it, before the kernels that read it. */
static inline lh_status lh_draw_kept_table(const lh_launch *launch, const lh_attention_spec *from,
                                           const lh_kept_table &table) {
    const lh_attention_spec spec = *from;
    const int64_t rows = spec.batch * spec.queries > 0 ? spec.heads * spec.dropout_period : 0;
    return lh_each(launch, rows * table.words, [=] __device__(int64_t i) {
        const int64_t row = i / table.words, distance = i % table.words * LH_KEPT_KEYS;
        const int64_t first =
            lh_word_of_distances(spec, row / spec.dropout_period, row % spec.dropout_period);
        table.word[i] = lh_draw_kept(*spec.key, first + table.nearest + distance,
                                     lh_dropout_threshold(spec.dropout));
    });
}

/* Bits of a row from bit `first` on; what the row has not is 0. */
__device__ static inline uint32_t lh_bits_from(const uint32_t *row, int64_t words, int64_t first) {
    const int64_t at = lh_floor_divide(first, LH_KEPT_KEYS);
    const uint64_t low = at >= 0 && at < words ? row[at] : 0;
    const uint64_t high = at + 1 >= 0 && at + 1 < words ? row[at + 1] : 0;
    return (uint32_t)((high << LH_KEPT_KEYS | low) >> (int)(first - at * LH_KEPT_KEYS));
}

/* ---- a pair of tiles ---- */

/* Whether a query keeps the 32 keys of a pair from `key` on. */
__device__ static inline uint32_t lh_kept_keys(const lh_attention_spec &spec,
                                               const lh_kept_table &table, const lh_tile_pair &pair,
                                               int64_t head, int64_t query, int64_t key) {
    const int64_t period = spec.dropout_period;
    if (period == 0) {
        const int64_t first = lh_word_of_keys(spec, pair.batch, head, query, pair.source) + key;
        return lh_draw_kept(*spec.key, first, lh_dropout_threshold(spec.dropout));
    }
    const int64_t last = query - spec.source[pair.source].first - (key + LH_KEPT_KEYS - 1);
    const uint32_t *row = table.word + (head * period + query % period) * table.words;
    return lh_reverse_bits(lh_bits_from(row, table.words, last - table.nearest));
}

/* Those of a pair's queries; a block's work. What is outside of the window is not asked. */
__device__ static inline void lh_stage_kept(const lh_attention_spec &spec,
                                            const lh_kept_table &table, const lh_tile_pair &pair,
                                            int64_t head, lh_pair_kept *kept) {
    if (!lh_drops(spec, pair.source)) return;
    LH_NO_UNROLL
    for (int n = (int)threadIdx.x; n < LH_TILE / LH_KEPT_KEYS * LH_TILE; n += (int)blockDim.x) {
        const int i = n % LH_TILE, key = n / LH_TILE * LH_KEPT_KEYS;
        if (lh_pair_reaches(pair, i, key))
            kept->word[n / LH_TILE][i] =
                lh_kept_keys(spec, table, pair, head, pair.query + i, pair.key + key);
    }
}

/* The word of a query that holds a key's bit, which is bit 0. */
__device__ static inline uint32_t lh_kept_from(const lh_pair_kept &kept, int query, int key) {
    return kept.word[key / LH_KEPT_KEYS][query] >> key % LH_KEPT_KEYS;
}

/* A bit for each part of a block of 16 x 16, of which cell_of(n) tells number n. */
template <typename placing>
__device__ static inline uint32_t lh_kept_parts(const lh_attention_spec &spec,
                                                const lh_tile_pair &pair, const lh_pair_kept &kept,
                                                const placing &cell_of) {
    if (!lh_drops(spec, pair.source)) return ~(uint32_t)0;
    uint32_t bits = 0;
    LH_UNROLL
    for (int n = 0; n < LH_STEP_PARTS; ++n)
        bits |= (lh_kept_from(kept, cell_of(n).query, cell_of(n).key) & 1) << n;
    return bits;
}

#endif
