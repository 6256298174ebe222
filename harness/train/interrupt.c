/* The handler of the signals, and which of them it takes. */
#include "harness/train/interrupt.h"

static const int signals[LH_INTERRUPT_SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};

/* A signal handler can reach nothing but a global. */
static volatile sig_atomic_t requested;

/* What the program waits for when a signal comes may never end: the next one is not caught. What
 * was ignored stays so. */
static void request(int signal_number) {
    (void)signal_number;
    const struct sigaction at_once = {.sa_handler = SIG_DFL};
    struct sigaction now;
    requested = 1;
    for (int i = 0; i < LH_INTERRUPT_SIGNALS; ++i) {
        const bool is_ours = sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == request;
        if (is_ours) (void)sigaction(signals[i], &at_once, NULL);
    }
}

static bool is_ignored(int signal_number, const struct sigaction *before) {
    const bool asked_for = signal_number == SIGINT || signal_number == SIGTERM;
    return !asked_for && (before->sa_flags & SA_SIGINFO) == 0 && before->sa_handler == SIG_IGN;
}

void lh_interrupt_catch(lh_interrupt *saved) {
    requested = 0;
    struct sigaction action = {.sa_handler = request, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    for (int i = 0; i < LH_INTERRUPT_SIGNALS; ++i) {
        (void)sigaction(signals[i], NULL, &saved->before[i]);
        if (!is_ignored(signals[i], &saved->before[i])) (void)sigaction(signals[i], &action, NULL);
    }
}

void lh_interrupt_release(const lh_interrupt *saved) {
    for (int i = 0; i < LH_INTERRUPT_SIGNALS; ++i)
        (void)sigaction(signals[i], &saved->before[i], NULL);
}

bool lh_interrupt_requested(void) {
    return requested != 0;
}
