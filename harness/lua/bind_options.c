/* Options as values: what a script or a command line says of a class, checked once and passed on as
 * it is. */
#include <stdlib.h>
#include <string.h>

#include "harness/engine/plugin.h"
#include "harness/lua/bind.h"
#include "harness/tasks/tasks.h"
#include "harness/train/train_options.h"

static const char options_type[] = "longhaul.options";

/* ---- making ---- */

/* The tables that (kind, name) names; NULL after a message. */
static const lh_option_table *find_tables(lh_lua_options *o, const char *kind, const char *name) {
    if (strcmp(kind, "train") == 0) return lh_train_options;
    if (strcmp(kind, "model") == 0) {
        o->model = lh_model_class_find(name);
        return o->model != NULL ? o->model->options : NULL;
    }
    o->task = lh_task_class_find(name);
    return o->task != NULL ? o->task->options : NULL;
}

/* Whether the value at `index` is a table of options by name, not a list. */
static bool is_group(lua_State *lua, int index) {
    if (!lua_istable(lua, index)) return false;
    lua_pushnil(lua);
    if (lua_next(lua, index) == 0) return false;
    const bool named = lua_type(lua, -2) == LUA_TSTRING;
    lua_pop(lua, 2);
    return named;
}

/* Whether the keys of the table are 1 to `count`: what has another would be lost. */
static bool is_list(lua_State *lua, int index, lua_Unsigned count) {
    lua_Unsigned entries = 0;
    lua_pushnil(lua);
    for (; lua_next(lua, index) != 0; lua_pop(lua, 1))
        entries += 1;
    return entries <= count;
}

/* An array of integers; its memory is left on the stack. */
static lh_status set_list(lua_State *lua, int index, const char *name, lh_options *options) {
    enum { MOST = 1 << 16 };
    const lua_Unsigned count = lua_rawlen(lua, index); /* whatever __len says */
    if (!is_list(lua, index, count))
        return lh_fail(LH_EOPTION,
                       "%s: option '%s' is a list of integers such as { 1, 0, 2 }, without names "
                       "and gaps",
                       lh_options_owner(options), name);
    if (count > MOST)
        return lh_fail(LH_EOPTION, "%s: option '%s' is a list of at most %d integers, got %llu",
                       lh_options_owner(options), name, MOST, (unsigned long long)count);
    lh_list list = {.count = (int)count};
    int64_t *value = lua_newuserdatauv(lua, (size_t)list.count * sizeof *value + 1, 0);
    list.value = value;
    for (int i = 0; i < list.count; ++i) {
        int good = 0;
        lua_geti(lua, index, i + 1);
        value[i] = lua_tointegerx(lua, -1, &good);
        if (!good)
            return lh_fail(LH_EOPTION,
                           "%s: option '%s' must be a list of integers such as 1,0,2, got '%s' "
                           "at place %d",
                           lh_options_owner(options), name, luaL_tolstring(lua, -1, NULL), i + 1);
        lua_pop(lua, 1);
    }
    return lh_options_set_value(options, name, LH_OPTION_LIST, (lh_value){.list = list});
}

/* An array, which options of lists alone take. */
static lh_status set_array(lua_State *lua, int index, const char *name, lh_options *options) {
    const int at = lh_options_find(options, name);
    if (at < 0) return lh_options_set_value(options, name, LH_OPTION_LIST, (lh_value){0});
    if (lh_options_row(options, at)->type == LH_OPTION_LIST)
        return set_list(lua, index, name, options);
    return lh_fail(LH_EOPTION,
                   "%s: option '%s' takes one value, not a list; lh.grid and lh.tune try several",
                   lh_options_owner(options), name);
}

static lh_status set_text(lua_State *lua, int index, const char *name, lh_options *options) {
    size_t bytes = 0;
    const char *text = lua_tolstring(lua, index, &bytes);
    if (strlen(text) == bytes) return lh_options_set(options, name, text);
    return lh_fail(LH_EOPTION, "%s: option '%s' holds a zero byte", lh_options_owner(options),
                   name);
}

static lh_status set_option(lua_State *lua, int index, const char *name, lh_options *options) {
    lh_value value = {0};
    switch (lua_type(lua, index)) {
    case LUA_TNUMBER:
        if (!lua_isinteger(lua, index)) {
            value.real = lua_tonumber(lua, index);
            return lh_options_set_value(options, name, LH_OPTION_REAL, value);
        }
        value.integer = lua_tointeger(lua, index);
        return lh_options_set_value(options, name, LH_OPTION_INTEGER, value);
    case LUA_TBOOLEAN:
        value.flag = lua_toboolean(lua, index);
        return lh_options_set_value(options, name, LH_OPTION_FLAG, value);
    case LUA_TTABLE:
        return set_array(lua, index, name, options);
    case LUA_TSTRING:
        return set_text(lua, index, name, options);
    default:
        return lh_fail(LH_EOPTION, "%s: option '%s' cannot be a %s", lh_options_owner(options),
                       name, luaL_typename(lua, index));
    }
}

/* The option whose name is on top, which one table gives once: of rsa_gate = 1, rsa = { gate = 2 }
 * the last would stand, and the order is nobody's choice. `given` is a table of their names. */
static lh_status set_once(lua_State *lua, int index, const char *name, int given,
                          lh_options *options) {
    lua_pushvalue(lua, -1);
    if (lua_rawget(lua, given) != LUA_TNIL)
        return lh_fail(LH_EOPTION, "%s: option '%s' is given twice, by its name and in a group",
                       lh_options_owner(options), name);
    lua_pop(lua, 1);
    lua_pushvalue(lua, -1);
    lua_pushboolean(lua, true);
    lua_rawset(lua, given);
    return set_option(lua, index, name, options);
}

static lh_status set_values(lua_State *lua, int index, const char *group, int given,
                            lh_options *options);

/* A table of options by name stands for those with its own name in front: rsa = { gate = 1 } is
 * rsa_gate = 1. One that begins no option's name is refused unread: a table may hold itself. */
static lh_status set_group(lua_State *lua, int index, const char *name, int given,
                           lh_options *options) {
    if (lh_options_has_group(options, name)) return set_values(lua, index, name, given, options);
    lua_pushnil(lua);
    (void)lua_next(lua, index);
    return lh_options_set(options, lua_pushfstring(lua, "%s_%s", name, lua_tostring(lua, -2)), "");
}

/* Sets every pair of the table at `index`; string keys only. */
static lh_status set_values(lua_State *lua, int index, const char *group, int given,
                            lh_options *options) {
    const int top = lua_gettop(lua);
    lh_status status = LH_OK;
    luaL_checkstack(lua, 16, "options are nested too deep");
    lua_pushnil(lua);
    while (status == LH_OK && lua_next(lua, index) != 0) {
        if (lua_type(lua, -2) != LUA_TSTRING) {
            status = lh_fail(LH_EOPTION, "options are given by name, as in { width = 128 }");
            break;
        }
        const char *name = lua_pushfstring(lua, group != NULL ? "%s_%s" : "%s%s",
                                           group != NULL ? group : "", lua_tostring(lua, -2));
        status = is_group(lua, top + 2) ? set_group(lua, top + 2, name, given, options)
                                        : set_once(lua, top + 2, name, given, options);
        lua_settop(lua, top + 1);
    }
    lua_settop(lua, top);
    return status;
}

/* Leaves on the stack what options() makes of its arguments, whole where the status is LH_OK. */
static lh_status read_options(lua_State *lua) {
    const char *kind = luaL_checkstring(lua, 1), *name = luaL_checkstring(lua, 2);
    const char *text = lua_type(lua, 3) == LUA_TSTRING ? lua_tostring(lua, 3) : NULL;
    const char *base = luaL_optstring(lua, 4, "");
    if (text == NULL) luaL_checktype(lua, 3, LUA_TTABLE);
    lua_newtable(lua);
    const int given = lua_gettop(lua);
    lh_lua_options *o = lua_newuserdatauv(lua, sizeof *o, 0);
    *o = (lh_lua_options){0};
    luaL_setmetatable(lua, options_type);
    const lh_option_table *tables = find_tables(o, kind, name);
    if (tables == NULL) return lh_failed();
    LH_TRY(lh_options_create(o->model != NULL  ? o->model->name
                             : o->task != NULL ? o->task->name
                                               : "train",
                             tables, &o->values));
    if (o->model != NULL) lh_options_refuse(o->values, o->model->refused);
    LH_TRY(lh_options_parse(o->values, base));
    return text != NULL ? lh_options_parse(o->values, text)
                        : set_values(lua, 3, NULL, given, o->values);
}

/* options(kind, name, values, base or nil) -> options, checked. kind: "model", "task" or "train";
 * values: a table, or "a=1 b=2"; base: the text of options that they change. */
static int make_options(lua_State *lua) {
    lh_lua_check(lua, read_options(lua));
    return 1;
}

/* options_or_refusal(kind, name, values, base or nil): the same; nil and why where the words are
 * wrong, so that a failure which is no fault of theirs is not taken for one. */
static int make_options_or_refuse(lua_State *lua) {
    const lh_status status = read_options(lua);
    if (status == LH_EOPTION) return lh_lua_refuse(lua);
    lh_lua_check(lua, status);
    return 1;
}

static int close_options(lua_State *lua) {
    lh_lua_options *o = luaL_checkudata(lua, 1, options_type);
    lh_options_destroy(o->values);
    o->values = NULL;
    return 0;
}

/* At the program's end the collector may close options before they are asked for last. */
static const lh_lua_options *options_at(lua_State *lua, int index) {
    const lh_lua_options *o = luaL_checkudata(lua, index, options_type);
    if (o->values == NULL) (void)luaL_argerror(lua, index, "the options are closed");
    return o;
}

const lh_lua_options *lh_lua_options_at(lua_State *lua, int index, const char *kind) {
    const lh_lua_options *o = options_at(lua, index);
    const char *found = o->model != NULL ? "model" : o->task != NULL ? "task" : "train";
    if (strcmp(found, kind) != 0)
        (void)luaL_error(lua, "options of a %s, where those of a %s are wanted", found, kind);
    return o;
}

const lh_lua_options *lh_lua_options_field(lua_State *lua, int index, const char *name) {
    lua_getfield(lua, index, name);
    return lh_lua_options_at(lua, -1, name);
}

/* ---- reading ---- */

static int push_text(lua_State *lua, lh_status status, char *text) {
    lh_lua_check(lua, status);
    lh_lua_push_owned(lua, text, strlen(text));
    return 1;
}

/* options:text() -> canonical text of all. */
static int all_text(lua_State *lua) {
    char *text = NULL;
    const lh_lua_options *o = options_at(lua, 1);
    const lh_status status = lh_options_spell(o->values, &text);
    return push_text(lua, status, text);
}

/* options:said() -> the same without those that came later and stand at their standard: what the
 * identity of a run is made of. */
static int said_text(lua_State *lua) {
    char *text = NULL;
    const lh_lua_options *o = options_at(lua, 1);
    const char *const *later = o->model != NULL  ? o->model->later_options
                               : o->task != NULL ? o->task->later_options
                                                 : lh_train_later_options;
    const lh_status status = lh_options_spell_said(o->values, later, &text);
    return push_text(lua, status, text);
}

static void push_value(lua_State *lua, const lh_option *row, const lh_value *value) {
    switch (row->type) {
    case LH_OPTION_INTEGER:
        lua_pushinteger(lua, value->integer);
        break;
    case LH_OPTION_REAL:
        lua_pushnumber(lua, value->real);
        break;
    case LH_OPTION_FLAG:
        lua_pushboolean(lua, value->flag);
        break;
    case LH_OPTION_CHOICE:
        lua_pushstring(lua, row->choices[value->choice]);
        break;
    case LH_OPTION_TEXT:
        lua_pushstring(lua, value->text);
        break;
    case LH_OPTION_LIST:
        lua_createtable(lua, value->list.count, 0);
        for (int i = 0; i < value->list.count; ++i) {
            lua_pushinteger(lua, value->list.value[i]);
            lua_seti(lua, -2, i + 1);
        }
        break;
    }
}

/* options:value(name) -> number, boolean, text or array of integers; nil when there is none. */
static int one_value(lua_State *lua) {
    const lh_lua_options *o = options_at(lua, 1);
    const int index = lh_options_find(o->values, luaL_checkstring(lua, 2));
    if (index < 0) {
        lua_pushnil(lua);
        return 1;
    }
    push_value(lua, lh_options_row(o->values, index), lh_options_value(o->values, index));
    return 1;
}

/* options:spelled(name) -> the value as text, "1,0,2"; nil when there is none. */
static int one_text(lua_State *lua) {
    char *text = NULL;
    const lh_lua_options *o = options_at(lua, 1);
    const int index = lh_options_find(o->values, luaL_checkstring(lua, 2));
    if (index < 0) {
        lua_pushnil(lua);
        return 1;
    }
    const lh_status status = lh_option_spell(lh_options_row(o->values, index),
                                             lh_options_value(o->values, index), &text);
    return push_text(lua, status, text);
}

/* ---- the tables ---- */

static void push_standard(lua_State *lua, const lh_option *row) {
    char *text = NULL;
    const lh_status status = lh_option_spell(row, &row->standard, &text);
    (void)push_text(lua, status, text);
}

static void push_row(lua_State *lua, const lh_option *row) {
    static const char *const types[] = {"integer", "real", "flag", "choice", "text", "list"};
    lua_newtable(lua);
    lh_lua_set_text(lua, "name", row->name);
    lh_lua_set_text(lua, "type", types[row->type]);
    lh_lua_set_text(lua, "meaning", row->meaning);
    push_standard(lua, row);
    lua_setfield(lua, -2, "default");
    if (row->minimum != 0 || row->maximum != 0) {
        lh_lua_set_number(lua, "minimum", row->minimum);
        lh_lua_set_number(lua, "maximum", row->maximum);
    }
    if (row->choices != NULL) lh_lua_set_texts(lua, "choices", row->choices);
}

void lh_lua_push_tables(lua_State *lua, const lh_option_table *tables) {
    int count = 0;
    lua_newtable(lua);
    for (; tables->rows != NULL; ++tables) {
        for (const lh_option *row = tables->rows; row->name != NULL; ++row) {
            push_row(lua, row);
            lua_seti(lua, -2, ++count);
        }
    }
}

/* What argument 1, options of training, plans. */
static lh_train_plan plan_at_1(lua_State *lua) {
    const lh_lua_options *o = lh_lua_options_at(lua, 1, "train");
    lh_train_plan plan;
    lh_lua_check(lua, lh_train_plan_read(o->values, &plan));
    return plan;
}

/* schedule_uses_steps(options of training) -> whether the rate depends on how many steps there are.
 */
static int schedule_uses_steps(lua_State *lua) {
    const lh_train_plan plan = plan_at_1(lua);
    lua_pushboolean(lua, lh_schedule_uses_steps(&plan.schedule));
    return 1;
}

/* schedule_rate(options of training, step) -> the learning rate of that step, counted from 0. */
static int schedule_rate(lua_State *lua) {
    const lh_train_plan plan = plan_at_1(lua);
    lua_pushnumber(lua, lh_schedule_rate(&plan.schedule, luaL_checkinteger(lua, 2)));
    return 1;
}

/* check_train(options of training): fails where some of them exclude each other. */
static int check_train(lua_State *lua) {
    (void)plan_at_1(lua);
    return 0;
}

static int train_options(lua_State *lua) {
    lh_lua_push_tables(lua, lh_train_options);
    return 1;
}

static const luaL_Reg methods[] = {{"text", all_text},
                                   {"said", said_text},
                                   {"value", one_value},
                                   {"spelled", one_text},
                                   {NULL, NULL}};

/* setup_options(): makes the userdata type; the library calls it once. */
static int setup_options(lua_State *lua) {
    if (luaL_newmetatable(lua, options_type) == 0) return 0;
    luaL_newlib(lua, methods);
    lua_setfield(lua, -2, "__index");
    lua_pushcfunction(lua, close_options);
    lua_setfield(lua, -2, "__gc");
    return 0;
}

const luaL_Reg lh_lua_option_values[] = {{"setup_options", setup_options},
                                         {"options", make_options},
                                         {"options_or_refusal", make_options_or_refuse},
                                         {"train_options", train_options},
                                         {"schedule_uses_steps", schedule_uses_steps},
                                         {"schedule_rate", schedule_rate},
                                         {"check_train", check_train},
                                         {NULL, NULL}};
