/* A row behind the last one of a CSV file, without writing the others again. A kill at any moment
 * leaves the row whole, or unfinished in a way that readers know (csv_table.h). */
#ifndef LH_RUN_CSV_APPEND_H
#define LH_RUN_CSV_APPEND_H

#include "harness/engine/error.h"

/* Appends `row`, a line that ends with a line break, to the file, which must be `size` bytes long.
 * The caller holds the lock of all who write it. *done is false, and nothing was written, where
 * the file has to be written anew: it has another size or a second name, or may not be written to.
 * After a failure, of a full disk for one, an unfinished row may stand at the end, so that the next
 * call gives false. Fails: LH_EIO. */
lh_status lh_csv_append(const char *path, size_t size, const char *row, bool *done);

#endif
