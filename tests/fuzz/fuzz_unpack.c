/* Any bytes as a gzip file; and, packed (first byte odd), as what must come out again, and must not
 * when the file is cut. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "datasets/unpack.h"
#include "harness/engine/error.h"
#include "tests/fuzz/scratch.h"

enum { MOST_BYTES = 1 << 14 };

/* What comes out has a NUL behind it. */
static bool unpacks_to(const char *path, const uint8_t *expected, size_t size) {
    lh_text text = {0};
    const bool good = lh_file_unpack(path, &text) == LH_OK;
    if (!good && strstr(lh_error_get()->message, path) == NULL) abort();
    if (good && text.data[text.bytes] != '\0') abort();
    const bool same = good && (expected == NULL ||
                               (text.bytes == size && memcmp(text.data, expected, size) == 0));
    free(text.data);
    lh_error_clear();
    return same;
}

static size_t pack(const uint8_t *data, size_t size, uint8_t *out, size_t capacity) {
    const int gzip = 15 + 16;
    z_stream stream = {0};
    if (deflateInit2(&stream, 1, Z_DEFLATED, gzip, 8, Z_DEFAULT_STRATEGY) != Z_OK) abort();
    stream.next_in = (Bytef *)(uintptr_t)data;
    stream.avail_in = (uInt)size;
    stream.next_out = out;
    stream.avail_out = (uInt)capacity;
    if (deflate(&stream, Z_FINISH) != Z_STREAM_END || deflateEnd(&stream) != Z_OK) abort();
    return capacity - stream.avail_out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint8_t packed[2 * MOST_BYTES + 1024];
    if (size == 0 || size > MOST_BYTES) return 0;
    if (data[0] % 2 == 0) {
        (void)unpacks_to(scratch_write("text.gz", data + 1, size - 1), NULL, 0);
        return 0;
    }
    const size_t bytes = pack(data + 1, size - 1, packed, sizeof packed);
    if (!unpacks_to(scratch_write("text.gz", packed, bytes), data + 1, size - 1)) abort();
    const size_t cut = bytes * (data[0] >> 1) / 128;
    if (unpacks_to(scratch_write("text.gz", packed, cut), data + 1, size - 1)) abort();
    return 0;
}
