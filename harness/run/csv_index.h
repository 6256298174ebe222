/* The index of a large CSV file, <file>.index beside it: each column by its different texts, and
 * which of them a row has, so that a command reads the columns that it needs and not the file. It
 * is a cache: valid for the very file that it was made from (device, inode, size, times), made
 * again when it is not, and never needed. */
#ifndef LH_RUN_CSV_INDEX_H
#define LH_RUN_CSV_INDEX_H

#include "harness/run/csv_column.h"

/* Smaller files are read as soon as their index would be. */
enum { LH_CSV_INDEX_LEAST = 4 << 20 };

typedef struct lh_csv_index {
    char *data; /* the index file */
    size_t bytes;
    int64_t columns, rows; /* the header is no row here */
    size_t end;            /* where in the file the last row ends */
} lh_csv_index;

/* The index of the file at `path`; false where there is none that is valid, whatever the reason.
 * Gives; free it. */
bool lh_csv_index_read(const char *path, lh_csv_index *out);

/* A column, counted from 0. Lends, until the index is freed. */
lh_csv_column lh_csv_index_column(const lh_csv_index *index, int64_t column);
void lh_csv_index_free(lh_csv_index *index);

/* Makes the index of a file that was read; one that is small, was changed less than two seconds ago
 * (whose next change its times may not show) or has an unfinished row gets none. Fails: LH_EIO,
 * LH_EMEMORY; the caller need not care. */
lh_status lh_csv_index_write(const char *path, const lh_csv_table *table);

#endif
