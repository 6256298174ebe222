#include "harness/engine/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct lh_atomic_file {
    FILE *stream;
    char *path, *partial;
};

static lh_status io_failure(const char *what, const char *path) {
    const int cause = errno;
    return lh_fail(LH_EIO, "%s: cannot %s: %s", path, what, cause != 0 ? strerror(cause) : "fault");
}

/* Asks the fault injector before a resource call; errno then says nothing. */
static bool refused(void) {
    errno = 0;
    return lh_fault();
}

static void free_file(lh_atomic_file *file) {
    if (file->stream != NULL) fclose(file->stream);
    free(file->path);
    free(file->partial);
    free(file);
}

static char *partial_name(const char *path) {
    static const char suffix[] = ".partial";
    const size_t length = strlen(path);
    char *name = lh_allocate(length + sizeof suffix);
    if (name == NULL) return NULL;
    memcpy(name, path, length);
    memcpy(name + length, suffix, sizeof suffix);
    return name;
}

lh_status lh_atomic_file_open(const char *path, lh_atomic_file **out) {
    *out = NULL;
    struct stat there;
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode))
        return lh_fail(LH_EIO, "%s: not a plain file, so it is not replaced", path);
    lh_atomic_file *file = lh_allocate_zeroed(1, sizeof *file);
    if (file == NULL) return LH_EMEMORY;
    file->path = lh_duplicate_text(path);
    file->partial = partial_name(path);
    if (file->path == NULL || file->partial == NULL) {
        free_file(file);
        return LH_EMEMORY;
    }
    if (!refused()) file->stream = fopen(file->partial, "wb");
    if (file->stream == NULL) {
        const lh_status status = io_failure("write", file->partial);
        free_file(file);
        return status;
    }
    *out = file;
    return LH_OK;
}

lh_status lh_atomic_file_write(lh_atomic_file *file, const void *data, size_t bytes) {
    if (bytes == 0) return LH_OK;
    if (refused() || fwrite(data, 1, bytes, file->stream) != bytes)
        return io_failure("write", file->partial);
    return LH_OK;
}

/* Makes a rename in the folder of `path` durable. */
static lh_status sync_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = lh_duplicate_text(slash != NULL ? path : ".");
    if (folder == NULL) return LH_EMEMORY;
    if (slash != NULL) folder[slash == path ? 1 : slash - path] = '\0';
    const int descriptor = refused() ? -1 : open(folder, O_RDONLY | O_DIRECTORY);
    lh_status status = LH_OK;
    if (descriptor < 0 || refused() || fsync(descriptor) != 0) status = io_failure("sync", folder);
    if (descriptor >= 0) close(descriptor);
    free(folder);
    return status;
}

static lh_status sync_and_close(lh_atomic_file *file) {
    if (refused() || fflush(file->stream) != 0) return io_failure("write", file->partial);
    if (refused() || fsync(fileno(file->stream)) != 0) return io_failure("sync", file->partial);
    const int closed = fclose(file->stream);
    file->stream = NULL;
    return closed == 0 ? LH_OK : io_failure("close", file->partial);
}

lh_status lh_atomic_file_commit(lh_atomic_file *file) {
    lh_status status = sync_and_close(file);
    if (status == LH_OK && (refused() || rename(file->partial, file->path) != 0))
        status = io_failure("rename", file->partial);
    if (status != LH_OK) {
        lh_atomic_file_abandon(file);
        return status;
    }
    status = sync_folder(file->path);
    free_file(file);
    return status;
}

void lh_atomic_file_abandon(lh_atomic_file *file) {
    if (file == NULL) return;
    unlink(file->partial);
    free_file(file);
}

/* Reads `size` bytes of an open file into a fresh block. */
static lh_status read_block(FILE *stream, const char *path, size_t size, void **data) {
    char *block = lh_allocate(size + 1);
    if (block == NULL) return LH_EMEMORY;
    if (refused() || fread(block, 1, size, stream) != size) {
        free(block);
        return io_failure("read", path);
    }
    block[size] = '\0';
    *data = block;
    return LH_OK;
}

lh_status lh_file_read_all(const char *path, void **data, size_t *bytes) {
    *data = NULL;
    FILE *stream = refused() ? NULL : fopen(path, "rb");
    if (stream == NULL) return io_failure("read", path);
    struct stat about;
    lh_status status = LH_OK;
    if (fstat(fileno(stream), &about) != 0)
        status = io_failure("read", path);
    else if (!S_ISREG(about.st_mode))
        status = lh_fail(LH_EIO, "%s: not a plain file", path);
    else
        status = read_block(stream, path, (size_t)about.st_size, data);
    if (status == LH_OK) *bytes = (size_t)about.st_size;
    fclose(stream);
    return status;
}
