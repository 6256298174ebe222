/* Files that are there whole or not at all: written beside their place, synced, then renamed. A
 * kill at any moment leaves the old file, and at most a stale `<path>.partial` that the next write
 * replaces. */
#ifndef LH_ENGINE_ATOMIC_FILE_H
#define LH_ENGINE_ATOMIC_FILE_H

#include "harness/engine/error.h"

typedef struct lh_atomic_file lh_atomic_file;

/* Opens `<path>.partial` for writing. Gives; commit or abandon it. Fails: LH_EIO, also where `path`
 * is a folder or a device, which a rename would take away. */
lh_status lh_atomic_file_open(const char *path, lh_atomic_file **out);
lh_status lh_atomic_file_write(lh_atomic_file *file, const void *data, size_t bytes);

/* Syncs the file, renames it to its path, syncs the folder. Ends the file in any case; after a
 * failure the old contents of the path stand (the new ones, when only the folder's sync failed). */
lh_status lh_atomic_file_commit(lh_atomic_file *file);

/* Drops what was written. NULL is allowed. */
void lh_atomic_file_abandon(lh_atomic_file *file);

/* Reads a whole file. Gives *data (free()), with a NUL byte after its end. Fails: LH_EIO. */
lh_status lh_file_read_all(const char *path, void **data, size_t *bytes);

#endif
