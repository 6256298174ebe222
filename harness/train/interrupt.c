#include "harness/train/interrupt.h"

/* A signal handler can reach nothing but a global. */
static volatile sig_atomic_t requested;

static void request(int signal_number) {
    (void)signal_number;
    requested = 1;
}

void lh_interrupt_catch(lh_interrupt *saved) {
    requested = 0;
    struct sigaction action = {.sa_handler = request, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &saved->interrupt);
    sigaction(SIGTERM, &action, &saved->terminate);
}

void lh_interrupt_release(const lh_interrupt *saved) {
    sigaction(SIGINT, &saved->interrupt, NULL);
    sigaction(SIGTERM, &saved->terminate, NULL);
}

bool lh_interrupt_requested(void) {
    return requested != 0;
}
