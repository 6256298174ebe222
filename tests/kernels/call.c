/* One call of a kernel, with everything round it watched. */
#include "tests/kernels/conformance.h"

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

/* A misaligned view starts one element later, as a slice of a tensor may. */
void call_prepare(suite *s, bool misaligned) {
    for (int i = 0; i < s->buffer_count; i++) {
        buffer *b = &s->buffers[i];
        const bool shifted = misaligned && b->type != TYPE_BYTES;
        const size_t shift = shifted ? element_size(b->type) : 0;
        b->block = guarded(b->bytes, shift);
        b->data = b->block + GUARD + shift;
    }
    for (int i = 0; i < s->buffer_count; i++) {
        const buffer *b = &s->buffers[i];
        char *data = b->shares >= 0 ? s->buffers[b->shares].data : b->data;
        memcpy((char *)s->args + b->field, &data, sizeof data);
    }
    s->workspace_bytes = s->kernel->workspace == NULL ? 0 : s->kernel->workspace(s->table, s->args);
    s->workspace = guarded(s->workspace_bytes, 0);
}

void call_restore(suite *s) {
    for (int i = 0; i < s->buffer_count; i++)
        memcpy(s->buffers[i].data, s->buffers[i].initial, s->buffers[i].bytes);
    memset(s->workspace + GUARD, poison_of(TYPE_REAL), s->workspace_bytes);
}

lh_status call_kernel(suite *s, int threads) {
    lh_cpu_set_threads(threads);
    const lh_launch launch = {.workspace = s->workspace + GUARD};
    return s->kernel->run(s->table, &launch, s->args);
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
        const size_t shift = (size_t)(b->data - b->block) - GUARD;
        if (!guards_hold(b->block, b->bytes, shift)) return b->name;
        const bool fixed = b->role == ROLE_IN && !call_shared(s, b);
        if (fixed && memcmp(b->data, b->initial, b->bytes) != 0) return b->name;
    }
    return guards_hold(s->workspace, s->workspace_bytes, 0) ? NULL : "workspace";
}

void call_release(suite *s) {
    for (int i = 0; i < s->buffer_count; i++)
        free(s->buffers[i].block);
    free(s->workspace);
}
