/* Dropout: words are drawn a segment at a time and laid over all that share them. */
#include "kernels/cpu/act.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/random_run.h"

/* Words drawn at a time: they and the elements that they decide over stay in the first-level cache.
 */
enum { SEGMENT = 16 * LH_RANDOM_GROUP };

/* Tiles that share one drawing of a segment's words. More would leave short masks to one thread. */
enum { TILES = 32 };

/* The mask as one run of `period` words, laid over `sequences` of `length` elements again and
 * again. Without a period the whole tensor is one sequence, and one period long. */
typedef struct tiling {
    int64_t sequences, length, period, repeats;
} tiling;

static tiling tile(const lh_dropout_args *args) {
    tiling t = {1, args->outer * args->length * args->width, 0, 1};
    t.period = t.length;
    if (args->period > 0 && t.length > 0) {
        t.sequences = args->outer;
        t.length = args->length * args->width;
        t.period = lh_min(args->period, args->length) * args->width;
        t.repeats = lh_chunk_count(t.length, t.period);
    }
    return t;
}

LH_SPECIALIZED void mask_loop(const uint32_t *word, uint32_t threshold, real kept, int64_t count,
                              lh_dtype dtype, const void *x, void *y, bool add) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
        const real value = word[i] >= threshold ? lh_load(dtype, x, i) * kept : LH_R(0);
        lh_store(dtype, y, i, add ? lh_load(dtype, y, i) + value : value);
    }
}

static void mask_run(const uint32_t *word, uint32_t threshold, real kept, int64_t count,
                     const lh_dropout_args *args, int64_t at) {
    const void *x = lh_at(args->x, at);
    void *y = lh_at(args->y, at);
    const bool add = args->write == LH_ADD, coarse = args->y.dtype == LH_BF16;
    if (coarse && add)
        mask_loop(word, threshold, kept, count, LH_BF16, x, y, true);
    else if (coarse)
        mask_loop(word, threshold, kept, count, LH_BF16, x, y, false);
    else if (add)
        mask_loop(word, threshold, kept, count, LH_REAL, x, y, true);
    else
        mask_loop(word, threshold, kept, count, LH_REAL, x, y, false);
}

/* One segment of the mask, in some of the sequences and repeats. */
static void mask_segment(const lh_dropout_args *args, const tiling *t, lh_range range,
                         lh_range tiles) {
    uint32_t drawn[SEGMENT + LH_RANDOM_GROUP];
    const uint64_t first = (uint64_t)(args->period > 0 ? 0 : args->first) + (uint64_t)range.begin;
    const uint32_t *word = drawn + (first & 3u); /* runs begin with a whole block */
    const uint32_t threshold = lh_dropout_threshold(args->rate);
    const real kept = (real)(1.0 / (1.0 - args->rate));
    lh_random_run(*args->key, first & ~UINT64_C(3), range.end - range.begin + (int64_t)(first & 3u),
                  drawn);
    for (int64_t i = tiles.begin; i < tiles.end; ++i) {
        const int64_t start = i % t->repeats * t->period;
        const int64_t count = lh_min(range.end, t->length - start) - range.begin;
        const int64_t at = i / t->repeats * t->length + start + range.begin;
        mask_run(word, threshold, kept, count, args, at);
    }
}

lh_status lh_cpu_dropout(const lh_launch *launch, const lh_dropout_args *args) {
    (void)launch;
    const tiling t = tile(args);
    const int64_t tiles = t.sequences * t.repeats;
    const int64_t segments = lh_chunk_count(t.period, SEGMENT);
    const int64_t groups = lh_chunk_count(tiles, TILES);
#pragma omp parallel for schedule(static) if (t.sequences * t.length > LH_CHUNK)
    for (int64_t job = 0; job < segments * groups; ++job) {
        mask_segment(args, &t, lh_chunk(t.period, SEGMENT, job / groups),
                     lh_chunk(tiles, TILES, job % groups));
    }
    return LH_OK;
}
