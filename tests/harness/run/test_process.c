/* Workers: this very program is started again and lists its tests. */
#include "harness/run/process.h"

#include <signal.h>

#include "harness/run/ranks.h"
#include "tests/test.h"

/* All that a process prints until it ends. */
static void read_all(lh_process *process, char *text, size_t capacity) {
    const lh_process *const one[] = {process};
    size_t used = 0, bytes = 0;
    do {
        lh_process_await(one, 1, 5);
        bytes = 0;
        if (!lh_process_read(process, text + used, capacity - 1 - used, &bytes)) break;
        used += bytes;
    } while (used < capacity - 1);
    text[used + bytes < capacity ? used + bytes : used] = '\0';
}

static char name[] = "worker", list[] = "--list", only[] = "--only",
            waits[] = "a_test_that_waits_in_a_worker";

TEST(what_a_worker_prints_comes_back_with_its_exit_code) {
    char *const words[] = {name, list, NULL};
    char text[4096];
    lh_process process;
    REQUIRE_OK(lh_process_start(words, &process));
    CHECK(process.id > 0 && process.output >= 0);
    read_all(&process, text, sizeof text);
    CHECK_EQ_INT(lh_process_reap(&process), 0);
    CHECK_CONTAINS(text, "a_worker_ends_when_it_is_asked_to");
    lh_process_kill(&process);
}

/* Only in a worker: until a signal ends it. */
TEST(a_test_that_waits_in_a_worker) {
    const lh_process *const none[] = {NULL};
    CHECK(true);
    if (getenv("LONGHAUL_WORKER") != NULL) lh_process_await(none, 0, 60);
}

TEST(a_worker_ends_when_it_is_asked_to) {
    char *const words[] = {name, only, waits, NULL};
    lh_process process;
    REQUIRE_OK(lh_process_start(words, &process));
    lh_process_stop(&process);
    CHECK_EQ_INT(lh_process_reap(&process), -15);
    REQUIRE_OK(lh_process_start(words, &process));
    lh_process_kill(&process);
    CHECK_EQ_INT(process.id, 0);
}

/* Where SIGCHLD is ignored, the system throws exit codes away. */
TEST(a_worker_whose_exit_code_is_lost_has_failed) {
    char *const words[] = {name, list, NULL};
    lh_process process;
    void (*const before)(int) = signal(SIGCHLD, SIG_IGN);
    REQUIRE_OK(lh_process_start(words, &process));
    CHECK_EQ_INT(lh_process_reap(&process), LH_PROCESS_LOST);
    (void)signal(SIGCHLD, before);
}

TEST(a_process_that_no_launcher_started_is_alone) {
    CHECK_OK(lh_ranks_open());
    CHECK(lh_ranks() == NULL);
    lh_ranks_close(true);
}
