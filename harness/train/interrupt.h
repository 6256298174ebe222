/* Signals that ask a run to end, as a flag, so that it stops between two steps with its checkpoint
 * written: SIGINT (Ctrl-C), SIGTERM (batch systems), SIGHUP (a terminal that closes) and SIGUSR1
 * (batch systems, ahead of a time limit). The second signal, whichever, ends the program at once.
 */
#ifndef LH_TRAIN_INTERRUPT_H
#define LH_TRAIN_INTERRUPT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

enum { LH_INTERRUPT_SIGNALS = 4 };

/* The handlers that stood before. */
typedef struct lh_interrupt {
    struct sigaction before[LH_INTERRUPT_SIGNALS];
} lh_interrupt;

/* From here on the first signal only sets the flag, which is cleared first. SIGHUP and SIGUSR1 stay
 * ignored where they were, as under nohup. */
void lh_interrupt_catch(lh_interrupt *saved);
/* Puts the former handlers back. The flag stays. */
void lh_interrupt_release(const lh_interrupt *saved);

bool lh_interrupt_requested(void);

#endif
