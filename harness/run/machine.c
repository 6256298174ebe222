/* Names and sizes of this machine from uname, /proc, sysconf and the libraries in use. */
#include "harness/run/machine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "harness/engine/pool.h"
#include "kernels/device.h"

/* The first "model name" of /proc/cpuinfo; the architecture where there is none. */
static void read_cpu(char *out, size_t capacity, const char *otherwise) {
    char line[256];
    (void)snprintf(out, capacity, "%s", otherwise);
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (file == NULL) return;
    while (fgets(line, sizeof line, file) != NULL) {
        const char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || value == NULL) continue;
        value += 1 + strspn(value + 1, " ");
        (void)snprintf(out, capacity, "%.*s", (int)strcspn(value, "\n"), value);
        break;
    }
    (void)fclose(file);
}

/* "OpenBLAS 0.3.21 Cooperlake": of the library's description the name and the version. */
static void read_blas(char *out, size_t capacity) {
    const char *text = lh_blas_version();
    const size_t name = strcspn(text, " ");
    const size_t number = text[name] != '\0' ? strcspn(text + name + 1, " ") + 1 : 0;
    (void)snprintf(out, capacity, "%.*s %.40s", (int)(name + number), text, lh_blas_core());
}

double lh_load_average(void) {
    double load = (double)NAN;
    FILE *file = fopen("/proc/loadavg", "r");
    if (file == NULL) return load;
    if (fscanf(file, "%lf", &load) != 1) load = (double)NAN;
    (void)fclose(file);
    return load;
}

/* ---- memory ---- */

/* The number behind `name` in a file of lines; -1 where there is none. */
static int64_t number_in(const char *path, const char *name) {
    char line[256];
    long long number = -1;
    FILE *file = fopen(path, "r");
    if (file == NULL) return -1;
    const size_t length = strlen(name);
    while (number < 0 && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, length) == 0 && sscanf(line + length, "%lld", &number) != 1)
            number = -1;
    (void)fclose(file);
    return number;
}

/* Of control groups of version 2 and 1; files that are only kept for speed can be given up. */
static int64_t left_in_group(void) {
    static const struct {
        const char *limit, *used, *statistics;
    } group[] = {{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current",
                  "/sys/fs/cgroup/memory.stat"},
                 {"/sys/fs/cgroup/memory/memory.limit_in_bytes",
                  "/sys/fs/cgroup/memory/memory.usage_in_bytes",
                  "/sys/fs/cgroup/memory/memory.stat"}};
    for (int i = 0; i < 2; ++i) {
        const int64_t limit = number_in(group[i].limit, ""), used = number_in(group[i].used, "");
        const int64_t kept = number_in(group[i].statistics, "inactive_file ");
        if (limit >= 0 && used >= 0) return limit - used + (kept > 0 ? kept : 0);
    }
    return INT64_MAX;
}

static int64_t all_memory(void) {
    return (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE);
}

int64_t lh_memory_available(void) {
    const int64_t kilobytes = number_in("/proc/meminfo", "MemAvailable:");
    const int64_t left = left_in_group(), here = kilobytes >= 0 ? 1024 * kilobytes : all_memory();
    return left < here ? left : here;
}

lh_status lh_machine_describe(lh_machine *out) {
    struct utsname name;
    lh_device *device = NULL;
    if (uname(&name) != 0) return lh_fail(LH_EIO, "uname failed");
    LH_TRY(lh_pool_open_device("cpu", &device));
    out->kernels = lh_kernels_name(device->kernels);
    lh_device_close(device);
    read_cpu(out->cpu, sizeof out->cpu, name.machine);
    (void)snprintf(out->system, sizeof out->system, "%.40s %.60s %.40s", name.sysname, name.release,
                   name.machine);
    (void)snprintf(out->host, sizeof out->host, "%.64s", name.nodename);
    read_blas(out->blas, sizeof out->blas);
    out->cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    out->threads = lh_cpu_threads();
    out->memory_bytes = all_memory();
    return LH_OK;
}
