/* Opening the library in a Lua state, and the one place where a failure in C becomes a Lua error.
 */
#include "harness/lua/bind.h"

#include <stdio.h>
#include <stdlib.h>

int lh_lua_raise(lua_State *lua, int level) {
    luaL_where(lua, level);
    lua_pushstring(lua, lh_error_text());
    lh_error_clear();
    lua_concat(lua, 2);
    return lua_error(lua);
}

void lh_lua_check(lua_State *lua, lh_status status) {
    if (status != LH_OK) (void)lh_lua_raise(lua, 0);
}

int lh_lua_refuse(lua_State *lua) {
    lua_pushnil(lua);
    lua_pushstring(lua, lh_error_text());
    lh_error_clear();
    return 2;
}

int lh_lua_guard(lua_State *lua, lua_CFunction push, const void *from) {
    lua_pushcfunction(lua, push);
    lua_pushlightuserdata(lua, (void *)(uintptr_t)from);
    return lua_pcall(lua, 1, 1, 0);
}

void lh_lua_settle(lua_State *lua, int status) {
    if (status != LUA_OK) (void)lua_error(lua);
}

typedef struct told {
    lh_lua_values *values;
    const void *from;
} told;

static int call_told(lua_State *lua) {
    const told *t = lua_touserdata(lua, 2);
    lua_settop(lua, 1);
    lua_call(lua, t->values(lua, t->from), 1);
    return 1;
}

int lh_lua_tell(lua_State *lua, int function, lh_lua_values *values, const void *from) {
    told t = {values, from};
    lua_pushvalue(lua, function);
    lua_pushcfunction(lua, call_told);
    lua_insert(lua, -2);
    lua_pushlightuserdata(lua, &t);
    return lua_pcall(lua, 2, 1, 0);
}

void lh_lua_tell_next(lh_lua_hearer *hearer, lh_lua_values *values, const void *from) {
    if (hearer->status != LUA_OK) return;
    hearer->status = lh_lua_tell(hearer->lua, hearer->function, values, from);
    if (hearer->status == LUA_OK) lua_pop(hearer->lua, 1);
}

void lh_lua_gather(lua_State *lua, lua_CFunction add, lh_lua_hearer *hearer) {
    lua_newtable(lua);
    lua_pushvalue(lua, -1);
    lua_pushcclosure(lua, add, 1);
    *hearer = (lh_lua_hearer){.lua = lua, .function = lua_gettop(lua), .status = LUA_OK};
}

void lh_lua_gathered(const lh_lua_hearer *hearer) {
    lh_lua_settle(hearer->lua, hearer->status);
    lua_settop(hearer->lua, hearer->function - 1);
}

typedef struct bytes_of {
    const char *text;
    size_t bytes;
} bytes_of;

static int push_bytes(lua_State *lua) {
    const bytes_of *from = lua_touserdata(lua, 1);
    lua_pushlstring(lua, from->text, from->bytes);
    return 1;
}

void lh_lua_push_owned(lua_State *lua, char *text, size_t bytes) {
    const bytes_of from = {text != NULL ? text : "", text != NULL ? bytes : 0};
    const int status = lh_lua_guard(lua, push_bytes, &from);
    free(text);
    lh_lua_settle(lua, status);
}

void lh_lua_push_type(lua_State *lua, const char *name, const luaL_Reg *methods,
                      lua_CFunction close) {
    if (luaL_newmetatable(lua, name) == 0) return;
    if (methods != NULL) {
        lua_newtable(lua);
        luaL_setfuncs(lua, methods, 0);
        lua_setfield(lua, -2, "__index");
    }
    lua_pushcfunction(lua, close);
    lua_setfield(lua, -2, "__gc");
    lua_pushcfunction(lua, close);
    lua_setfield(lua, -2, "__close");
}

const char *lh_lua_field(lua_State *lua, int index, const char *name) {
    const int table = lua_absindex(lua, index);
    if (lua_getfield(lua, table, name) != LUA_TSTRING) {
        (void)luaL_error(lua, "field '%s' must be a string", name);
    }
    return lua_tostring(lua, -1);
}

int64_t lh_lua_count(lua_State *lua, int index, int64_t most) {
    luaL_checktype(lua, index, LUA_TTABLE);
    const lua_Unsigned count = lua_rawlen(lua, index);
    if (count > (lua_Unsigned)most)
        (void)luaL_error(lua, "%I entries, but at most %I are read", (lua_Integer)count,
                         (lua_Integer)most);
    return (int64_t)count;
}

/* ---- the module ---- */

static int open_core(lua_State *lua) {
    lua_newtable(lua);
    luaL_setfuncs(lua, lh_lua_arguments, 0);
    luaL_setfuncs(lua, lh_lua_models, 0);
    luaL_setfuncs(lua, lh_lua_option_values, 0);
    luaL_setfuncs(lua, lh_lua_sessions, 0);
    luaL_setfuncs(lua, lh_lua_generate, 0);
    luaL_setfuncs(lua, lh_lua_files, 0);
    luaL_setfuncs(lua, lh_lua_json, 0);
    luaL_setfuncs(lua, lh_lua_machine, 0);
    luaL_setfuncs(lua, lh_lua_cost, 0);
    luaL_setfuncs(lua, lh_lua_check_model, 0);
    luaL_setfuncs(lua, lh_lua_ranks, 0);
    luaL_setfuncs(lua, lh_lua_bounding, 0);
    luaL_setfuncs(lua, lh_lua_processes, 0);
    luaL_setfuncs(lua, lh_lua_csv, 0);
    return 1;
}

/* Loads the embedded file whose descriptor is the upvalue. */
static int load_embedded(lua_State *lua) {
    const lh_lua_file *file = lua_touserdata(lua, lua_upvalueindex(1));
    char chunk[256];
    (void)snprintf(chunk, sizeof chunk, "@%s", file->path);
    const int status = luaL_loadbufferx(lua, (const char *)file->text, file->bytes, chunk, "t");
    if (status != LUA_OK) return lua_error(lua);
    lua_pushstring(lua, file->module);
    lua_call(lua, 1, 1);
    return 1;
}

/* A script named like the library cannot shadow it: everything of ours is preloaded. */
static int fill_preload(lua_State *lua) {
    luaL_openlibs(lua);
    luaL_getsubtable(lua, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_pushcfunction(lua, open_core);
    lua_setfield(lua, -2, "longhaul.core");
    for (const lh_lua_file *file = lh_lua_embedded; file->module != NULL; ++file) {
        lua_pushlightuserdata(lua, (void *)(uintptr_t)file);
        lua_pushcclosure(lua, load_embedded, 1);
        lua_setfield(lua, -2, file->module);
    }
    return 0;
}

/* Garbage is looked for when there is four times as much as what is in use, not twice: a folder of
 * many runs is read once and kept, and a third of the time went into looking through it. */
static void collect_seldom(lua_State *lua) {
    lua_gc(lua, LUA_GCINC, 400, 400, 0);
}

lua_State *lh_lua_open(void) {
    lua_State *lua = luaL_newstate();
    if (lua == NULL) return NULL;
    collect_seldom(lua);
    lua_pushcfunction(lua, fill_preload);
    if (lua_pcall(lua, 0, 0, 0) == LUA_OK) return lua;
    lua_close(lua);
    return NULL;
}
