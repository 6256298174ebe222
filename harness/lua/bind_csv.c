/* CSV files as arrays, large ones a field at a time; fields to be written, and rows appended. */
#include <csv.h>
#include <string.h>

#include "harness/lua/bind.h"
#include "harness/run/csv_append.h"
#include "harness/run/csv_index.h"

static const char source_type[] = "longhaul.csv";

/* A file that was read, or its index. */
typedef struct source {
    lh_csv_table table;
    lh_csv_index index;
    int64_t columns, rows; /* the header is no row here */
} source;

static int source_close(lua_State *lua) {
    source *s = luaL_checkudata(lua, 1, source_type);
    lh_csv_table_free(&s->table);
    lh_csv_index_free(&s->index);
    return 0;
}

static source *push_source(lua_State *lua) {
    source *s = lua_newuserdatauv(lua, sizeof *s, 0);
    *s = (source){0};
    if (luaL_newmetatable(lua, source_type) != 0) {
        lua_pushcfunction(lua, source_close);
        lua_setfield(lua, -2, "__gc");
    }
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
static const source *push_indexed(lua_State *lua, const char *path) {
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
    return s;
}

/* read_csv(path) -> array of arrays of strings, as they stand in the file. */
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
    return 1;
}

/* ---- large files, read a column at a time ---- */

/* What rows and columns of a file share, as upvalues of their functions. */
enum { SOURCE = 1, NUMBERS, UNQUOTE, COLUMNS, SHARED = COLUMNS };

/* A cell of a spreadsheet that must not run has a quote before it, which the function at `unquote`
 * (quote.csv_read) takes away. */
static void push_cell(lua_State *lua, const char *text, int unquote) {
    if (text[0] == '\'') {
        lua_pushvalue(lua, unquote);
        lua_pushstring(lua, text);
        lua_call(lua, 1, 1);
    } else {
        lua_pushstring(lua, text);
    }
}

/* Appends a column's texts to the array at the top of the stack. A text that is that of the row
 * before is not made again. */
static void add_texts_of_table(lua_State *lua, const lh_csv_table *t, int64_t column) {
    enum { AHEAD = 16 }; /* rows lie far apart in memory */
    const int texts = lua_gettop(lua), last = texts + 1;
    const char *before = NULL;
    lua_pushnil(lua);
    for (int64_t r = 1; r < t->rows; ++r) {
        const char *text = lh_csv_table_field(t, r, column);
        if (r + AHEAD < t->rows) __builtin_prefetch(lh_csv_table_field(t, r + AHEAD, column));
        if (before == NULL || strcmp(text, before) != 0) {
            push_cell(lua, text, lua_upvalueindex(UNQUOTE));
            lua_replace(lua, last);
            before = text;
        }
        lua_pushvalue(lua, last);
        lua_rawseti(lua, texts, r);
    }
    lua_settop(lua, texts);
}

/* The same of an index: each different text is made once, in the row that has it first. */
static void add_texts_of_index(lua_State *lua, const lh_csv_index *index, int64_t column) {
    const lh_csv_column c = lh_csv_index_column(index, column);
    const int texts = lua_gettop(lua), made = texts + 1;
    const char *next = c.texts;
    lua_createtable(lua, (int)c.different, 0);
    for (int64_t i = 1; i <= c.different; ++i) {
        push_cell(lua, next, lua_upvalueindex(UNQUOTE));
        lua_rawseti(lua, made, i);
        next += strlen(next) + 1;
    }
    for (int64_t r = 0; r < index->rows; ++r) {
        lua_rawgeti(lua, made, c.code == NULL ? 1 : (lua_Integer)c.code[r] + 1);
        lua_rawseti(lua, texts, r + 1);
    }
    lua_settop(lua, texts);
}

static void push_texts(lua_State *lua, const source *s, int64_t column) {
    lua_createtable(lua, (int)s->rows, 0);
    if (s->index.data != NULL) {
        add_texts_of_index(lua, &s->index, column);
    } else {
        add_texts_of_table(lua, &s->table, column);
    }
}

/* Pushes the texts of the column whose name is at `name`, made when they are first asked for; nil
 * where there is none. */
static void push_column(lua_State *lua, int name) {
    lua_pushvalue(lua, name);
    if (lua_rawget(lua, lua_upvalueindex(COLUMNS)) != LUA_TNIL) return;
    lua_pushvalue(lua, name);
    if (lua_rawget(lua, lua_upvalueindex(NUMBERS)) == LUA_TNIL) return;
    push_texts(lua, lua_touserdata(lua, lua_upvalueindex(SOURCE)), lua_tointeger(lua, -1));
    lua_pushvalue(lua, name);
    lua_pushvalue(lua, -2);
    lua_rawset(lua, lua_upvalueindex(COLUMNS));
}

/* column(name) -> array, or nil. */
static int column(lua_State *lua) {
    luaL_checkany(lua, 1);
    push_column(lua, 1);
    return 1;
}

/* row.name: a row is its number, in a block of its own. */
static int row_index(lua_State *lua) {
    lua_settop(lua, 2);
    push_column(lua, 2);
    if (lua_isnil(lua, -1)) return 1;
    const int64_t *number = lua_touserdata(lua, 1);
    lua_rawgeti(lua, -1, number != NULL ? *number : 0);
    return 1;
}

/* Pushes column(name) of the kind of row whose metatable is at `type`; nil for other tables. */
static void push_column_of(lua_State *lua, int type, int name) {
    lua_pushnil(lua);
    if (lua_isnil(lua, type)) return;
    if (lua_getfield(lua, type, "column") == LUA_TNIL) return;
    lua_pushvalue(lua, name);
    lua_call(lua, 1, 1);
}

/* Pushes the metatable of what is at the top, or nil. */
static void push_type(lua_State *lua) {
    if (lua_getmetatable(lua, -1) == 0) lua_pushnil(lua);
}

/* Pushes the column where the array at index 1 has all rows of a file, as csv_rows gave them. */
static bool push_whole_column(lua_State *lua) {
    if (lua_getmetatable(lua, 1) == 0) return false;
    (void)lua_getfield(lua, -1, "count");
    if (lua_tointeger(lua, -1) != (lua_Integer)lua_rawlen(lua, 1)) return false;
    push_column_of(lua, 3, 2);
    return lua_istable(lua, -1);
}

/* csv_texts(rows, name) -> array of rows[i].name, to be read only; quickly for rows of csv_rows. */
static int csv_texts(lua_State *lua) {
    enum { RESULT = 3, LAST_TYPE, LAST_COLUMN, ROW, TYPE };
    luaL_checktype(lua, 1, LUA_TTABLE);
    const lua_Integer count = (lua_Integer)lua_rawlen(lua, 1);
    lua_settop(lua, 2);
    if (push_whole_column(lua)) return 1;
    lua_settop(lua, 2);
    lua_createtable(lua, (int)count, 0);
    lua_settop(lua, LAST_COLUMN);
    for (lua_Integer i = 1; i <= count; ++i) {
        lua_rawgeti(lua, 1, i);
        push_type(lua);
        if (!lua_rawequal(lua, TYPE, LAST_TYPE)) {
            push_column_of(lua, TYPE, 2);
            lua_replace(lua, LAST_COLUMN);
            lua_pushvalue(lua, TYPE);
            lua_replace(lua, LAST_TYPE);
        }
        const int64_t *number = lua_touserdata(lua, ROW);
        if (number != NULL && lua_istable(lua, LAST_COLUMN)) {
            lua_rawgeti(lua, LAST_COLUMN, *number);
        } else {
            lua_pushvalue(lua, 2);
            lua_gettable(lua, ROW);
        }
        lua_rawseti(lua, RESULT, i);
        lua_settop(lua, LAST_COLUMN);
    }
    lua_settop(lua, RESULT);
    return 1;
}

/* csv_by(rows, name) -> {rows[i].name -> rows[i]}, of several the last. */
static int csv_by(lua_State *lua) {
    enum { TEXTS = 3, BY };
    (void)csv_texts(lua);
    lua_replace(lua, TEXTS);
    lua_settop(lua, TEXTS);
    const lua_Integer count = (lua_Integer)lua_rawlen(lua, 1);
    lua_createtable(lua, 0, (int)count);
    for (lua_Integer i = 1; i <= count; ++i) {
        if (lua_rawgeti(lua, TEXTS, i) == LUA_TSTRING) {
            lua_rawgeti(lua, 1, i);
            lua_rawset(lua, BY);
        }
        lua_settop(lua, BY);
    }
    return 1;
}

/* The names of the columns into the array at `names`, their numbers into the table at `numbers`. */
static void fill_columns(lua_State *lua, const source *s, int names, int numbers) {
    for (int64_t c = 0; c < s->columns; ++c) {
        push_cell(lua,
                  s->index.data != NULL ? lh_csv_index_column(&s->index, c).name
                                        : lh_csv_table_field(&s->table, 0, c),
                  UNQUOTE + 1);
        lua_pushvalue(lua, -1);
        lua_rawseti(lua, names, c + 1);
        lua_pushinteger(lua, c);
        lua_rawset(lua, numbers);
    }
}

/* A closure with what is shared, which lies on the stack from index 2 on. */
static void push_closure(lua_State *lua, lua_CFunction function) {
    for (int i = 1; i <= SHARED; ++i)
        lua_pushvalue(lua, 1 + i);
    lua_pushcclosure(lua, function, SHARED);
}

/* The metatable of the array of all rows: what that of a row has, but for indexing. */
static void push_rows_type(lua_State *lua, int type) {
    static const char *const names[] = {"column", "count"};
    lua_createtable(lua, 0, 2);
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        (void)lua_getfield(lua, type, names[i]);
        lua_setfield(lua, -2, names[i]);
    }
}

/* csv_rows(path, unquote) -> array of rows, array of the columns' names, where in the file a row
 * can be appended (0: nowhere), whether an unfinished one is there. Rows are read only; texts are
 * made by columns, when one is first asked for, so that a hundred thousand rows of a hundred
 * columns cost little. */
static int csv_rows(lua_State *lua) {
    const char *path = luaL_checkstring(lua, 1);
    luaL_checktype(lua, 2, LUA_TFUNCTION);
    lua_settop(lua, 2);
    const source *s = push_indexed(lua, path);
    lua_insert(lua, 2);
    lua_newtable(lua);
    lua_insert(lua, 3);
    lua_newtable(lua);
    enum { NAMES = SHARED + 2, TYPE, ROWS }; /* behind path and what is shared */
    lua_createtable(lua, (int)s->columns, 0);
    fill_columns(lua, s, NAMES, 1 + NUMBERS);
    lua_createtable(lua, 0, 1);
    push_closure(lua, row_index);
    lua_setfield(lua, TYPE, "__index");
    push_closure(lua, column);
    lua_setfield(lua, TYPE, "column");
    lua_pushinteger(lua, s->rows);
    lua_setfield(lua, TYPE, "count");
    lua_createtable(lua, (int)s->rows, 0);
    for (int64_t r = 1; r <= s->rows; ++r) {
        *(int64_t *)lua_newuserdatauv(lua, sizeof(int64_t), 0) = r;
        lua_pushvalue(lua, TYPE);
        lua_setmetatable(lua, -2);
        lua_rawseti(lua, ROWS, r);
    }
    push_rows_type(lua, TYPE);
    lua_setmetatable(lua, ROWS);
    lua_pushvalue(lua, NAMES);
    lua_pushinteger(lua, (lua_Integer)(s->index.data != NULL ? s->index.end : s->table.end));
    lua_pushboolean(lua, s->table.unfinished);
    return 4;
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

/* append_row(path, size, row) -> whether it could (csv_append.h); the caller holds the lock. */
static int append_row(lua_State *lua) {
    const char *path = luaL_checkstring(lua, 1), *row = luaL_checkstring(lua, 3);
    bool done = false;
    lh_lua_check(lua, lh_csv_append(path, (size_t)luaL_checkinteger(lua, 2), row, &done));
    lua_pushboolean(lua, done);
    return 1;
}

const luaL_Reg lh_lua_csv[] = {{"read_csv", read_csv},
                               {"csv_rows", csv_rows},
                               {"csv_texts", csv_texts},
                               {"csv_by", csv_by},
                               {"csv_field", csv_field},
                               {"append_row", append_row},
                               {NULL, NULL}};
