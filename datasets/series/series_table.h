/* A time series as it was read or made, before its values are standardised. */
#ifndef LH_DATASETS_SERIES_TABLE_H
#define LH_DATASETS_SERIES_TABLE_H

#include "harness/engine/error.h"

/* Starts zeroed; lh_series_table_clear releases it. */
typedef struct lh_series_table {
    int64_t rows, channels;
    char **name;                     /* [channels] */
    double *values;                  /* [rows][channels] */
    int64_t first, step;             /* moment of row 0, seconds between rows */
    int64_t capacity, name_capacity; /* rows and names that there is room for */
} lh_series_table;

/* Frees names and values; the table is empty. */
void lh_series_table_clear(lh_series_table *table);
/* Adds a channel; only before the first row. */
lh_status lh_series_table_add_channel(lh_series_table *table, const char *name);
/* Makes room for one row more. */
lh_status lh_series_table_reserve(lh_series_table *table);

#endif
