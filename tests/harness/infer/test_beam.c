/* Beams against a search through all sequences of a made-up chain of tokens. */
#include "harness/infer/beam.h"

#include "tests/test.h"

enum { VOCABULARY = 3, END = 1, LONGEST = 4, ROWS = 64 };

/* Logits that depend on the sequence and on its whole prefix. */
typedef struct language {
    int64_t beam, steps;
    double ends;                   /* added to the logit of the end */
    int32_t before[ROWS][LONGEST]; /* the prefixes of the step before */
} language;

static void logits_of(const language *l, int64_t sequence, const int32_t *prefix, int64_t length,
                      real *out) {
    uint64_t hash = 77 + (uint64_t)sequence;
    for (int64_t t = 0; t < length; ++t)
        hash = (hash ^ (uint64_t)(prefix[t] + 1)) * UINT64_C(0x9e3779b97f4a7c15);
    for (int v = 0; v < VOCABULARY; ++v) {
        hash = (hash ^ (hash >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
        out[v] = (real)((double)(hash >> 40) * 0x1p-24 * 3 + (v == END ? l->ends : 0));
    }
}

/* A prefix is its parent's with a token more. */
static lh_status step(void *context, const int32_t *prefix, int64_t length, const int64_t *parent,
                      real *logits) {
    language *l = context;
    for (int64_t r = 0; r < l->beam * 2; ++r) {
        if (length > 0)
            CHECK(memcmp(prefix + r * length, l->before[parent[r]],
                         (size_t)(length - 1) * sizeof *prefix) == 0);
        CHECK_EQ_INT(parent[r] / l->beam, r / l->beam);
        logits_of(l, r / l->beam, prefix + r * length, length, logits + r * VOCABULARY);
    }
    for (int64_t r = 0; r < l->beam * 2; ++r)
        memcpy(l->before[r], prefix + r * length, (size_t)length * sizeof *prefix);
    l->steps += 1;
    return LH_OK;
}

static double log_probability(const real *logits, int token) {
    double sum = 0;
    for (int v = 0; v < VOCABULARY; ++v)
        sum += exp((double)logits[v]);
    return (double)logits[token] - log(sum);
}

/* The best of all sequences that end within LONGEST tokens. */
static void best_below(const language *l, const lh_beam_spec *spec, int64_t sequence,
                       int32_t *prefix, int64_t length, double so_far, lh_beam_result *best) {
    real logits[VOCABULARY];
    if (length == LONGEST) return;
    logits_of(l, sequence, prefix, length, logits);
    for (int v = 0; v < VOCABULARY; ++v) {
        const double now = so_far + log_probability(logits, v);
        prefix[length] = v;
        if (v != END) best_below(l, spec, sequence, prefix, length + 1, now, best);
        const double score = now / pow((5.0 + (double)length + 1) / 6, spec->length_penalty);
        if (v != END || !(score > best->score)) continue;
        best->score = score;
        best->count = length;
        memcpy(best->tokens, prefix, (size_t)length * sizeof *prefix);
    }
}

static lh_beam_spec make_spec(int64_t beam, double penalty) {
    return (lh_beam_spec){.sequences = 2,
                          .beam = beam,
                          .vocabulary = VOCABULARY,
                          .end = END,
                          .length_penalty = penalty,
                          .longest = LONGEST};
}

/* Eight open sequences are all there can be of three tokens. */
TEST(a_wide_beam_finds_the_best_of_all) {
    static const double penalties[] = {0, 0.6, 2}, ends[] = {-4, -1, 0, 1};
    for (int p = 0; p < 3; ++p) {
        for (int e = 0; e < 4; ++e) {
            const lh_beam_spec spec = make_spec(8, penalties[p]);
            language l = {.beam = 8, .ends = ends[e]};
            int32_t tokens[2][LONGEST], expected[LONGEST], prefix[LONGEST];
            lh_beam_result found[2] = {{.tokens = tokens[0]}, {.tokens = tokens[1]}};
            REQUIRE_OK(lh_beam_search(&spec, step, &l, found));
            for (int q = 0; q < 2; ++q) {
                lh_beam_result best = {.tokens = expected, .score = -INFINITY};
                best_below(&l, &spec, q, prefix, 0, 0, &best);
                CHECK(found[q].ended);
                REQUIRE(found[q].count == best.count);
                CHECK_NEAR(found[q].score, best.score, 1e-6);
                CHECK(memcmp(tokens[q], expected, (size_t)best.count * sizeof *expected) == 0);
            }
        }
    }
}

TEST(a_beam_of_one_is_greedy) {
    const lh_beam_spec spec = make_spec(1, 0);
    language l = {.beam = 1, .ends = -1};
    int32_t tokens[2][LONGEST];
    lh_beam_result found[2] = {{.tokens = tokens[0]}, {.tokens = tokens[1]}};
    REQUIRE_OK(lh_beam_search(&spec, step, &l, found));
    for (int q = 0; q < 2; ++q) {
        for (int64_t t = 0; t < found[q].count; ++t) {
            real logits[VOCABULARY];
            logits_of(&l, q, tokens[q], t, logits);
            const int other = 2 - tokens[q][t];
            CHECK(tokens[q][t] != END && logits[tokens[q][t]] >= logits[other]);
        }
    }
}

TEST(a_search_ends_when_nothing_can_overtake) {
    const lh_beam_spec spec = make_spec(2, 0);
    language l = {.beam = 2, .ends = 20};
    int32_t tokens[2][LONGEST];
    lh_beam_result found[2] = {{.tokens = tokens[0]}, {.tokens = tokens[1]}};
    REQUIRE_OK(lh_beam_search(&spec, step, &l, found));
    CHECK(found[0].ended && found[0].count == 0 && found[1].count == 0);
    CHECK_EQ_INT(l.steps, 2); /* the second finishes the beam */
}

/* What else is searched for beside a sequence changes nothing of it. */
TEST(a_sequence_has_a_limit_of_its_own) {
    static const double ends[] = {-INFINITY, -4, -1};
    static const int64_t limits[] = {1, LONGEST};
    for (int e = 0; e < 3; ++e) {
        language l = {.beam = 2, .ends = ends[e]};
        int32_t tokens[2][LONGEST], alone_tokens[2][LONGEST];
        lh_beam_result found[2] = {{.tokens = tokens[0]}, {.tokens = tokens[1]}};
        lh_beam_result alone[2] = {{.tokens = alone_tokens[0]}, {.tokens = alone_tokens[1]}};
        lh_beam_spec spec = make_spec(2, 0.6);
        spec.limits = limits;
        REQUIRE_OK(lh_beam_search(&spec, step, &l, found));
        CHECK(found[0].count <= 1 && (found[1].count == LONGEST || found[1].ended));
        spec.limits = NULL;
        for (int q = 0; q < 2; ++q) {
            spec.longest = limits[q];
            REQUIRE_OK(lh_beam_search(&spec, step, &l, alone));
            CHECK_EQ_INT(found[q].count, alone[q].count);
            CHECK(found[q].ended == alone[q].ended);
            CHECK_NEAR(found[q].score, alone[q].score, 0);
            CHECK(memcmp(tokens[q], alone_tokens[q], (size_t)found[q].count * sizeof(int32_t)) ==
                  0);
        }
    }
}

TEST(what_never_ends_is_cut) {
    const lh_beam_spec spec = make_spec(2, 0.6);
    language l = {.beam = 2, .ends = -INFINITY};
    int32_t tokens[2][LONGEST];
    lh_beam_result found[2] = {{.tokens = tokens[0]}, {.tokens = tokens[1]}};
    REQUIRE_OK(lh_beam_search(&spec, step, &l, found));
    CHECK(found[0].count == LONGEST && found[1].count == LONGEST);
    CHECK(!found[0].ended && !found[1].ended && found[0].score < 0);
    for (int t = 0; t < LONGEST; ++t)
        CHECK(tokens[0][t] != END && tokens[1][t] != END);
}

static lh_status fail(void *context, const int32_t *prefix, int64_t length, const int64_t *parent,
                      real *logits) {
    (void)context, (void)prefix, (void)length, (void)parent, (void)logits;
    return lh_fail(LH_ESTATE, "no logits today");
}

TEST(failures_are_passed_on_and_sizes_checked) {
    lh_beam_result found[2];
    lh_beam_spec spec = make_spec(2, 0);
    CHECK_FAILS(lh_beam_search(&spec, fail, NULL, found), LH_ESTATE, "no logits today");
    spec.end = VOCABULARY;
    CHECK_FAILS(lh_beam_search(&spec, fail, NULL, found), LH_EOPTION, "end 3 is outside");
    static const int64_t limits[] = {1, LONGEST + 1};
    spec = make_spec(2, 0);
    spec.limits = limits;
    CHECK_FAILS(lh_beam_search(&spec, fail, NULL, found), LH_EOPTION, "sequence 1 of 5 tokens");
    spec = make_spec(0, 0);
    CHECK_FAILS(lh_beam_search(&spec, fail, NULL, found), LH_EOPTION, "beam 0");
}
