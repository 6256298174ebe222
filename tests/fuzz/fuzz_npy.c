/* Any bytes as an array file: refused with a message, or all its elements are there. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/engine/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/longhaul-fuzz-npy-%ld", (long)getpid());
    FILE *stream = fopen(path, "wb");
    if (stream == NULL) abort();
    fwrite(data, 1, size, stream);
    fclose(stream);
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
    unlink(path);
    return 0;
}
