/* Model and task classes, and what a model is without allocating it. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/text/corpus_class.h"
#include "harness/engine/nearest_name.h"
#include "harness/engine/plugin.h"
#include "harness/engine/state.h"
#include "harness/lua/bind.h"
#include "harness/tasks/tasks.h"
#include "harness/train/adapter.h"
#include "harness/train/evaluate.h"

/* Sets field "published_names" to an array of {published, own or nil, lies}, where the model has
 * some. */
static void set_published_names(lua_State *lua, const lh_tensor_name *names) {
    static const char *const layouts[] = {[LH_ALIKE] = "alike",
                                          [LH_TRANSPOSED] = "transposed",
                                          [LH_ALONG_FIRST] = "[n][1][m]",
                                          [LH_ALONG_SECOND] = "[1][n][m]",
                                          [LH_IN_ROWS] = "[rows][n / rows]",
                                          [LH_REVERSED] = "last first",
                                          [LH_SINES_FIRST] = "transposed, sines first"};
    if (names == NULL) return;
    lua_newtable(lua);
    for (int i = 0; names[i].published != NULL; ++i) {
        lua_newtable(lua);
        lh_lua_set_text(lua, "published", names[i].published);
        lh_lua_set_text(lua, "own", names[i].own);
        lh_lua_set_text(lua, "lies", layouts[names[i].layout]);
        lua_seti(lua, -2, i + 1);
    }
    lua_setfield(lua, -2, "published_names");
}

/* models() -> array of {name, summary, paper, layout or nil, version, tokens, encodes, sequential,
 * options, published_names or nil}; tokens: reads them; encodes: a source; sequential: one after
 * the other. */
static int models(lua_State *lua) {
    const lh_model_class *class = NULL;
    lua_newtable(lua);
    for (int i = 0; (class = lh_model_class_at(i)) != NULL; ++i) {
        lua_newtable(lua);
        lh_lua_set_text(lua, "name", class->name);
        lh_lua_set_text(lua, "summary", class->summary);
        lh_lua_set_text(lua, "paper", class->paper);
        lh_lua_set_text(lua, "layout", class->layout);
        lh_lua_set_integer(lua, "version", class->version);
        lh_lua_set_text(lua, "file", lh_class_file(&lh_model_kind, class->name));
        lh_lua_set_flag(lua, "tokens", (class->abilities & LH_ABLE_TOKENS) != 0);
        lh_lua_set_flag(lua, "encodes", (class->abilities & LH_ABLE_SEQUENCE_TO_SEQUENCE) != 0);
        lh_lua_set_flag(lua, "sequential", (class->abilities & LH_IS_SEQUENTIAL) != 0);
        set_published_names(lua, class->published_names);
        lh_lua_push_tables(lua, class->options);
        lua_setfield(lua, -2, "options");
        lua_seti(lua, -2, i + 1);
    }
    return 1;
}

/* What every instance of a task predicts; NULL where its kind does not say. */
static const char *predicted_by(const lh_model_setup *kind) {
    if (kind->output_features > 0) return "vectors";
    return kind->vocabulary > 0 ? "tokens" : NULL;
}

/* tasks() -> array of {name, summary, version, file, predicts = "tokens", "vectors" or nil, scores
 * = whether it scores in a way of its own, bytes, words = whether predictions may be of a text that
 * has them, groups, options}. */
static int tasks(lua_State *lua) {
    const lh_task_class *class = NULL;
    lua_newtable(lua);
    for (int i = 0; (class = lh_task_class_at(i)) != NULL; ++i) {
        lua_newtable(lua);
        lh_lua_set_text(lua, "name", class->name);
        lh_lua_set_text(lua, "summary", class->summary);
        lh_lua_set_integer(lua, "version", class->version > 1 ? class->version : 1);
        lh_lua_set_text(lua, "file", lh_class_file(&lh_task_kind, class->name));
        lh_lua_set_text(lua, "predicts", predicted_by(&class->kind));
        lh_lua_set_flag(lua, "scores", class->score != NULL);
        lh_lua_set_flag(lua, "bytes", class->lacks != LH_HAS_NO_TEXT);
        lh_lua_set_flag(lua, "words", class->lacks == LH_MAY_HAVE_TEXT);
        lh_lua_set_texts(lua, "groups", class->groups);
        lh_lua_push_tables(lua, class->options);
        lua_setfield(lua, -2, "options");
        lua_seti(lua, -2, i + 1);
    }
    return 1;
}

/* pairs() -> array of {model, task, way = "own" or "adapter", or reason}: what each model does with
 * each task; no data is opened. */
static int pair_list(lua_State *lua) {
    const lh_model_class *model = NULL;
    const lh_task_class *task = NULL;
    lua_newtable(lua);
    for (int m = 0; (model = lh_model_class_at(m)) != NULL; ++m) {
        for (int t = 0; (task = lh_task_class_at(t)) != NULL; ++t) {
            const char *reason = lh_adapter_refuses(model, &task->kind);
            const bool adapts = reason == NULL && lh_adapter_ways(model, &task->kind) != 0;
            lua_newtable(lua);
            lh_lua_set_text(lua, "model", model->name);
            lh_lua_set_text(lua, "task", task->name);
            lh_lua_set_text(lua, reason != NULL ? "reason" : "way",
                            reason != NULL ? reason
                            : adapts       ? "adapter"
                                           : "own");
            lua_seti(lua, -2, (lua_Integer)lua_rawlen(lua, -2) + 1);
        }
    }
    return 1;
}

/* ---- describing ---- */

static void push_adapter(lua_State *lua, uint32_t ways) {
    const char *text = NULL;
    lua_newtable(lua);
    for (int i = 0; (text = lh_adapter_text(ways, i)) != NULL; ++i) {
        lua_pushstring(lua, text);
        lua_seti(lua, -2, i + 1);
    }
    lua_setfield(lua, -2, "adapter");
}

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
        lh_lua_set_text(lua, "name", param->name);
        push_shape(lua, param->rank, param->shape);
        lua_setfield(lua, -2, "shape");
        lh_lua_set_integer(lua, "count", param->count);
        lua_seti(lua, -2, i + 1);
    }
}

static void push_states(lua_State *lua, const lh_model *model) {
    lua_newtable(lua);
    for (int i = 0; i < model->state_count; ++i) {
        const lh_state_spec *state = &model->states[i];
        lua_newtable(lua);
        lh_lua_set_text(lua, "name", state->name);
        lh_lua_set_text(lua, "kind", state->kind == LH_STATE_RING ? "ring" : "replaced");
        push_shape(lua, state->rank, state->shape);
        lua_setfield(lua, -2, "shape");
        lua_seti(lua, -2, i + 1);
    }
}

typedef struct description {
    lh_model *model;
    int64_t length;
} description;

static int push_description(lua_State *lua) {
    const description *of = lua_touserdata(lua, 1);
    const lh_model *model = of->model;
    lua_newtable(lua);
    push_params(lua, model->params);
    lua_setfield(lua, -2, "parameters");
    push_states(lua, model);
    lua_setfield(lua, -2, "states");
    push_adapter(lua, model->adapter.ways);
    lh_lua_set_integer(lua, "total", lh_params_elements(model->params, true));
    lh_lua_set_integer(lua, "total_without_embedding", lh_params_elements(model->params, false));
    lh_lua_set_number(lua, "flops_per_token", lh_model_flops_per_token(model, of->length));
    lh_lua_set_integer(lua, "state_bytes", lh_model_state_bytes(model));
    return 1;
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
                    {"past_length", offsetof(lh_model_setup, past_length)},
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
        lh_lua_set_integer(lua, setup_fields[i].name, *setup_field(setup, i));
    }
    lh_lua_set_flag(lua, "many_lengths", setup->many_lengths);
}

lh_model_setup lh_lua_setup(lua_State *lua, int index) {
    lh_model_setup setup = {0};
    luaL_checktype(lua, index, LUA_TTABLE);
    for (int i = 0; i < SETUP_FIELDS; ++i) {
        lua_getfield(lua, index, setup_fields[i].name);
        *setup_field(&setup, i) = lua_tointeger(lua, -1);
        lua_pop(lua, 1);
    }
    lua_getfield(lua, index, "many_lengths");
    setup.many_lengths = lua_toboolean(lua, -1);
    lua_pop(lua, 1);
    return setup;
}

/* describe(options of a model, sizes as task_info gives them, length) -> {parameters, states,
 * totals, flops_per_token, state_bytes, adapter = what stands between, in words}. */
static int describe(lua_State *lua) {
    const lh_lua_options *o = lh_lua_options_at(lua, 1, "model");
    const lh_model_setup setup = lh_lua_setup(lua, 2);
    description of = {.length = luaL_optinteger(lua, 3, 1)};
    lh_lua_check(lua, lh_model_create_for(o->model, o->values, &setup, &of.model));
    const int status = lh_lua_guard(lua, push_description, &of);
    lh_model_destroy(of.model);
    lh_lua_settle(lua, status);
    return 1;
}

typedef struct task_data {
    char *data, *remark;
    uint64_t digest;
} task_data;

static int push_task_data(lua_State *lua) {
    const task_data *of = lua_touserdata(lua, 1);
    lua_newtable(lua);
    lh_lua_set_text(lua, "data", of->data);
    lh_lua_set_text(lua, "remark", of->remark);
    lh_lua_set_hex(lua, "digest", of->digest);
    return 1;
}

void lh_lua_push_task_data(lua_State *lua, const lh_task *task) {
    task_data of = {0};
    lh_lua_check(lua, lh_task_describe(task, &of.data, &of.remark));
    of.digest = task->class->digest(task->instance);
    const int status = lh_lua_guard(lua, push_task_data, &of);
    free(of.data);
    free(of.remark);
    lh_lua_settle(lua, status);
}

typedef struct open_task {
    lh_task *task;
    lh_model_setup setup;
} open_task;

static int push_task_info(lua_State *lua) {
    open_task *open = lua_touserdata(lua, 1);
    int64_t rows = 0, length = 0;
    open->task->class->shape(open->task->instance, &rows, &length);
    lh_lua_push_task_data(lua, open->task);
    lh_lua_set_integer(lua, "rows", rows);
    lh_lua_set_integer(lua, "length", length);
    push_setup(lua, &open->setup);
    return 1;
}

/* task_info(options of a task) -> {data, what is to remark on it or nil, digest, rows and length of
 * a batch, and the sizes that a model is told}: opens the data for a moment. */
static int task_info(lua_State *lua) {
    const lh_lua_options *o = lh_lua_options_at(lua, 1, "task");
    open_task open = {0};
    lh_lua_check(lua, lh_task_create(o->task, o->values, 1, &open.setup, &open.task));
    const int status = lh_lua_guard(lua, push_task_info, &open);
    lh_task_destroy(open.task);
    lh_lua_settle(lua, status);
    return 1;
}

/* Of so many seconds of reading at most. */
static lh_status measure(const lh_task *task, const lh_model_setup *setup, lh_split split,
                         lh_split_size *out) {
    static const double most_seconds = 2.0;
    LH_TRY(lh_task_check_split(task, setup, split));
    return lh_task_measure_split(task, split, most_seconds, out);
}

/* task_passes(options of a task) -> of a pass over the validation split, then of one over the test
 * split, what lh_lua_push_split_size says. Fails where one would have nothing to predict. */
static int task_passes(lua_State *lua) {
    const lh_lua_options *o = lh_lua_options_at(lua, 1, "task");
    lh_task *task = NULL;
    lh_model_setup setup = {0};
    lh_split_size valid = {0}, test = {0};
    lh_lua_check(lua, lh_task_create(o->task, o->values, 1, &setup, &task));
    lh_status status = measure(task, &setup, LH_VALID, &valid);
    if (status == LH_OK) status = measure(task, &setup, LH_TEST, &test);
    lh_task_destroy(task);
    lh_lua_check(lua, status);
    lh_lua_push_split_size(lua, &valid);
    lh_lua_push_split_size(lua, &test);
    return 2;
}

static int push_message(lua_State *lua, const void *from) {
    lua_pushstring(lua, from);
    return 1;
}

/* Adds a text to the array that is the upvalue. */
static int add_message(lua_State *lua) {
    const int list = lua_upvalueindex(1);
    lua_seti(lua, list, (lua_Integer)lua_rawlen(lua, list) + 1);
    return 0;
}

static void keep_message(void *context, const char *message) {
    lh_lua_tell_next(context, push_message, message);
}

/* load_plugins(path or nil) -> array of why some were skipped. */
static int load_plugins(lua_State *lua) {
    static const lh_plugin_kind *const kinds[] = {&lh_model_kind, &lh_task_kind, &lh_corpus_kind,
                                                  NULL};
    const char *path = luaL_optstring(lua, 1, NULL);
    lh_lua_hearer hearer;
    lh_lua_gather(lua, add_message, &hearer);
    lh_plugins_load(kinds, path, keep_message, &hearer);
    lh_lua_gathered(&hearer);
    return 1;
}

/* corpora() -> array of {name, summary}: those of plug-ins. */
static int corpora(lua_State *lua) {
    const lh_corpus_class *class = NULL;
    lua_newtable(lua);
    for (int i = 0; (class = lh_corpus_class_at(i)) != NULL; ++i) {
        lua_newtable(lua);
        lh_lua_set_text(lua, "name", class->name);
        lh_lua_set_text(lua, "summary", class->summary);
        lua_seti(lua, -2, i + 1);
    }
    return 1;
}

/* The names at 2, NULL-terminated, left on the stack. */
static const char **names_at_2(lua_State *lua) {
    enum { MOST = 1 << 16 };
    const int64_t count = lh_lua_count(lua, 2, 1 << 20), read = count < MOST ? count : MOST;
    const char **names = lua_newuserdatauv(lua, (size_t)(read + 1) * sizeof *names, 0);
    names[read] = NULL;
    for (int64_t i = 0; i < read; ++i) {
        lua_geti(lua, 2, i + 1);
        names[i] = luaL_checkstring(lua, -1); /* the table keeps it */
        lua_pop(lua, 1);
    }
    return names;
}

/* did_you_mean(word, names) -> what a message about a wrong name goes on with (nearest_name.h). */
static int did_you_mean(lua_State *lua) {
    const char *word = luaL_checkstring(lua, 1);
    lua_pushstring(lua, lh_did_you_mean(word, names_at_2(lua)));
    return 1;
}

/* nearest_name(word, names) -> the nearest, or nil. */
static int nearest_name(lua_State *lua) {
    const char *word = luaL_checkstring(lua, 1);
    lua_pushstring(lua, lh_nearest_name(word, names_at_2(lua)));
    return 1;
}

const luaL_Reg lh_lua_models[] = {{"models", models},
                                  {"tasks", tasks},
                                  {"pairs", pair_list},
                                  {"describe", describe},
                                  {"load_plugins", load_plugins},
                                  {"corpora", corpora},
                                  {"task_info", task_info},
                                  {"task_passes", task_passes},
                                  {"did_you_mean", did_you_mean},
                                  {"nearest_name", nearest_name},
                                  {NULL, NULL}};
