/* JSON as Lua values: what a program that was asked answers in it. */
#include <cjson/cJSON.h>

#include "harness/engine/json.h"
#include "harness/lua/bind.h"

static void push(lua_State *lua, const cJSON *value);

static void push_items(lua_State *lua, const cJSON *value) {
    const cJSON *item = NULL;
    lua_Integer index = 0;
    lua_newtable(lua);
    cJSON_ArrayForEach(item, value) {
        push(lua, item);
        if (item->string != NULL) {
            lua_setfield(lua, -2, item->string);
        } else {
            lua_seti(lua, -2, ++index);
        }
    }
}

/* null is nil, so that a field that is null is one that is not there. */
static void push(lua_State *lua, const cJSON *value) {
    luaL_checkstack(lua, 4, "JSON nests too deep");
    if (cJSON_IsBool(value)) {
        lua_pushboolean(lua, cJSON_IsTrue(value));
    } else if (cJSON_IsNumber(value)) {
        lua_pushnumber(lua, value->valuedouble);
    } else if (cJSON_IsString(value)) {
        lua_pushstring(lua, value->valuestring);
    } else if (cJSON_IsArray(value) || cJSON_IsObject(value)) {
        push_items(lua, value);
    } else {
        lua_pushnil(lua);
    }
}

static int push_root(lua_State *lua) {
    push(lua, lua_touserdata(lua, 1));
    return 1;
}

/* The value of the text at 1; cJSON_Delete() it. LH_EFORMAT: it is no JSON. */
static lh_status read_text(lua_State *lua, cJSON **out) {
    size_t bytes = 0;
    const char *text = luaL_checklstring(lua, 1, &bytes);
    lh_json_defect defect;
    *out = lh_json_parse(text, bytes, &defect);
    if (*out != NULL) return LH_OK;
    return lh_fail(LH_EFORMAT, "%s at byte %zu", defect.what, defect.offset + 1);
}

static int give(lua_State *lua, cJSON *root) {
    const int status = lh_lua_guard(lua, push_root, root);
    cJSON_Delete(root);
    lh_lua_settle(lua, status);
    return 1;
}

/* parse_json(text) -> its value: objects and arrays as tables, null as nil; an error with the byte
 * where it is no JSON. */
static int parse_json(lua_State *lua) {
    cJSON *root = NULL;
    lh_lua_check(lua, read_text(lua, &root));
    return give(lua, root);
}

/* parse_json_or_refusal(text): the same; nil and why where it is no JSON, so that a failure which
 * is no fault of the text is not taken for one. */
static int parse_json_or_refuse(lua_State *lua) {
    cJSON *root = NULL;
    const lh_status status = read_text(lua, &root);
    if (status == LH_EFORMAT) return lh_lua_refuse(lua);
    lh_lua_check(lua, status);
    return give(lua, root);
}

const luaL_Reg lh_lua_json[] = {
    {"parse_json", parse_json}, {"parse_json_or_refusal", parse_json_or_refuse}, {NULL, NULL}};
