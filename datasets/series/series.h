/* Multivariate time series: rows at equal steps of time, a number per channel. */
#ifndef LH_DATASETS_SERIES_H
#define LH_DATASETS_SERIES_H

#include "datasets/series/calendar.h"
#include "harness/engine/options.h"
#include "harness/engine/split.h"

typedef struct lh_series lh_series;

typedef enum lh_series_borders {
    LH_BORDERS_INFORMER, /* as its code has it: months for ETT, shares for the others */
    LH_BORDERS_MONTHS,   /* of 30 days */
    LH_BORDERS_CALENDAR, /* months by the calendar */
    LH_BORDERS_SHARES    /* 70, 10, 20 % */
} lh_series_borders;

typedef enum lh_series_frequency { LH_HOURLY, LH_BY_MINUTES } lh_series_frequency;

/* What lh_series_open opens; bound to the options of the same names. */
typedef struct lh_series_config {
    const char *name; /* "ETTh1", "ETTh2", "ETTm1", "Weather", "generate:seasonal", or a file with a
                         slash in its path */
    lh_series_borders borders;                /* which rows the splits have */
    lh_series_frequency freq;                 /* time features */
    int64_t series_rows, channels, data_seed; /* of the generator */
} lh_series_config;

extern const lh_option lh_series_config_options[];

/* Looks for series/<file>.csv, <name>/<file>.csv and <file>.csv, with or without ".gz", in the data
 * folders, and then so for <name>.csv, which has to have the columns of a known one, too. A known
 * name that is not there is made by the embedded generator in its shape, and lh_series_source says
 * so. Gives; destroy it. Fails: LH_EIO naming where it looked; LH_EFORMAT naming file, line and
 * column. */
lh_status lh_series_open(const lh_series_config *config, lh_series **out);
void lh_series_destroy(lh_series *series);

int64_t lh_series_channels(const lh_series *series);
int64_t lh_series_times(const lh_series *series); /* time features */

/* Standardised values [channels] and time features [times] of a row. Mean and (population)
 * deviation are those of the training rows; a channel that is constant there keeps deviation 1.
 * Lend. */
const real *lh_series_values(const lh_series *series, int64_t row);
const real *lh_series_features(const lh_series *series, int64_t row);

/* Rows begin <= i < end that a split predicts; its windows reach back before `begin` for what they
 * have observed (but not before row 0). */
typedef struct lh_series_range {
    int64_t begin, end;
} lh_series_range;
lh_series_range lh_series_split(const lh_series *series, lh_split split);

/* "ETTh1 (17420 rows in the data folder)" or "ETTh1 (embedded generator)"; "load (20 rows with 3
 * values carried forward in load/load.csv)" where load.csv.carried, which an import leaves, says
 * so. */
const char *lh_series_source(const lh_series *series);
/* Which rows the splits of a file have and, where it is called as a public data set is, that this
 * one's name splits it as is published; NULL of the generator. Gives *out (free()). */
lh_status lh_series_remark(const lh_series *series, char **out);
/* Of all values and their times. */
uint64_t lh_series_digest(const lh_series *series);

#endif
