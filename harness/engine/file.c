/* Reading goes through one door, which asks the fault injector and waits for nobody. */
#include "harness/engine/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/engine/text.h"

enum { FIRST_LINK = 256 };

bool lh_io_refused(void) {
    errno = 0;
    return lh_fault();
}

lh_status lh_io_failure(const char *what, const char *path) {
    const int cause = errno;
    return lh_fail(LH_EIO, "%s: cannot %s: %s", path, what, cause != 0 ? strerror(cause) : "fault");
}

/* ---- reading ---- */

/* Reads `size` bytes of an open file into a fresh block. */
static lh_status read_block(FILE *stream, const char *path, size_t size, void **data) {
    char *block = lh_allocate(size + 1);
    if (block == NULL) return LH_EMEMORY;
    if (lh_io_refused() || fread(block, 1, size, stream) != size) {
        free(block);
        return lh_io_failure("read", path);
    }
    block[size] = '\0';
    *data = block;
    return LH_OK;
}

/* Opened without waiting: a FIFO that nobody writes to would never open. */
FILE *lh_file_open(const char *path) {
    struct stat about;
    const int descriptor = lh_io_refused() ? -1 : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) {
        (void)lh_io_failure("read", path);
        return NULL;
    }
    FILE *stream = NULL;
    if (fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode)) {
        (void)lh_fail(LH_EIO, "%s: not a plain file", path);
    } else {
        stream = fdopen(descriptor, "rb");
        if (stream == NULL) (void)lh_io_failure("read", path);
    }
    if (stream == NULL) (void)close(descriptor);
    return stream;
}

lh_status lh_file_read_all(const char *path, void **data, size_t *bytes) {
    *data = NULL;
    FILE *stream = lh_file_open(path);
    if (stream == NULL) return LH_EIO;
    struct stat about;
    lh_status status = LH_OK;
    if (fstat(fileno(stream), &about) != 0)
        status = lh_io_failure("read", path);
    else
        status = read_block(stream, path, (size_t)about.st_size, data);
    if (status == LH_OK) *bytes = (size_t)about.st_size;
    fclose(stream);
    return status;
}

lh_status lh_file_map(const char *path, const void **data, size_t *bytes) {
    struct stat about;
    *data = NULL;
    *bytes = 0;
    FILE *stream = lh_file_open(path);
    if (stream == NULL) return LH_EIO;
    void *map = MAP_FAILED;
    const bool known = fstat(fileno(stream), &about) == 0;
    const bool empty = known && about.st_size == 0;
    if (known && !empty && !lh_io_refused())
        map = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fileno(stream), 0);
    const lh_status status = empty || map != MAP_FAILED ? LH_OK : lh_io_failure("read", path);
    fclose(stream);
    if (map == MAP_FAILED) return status;
    *data = map;
    *bytes = (size_t)about.st_size;
    return LH_OK;
}

void lh_file_unmap(const void *data, size_t bytes) {
    if (data != NULL) (void)munmap((void *)(uintptr_t)data, bytes);
}

/* ---- names ---- */

bool lh_file_exists(const char *path) {
    struct stat status;
    return stat(path, &status) == 0;
}

bool lh_is_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

lh_status lh_file_find(const char *folder, const char *const *names, char **path) {
    *path = NULL;
    for (int i = 0; names[i] != NULL; ++i) {
        *path = lh_format("%s/%s", folder, names[i]);
        if (*path == NULL) return LH_EMEMORY;
        if (lh_file_exists(*path)) return LH_OK;
        free(*path);
        *path = NULL;
    }
    return LH_OK;
}

lh_status lh_link_read(const char *path, char **target) {
    lh_text link = {0};
    ssize_t length = 0;
    *target = NULL;
    do { /* a link that fills its room may have been cut */
        const lh_status status = lh_text_reserve(&link, 2 * link.bytes + FIRST_LINK);
        if (status != LH_OK) {
            free(link.data);
            return status;
        }
        link.bytes = (size_t)link.capacity - 1;
        length = readlink(path, link.data, link.bytes);
    } while (length >= 0 && (size_t)length == link.bytes);
    if (length >= 0) link.data[length] = '\0';
    if (length < 0) free(link.data);
    *target = length >= 0 ? link.data : NULL;
    return LH_OK;
}

/* Makes the folders of a path that may be written to, the outer ones first. */
static lh_status make_parts(char *path) {
    for (char *at = path + 1;; ++at) {
        const char here = *at;
        if (here != '\0' && here != '/') continue;
        *at = '\0';
        const int cause = mkdir(path, 0777) != 0 ? errno : 0;
        if (cause == EEXIST && !lh_is_folder(path))
            return lh_fail(LH_EIO, "%s: a file is where a folder should be", path);
        if (cause != 0 && cause != EEXIST)
            return lh_fail(LH_EIO, "%s: cannot be made: %s", path, strerror(cause));
        if (here == '\0') return LH_OK;
        *at = here;
    }
}

lh_status lh_make_folder(const char *path) {
    if (path[0] == '\0') return lh_fail(LH_EIO, "a folder without a name cannot be made");
    char *parts = lh_duplicate_text(path);
    if (parts == NULL) return LH_EMEMORY;
    const lh_status status = make_parts(parts);
    free(parts);
    return status;
}

bool lh_name_ends(const char *name, const char *ending) {
    const size_t length = strlen(name), wanted = strlen(ending);
    return length >= wanted && strcmp(name + length - wanted, ending) == 0;
}
