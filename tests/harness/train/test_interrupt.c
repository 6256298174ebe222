/* Signals sent to a child process, and what becomes of it. */
#include "harness/train/interrupt.h"

#include <sys/wait.h>
#include <unistd.h>

#include "tests/test.h"

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
enum { SIGNALS = sizeof signals / sizeof signals[0] };

/* What becomes of a process that catches and then gets these signals: 0, 1 when the flag is not as
 * it should be after the first, or 100 + the signal that ended it. */
static int fate(int first, int second) {
    int state = 0;
    const pid_t child = fork();
    if (child == 0) {
        lh_interrupt saved;
        lh_interrupt_catch(&saved);
        bool good = !lh_interrupt_requested();
        raise(first);
        good = good && lh_interrupt_requested();
        if (second != 0) raise(second);
        _exit(good ? 0 : 1);
    }
    waitpid(child, &state, 0);
    return WIFSIGNALED(state) ? 100 + WTERMSIG(state) : WEXITSTATUS(state);
}

TEST(the_first_signal_sets_the_flag_and_the_second_ends_the_program) {
    for (int i = 0; i < SIGNALS; ++i) {
        CHECK_EQ_INT(fate(signals[i], 0), 0);
        for (int k = 0; k < SIGNALS; ++k)
            CHECK_EQ_INT(fate(signals[i], signals[k]), 100 + signals[k]);
    }
}

TEST(the_former_handlers_come_back_and_each_training_begins_anew) {
    lh_interrupt saved;
    struct sigaction after;
    signal(SIGUSR1, SIG_IGN);
    for (int round = 0; round < 2; ++round) {
        lh_interrupt_catch(&saved);
        CHECK(!lh_interrupt_requested());
        raise(SIGTERM);
        CHECK(lh_interrupt_requested());
        lh_interrupt_release(&saved);
        CHECK(lh_interrupt_requested());
        CHECK(sigaction(SIGTERM, NULL, &after) == 0 && after.sa_handler == SIG_DFL);
        CHECK(sigaction(SIGUSR1, NULL, &after) == 0 && after.sa_handler == SIG_IGN);
    }
    signal(SIGUSR1, SIG_DFL);
}

TEST(a_hangup_that_nohup_ignores_stays_ignored) {
    lh_interrupt saved;
    signal(SIGHUP, SIG_IGN);
    lh_interrupt_catch(&saved);
    raise(SIGHUP);
    CHECK(!lh_interrupt_requested());
    lh_interrupt_release(&saved);
    CHECK_EQ_INT(fate(SIGTERM, SIGHUP), 0); /* a log-out while the checkpoint is written */
    CHECK_EQ_INT(fate(SIGTERM, SIGTERM), 100 + SIGTERM);
    signal(SIGHUP, SIG_DFL);
}
