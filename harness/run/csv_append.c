/* The row is written with another first byte and synced; the first byte of its own makes it count.
 */
#include "harness/run/csv_append.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/engine/file.h"
#include "harness/run/csv_table.h"

static bool is_appendable(int file, size_t size) {
    struct stat about;
    return fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_nlink == 1 &&
           (size_t)about.st_size == size;
}

/* Writes at a place and waits until it is on the disk. */
static lh_status put(int file, const char *path, const char *text, size_t bytes, size_t at) {
    while (bytes > 0) {
        const ssize_t written = lh_io_refused() ? -1 : pwrite(file, text, bytes, (off_t)at);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return lh_io_failure("write", path);
        text += written;
        bytes -= (size_t)written;
        at += (size_t)written;
    }
    if (lh_io_refused() || fdatasync(file) != 0) return lh_io_failure("sync", path);
    return LH_OK;
}

static lh_status append(int file, const char *path, size_t size, const char *row) {
    static const char unfinished = LH_CSV_UNFINISHED;
    const size_t bytes = strlen(row);
    /* the mark is there before anything that stands behind it */
    LH_TRY(put(file, path, &unfinished, 1, size));
    LH_TRY(put(file, path, row + 1, bytes - 1, size + 1));
    return put(file, path, row, 1, size);
}

lh_status lh_csv_append(const char *path, size_t size, const char *row, bool *done) {
    *done = false;
    const int file = lh_io_refused() ? -1 : open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return errno == 0 ? lh_io_failure("write", path) : LH_OK;
    lh_status status = LH_OK;
    if (is_appendable(file, size)) {
        status = append(file, path, size, row);
        *done = status == LH_OK;
    }
    (void)close(file);
    return status;
}
