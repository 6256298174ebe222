/* Processor time of the machine from /proc/stat, over the processors that this process may use. */
#include "harness/run/cpu_time.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The processors that this process may use, "0-3,8"; empty when the system does not say. */
static void read_allowed(char *list, size_t capacity) {
    static const char name[] = "Cpus_allowed_list:";
    char line[1024];
    list[0] = '\0';
    FILE *file = fopen("/proc/self/status", "r");
    if (file == NULL) return;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, sizeof name - 1) != 0) continue;
        const char *value = line + sizeof name - 1;
        value += strspn(value, " \t");
        (void)snprintf(list, capacity, "%.*s", (int)strcspn(value, "\n"), value);
        break;
    }
    (void)fclose(file);
}

/* Whether a list such as "0-3,8" has the number; an empty one has all. */
static bool is_listed(const char *list, long number) {
    if (list[0] == '\0') return true;
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        char *end = NULL;
        at += *at == ',';
        const long first = strtol(at, &end, 10);
        const long last = *end == '-' ? strtol(end + 1, NULL, 10) : first;
        if (number >= first && number <= last) return true;
    }
    return false;
}

/* Of "cpu3 user nice system idle iowait irq softirq steal ...", in ticks: all but the two that are
 * idle. Guests are in `user` already. */
static double busy_ticks(const char *line) {
    enum { FIELDS = 8, IDLE = 3, WAITING = 4 };
    double sum = 0;
    char *end = NULL;
    line += strcspn(line, " ");
    for (int i = 0; i < FIELDS; ++i) {
        const double ticks = strtod(line, &end);
        if (end == line) break;
        if (i != IDLE && i != WAITING) sum += ticks;
        line = end;
    }
    return sum;
}

lh_status lh_cpu_time_read(lh_cpu_time *out) {
    char allowed[1024], host[64] = "", line[512];
    struct timespec own;
    *out = (lh_cpu_time){0};
    read_allowed(allowed, sizeof allowed);
    FILE *file = fopen("/proc/stat", "r");
    if (file == NULL) return lh_fail(LH_EIO, "/proc/stat cannot be read");
    while (fgets(line, sizeof line, file) != NULL) {
        const bool one = strncmp(line, "cpu", 3) == 0 && line[3] >= '0' && line[3] <= '9';
        if (!one || !is_listed(allowed, strtol(line + 3, NULL, 10))) continue;
        out->machine += busy_ticks(line);
        out->processors += 1;
    }
    (void)fclose(file);
    if (out->processors == 0 || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own) != 0)
        return lh_fail(LH_EIO, "/proc/stat names no processor of this process");
    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(out->place, sizeof out->place, "%s %s", host, allowed);
    out->machine /= (double)sysconf(_SC_CLK_TCK);
    out->process = (double)own.tv_sec + 1e-9 * (double)own.tv_nsec;
    return LH_OK;
}
