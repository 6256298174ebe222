/* The record of a failure: the first is kept with its notes, a survived one leaves nothing; and
 * allocation. */
#include "harness/engine/error.h"

#include <string.h>

#include "tests/test.h"

TEST(the_first_failure_is_kept_with_its_notes) {
    CHECK_EQ_INT(lh_fail(LH_EOPTION, "first %d", 1), LH_EOPTION);
    CHECK_EQ_INT(lh_fail(LH_EIO, "second"), LH_EOPTION);
    lh_note("layer 9");
    CHECK_EQ_INT(lh_error_get()->status, LH_EOPTION);
    CHECK(strcmp(lh_error_text(), "layer 9: first 1") == 0);
    lh_error_clear();
    CHECK_EQ_INT(lh_error_get()->status, LH_OK);
}

TEST(a_call_that_failed_without_a_message_has_failed_all_the_same) {
    CHECK_EQ_INT(lh_failed(), LH_EINTERNAL);
    CHECK(strstr(lh_error_text(), "failed without a message") != NULL);
    lh_error_clear();
    (void)lh_fail(LH_ESHAPE, "3 against 4");
    CHECK_EQ_INT(lh_failed(), LH_ESHAPE);
    CHECK(strcmp(lh_error_text(), "3 against 4") == 0);
    lh_error_clear();
}

TEST(a_failure_that_was_survived_leaves_nothing_behind) {
    const lh_status before = lh_error_get()->status;
    (void)lh_fail(LH_EMEMORY, "no room for a cache");
    lh_error_survive(before);
    CHECK_EQ_INT(lh_fail(LH_EOPTION, "what the user did"), LH_EOPTION);
    CHECK(strcmp(lh_error_text(), "what the user did") == 0);
    lh_error_clear();
}

TEST(surviving_keeps_a_failure_that_was_there_before) {
    (void)lh_fail(LH_EIO, "the disk");
    const lh_status before = lh_error_get()->status;
    (void)lh_fail(LH_EMEMORY, "while cleaning up");
    lh_error_survive(before);
    CHECK_EQ_INT(lh_error_get()->status, LH_EIO);
    lh_error_clear();
}

TEST(what_failed_meanwhile_is_a_failure) {
    lh_error_clear();
    CHECK_EQ_INT(lh_error_since(LH_OK, LH_OK), LH_OK);
    (void)lh_fail(LH_EMEMORY, "first");
    CHECK_EQ_INT(lh_error_since(LH_OK, LH_OK), LH_EMEMORY);
    CHECK_EQ_INT(lh_error_since(LH_OK, LH_ESHAPE), LH_ESHAPE);
    CHECK_EQ_INT(lh_error_since(LH_EMEMORY, LH_OK), LH_OK); /* it had failed before */
    lh_error_clear();
}

TEST(a_message_that_is_cut_says_so) {
    char path[2 * LH_ERROR_TEXT];
    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = '\0';
    (void)lh_fail(LH_EIO, "%s", path);
    CHECK_EQ_INT(strlen(lh_error_text()), LH_ERROR_TEXT - 1);
    CHECK_STR(lh_error_text() + LH_ERROR_TEXT - 6, "x ...");
    lh_error_clear();
    (void)lh_fail(LH_EIO, "%.*s", LH_ERROR_TEXT - 1, path);
    CHECK_STR(lh_error_text() + LH_ERROR_TEXT - 4, "xxx");
    lh_error_clear();
}

TEST(the_place_of_a_failure_is_kept) {
    CHECK_EQ_INT(lh_fail_at(LH_EFORMAT, "reader.c", 17, "line %d", 3), LH_EFORMAT);
    CHECK_STR(lh_error_get()->file, "reader.c");
    CHECK_EQ_INT(lh_error_get()->line, 17);
    lh_error_clear();
}

TEST(host_memory_is_zeroed_and_keeps_its_contents_as_it_grows) {
    int64_t *numbers = lh_allocate_zeroed(100, sizeof *numbers);
    REQUIRE(numbers != NULL);
    for (int i = 0; i < 100; ++i) {
        CHECK_EQ_INT(numbers[i], 0);
        numbers[i] = i;
    }
    numbers = lh_reallocate(numbers, 100000 * sizeof *numbers);
    REQUIRE(numbers != NULL);
    for (int i = 0; i < 100; ++i)
        CHECK_EQ_INT(numbers[i], i);
    free(numbers);
    void *nothing = lh_allocate(0);
    CHECK(nothing != NULL);
    free(nothing);
    CHECK(lh_allocate((size_t)1 << 62) == NULL);
    CHECK_CONTAINS(lh_error_text(), "bytes of host memory");
    lh_error_clear();
}

TEST(without_an_order_no_call_is_made_to_fail) {
    for (int i = 0; i < 1000; ++i)
        CHECK(!lh_fault());
}
