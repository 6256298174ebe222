/* Any bytes as a weight file: refused with a message, or every tensor can be read. */
#include <stdlib.h>
#include <string.h>

#include "harness/engine/safetensors.h"
#include "tests/fuzz/scratch.h"

static void read_all(const lh_safetensors *file) {
    for (int i = 0; i < lh_safetensors_count(file); i++) {
        const lh_safetensors_entry *entry = lh_safetensors_at(file, i);
        real *values = malloc((size_t)entry->count * sizeof *values + 1);
        if (values == NULL) abort();
        lh_safetensors_convert(entry, values);
        free(values);
        if (i > 0 && strcmp(lh_safetensors_at(file, i - 1)->name, entry->name) >= 0) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *path = scratch_write("weights.safetensors", data, size);
    lh_safetensors *file = NULL;
    const lh_status status = lh_safetensors_open(path, &file);
    if ((status == LH_OK) != (file != NULL)) abort();
    if (status == LH_OK) read_all(file);
    lh_safetensors_close(file);
    lh_error_clear();
    return 0;
}
