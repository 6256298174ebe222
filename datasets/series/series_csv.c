/* Time series from CSV files. Lines go to libcsv one by one, so that a message knows its line. */
#include "datasets/series/series_csv.h"

#include <csv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/series/calendar.h"
#include "datasets/unpack.h"

typedef struct reader {
    const char *path;
    const char *const *columns; /* what the header must name; NULL: whatever it does */
    lh_series_table *table;
    int64_t line, field; /* field: of the row under way, from 0 */
    bool has_header;
    char separator; /* another than a comma, in the first column's name; 0: none */
    lh_date_style style;
    int64_t moment; /* of the last row */
    lh_status status;
} reader;

/* ---- header ---- */

static bool is_known(const lh_series_table *table, const char *name) {
    for (int64_t i = 0; i < table->channels; ++i)
        if (strcmp(table->name[i], name) == 0) return true;
    return false;
}

static lh_status read_name(reader *r, const char *text) {
    const long long line = r->line, column = r->field + 1;
    int64_t moment;
    if (r->field == 0 && lh_date_parse(text, &moment) != LH_DATE_NONE)
        return lh_fail(LH_EFORMAT,
                       "%s: line %lld, column 1: the date '%.40s' where a header is to name the "
                       "columns",
                       r->path, line, text);
    if (r->field == 0) { /* dates, whatever they are called */
        const char *other = strpbrk(text, ";\t|");
        r->separator = other != NULL ? *other : '\0';
        return LH_OK;
    }
    if (text[0] == '\0')
        return lh_fail(LH_EFORMAT, "%s: line %lld, column %lld: a channel without a name", r->path,
                       line, column);
    if (is_known(r->table, text))
        return lh_fail(LH_EFORMAT, "%s: line %lld, column %lld: a second channel '%.40s'", r->path,
                       line, column, text);
    return lh_series_table_add_channel(r->table, text);
}

static bool is_wanted(const reader *r, const char *name) {
    for (int64_t i = 0; r->columns[i] != NULL; ++i)
        if (strcmp(r->columns[i], name) == 0) return true;
    return false;
}

static lh_status check_columns(const reader *r) {
    const lh_series_table *table = r->table;
    const long long line = r->line;
    for (int64_t i = 0; r->columns[i] != NULL; ++i) {
        if (!is_known(table, r->columns[i]))
            return lh_fail(LH_EFORMAT, "%s: line %lld: the column '%s' is missing", r->path, line,
                           r->columns[i]);
    }
    for (int64_t i = 0; i < table->channels; ++i) {
        if (!is_wanted(r, table->name[i]))
            return lh_fail(LH_EFORMAT, "%s: line %lld, column %lld: an unknown column '%.40s'",
                           r->path, line, (long long)(i + 2), table->name[i]);
    }
    return LH_OK;
}

/* ---- rows ---- */

static lh_status check_order(const reader *r, int64_t moment) {
    char before[LH_DATE_TEXT], now[LH_DATE_TEXT];
    const lh_series_table *table = r->table;
    const bool later = table->rows == 0 || moment > r->moment;
    if (later && (table->rows < 2 || moment == r->moment + table->step)) return LH_OK;
    lh_date_format(r->moment, before);
    lh_date_format(moment, now);
    if (!later)
        return lh_fail(LH_EFORMAT, "%s: line %lld, column 1: %s does not come after %s", r->path,
                       (long long)r->line, now, before);
    const bool months = table->step >= 28 * 86400;
    return lh_fail(
        LH_EFORMAT,
        "%s: line %lld, column 1: a gap: %s follows %s, but rows are %lld seconds apart%s", r->path,
        (long long)r->line, now, before, (long long)table->step,
        months ? r->style == LH_DATE_MONTH_FIRST
                     ? "; dates with slashes have the month first, and months are no equal steps"
                     : "; months and years are no equal steps"
               : "; write the rows in between, or make a file of what comes before or after");
}

static lh_status read_date(reader *r, const char *text) {
    int64_t moment = 0;
    const lh_date_style style = lh_date_parse(text, &moment);
    if (style == LH_DATE_NONE)
        return lh_fail(
            LH_EFORMAT,
            "%s: line %lld, column 1: '%.40s' is no date like 2016-07-01 00:00:00, "
            "2016-07-01T00:00, 2016-07-01 or 7/1/2016 0:00, with four digits of the year "
            "and without a zone but Z and parts of seconds; the first column is to have "
            "them",
            r->path, (long long)r->line, text);
    if (r->style != LH_DATE_NONE && style != r->style)
        return lh_fail(LH_EFORMAT,
                       "%s: line %lld, column 1: '%.40s' is written in another style than the "
                       "dates before it",
                       r->path, (long long)r->line, text);
    LH_TRY(check_order(r, moment));
    if (r->table->rows == 0) r->table->first = moment;
    if (r->table->rows == 1) r->table->step = moment - r->moment;
    r->style = style;
    r->moment = moment;
    return LH_OK;
}

#define LARGEST 1e30 /* whose square still is a double */

static const char instead[] =
    "; `longhaul data import --kind series` leaves columns out (--columns) and "
    "fills cells (--missing)";

static lh_status read_value(reader *r, const char *text) {
    lh_series_table *table = r->table;
    const char *name = table->name[r->field - 1];
    char *end = NULL;
    const double value = strtod(text, &end);
    const long long line = r->line, column = r->field + 1;
    if (*text == '\0')
        return lh_fail(LH_EFORMAT, "%s: line %lld, column %lld (%s): an empty cell%s", r->path,
                       line, column, name, instead);
    if (*end != '\0' || strpbrk(text, "xX") != NULL) /* strtod reads hexadecimal ones */
        return lh_fail(LH_EFORMAT, "%s: line %lld, column %lld (%s): '%.40s' is no number%s",
                       r->path, line, column, name, text, instead);
    if (isfinite(value) && fabs(value) > LARGEST)
        return lh_fail(LH_EFORMAT,
                       "%s: line %lld, column %lld (%s): '%.40s' is beyond %g: take another unit",
                       r->path, line, column, name, text, LARGEST);
    if (!isfinite(value))
        return lh_fail(LH_EFORMAT, "%s: line %lld, column %lld (%s): '%.40s' is not finite",
                       r->path, line, column, name, text);
    table->values[table->rows * table->channels + r->field - 1] = value;
    return LH_OK;
}

static lh_status read_cell(reader *r, const char *text, size_t length) {
    if (strlen(text) != length)
        return lh_fail(LH_EFORMAT,
                       "%s: line %lld, column %lld: a NUL byte; a file of UTF-16 is to be written "
                       "as UTF-8",
                       r->path, (long long)r->line, (long long)(r->field + 1));
    if (!r->has_header) return read_name(r, text);
    if (r->field > r->table->channels)
        return lh_fail(LH_EFORMAT, "%s: line %lld, column %lld: a field more than the header has",
                       r->path, (long long)r->line, (long long)(r->field + 1));
    if (r->field > 0) return read_value(r, text);
    LH_TRY(lh_series_table_reserve(r->table));
    return read_date(r, text);
}

static lh_status refuse_header(const reader *r) {
    const long long line = r->line;
    if (r->separator == '\0')
        return lh_fail(LH_EFORMAT,
                       "%s: line %lld: the header names no channel behind the first column, which "
                       "has the dates",
                       r->path, line);
    return lh_fail(LH_EFORMAT,
                   "%s: line %lld: the header names no channel: fields are separated by commas, "
                   "not by '%s'",
                   r->path, line, r->separator == '\t' ? "\\t" : (char[]){r->separator, '\0'});
}

/* `end` is -1 where the file ends without a line end. */
static lh_status end_row(reader *r, int end) {
    const int64_t fields = r->table->channels + 1;
    if (!r->has_header && r->table->channels == 0) return refuse_header(r);
    if (r->field < fields)
        return lh_fail(LH_EFORMAT, "%s: line %lld, column %lld (%s): %s after %lld of %lld fields",
                       r->path, (long long)r->line, (long long)(r->field + 1),
                       r->table->name[r->field - 1],
                       end == -1 ? "the file is cut off" : "the line ends", (long long)r->field,
                       (long long)fields);
    if (r->has_header) {
        r->table->rows += 1;
    } else if (r->columns != NULL) {
        LH_TRY(check_columns(r));
    }
    r->has_header = true;
    return LH_OK;
}

/* ---- libcsv ---- */

/* libcsv goes on after a failure; nothing more is taken then. */
static void on_field(void *text, size_t length, void *context) {
    reader *r = context;
    if (r->status == LH_OK) r->status = read_cell(r, text, length);
    r->field += 1;
}

static void on_row(int end, void *context) {
    reader *r = context;
    if (r->status == LH_OK) r->status = end_row(r, end);
    r->field = 0;
}

static lh_status refuse_quote(const reader *r, struct csv_parser *parser) {
    if (csv_error(parser) == CSV_ENOMEM) return lh_fail(LH_EMEMORY, "%s: out of memory", r->path);
    return lh_fail(LH_EFORMAT, "%s: line %lld, column %lld: a quote inside a field or never closed",
                   r->path, (long long)r->line, (long long)(r->field + 1));
}

/* Bytes of the first line, its end among them, which is "\n", "\r\n" or "\r". */
static size_t line_bytes(const char *text, size_t bytes) {
    size_t length = 0;
    while (length < bytes && text[length] != '\n' && text[length] != '\r')
        length += 1;
    if (length + 1 < bytes && text[length] == '\r' && text[length + 1] == '\n') length += 1;
    return length < bytes ? length + 1 : bytes;
}

static lh_status parse(reader *r, struct csv_parser *parser, const char *text, size_t bytes) {
    for (size_t begin = 0; begin < bytes;) {
        const size_t length = line_bytes(text + begin, bytes - begin);
        r->line += 1;
        if (csv_parse(parser, text + begin, length, on_field, on_row, r) != length)
            return refuse_quote(r, parser);
        LH_TRY(r->status);
        begin += length;
    }
    if (csv_fini(parser, on_field, on_row, r) != 0) return refuse_quote(r, parser);
    return r->status;
}

static lh_status read_text(reader *r, const char *text, size_t bytes) {
    static const char mark[] = "\xef\xbb\xbf";
    struct csv_parser parser;
    if (bytes >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0))
        return lh_fail(LH_EFORMAT, "%s: the file is UTF-16: write it as UTF-8", r->path);
    if (lh_fault() || csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0)
        return lh_fail(LH_EMEMORY, "%s: out of memory", r->path);
    const size_t skip = bytes >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
    const lh_status status = parse(r, &parser, text + skip, bytes - skip);
    csv_free(&parser);
    return status;
}

/* ---- the whole file ---- */

lh_status lh_series_read_csv(const char *path, const char *const *columns, lh_series_table *table) {
    lh_text text;
    reader r = {.path = path, .columns = columns, .table = table};
    LH_TRY(lh_file_unpack(path, &text));
    lh_status status = read_text(&r, text.data, text.bytes);
    free(text.data);
    LH_TRY(status);
    if (table->rows >= 2) return LH_OK;
    return lh_fail(LH_EFORMAT, "%s: %lld rows; a time series has two at least", path,
                   (long long)table->rows);
}
