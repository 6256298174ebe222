/* Unit tests. A test program is one C file:
 *
 *   #include "tests/test.h"
 *
 *   TEST(sum_of_two) {
 *       CHECK_EQ_INT(sum(1, 2), 3);
 *   }
 *
 * The tests register themselves and main() is here. A failed check prints one line with file, line
 * and values, and the test goes on; REQUIRE leaves the test. A test that checks nothing fails.
 *
 *   program [--list] [--only NAME]     LH_TEST_SEED=n chooses the random inputs (default 1)
 *
 * The last line is "N passed, N failed"; the exit code is 1 when a test failed.
 * A helper file beside the test defines LH_TEST_HELPER first: it gets the checks without main(). */
#ifndef LH_TESTS_TEST_H
#define LH_TESTS_TEST_H

#include "harness/engine/error.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct test_case {
    const char *name;
    void (*run)(void);
    struct test_case *next;
} test_case;

typedef struct test_record {
    test_case *first, *last; /* in the order of the file */
    uint64_t seed, random;
    int checks, failures; /* of the running test */
    bool skipped;
} test_record;

extern test_record test_state;

#define TEST(name)                                                                                 \
    static void test_body_##name(void);                                                            \
    static test_case test_case_##name = {#name, test_body_##name, NULL};                           \
    __attribute__((constructor)) static void test_enter_##name(void) {                             \
        test_register(&test_case_##name);                                                          \
    }                                                                                              \
    static void test_body_##name(void)

#define CHECK(condition) test_check((condition), __FILE__, __LINE__, "%s", #condition)
#define CHECK_EQ_INT(actual, expected)                                                             \
    test_equal_integer((int64_t)(actual), (int64_t)(expected), __FILE__, __LINE__, #actual)
#define CHECK_NEAR(actual, expected, tolerance)                                                    \
    test_near((double)(actual), (double)(expected), (double)(tolerance), __FILE__, __LINE__,       \
              #actual)
#define CHECK_STR(actual, expected)                                                                \
    test_equal_text((actual), (expected), __FILE__, __LINE__, #actual)
#define CHECK_CONTAINS(text, part) test_contains((text), (part), __FILE__, __LINE__, #text)

/* The call must succeed; else its error message is printed. */
#define CHECK_OK(call) test_status((call), LH_OK, NULL, __FILE__, __LINE__, #call)
/* The call must fail like this, and with this in its message. The error record is cleared. */
#define CHECK_STATUS(call, expected)                                                               \
    test_status((call), (expected), NULL, __FILE__, __LINE__, #call)
#define CHECK_FAILS(call, expected, message)                                                       \
    test_status((call), (expected), (message), __FILE__, __LINE__, #call)

/* What the rest of the test cannot do without. */
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!CHECK(condition)) return;                                                             \
    } while (0)
#define REQUIRE_OK(call)                                                                           \
    do {                                                                                           \
        if (!CHECK_OK(call)) return;                                                               \
    } while (0)

/* Leaves a test that this machine cannot run; it counts neither as passed nor as failed, and a line
 * "N skipped" stands before the last. */
#define SKIP(reason)                                                                               \
    do {                                                                                           \
        printf("skipped: %s ... ", (reason));                                                      \
        test_state.skipped = true;                                                                 \
        return;                                                                                    \
    } while (0)

#define TEST_UNUSED __attribute__((unused))

/* One line per failure, and no more than a screenful of them. */
__attribute__((format(printf, 4, 5))) TEST_UNUSED static bool
test_check(bool good, const char *file, int line, const char *format, ...) {
    enum { SHOWN = 20 };
    test_state.checks++;
    if (good) return true;
    test_state.failures++;
    if (test_state.failures > SHOWN) return false;
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    printf("\n  %s:%d: %s%s", file, line, text,
           test_state.failures == SHOWN ? " (further failures are not shown)" : "");
    return false;
}

TEST_UNUSED static bool test_equal_integer(int64_t actual, int64_t expected, const char *file,
                                           int line, const char *what) {
    return test_check(actual == expected, file, line, "%s is %" PRId64 ", expected %" PRId64, what,
                      actual, expected);
}

TEST_UNUSED static bool test_near(double actual, double expected, double tolerance,
                                  const char *file, int line, const char *what) {
    const double difference = fabs(actual - expected);
    return test_check(difference <= tolerance || actual == expected, file, line,
                      "%s is %.9g, expected %.9g; off by %.3g, allowed %.3g", what, actual,
                      expected, difference, tolerance);
}

TEST_UNUSED static bool test_equal_text(const char *actual, const char *expected, const char *file,
                                        int line, const char *what) {
    const bool equal = actual && expected ? strcmp(actual, expected) == 0 : actual == expected;
    return test_check(equal, file, line, "%s is \"%s\", expected \"%s\"", what,
                      actual ? actual : "(null)", expected ? expected : "(null)");
}

TEST_UNUSED static bool test_contains(const char *text, const char *part, const char *file,
                                      int line, const char *what) {
    return test_check(text && strstr(text, part), file, line, "%s is \"%s\", expected in it \"%s\"",
                      what, text ? text : "(null)", part);
}

TEST_UNUSED static bool test_status(lh_status status, lh_status expected, const char *message,
                                    const char *file, int line, const char *what) {
    const char *text = lh_error_text();
    bool good = test_check(status == expected, file, line, "%s gives %s, expected %s: %s", what,
                           lh_status_name(status), lh_status_name(expected), text);
    if (good && message) good = test_contains(text, message, file, line, "the error message");
    lh_error_clear();
    return good;
}

/* Random inputs, the same for the same seed and test (splitmix64). */
TEST_UNUSED static uint64_t test_random(void) {
    uint64_t z = test_state.random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Uniform over [-1, 1), exact in float. */
TEST_UNUSED static double test_uniform(void) {
    return (double)(test_random() >> 40) * 0x1p-23 - 1.0;
}

/* One of 0 .. count-1. */
TEST_UNUSED static int64_t test_integer(int64_t count) {
    return (int64_t)(test_random() % (uint64_t)count);
}

#ifndef LH_TEST_HELPER

test_record test_state;

TEST_UNUSED static void test_register(test_case *entry) {
    if (test_state.last) {
        test_state.last->next = entry;
    } else {
        test_state.first = entry;
    }
    test_state.last = entry;
}

/* The name is part of the seed, so that `--only` repeats what the whole program did. */
static uint64_t test_seed_of(const char *name) {
    uint64_t hash = test_state.seed;
    for (; *name; name++) {
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static bool test_run(const test_case *entry) {
    test_state.checks = test_state.failures = 0;
    test_state.skipped = false;
    test_state.random = test_seed_of(entry->name);
    lh_error_clear();
    printf("%s ... ", entry->name);
    fflush(stdout); /* a crash then shows where */
    entry->run();
    if (!test_state.skipped) test_check(test_state.checks > 0, __FILE__, __LINE__, "no check made");
    const bool good = test_state.failures == 0;
    puts(good ? "ok" : "\n  FAILED");
    return good;
}

static bool test_wanted(const test_case *entry, const char *only) {
    return !only || strcmp(entry->name, only) == 0;
}

int main(int count, char **arguments) {
    const char *seed = getenv("LH_TEST_SEED");
    test_state.seed = seed ? strtoull(seed, NULL, 10) : 1;
    const char *only = count == 3 && strcmp(arguments[1], "--only") == 0 ? arguments[2] : NULL;
    const bool list = count == 2 && strcmp(arguments[1], "--list") == 0;
    if (count > 1 && !only && !list) {
        fprintf(stderr, "usage: %s [--list] [--only NAME]\n", arguments[0]);
        return 2;
    }
    int passed = 0, failed = 0, skipped = 0;
    for (const test_case *entry = test_state.first; entry; entry = entry->next) {
        if (list) {
            puts(entry->name);
        } else if (test_wanted(entry, only)) {
            const bool good = test_run(entry);
            passed += good && !test_state.skipped;
            failed += !good;
            skipped += good && test_state.skipped;
        }
    }
    if (list) return 0;
    if (only && passed + failed + skipped == 0) printf("no test is called %s\n", only);
    if (failed) printf("repeat with LH_TEST_SEED=%" PRIu64 " %s\n", test_state.seed, arguments[0]);
    if (skipped) printf("%d skipped\n", skipped);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0 || (only && passed == 0);
}

#endif
#endif
