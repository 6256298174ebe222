/* The one clock that durations are measured by. */
#ifndef LH_ENGINE_CLOCK_H
#define LH_ENGINE_CLOCK_H

/* Seconds from some moment on, which only ever grow; tests give a clock of their own. */
typedef double (*lh_clock)(void);
double lh_clock_seconds(void);

#endif
