/* What a model keeps of its promises. */
#include "harness/infer/model_check.h"
#include "harness/lua/bind.h"

static int push_report(lua_State *lua) {
    static const char *const verdicts[] = {[LH_CHECK_OK] = "ok",
                                           [LH_CHECK_FAILED] = "failed",
                                           [LH_CHECK_WARNING] = "warning",
                                           [LH_CHECK_LEFT_OUT] = "left out"};
    const lh_check_report *report = lua_touserdata(lua, 1);
    lua_newtable(lua);
    lh_lua_set_integer(lua, "length", report->length);
    for (int i = 0; i < report->count; ++i) {
        lua_newtable(lua);
        lh_lua_set_text(lua, "check", report->finding[i].check);
        lh_lua_set_text(lua, "verdict", verdicts[report->finding[i].verdict]);
        lh_lua_set_text(lua, "text", report->finding[i].text);
        lua_seti(lua, -2, i + 1);
    }
    return 1;
}

/* check_model{model = its options, sizes = as task_info gives them, length = of a segment or nil,
 * seed or nil} -> {length, {check, verdict = "ok", "failed", "warning" or "left out", text} ...}.
 */
static int check_model(lua_State *lua) {
    luaL_checktype(lua, 1, LUA_TTABLE);
    lua_settop(lua, 1);
    const lh_lua_options *model = lh_lua_options_field(lua, 1, "model");
    lh_check_spec spec = {.model = model->model, .options = model->values};
    lh_check_report report;
    lua_getfield(lua, 1, "sizes");
    spec.setup = lh_lua_setup(lua, lua_gettop(lua));
    lua_getfield(lua, 1, "length");
    spec.length = luaL_optinteger(lua, -1, 0);
    lua_getfield(lua, 1, "seed");
    spec.seed = (uint64_t)luaL_optinteger(lua, -1, 1);
    lh_lua_check(lua, lh_check_model(&spec, &report));
    lh_lua_settle(lua, lh_lua_guard(lua, push_report, &report));
    return 1;
}

const luaL_Reg lh_lua_check_model[] = {{"check_model", check_model}, {NULL, NULL}};
