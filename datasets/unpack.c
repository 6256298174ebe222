/* gzip through zlib, a block at a time, up to what a file of that size can honestly hold. */
#include "datasets/unpack.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "harness/engine/file.h"

/* No text shrinks to a hundredth; what claims to would fill the memory. */
enum { READ_BYTES = 1 << 16, MOST_SHRINKING = 100, ALWAYS_MEBIBYTES = 64 };

/* A stream that ends early is no failure of the last read. */
static bool is_whole(gzFile stream) {
    int code = Z_OK;
    (void)gzerror(stream, &code);
    return code == Z_OK;
}

static lh_status read_stream(gzFile stream, const char *path, size_t most, lh_text *out) {
    const bool is_gzip = gzdirect(stream) == 0; /* zlib reads anything else as it is */
    int got = 0;
    do {
        LH_TRY(lh_text_reserve(out, out->bytes + READ_BYTES));
        got = gzread(stream, out->data + out->bytes, READ_BYTES);
        if (got > 0) out->bytes += (size_t)got;
        if (out->bytes > most)
            return lh_fail(LH_EFORMAT, "%s: unpacks to more than %zu bytes, %d times its size",
                           path, most, MOST_SHRINKING);
    } while (got > 0);
    if (!is_gzip || got < 0 || !is_whole(stream))
        return lh_fail(LH_EFORMAT, "%s: cannot be unpacked: truncated or no gzip file", path);
    out->data[out->bytes] = '\0';
    return LH_OK;
}

/* The stream has a descriptor of its own. */
static lh_status read_gzip(const char *path, lh_text *out) {
    FILE *file = lh_file_open(path);
    if (file == NULL) return LH_EIO;
    struct stat about;
    const bool known = fstat(fileno(file), &about) == 0;
    const int descriptor = known && !lh_fault() ? dup(fileno(file)) : -1;
    (void)fclose(file);
    gzFile stream = descriptor >= 0 ? gzdopen(descriptor, "rb") : NULL;
    if (stream == NULL) {
        if (descriptor >= 0) (void)close(descriptor);
        return lh_fail(LH_EIO, "%s: cannot be read", path);
    }
    const size_t most = (size_t)about.st_size * MOST_SHRINKING + ((size_t)ALWAYS_MEBIBYTES << 20);
    const lh_status status = read_stream(stream, path, most, out);
    (void)gzclose_r(stream);
    return status;
}

lh_status lh_file_unpack(const char *path, lh_text *text) {
    *text = (lh_text){0};
    if (!lh_name_ends(path, ".gz")) {
        void *data = NULL;
        LH_TRY(lh_file_read_all(path, &data, &text->bytes));
        text->data = data;
        text->capacity = (int64_t)text->bytes + 1;
        return LH_OK;
    }
    const lh_status status = read_gzip(path, text);
    if (status != LH_OK) free(text->data);
    if (status != LH_OK) *text = (lh_text){0};
    return status;
}

lh_status lh_text_refuse(const char *path) {
    return lh_fail(LH_EFORMAT,
                   "%s: has a NUL byte: no text (`longhaul data import` of a folder leaves such "
                   "files out)",
                   path);
}

lh_status lh_text_unpack(const char *path, lh_text *text) {
    LH_TRY(lh_file_unpack(path, text));
    if (memchr(text->data, '\0', text->bytes) == NULL) return LH_OK;
    free(text->data);
    *text = (lh_text){0};
    return lh_text_refuse(path);
}
