/* Threads of a block as fibers: stacks that the scheduler enters and that give control back. */
#ifndef LH_TESTS_CUDASIM_FIBER_H
#define LH_TESTS_CUDASIM_FIBER_H

namespace cudasim {

struct fiber;

/* An idle fiber that calls body(body_argument) when it is entered, over and over: `body` returns
 * by fiber_leave only. */
fiber *fiber_take(void (*body)(void));
/* The scheduler's side: runs the fiber until it leaves. */
void fiber_enter(fiber *f);
/* The fiber's side: back to the scheduler; returns when entered again. */
void fiber_leave(void);
/* Gives a fiber that left for good back for fiber_take, whatever is on its stack. */
void fiber_return(fiber *f);

} // namespace cudasim

#endif
