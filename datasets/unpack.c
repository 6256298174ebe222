#include "datasets/unpack.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/engine/atomic_file.h"
#include "harness/engine/error.h"

enum { READ_BYTES = 1 << 16 };

typedef struct text {
    char *data;
    size_t bytes;
} text;

static lh_status read_all(int descriptor, const char *path, text *out) {
    size_t capacity = 0;
    for (;;) {
        if (capacity - out->bytes < READ_BYTES) {
            capacity = 2 * capacity + 2 * READ_BYTES;
            char *data = lh_reallocate(out->data, capacity);
            if (data == NULL) return LH_EMEMORY;
            out->data = data;
        }
        const ssize_t got = read(descriptor, out->data + out->bytes, READ_BYTES);
        if (got < 0) return lh_fail(LH_EIO, "%s: reading it through gzip failed", path);
        if (got == 0) break;
        out->bytes += (size_t)got;
    }
    out->data[out->bytes] = '\0';
    return LH_OK;
}

/* The child becomes gzip -dc with its output in the pipe; what it would say is said by our own
 * message. */
static void become_gzip(const char *path, const int *ends) {
    const int nowhere = open("/dev/null", O_WRONLY);
    (void)dup2(ends[1], STDOUT_FILENO);
    (void)dup2(nowhere, STDERR_FILENO);
    (void)close(ends[0]);
    (void)close(ends[1]);
    (void)execlp("gzip", "gzip", "-dc", path, (char *)NULL);
    _exit(127);
}

static lh_status read_gzip(const char *path, text *out) {
    int ends[2], state = 0;
    if (lh_fault() || pipe(ends) != 0) return lh_fail(LH_EIO, "%s: no pipe", path);
    const pid_t child = fork();
    if (child == 0) become_gzip(path, ends);
    (void)close(ends[1]);
    lh_status status = child > 0 ? read_all(ends[0], path, out) : LH_EIO;
    (void)close(ends[0]);
    if (child > 0 && waitpid(child, &state, 0) != child) status = LH_EIO;
    if (status != LH_OK) return lh_fail(status, "%s: cannot be read", path);
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return LH_OK;
    return lh_fail(LH_EFORMAT, "%s: gzip cannot unpack it: truncated or no gzip file", path);
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
