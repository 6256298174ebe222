/* The scan over what this program writes, and libcsv's pass over anything else. */
#include "harness/run/csv_table.h"

#include <csv.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/engine/array.h"
#include "harness/engine/file.h"

/* ---- what both have in common ---- */

/* Reads a file to its end, which may move meanwhile: a row that counts by its first byte is there
 * whole, since that was written last. Gives *data, with a NUL byte behind it. */
static lh_status read_stream(FILE *stream, const char *path, size_t size, char **data,
                             size_t *bytes) {
    enum { MORE = 1 << 16 };
    size_t room = size + MORE, used = 0, got = 0;
    *data = lh_allocate(room);
    while (*data != NULL && (got = fread(*data + used, 1, room - used - 1, stream)) > 0) {
        used += got;
        if (room - used > 1) continue;
        char *longer = lh_reallocate(*data, room += room / 2);
        if (longer == NULL) return LH_EMEMORY;
        *data = longer;
    }
    if (*data == NULL) return LH_EMEMORY;
    if (ferror(stream)) return lh_io_failure("read", path);
    (*data)[used] = '\0';
    *bytes = used;
    return LH_OK;
}

static bool is_unchanged(const struct stat *a, const struct stat *b) {
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
           a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static lh_status read_file(const char *path, struct stat *about, char **data, size_t *bytes) {
    struct stat after;
    *data = NULL;
    FILE *stream = lh_file_open(path);
    if (stream == NULL) return LH_EIO;
    const bool known = fstat(fileno(stream), about) == 0;
    const lh_status status =
        read_stream(stream, path, known ? (size_t)about->st_size : 0, data, bytes);
    if (!known || fstat(fileno(stream), &after) != 0 || !is_unchanged(about, &after))
        about->st_size = 0;
    (void)fclose(stream);
    if (status == LH_OK) return LH_OK;
    free(*data);
    *data = NULL;
    return status;
}

static lh_status keep_field(lh_csv_table *t, const char *field) {
    if (t->fields == t->capacity)
        LH_TRY(lh_array_reserve(&t->start, &t->capacity, t->fields + 1, sizeof *t->start));
    t->start[t->fields++] = (size_t)(field - t->text);
    return LH_OK;
}

/* Bytes of a byte order mark at the beginning, which spreadsheets write. */
static size_t mark_bytes(const char *text, size_t bytes) {
    static const char mark[] = "\xEF\xBB\xBF";
    return bytes >= sizeof mark - 1 && memcmp(text, mark, sizeof mark - 1) == 0 ? sizeof mark - 1
                                                                                : 0;
}

const char *lh_csv_table_field(const lh_csv_table *table, int64_t row, int64_t column) {
    return table->text + table->start[row * table->columns + column];
}

void lh_csv_table_free(lh_csv_table *table) {
    free(table->text);
    free(table->start);
    *table = (lh_csv_table){0};
}

/* ---- the scan ---- */

/* Where a bare field ends: at a separator, or at a byte that is libcsv's business. */
static const bool ends_bare[256] = {
    ['\0'] = true, [','] = true, ['\n'] = true, ['\r'] = true, ['"'] = true};

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

/* Ends the field at `at` with a NUL byte; gives the place of the separator behind it, NULL where
 * libcsv must look at it. */
static char *cut_bare(char *at, char *separator) {
    char *end = at;
    while (!ends_bare[(unsigned char)*end])
        ++end;
    if (end > at && (is_blank(*at) || is_blank(end[-1]))) return NULL;
    *separator = *end;
    *end = '\0';
    return end;
}

/* The same behind a quote; two of them in a field stand for one. */
static char *cut_quoted(char *at, const char *last, char *separator) {
    char *to = at;
    for (;;) {
        char *quote = memchr(at, '"', (size_t)(last - at));
        if (quote == NULL || memchr(at, '\0', (size_t)(quote - at)) != NULL) return NULL;
        memmove(to, at, (size_t)(quote - at));
        to += quote - at;
        at = quote + 1;
        if (*at != '"') break;
        *to++ = *at++;
    }
    *separator = *at;
    *to = '\0';
    return at;
}

typedef struct scan {
    lh_csv_table *table;
    char *at;         /* what was not cut yet */
    const char *last; /* a NUL byte is there */
    bool plain;       /* libcsv need not look at it */
} scan;

static lh_status cut_row(scan *s) {
    lh_csv_table *t = s->table;
    const int64_t first = t->fields;
    char separator = ',';
    while (separator == ',') {
        const bool quoted = *s->at == '"';
        char *field = s->at + quoted;
        char *end = quoted ? cut_quoted(field, s->last, &separator) : cut_bare(field, &separator);
        s->plain = end != NULL;
        if (!s->plain) return LH_OK;
        LH_TRY(keep_field(t, field));
        s->at = end + 1;
    }
    if (first == 0) t->columns = t->fields;
    t->rows += 1;
    s->plain = separator == '\n' && t->fields - first == t->columns;
    return LH_OK;
}

/* All rows of the text, which it changes. */
static lh_status cut_rows(scan *s) {
    while (s->plain && s->at < s->last && *s->at != LH_CSV_UNFINISHED) {
        if (*s->at == '\n') s->plain = false; /* libcsv knows no empty rows */
        if (s->plain) LH_TRY(cut_row(s));
    }
    s->table->end = (size_t)(s->at - s->table->text);
    s->table->unfinished = s->at < s->last;
    return LH_OK;
}

/* ---- libcsv ---- */

/* Where in a text: lines and columns count from 1. */
typedef struct place {
    int line, column;
} place;

static place place_of(const char *text, size_t offset) {
    place p = {1, 1};
    for (size_t i = 0; i < offset; ++i) {
        p.column += 1;
        if (text[i] == '\n') p = (place){p.line + 1, 1};
    }
    return p;
}

int lh_csv_line_of(const char *text, size_t bytes, int64_t row) {
    bool quoted = false, begun = false;
    int line = 1;
    for (size_t i = 0; i < bytes; ++i) {
        const bool ends = !quoted && (text[i] == '\n' || text[i] == '\r');
        const bool begins = !begun && !ends && !is_blank(text[i]);
        begun = (begun || begins) && !ends;
        if (begins && row-- == 0) return line;
        quoted ^= text[i] == '"';
        line += text[i] == '\n';
    }
    return line;
}

/* Where an unfinished row begins; `bytes` where there is none. */
static size_t unfinished_at(const char *text, size_t bytes) {
    bool quoted = false, begins = true;
    for (size_t i = 0; i < bytes; ++i) {
        if (begins && !quoted && text[i] == LH_CSV_UNFINISHED) return i;
        quoted ^= text[i] == '"';
        begins = text[i] == '\n' || text[i] == '\r';
    }
    return bytes;
}

/* The table under construction; its text has room for all. */
typedef struct reader {
    lh_csv_table *table;
    size_t used;
    int64_t row_fields;
    int64_t wrong_row; /* the first with another number of fields, counted from 0; 0: none */
    int64_t wrong_fields;
    lh_status status;
} reader;

static void on_field(void *text, size_t length, void *context) {
    reader *r = context;
    if (r->status != LH_OK) return;
    char *field = r->table->text + r->used;
    memcpy(field, text, length);
    field[length] = '\0';
    r->used += length + 1;
    r->row_fields += 1;
    r->status = keep_field(r->table, field);
}

static void on_row(int end, void *context) {
    (void)end;
    reader *r = context;
    lh_csv_table *t = r->table;
    if (t->rows == 0) t->columns = r->row_fields;
    if (r->row_fields != t->columns && r->wrong_row == 0) {
        r->wrong_row = t->rows;
        r->wrong_fields = r->row_fields;
    }
    t->rows += 1;
    r->row_fields = 0;
}

/* What libcsv finds in the text goes to the reader. */
static lh_status parse(const char *path, const char *text, size_t bytes, reader *r) {
    struct csv_parser parser;
    const char *nul = memchr(text, '\0', bytes);
    if (nul != NULL) {
        const place p = place_of(text, (size_t)(nul - text));
        return lh_fail(LH_EFORMAT, "%s:%d:%d: a NUL byte", path, p.line, p.column);
    }
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0)
        return lh_fail(LH_EMEMORY, "%s: out of memory", path);
    const size_t begin = mark_bytes(text, bytes), rest = bytes - begin;
    const size_t read = csv_parse(&parser, text + begin, rest, on_field, on_row, r);
    const bool whole = read == rest && csv_fini(&parser, on_field, on_row, r) == 0;
    const bool is_short = csv_error(&parser) == CSV_ENOMEM;
    csv_free(&parser);
    if (whole) return r->status;
    if (is_short) return lh_fail(LH_EMEMORY, "%s: out of memory", path);
    const place stop = place_of(text, begin + read);
    return lh_fail(LH_EFORMAT, "%s:%d:%d: a quote %s", path, stop.line, stop.column,
                   read == rest ? "is never closed" : "stands inside a field");
}

/* A header of one field, of rows or not, that other separators part. */
static lh_status check_separator(const char *path, const lh_csv_table *t) {
    const char *other = t->columns == 1 ? strpbrk(lh_csv_table_field(t, 0, 0), ";\t") : NULL;
    if (other == NULL) return LH_OK;
    return lh_fail(LH_EFORMAT,
                   "%s: fields are parted by '%c', not by ',': save it as comma-separated values",
                   path, *other);
}

/* The rows of a text that has room in the table. */
static lh_status parse_rows(const char *path, const char *text, size_t bytes, lh_csv_table *t) {
    t->fields = t->rows = t->columns = 0;
    reader r = {.table = t};
    LH_TRY(parse(path, text, bytes, &r));
    if (t->rows > 0) LH_TRY(check_separator(path, t));
    if (r.wrong_row == 0) return LH_OK;
    return lh_fail(LH_EFORMAT, "%s:%d: %lld fields, but the header has %lld", path,
                   lh_csv_line_of(text, bytes, r.wrong_row), (long long)r.wrong_fields,
                   (long long)t->columns);
}

/* Where the last line begins if the file ends within it; else `bytes`. */
static size_t open_line_at(const char *text, size_t bytes) {
    size_t begin = bytes;
    while (begin > 0 && text[begin - 1] != '\n')
        --begin;
    return begin;
}

/* All rows but a last one that was cut; one that only lacks its line end is read. */
static lh_status parse_whole_rows(const char *path, const char *text, size_t bytes,
                                  lh_csv_table *t) {
    const lh_status before = lh_error_get()->status;
    const lh_status status = parse_rows(path, text, bytes, t);
    const size_t whole = status == LH_EFORMAT ? open_line_at(text, bytes) : bytes;
    t->open = status == LH_OK && open_line_at(text, bytes) < bytes;
    if (whole == bytes || whole == 0 || parse_rows(path, text, whole, t) != LH_OK) return status;
    lh_error_survive(before);
    t->cut = place_of(text, whole).line;
    return LH_OK;
}

static lh_status read_by_libcsv(const char *path, lh_csv_table *t) {
    char *data = NULL;
    size_t bytes = 0;
    LH_TRY(read_file(path, &t->about, &data, &bytes));
    t->text = lh_allocate(bytes + 1);
    const size_t finished = unfinished_at(data, bytes);
    t->unfinished = finished < bytes;
    const lh_status status =
        t->text != NULL ? parse_whole_rows(path, data, finished, t) : LH_EMEMORY;
    free(data);
    return status;
}

/* ---- both ---- */

static lh_status read_table(const char *path, lh_csv_table *t) {
    size_t bytes = 0;
    LH_TRY(read_file(path, &t->about, &t->text, &bytes));
    scan s = {.table = t, .last = t->text + bytes, .plain = true};
    s.at = t->text + mark_bytes(t->text, bytes);
    LH_TRY(cut_rows(&s));
    if (s.plain) return t->rows > 0 ? check_separator(path, t) : LH_OK;
    lh_csv_table_free(t);
    return read_by_libcsv(path, t);
}

lh_status lh_csv_table_read(const char *path, lh_csv_table *out) {
    *out = (lh_csv_table){0};
    const lh_status status = read_table(path, out);
    if (status != LH_OK) lh_csv_table_free(out);
    return status;
}
