/* The CPU as an lh_device, which kernel tables this machine can run, and the BLAS behind them. */
#include "kernels/device.h"
#include "kernels/kernels.h"

#include <cblas.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef LH_HAVE_CUDA
#include "kernels/cuda/kernels_cuda.h"
#endif

enum { MEMORY_ALIGNMENT = 64 };

extern const lh_kernels lh_cpu_scalar_table;
#ifdef LH_HAVE_AVX2
extern const lh_kernels lh_cpu_avx2_table;
#endif
#ifdef LH_HAVE_AVX512
extern const lh_kernels lh_cpu_avx512_table;
#endif

#if defined(__x86_64__)

static bool has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void) {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

static bool has_avx512_bf16(void) {
    return has_avx512() && __builtin_cpu_supports("avx512bf16");
}

#else

static bool has_avx2(void) {
    return false;
}

static bool has_avx512(void) {
    return false;
}

static bool has_avx512_bf16(void) {
    return false;
}

#endif

static _Thread_local char error_text[512];

const char *lh_device_error(void) {
    return error_text;
}

void lh_device_explain(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error_text, sizeof error_text, format, arguments);
    va_end(arguments);
}

static const lh_kernels *cpu_kernels_at(int index) {
    const lh_kernels *usable[3] = {&lh_cpu_scalar_table};
    int count = 1;
#ifdef LH_HAVE_AVX2
    if (has_avx2()) usable[count++] = &lh_cpu_avx2_table;
#endif
#ifdef LH_HAVE_AVX512
    if (has_avx512()) usable[count++] = &lh_cpu_avx512_table;
#endif
    return index >= 0 && index < count ? usable[index] : NULL;
}

const lh_kernels *lh_kernels_at(int index) {
    const lh_kernels *found = cpu_kernels_at(index);
#ifdef LH_HAVE_CUDA
    if (found == NULL && index > 0 && cpu_kernels_at(index - 1) != NULL && lh_cuda_present())
        return &lh_cuda_table;
#endif
    return found;
}

const char *lh_kernels_name(const lh_kernels *kernels) {
    return kernels->name;
}

/* The table that LH_CPU_ISA names, else the last, which is the best; NULL for a name that is not
 * there. */
static const lh_kernels *cpu_kernels(void) {
    const char *wanted = getenv("LH_CPU_ISA");
    const lh_kernels *last = NULL;
    for (int i = 0; cpu_kernels_at(i) != NULL; ++i) {
        last = cpu_kernels_at(i);
        if (wanted != NULL && strcmp(last->name + strlen("cpu-"), wanted) == 0) return last;
    }
    return wanted == NULL || wanted[0] == '\0' ? last : NULL;
}

/* Whole units, each at a multiple of its size. */
static lh_status allocate_units(size_t bytes, size_t unit, void **out) {
    const size_t units = bytes / unit + 1;
    if (units > SIZE_MAX / unit) return LH_EMEMORY;
    *out = aligned_alloc(unit, units * unit);
    return *out == NULL ? LH_EMEMORY : LH_OK;
}

static lh_status cpu_allocate(lh_device *device, size_t bytes, void **out) {
    (void)device;
    return allocate_units(bytes, MEMORY_ALIGNMENT, out);
}

static lh_status cpu_allocate_pages(lh_device *device, size_t bytes, void **out) {
    (void)device;
    return allocate_units(bytes, (size_t)sysconf(_SC_PAGESIZE), out);
}

static void cpu_release(lh_device *device, void *memory) {
    (void)device;
    free(memory);
}

static lh_status cpu_upload(lh_device *device, void *device_memory, const void *host,
                            size_t bytes) {
    (void)device;
    if (bytes > 0) memcpy(device_memory, host, bytes);
    return LH_OK;
}

static lh_status cpu_download(lh_device *device, void *host, const void *device_memory,
                              size_t bytes) {
    (void)device;
    if (bytes > 0) memcpy(host, device_memory, bytes);
    return LH_OK;
}

static lh_status cpu_synchronize(lh_device *device) {
    (void)device;
    return LH_OK;
}

static void cpu_close(lh_device *device) {
    free(device);
}

/* OpenBLAS takes a buffer for each thread that calls it, when it first needs it, keeps it, and
 * where the system has none asks again for ever. These two of its functions are no part of its
 * interface; where a library lacks them nothing is reserved. */
extern void *blas_memory_alloc(int position) __attribute__((weak));
extern void blas_memory_free(void *buffer) __attribute__((weak));

enum { BLAS_BUFFER_MEBIBYTES = 128, MOST_BLAS_BUFFERS = 64 };

/* Asks the system for the buffers of so many threads, so that it says no where we can, then has
 * OpenBLAS take them. */
static lh_status reserve_blas_buffers(int threads) {
    static int reserved;
    void *buffer[MOST_BLAS_BUFFERS];
    const int wanted = threads < MOST_BLAS_BUFFERS ? threads : MOST_BLAS_BUFFERS;
    if (blas_memory_alloc == NULL || blas_memory_free == NULL || wanted <= reserved) return LH_OK;
    const size_t bytes = (size_t)(wanted - reserved) * BLAS_BUFFER_MEBIBYTES << 20;
    void *volatile there = malloc(bytes); /* volatile: a compiler may leave an unused block out */
    free(there);
    if (there == NULL) {
        lh_device_explain(
            "OpenBLAS takes %d MiB for each of %d threads, more than a limit on memory "
            "(ulimit -v) or the machine leaves",
            BLAS_BUFFER_MEBIBYTES, threads);
        return LH_EMEMORY;
    }
    for (int i = 0; i < wanted; ++i)
        buffer[i] = blas_memory_alloc(0);
    for (int i = 0; i < wanted; ++i)
        blas_memory_free(buffer[i]);
    reserved = wanted;
    return LH_OK;
}

static lh_status cpu_open(lh_device **out) {
    const lh_kernels *kernels = cpu_kernels();
    if (kernels == NULL) {
        lh_device_explain("LH_CPU_ISA=%s is not built in, or not for this processor",
                          getenv("LH_CPU_ISA"));
        return LH_EDEVICE;
    }
    const lh_status status = reserve_blas_buffers(lh_cpu_threads());
    if (status != LH_OK) return status;
    lh_device *device = malloc(sizeof *device);
    if (device == NULL) return LH_EMEMORY;
    *device = (lh_device){
        .kind = LH_CPU,
        .kernels = kernels,
        .allocate = cpu_allocate,
        .release = cpu_release,
        .upload = cpu_upload,
        .download = cpu_download,
        .synchronize = cpu_synchronize,
        .close = cpu_close,
    };
    openblas_set_num_threads(1);
    *out = device;
    return LH_OK;
}

lh_status lh_cpu_open_pages(lh_device **out) {
    const lh_status status = cpu_open(out);
    if (status == LH_OK) (*out)->allocate = cpu_allocate_pages;
    return status;
}

#ifndef LH_HAVE_CUDA
static lh_status lh_cuda_open(int number, lh_device **out) {
    (void)number;
    (void)out;
    lh_device_explain("this program was built without CUDA; make CUDA=1 builds it in");
    return LH_EDEVICE;
}
#endif

static int gpu_wanted;

void lh_device_choose_gpu(int number) {
    gpu_wanted = number;
}

lh_status lh_device_open(const char *name, lh_device **out) {
    if (strcmp(name, "cpu") == 0) return cpu_open(out);
    if (strcmp(name, "cuda") == 0) return lh_cuda_open(gpu_wanted, out);
    lh_device_explain("there is no device '%s'; there are cpu and cuda", name);
    return LH_EDEVICE;
}

void lh_device_close(lh_device *device) {
    if (device != NULL) device->close(device);
}

#ifdef _OPENMP
void lh_cpu_set_threads(int threads) {
    openblas_set_num_threads(1);
    if (threads > 0) omp_set_num_threads(threads);
}

int lh_cpu_threads(void) {
    return omp_get_max_threads();
}
#else
void lh_cpu_set_threads(int threads) {
    (void)threads;
    openblas_set_num_threads(1);
}

int lh_cpu_threads(void) {
    return 1;
}
#endif

const char *lh_blas_core(void) {
    return openblas_get_corename();
}

const char *lh_blas_version(void) {
    return openblas_get_config();
}

/* OpenBLAS knows processors by model. One that is newer than the library runs kernels of an earlier
 * instruction set: AVX2 at half the speed of AVX-512, or SSE3 ("Prescott") at a sixth. Cores that
 * are not named here are the library's own business. */
static const char *const below_avx2[] = {
    "Katmai", "Coppermine", "Northwood",   "Prescott",  "Banias",     "Atom",         "Core2",
    "Penryn", "Dunnington", "Nehalem",     "Athlon",    "Opteron",    "Opteron_SSE3", "Barcelona",
    "Bobcat", "Nano",       "Sandybridge", "Bulldozer", "Piledriver", "Steamroller"};
static const char *const below_avx512[] = {"Haswell", "Zen", "Excavator"};

static bool is_among(const char *core, const char *const *cores, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        if (strcmp(core, cores[i]) == 0) return true;
    }
    return false;
}

const char *lh_blas_better_core(void) {
    const char *core = lh_blas_core();
    const bool old = is_among(core, below_avx2, sizeof below_avx2 / sizeof *below_avx2);
    const bool half = is_among(core, below_avx512, sizeof below_avx512 / sizeof *below_avx512);
    if (has_avx512() && (old || half)) return has_avx512_bf16() ? "Cooperlake" : "SkylakeX";
    return has_avx2() && old ? "Haswell" : NULL;
}
