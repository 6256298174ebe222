/* The state-tracking tasks against a second reading of their rules: every target is worked out
 * again from the text of an episode by code that shares nothing with the generators. */
#include "datasets/generate/algorithm.h"
#include "datasets/generate/random_walk.h"

#include "tests/test.h"

enum { ROOM = 4096, LINE = 32 };

static int32_t tokens[ROOM], labels[ROOM];

static lh_episode episode(void) {
    return (lh_episode){tokens, labels, 0};
}

static lh_random_key key_of(uint64_t index) {
    return (lh_random_key){.seed = 9, .step = index, .stream = LH_STREAM_DATA, .op = 0};
}

/* ---- random walk: a position is a complex number, a turn multiplies the direction by i ---- */

static void check_walk(int64_t grid, int64_t steps, uint64_t index) {
    const lh_random_walk rules = {grid, steps};
    lh_episode e = episode();
    int64_t x = 0, y = 0, dx = 0, dy = 1;
    lh_random_walk_write(&rules, key_of(index), &e);
    REQUIRE(e.length == steps + 1 && e.tokens[0] == 0 && e.labels[0] == 4);
    for (int64_t t = 1; t < e.length; ++t) {
        const int64_t ahead_x = x + dx, ahead_y = y + dy, kept = dx;
        switch (e.tokens[t]) {
        case 1:
            if (ahead_x >= 0 && ahead_x < grid) x = ahead_x;
            if (ahead_y >= 0 && ahead_y < grid) y = ahead_y;
            break;
        case 2:
            dx = dy;
            dy = -kept;
            break;
        case 3:
            dx = -dy;
            dy = kept;
            break;
        default:
            CHECK(false);
        }
        if (!test_check(e.labels[t] == 4 + y * grid + x, __FILE__, __LINE__,
                        "step %lld is labelled %d, the agent stands in (%lld, %lld)", (long long)t,
                        e.labels[t], (long long)x, (long long)y))
            return;
    }
}

TEST(every_cell_of_a_walk_is_where_the_agent_stands) {
    for (uint64_t index = 0; index < 50; ++index) {
        check_walk(8, 400, index);
        check_walk(2 + (int64_t)index % 5, 37, index);
    }
}

/* ---- algorithm: an interpreter of the program's text ---- */

typedef struct machine {
    const lh_algorithm *rules;
    const lh_episode *e;
    int64_t at;
    long value[128]; /* by letter; 0: unassigned */
    int statements, prints, kinds[5];
} machine;

/* Its text. Lends until the next call. */
static const char *symbol_text(const lh_algorithm *rules, int32_t symbol) {
    static const char *const others[] = {"=", "++",  "--", "print", "if", "<", ">", ":",
                                         ";", "END", "x",  "y",     "z",  "p", "r"};
    static char number[24];
    if (symbol >= rules->largest) return others[symbol - rules->largest];
    (void)snprintf(number, sizeof number, "%d", symbol + 1);
    return number;
}

static const char *word(const machine *m, int64_t ahead) {
    return m->at + ahead < m->e->length ? symbol_text(m->rules, m->e->tokens[m->at + ahead]) : "";
}

static bool is(const machine *m, int64_t ahead, const char *text) {
    return strcmp(word(m, ahead), text) == 0;
}

/* A variable's or a number's value. */
static long value_of(const machine *m, int64_t ahead) {
    char text[LINE];
    (void)snprintf(text, sizeof text, "%s", word(m, ahead));
    return text[0] >= '0' && text[0] <= '9' ? strtol(text, NULL, 10) : m->value[(int)text[0]];
}

static bool unlabelled(const machine *m, int64_t count) {
    bool good = true;
    for (int64_t i = 0; i < count; ++i)
        good = good && m->e->labels[m->at + i] == LH_UNLABELLED;
    return good;
}

/* One statement other than `if` and `print`; runs it when `really`. */
static bool run_simple(machine *m, bool really) {
    const int letter = word(m, 0)[0];
    long *value = &m->value[letter], next = *value;
    int64_t length = 3;
    if (is(m, 1, "=")) {
        length = 4;
        next = value_of(m, 2);
        m->kinds[0] += 1;
        if (*value != 0) return false; /* assigned twice */
    } else if (is(m, 1, "++")) {
        next += 1;
        m->kinds[1] += 1;
    } else if (is(m, 1, "--")) {
        next -= 1;
        m->kinds[2] += 1;
    } else {
        return false;
    }
    const bool good = is(m, length - 1, ";") && unlabelled(m, length) && next >= 1 &&
                      next <= m->rules->largest && (is(m, 1, "=") || *value != 0);
    if (really) *value = next;
    m->at += length;
    return good;
}

static bool run_print(machine *m) {
    const long value = value_of(m, 1);
    const bool good = value != 0 && is(m, 2, ";") && unlabelled(m, 2) &&
                      m->e->labels[m->at + 2] == (int32_t)value - 1;
    m->prints += 1;
    m->kinds[4] += 1;
    m->at += 3;
    return good;
}

static bool run_if(machine *m) {
    const long left = value_of(m, 1), right = value_of(m, 3);
    const bool less = is(m, 2, "<");
    const bool good = left != 0 && right != 0 && (less || is(m, 2, ">")) && is(m, 4, ":") &&
                      strcmp(word(m, 1), word(m, 3)) != 0 && unlabelled(m, 5);
    const int inner[] = {m->kinds[0], m->kinds[1], m->kinds[2]};
    m->at += 5;
    const bool ran = run_simple(m, less ? left < right : left > right);
    memcpy(m->kinds, inner, sizeof inner);
    m->kinds[3] += 1;
    return good && ran;
}

static bool run_statement(machine *m) {
    m->statements += 1;
    if (is(m, 0, "print")) return run_print(m);
    if (is(m, 0, "if")) return run_if(m);
    return run_simple(m, true);
}

/* Runs program `index`; false at the first target that is wrong. */
static bool run_program(const lh_algorithm *rules, uint64_t index, machine *m) {
    lh_episode e = episode();
    lh_algorithm_write(rules, key_of(index), &e);
    *m = (machine){.rules = rules, .e = &e};
    while (!is(m, 0, "END")) {
        if (m->at >= e.length || !run_statement(m)) return false;
    }
    const bool good = m->at == e.length - 1 && unlabelled(m, 1) &&
                      m->statements == rules->statements && e.length <= lh_algorithm_longest(rules);
    m->e = NULL;
    return good;
}

TEST(every_print_is_what_the_program_prints) {
    machine m;
    for (uint64_t index = 0; index < 200; ++index) {
        const lh_algorithm published = {3, 100, 10}, five = {5, 100, 10}, tiny = {1, 7, 2};
        CHECK(run_program(&published, index, &m));
        CHECK(run_program(&five, index, &m));
        CHECK(run_program(&tiny, index, &m));
    }
}

/* The released generator, measured: 431.6 symbols and 25.6 prints a program; print .25, if .25,
 * ++ .23, -- .23, = .03 of the statements. */
TEST(programs_are_made_as_the_released_ones) {
    enum { PROGRAMS = 1000 };
    const lh_algorithm rules = {3, 100, 10};
    double symbols = 0, prints = 0, kinds[5] = {0};
    for (uint64_t index = 0; index < PROGRAMS; ++index) {
        machine m;
        CHECK(run_program(&rules, index, &m));
        symbols += (double)(m.at + 1);
        prints += m.prints;
        for (int k = 0; k < 5; ++k)
            kinds[k] += m.kinds[k] / 100.0;
    }
    CHECK_NEAR(symbols / PROGRAMS, 431.6, 2);
    CHECK_NEAR(prints / PROGRAMS, 25.6, 0.6);
    CHECK_NEAR(kinds[0] / PROGRAMS, 0.03, 0.01);
    CHECK_NEAR(kinds[1] / PROGRAMS, 0.23, 0.01);
    CHECK_NEAR(kinds[2] / PROGRAMS, 0.23, 0.01);
    CHECK_NEAR(kinds[3] / PROGRAMS, 0.25, 0.01);
    CHECK_NEAR(kinds[4] / PROGRAMS, 0.256, 0.01);
}

TEST(the_same_key_gives_the_same_episode) {
    const lh_algorithm rules = {3, 20, 10};
    int32_t again[ROOM], again_labels[ROOM];
    lh_episode a = episode(), b = {again, again_labels, 0};
    lh_algorithm_write(&rules, key_of(3), &a);
    lh_algorithm_write(&rules, key_of(3), &b);
    CHECK(a.length == b.length);
    CHECK(memcmp(a.tokens, b.tokens, (size_t)a.length * sizeof *a.tokens) == 0);
    CHECK(memcmp(a.labels, b.labels, (size_t)a.length * sizeof *a.labels) == 0);
    lh_algorithm_write(&rules, key_of(4), &b);
    CHECK(a.length != b.length ||
          memcmp(a.tokens, b.tokens, (size_t)a.length * sizeof *a.tokens) != 0);
}

TEST(vocabularies_hold_all_symbols) {
    const lh_algorithm rules = {3, 100, 10};
    const lh_random_walk walk = {8, 400};
    lh_episode e = episode();
    CHECK_EQ_INT(lh_algorithm_vocabulary(&rules), 23);
    CHECK_EQ_INT(lh_random_walk_vocabulary(&walk), 68);
    lh_algorithm_write(&rules, key_of(0), &e);
    for (int64_t t = 0; t < e.length; ++t)
        CHECK(e.tokens[t] >= 0 && e.tokens[t] < 23);
}
