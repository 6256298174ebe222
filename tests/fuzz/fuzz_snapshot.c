/* Any bytes as a checkpoint, behind them the digest that makes them one (first byte odd: none): a
 * refusal names the file and changes nothing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "harness/train/snapshot.h"
#include "tests/fuzz/scratch.h"

enum { REALS = 3, INTEGERS = 2, MOST_BYTES = 1 << 16 };

typedef struct run {
    lh_device *device;
    lh_pool *pool;
    lh_tensor *reals, *integers;
} run;

static const run *open_run(void) {
    static const int64_t reals[] = {REALS}, integers[] = {INTEGERS};
    static run r;
    if (r.pool != NULL) return &r;
    if (lh_device_open("cpu", &r.device) != LH_OK || lh_pool_create(r.device, &r.pool) != LH_OK ||
        lh_tensor_create_zero(r.pool, LH_REAL, 1, reals, &r.reals) != LH_OK ||
        lh_tensor_create_zero(r.pool, LH_I32, 1, integers, &r.integers) != LH_OK)
        abort();
    return &r;
}

static void set_values(const run *r, real x, int32_t n) {
    const real reals[REALS] = {x, x, x};
    const int32_t integers[INTEGERS] = {n, n};
    if (lh_tensor_write(r->reals, reals, REALS) != LH_OK ||
        lh_tensor_write(r->integers, integers, INTEGERS) != LH_OK)
        abort();
}

static void check_unchanged(const run *r, const lh_snapshot *snapshot) {
    real reals[REALS];
    int32_t integers[INTEGERS];
    if (lh_tensor_read(r->reals, reals, REALS) != LH_OK ||
        lh_tensor_read(r->integers, integers, INTEGERS) != LH_OK)
        abort();
    for (int i = 0; i < REALS; ++i)
        if (reals[i] != LH_R(0.5)) abort();
    for (int i = 0; i < INTEGERS; ++i)
        if (integers[i] != 7) abort();
    if (snapshot->record.step != 3 || snapshot->cursor_count != 1) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint8_t image[MOST_BYTES + sizeof(uint64_t)];
    if (size == 0 || size > MOST_BYTES) return 0;
    const run *r = open_run();
    const size_t bytes = size - 1;
    const uint64_t digest = XXH3_64bits(data + 1, bytes);
    const bool whole = data[0] % 2 == 0;
    memcpy(image, data + 1, bytes);
    memcpy(image + bytes, &digest, sizeof digest);
    const char *path = scratch_write("run.snapshot", image, bytes + (whole ? sizeof digest : 0));
    lh_snapshot_part parts[] = {{.tensor = r->reals}, {.tensor = r->integers}};
    lh_snapshot snapshot = {.identity = "model=brt\nwidth=8\n",
                            .part = parts,
                            .part_count = 2,
                            .record.step = 3,
                            .cursor_count = 1};
    set_values(r, LH_R(0.5), 7);
    if (lh_snapshot_read(&snapshot, path) == LH_OK) {
        if (snapshot.cursor_count < 0 || snapshot.cursor_count > LH_CURSOR_WORDS) abort();
    } else {
        if (strstr(lh_error_get()->message, path) == NULL) abort();
        check_unchanged(r, &snapshot);
    }
    lh_error_clear();
    return 0;
}
