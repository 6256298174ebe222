/* CSV files as tables of texts. A file as this program writes it is cut where its separators stand,
 * so that a hundred thousand rows of a hundred columns take a fraction of a second. What that scan
 * does not know (other line ends, blanks around a field, a quote out of place) goes through libcsv,
 * which says where a file is wrong. */
#ifndef LH_RUN_CSV_TABLE_H
#define LH_RUN_CSV_TABLE_H

#include <sys/stat.h>

#include "harness/engine/error.h"

/* The first byte of a row that is being appended (the control character CANCEL), until all of it is
 * in the file: such a row and what stands behind it are not read. */
enum { LH_CSV_UNFINISHED = 0x18 };

/* Row after row, the header first, each of `columns` fields. */
typedef struct lh_csv_table {
    char *text; /* all fields without their quotes, a NUL byte behind each */
    size_t *start;
    int64_t fields, capacity; /* of `start`: where in the text a field begins */
    int64_t columns, rows;
    size_t end;        /* where in the file the last row ends; 0 where only libcsv could read it */
    bool unfinished;   /* one more stands behind it */
    int cut;           /* the line of a cut last row, which is left out; or 0 */
    bool open;         /* the last row that is there has no line end */
    struct stat about; /* the file; of size 0 where it was changed while it was read */
} lh_csv_table;

/* Reads a file; one without a line has no row. Gives; free it. Fails: LH_EIO; LH_EFORMAT with line
 * and column: a NUL byte, a quote out of place, a row with more or fewer fields than the header
 * (but for a last one that has no line end: it was cut). */
lh_status lh_csv_table_read(const char *path, lh_csv_table *out);

/* The line of a file's text on which a row, counted from 0, begins: empty lines are no rows, and
 * fields in quotes may have several. */
int lh_csv_line_of(const char *text, size_t bytes, int64_t row);

/* The text of a field, counted from 0. Lends, until the table is freed. */
const char *lh_csv_table_field(const lh_csv_table *table, int64_t row, int64_t column);
void lh_csv_table_free(lh_csv_table *table);

#endif
