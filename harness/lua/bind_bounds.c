/* Bounds for calls of scripts that nobody trusts, and for the files of examples that they name. */
#include "harness/lua/bind.h"
#include "harness/tasks/lua_bounds.h"
#include "harness/tasks/lua_examples.h"

/* Million instructions, MiB and seconds as arguments 1 to 3. */
static lh_lua_limits limits_at(lua_State *lua) {
    return (lh_lua_limits){.millions = (int)luaL_checkinteger(lua, 1),
                           .bytes = (size_t)luaL_checkinteger(lua, 2) << 20,
                           .seconds = (unsigned)luaL_checkinteger(lua, 3),
                           .rule = "the sandbox allows"};
}

/* bounded(million_instructions, mebibytes, seconds, f, ...) -> what f(...) gives; an error where it
 * takes more. Seconds are of the processor, and end the program. */
static int bounded(lua_State *lua) {
    const lh_lua_limits limits = limits_at(lua);
    lh_lua_bounds bounds;
    luaL_checktype(lua, 4, LUA_TFUNCTION);
    lh_lua_bounds_begin(&bounds, lua, &limits);
    const int status = lua_pcall(lua, lua_gettop(lua) - 4, LUA_MULTRET, 0);
    lh_lua_bounds_end(&bounds);
    if (status == LUA_ERRMEM)
        return luaL_error(lua, "the sandbox allows %d MiB of memory", (int)lua_tointeger(lua, 2));
    if (status != LUA_OK) return lua_error(lua);
    return lua_gettop(lua) - 3;
}

/* bound_examples(million_instructions, mebibytes, seconds): the same for each call of a file of
 * examples that is opened from now on, the memory for all its calls; nothing given: as for a file
 * that is trusted. */
static int bound_examples(lua_State *lua) {
    const bool is_given = lua_gettop(lua) > 0;
    const lh_lua_limits limits = is_given ? limits_at(lua) : (lh_lua_limits){0};
    lh_lua_examples_bound(is_given ? &limits : NULL);
    return 0;
}

const luaL_Reg lh_lua_bounding[] = {
    {"bounded", bounded}, {"bound_examples", bound_examples}, {NULL, NULL}};
