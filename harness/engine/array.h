/* The one array that grows: a pointer, how many items are in use and how many there is room for,
 * kept side by side in the struct that owns them. Starts zeroed; free() the pointer. */
#ifndef LH_ENGINE_ARRAY_H
#define LH_ENGINE_ARRAY_H

#include "harness/engine/error.h"

/* Makes room for `count` items of `item_bytes` in the array that the pointer at `items` points to,
 * which then moves; at least doubles what there is, so that adding one by one costs a constant. New
 * items are undefined. After LH_EMEMORY, also where so many bytes cannot be counted, array and
 * capacity are as before:
 *
 *     LH_TRY(lh_array_reserve(&list->at, &list->capacity, list->count + 1, sizeof *list->at));
 *     list->at[list->count++] = added;
 */
lh_status lh_array_reserve(void *items, int64_t *capacity, int64_t count, size_t item_bytes);

#endif
