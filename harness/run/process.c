/* Workers as processes: fork, exec, a pipe, and an end that is tied to the parent's. */
#include "harness/run/process.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char worker_variable[] = "LONGHAUL_WORKER=1";

/* The environment with one variable more. Gives the array, whose texts stay where they are. */
static char **environment_of_worker(void) {
    size_t count = 0;
    while (environ[count] != NULL)
        ++count;
    char **made = lh_allocate((count + 2) * sizeof *made);
    if (made == NULL) return NULL;
    memcpy(made, environ, count * sizeof *made);
    made[count] = worker_variable;
    made[count + 1] = NULL;
    return made;
}

/* In the child, between fork and exec. The parent may have ended before its end was to be a signal.
 * A pipe that nobody reads any more must not end a checkpoint. */
static void become_worker(char *const *words, char *const *environment, int output, pid_t parent) {
    const int nothing = open("/dev/null", O_RDONLY);
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGPIPE, SIG_IGN);
    if (getppid() == parent && nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 &&
        dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0)
        (void)execve("/proc/self/exe", words, environment);
    _exit(LH_PROCESS_LOST);
}

static lh_status failure(const char *what) {
    return lh_fail(LH_EIO, "a process cannot be started: %s: %s", what, strerror(errno));
}

static lh_status open_pipe(int ends[2]) {
    if (lh_fault() || pipe(ends) != 0) return failure("pipe");
    for (int i = 0; i < 2; ++i)
        (void)fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return LH_OK;
}

lh_status lh_process_start(char *const *words, lh_process *out) {
    int ends[2];
    *out = (lh_process){.output = -1};
    char **environment = environment_of_worker();
    if (environment == NULL) return LH_EMEMORY;
    const lh_status status = open_pipe(ends);
    if (status != LH_OK) {
        free(environment);
        return status;
    }
    const pid_t parent = getpid(), id = lh_fault() ? -1 : fork();
    if (id == 0) become_worker(words, environment, ends[1], parent);
    free(environment);
    (void)close(ends[1]);
    if (id < 0) {
        (void)close(ends[0]);
        return failure("fork");
    }
    *out = (lh_process){.id = id, .output = ends[0]};
    return LH_OK;
}

void lh_process_await(const lh_process *const *processes, int count, double seconds) {
    enum { MOST = 1024 };
    struct pollfd wanted[MOST];
    const int used = count < MOST ? count : MOST;
    for (int i = 0; i < used; ++i)
        wanted[i] = (struct pollfd){.fd = processes[i]->output, .events = POLLIN};
    (void)poll(wanted, (nfds_t)used, (int)ceil(1e3 * seconds));
}

bool lh_process_read(lh_process *process, char *text, size_t capacity, size_t *bytes) {
    *bytes = 0;
    if (process->output < 0) return false;
    const ssize_t got = read(process->output, text, capacity);
    if (got > 0) *bytes = (size_t)got;
    if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) return true;
    (void)close(process->output);
    process->output = -1;
    return false;
}

void lh_process_stop(const lh_process *process) {
    if (process->id > 0) (void)kill(process->id, SIGTERM);
}

int lh_process_reap(lh_process *process) {
    int status = 0;
    pid_t ended = process->id;
    if (ended <= 0) return 0;
    do {
        ended = waitpid(process->id, &status, 0);
    } while (ended < 0 && errno == EINTR);
    if (process->output >= 0) (void)close(process->output);
    *process = (lh_process){.output = -1};
    if (ended < 0) return LH_PROCESS_LOST;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

void lh_process_kill(lh_process *process) {
    if (process->id <= 0) return;
    (void)kill(process->id, SIGKILL);
    (void)lh_process_reap(process);
}
