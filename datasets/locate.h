/* Where data lie, and what they are called in results. */
#ifndef LH_DATASETS_LOCATE_H
#define LH_DATASETS_LOCATE_H

#include "harness/engine/error.h"

/* Folders to look for data in, in order: $LONGHAUL_DATA, then the cache folder. Gives *count paths
 * (free() each). Fails: LH_EIO where LONGHAUL_DATA names no folder. */
enum { LH_DATA_FOLDERS = 2 };
lh_status lh_data_folders(char *path[LH_DATA_FOLDERS], int *count);

/* $XDG_CACHE_HOME/longhaul or ~/.cache/longhaul. Gives *path (free()), NULL when neither variable
 * is set. */
lh_status lh_cache_folder(char **path);

/* The first of <folder>/<name> over the data folders that exists. Gives *path (free()), NULL when
 * there is none, as of an empty name and of one that begins with a dot. Fails as lh_data_folders.
 */
lh_status lh_data_find(const char *name, char **path);

/* Fails with LH_EIO: there are no `what` ("data") called `name`, what was meant and what there is
 * (nearest_name.h), and where it was looked. `made` (NULL-terminated) are made without files, the
 * folders and files of JSON lines in the data folders are the others. `rest` goes on. */
lh_status lh_data_refuse(const char *what, const char *name, const char *const *made,
                         const char *rest);

/* Where `name` lies: what has a slash is a path itself, else it is looked for in the data folders.
 * Gives *path (free()), NULL where it lies nowhere and is one of `made`; fails as lh_data_refuse
 * where it is none. */
lh_status lh_data_resolve(const char *what, const char *name, const char *const *made,
                          const char *rest, char **path);

/* What the CSV column `data` says. "embedded generator (books)", or "books (33 documents in
 * books/)" where `what` is "33 documents" and `path` the file or folder that was read: it is shown
 * without the data folder or, elsewhere, without the folders above it, since results travel. Gives
 * *source (free()). */
lh_status lh_source_generated(char **source, const char *kind);
lh_status lh_source_found(char **source, const char *name, const char *what, const char *path);
/* Whether a source was made by lh_source_generated. */
bool lh_source_is_generated(const char *source);

#endif
