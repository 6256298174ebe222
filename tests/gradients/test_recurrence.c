/* Recurrence encoding in double: the scan, the dense matrices of the paper's propositions and a
 * linear RNN run step by step are the same numbers; every contradiction of the paper is settled
 * the way the propositions want it; gradients. */
#include <math.h>

#include "tests/gradients/gradient_check.h"
#include "tests/test.h"

enum { LENGTH = 23, WIDTH = 3, FAR_GATE = 40 };

static const double tight = 1e-12;

/* ---- the matrices, from the definitions (eqs. 2 and 3, table of section 2.3) ---- */

typedef struct matrix {
    lh_rem_kind kind;
    double base, angle; /* lambda or gamma; theta */
    int64_t dilation, cutoff;
    bool both_ways;
} matrix;

static double lag_function(const matrix *m, int64_t t) {
    double power = 1;
    for (int64_t i = 0; i < t; ++i)
        power *= m->base;
    return m->kind == LH_REM_REGULAR  ? power
           : m->kind == LH_REM_COSINE ? power * cos((double)t * m->angle)
                                      : power * sin((double)t * m->angle);
}

/* P[i][j] for time i of the query and j of the key. */
static double entry(const matrix *m, int64_t i, int64_t j) {
    const int64_t lag = m->both_ways && i < j ? j - i : i - j;
    if (lag < 1 || lag % m->dilation != 0 || lag / m->dilation > m->cutoff) return 0;
    return lag_function(m, lag / m->dilation);
}

/* ---- the kernel on one head ---- */

typedef struct run {
    check_bench bench;
    lh_tensor *attended, *v[2], *eta, *nu, *theta, *mu;
    int64_t first[2], count[2], queries;
    int sources;
} run;

static lh_tensor *set(lh_tensor *leaf, double value) {
    *lh_tensor_real(leaf) = (real)value;
    return leaf;
}

/* sigmoid(FAR_GATE) is 1 in double: P V alone. */
static lh_tensor *scan(run *r, const matrix *m) {
    check_bench *b = &r->bench;
    const bool regular = m->kind == LH_REM_REGULAR;
    lh_recurrence recurrence = {
        .both_ways = m->both_ways,
        .encoded = 1,
        .head[0] = {.kind = m->kind, .angle = 0, .dilation = m->dilation, .cutoff = m->cutoff},
        .mu = set(r->mu, FAR_GATE)};
    if (regular) recurrence.eta = set(r->eta, atanh(m->base));
    if (!regular) recurrence.nu = set(r->nu, log(m->base / (1 - m->base)));
    if (!regular) recurrence.theta = set(r->theta, m->angle);
    lh_keys keys[2] = {{.v = r->v[0], .first = r->first[0]}, {.v = r->v[1], .first = r->first[1]}};
    lh_tape_begin(b->tape, false, 1, 0);
    return lh_encode_recurrence(b->tape, &recurrence, keys, r->sources, r->attended);
}

static bool open_run(run *r, int64_t queries, int64_t keys, int64_t first, int64_t memory) {
    *r = (run){.queries = queries,
               .sources = memory > 0 ? 2 : 1,
               .first = {first, first - memory},
               .count = {keys, memory}};
    if (!check_open(&r->bench)) return false;
    r->attended = LEAF(&r->bench, 1, queries, 1, WIDTH);
    r->v[0] = LEAF(&r->bench, 1, keys, 1, WIDTH);
    if (memory > 0) r->v[1] = LEAF(&r->bench, 1, memory, 1, WIDTH);
    lh_tensor **const lists[] = {&r->eta, &r->nu, &r->theta, &r->mu};
    for (int i = 0; i < 4; ++i)
        *lists[i] = LEAF(&r->bench, 1);
    return r->mu != NULL;
}

/* sum over sources of P V, row i, column e. */
static double dense(const run *r, const matrix *m, int64_t i, int64_t e) {
    double sum = 0;
    for (int s = 0; s < r->sources; ++s) {
        for (int64_t j = 0; j < r->count[s]; ++j)
            sum += entry(m, i, r->first[s] + j) * (double)lh_tensor_real(r->v[s])[j * WIDTH + e];
    }
    return sum;
}

static double worst_difference(run *r, const matrix *m) {
    const lh_tensor *y = scan(r, m);
    double worst = 0;
    if (y == NULL) return INFINITY;
    for (int64_t i = 0; i < r->queries; ++i) {
        for (int64_t e = 0; e < WIDTH; ++e) {
            const double off = fabs((double)lh_tensor_real(y)[i * WIDTH + e] - dense(r, m, i, e));
            if (!(off <= worst)) worst = off;
        }
    }
    return worst;
}

static const lh_rem_kind kinds[] = {LH_REM_REGULAR, LH_REM_COSINE, LH_REM_SINE};

TEST(scan_equals_the_dense_matrix) {
    static const int64_t dilations[] = {1, 2, 3, 5, 24}, cutoffs[] = {1, 4, 200, LH_FAR};
    for (int memory = 0; memory <= 31; memory += 31) {
        run r;
        REQUIRE(open_run(&r, LENGTH, LENGTH, 0, memory));
        for (int i = 0; i < 3 * 5 * 4 * 2; ++i) {
            const matrix m = {kinds[i % 3],         i % 3 == 0 ? -0.93 : 0.87, 0.9,
                              dilations[i / 3 % 5], cutoffs[i / 15 % 4],       i >= 60};
            CHECK_NEAR(worst_difference(&r, &m), 0.0, tight);
        }
        check_close(&r.bench);
    }
}

/* ---- Propositions 1 and 2: a linear RNN is r + 2s heads and one for the present ---- */

/* W = rotation by `angle` times gamma, beside lambda: a real Jordan form with r = s = 1. */
static const double gamma0 = 0.9, angle0 = 0.7, lambda0 = -0.8;

/* h_t = W h_{t-1} + x_t (eq. 1 with U = I), step by step. */
static void run_rnn(const real *x, double (*h)[WIDTH]) {
    for (int t = 0; t < LENGTH; ++t) {
        const double zero[WIDTH] = {0}, *last = t > 0 ? h[t - 1] : zero;
        const double c = gamma0 * cos(angle0), s = gamma0 * sin(angle0);
        h[t][0] = (double)x[t * WIDTH] + c * last[0] - s * last[1];
        h[t][1] = (double)x[t * WIDTH + 1] + s * last[0] + c * last[1];
        h[t][2] = (double)x[t * WIDTH + 2] + lambda0 * last[2];
    }
}

/* sum over heads of P V G + x: G selects the real eigenvalue's column, the identity of the pair and
 * its turn by a right angle. */
static double heads_sum(double (*parts)[LENGTH][WIDTH], const real *x, int t, int e) {
    const double now = (double)x[t * WIDTH + e];
    if (e == 2) return now + parts[0][t][2];
    return now + parts[1][t][e] + (e == 0 ? -parts[2][t][1] : parts[2][t][0]);
}

TEST(propositions_1_and_2_a_linear_rnn_is_a_sum_of_heads) {
    run r;
    double h[LENGTH][WIDTH], parts[3][LENGTH][WIDTH], worst = 0;
    REQUIRE(open_run(&r, LENGTH, LENGTH, 0, 0));
    const real *x = lh_tensor_real(r.v[0]);
    run_rnn(x, h);
    for (int k = 0; k < 3; ++k) {
        const matrix m = {kinds[k], k == 0 ? lambda0 : gamma0, angle0, 1, LH_FAR, false};
        const lh_tensor *y = scan(&r, &m);
        REQUIRE(y != NULL);
        for (int i = 0; i < LENGTH * WIDTH; ++i)
            parts[k][i / WIDTH][i % WIDTH] = (double)lh_tensor_real(y)[i];
    }
    for (int i = 0; i < LENGTH * WIDTH; ++i) {
        const int t = i / WIDTH, e = i % WIDTH;
        worst = fmax(worst, fabs(heads_sum(parts, x, t, e) - h[t][e]));
    }
    CHECK_NEAR(worst, 0.0, tight);
    check_close(&r.bench);
}

/* ---- Proposition 4 (printed as a second 3): dilation is P (x) I_d ---- */

TEST(proposition_4_a_dilated_matrix_is_a_kronecker_product) {
    run r;
    REQUIRE(open_run(&r, LENGTH, LENGTH, 0, 0));
    for (int64_t d = 1; d <= 5; ++d) {
        for (int k = 0; k < 3; ++k) {
            const matrix plain = {kinds[k], 0.8, 0.6, 1, LH_FAR, false};
            const matrix dilated = {kinds[k], 0.8, 0.6, d, LH_FAR, false};
            for (int64_t i = 0; i < LENGTH; ++i) {
                for (int64_t j = 0; j < LENGTH; ++j) {
                    const double product = i % d == j % d ? entry(&plain, i / d, j / d) : 0;
                    CHECK(entry(&dilated, i, j) == product);
                }
            }
            CHECK_NEAR(worst_difference(&r, &dilated), 0.0, tight);
        }
    }
    check_close(&r.bench);
}

/* y_t of a dilated linear RNN: W at steps of d (eq. 10, whose sum ends at floor((t - 1) / d)). */
TEST(a_dilated_rnn_steps_by_d) {
    enum { D = 4 };
    run r;
    double h[LENGTH][WIDTH];
    REQUIRE(open_run(&r, LENGTH, LENGTH, 0, 0));
    const matrix m = {LH_REM_REGULAR, 0.85, 0, D, LH_FAR, false};
    const lh_tensor *y = scan(&r, &m);
    REQUIRE(y != NULL);
    for (int t = 0; t < LENGTH; ++t) {
        for (int e = 0; e < WIDTH; ++e) {
            const double now = (double)lh_tensor_real(r.v[0])[t * WIDTH + e];
            h[t][e] = now + (t >= D ? m.base * h[t - D][e] : 0);
            CHECK_NEAR((double)lh_tensor_real(y)[t * WIDTH + e] + now, h[t][e], tight);
        }
    }
    check_close(&r.bench);
}

/* ---- the paper's contradictions, settled ---- */

/* The matrix that the kernel applies, column by column. */
static void read_matrix(const matrix *m, double *p) {
    run r;
    REQUIRE(open_run(&r, LENGTH, LENGTH, 0, 0));
    for (int64_t j = 0; j < LENGTH; ++j) {
        memset(lh_tensor_real(r.v[0]), 0, (size_t)(LENGTH * WIDTH) * sizeof(real));
        lh_tensor_real(r.v[0])[j * WIDTH] = 1;
        const lh_tensor *y = scan(&r, m);
        REQUIRE(y != NULL);
        for (int64_t i = 0; i < LENGTH; ++i)
            p[i * LENGTH + j] = (double)lh_tensor_real(y)[i * WIDTH];
    }
    check_close(&r.bench);
}

/* Appendix D.1 "D - I" holds for f(0) = 1 only: the sine's diagonal would be -1. All are 0. */
TEST(the_diagonal_is_zero_for_every_kind) {
    double p[LENGTH * LENGTH];
    for (int k = 0; k < 3; ++k) {
        const matrix m = {kinds[k], 0.9, 0.5, 1, LH_FAR, true};
        read_matrix(&m, p);
        for (int i = 0; i < LENGTH; ++i)
            CHECK(p[i * LENGTH + i] == 0);
    }
}

/* Appendix D.1's exponents are symmetric: that is the unmasked matrix; the masked one is its lower
 * triangle, and the unmasked one the sum of it and its transpose. */
TEST(unmasked_is_masked_plus_its_transpose) {
    double masked[LENGTH * LENGTH], unmasked[LENGTH * LENGTH];
    for (int k = 0; k < 3; ++k) {
        matrix m = {kinds[k], 0.9, 0.5, 2, 6, false};
        read_matrix(&m, masked);
        m.both_ways = true;
        read_matrix(&m, unmasked);
        for (int i = 0; i < LENGTH; ++i) {
            for (int j = 0; j < LENGTH; ++j) {
                CHECK(j < i || masked[i * LENGTH + j] == 0);
                CHECK_NEAR(unmasked[i * LENGTH + j],
                           masked[i * LENGTH + j] + masked[j * LENGTH + i], tight);
            }
        }
    }
}

/* D.1 writes exponent 0, hence 1, where d does not divide the lag: 176 of 276 entries for T = 23
 * and d = 3. They are 0 here; and so are the powers beyond the cutoff, which must not become 1. */
TEST(entries_off_the_dilation_and_beyond_the_cutoff_are_zero) {
    double p[LENGTH * LENGTH];
    int off = 0, beyond = 0;
    const matrix m = {LH_REM_COSINE, 0.9, 0.5, 3, 4, false};
    read_matrix(&m, p);
    for (int i = 0; i < LENGTH; ++i) {
        for (int j = 0; j <= i; ++j) {
            const bool divides = (i - j) % 3 == 0;
            off += !divides;
            beyond += divides && (i - j) / 3 > 4;
            if (!divides) CHECK(p[i * LENGTH + j] == 0);
            if (divides && (i - j) / 3 > 4) CHECK_NEAR(p[i * LENGTH + j], 0.0, tight);
            if (divides && i > j && (i - j) / 3 <= 4) CHECK(p[i * LENGTH + j] != 0);
        }
    }
    CHECK_EQ_INT(off, 176);
    CHECK(beyond > 0);
}

/* Eq. 11 lacks lambda on the input: lambda (h + u) it is, so that the first entry is lambda. */
TEST(the_first_entry_is_lambda) {
    double p[LENGTH * LENGTH];
    const matrix m = {LH_REM_REGULAR, -0.6, 0, 1, LH_FAR, false};
    read_matrix(&m, p);
    CHECK_NEAR(p[1 * LENGTH + 0], -0.6, tight);
    CHECK_NEAR(p[2 * LENGTH + 0], 0.36, tight);
    CHECK_NEAR(p[3 * LENGTH + 0], -0.216, tight);
}

/* D.2 in its right orientation: rows are queries, columns keys on the same axis of time, and 0
 * where the times coincide. Queries stand at 0.., the 12 keys of the encoder at -7 .. 4. */
TEST(cross_attention_goes_by_true_lags) {
    enum { KEYS = 12, FIRST = -7 };
    run r;
    const matrix m = {LH_REM_COSINE, 0.9, 0.5, 2, LH_FAR, true};
    REQUIRE(open_run(&r, LENGTH, KEYS, FIRST, 0));
    CHECK_NEAR(worst_difference(&r, &m), 0.0, tight);
    CHECK(entry(&m, 3, 3) == 0);
    check_close(&r.bench);
}

/* Prop. 2 puts softmax(0) for 0; the mixture of eq. 4 is the identity at g = 0 and P V at g = 1. */
TEST(the_gate_mixes) {
    run r;
    REQUIRE(open_run(&r, LENGTH, LENGTH, 0, 0));
    check_bench *b = &r.bench;
    lh_recurrence recurrence = {.encoded = 1,
                                .head[0] = {.dilation = 1, .cutoff = LH_FAR},
                                .eta = set(r.eta, 0.7),
                                .mu = set(r.mu, 0.4)};
    const lh_keys keys = {.v = r.v[0]};
    const matrix m = {LH_REM_REGULAR, tanh(0.7), 0, 1, LH_FAR, false};
    lh_tape_begin(b->tape, false, 1, 0);
    const lh_tensor *y = lh_encode_recurrence(b->tape, &recurrence, &keys, 1, r.attended);
    REQUIRE(y != NULL);
    const double g = 1 / (1 + exp(-0.4));
    for (int i = 0; i < LENGTH * WIDTH; ++i) {
        const double expected = (1 - g) * (double)lh_tensor_real(r.attended)[i] +
                                g * dense(&r, &m, i / WIDTH, i % WIDTH);
        CHECK_NEAR((double)lh_tensor_real(y)[i], expected, tight);
    }
    check_close(b);
}

/* ---- gradients ---- */

enum { BATCH = 2, HEADS = 4, QUERIES = 9, MEMORY = 5 };
enum { ATTENDED, V, PAST, ETA, NU, THETA, MU, FILLED };

typedef struct setting {
    bool both_ways, frozen;
    int64_t cutoff, dilation;
} setting;

static lh_tensor *encode(check_bench *b, void *context) {
    const setting *with = context;
    lh_tensor **x = b->input;
    lh_recurrence recurrence = {.both_ways = with->both_ways,
                                .encoded = 3,
                                .eta = x[ETA],
                                .nu = x[NU],
                                .theta = x[THETA],
                                .mu = x[MU]};
    for (int h = 0; h < 3; ++h) {
        recurrence.head[h] = (lh_rem_head){.kind = kinds[h],
                                           .angle = with->frozen && h == 2 ? -1 : 0,
                                           .dilation = h == 1 ? 1 : with->dilation,
                                           .cutoff = with->cutoff};
    }
    const lh_keys keys[] = {{.v = x[PAST], .first = -MEMORY, .filled = x[FILLED]}, {.v = x[V]}};
    return lh_encode_recurrence(b->tape, &recurrence, keys, 2, x[ATTENDED]);
}

static void check_setting(setting with, double eta) {
    check_bench b;
    REQUIRE(check_open(&b));
    LEAF(&b, BATCH, QUERIES, HEADS, WIDTH);
    LEAF(&b, BATCH, QUERIES, HEADS, WIDTH);
    LEAF(&b, BATCH, MEMORY, HEADS, WIDTH);
    *lh_tensor_real(LEAF(&b, 1)) = (real)eta;
    for (int i = NU; i <= MU; ++i)
        LEAF(&b, 1);
    check_integers(&b, BATCH, (const int32_t[]){MEMORY, 3});
    CHECK_NEAR(check_gradients(&b, encode, &with), 0.0, 1e-6);
    check_close(&b);
}

TEST(gradients_of_every_parameter_lambda_below_zero_and_zero) {
    static const double etas[] = {1.3, -1.3, 0};
    for (int i = 0; i < 3; ++i) {
        check_setting((setting){false, false, LH_FAR, 1}, etas[i]);
        check_setting((setting){true, false, LH_FAR, 2}, etas[i]);
        check_setting((setting){false, true, 2, 1}, etas[i]);
        check_setting((setting){true, true, 2, 3}, etas[i]);
    }
}

TEST(what_does_not_fit_is_refused) {
    run r;
    REQUIRE(open_run(&r, LENGTH, LENGTH, 0, 4));
    r.first[1] = -3;
    const matrix m = {LH_REM_REGULAR, 0.5, 0, 1, LH_FAR, false};
    CHECK(scan(&r, &m) == NULL);
    CHECK(strstr(lh_error_get()->message, "share a position") != NULL);
    lh_error_clear();
    const matrix none = {LH_REM_REGULAR, 0.5, 0, 0, LH_FAR, false};
    CHECK(scan(&r, &none) == NULL);
    lh_error_clear();
    check_close(&r.bench);
}
