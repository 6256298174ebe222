/* CSV files as arrays, large ones a field at a time; fields to be written, and rows appended. */
#include <csv.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/file.h"
#include "harness/lua/bind.h"
#include "harness/run/csv_append.h"
#include "harness/run/csv_index.h"

static const char source_type[] = "longhaul.csv";

/* A file that was read, or its index. */
typedef struct source {
    lh_csv_table table;
    lh_csv_index index;
    lh_csv_coder *made;    /* the table's columns, each empty until it is asked for */
    int64_t columns, rows; /* the header is no row here */
} source;

/* What Lua keeps of it: the numbers of columns by their names; by these numbers the different texts
 * of a column, and what numbers they are; the function that unquotes a text; by their numbers the
 * names of the columns that hold nothing but numbers; the file's path. */
enum { COLUMNS = 1, TEXTS, NUMBERS, UNQUOTE, NUMERIC, PATH };

static int source_close(lua_State *lua) {
    source *s = luaL_checkudata(lua, 1, source_type);
    for (int64_t c = 0; s->made != NULL && c < s->columns; ++c)
        lh_csv_coder_free(&s->made[c]);
    free(s->made);
    s->made = NULL;
    lh_csv_table_free(&s->table);
    lh_csv_index_free(&s->index);
    return 0;
}

static source *push_source(lua_State *lua) {
    source *s = lua_newuserdatauv(lua, sizeof *s, PATH);
    *s = (source){0};
    lh_lua_push_type(lua, source_type, NULL, source_close);
    lua_setmetatable(lua, -2);
    return s;
}

/* Pushes the table of a file; it lives as long as what refers to it. */
static const lh_csv_table *push_table(lua_State *lua, const char *path) {
    source *s = push_source(lua);
    lh_lua_check(lua, lh_csv_table_read(path, &s->table));
    return &s->table;
}

/* The same through its index, which is made where it can be. */
static source *push_indexed(lua_State *lua, const char *path) {
    source *s = push_source(lua);
    if (lh_csv_index_read(path, &s->index)) {
        s->columns = s->index.columns;
        s->rows = s->index.rows;
        return s;
    }
    lh_lua_check(lua, lh_csv_table_read(path, &s->table));
    const lh_status before = lh_error_get()->status;
    (void)lh_csv_index_write(path, &s->table);
    lh_error_survive(before);
    s->columns = s->table.columns;
    s->rows = s->table.rows > 0 ? s->table.rows - 1 : 0;
    s->made = lh_allocate_zeroed((size_t)s->columns + 1, sizeof *s->made);
    if (s->made == NULL) lh_lua_check(lua, LH_EMEMORY);
    return s;
}

/* read_csv(path) -> array of arrays of strings, as they stand in the file; the line of a last row
 * that was cut, or 0; whether the last one that is there has no line end. */
static int read_csv(lua_State *lua) {
    const lh_csv_table *t = push_table(lua, luaL_checkstring(lua, 1));
    lua_createtable(lua, (int)t->rows, 0);
    for (int64_t r = 0; r < t->rows; ++r) {
        lua_createtable(lua, (int)t->columns, 0);
        for (int64_t c = 0; c < t->columns; ++c) {
            lua_pushstring(lua, lh_csv_table_field(t, r, c));
            lua_rawseti(lua, -2, c + 1);
        }
        lua_rawseti(lua, -2, r + 1);
    }
    lua_pushinteger(lua, t->cut);
    lua_pushboolean(lua, t->open);
    return 3;
}

/* ---- large files, read a column at a time ---- */

/* At the program's end the collector may close a file before rows of it are asked for last. */
static lh_csv_column column_of(lua_State *lua, source *s, int64_t column) {
    if (s->index.data != NULL) return lh_csv_index_column(&s->index, column);
    if (s->made == NULL) (void)luaL_error(lua, "the rows' file is closed");
    lh_csv_coder *made = &s->made[column];
    if (made->known == 0) {
        const lh_status status = lh_csv_coder_fill(made, &s->table, column);
        if (status != LH_OK) lh_csv_coder_free(made);
        lh_lua_check(lua, status);
    }
    return lh_csv_coder_column(made);
}

static int64_t code_of(const lh_csv_column *column, int64_t row) {
    return column->code == NULL ? 0 : (int64_t)column->code[row];
}

/* The number of the column of the source at `from` whose name is at `name`; -1 where there is none.
 */
static int64_t number_of(lua_State *lua, int from, int name) {
    (void)lua_getiuservalue(lua, from, COLUMNS);
    lua_pushvalue(lua, name);
    const int64_t number = lua_rawget(lua, -2) == LUA_TNIL ? -1 : lua_tointeger(lua, -1);
    lua_pop(lua, 2);
    return number;
}

/* A cell of a spreadsheet that must not run has a quote before it, which quote.csv_read takes away.
 */
static bool is_quoted(const char *text) {
    return text[0] == '\'';
}

static void push_cell(lua_State *lua, int from, const char *text) {
    if (is_quoted(text)) {
        (void)lua_getiuservalue(lua, from, UNQUOTE);
        lua_pushstring(lua, text);
        lua_call(lua, 1, 1);
    } else {
        lua_pushstring(lua, text);
    }
}

/* Puts in place of the value at the top the number that it says, as tonumber does, or nil. */
static void make_number(lua_State *lua) {
    size_t length = 0;
    if (lua_type(lua, -1) == LUA_TNUMBER) return;
    const char *text = lua_type(lua, -1) == LUA_TSTRING ? lua_tolstring(lua, -1, &length) : "";
    if (lua_stringtonumber(lua, text) == 0) lua_pushnil(lua);
    lua_remove(lua, -2);
}

/* Pushes a text as `kind`, which is TEXTS or NUMBERS, has it. */
static void push_as(lua_State *lua, int from, int kind, const char *text) {
    if (kind == TEXTS || is_quoted(text)) {
        push_cell(lua, from, text);
        if (kind == NUMBERS) make_number(lua);
    } else if (lua_stringtonumber(lua, text) == 0) {
        lua_pushnil(lua);
    }
}

static const char *past_digits(const char *text) {
    while (*text >= '0' && *text <= '9')
        ++text;
    return text;
}

/* Whether a text is a number as csv.lua writes them: decimal, or infinite; nan is written as "". */
static bool is_number(const char *text) {
    if (strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0) return true;
    if (*text == '-' || *text == '+') ++text;
    const char *at = past_digits(text);
    ptrdiff_t digits = at - text;
    if (*at == '.') {
        const char *fraction = at + 1;
        at = past_digits(fraction);
        digits += at - fraction;
    }
    if (digits > 0 && (*at == 'e' || *at == 'E')) {
        const char *exponent = at[1] == '-' || at[1] == '+' ? at + 2 : at + 1;
        at = past_digits(exponent);
        digits = at - exponent;
    }
    return digits > 0 && *at == '\0';
}

/* Fails for a row of a file, by the line on which it begins. */
static lh_status refuse_row(const char *path, int64_t row, const char *name, const char *text) {
    void *data = NULL;
    size_t bytes = 0;
    LH_TRY(lh_file_read_all(path, &data, &bytes));
    const int line = lh_csv_line_of(data, bytes, row);
    free(data);
    return lh_fail(LH_EFORMAT, "%s:%d: column '%s': '%s' is no number", path, line, name, text);
}

/* Fails for the first row that has a text in the column whose name is at the top. Another process
 * may have changed the file meanwhile. */
static void refuse_text(lua_State *lua, int from, int64_t column, const char *text) {
    const char *name = lua_tostring(lua, -1);
    (void)lua_getiuservalue(lua, from, PATH);
    const char *path = lua_tostring(lua, -1);
    const lh_csv_table *t = push_table(lua, path);
    int64_t row = 1;
    while (row < t->rows &&
           (column >= t->columns || strcmp(lh_csv_table_field(t, row, column), text) != 0))
        ++row;
    lh_lua_check(lua, row < t->rows ? refuse_row(path, row, name, text)
                                    : lh_fail(LH_EIO, "%s: changed while it was read", path));
}

/* A column of numbers with a text that is none would pass for one without this number. */
static void check_numbers(lua_State *lua, int from, int64_t column, const lh_csv_column *c) {
    const char *text = c->texts;
    (void)lua_getiuservalue(lua, from, NUMERIC);
    const bool is_numeric = lua_rawgeti(lua, -1, column) != LUA_TNIL;
    for (int64_t i = 0; i < c->different && is_numeric; ++i) {
        const char *said = is_quoted(text) ? text + 1 : text;
        if (said[0] != '\0' && !is_number(said)) refuse_text(lua, from, column, text);
        text += strlen(text) + 1;
    }
    lua_pop(lua, 2);
}

/* Pushes what a column's codes, counted from 1, stand for. */
static void push_meanings(lua_State *lua, int from, int kind, int64_t column) {
    const lh_csv_column c = column_of(lua, lua_touserdata(lua, from), column);
    const char *text = c.texts;
    check_numbers(lua, from, column, &c);
    lua_createtable(lua, (int)c.different, 0);
    for (int64_t i = 1; i <= c.different; ++i) {
        push_as(lua, from, kind, text);
        lua_rawseti(lua, -2, i);
        text += strlen(text) + 1;
    }
}

/* The same, made when it is first asked for. */
static void push_kept(lua_State *lua, int from, int kind, int64_t column) {
    (void)lua_getiuservalue(lua, from, kind);
    if (lua_rawgeti(lua, -1, column) == LUA_TNIL) {
        lua_pop(lua, 1);
        push_meanings(lua, from, kind, column);
        lua_pushvalue(lua, -1);
        lua_rawseti(lua, -3, column);
    }
    lua_remove(lua, -2);
}

/* row.name: a row is its number, counted from 0, in a block of its own. */
static int row_index(lua_State *lua) {
    enum { FROM = 3 };
    const int64_t *row = lua_touserdata(lua, 1);
    lua_settop(lua, 2);
    lua_pushvalue(lua, lua_upvalueindex(1));
    const int64_t column = number_of(lua, FROM, 2);
    if (row == NULL || column < 0) return 0;
    const lh_csv_column c = column_of(lua, lua_touserdata(lua, FROM), column);
    push_kept(lua, FROM, TEXTS, column);
    lua_rawgeti(lua, -1, code_of(&c, *row) + 1);
    return 1;
}

/* Keeps which of the names in an array are in the set `is_numeric`. */
static void keep_numeric(lua_State *lua, int is_numeric, int from, int names) {
    lua_newtable(lua);
    for (int64_t c = 0; lua_rawgeti(lua, names, c + 1) != LUA_TNIL; ++c) {
        lua_pushvalue(lua, -1);
        if (lua_rawget(lua, is_numeric) == LUA_TNIL) {
            lua_pop(lua, 2);
            continue;
        }
        lua_pop(lua, 1);
        lua_rawseti(lua, -2, c);
    }
    lua_pop(lua, 1);
    lua_setiuservalue(lua, from, NUMERIC);
}

/* Keeps the value at `index` at a place of the source. */
static void keep(lua_State *lua, int from, int place, int index) {
    lua_pushvalue(lua, index);
    lua_setiuservalue(lua, from, place);
}

static const char *column_name(const source *s, int64_t column) {
    return s->index.data != NULL ? lh_csv_index_column(&s->index, column).name
                                 : lh_csv_table_field(&s->table, 0, column);
}

/* Pushes the names of the columns in an array; the source keeps their numbers. */
static void push_names(lua_State *lua, int from) {
    const source *s = lua_touserdata(lua, from);
    const int names = lua_gettop(lua) + 1, numbers = names + 1;
    lua_createtable(lua, (int)s->columns, 0);
    lua_createtable(lua, 0, (int)s->columns);
    for (int64_t c = 0; c < s->columns; ++c) {
        push_cell(lua, from, column_name(s, c));
        lua_pushvalue(lua, -1);
        lua_rawseti(lua, names, c + 1);
        lua_pushinteger(lua, c);
        lua_rawset(lua, numbers);
    }
    lua_setiuservalue(lua, from, COLUMNS);
}

/* Pushes an array of all rows of a source, which have one metatable. */
static void push_all_rows(lua_State *lua, int from, int64_t count) {
    const int type = lua_gettop(lua) + 1, rows = type + 1;
    lua_createtable(lua, 0, 2);
    lua_pushvalue(lua, from);
    lua_setfield(lua, type, "source");
    lua_pushvalue(lua, from);
    lua_pushcclosure(lua, row_index, 1);
    lua_setfield(lua, type, "__index");
    lua_createtable(lua, (int)count, 0);
    for (int64_t r = 0; r < count; ++r) {
        *(int64_t *)lua_newuserdatauv(lua, sizeof(int64_t), 0) = r;
        lua_pushvalue(lua, type);
        lua_setmetatable(lua, -2);
        lua_rawseti(lua, rows, r + 1);
    }
    lua_remove(lua, type);
}

/* csv_rows(path, unquote, is_numeric) -> array of rows, array of the columns' names, where in the
 * file a row can be appended (0: nowhere), whether an unfinished one is there, the line of one that
 * was cut (or 0). Rows are read only; what a column has is made when it is first asked for, so that
 * a hundred thousand rows of a hundred columns cost little. Then one of the names in the set
 * `is_numeric` (nil: none) fails where a text is neither a number nor empty. */
static int csv_rows(lua_State *lua) {
    enum { IS_NUMERIC = 3, FROM, NAMES };
    const char *path = luaL_checkstring(lua, 1);
    luaL_checktype(lua, 2, LUA_TFUNCTION);
    lua_settop(lua, IS_NUMERIC);
    if (lua_isnil(lua, IS_NUMERIC)) {
        lua_newtable(lua);
        lua_replace(lua, IS_NUMERIC);
    }
    luaL_checktype(lua, IS_NUMERIC, LUA_TTABLE);
    const source *s = push_indexed(lua, path);
    keep(lua, FROM, PATH, 1);
    keep(lua, FROM, UNQUOTE, 2);
    for (int kind = TEXTS; kind <= NUMBERS; ++kind) {
        lua_newtable(lua);
        lua_setiuservalue(lua, FROM, kind);
    }
    push_names(lua, FROM);
    keep_numeric(lua, IS_NUMERIC, FROM, NAMES);
    push_all_rows(lua, FROM, s->rows);
    lua_pushvalue(lua, NAMES);
    lua_pushinteger(lua, (lua_Integer)(s->index.data != NULL ? s->index.end : s->table.end));
    lua_pushboolean(lua, s->table.unfinished);
    lua_pushinteger(lua, s->table.cut);
    return 5;
}

/* ---- many rows at once ---- */

/* Rows in the array at index 1 that are all of one file. */
typedef struct file_rows {
    source *from; /* NULL: they are not, some may be tables */
    int64_t count;
    const int64_t **row; /* what the block of each has */
} file_rows;

/* The block of the row at the top, whose metatable is `type`; NULL where it is none. */
static const int64_t *to_row(lua_State *lua, const void *type) {
    const int64_t *row = lua_touserdata(lua, -1);
    if (row == NULL || lua_getmetatable(lua, -1) == 0) return NULL;
    if (lua_topointer(lua, -1) != type) row = NULL;
    lua_pop(lua, 1);
    return row;
}

/* Pushes the source, nil where there is none, and a block that the rows are in. */
static file_rows push_rows(lua_State *lua) {
    const int from = lua_gettop(lua) + 1, type = from + 2;
    file_rows rows = {.count = (int64_t)lua_rawlen(lua, 1)};
    lua_pushnil(lua);
    rows.row = lua_newuserdatauv(lua, (size_t)rows.count * sizeof(void *), 0);
    (void)lua_rawgeti(lua, 1, 1);
    if (!lua_isuserdata(lua, -1) || lua_getmetatable(lua, -1) == 0) lua_newtable(lua);
    lua_replace(lua, type);
    (void)lua_getfield(lua, type, "source");
    rows.from = luaL_testudata(lua, -1, source_type);
    lua_replace(lua, from);
    const void *wanted = lua_topointer(lua, type);
    for (int64_t i = 0; i < rows.count && rows.from != NULL; ++i) {
        (void)lua_rawgeti(lua, 1, i + 1);
        rows.row[i] = to_row(lua, wanted);
        if (rows.row[i] == NULL) rows.from = NULL;
        lua_pop(lua, 1);
    }
    lua_settop(lua, from + 1);
    return rows;
}

/* Pushes rows[place + 1][name]. */
static void push_field(lua_State *lua, int64_t place, int name) {
    (void)lua_rawgeti(lua, 1, place + 1);
    lua_pushvalue(lua, name);
    (void)lua_gettable(lua, -2);
    lua_remove(lua, -2);
}

/* Fills the array at `result` from a column of the file, if that has it. */
static void fill_of_file(lua_State *lua, const file_rows *rows, int from, int kind, int result) {
    enum { NAME = 2 };
    const int64_t number = number_of(lua, from, NAME);
    if (number < 0) return;
    const lh_csv_column column = column_of(lua, rows->from, number);
    push_kept(lua, from, kind, number);
    for (int64_t i = 0; i < rows->count; ++i) {
        lua_rawgeti(lua, -1, code_of(&column, *rows->row[i]) + 1);
        lua_rawseti(lua, result, i + 1);
    }
}

/* (rows, name) -> array of rows[i].name, as `kind` has it. */
static int fields_of(lua_State *lua, int kind) {
    enum { NAME = 2, FROM, ROWS, RESULT };
    luaL_checktype(lua, 1, LUA_TTABLE);
    luaL_checkany(lua, NAME);
    lua_settop(lua, NAME);
    const file_rows rows = push_rows(lua);
    lua_createtable(lua, (int)rows.count, 0);
    if (rows.from != NULL) {
        fill_of_file(lua, &rows, FROM, kind, RESULT);
    } else {
        for (int64_t i = 0; i < rows.count; ++i) {
            push_field(lua, i, NAME);
            if (kind == NUMBERS) make_number(lua);
            lua_rawseti(lua, RESULT, i + 1);
        }
    }
    lua_settop(lua, RESULT);
    return 1;
}

/* csv_texts(rows, name) -> array of rows[i].name. */
static int csv_texts(lua_State *lua) {
    return fields_of(lua, TEXTS);
}

/* csv_numbers(rows, name) -> array of tonumber(rows[i].name), nil where that is none. */
static int csv_numbers(lua_State *lua) {
    return fields_of(lua, NUMBERS);
}

/* Whether a text is read as another than it stands there, which may be that of another code. */
static bool has_quoted(const lh_csv_column *column) {
    const char *text = column->texts;
    for (int64_t i = 0; i < column->different; ++i) {
        if (is_quoted(text)) return true;
        text += strlen(text) + 1;
    }
    return false;
}

/* Codes of rows[i][name] by their values; 0 is nil. */
static void code_values(lua_State *lua, int64_t count, int name, uint32_t *code) {
    const int codes = lua_gettop(lua) + 1, value = codes + 1;
    uint32_t known = 0;
    lua_newtable(lua);
    for (int64_t i = 0; i < count; ++i) {
        push_field(lua, i, name);
        lua_pushvalue(lua, value);
        if (!lua_isnil(lua, value) && lua_rawget(lua, codes) == LUA_TNIL) {
            lua_pushvalue(lua, value);
            lua_pushinteger(lua, ++known);
            lua_rawset(lua, codes);
            lua_pushinteger(lua, known);
        }
        code[i] = (uint32_t)lua_tointeger(lua, -1);
        lua_settop(lua, codes);
    }
    lua_settop(lua, codes - 1);
}

/* The codes of rows in the column whose name is at `name`; false where all have the same. */
static bool fill_codes(lua_State *lua, const file_rows *rows, int from, int name, uint32_t *code) {
    const int64_t number = rows->from != NULL ? number_of(lua, from, name) : -1;
    if (rows->from != NULL && number < 0) return false;
    const lh_csv_column column =
        number < 0 ? (lh_csv_column){0} : column_of(lua, rows->from, number);
    if (column.different == 1) return false;
    if (number < 0 || has_quoted(&column)) {
        code_values(lua, rows->count, name, code);
    } else {
        for (int64_t i = 0; i < rows->count; ++i)
            code[i] = column.code[*rows->row[i]];
    }
    return true;
}

/* The rows in the array at index 1 in parts that agree in the columns named in the array at
 * index 2.
 */
typedef struct parts {
    int64_t rows;
    int32_t *part, count; /* the part of each, counted from 0 in the order of the rows */
} parts;

/* Pushes them. */
static parts push_parts(lua_State *lua) {
    enum { NAMES = 2, PART, FROM, ROWS, CODE, NAME };
    luaL_checktype(lua, 1, LUA_TTABLE);
    luaL_checktype(lua, NAMES, LUA_TTABLE);
    lua_settop(lua, NAMES);
    parts p = {.rows = (int64_t)lua_rawlen(lua, 1)};
    const size_t bytes = (size_t)p.rows * sizeof *p.part;
    p.count = p.rows > 0;
    p.part = memset(lua_newuserdatauv(lua, bytes, 0), 0, bytes);
    const file_rows rows = push_rows(lua);
    uint32_t *code = lua_newuserdatauv(lua, (size_t)p.rows * sizeof *code, 0);
    for (int i = 1; lua_rawgeti(lua, NAMES, i) != LUA_TNIL; ++i) {
        if (fill_codes(lua, &rows, FROM, NAME, code))
            lh_lua_check(lua, lh_csv_part(code, p.rows, p.part, &p.count));
        lua_settop(lua, CODE);
    }
    lua_settop(lua, PART);
    return p;
}

/* csv_distinct(rows, names) -> array of the first row of each combination of texts. */
static int csv_distinct(lua_State *lua) {
    const parts p = push_parts(lua);
    int32_t next = 0;
    lua_createtable(lua, p.count, 0);
    for (int64_t i = 0; i < p.rows; ++i) {
        if (p.part[i] != next) continue;
        (void)lua_rawgeti(lua, 1, i + 1);
        lua_rawseti(lua, -2, ++next);
    }
    return 1;
}

/* csv_groups(rows, names) -> array of arrays, each of the rows with one combination of texts. */
static int csv_groups(lua_State *lua) {
    enum { PART = 3, USED, GROUPS };
    const parts p = push_parts(lua);
    const size_t bytes = (size_t)p.count * sizeof(int32_t);
    int32_t *used = memset(lua_newuserdatauv(lua, bytes, 0), 0, bytes);
    for (int64_t i = 0; i < p.rows; ++i)
        used[p.part[i]] += 1;
    lua_createtable(lua, p.count, 0);
    for (int32_t i = 0; i < p.count; ++i) {
        lua_createtable(lua, used[i], 0);
        lua_rawseti(lua, GROUPS, i + 1);
        used[i] = 0;
    }
    for (int64_t i = 0; i < p.rows; ++i) {
        (void)lua_rawgeti(lua, GROUPS, p.part[i] + 1);
        (void)lua_rawgeti(lua, 1, i + 1);
        lua_rawseti(lua, -2, ++used[p.part[i]]);
        lua_pop(lua, 1);
    }
    return 1;
}

/* ---- writing ---- */

/* Readers take blanks at the ends of a bare field away, and a bare mark for that of an unfinished
 * row. */
static bool needs_quotes(const char *text, size_t length) {
    if (strpbrk(text, ",\"\n\r") != NULL || text[0] == LH_CSV_UNFINISHED) return true;
    return length > 0 &&
           (strchr(" \t", text[0]) != NULL || strchr(" \t", text[length - 1]) != NULL);
}

/* csv_field(text) -> the text as one field, quoted where it must be. */
static int csv_field(lua_State *lua) {
    size_t length = 0;
    const char *text = luaL_checklstring(lua, 1, &length);
    luaL_argcheck(lua, strlen(text) == length, 1, "a field of a CSV file cannot hold a NUL byte");
    if (!needs_quotes(text, length)) {
        lua_settop(lua, 1);
        return 1;
    }
    char *quoted = lua_newuserdatauv(lua, 2 * length + 2, 0);
    const size_t used = csv_write(quoted, 2 * length + 2, text, length);
    lua_pushlstring(lua, quoted, used);
    return 1;
}

/* csv_is_number(text) -> whether it is one as a file may hold it. */
static int csv_is_number(lua_State *lua) {
    lua_pushboolean(lua, is_number(luaL_checkstring(lua, 1)));
    return 1;
}

/* append_row(path, size, row) -> whether it could (csv_append.h); the caller holds the lock. */
static int append_row(lua_State *lua) {
    const char *path = luaL_checkstring(lua, 1), *row = luaL_checkstring(lua, 3);
    bool done = false;
    lh_lua_check(lua, lh_csv_append(path, (size_t)luaL_checkinteger(lua, 2), row, &done));
    lua_pushboolean(lua, done);
    return 1;
}

const luaL_Reg lh_lua_csv[] = {{"read_csv", read_csv},           {"csv_rows", csv_rows},
                               {"csv_texts", csv_texts},         {"csv_numbers", csv_numbers},
                               {"csv_distinct", csv_distinct},   {"csv_groups", csv_groups},
                               {"csv_field", csv_field},         {"append_row", append_row},
                               {"csv_is_number", csv_is_number}, {NULL, NULL}};
