/* Time series from CSV files. */
#ifndef LH_DATASETS_SERIES_CSV_H
#define LH_DATASETS_SERIES_CSV_H

#include "datasets/series/series_table.h"

/* Reads a CSV file: a header, whose first name is that of the dates, then rows at equal steps of
 * time. Line ends of any system, a byte order mark, blank lines and a missing last line end are
 * taken as they are; dates in one of the two styles of lh_date_parse, the same throughout.
 * Everything else is LH_EFORMAT with file, line and column: another number of fields, a cell that
 * is no finite number, a date that is none or of the other style, a gap or a step back in time, a
 * channel without or with another's name. With `columns` (NULL-terminated) the channels must be
 * these, in any order; the table has them in the file's. */
lh_status lh_series_read_csv(const char *path, const char *const *columns, lh_series_table *table);

#endif
