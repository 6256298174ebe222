/* A column of a CSV file as codes: its different texts, and which of them each row has. An index
 * keeps columns so (csv_index.h); where there is none, a column is made of the table. */
#ifndef LH_RUN_CSV_COLUMN_H
#define LH_RUN_CSV_COLUMN_H

#include "harness/engine/hash.h"
#include "harness/run/csv_table.h"

/* `different` texts in the order in which rows first have them, each with a NUL byte behind it;
 * which of them a row has, counted from 0; `code` may be NULL where there is one. Lent. */
typedef struct lh_csv_column {
    const char *name, *texts;
    int64_t different;
    const uint32_t *code;
} lh_csv_column;

/* A column whose rows come one after the other. Starts zeroed; lh_csv_coder_free releases it. */
typedef struct lh_csv_coder {
    char *texts;   /* the name, then the different texts */
    size_t *start; /* where one begins; the first is the name */
    uint32_t *code;
    int64_t used, room, known, starts; /* bytes of `texts`; texts, with the name */
    lh_hash codes;
} lh_csv_coder;

/* Takes the name of a column and makes room for its rows, of which the table has one at least.
 * Fails: LH_EMEMORY, as the next two. */
lh_status lh_csv_coder_begin(lh_csv_coder *coder, const lh_csv_table *table, int64_t column);

/* The text of a row; the header is no row here. */
lh_status lh_csv_coder_add(lh_csv_coder *coder, int64_t row, const char *text);

/* All of a column at once. */
lh_status lh_csv_coder_fill(lh_csv_coder *coder, const lh_csv_table *table, int64_t column);

/* What has come. Lends, until the coder is freed. */
lh_csv_column lh_csv_coder_column(const lh_csv_coder *coder);
void lh_csv_coder_free(lh_csv_coder *coder);

/* Parts rows that are in one part, of `parts`, and differ in their codes: part[i] becomes the
 * number of its new part, in the order in which rows first have them, and *parts how many there
 * are. Beginning with one part of zeros, column after column, rows are in one part in the end where
 * they agree in all columns. Fails: LH_EMEMORY. */
lh_status lh_csv_part(const uint32_t *code, int64_t rows, int32_t *part, int32_t *parts);

#endif
