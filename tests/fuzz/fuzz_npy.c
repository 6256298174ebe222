/* Any bytes as an array file: refused with a message, or all its elements are there. */
#include <stdlib.h>

#include "harness/engine/npy.h"
#include "tests/fuzz/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *path = scratch_write("array.npy", data, size);
    lh_npy array = {0};
    if (lh_npy_read(path, &array) == LH_OK) {
        if ((array.reals == NULL) == (array.integers == NULL)) abort();
        volatile double sum = 0;
        for (int64_t i = 0; i < array.count; i++)
            sum += array.reals != NULL ? array.reals[i] : (double)array.integers[i];
    }
    lh_npy_clear(&array);
    lh_npy_layout layout;
    if (lh_npy_read_layout(path, &layout) == LH_OK) {
        if (layout.offset < 10 || layout.offset + layout.count > (int64_t)size) abort();
    }
    lh_error_clear();
    return 0;
}
