/* Files that are there whole or not at all: written beside their place under a name of their own,
 * synced, then renamed. A kill at any moment leaves the old file, and at most a partial one that
 * the next process to write into the folder removes. Any number of processes may write one path:
 * the last one to commit stands. */
#ifndef LH_ENGINE_ATOMIC_FILE_H
#define LH_ENGINE_ATOMIC_FILE_H

#include "harness/engine/error.h"

typedef struct lh_atomic_file lh_atomic_file;

/* Opens `<path>.<process>-<when it began>-<number>.partial` for writing, with the mode and the
 * group of the file that is there; of a symbolic link the target is replaced. Gives; commit or
 * abandon it. Fails: LH_EIO, also where `path` is a folder or a device, which a rename would take
 * away. */
lh_status lh_atomic_file_open(const char *path, lh_atomic_file **out);
/* The name of the partial file, for another program to read or write. Lends until the file ends.
 * This process must not open it: closing it again gives back the lock that keeps others from
 * sweeping the file away, and so does replacing it. */
const char *lh_atomic_file_name(const lh_atomic_file *file);
lh_status lh_atomic_file_write(lh_atomic_file *file, const void *data, size_t bytes);
/* Lets another program read what was written so far. */
lh_status lh_atomic_file_flush(lh_atomic_file *file);

/* Syncs the file, renames it to its path, syncs the folder. Ends the file in any case; after a
 * failure the old contents of the path stand (the new ones, when only the folder's sync failed). */
lh_status lh_atomic_file_commit(lh_atomic_file *file);

/* All of these in one: `data` become the content of `path`. */
lh_status lh_atomic_file_put(const char *path, const void *data, size_t bytes);

/* Drops what was written. NULL is allowed. */
void lh_atomic_file_abandon(lh_atomic_file *file);

/* Removes the partial files in a folder that processes which have ended left behind. */
void lh_atomic_file_sweep(const char *folder);

#endif
