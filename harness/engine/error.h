/* Errors are values until the last metre: a status travels up, its message waits here.
 *
 * Each thread keeps one record. The first failure wins; callers may add context on the way up with
 * lh_note, outermost last. Nothing below main.c prints, exits or raises. */
#ifndef LH_ENGINE_ERROR_H
#define LH_ENGINE_ERROR_H

#include "kernels/base.h"

enum { LH_ERROR_TEXT = 512, LH_ERROR_NOTES = 8 };

typedef struct lh_error {
    lh_status status;
    const char *file;
    int line;
    char message[LH_ERROR_TEXT];
    int note_count;
    char note[LH_ERROR_NOTES][160];
} lh_error;

#if defined(__GNUC__)
#define LH_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define LH_PRINTF(text, first)
#endif

/* Records the failure unless one is already recorded, and returns the status of the one that is. */
lh_status lh_fail_at(lh_status status, const char *file, int line, const char *format, ...)
    LH_PRINTF(4, 5);
#define lh_fail(status, ...) lh_fail_at((status), __FILE__, __LINE__, __VA_ARGS__)

/* Adds one line of context to the recorded failure: "layer 9 of brt". */
void lh_note(const char *format, ...) LH_PRINTF(1, 2);

/* The status of the recorded failure, for a caller of what gave NULL; never LH_OK: LH_EINTERNAL,
 * recorded, where nothing was. */
lh_status lh_failed(void);

/* The record of this thread; status LH_OK when none. Lends until the next failure or clear. */
const lh_error *lh_error_get(void);
void lh_error_clear(void);

/* For a failure that is survived: forgets what was recorded since the record had the status
 * `before` (lh_error_get()->status then), and keeps a failure that was there already. */
void lh_error_survive(lh_status before);

/* What a call came to that began when the record had the status `before`: `status` or, where that
 * is LH_OK, a failure that was recorded since. Ops are given NULL for a tensor that may be absent,
 * and so take for absent what could not be made. */
lh_status lh_error_since(lh_status before, lh_status status);

/* "outer note: inner note: message" in one line. Lends thread-local storage until the next call. */
const char *lh_error_text(void);

/* "shape", "memory" ... */
const char *lh_status_name(lh_status status);

/* Fault injection: LH_FAIL_AT=n makes the n-th fallible resource call of the process fail. Every
 * allocation, open, write, rename and fsync asks here first; true means "fail now". */
bool lh_fault(void);

/* Checked wrappers for host memory that is not a tensor: the only malloc outside of them is the
 * device's. NULL plus a recorded LH_EMEMORY on failure. Release with free(). */
void *lh_allocate(size_t bytes);
void *lh_allocate_zeroed(size_t count, size_t bytes);
void *lh_reallocate(void *memory, size_t bytes);
char *lh_duplicate_text(const char *text);

#define LH_TRY(call)                                                                               \
    do {                                                                                           \
        const lh_status lh_try_status = (call);                                                    \
        if (lh_try_status != LH_OK) return lh_try_status;                                          \
    } while (0)

#endif
