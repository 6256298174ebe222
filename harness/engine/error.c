/* The thread's record of a failure, allocation that leaves a message, and the fault injector. */
#include "harness/engine/error.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local lh_error record;

static const char cut[] = " ..."; /* what a message that is too long ends with */

lh_status lh_fail_at(lh_status status, const char *file, int line, const char *format, ...) {
    if (record.status != LH_OK) return record.status;
    record.status = status;
    record.file = file;
    record.line = line;
    record.note_count = 0;
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(record.message, sizeof record.message, format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof record.message)
        memcpy(record.message + sizeof record.message - sizeof cut, cut, sizeof cut);
    return status;
}

void lh_note(const char *format, ...) {
    if (record.status == LH_OK || record.note_count == LH_ERROR_NOTES) return;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(record.note[record.note_count++], sizeof record.note[0], format, arguments);
    va_end(arguments);
}

const lh_error *lh_error_get(void) {
    return &record;
}

lh_status lh_failed(void) {
    if (record.status != LH_OK) return record.status;
    return lh_fail(LH_EINTERNAL, "a call failed without a message, as ops do that are given NULL");
}

void lh_error_clear(void) {
    record.status = LH_OK;
    record.note_count = 0;
    record.message[0] = '\0';
}

void lh_error_survive(lh_status before) {
    if (before == LH_OK) lh_error_clear();
}

lh_status lh_error_since(lh_status before, lh_status status) {
    return status == LH_OK && before == LH_OK ? record.status : status;
}

const char *lh_error_text(void) {
    static _Thread_local char text[sizeof record.message + sizeof record.note];
    size_t used = 0;
    text[0] = '\0';
    for (int i = record.note_count - 1; i >= 0; --i) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s: ", record.note[i]);
    }
    const char *message =
        record.message[0] != '\0' ? record.message : lh_status_name(record.status);
    (void)snprintf(text + used, sizeof text - used, "%s", message);
    return text;
}

const char *lh_status_name(lh_status status) {
    static const char *const name[] = {[LH_OK] = "ok",
                                       [LH_ESHAPE] = "shape",
                                       [LH_ETYPE] = "type",
                                       [LH_EOPTION] = "option",
                                       [LH_EMEMORY] = "memory",
                                       [LH_EDEVICE] = "device",
                                       [LH_EIO] = "input/output",
                                       [LH_EFORMAT] = "format",
                                       [LH_ESTATE] = "state",
                                       [LH_EINTERRUPT] = "interrupted",
                                       [LH_EINTERNAL] = "internal"};
    const size_t index = (size_t)status;
    return index < sizeof name / sizeof name[0] ? name[index] : "unknown";
}

/* ---- fault injection ---- */

/* Which call fails: read once; 0 means none. */
static long long fault_position(void) {
    const char *text = getenv("LH_FAIL_AT");
    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

bool lh_fault(void) {
    static atomic_llong calls;
    static atomic_llong position = -1;
    if (atomic_load(&position) < 0) atomic_store(&position, fault_position());
    const long long wanted = atomic_load(&position);
    return wanted > 0 && atomic_fetch_add(&calls, 1) + 1 == wanted;
}

/* ---- host memory ---- */

static void *checked(void *memory, size_t bytes) {
    if (memory == NULL) (void)lh_fail(LH_EMEMORY, "out of memory: %zu bytes of host memory", bytes);
    return memory;
}

void *lh_allocate(size_t bytes) {
    return checked(lh_fault() ? NULL : malloc(bytes > 0 ? bytes : 1), bytes);
}

void *lh_allocate_zeroed(size_t count, size_t bytes) {
    return checked(lh_fault() ? NULL : calloc(count > 0 ? count : 1, bytes > 0 ? bytes : 1),
                   count * bytes);
}

void *lh_reallocate(void *memory, size_t bytes) {
    return checked(lh_fault() ? NULL : realloc(memory, bytes > 0 ? bytes : 1), bytes);
}

char *lh_duplicate_text(const char *text) {
    const size_t bytes = strlen(text) + 1;
    char *copy = lh_allocate(bytes);
    return copy != NULL ? memcpy(copy, text, bytes) : NULL;
}
