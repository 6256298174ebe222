#include "datasets/unpack.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "harness/engine/atomic_file.h"
#include "harness/engine/error.h"

/* No text shrinks to a hundredth; what claims to would fill the memory. */
enum { READ_BYTES = 1 << 16, MOST_SHRINKING = 100, ALWAYS_MEBIBYTES = 64 };

typedef struct text {
    char *data;
    size_t bytes;
} text;

/* Room for READ_BYTES more and a NUL. */
static lh_status reserve(text *out, size_t *capacity) {
    if (*capacity - out->bytes > READ_BYTES) return LH_OK;
    *capacity = 2 * *capacity + 2 * READ_BYTES;
    char *data = lh_reallocate(out->data, *capacity);
    if (data == NULL) return LH_EMEMORY;
    out->data = data;
    return LH_OK;
}

/* A stream that ends early is no failure of the last read. */
static bool is_whole(gzFile stream) {
    int code = Z_OK;
    (void)gzerror(stream, &code);
    return code == Z_OK;
}

static lh_status read_stream(gzFile stream, const char *path, size_t most, text *out) {
    size_t capacity = 0;
    const bool is_gzip = gzdirect(stream) == 0; /* zlib reads anything else as it is */
    int got = 0;
    do {
        LH_TRY(reserve(out, &capacity));
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
static lh_status read_gzip(const char *path, text *out) {
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

bool lh_name_ends(const char *name, const char *ending) {
    const size_t length = strlen(name), wanted = strlen(ending);
    return length >= wanted && strcmp(name + length - wanted, ending) == 0;
}

lh_status lh_file_unpack(const char *path, char **out, size_t *bytes) {
    text t = {0};
    lh_status status = LH_OK;
    if (lh_name_ends(path, ".gz")) {
        status = read_gzip(path, &t);
    } else {
        void *data = NULL;
        status = lh_file_read_all(path, &data, &t.bytes);
        t.data = data;
    }
    if (status != LH_OK) {
        free(t.data);
        return status;
    }
    *out = t.data;
    *bytes = t.bytes;
    return LH_OK;
}
