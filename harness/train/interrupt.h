/* SIGINT and SIGTERM as a flag, so that a run stops between two steps with its checkpoint written.
 */
#ifndef LH_TRAIN_INTERRUPT_H
#define LH_TRAIN_INTERRUPT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* The handlers that stood before. */
typedef struct lh_interrupt {
    struct sigaction interrupt, terminate;
} lh_interrupt;

/* From here on the two signals only set the flag, which is cleared first. */
void lh_interrupt_catch(lh_interrupt *saved);
/* Puts the former handlers back. The flag stays. */
void lh_interrupt_release(const lh_interrupt *saved);

bool lh_interrupt_requested(void);

#endif
