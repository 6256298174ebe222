/* Model and task classes, and what a model is without allocating it. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "harness/engine/model.h"
#include "harness/lua/bind.h"
#include "harness/train/session.h"

static void set_text(lua_State *lua, const char *name, const char *value) {
    lua_pushstring(lua, value);
    lua_setfield(lua, -2, name);
}

static void set_number(lua_State *lua, const char *name, double value) {
    lua_pushnumber(lua, value);
    lua_setfield(lua, -2, name);
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
        lh_lua_push_tables(lua, class->options);
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
        lh_lua_push_tables(lua, class->options);
        lua_setfield(lua, -2, "options");
        lua_seti(lua, -2, i + 1);
    }
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

/* describe(options of a model, sizes as task_info gives them, length) -> {parameters, states,
 * totals, flops_per_token, state_bytes}. */
static int describe(lua_State *lua) {
    const lh_lua_options *o = lh_lua_options_at(lua, 1, "model");
    const lh_model_setup setup = lh_lua_setup(lua, 2);
    lh_model *model = NULL;
    lh_lua_check(lua, lh_model_create(o->model, o->values, &setup, &model));
    push_model(lua, model, luaL_optinteger(lua, 3, 1));
    lh_model_destroy(model);
    return 1;
}

/* task_info(options of a task) -> {data, digest, length, and the sizes that a model is told}: opens
 * the data for a moment. */
static int task_info(lua_State *lua) {
    const lh_lua_options *o = lh_lua_options_at(lua, 1, "task");
    const lh_task_class *class = o->task;
    lh_task *task = NULL;
    lh_model_setup setup = {0};
    lh_lua_check(lua, lh_task_create(class, o->values, 1, &setup, &task));
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
                                  {"describe", describe},
                                  {"load_plugins", load_plugins},
                                  {"task_info", task_info},
                                  {"nearest", nearest},
                                  {NULL, NULL}};
