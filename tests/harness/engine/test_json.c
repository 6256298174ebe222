/* JSON: what is wrong with a text, and where; memory that runs out is not the text's fault. */
#include "harness/engine/json.h"

#include <cjson/cJSON.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/test.h"

static const char good[] = " {\"list\": [1, \"\\u00e9\\\\u0000\", null]}\r\n";

enum { READ = 0, OUT_OF_MEMORY = 1, WRONG = 2, MOST_CALLS = 100 };

static int parse_child(int fail_at) {
    char text[16];
    lh_json_defect defect = {0};
    snprintf(text, sizeof text, "%d", fail_at);
    setenv("LH_FAIL_AT", text, 1);
    cJSON *value = lh_json_parse(good, strlen(good), &defect);
    if (value != NULL) {
        cJSON_Delete(value);
        return READ;
    }
    /* as callers do, who do not ask which it was */
    const bool is_told = lh_fail(LH_EFORMAT, "a place: wrong") == LH_EMEMORY;
    return defect.what == NULL && is_told ? OUT_OF_MEMORY : WRONG;
}

static int parse_forked(int fail_at) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) exit(parse_child(fail_at)); /* not _exit: a leak check runs at exit */
    int result = 0;
    return child > 0 && waitpid(child, &result, 0) == child && WIFEXITED(result)
               ? WEXITSTATUS(result)
               : WRONG;
}

/* Each value, key and text asks for memory; every one of these calls fails once. The first test:
 * the process that forks has not asked yet which call fails. */
TEST(memory_that_runs_out_is_no_defect_of_the_text) {
    int calls = 0, result = OUT_OF_MEMORY;
    while (result == OUT_OF_MEMORY && calls < MOST_CALLS) {
        calls += 1;
        result = parse_forked(calls);
    }
    CHECK_EQ_INT(result, READ);
    CHECK(calls > 5);
}

static void check_defect(const char *text, size_t bytes, const char *what, size_t offset) {
    lh_json_defect defect = {0};
    CHECK(lh_json_parse(text, bytes, &defect) == NULL);
    CHECK_STR(defect.what, what);
    CHECK_EQ_INT(defect.offset, offset);
    CHECK_EQ_INT(lh_error_get()->status, LH_OK);
}

TEST(a_value_with_blanks_around_it_is_read) {
    lh_json_defect defect = {"not asked yet", 0};
    cJSON *value = lh_json_parse(good, strlen(good), &defect);
    REQUIRE(value != NULL);
    CHECK(defect.what == NULL);
    const cJSON *list = cJSON_GetObjectItem(value, "list");
    CHECK_EQ_INT(cJSON_GetArraySize(list), 3);
    CHECK_STR(cJSON_GetArrayItem(list, 1)->valuestring, "\xc3\xa9\\u0000");
    cJSON_Delete(value);
}

TEST(defects_are_named_with_their_place) {
    check_defect("", 0, "no JSON", 0);
    check_defect("{\"a\": }", 7, "no JSON", 6);
    check_defect("[1] [2]", 7, "something behind the value", 4);
    check_defect("1 x", 3, "something behind the value", 2);
    check_defect("[1,\0 2]", 7, "a NUL byte", 3);
    check_defect("1\0", 2, "a NUL byte", 1);
    check_defect("[\"\\\\\\u0000\"]", 12, "a NUL character", 4);
}
