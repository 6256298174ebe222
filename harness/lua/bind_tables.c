/* Fields of the table at the top of the stack. */
#include <math.h>
#include <stdio.h>

#include "harness/lua/bind.h"

void lh_lua_set_text(lua_State *lua, const char *name, const char *value) {
    lua_pushstring(lua, value);
    lua_setfield(lua, -2, name);
}

void lh_lua_set_integer(lua_State *lua, const char *name, int64_t value) {
    lua_pushinteger(lua, value);
    lua_setfield(lua, -2, name);
}

void lh_lua_set_number(lua_State *lua, const char *name, double value) {
    lua_pushnumber(lua, value);
    lua_setfield(lua, -2, name);
}

void lh_lua_set_known_number(lua_State *lua, const char *name, double value) {
    if (!isnan(value)) lh_lua_set_number(lua, name, value);
}

void lh_lua_set_flag(lua_State *lua, const char *name, bool value) {
    lua_pushboolean(lua, value);
    lua_setfield(lua, -2, name);
}

void lh_lua_set_texts(lua_State *lua, const char *name, const char *const *texts) {
    lua_newtable(lua);
    for (int i = 0; texts != NULL && texts[i] != NULL; ++i) {
        lua_pushstring(lua, texts[i]);
        lua_seti(lua, -2, i + 1);
    }
    lua_setfield(lua, -2, name);
}

void lh_lua_push_hex(lua_State *lua, uint64_t value) {
    char hex[17];
    (void)snprintf(hex, sizeof hex, "%016llx", (unsigned long long)value);
    lua_pushstring(lua, hex);
}

void lh_lua_set_hex(lua_State *lua, const char *name, uint64_t value) {
    lh_lua_push_hex(lua, value);
    lua_setfield(lua, -2, name);
}
