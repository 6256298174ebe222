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

lh_status lh_machine_describe(lh_machine *out) {
    struct utsname name;
    lh_device *device = NULL;
    if (uname(&name) != 0) return lh_fail(LH_EIO, "uname failed");
    LH_TRY(lh_pool_open_device("cpu", &device));
    out->kernels = device->kernels->name;
    lh_device_close(device);
    read_cpu(out->cpu, sizeof out->cpu, name.machine);
    (void)snprintf(out->system, sizeof out->system, "%.40s %.60s %.40s", name.sysname, name.release,
                   name.machine);
    read_blas(out->blas, sizeof out->blas);
    out->cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    out->threads = lh_cpu_threads();
    out->memory_bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE);
    return LH_OK;
}
