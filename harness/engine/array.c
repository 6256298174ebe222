/* Growing by doubling; what the caller calls `items` may be a pointer to a pointer of any type, so
 * it is read and written as bytes. */
#include "harness/engine/array.h"

#include <string.h>

enum { FIRST = 16 };

lh_status lh_array_reserve(void *items, int64_t *capacity, int64_t count, size_t item_bytes) {
    if (count <= *capacity) return LH_OK;
    int64_t larger = *capacity < INT64_MAX / 2 ? 2 * *capacity : INT64_MAX;
    if (larger < FIRST) larger = FIRST;
    if (larger < count) larger = count;
    if ((uint64_t)larger > SIZE_MAX / item_bytes)
        return lh_fail(LH_EMEMORY, "out of memory: %lld items of %zu bytes", (long long)larger,
                       item_bytes);
    void *old = NULL;
    memcpy(&old, items, sizeof old);
    void *grown = lh_reallocate(old, (size_t)larger * item_bytes);
    if (grown == NULL) return LH_EMEMORY;
    memcpy(items, &grown, sizeof grown);
    *capacity = larger;
    return LH_OK;
}
