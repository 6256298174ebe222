/* The interpreter of a file of examples: what it sees, what it says of itself, and its arrays as
 * numbers. Whatever calls Lua is a C function of its own under lua_pcall and holds nothing. */
#include "harness/tasks/lua_examples.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/digest.h"
#include "harness/engine/draw.h"
#include "harness/engine/file.h"
#include "harness/engine/nearest_name.h"
#include "harness/engine/options.h"
#include "harness/tasks/lua_bounds.h"

enum {
    PARAMETERS = 32,
    PLACE_BYTES = 160,
    CHANCE_BYTES = 160,
    LONGEST = 1 << 24,
    WIDEST = 1 << 16,
    TOKENS = 1000000
};

struct lh_lua_examples {
    lua_State *lua;
    char *file; /* its path */
    void *text;
    size_t bytes;
    uint64_t digest;
    bool vectors;
    int returned, parameters; /* in the registry: the file's table, and `p` */
    lh_option row[PARAMETERS + 1];
    lh_option_table tables[2];
    lh_options *given;
    lh_example_sizes sizes;
    char place[PLACE_BYTES];   /* "copy.lua:12", of `example` */
    char chance[CHANCE_BYTES]; /* what guessing scores; "": not said */
    bool draws_now;
    lh_draws draws, normals;
    lh_lua_limits limits;
    size_t left; /* bytes that calls may still hold */
};

/* Seconds for a call where an example takes milliseconds, and what a machine of today can hold. */
static const lh_lua_limits limits_of_trusted = {
    .millions = 2000, .bytes = (size_t)4 << 30, .rule = "a call of a file of examples may take"};

static lh_lua_limits given_limits; /* none while it has no rule */

void lh_lua_examples_bound(const lh_lua_limits *limits) {
    given_limits = limits != NULL ? *limits : (lh_lua_limits){0};
}

static lh_lua_limits limits_of_files(void) {
    return given_limits.rule != NULL ? given_limits : limits_of_trusted;
}

/* ---- what a file sees ---- */

static lh_lua_examples *owner(lua_State *lua) {
    return lua_touserdata(lua, lua_upvalueindex(1));
}

static lh_lua_examples *drawing_owner(lua_State *lua, const char *name) {
    lh_lua_examples *examples = owner(lua);
    if (!examples->draws_now)
        (void)luaL_error(lua, "math.%s draws for an example: call it in `example`", name);
    return examples;
}

/* math.random() in (0, 1), math.random(n) in 1 .. n, math.random(m, n) in m .. n. */
static int draw_random(lua_State *lua) {
    lh_lua_examples *examples = drawing_owner(lua, "random");
    lh_draws *draws = &examples->draws;
    const int given = lua_gettop(lua);
    if (given == 0) {
        lua_pushnumber(lua, lh_random_open_unit(lh_random_word(draws->key, draws->drawn++)));
        return 1;
    }
    const lua_Integer least = given > 1 ? luaL_checkinteger(lua, 1) : 1;
    const lua_Integer most = luaL_checkinteger(lua, given > 1 ? 2 : 1);
    const lua_Unsigned others = (lua_Unsigned)most - (lua_Unsigned)least;
    const bool fits = least <= most && others <= UINT32_MAX;
    luaL_argcheck(lua, fits, given > 1 ? 2 : 1,
                  "the interval is empty or holds more than 2^32 integers");
    lua_pushinteger(lua, least + lh_draw(draws, (int64_t)others + 1));
    return 1;
}

/* math.normal(): of N(0, 1). */
static int draw_normal(lua_State *lua) {
    lua_pushnumber(lua, lh_draw_normal(&drawing_owner(lua, "normal")->normals));
    return 1;
}

/* Reading or writing a name that nobody declared is a mistake at its line, as in scripts. */
static int refuse_read(lua_State *lua) {
    const char *name = luaL_tolstring(lua, 2, NULL);
    if (strcmp(name, "pairs") == 0 || strcmp(name, "next") == 0)
        return luaL_error(lua,
                          "a file of examples has no '%s', whose order is another in every "
                          "process; ipairs goes through a list",
                          name);
    return luaL_error(lua, "undefined global '%s'", name);
}

static int refuse_write(lua_State *lua) {
    return luaL_error(lua, "assignment to undefined global '%s'; write local",
                      luaL_tolstring(lua, 2, NULL));
}

static void set_function(lua_State *lua, const char *name, lua_CFunction function,
                         lh_lua_examples *examples) {
    lua_pushlightuserdata(lua, examples);
    lua_pushcclosure(lua, function, 1);
    lua_setfield(lua, -2, name);
}

/* Pushes the globals: nothing that a file could read but itself, and nothing that tells one process
 * from another. */
static void push_globals(lua_State *lua, lh_lua_examples *examples) {
    static const char *const functions[] = {"assert",   "error",    "ipairs", "print", "select",
                                            "tonumber", "tostring", "type",   NULL};
    static const luaL_Reg libraries[] = {{LUA_MATHLIBNAME, luaopen_math},
                                         {LUA_STRLIBNAME, luaopen_string},
                                         {LUA_TABLIBNAME, luaopen_table},
                                         {LUA_UTF8LIBNAME, luaopen_utf8},
                                         {NULL, NULL}};
    luaL_requiref(lua, LUA_GNAME, luaopen_base, 1);
    lua_newtable(lua);
    for (int i = 0; functions[i] != NULL; ++i) {
        lua_getfield(lua, -2, functions[i]);
        lua_setfield(lua, -2, functions[i]);
    }
    for (const luaL_Reg *library = libraries; library->name != NULL; ++library) {
        luaL_requiref(lua, library->name, library->func, 0);
        lua_setfield(lua, -2, library->name);
    }
    lua_getfield(lua, -1, LUA_MATHLIBNAME);
    set_function(lua, "random", draw_random, examples);
    set_function(lua, "normal", draw_normal, examples);
    lua_pushnil(lua);
    lua_setfield(lua, -2, "randomseed");
    lua_pop(lua, 1);
    lua_newtable(lua);
    set_function(lua, "__index", refuse_read, examples);
    set_function(lua, "__newindex", refuse_write, examples);
    lua_setmetatable(lua, -2);
}

/* ---- what a file says of itself ---- */

/* The names of the table on top are among `names`. */
static void check_fields(lua_State *lua, const lh_lua_examples *examples, const char *what,
                         const char *const *names) {
    lua_pushnil(lua);
    while (lua_next(lua, -2) != 0) {
        const char *name = lua_type(lua, -2) == LUA_TSTRING ? lua_tostring(lua, -2) : "[...]";
        bool is_known = false;
        for (int i = 0; names[i] != NULL; ++i)
            is_known = is_known || strcmp(names[i], name) == 0;
        if (!is_known)
            (void)luaL_error(lua, "%s: %s has no field '%s'%s", examples->file, what, name,
                             lh_did_you_mean(name, names));
        lua_pop(lua, 1);
    }
}

/* Pushes field `name` of the table on top, which is of this type. */
static void push_field(lua_State *lua, const lh_lua_examples *examples, const char *name,
                       int type) {
    if (lua_getfield(lua, -1, name) != type)
        (void)luaL_error(lua, "%s: '%s' must be a %s of what the file returns, got %s",
                         examples->file, name, lua_typename(lua, type), luaL_typename(lua, -1));
}

/* Runs the file; its table goes to the registry. */
static int run_file(lua_State *lua) {
    static const char *const fields[] = {"parameters", "sizes", "chance", "example", NULL};
    lh_lua_examples *examples = lua_touserdata(lua, 1);
    lua_Debug about;
    lua_pushfstring(lua, "@%s", examples->file);
    if (luaL_loadbufferx(lua, examples->text, examples->bytes, lua_tostring(lua, -1), "t") !=
        LUA_OK)
        return lua_error(lua);
    push_globals(lua, examples);
    lua_setupvalue(lua, -3, 1); /* behind the table of the base library */
    lua_pop(lua, 1);
    lua_call(lua, 0, 1);
    if (!lua_istable(lua, -1))
        return luaL_error(lua, "%s: the file must return a table with `sizes` and `example`",
                          examples->file);
    check_fields(lua, examples, "the table", fields);
    push_field(lua, examples, "sizes", LUA_TFUNCTION);
    lua_pop(lua, 1);
    push_field(lua, examples, "example", LUA_TFUNCTION);
    if (lua_getinfo(lua, ">S", &about) != 0)
        (void)snprintf(examples->place, sizeof examples->place, "%s:%d", about.short_src,
                       about.linedefined);
    examples->returned = luaL_ref(lua, LUA_REGISTRYINDEX);
    return 0;
}

/* The pair on top, name and default, as a row; the file's table keeps the texts. */
static void read_parameter(lua_State *lua, const lh_lua_examples *examples, lh_option *row) {
    if (lua_type(lua, -2) != LUA_TSTRING)
        (void)luaL_error(lua, "%s: parameters are given by name", examples->file);
    *row = (lh_option){.name = lua_tostring(lua, -2), .meaning = ""};
    switch (lua_type(lua, -1)) {
    case LUA_TNUMBER:
        row->type = lua_isinteger(lua, -1) ? LH_OPTION_INTEGER : LH_OPTION_REAL;
        if (row->type == LH_OPTION_INTEGER) row->standard.integer = lua_tointeger(lua, -1);
        if (row->type == LH_OPTION_REAL) row->standard.real = lua_tonumber(lua, -1);
        return;
    case LUA_TBOOLEAN:
        row->type = LH_OPTION_FLAG;
        row->standard.flag = lua_toboolean(lua, -1);
        return;
    case LUA_TSTRING:
        row->type = LH_OPTION_TEXT;
        row->standard.text = lua_tostring(lua, -1);
        if (strlen(row->standard.text) != lua_rawlen(lua, -1))
            (void)luaL_error(lua, "%s: parameter '%s' holds a zero byte", examples->file,
                             row->name);
        return;
    default:
        (void)luaL_error(lua, "%s: parameter '%s' is a number, a flag or a text, not a %s",
                         examples->file, row->name, luaL_typename(lua, -1));
    }
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const lh_option *)a)->name, ((const lh_option *)b)->name);
}

static int read_parameters(lua_State *lua) {
    lh_lua_examples *examples = lua_touserdata(lua, 1);
    int count = 0;
    lua_rawgeti(lua, LUA_REGISTRYINDEX, examples->returned);
    if (lua_getfield(lua, -1, "parameters") == LUA_TNIL) return 0;
    lua_pop(lua, 1);
    push_field(lua, examples, "parameters", LUA_TTABLE);
    lua_pushnil(lua);
    while (lua_next(lua, -2) != 0) {
        if (count == PARAMETERS)
            return luaL_error(lua, "%s: more than %d parameters", examples->file, PARAMETERS);
        read_parameter(lua, examples, &examples->row[count++]);
        lua_pop(lua, 1);
    }
    qsort(examples->row, (size_t)count, sizeof examples->row[0], by_name);
    return 0;
}

static void push_parameters(lua_State *lua, const lh_options *given) {
    lua_newtable(lua);
    for (int i = 0; i < lh_options_count(given); ++i) {
        const lh_option *row = lh_options_row(given, i);
        const lh_value *value = lh_options_value(given, i);
        if (row->type == LH_OPTION_INTEGER) lua_pushinteger(lua, value->integer);
        if (row->type == LH_OPTION_REAL) lua_pushnumber(lua, value->real);
        if (row->type == LH_OPTION_FLAG) lua_pushboolean(lua, value->flag);
        if (row->type == LH_OPTION_TEXT) lua_pushstring(lua, value->text);
        lua_setfield(lua, -2, row->name);
    }
}

/* Field `name` of the table on top, an integer from 1 to `most`. */
static int64_t read_size(lua_State *lua, const lh_lua_examples *examples, const char *name,
                         int64_t most) {
    int good = 0;
    lua_getfield(lua, -1, name);
    const lua_Integer size = lua_tointegerx(lua, -1, &good);
    if (!good || size < 1 || size > most)
        (void)luaL_error(lua, "%s: sizes: '%s' must be an integer from 1 to %I, got %s",
                         examples->file, name, (lua_Integer)most, luaL_tolstring(lua, -1, NULL));
    lua_pop(lua, 1);
    return size;
}

/* Asks `sizes` what the parameters make of them. */
static int read_sizes(lua_State *lua) {
    static const char *const of_tokens[] = {"length", "vocabulary", NULL};
    static const char *const of_vectors[] = {"length", "inputs", "outputs", NULL};
    lh_lua_examples *examples = lua_touserdata(lua, 1);
    push_parameters(lua, examples->given);
    lua_pushvalue(lua, -1);
    examples->parameters = luaL_ref(lua, LUA_REGISTRYINDEX);
    lua_rawgeti(lua, LUA_REGISTRYINDEX, examples->returned);
    lua_getfield(lua, -1, "sizes");
    lua_pushvalue(lua, -3);
    lua_call(lua, 1, 1);
    if (!lua_istable(lua, -1))
        return luaL_error(lua, "%s: sizes must return a table, got %s", examples->file,
                          luaL_typename(lua, -1));
    check_fields(lua, examples, "sizes", examples->vectors ? of_vectors : of_tokens);
    examples->sizes.length = read_size(lua, examples, "length", LONGEST);
    if (!examples->vectors)
        examples->sizes.vocabulary = read_size(lua, examples, "vocabulary", TOKENS);
    if (examples->vectors) {
        examples->sizes.inputs = read_size(lua, examples, "inputs", WIDEST);
        examples->sizes.outputs = read_size(lua, examples, "outputs", WIDEST);
    }
    return 0;
}

/* Adds "accuracy 0.111" to what guessing scores, of the table on top; nothing where it has no such
 * field. */
static void add_chance(lua_State *lua, lh_lua_examples *examples, const char *name) {
    int good = 0;
    if (lua_getfield(lua, -1, name) != LUA_TNIL) {
        const double score = lua_tonumberx(lua, -1, &good);
        if (!good || !isfinite(score))
            (void)luaL_error(lua, "%s: chance: '%s' must be a number, got %s", examples->file, name,
                             luaL_tolstring(lua, -1, NULL));
        const size_t used = strlen(examples->chance);
        (void)snprintf(examples->chance + used, sizeof examples->chance - used, "%s%s %.3g",
                       used > 0 ? ", " : "", name, score);
    }
    lua_pop(lua, 1);
}

/* Asks `chance`, where there is one, what guessing scores: metrics in an order of their own, since
 * a table has none. */
static int read_chance(lua_State *lua) {
    static const char *const of_tokens[] = {"accuracy", "error_percent", "bits_per_token",
                                            "perplexity", NULL};
    static const char *const of_vectors[] = {"mse", "mae", NULL};
    lh_lua_examples *examples = lua_touserdata(lua, 1);
    const char *const *names = examples->vectors ? of_vectors : of_tokens;
    lua_rawgeti(lua, LUA_REGISTRYINDEX, examples->returned);
    if (lua_getfield(lua, -1, "chance") == LUA_TNIL) return 0;
    lua_pop(lua, 1);
    push_field(lua, examples, "chance", LUA_TFUNCTION);
    lua_rawgeti(lua, LUA_REGISTRYINDEX, examples->parameters);
    lua_call(lua, 1, 1);
    if (!lua_istable(lua, -1))
        return luaL_error(lua, "%s: chance must return a table, got %s", examples->file,
                          luaL_typename(lua, -1));
    check_fields(lua, examples, "chance", names);
    for (int i = 0; names[i] != NULL; ++i)
        add_chance(lua, examples, names[i]);
    return 0;
}

/* ---- opening ---- */

/* Calls function(argument) in protected mode, within the bounds; what a file keeps from call to
 * call counts together. */
static lh_status call(lh_lua_examples *examples, lua_CFunction function, void *argument) {
    lua_State *lua = examples->lua;
    lh_lua_limits limits = examples->limits;
    lh_lua_bounds bounds;
    limits.bytes = examples->left;
    lua_pushcfunction(lua, function);
    lua_pushlightuserdata(lua, argument);
    lh_lua_bounds_begin(&bounds, lua, &limits);
    const int code = lua_pcall(lua, 1, 0, 0);
    lh_lua_bounds_end(&bounds);
    examples->left = bounds.bytes;
    if (code == LUA_OK) return LH_OK;
    if (code == LUA_ERRMEM && bounds.is_refused) {
        lua_pop(lua, 1);
        return lh_fail(LH_EMEMORY, "%s: %s %zu MiB of memory", examples->file,
                       examples->limits.rule, examples->limits.bytes >> 20);
    }
    const char *message = lua_type(lua, -1) == LUA_TSTRING ? lua_tostring(lua, -1)
                                                           : "an error whose value is no text";
    const lh_status status = lh_fail(code == LUA_ERRMEM ? LH_EMEMORY : LH_EFORMAT, "%s", message);
    lua_pop(lua, 1);
    return status;
}

static lh_status open_file(lh_lua_examples *examples, const char *file, const char *parameters) {
    examples->file = lh_duplicate_text(file);
    if (examples->file == NULL) return LH_EMEMORY;
    LH_TRY(lh_file_read_all(file, &examples->text, &examples->bytes));
    examples->digest = lh_digest_content(0, examples->text, examples->bytes);
    examples->lua = luaL_newstate();
    if (examples->lua == NULL) return lh_fail(LH_EMEMORY, "%s: no memory for Lua", file);
    LH_TRY(call(examples, run_file, examples));
    LH_TRY(call(examples, read_parameters, examples));
    examples->tables[0] = (lh_option_table){examples->row, 0};
    LH_TRY(lh_options_create(examples->file, examples->tables, &examples->given));
    LH_TRY(lh_options_parse(examples->given, parameters));
    LH_TRY(call(examples, read_sizes, examples));
    return call(examples, read_chance, examples);
}

lh_status lh_lua_examples_create(const char *file, const char *parameters, bool vectors,
                                 lh_lua_examples **out) {
    lh_lua_examples *examples = lh_allocate_zeroed(1, sizeof *examples);
    if (examples == NULL) return LH_EMEMORY;
    examples->vectors = vectors;
    examples->limits = limits_of_files();
    examples->left = examples->limits.bytes;
    const lh_status status = open_file(examples, file, parameters);
    if (status != LH_OK) {
        lh_lua_examples_destroy(examples);
        return status;
    }
    *out = examples;
    return LH_OK;
}

void lh_lua_examples_destroy(lh_lua_examples *examples) {
    if (examples == NULL) return;
    if (examples->lua != NULL) lua_close(examples->lua);
    lh_options_destroy(examples->given);
    free(examples->text);
    free(examples->file);
    free(examples);
}

const lh_example_sizes *lh_lua_examples_sizes(const lh_lua_examples *examples) {
    return &examples->sizes;
}

const char *lh_lua_examples_chance(const lh_lua_examples *examples) {
    return examples->chance;
}

uint64_t lh_lua_examples_digest(const lh_lua_examples *examples) {
    return examples->digest;
}

/* ---- examples ---- */

typedef struct making {
    lh_lua_examples *examples;
    lh_split split;
    const lh_example *out;
} making;

/* The entries of the array at `index`, called `name`; `expected` of them unless it is 0. */
static int64_t read_count(lua_State *lua, const making *m, int index, const char *name,
                          int64_t expected) {
    const lh_lua_examples *examples = m->examples;
    if (!lua_istable(lua, index))
        (void)luaL_error(lua, "%s: %s must be an array, got %s", examples->place, name,
                         luaL_typename(lua, index));
    const int64_t count = (int64_t)lua_rawlen(lua, index);
    if (expected > 0 && count != expected)
        (void)luaL_error(lua, "%s: %s has %I entries, but there are %I positions", examples->place,
                         name, (lua_Integer)count, (lua_Integer)expected);
    if (count < 1 || count > examples->sizes.length)
        (void)luaL_error(lua, "%s: %s has %I entries, `sizes` allows 1 to %I", examples->place,
                         name, (lua_Integer)count, (lua_Integer)examples->sizes.length);
    return count;
}

static void read_tokens(lua_State *lua, const making *m, int index, const char *name, int64_t count,
                        int32_t *out) {
    const lua_Integer vocabulary = (lua_Integer)m->examples->sizes.vocabulary;
    for (int64_t t = 0; t < count; ++t) {
        int good = 0;
        lua_rawgeti(lua, index, t + 1);
        const lua_Integer token = lua_tointegerx(lua, -1, &good);
        if (!good || token < 0 || token >= vocabulary)
            (void)luaL_error(lua, "%s: %s[%I] is %s; a token is an integer from 0 to %I",
                             m->examples->place, name, (lua_Integer)t + 1,
                             luaL_tolstring(lua, -1, NULL), vocabulary - 1);
        out[t] = (int32_t)token;
        lua_pop(lua, 1);
    }
}

/* The vector on top, entry `t` of `name`. */
static void read_vector(lua_State *lua, const making *m, const char *name, int64_t t, int64_t width,
                        real *out) {
    if (!lua_istable(lua, -1) || (int64_t)lua_rawlen(lua, -1) != width)
        (void)luaL_error(lua, "%s: %s[%I] must be an array of %I numbers", m->examples->place, name,
                         (lua_Integer)t + 1, (lua_Integer)width);
    for (int64_t i = 0; i < width; ++i) {
        int good = 0;
        lua_rawgeti(lua, -1, i + 1);
        out[i] = (real)lua_tonumberx(lua, -1, &good);
        if (!good || !isfinite(out[i]))
            (void)luaL_error(lua, "%s: %s[%I][%I] is %s, which is no finite number",
                             m->examples->place, name, (lua_Integer)t + 1, (lua_Integer)i + 1,
                             luaL_tolstring(lua, -1, NULL));
        lua_pop(lua, 1);
    }
}

static void read_vectors(lua_State *lua, const making *m, int index, const char *name,
                         int64_t count, int64_t width, real *out) {
    for (int64_t t = 0; t < count; ++t) {
        lua_rawgeti(lua, index, t + 1);
        read_vector(lua, m, name, t, width, out + t * width);
        lua_pop(lua, 1);
    }
}

/* Entry `t` of the mask, which is on top. */
static real read_flag(lua_State *lua, const making *m, int64_t t) {
    int good = 0;
    if (lua_isboolean(lua, -1)) return lua_toboolean(lua, -1) ? LH_R(1) : LH_R(0);
    const lua_Integer flag = lua_tointegerx(lua, -1, &good);
    if (!good || (flag != 0 && flag != 1))
        (void)luaL_error(lua, "%s: mask[%I] is %s; expected 0, 1, true or false",
                         m->examples->place, (lua_Integer)t + 1, luaL_tolstring(lua, -1, NULL));
    return (real)flag;
}

/* Weights of `width` numbers for each position; without a mask everything is predicted. */
static void read_mask(lua_State *lua, const making *m, int index, int64_t count, int64_t width) {
    const bool is_given = !lua_isnil(lua, index);
    if (is_given) (void)read_count(lua, m, index, "mask", count);
    for (int64_t t = 0; t < count; ++t) {
        real weight = LH_R(1);
        if (is_given) {
            lua_rawgeti(lua, index, t + 1);
            weight = read_flag(lua, m, t);
            lua_pop(lua, 1);
        }
        for (int64_t i = 0; i < width; ++i)
            m->out->weights[t * width + i] = weight;
    }
}

static int make_example(lua_State *lua) {
    const making *m = lua_touserdata(lua, 1);
    const lh_example_sizes *sizes = &m->examples->sizes;
    lua_settop(lua, 0);
    lua_rawgeti(lua, LUA_REGISTRYINDEX, m->examples->returned);
    lua_getfield(lua, 1, "example");
    lua_replace(lua, 1);
    lua_rawgeti(lua, LUA_REGISTRYINDEX, m->examples->parameters);
    lua_pushstring(lua, lh_split_names[m->split]);
    lua_call(lua, 2, 3);
    const char *name = m->examples->vectors ? "inputs" : "tokens";
    const int64_t count = read_count(lua, m, 1, name, 0);
    (void)read_count(lua, m, 2, "targets", count);
    if (m->examples->vectors) {
        read_vectors(lua, m, 1, name, count, sizes->inputs, m->out->inputs);
        read_vectors(lua, m, 2, "targets", count, sizes->outputs, m->out->outputs);
    } else {
        read_tokens(lua, m, 1, name, count, m->out->tokens);
        read_tokens(lua, m, 2, "targets", count, m->out->targets);
    }
    read_mask(lua, m, 3, count, m->examples->vectors ? sizes->outputs : 1);
    return 0;
}

static void clear(const lh_lua_examples *examples, const lh_example *out) {
    const lh_example_sizes *sizes = &examples->sizes;
    const size_t length = (size_t)sizes->length;
    if (!examples->vectors) {
        memset(out->tokens, 0, length * sizeof *out->tokens);
        memset(out->targets, 0, length * sizeof *out->targets);
        memset(out->weights, 0, length * sizeof *out->weights);
        return;
    }
    memset(out->inputs, 0, length * (size_t)sizes->inputs * sizeof *out->inputs);
    memset(out->outputs, 0, length * (size_t)sizes->outputs * sizeof *out->outputs);
    memset(out->weights, 0, length * (size_t)sizes->outputs * sizeof *out->weights);
}

lh_status lh_lua_examples_make(lh_lua_examples *examples, lh_random_key key, lh_split split,
                               const lh_example *out) {
    making m = {examples, split, out};
    clear(examples, out);
    /* A normal number takes two words: they have a stream of their own. */
    examples->draws = (lh_draws){.key = key};
    examples->normals = (lh_draws){.key = key};
    examples->normals.key.op += LH_SPLITS;
    examples->draws_now = true;
    const lh_status status = call(examples, make_example, &m);
    examples->draws_now = false;
    return status;
}
