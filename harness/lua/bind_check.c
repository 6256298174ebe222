/* What a model keeps of its promises. */
#include "harness/infer/model_check.h"
#include "harness/lua/bind.h"
#include "harness/train/adapter.h"

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

/* A function that is told what is checked; what goes wrong there ends no check. */
typedef struct listener {
    lua_State *lua;
    int function;
} listener;

typedef struct heard {
    const char *what;
    int done, all;
} heard;

static int push_heard(lua_State *lua, const void *from) {
    const heard *h = from;
    lua_pushstring(lua, h->what);
    lua_pushinteger(lua, h->done);
    lua_pushinteger(lua, h->all);
    return 3;
}

static void hear(void *context, const char *what, int done, int all) {
    const listener *l = context;
    const heard h = {what, done, all};
    if (!lua_checkstack(l->lua, LUA_MINSTACK)) return;
    (void)lh_lua_tell(l->lua, l->function, push_heard, &h);
    lua_pop(l->lua, 1);
}

/* check_model{model = its options, sizes = as task_info gives them, length = of a segment or nil,
 * seed or nil, hear(what, done, all) or nil} -> {length, {check, verdict = "ok", "failed",
 * "warning" or "left out", text} ...}.
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
    lua_getfield(lua, 1, "hear");
    listener l = {.lua = lua, .function = lua_gettop(lua)};
    if (lua_isfunction(lua, l.function)) {
        spec.hear = hear;
        spec.context = &l;
    }
    lh_lua_check(lua, lh_check_model(&spec, &report));
    lh_lua_settle(lua, lh_lua_guard(lua, push_report, &report));
    return 1;
}

/* model_takes(options of a model, sizes as task_info gives them, length of a segment or nil) ->
 * whether there is such a model, and it takes such segments; if not, why. */
static int model_takes(lua_State *lua) {
    const lh_lua_options *o = lh_lua_options_at(lua, 1, "model");
    const lh_model_setup setup = lh_lua_setup(lua, 2);
    const int64_t length = luaL_optinteger(lua, 3, 0);
    const lh_status before = lh_error_get()->status;
    lh_model *model = NULL;
    bool taken = lh_model_create_for(o->model, o->values, &setup, &model) == LH_OK;
    if (taken && length > 0) taken = lh_model_check(model, length) == LH_OK;
    if (model != NULL) lh_model_destroy(model);
    lua_pushboolean(lua, taken);
    if (taken) return 1;
    lua_pushstring(lua, lh_error_get()->message);
    lh_error_survive(before);
    return 2;
}

const luaL_Reg lh_lua_check_model[] = {
    {"check_model", check_model}, {"model_takes", model_takes}, {NULL, NULL}};
