/* Processor time, from which follows how busy others kept the machine meanwhile. */
#ifndef LH_RUN_CPU_TIME_H
#define LH_RUN_CPU_TIME_H

#include "harness/engine/error.h"

/* Seconds since some moment in the past. Of two readings the differences say what was spent between
 * them: that of `machine` less that of `process` is what other processes used, and what a
 * hypervisor gave to other machines. */
typedef struct lh_cpu_time {
    double machine;   /* all work on the processors that this process may use */
    double process;   /* of this process, all threads */
    int processors;   /* how many it may use */
    char place[1152]; /* the machine and these processors by name: who has the same shares them */
} lh_cpu_time;

/* Fails: LH_EIO where the system does not say (no /proc). */
lh_status lh_cpu_time_read(lh_cpu_time *out);

#endif
