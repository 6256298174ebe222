/* One call of a kernel, with everything round it watched. */
#include "tests/kernels/conformance.h"

#ifdef LH_CUDASIM
#include "tests/cudasim/cudasim.h"
#endif

enum { ALIGNMENT = 64, GUARD = 128, GUARD_BYTE = 0xa5 };

static char *guarded(size_t bytes, size_t shift) {
    const size_t units = (2 * GUARD + shift + bytes) / ALIGNMENT + 1;
    char *block = aligned_alloc(ALIGNMENT, units * ALIGNMENT);
    if (block == NULL) abort();
    memset(block, GUARD_BYTE, GUARD + shift);
    memset(block + GUARD + shift + bytes, GUARD_BYTE, GUARD);
    return block;
}

static bool guards_hold(const char *block, size_t bytes, size_t shift) {
    const char *after = block + GUARD + shift + bytes;
    for (size_t i = 0; i < GUARD + shift; i++)
        if ((unsigned char)block[i] != GUARD_BYTE) return false;
    for (size_t i = 0; i < GUARD; i++)
        if ((unsigned char)after[i] != GUARD_BYTE) return false;
    return true;
}

static void must(suite *s, lh_status status) {
    if (status == LH_OK) return;
    printf("device %s: %s\n", s->table->name, lh_device_error());
    abort();
}

static size_t shift_of(const buffer *b) {
    return (size_t)(b->data - b->block) - GUARD;
}

static void lay_out(suite *s, buffer *b, size_t shift) {
    b->block = guarded(b->bytes, shift);
    b->data = b->block + GUARD + shift;
    must(s, s->device->allocate(s->device, 2 * GUARD + shift + b->bytes, &b->device_block));
}

/* Where the argument leads, here or on the device. */
static void point(suite *s, const buffer *b) {
    const buffer *seen = b->shares >= 0 ? &s->buffers[b->shares] : b;
    char *device_data = (char *)seen->device_block + GUARD + shift_of(seen);
    memcpy((char *)s->args + b->field, &seen->data, sizeof seen->data);
    memcpy((char *)s->device_args + b->field, &device_data, sizeof device_data);
}

static void *copy_of(const void *from, size_t bytes) {
    void *copy = malloc(bytes);
    if (copy == NULL) abort();
    return memcpy(copy, from, bytes);
}

/* A misaligned view starts one element later, as a slice of a tensor may. */
void call_prepare(suite *s, bool misaligned) {
    s->device_args = copy_of(s->args, s->args_size);
    for (int i = 0; i < s->buffer_count; i++) {
        buffer *b = &s->buffers[i];
        const bool shifted = misaligned && b->type != TYPE_BYTES;
        lay_out(s, b, shifted ? element_size(b->type) : 0);
    }
    for (int i = 0; i < s->buffer_count; i++)
        point(s, &s->buffers[i]);
    s->workspace_bytes =
        s->kernel->workspace == NULL ? 0 : s->kernel->workspace(s->table, s->device_args);
    s->workspace = guarded(s->workspace_bytes, 0);
    must(s, s->device->allocate(s->device, 2 * GUARD + s->workspace_bytes, &s->device_workspace));
}

void call_restore(suite *s) {
    for (int i = 0; i < s->buffer_count; i++) {
        const buffer *b = &s->buffers[i];
        memcpy(b->data, b->initial, b->bytes);
        must(s, s->device->upload(s->device, b->device_block, b->block,
                                  2 * GUARD + shift_of(b) + b->bytes));
    }
    memset(s->workspace + GUARD, poison_of(TYPE_REAL), s->workspace_bytes);
    must(s, s->device->upload(s->device, s->device_workspace, s->workspace,
                              2 * GUARD + s->workspace_bytes));
}

static void set_threads(int threads) {
    lh_cpu_set_threads(threads);
#ifdef LH_CUDASIM
    cudasim_set_order((cudasim_order)((threads + CUDASIM_ORDERS - 1) % CUDASIM_ORDERS));
#endif
}

int64_t call_launches(const suite *s) {
#ifdef LH_CUDASIM
    if (s->device->kind == LH_CUDA) return cudasim_launches();
#else
    (void)s;
#endif
    return -1;
}

lh_status call_kernel(suite *s, int threads) {
    set_threads(threads);
    const lh_launch launch = {.stream = s->device->stream,
                              .workspace = (char *)s->device_workspace + GUARD};
    const lh_status status = s->kernel->run(s->table, &launch, s->device_args);
    const lh_status late = s->device->synchronize(s->device);
    return status == LH_OK ? late : status;
}

void call_fetch(suite *s) {
    for (int i = 0; i < s->buffer_count; i++) {
        const buffer *b = &s->buffers[i];
        must(s, s->device->download(s->device, b->block, b->device_block,
                                    2 * GUARD + shift_of(b) + b->bytes));
    }
    must(s, s->device->download(s->device, s->workspace, s->device_workspace,
                                2 * GUARD + s->workspace_bytes));
}

const void *call_result(const suite *s, const buffer *b) {
    return b->shares >= 0 ? s->buffers[b->shares].data : b->data;
}

bool call_shared(const suite *s, const buffer *b) {
    for (int i = 0; i < s->buffer_count; i++)
        if (s->buffers[i].shares == (int)(b - s->buffers)) return true;
    return false;
}

const char *call_trespass(suite *s) {
    for (int i = 0; i < s->buffer_count; i++) {
        const buffer *b = &s->buffers[i];
        if (!guards_hold(b->block, b->bytes, shift_of(b))) return b->name;
        const bool fixed = b->role == ROLE_IN && !call_shared(s, b);
        if (fixed && memcmp(b->data, b->initial, b->bytes) != 0) return b->name;
    }
    return guards_hold(s->workspace, s->workspace_bytes, 0) ? NULL : "workspace";
}

void call_release(suite *s) {
    for (int i = 0; i < s->buffer_count; i++) {
        free(s->buffers[i].block);
        s->device->release(s->device, s->buffers[i].device_block);
    }
    free(s->workspace);
    s->device->release(s->device, s->device_workspace);
    free(s->device_args);
}
