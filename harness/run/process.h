/* Other processes of this same program, each with a part of a sweep: what they print comes back
 * through a pipe. They end with this process, however it ends. */
#ifndef LH_RUN_PROCESS_H
#define LH_RUN_PROCESS_H

#include <sys/types.h>

#include "harness/engine/error.h"

typedef struct lh_process {
    pid_t id;   /* 0: not started, or reaped */
    int output; /* what it prints, both streams; -1: closed */
} lh_process;

/* Starts this program with these words (the first is its name, the last NULL) and
 * LONGHAUL_WORKER=1 in its environment. It reads nothing, is in a process group of its own, so that
 * a terminal's signals do not reach it, and is killed when the calling thread ends. Gives; reap or
 * kill it. Fails: LH_EIO. */
lh_status lh_process_start(char *const *words, lh_process *out);

/* Waits until one of them has printed or ended, a signal comes, or the seconds are over. */
void lh_process_await(const lh_process *const *processes, int count, double seconds);

/* What it has printed so far, without waiting: *bytes of `text`; false once nothing can come any
 * more, as it has ended. */
bool lh_process_read(lh_process *process, char *text, size_t capacity, size_t *bytes);

/* Asks it to end with a checkpoint (SIGTERM). */
void lh_process_stop(const lh_process *process);

/* The exit code of a process that could not become this program, or whose own the system does not
 * tell: it has failed. */
enum { LH_PROCESS_LOST = 127 };

/* Waits for its end and gives its exit code, or minus the signal that ended it. */
int lh_process_reap(lh_process *process);

/* SIGKILL, and reaps it. Takes one that was reaped already. */
void lh_process_kill(lh_process *process);

#endif
