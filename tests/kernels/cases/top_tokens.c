/* The tokens that clusters take: sizes around blocks, ties, signs of zero, and scores that are no
 * numbers. */
#include "tests/kernels/conformance.h"

typedef enum score_kind { SPREAD, TIED, ODD, ALL_EQUAL, SCORE_KINDS } score_kind;

/* Multiples of a half tie often; odd ones are zeros of both signs, among which the last one taken
 * lies, infinities, and not a number. */
static void set_scores(real *score, int64_t count, score_kind kind) {
    static const double odd[] = {0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 5e-39};
    for (int64_t i = 0; i < count; i++) {
        if (kind == TIED) score[i] = (real)(floor((double)score[i] * 2) / 2);
        if (kind == ALL_EQUAL) score[i] = 1;
        if (kind == ODD) score[i] = (real)odd[(7 * i + i / 3) % 8];
    }
}

static void take(suite *s, int64_t rows, int64_t length, int64_t top, int64_t group,
                 score_kind kind) {
    lh_top_tokens_args args = {.rows = rows, .length = length, .top = top, .group = group};
    case_open(s, &args, sizeof args,
              "rows %" PRId64 ", length %" PRId64 ", top %" PRId64 ", group %" PRId64 ", scores %d",
              rows, length, top, group, kind);
    set_scores(case_in(s, "score", &args.score, rows * length), rows * length, kind);
    case_out_i32(s, "index", &args.index, rows * top);
    case_run(s);
}

void cases_top_tokens(suite *s) {
    for (int i = 0; i < suite_size_count; i++) {
        const int64_t length = suite_sizes[i];
        for (int kind = 0; kind < SCORE_KINDS; kind++)
            take(s, 3, length, (length * (kind + 1) + SCORE_KINDS - 1) / (SCORE_KINDS + 1),
                 1 + kind, kind);
    }
    take(s, 0, 7, 3, 2, SPREAD);
    take(s, 4, 9, 0, 2, SPREAD);
    take(s, 4, 9, 9, 2, ODD);
    take(s, 5, 700, 1, 5, TIED);
    take(s, 40, 600, 75, 8, SPREAD);
    CASE_REFUSED(s, LH_ESHAPE, lh_top_tokens_args, .group = 0);
    CASE_REFUSED(s, LH_ESHAPE, lh_top_tokens_args, .rows = -1, .group = 1);
    CASE_REFUSED(s, LH_ESHAPE, lh_top_tokens_args, .length = -1, .top = -1, .group = 1);
    CASE_REFUSED(s, LH_ESHAPE, lh_top_tokens_args, .length = 5, .top = 6, .group = 1);
    CASE_REFUSED(s, LH_ESHAPE, lh_top_tokens_args, .top = -1, .group = 1);
}

void bench_top_tokens(suite *s) {
    take(s, 128, 4096, 512, 8, SPREAD);
}
