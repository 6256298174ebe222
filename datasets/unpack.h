/* Whole files, compressed with gzip or not; for the datasets' own files. */
#ifndef LH_DATASETS_UNPACK_H
#define LH_DATASETS_UNPACK_H

#include "harness/engine/text.h"

/* Reads a file; one that ends in ".gz" is unpacked, all its members. Gives text->data (free()),
 * which a NUL follows. Fails: LH_EIO; LH_EFORMAT for a truncated or damaged gzip file, and for one
 * that unpacks to more than 64 MiB and a hundred times its size. */
lh_status lh_file_unpack(const char *path, lh_text *text);

/* The same of a text, which has no NUL byte: else LH_EFORMAT, as lh_text_refuse says it. */
lh_status lh_text_unpack(const char *path, lh_text *text);
lh_status lh_text_refuse(const char *path);

#endif
