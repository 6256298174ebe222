/* The partial file beside its place, its lock, its renaming; and what others left behind. */
#include "harness/engine/atomic_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness/engine/file.h"
#include "harness/engine/text.h"

enum { MOST_LINKS = 40, MOST_TRIES = 100, MARK_BYTES = 48 };

struct lh_atomic_file {
    FILE *stream;
    char *path, *partial; /* a symbolic link's target, and the file beside it */
};

static void free_file(lh_atomic_file *file) {
    if (file->stream != NULL) fclose(file->stream);
    free(file->path);
    free(file->partial);
    free(file);
}

/* ---- names ---- */

/* Replaces *path by `link`, which begins in its folder. */
static lh_status follow(char **path, const char *link) {
    const char *slash = strrchr(*path, '/');
    const int folder = link[0] == '/' || slash == NULL ? 0 : (int)(slash - *path) + 1;
    char *target = lh_format("%.*s%s", folder, *path, link);
    if (target == NULL) return LH_EMEMORY;
    free(*path);
    *path = target;
    return LH_OK;
}

/* Where a write to `path` ends up: through symbolic links, which stay, to a file that need not be
 * there. Gives *resolved, also after a failure. */
static lh_status resolve(const char *path, char **resolved) {
    *resolved = lh_duplicate_text(path);
    if (*resolved == NULL) return LH_EMEMORY;
    for (int i = 0; i < MOST_LINKS; ++i) {
        char *link = NULL;
        LH_TRY(lh_link_read(*resolved, &link));
        if (link == NULL) return LH_OK;
        const lh_status status = follow(resolved, link);
        free(link);
        LH_TRY(status);
    }
    return lh_fail(LH_EIO, "%s: symbolic links without end", path);
}

static const char ending[] = ".partial";

/* When this process first came here: numbers of processes come again, in a container at each start.
 */
static unsigned process_begun(void) {
    static atomic_uint begun;
    struct timespec now = {0};
    unsigned none = 0;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    const uint64_t nanoseconds = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    (void)atomic_compare_exchange_strong(&begun, &none, (unsigned)nanoseconds | 1u);
    return atomic_load(&begun);
}

/* How the names of this process go on behind a path: "12-34-". */
static void write_mark(char mark[MARK_BYTES]) {
    (void)snprintf(mark, MARK_BYTES, "%ld-%u-", (long)getpid(), process_begun());
}

/* A name that no other process and no other file of this one has. */
static char *partial_name(const char *path) {
    static atomic_uint counter;
    char mark[MARK_BYTES];
    write_mark(mark);
    return lh_format("%s.%s%u%s", path, mark, atomic_fetch_add(&counter, 1), ending);
}

/* What partial_name put behind the path, "12-34-5.partial"; NULL for any other name. Names had two
 * numbers before. */
static const char *partial_part(const char *name) {
    const size_t length = strlen(name), rest = sizeof ending - 1;
    if (length <= rest || strcmp(name + length - rest, ending) != 0) return NULL;
    int numbers = 0;
    for (const char *at = name + length - rest; numbers < 3; --at) {
        const char *stop = at;
        while (at > name && at[-1] >= '0' && at[-1] <= '9')
            --at;
        if (at == stop || at == name) return NULL;
        numbers += 1;
        if (at[-1] == '.') return numbers > 1 ? at : NULL;
        if (at[-1] != '-') return NULL;
    }
    return NULL;
}

/* Whether another process, or one that had this one's number before, made the name. */
static bool is_of_another(const char *name) {
    char mark[MARK_BYTES];
    const char *part = partial_part(name);
    write_mark(mark);
    return part != NULL && strncmp(part, mark, strlen(mark)) != 0;
}

/* ---- files that were left behind ---- */

/* Whoever writes a partial file holds a lock on it, which ends with the process, on this machine or
 * another. */
static bool lock_whole(int descriptor) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(descriptor, F_SETLK, &whole) == 0;
}

/* Whether a new file is ours: nobody has taken it for one that was left, or is about to. Where
 * there are no locks nobody sweeps. */
static bool is_ours(int descriptor) {
    struct stat about;
    if (!lock_whole(descriptor) && (errno == EAGAIN || errno == EACCES)) return false;
    return fstat(descriptor, &about) == 0 && about.st_nlink > 0;
}

static void remove_if_left(int folder, const char *name) {
    struct stat about;
    const int descriptor = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) return;
    if (fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) && lock_whole(descriptor))
        (void)unlinkat(folder, name, 0);
    (void)close(descriptor);
}

void lh_atomic_file_sweep(const char *folder) {
    DIR *entries = opendir(folder);
    if (entries == NULL) return;
    const struct dirent *entry = NULL;
    while ((entry = readdir(entries)) != NULL)
        if (is_of_another(entry->d_name)) remove_if_left(dirfd(entries), entry->d_name);
    (void)closedir(entries);
}

/* The folder of a path: "." for a bare name. Gives. */
static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = lh_duplicate_text(slash != NULL ? path : ".");
    if (folder != NULL && slash != NULL) folder[slash == path ? 1 : slash - path] = '\0';
    return folder;
}

/* Sweeps the folder of `path` when this thread first writes there. */
static lh_status sweep_once(const char *path) {
    enum { REMEMBERED = 8 };
    static _Thread_local struct {
        dev_t device;
        ino_t inode;
    } swept[REMEMBERED];
    static _Thread_local unsigned next;
    struct stat about;
    char *folder = folder_of(path);
    if (folder == NULL) return LH_EMEMORY;
    bool known = stat(folder, &about) != 0;
    for (int i = 0; !known && i < REMEMBERED; ++i)
        known = swept[i].inode == about.st_ino && swept[i].device == about.st_dev;
    if (!known) {
        swept[next % REMEMBERED].device = about.st_dev;
        swept[next++ % REMEMBERED].inode = about.st_ino;
        lh_atomic_file_sweep(folder);
    }
    free(folder);
    return LH_OK;
}

/* ---- writing ---- */

/* Group, owner where that is allowed, and mode of the file that is replaced. A group that cannot be
 * kept leaves its rights to nobody. */
static void keep_mode(int descriptor, const struct stat *replaced) {
    mode_t mode = replaced->st_mode & 07777;
    if (fchown(descriptor, replaced->st_uid, replaced->st_gid) != 0 &&
        fchown(descriptor, (uid_t)-1, replaced->st_gid) != 0)
        mode = (mode & ~(mode_t)070) | (mode & 07) << 3;
    (void)fchmod(descriptor, mode);
}

/* A new file, locked; again under another name where someone took it for one that was left. */
static int create_partial(lh_atomic_file *file) {
    for (int i = 0; i < MOST_TRIES; ++i) {
        free(file->partial);
        file->partial = partial_name(file->path);
        if (file->partial == NULL || lh_io_refused()) return -1;
        const int descriptor = open(file->partial, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
        if (descriptor < 0 && errno != EEXIST) return -1;
        if (descriptor < 0) continue;
        if (is_ours(descriptor)) return descriptor;
        (void)close(descriptor);
    }
    return -1;
}

static lh_status open_partial(lh_atomic_file *file, const struct stat *replaced) {
    LH_TRY(sweep_once(file->path));
    const int descriptor = create_partial(file);
    if (file->partial == NULL) return LH_EMEMORY;
    if (descriptor < 0) return lh_io_failure("write", file->path);
    if (replaced != NULL) keep_mode(descriptor, replaced);
    file->stream = fdopen(descriptor, "wb");
    if (file->stream != NULL) return LH_OK;
    (void)close(descriptor);
    (void)unlink(file->partial);
    return lh_io_failure("write", file->path);
}

lh_status lh_atomic_file_open(const char *path, lh_atomic_file **out) {
    *out = NULL;
    struct stat there;
    const bool replaces = stat(path, &there) == 0;
    if (replaces && !S_ISREG(there.st_mode))
        return lh_fail(LH_EIO, "%s: not a plain file, so it is not replaced", path);
    lh_atomic_file *file = lh_allocate_zeroed(1, sizeof *file);
    if (file == NULL) return LH_EMEMORY;
    lh_status status = resolve(path, &file->path);
    if (status == LH_OK) status = open_partial(file, replaces ? &there : NULL);
    if (status != LH_OK) {
        free_file(file);
        return status;
    }
    *out = file;
    return LH_OK;
}

const char *lh_atomic_file_name(const lh_atomic_file *file) {
    return file->partial;
}

lh_status lh_atomic_file_write(lh_atomic_file *file, const void *data, size_t bytes) {
    if (bytes == 0) return LH_OK;
    if (lh_io_refused() || fwrite(data, 1, bytes, file->stream) != bytes)
        return lh_io_failure("write", file->path);
    return LH_OK;
}

lh_status lh_atomic_file_flush(lh_atomic_file *file) {
    if (lh_io_refused() || fflush(file->stream) != 0) return lh_io_failure("write", file->path);
    return LH_OK;
}

/* Makes a rename in the folder of `path` durable. */
static lh_status sync_folder(const char *path) {
    char *folder = folder_of(path);
    if (folder == NULL) return LH_EMEMORY;
    const int descriptor = lh_io_refused() ? -1 : open(folder, O_RDONLY | O_DIRECTORY);
    lh_status status = LH_OK;
    if (descriptor < 0 || lh_io_refused() || fsync(descriptor) != 0)
        status = lh_io_failure("sync", folder);
    if (descriptor >= 0) close(descriptor);
    free(folder);
    return status;
}

static lh_status sync_contents(lh_atomic_file *file) {
    LH_TRY(lh_atomic_file_flush(file));
    if (lh_io_refused() || fsync(fileno(file->stream)) != 0)
        return lh_io_failure("sync", file->path);
    return LH_OK;
}

/* The file is closed after its renaming: until then the lock keeps it from being swept away. */
lh_status lh_atomic_file_commit(lh_atomic_file *file) {
    lh_status status = sync_contents(file);
    if (status == LH_OK && (lh_io_refused() || rename(file->partial, file->path) != 0))
        status = lh_io_failure("rename", file->partial);
    if (status != LH_OK) {
        lh_atomic_file_abandon(file);
        return status;
    }
    const int closed = fclose(file->stream);
    file->stream = NULL;
    status = closed == 0 ? sync_folder(file->path) : lh_io_failure("close", file->path);
    free_file(file);
    return status;
}

lh_status lh_atomic_file_put(const char *path, const void *data, size_t bytes) {
    lh_atomic_file *file = NULL;
    LH_TRY(lh_atomic_file_open(path, &file));
    const lh_status status = lh_atomic_file_write(file, data, bytes);
    if (status == LH_OK) return lh_atomic_file_commit(file);
    lh_atomic_file_abandon(file);
    return status;
}

void lh_atomic_file_abandon(lh_atomic_file *file) {
    if (file == NULL) return;
    unlink(file->partial);
    free_file(file);
}
