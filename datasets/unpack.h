/* Whole files, compressed with gzip or not; for the datasets' own files. */
#ifndef LH_DATASETS_UNPACK_H
#define LH_DATASETS_UNPACK_H

#include "kernels/base.h"

/* Whether a file's name ends like this. */
bool lh_name_ends(const char *name, const char *ending);

/* Reads a file; one that ends in ".gz" through the program gzip. Gives *text (free()), which a NUL
 * follows. Fails: LH_EIO, LH_EFORMAT for a truncated or damaged gzip file. */
lh_status lh_file_unpack(const char *path, char **text, size_t *bytes);

#endif
