/* Model and task classes, their option tables, and what a model is without allocating it. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "harness/engine/model.h"
#include "harness/lua/bind.h"
#include "harness/train/session.h"

static const char *type_name(lh_option_type type) {
    static const char *const name[] = {"integer", "real", "flag", "choice", "text", "list"};
    return name[type];
}

static void set_text(lua_State *lua, const char *name, const char *value) {
    lua_pushstring(lua, value);
    lua_setfield(lua, -2, name);
}

static void set_number(lua_State *lua, const char *name, double value) {
    lua_pushnumber(lua, value);
    lua_setfield(lua, -2, name);
}

static void push_option(lua_State *lua, const lh_option *option) {
    lua_newtable(lua);
    set_text(lua, "name", option->name);
    set_text(lua, "type", type_name(lh_option_plain_type(option)));
    set_text(lua, "default", option->standard);
    set_text(lua, "meaning", option->meaning);
    if (option->minimum != 0 || option->maximum != 0) {
        set_number(lua, "minimum", option->minimum);
        set_number(lua, "maximum", option->maximum);
    }
    if (option->choices == NULL) return;
    lua_newtable(lua);
    for (int i = 0; option->choices[i] != NULL; ++i) {
        lua_pushstring(lua, option->choices[i]);
        lua_seti(lua, -2, i + 1);
    }
    lua_setfield(lua, -2, "choices");
}

static void push_table(lua_State *lua, const lh_option *table) {
    lua_newtable(lua);
    for (int i = 0; table[i].name != NULL; ++i) {
        push_option(lua, &table[i]);
        lua_seti(lua, -2, i + 1);
    }
}

/* models() -> array of {name, summary, paper, version, tokens, options}; tokens: reads them. */
static int models(lua_State *lua) {
    const lh_model_class *class = NULL;
    lua_newtable(lua);
    for (int i = 0; (class = lh_model_class_at(i)) != NULL; ++i) {
        lua_newtable(lua);
        set_text(lua, "name", class->name);
        set_text(lua, "summary", class->summary);
        set_text(lua, "paper", class->paper);
        lua_pushinteger(lua, class->version);
        lua_setfield(lua, -2, "version");
        lua_pushboolean(lua, (class->abilities & LH_ABLE_TOKENS) != 0);
        lua_setfield(lua, -2, "tokens");
        push_table(lua, class->options);
        lua_setfield(lua, -2, "options");
        lua_seti(lua, -2, i + 1);
    }
    return 1;
}

/* Sets field `name` to an array of the texts; an empty one when there are none. */
static void set_texts(lua_State *lua, const char *name, const char *const *texts) {
    lua_newtable(lua);
    for (int i = 0; texts != NULL && texts[i] != NULL; ++i) {
        lua_pushstring(lua, texts[i]);
        lua_seti(lua, -2, i + 1);
    }
    lua_setfield(lua, -2, name);
}

/* tasks() -> array of {name, summary, groups, options}. */
static int tasks(lua_State *lua) {
    const lh_task_class *class = NULL;
    lua_newtable(lua);
    for (int i = 0; (class = lh_task_class_at(i)) != NULL; ++i) {
        lua_newtable(lua);
        set_text(lua, "name", class->name);
        set_text(lua, "summary", class->summary);
        set_texts(lua, "groups", class->groups);
        push_table(lua, class->options);
        lua_setfield(lua, -2, "options");
        lua_seti(lua, -2, i + 1);
    }
    return 1;
}

static int train_options(lua_State *lua) {
    push_table(lua, lh_train_options);
    return 1;
}

/* ---- checking ---- */

/* The table that (kind, name) names; NULL after a message. */
static const lh_option *find_table(const char *kind, const char *name) {
    if (strcmp(kind, "train") == 0) return lh_train_options;
    if (strcmp(kind, "model") == 0) {
        const lh_model_class *class = lh_model_class_find(name);
        return class != NULL ? class->options : NULL;
    }
    const lh_task_class *class = lh_task_class_find(name);
    return class != NULL ? class->options : NULL;
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

/* Sets every pair of the table at `index`; string keys only. A table of options by name stands for
 * those with its own name in front: rsa = { gate = 1 } is rsa_gate = 1. */
static lh_status set_values(lua_State *lua, int index, const char *group, lh_options *options) {
    const int top = lua_gettop(lua);
    lh_status status = LH_OK;
    lua_pushnil(lua);
    while (status == LH_OK && lua_next(lua, index) != 0) {
        if (lua_type(lua, -2) != LUA_TSTRING) {
            status = lh_fail(LH_EOPTION, "options are given by name, as in { width = 128 }");
            break;
        }
        const char *name = lua_pushfstring(lua, group != NULL ? "%s_%s" : "%s%s",
                                           group != NULL ? group : "", lua_tostring(lua, -2));
        if (is_group(lua, top + 2)) {
            status = set_values(lua, top + 2, name, options);
        } else {
            status = lh_options_set(options, name, lh_lua_option_text(lua, top + 2));
        }
        lua_settop(lua, top + 1);
    }
    lua_settop(lua, top);
    return status;
}

/* What is said only when it is set, so that a row added to a table leaves the identity of runs made
 * before it: a text that is empty otherwise, and a late option. */
static bool is_silent(const lh_option *row, const char *value) {
    if (lh_option_is_silent(row, value)) return true;
    return row->type == LH_OPTION_TEXT && row->standard[0] == '\0' && value[0] == '\0';
}

/* "name=value name='two words'" with every row of the table that says something. */
static void push_canonical(lua_State *lua, const lh_options *options) {
    luaL_Buffer buffer;
    const lh_option *table = lh_options_table(options);
    luaL_buffinit(lua, &buffer);
    for (int i = 0; table[i].name != NULL; ++i) {
        const char *value = lh_options_value(options, i);
        if (is_silent(&table[i], value)) continue;
        const bool quotes = value[0] == '\0' || strpbrk(value, ", \t") != NULL;
        if (i > 0) luaL_addchar(&buffer, ' ');
        luaL_addstring(&buffer, table[i].name);
        luaL_addstring(&buffer, quotes ? "='" : "=");
        luaL_addstring(&buffer, value);
        if (quotes) luaL_addchar(&buffer, '\'');
    }
    luaL_pushresult(&buffer);
}

/* check(kind, name, values) -> canonical text of all options. values: a table, or "a=1 b=2". */
static int check(lua_State *lua) {
    const char *kind = luaL_checkstring(lua, 1), *name = luaL_checkstring(lua, 2);
    const char *text = lua_type(lua, 3) == LUA_TSTRING ? lua_tostring(lua, 3) : NULL;
    if (text == NULL) luaL_checktype(lua, 3, LUA_TTABLE);
    const lh_option *table = find_table(kind, name);
    if (table == NULL) return lh_lua_raise(lua, 0);
    lh_options *options = NULL;
    lh_lua_check(lua, lh_options_create(name, table, &options));
    const lh_status status =
        text != NULL ? lh_options_parse(options, text) : set_values(lua, 3, NULL, options);
    if (status == LH_OK) push_canonical(lua, options);
    lh_options_destroy(options);
    if (status != LH_OK) return lh_lua_raise(lua, 0);
    return 1;
}

/* option(kind, name, text, option) -> the value of one option as text. */
static int option_value(lua_State *lua) {
    const char *kind = luaL_checkstring(lua, 1), *name = luaL_checkstring(lua, 2);
    const lh_option *table = find_table(kind, name);
    if (table == NULL) return lh_lua_raise(lua, 0);
    lh_options *options = NULL;
    lh_lua_check(lua, lh_options_create(name, table, &options));
    const lh_status status = lh_options_parse(options, luaL_checkstring(lua, 3));
    lua_pushnil(lua);
    for (int i = 0; status == LH_OK && table[i].name != NULL; ++i) {
        if (strcmp(table[i].name, luaL_checkstring(lua, 4)) != 0) continue;
        lua_pushstring(lua, lh_options_value(options, i));
        break;
    }
    lh_options_destroy(options);
    lh_lua_check(lua, status);
    return 1;
}

/* ---- describing ---- */

static void push_shape(lua_State *lua, int rank, const int64_t *shape) {
    char text[160] = "";
    size_t used = 0;
    for (int i = 0; i < rank; ++i) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld", i > 0 ? " x " : "",
                                 (long long)shape[i]);
    }
    lua_pushstring(lua, text);
}

static void push_params(lua_State *lua, const lh_params *params) {
    lua_newtable(lua);
    for (int i = 0; i < lh_params_count(params); ++i) {
        const lh_param *param = lh_params_at(params, i);
        lua_newtable(lua);
        set_text(lua, "name", param->name);
        push_shape(lua, param->rank, param->shape);
        lua_setfield(lua, -2, "shape");
        lua_pushinteger(lua, param->count);
        lua_setfield(lua, -2, "count");
        lua_seti(lua, -2, i + 1);
    }
}

static void push_states(lua_State *lua, const lh_model *model) {
    lua_newtable(lua);
    for (int i = 0; i < model->state_count; ++i) {
        const lh_state_spec *state = &model->states[i];
        lua_newtable(lua);
        set_text(lua, "name", state->name);
        set_text(lua, "kind", state->kind == LH_STATE_RING ? "ring" : "replaced");
        push_shape(lua, state->rank, state->shape);
        lua_setfield(lua, -2, "shape");
        lua_seti(lua, -2, i + 1);
    }
}

static void push_model(lua_State *lua, const lh_model *model, int64_t length) {
    lua_newtable(lua);
    push_params(lua, model->params);
    lua_setfield(lua, -2, "parameters");
    push_states(lua, model);
    lua_setfield(lua, -2, "states");
    lua_pushinteger(lua, lh_params_elements(model->params, true));
    lua_setfield(lua, -2, "total");
    lua_pushinteger(lua, lh_params_elements(model->params, false));
    lua_setfield(lua, -2, "total_without_embedding");
    set_number(lua, "flops_per_token", lh_model_flops_per_token(model, length));
    lua_pushinteger(lua, lh_model_state_bytes(model));
    lua_setfield(lua, -2, "state_bytes");
}

/* The sizes that a task tells a model, as fields of a table. */
static const struct {
    const char *name;
    size_t offset;
} setup_fields[] = {{"vocabulary", offsetof(lh_model_setup, vocabulary)},
                    {"input_features", offsetof(lh_model_setup, input_features)},
                    {"output_features", offsetof(lh_model_setup, output_features)},
                    {"classes", offsetof(lh_model_setup, classes)},
                    {"source_vocabulary", offsetof(lh_model_setup, source_vocabulary)},
                    {"source_length", offsetof(lh_model_setup, source_length)},
                    {"time_features", offsetof(lh_model_setup, time_features)},
                    {"seq_len", offsetof(lh_model_setup, seq_len)},
                    {"label_len", offsetof(lh_model_setup, label_len)},
                    {"pred_len", offsetof(lh_model_setup, pred_len)},
                    {"stride", offsetof(lh_model_setup, stride)}};
enum { SETUP_FIELDS = sizeof setup_fields / sizeof setup_fields[0] };

static int64_t *setup_field(lh_model_setup *setup, int i) {
    return (int64_t *)(void *)((char *)setup + setup_fields[i].offset);
}

static void push_setup(lua_State *lua, lh_model_setup *setup) {
    for (int i = 0; i < SETUP_FIELDS; ++i) {
        lua_pushinteger(lua, *setup_field(setup, i));
        lua_setfield(lua, -2, setup_fields[i].name);
    }
}

lh_model_setup lh_lua_setup(lua_State *lua, int index) {
    lh_model_setup setup = {0};
    luaL_checktype(lua, index, LUA_TTABLE);
    for (int i = 0; i < SETUP_FIELDS; ++i) {
        lua_getfield(lua, index, setup_fields[i].name);
        *setup_field(&setup, i) = lua_tointeger(lua, -1);
        lua_pop(lua, 1);
    }
    return setup;
}

/* describe(model, options text, sizes as task_info gives them, length) -> {parameters, states,
 * totals, flops_per_token, state_bytes}. */
static int describe(lua_State *lua) {
    const char *name = luaL_checkstring(lua, 1), *text = luaL_checkstring(lua, 2);
    const lh_model_setup setup = lh_lua_setup(lua, 3);
    const lh_model_class *class = lh_model_class_find(name);
    if (class == NULL) return lh_lua_raise(lua, 0);
    lh_options *options = NULL;
    lh_model *model = NULL;
    lh_lua_check(lua, lh_options_create(name, class->options, &options));
    lh_status status = lh_options_parse(options, text);
    if (status == LH_OK) status = lh_model_create(class, options, &setup, &model);
    lh_options_destroy(options);
    lh_lua_check(lua, status);
    push_model(lua, model, luaL_optinteger(lua, 4, 1));
    lh_model_destroy(model);
    return 1;
}

/* task_info(task, options text) -> {data, digest, length, and the sizes that a model is told}:
 * opens the data for a moment. */
static int task_info(lua_State *lua) {
    const char *name = luaL_checkstring(lua, 1), *text = luaL_checkstring(lua, 2);
    const lh_task_class *class = lh_task_class_find(name);
    if (class == NULL) return lh_lua_raise(lua, 0);
    lh_options *options = NULL;
    lh_task *task = NULL;
    lh_model_setup setup = {0};
    lh_lua_check(lua, lh_options_create(name, class->options, &options));
    lh_status status = lh_options_parse(options, text);
    if (status == LH_OK) status = lh_task_create(class, options, 1, &setup, &task);
    lh_options_destroy(options);
    lh_lua_check(lua, status);
    char data[512] = "", hex[32];
    uint64_t digest = 0;
    int64_t rows = 0, length = 0;
    class->describe(task->instance, data, sizeof data, &digest);
    class->shape(task->instance, &rows, &length);
    lh_task_destroy(task);
    (void)snprintf(hex, sizeof hex, "%016llx", (unsigned long long)digest);
    lua_newtable(lua);
    set_text(lua, "data", data);
    set_text(lua, "digest", hex);
    lua_pushinteger(lua, length);
    lua_setfield(lua, -2, "length");
    push_setup(lua, &setup);
    return 1;
}

static void keep_message(void *context, const char *message) {
    lua_State *lua = context;
    lua_pushstring(lua, message);
    lua_seti(lua, -2, (lua_Integer)lua_rawlen(lua, -2) + 1);
}

/* load_plugins(path or nil) -> array of why some were skipped. */
static int load_plugins(lua_State *lua) {
    const char *path = luaL_optstring(lua, 1, NULL);
    lua_newtable(lua);
    lh_plugins_load(path, keep_message, lua);
    return 1;
}

/* nearest(word, names) -> name or nil. */
static int nearest(lua_State *lua) {
    enum { MOST = 128 };
    const char *names[MOST + 1] = {NULL};
    const lua_Integer count = luaL_len(lua, 2);
    luaL_checkstack(lua, MOST + 4, "too many names");
    for (lua_Integer i = 0; i < count && i < MOST; ++i) {
        lua_geti(lua, 2, i + 1);
        names[i] = luaL_checkstring(lua, -1);
    }
    lua_pushstring(lua, lh_nearest_name(luaL_checkstring(lua, 1), names));
    return 1;
}

const luaL_Reg lh_lua_models[] = {{"models", models},
                                  {"tasks", tasks},
                                  {"train_options", train_options},
                                  {"check", check},
                                  {"option", option_value},
                                  {"describe", describe},
                                  {"load_plugins", load_plugins},
                                  {"task_info", task_info},
                                  {"nearest", nearest},
                                  {NULL, NULL}};
