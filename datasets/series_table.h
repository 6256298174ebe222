/* How the reader and the generator of time series hand over what they have; for the datasets' own
 * files. */
#ifndef LH_DATASETS_SERIES_TABLE_H
#define LH_DATASETS_SERIES_TABLE_H

#include "kernels/base.h"

/* Starts zeroed; lh_series_table_clear releases it. */
typedef struct lh_series_table {
    int64_t rows, channels, capacity; /* capacity: rows that there is room for */
    char **name;                      /* [channels] */
    double *values;                   /* [rows][channels] */
    int64_t first, step;              /* moment of row 0, seconds between rows */
} lh_series_table;

void lh_series_table_clear(lh_series_table *table);
/* Adds a channel; only before the first row. */
lh_status lh_series_table_add_channel(lh_series_table *table, const char *name);
/* Makes room for one row more. */
lh_status lh_series_table_reserve(lh_series_table *table);

/* Reads a CSV file: a header `date,<channel>,...`, then rows at equal steps of time. Windows line
 * ends, a byte order mark, blank lines and a missing last line end are taken as they are; dates in
 * one of the two styles of lh_date_parse, the same throughout. Everything else is LH_EFORMAT with
 * file, line and column: another number of fields, a cell that is no finite number, a date that is
 * none or of the other style, a gap or a step back in time, a channel without or with another's
 * name. With `columns` (NULL-terminated) the channels must be these, in any order; the table has
 * them in the file's. */
lh_status lh_series_read_csv(const char *path, const char *const *columns, lh_series_table *table);

/* Fills `rows` rows of channels that are there already with daily, weekly and yearly seasons of
 * drifting strength, correlated noise, and channels that follow others a day later. Deterministic
 * from `seed`; table->first and ->step are the caller's. */
lh_status lh_series_generate(uint64_t seed, int64_t rows, lh_series_table *table);

#endif
