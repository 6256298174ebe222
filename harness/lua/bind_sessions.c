/* Training sessions as userdata. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "harness/engine/clock.h"
#include "harness/engine/plugin.h"
#include "harness/engine/state.h"
#include "harness/infer/export.h"
#include "harness/infer/forward.h"
#include "harness/infer/model_check.h"
#include "harness/lua/bind.h"
#include "harness/run/ranks.h"
#include "harness/train/context.h"
#include "harness/train/evaluate.h"
#include "harness/train/session.h"
#include "harness/train/session_file.h"
#include "harness/train/step_timer.h"
#include "harness/train/trainer.h"

static const char session_type[] = "longhaul.session";

static lh_session **slot_at(lua_State *lua, int index) {
    return luaL_checkudata(lua, index, session_type);
}

static lh_session *session_at(lua_State *lua, int index) {
    lh_session *session = *slot_at(lua, index);
    if (session == NULL) (void)luaL_error(lua, "the session is closed");
    return session;
}

static int session_close(lua_State *lua) {
    lh_session **slot = slot_at(lua, 1);
    lh_session_destroy(*slot);
    *slot = NULL;
    return 0;
}

/* ---- creating ---- */

/* Pushes which end of a metric is better, as the registry of metrics says. */
static int push_better(lua_State *lua) {
    const char *metric = lua_touserdata(lua, 1);
    lua_getglobal(lua, "require");
    lua_pushliteral(lua, "longhaul.run.metrics");
    lua_call(lua, 1, 1);
    lua_getfield(lua, -1, "better");
    lua_pushstring(lua, metric);
    lua_call(lua, 1, 1);
    return 1;
}

static lh_status is_highest_best(void *context, const char *metric, bool *highest) {
    lua_State *lua = context;
    const int status = lh_lua_guard(lua, push_better, metric);
    const bool known = status == LUA_OK && lua_type(lua, -1) == LUA_TSTRING;
    *highest = known && strcmp(lua_tostring(lua, -1), "max") == 0;
    lua_pop(lua, 1);
    if (known) return LH_OK;
    if (status == LUA_ERRMEM) return lh_fail(LH_EMEMORY, "not enough memory for Lua");
    return lh_fail(LH_EOPTION,
                   "train: keep_best=%s: the registry of metrics does not say which end is better",
                   metric);
}

/* All ranks of the run make the session together, unless one makes it `alone`.
 * session{model, task, train, seed, device, alone} -> session; the first three are options. */
static int session_create(lua_State *lua) {
    luaL_checktype(lua, 1, LUA_TTABLE);
    const lh_lua_options *model = lh_lua_options_field(lua, 1, "model"),
                         *task = lh_lua_options_field(lua, 1, "task"),
                         *train = lh_lua_options_field(lua, 1, "train");
    lua_getfield(lua, 1, "alone");
    const bool alone = lua_toboolean(lua, -1);
    lua_getfield(lua, 1, "seed");
    const lh_session_spec spec = {.model = model->model,
                                  .model_options = model->values,
                                  .task = task->task,
                                  .task_options = task->values,
                                  .train_options = train->values,
                                  .seed = (uint64_t)luaL_checkinteger(lua, -1),
                                  .device = lh_lua_field(lua, 1, "device"),
                                  .ranks = alone ? NULL : lh_ranks(),
                                  .is_highest_best = is_highest_best,
                                  .context = lua};
    lh_session **slot = lua_newuserdatauv(lua, sizeof *slot, 0);
    *slot = NULL;
    luaL_setmetatable(lua, session_type);
    lh_lua_check(lua, lh_session_create(&spec, slot));
    return 1;
}

/* ---- training ---- */

/* What the observer calls; an error in it stops the run and is raised afterwards. */
typedef struct watcher {
    lua_State *lua;
    int function;
    bool failed;
} watcher;

static void push_metrics(lua_State *lua, const lh_metrics *metrics) {
    lua_newtable(lua);
    for (int i = 0; i < metrics->count; ++i) {
        lh_lua_set_known_number(lua, metrics->entry[i].name, metrics->entry[i].value);
    }
}

static int push_progress(lua_State *lua, const void *from) {
    const lh_progress *p = from;
    lua_newtable(lua);
    lh_lua_set_integer(lua, "step", p->step);
    lh_lua_set_integer(lua, "steps", p->steps);
    lh_lua_set_integer(lua, "tokens", p->tokens);
    lh_lua_set_known_number(lua, "loss_bits", p->loss_bits);
    lh_lua_set_known_number(lua, "rate", p->rate);
    lh_lua_set_known_number(lua, "tokens_per_second", p->tokens_per_second);
    lh_lua_set_known_number(lua, "seconds", p->seconds);
    lh_lua_set_known_number(lua, "gradient_norm", p->gradient_norm);
    lh_lua_set_known_number(lua, "mse", p->mse);
    push_metrics(lua, &p->valid);
    lua_setfield(lua, -2, "valid");
    push_metrics(lua, &p->test);
    lua_setfield(lua, -2, "test");
    lh_lua_set_flag(lua, "is_best", p->is_best);
    return 1;
}

static lh_wish observe(void *context, const lh_progress *progress) {
    watcher *w = context;
    if (lh_lua_tell(w->lua, w->function, push_progress, progress) != LUA_OK) {
        w->failed = true;
        return LH_ABANDON;
    }
    const bool on = !lua_isboolean(w->lua, -1) || lua_toboolean(w->lua, -1);
    lua_pop(w->lua, 1);
    return on ? LH_GO_ON : LH_STOP;
}

/* What is told of evaluations now and then; what goes wrong there ends none. */
typedef struct listener {
    lua_State *lua;
    int function;
    double told;
} listener;

typedef struct evaluated {
    lh_split split;
    int64_t tokens;
} evaluated;

static int push_evaluated(lua_State *lua, const void *from) {
    const evaluated *e = from;
    lua_pushstring(lua, lh_split_names[e->split]);
    lua_pushinteger(lua, e->tokens);
    return 2;
}

static void hear(void *context, lh_split split, int64_t tokens) {
    static const double seconds_between = 0.2;
    const evaluated e = {split, tokens};
    listener *l = context;
    const double now = lh_clock_seconds();
    if (now - l->told < seconds_between || !lua_checkstack(l->lua, LUA_MINSTACK)) return;
    l->told = now;
    (void)lh_lua_tell(l->lua, l->function, push_evaluated, &e);
    lua_pop(l->lua, 1);
}

/* The function at an index of the stack, if there is one, hears of evaluations until it is taken
 * away. */
static void listen(lua_State *lua, lh_session *session, int index, listener *l) {
    *l = (listener){.lua = lua, .function = index, .told = lh_clock_seconds()};
    if (lua_isfunction(lua, index)) lh_session_watch_evaluations(session, hear, l);
}

/* session:train(checkpoint path or nil, observer or nil, what hears of evaluations (split, tokens
 * read) or nil) -> true, or false when interrupted. */
static int session_train(lua_State *lua) {
    lh_session *session = session_at(lua, 1);
    const char *path = luaL_optstring(lua, 2, NULL);
    watcher w = {.lua = lua, .function = 3};
    const bool watched = lua_isfunction(lua, 3);
    listener l;
    listen(lua, session, 4, &l);
    const lh_status status =
        lh_session_train(session, path, watched ? observe : NULL, watched ? &w : NULL);
    lh_session_watch_evaluations(session, NULL, NULL);
    if (w.failed) {
        lh_error_clear();
        return lua_error(lua);
    }
    if (status == LH_EINTERRUPT) lh_error_clear();
    if (status != LH_OK && status != LH_EINTERRUPT) return lh_lua_raise(lua, 0);
    lua_pushboolean(lua, status == LH_OK);
    return 1;
}

/* session:evaluate("valid" or "test", what hears of it or nil) -> metrics, or nil when
 * interrupted. */
static int session_evaluate(lua_State *lua) {
    lh_session *session = session_at(lua, 1);
    const lh_split split = (lh_split)luaL_checkoption(lua, 2, "valid", lh_split_names);
    lh_metrics metrics = {0};
    listener l;
    listen(lua, session, 3, &l);
    const lh_status status = lh_session_evaluate(session, split, &metrics);
    lh_session_watch_evaluations(session, NULL, NULL);
    if (status == LH_EINTERRUPT) {
        lh_error_clear();
        return 0;
    }
    lh_lua_check(lua, status);
    push_metrics(lua, &metrics);
    return 1;
}

/* session:check_split("valid" or "test"): fails where it could not be evaluated. */
static int session_check_split(lua_State *lua) {
    const lh_session *session = session_at(lua, 1);
    const lh_split split = (lh_split)luaL_checkoption(lua, 2, NULL, lh_split_names);
    lh_lua_check(lua, lh_session_check_split(session, split));
    return 0;
}

void lh_lua_push_split_size(lua_State *lua, const lh_split_size *size) {
    lua_createtable(lua, 0, 3);
    lh_lua_set_integer(lua, "tokens", size->tokens);
    lh_lua_set_number(lua, "bytes", size->bytes);
    lh_lua_set_number(lua, "words", size->words);
}

/* session:measure_split("valid" or "test") -> what lh_lua_push_split_size says of all of it. */
static int session_measure_split(lua_State *lua) {
    const lh_session *session = session_at(lua, 1);
    const lh_split split = (lh_split)luaL_checkoption(lua, 2, NULL, lh_split_names);
    lh_split_size size = {0};
    lh_lua_check(lua, lh_session_measure_split(session, split, &size));
    lh_lua_push_split_size(lua, &size);
    return 1;
}

/* Whether a row's document fills its first `length` places. */
static bool is_full(const lh_host_batch *host, int64_t row, int64_t length) {
    for (int64_t t = 0; t < length; ++t)
        if (host->weights != NULL && host->weights[row * host->length + t] == 0) return false;
    return true;
}

/* Adds the first `length` tokens of every row that has so many, up to `most` passages; the array is
 * on top of the stack. */
static void add_passages(lua_State *lua, const lh_host_batch *host, int64_t length, int64_t most) {
    for (int64_t r = 0; r < host->rows && (int64_t)lua_rawlen(lua, -1) < most; ++r) {
        if (!is_full(host, r, length)) continue;
        lua_createtable(lua, (int)length, 0);
        for (int64_t t = 0; t < length; ++t) {
            lua_pushinteger(lua, host->tokens[r * host->length + t]);
            lua_seti(lua, -2, t + 1);
        }
        lua_seti(lua, -2, (lua_Integer)lua_rawlen(lua, -2) + 1);
    }
}

/* session:passages("valid" or "test", count, length) -> arrays of tokens, each from a segment of a
 * document of its own where there are so many; fewer where the split ends before. */
static int session_passages(lua_State *lua) {
    const lh_task *task = lh_session_task(session_at(lua, 1));
    const lh_split split = (lh_split)luaL_checkoption(lua, 2, "valid", lh_split_names);
    const int64_t count = luaL_checkinteger(lua, 3), length = luaL_checkinteger(lua, 4);
    lh_host_batch host = {0};
    lua_newtable(lua);
    lh_lua_check(lua, task->class->evaluate_begin(task->instance, split));
    while ((int64_t)lua_rawlen(lua, -1) < count) {
        lh_lua_check(lua, task->class->evaluate_batch(task->instance, &host));
        if (host.rows == 0) break;
        if (host.tokens == NULL || length > host.length)
            return luaL_error(lua, "passages: segments hold %d tokens", (int)host.length);
        add_passages(lua, &host, length, count);
    }
    return 1;
}

/* session:inference_memory() -> bytes. */
static int session_inference_memory(lua_State *lua) {
    int64_t bytes = 0;
    lh_lua_check(lua, lh_session_inference_memory(session_at(lua, 1), &bytes));
    lua_pushinteger(lua, bytes);
    return 1;
}

/* session:context(length, passages) -> array of {part, distance, value, count} and, of what is
 * kept, `error`; or nil when interrupted. */
static int session_context(lua_State *lua) {
    lh_context found;
    const lh_status status = lh_session_context(session_at(lua, 1), luaL_checkinteger(lua, 2),
                                                luaL_checkinteger(lua, 3), &found);
    if (status == LH_EINTERRUPT) {
        lh_error_clear();
        return 0;
    }
    lh_lua_check(lua, status);
    lua_newtable(lua);
    for (int i = 0; i < LH_CONTEXT_PARTS * LH_CONTEXT_POINTS; ++i) {
        const int part = i / LH_CONTEXT_POINTS, k = i % LH_CONTEXT_POINTS;
        const int64_t count = found.count[part][k];
        if (count == 0) continue;
        lua_newtable(lua);
        lh_lua_set_text(lua, "part", lh_context_names[part]);
        lh_lua_set_integer(lua, "distance", (lua_Integer)1 << k);
        lh_lua_set_known_number(lua, "value", found.sum[part][k] / (double)count);
        lh_lua_set_integer(lua, "count", count);
        if (part == LH_CONTEXT_KEPT)
            lh_lua_set_known_number(lua, "error", lh_context_error(&found, k));
        lua_seti(lua, -2, (lua_Integer)lua_rawlen(lua, -2) + 1);
    }
    return 1;
}

/* session:matrix_rate() -> FLOP/s of its device's matrix products. */
static int session_matrix_rate(lua_State *lua) {
    double rate = 0.0;
    lh_lua_check(lua, lh_session_matrix_rate(session_at(lua, 1), &rate));
    lua_pushnumber(lua, rate);
    return 1;
}

static int session_save(lua_State *lua) {
    lh_lua_check(lua, lh_session_save(session_at(lua, 1), luaL_checkstring(lua, 2)));
    return 0;
}

static int session_restore(lua_State *lua) {
    lh_lua_check(lua, lh_session_restore(session_at(lua, 1), luaL_checkstring(lua, 2)));
    return 0;
}

/* session:save_weights(path, published, vocabulary's digest or nil): under published names. */
static int session_save_weights(lua_State *lua) {
    lh_lua_check(lua, lh_session_save_weights(session_at(lua, 1), luaL_checkstring(lua, 2),
                                              lua_toboolean(lua, 3), luaL_optstring(lua, 4, NULL)));
    return 0;
}

/* session:load_weights(path, partly): partly keeps what the file lacks. */
static int session_load_weights(lua_State *lua) {
    lh_lua_check(lua, lh_session_load_weights(session_at(lua, 1), luaL_checkstring(lua, 2),
                                              lua_toboolean(lua, 3)));
    return 0;
}

/* session:export(folder, batches): the folder must be there. */
static int session_export(lua_State *lua) {
    lh_lua_check(lua, lh_session_export(session_at(lua, 1), luaL_checkstring(lua, 2),
                                        luaL_checkinteger(lua, 3)));
    return 0;
}

/* session:info() -> {step, seconds, parameters, flops_per_token, state_bytes, peak_memory_bytes,
 * data, digest, and what is to remark on the data or nil}. */
static int session_info(lua_State *lua) {
    const lh_session *session = session_at(lua, 1);
    const lh_model *model = lh_session_model(session);
    lh_lua_push_task_data(lua, lh_session_task(session));
    lh_lua_set_integer(lua, "step", lh_session_step(session));
    lh_lua_set_integer(lua, "parameters", lh_params_elements(model->params, true));
    lh_lua_set_integer(lua, "peak_memory_bytes", lh_session_peak_memory(session));
    lh_lua_set_integer(lua, "state_bytes", lh_model_state_bytes(model));
    lh_lua_set_known_number(lua, "seconds", lh_session_seconds(session));
    lh_lua_set_known_number(lua, "flops_per_token", lh_session_flops_per_token(session));
    return 1;
}

typedef struct scalar {
    const char *name;
    double value;
} scalar;

static int push_scalar(lua_State *lua, const void *from) {
    const scalar *s = from;
    lua_pushstring(lua, s->name);
    lua_pushnumber(lua, s->value);
    return 2;
}

/* Sets a field of the table that is the upvalue. */
static int set_scalar(lua_State *lua) {
    lua_settable(lua, lua_upvalueindex(1));
    return 0;
}

static void report_probe(void *context, const char *name, double value) {
    const scalar s = {name, value};
    if (!isnan(value)) lh_lua_tell_next(context, push_scalar, &s);
}

/* session:probe() -> named scalars of the model. */
static int session_probe(lua_State *lua) {
    const lh_model *model = lh_session_model(session_at(lua, 1));
    lh_lua_hearer hearer;
    lh_lua_gather(lua, set_scalar, &hearer);
    const lh_report report = {report_probe, &hearer};
    if (model->class->probe != NULL)
        lh_lua_check(lua, model->class->probe(model->instance, model->params, &report));
    lh_lua_gathered(&hearer);
    return 1;
}

/* session:causality_fault() -> where a plug-in's model that declares to be causal is not, in a
 * small pass; nil where nothing was found, and for models of this tree, which its tests check. */
static int session_causality_fault(lua_State *lua) {
    const lh_session *session = session_at(lua, 1);
    const lh_model *model = lh_session_model(session);
    const lh_task *task = lh_session_task(session);
    lh_check_spec spec = {.model = model->class,
                          .options = model->options,
                          .setup = model->setup,
                          .shorter = true,
                          .seed = lh_session_seed(session)};
    lh_finding found;
    int64_t rows = 0;
    if (lh_class_file(&lh_model_kind, model->class->name) == NULL) return 0;
    if ((model->class->abilities & LH_ABLE_CAUSAL) == 0) return 0;
    task->class->shape(task->instance, &rows, &spec.length);
    lh_lua_check(lua, lh_check_causality(&spec, &found));
    if (found.verdict != LH_CHECK_FAILED) return 0;
    lua_pushstring(lua, found.text);
    return 1;
}

/* ---- timing ---- */

/* time_steps(sessions, warmup, steps) -> array of {median_ms, q1_ms, q3_ms, ...}. */
static int time_steps(lua_State *lua) {
    const int64_t count = lh_lua_count(lua, 1, INT_MAX);
    luaL_argcheck(lua, count >= 1, 1, "at least one session");
    lh_session **sessions = lua_newuserdatauv(lua, (size_t)count * sizeof *sessions, 0);
    lh_step_time *times = lua_newuserdatauv(lua, (size_t)count * sizeof *times, 0);
    for (int i = 0; i < count; ++i) {
        lua_geti(lua, 1, i + 1);
        sessions[i] = session_at(lua, -1);
        lua_pop(lua, 1);
    }
    lh_lua_check(lua, lh_session_time_steps(sessions, (int)count, (int)luaL_checkinteger(lua, 2),
                                            (int)luaL_checkinteger(lua, 3), times));
    lua_newtable(lua);
    for (int i = 0; i < count; ++i) {
        lua_newtable(lua);
        lh_lua_set_known_number(lua, "median_ms", times[i].median_ms);
        lh_lua_set_known_number(lua, "q1_ms", times[i].q1_ms);
        lh_lua_set_known_number(lua, "q3_ms", times[i].q3_ms);
        lh_lua_set_known_number(lua, "tokens_per_step", times[i].tokens_per_step);
        lh_lua_set_integer(lua, "peak_memory_bytes", times[i].peak_memory_bytes);
        lh_lua_set_integer(lua, "workspace_bytes", times[i].workspace_bytes);
        lh_lua_set_integer(lua, "allocations_after_warmup", times[i].allocations_after_warmup);
        lh_lua_set_integer(lua, "graphs_after_warmup", times[i].graphs_after_warmup);
        lua_seti(lua, -2, i + 1);
    }
    return 1;
}

static const luaL_Reg methods[] = {{"train", session_train},
                                   {"evaluate", session_evaluate},
                                   {"check_split", session_check_split},
                                   {"measure_split", session_measure_split},
                                   {"passages", session_passages},
                                   {"inference_memory", session_inference_memory},
                                   {"context", session_context},
                                   {"matrix_rate", session_matrix_rate},
                                   {"save", session_save},
                                   {"restore", session_restore},
                                   {"save_weights", session_save_weights},
                                   {"load_weights", session_load_weights},
                                   {"export", session_export},
                                   {"info", session_info},
                                   {"probe", session_probe},
                                   {"causality_fault", session_causality_fault},
                                   {"close", session_close},
                                   {NULL, NULL}};

/* setup_sessions(): makes the userdata type; the library calls it once. */
static int setup_sessions(lua_State *lua) {
    lh_lua_push_type(lua, session_type, methods, session_close);
    return 0;
}

const luaL_Reg lh_lua_sessions[] = {{"setup_sessions", setup_sessions},
                                    {"session", session_create},
                                    {"time_steps", time_steps},
                                    {NULL, NULL}};
