/* A slow disk, for programs that are started with this in LD_PRELOAD: opening for writing, fsync
 * and rename take up to SLOW_DISK_MS milliseconds more, each as long as a draw from SLOW_DISK_SEED
 * and the process number says. What is killed then is killed in the middle of writing. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The function of this name behind ours, at `next`; a function pointer is no object pointer. */
static void find(const char *name, void *next, size_t bytes) {
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) abort();
    memcpy(next, &found, bytes);
}

static uint64_t number_in(const char *name) {
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 10) : 0;
}

static void linger(void) {
    static uint64_t draw; /* xorshift */
    const uint64_t most = number_in("SLOW_DISK_MS");
    if (most == 0) return;
    if (draw == 0) draw = (number_in("SLOW_DISK_SEED") + 1) * 2654435761u + (uint64_t)getpid();
    draw ^= draw << 13;
    draw ^= draw >> 7;
    draw ^= draw << 17;
    const struct timespec wait = {.tv_nsec = (long)(draw % (most < 999 ? most : 999)) * 1000000};
    (void)nanosleep(&wait, NULL);
}

int open(const char *path, int flags, ...) {
    int (*next)(const char *, int, ...) = NULL;
    mode_t mode = 0;
    if ((flags & O_CREAT) != 0) {
        va_list rest;
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
        linger();
    }
    find("open", &next, sizeof next);
    return next(path, flags, mode);
}

int fsync(int descriptor) {
    int (*next)(int) = NULL;
    linger();
    find("fsync", &next, sizeof next);
    return next(descriptor);
}

int rename(const char *from, const char *to) {
    int (*next)(const char *, const char *) = NULL;
    linger();
    find("rename", &next, sizeof next);
    return next(from, to);
}
