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
