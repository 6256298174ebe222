/* The table of kernels that note their cost, and a device round it. */
#include "kernels/cost/ledger.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[LH_KERNEL_COUNT] = {
#define LH_KERNEL(k, dtypes)   #k,
#define LH_KERNEL_W(k, dtypes) #k,
#include "kernels/kernels.def"
#undef LH_KERNEL
#undef LH_KERNEL_W
};

const char *lh_kernel_name(lh_kernel_id kernel) {
    return names[kernel];
}

/* ---- the ledger ---- */

static lh_status note(const lh_launch *launch, lh_kernel_id kernel, lh_cost cost) {
    lh_ledger *ledger = launch->stream;
    if (ledger->count == ledger->capacity) {
        const int64_t capacity = ledger->capacity > 0 ? 2 * ledger->capacity : 1024;
        lh_ledger_call *call = realloc(ledger->call, (size_t)capacity * sizeof *call);
        if (call == NULL) return LH_EMEMORY;
        ledger->call = call;
        ledger->capacity = capacity;
    }
    ledger->call[ledger->count++] = (lh_ledger_call){.kernel = kernel, .cost = cost};
    return LH_OK;
}

void lh_ledger_clear(lh_ledger *ledger) {
    ledger->count = 0;
}

void lh_ledger_free(lh_ledger *ledger) {
    free(ledger->call);
    *ledger = (lh_ledger){0};
}

/* ---- the kernels ---- */

#define LH_KERNEL(k, dtypes)                                                                       \
    static lh_status note_##k(const lh_launch *launch, const lh_##k##_args *args) {                \
        return note(launch, LH_KERNEL_##k, lh_cost_##k(args));                                     \
    }
#define LH_KERNEL_W(k, dtypes)                                                                     \
    LH_KERNEL(k, dtypes)                                                                           \
    static size_t note_##k##_workspace(const lh_##k##_args *args) {                                \
        (void)args;                                                                                \
        return 0;                                                                                  \
    }
#include "kernels/kernels.def"
#undef LH_KERNEL
#undef LH_KERNEL_W

static const bool takes_bf16[LH_KERNEL_COUNT] = {
#define LH_KERNEL(k, dtypes)   true,
#define LH_KERNEL_W(k, dtypes) true,
#include "kernels/kernels.def"
#undef LH_KERNEL
#undef LH_KERNEL_W
};

#define LH_TWIN(k)           note_##k
#define LH_TWIN_WORKSPACE(k) note_##k##_workspace
#include "kernels/entries.inc"

const lh_kernels lh_ledger_kernels = {
    .name = "ledger",
    .takes_bf16 = takes_bf16,
#define LH_KERNEL(k, dtypes)   .k = run_##k,
#define LH_KERNEL_W(k, dtypes) .k = run_##k, .k##_workspace = workspace_##k,
#include "kernels/kernels.def"
#undef LH_KERNEL
#undef LH_KERNEL_W
};

/* ---- the device ---- */

typedef struct ledger_device {
    lh_device device;
    uintptr_t next; /* the first address that was not given out */
} ledger_device;

enum { ALIGNMENT = 256 };
static const uintptr_t first_address = (uintptr_t)1 << 40;

static lh_status allocate(lh_device *device, size_t bytes, void **out) {
    ledger_device *own = (ledger_device *)(void *)device;
    *out = (void *)own->next;
    own->next += (bytes / ALIGNMENT + 1) * ALIGNMENT;
    return LH_OK;
}

static void release(lh_device *device, void *memory) {
    (void)device;
    (void)memory;
}

static lh_status upload(lh_device *device, void *device_memory, const void *host, size_t bytes) {
    (void)device;
    (void)device_memory;
    (void)host;
    (void)bytes;
    return LH_OK;
}

static lh_status download(lh_device *device, void *host, const void *device_memory, size_t bytes) {
    (void)device;
    (void)device_memory;
    if (bytes > 0) memset(host, 0, bytes);
    return LH_OK;
}

static lh_status synchronize(lh_device *device) {
    (void)device;
    return LH_OK;
}

static void close_device(lh_device *device) {
    free(device);
}

lh_status lh_ledger_device(lh_ledger *ledger, lh_device **out) {
    ledger_device *own = malloc(sizeof *own);
    if (own == NULL) return LH_EMEMORY;
    *own = (ledger_device){.next = first_address,
                           .device = {.kind = LH_CUDA,
                                      .is_hollow = true,
                                      .kernels = &lh_ledger_kernels,
                                      .stream = ledger,
                                      .allocate = allocate,
                                      .release = release,
                                      .upload = upload,
                                      .download = download,
                                      .synchronize = synchronize,
                                      .close = close_device,
                                      .name = "a ledger"}};
    *out = &own->device;
    return LH_OK;
}
