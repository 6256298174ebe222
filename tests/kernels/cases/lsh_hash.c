/* Buckets of tokens by random rotations whose products are exact, ties included. */
#include "tests/kernels/conformance.h"

typedef struct shape {
    int64_t batch, heads, length, head_width, rounds, factors, factor[LH_LSH_FACTORS];
} shape;

static void hash(suite *s, const shape *w, bool padded, double unit) {
    lh_lsh_hash_args args = {.batch = w->batch,
                             .heads = w->heads,
                             .length = w->length,
                             .head_width = w->head_width,
                             .rounds = w->rounds,
                             .factors = w->factors};
    int64_t columns = 0;
    for (int64_t f = 0; f < w->factors; f++) {
        args.factor[f] = w->factor[f];
        columns += w->factor[f] / 2;
    }
    case_open(
        s, &args, sizeof args,
        "batch %" PRId64 ", heads %" PRId64 ", length %" PRId64 ", width %" PRId64
        ", rounds %" PRId64 ", %" PRId64 " columns in %" PRId64 " factors, padded %d, unit %g",
        w->batch, w->heads, w->length, w->head_width, w->rounds, columns, w->factors, padded, unit);
    const int64_t span = heads_pad(&args.x, w->batch, w->heads, w->head_width, w->length, padded);
    round_to(case_in(s, "x", &args.x.act, span), span, unit);
    const int64_t count = w->batch * w->heads * w->head_width * w->rounds * columns;
    round_to(case_in(s, "rotation", &args.rotation, count), count, unit);
    case_out_i32(s, "bucket", &args.bucket, w->batch * w->heads * w->rounds * w->length);
    case_flops(s, 2.0 * (double)(w->length * count));
    case_dtype(s, &args.x.act, s->dtype);
    case_run(s);
}

static const shape shapes[] = {{0, 2, 5, 4, 2, 1, {4}},          {2, 2, 0, 4, 2, 1, {4}},
                               {1, 2, 5, 4, 0, 1, {4}},          {1, 1, 1, 1, 1, 1, {2}},
                               {2, 3, 7, 5, 2, 1, {6}},          {1, 2, 33, 8, 3, 2, {4, 6}},
                               {2, 1, 65, 16, 1, 1, {34}},       {1, 2, 129, 33, 2, 1, {130}},
                               {1, 1, 70, 64, 4, 2, {16, 32}},   {2, 2, 17, 7, 2, 3, {2, 6, 8}},
                               {1, 1, 9, 3, 1, 4, {2, 2, 4, 2}}, {1, 2, 5, 4, 2, 1, {1}},
                               {1, 1, 70, 4, 1, 2, {1, 4}},      {1, 1, 33, 128, 2, 1, {34}}};

void cases_lsh_hash(suite *s) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        hash(s, &shapes[i], false, 1.0 / 64);
        hash(s, &shapes[i], true, 1.0 / 2);
    }
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_hash_args, .factors = 0);
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_hash_args, .factors = LH_LSH_FACTORS + 1);
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_hash_args, .factors = 1, .factor = {0});
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_hash_args, .factors = 1, .factor = {3});
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_hash_args, .factors = 2, .factor = {2, -2});
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_hash_args, .factors = 2, .factor = {65536, 32768});
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_hash_args, .factors = 4,
                 .factor = {2091014, 12866, 48914, 14018});
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_hash_args, .factors = 1, .factor = {2}, .batch = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_hash_args, .factors = 1, .factor = {2}, .heads = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_hash_args, .factors = 1, .factor = {2}, .length = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_hash_args, .factors = 1, .factor = {2}, .head_width = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_hash_args, .factors = 1, .factor = {2}, .rounds = -1);
    CASE_REFUSED(s, LH_EOPTION, lh_lsh_hash_args, .factors = 1, .factor = {2},
                 .x = {.act = {.dtype = LH_I32}});
}

void bench_lsh_hash(suite *s) {
    hash(s, &(shape){1, 4, 16384, 64, 1, 1, {512}}, false, 1.0 / 64);
    hash(s, &(shape){1, 4, 16384, 64, 1, 2, {32, 16}}, false, 1.0 / 64);
}
