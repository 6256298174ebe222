/* Files and folders: reading whole files, and what a path leads to. */
#ifndef LH_ENGINE_FILE_H
#define LH_ENGINE_FILE_H

#include <stdio.h>

#include "harness/engine/error.h"

/* Asks the fault injector (lh_fault) before a call of the system that sets errno, which it clears.
 */
bool lh_io_refused(void);

/* Fails with LH_EIO: "<path>: cannot <what>: <why>", why being what errno stands for. */
lh_status lh_io_failure(const char *what, const char *path);

/* Opens a plain file for reading, never waiting: NULL with LH_EIO for what is not there, or is a
 * folder, a device or a pipe. The caller closes it. */
FILE *lh_file_open(const char *path);

/* Reads a whole file. Gives *data (free()), with a NUL byte after its end. Fails: LH_EIO. */
lh_status lh_file_read_all(const char *path, void **data, size_t *bytes);

/* Maps a whole plain file for reading. Gives *data, NULL where it is empty; lh_file_unmap it. Who
 * replaces such a file renames another to its place: one that is cut short ends who reads the map.
 * Fails: LH_EIO. */
lh_status lh_file_map(const char *path, const void **data, size_t *bytes);
void lh_file_unmap(const void *data, size_t bytes); /* NULL is allowed */

/* Whether anything is at `path`, and whether it is a folder. */
bool lh_file_exists(const char *path);
bool lh_is_folder(const char *path);

/* The path of the first of `names` (NULL-terminated) that is in `folder`; NULL when none is. Gives
 * *path (free()). Fails: LH_EMEMORY. */
lh_status lh_file_find(const char *folder, const char *const *names, char **path);

/* What the symbolic link `path` stands for. Gives *target (free()), NULL where it is no link. */
lh_status lh_link_read(const char *path, char **target);

/* Makes a folder with its parents; those that are there stay. Fails: LH_EIO. */
lh_status lh_make_folder(const char *path);

/* Whether a file's name ends like this. */
bool lh_name_ends(const char *name, const char *ending);

#endif
