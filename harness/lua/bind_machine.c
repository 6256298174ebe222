/* The machine, the clock, the terminal, and a forward pass written to a file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "harness/bench/lsh_rate.h"
#include "harness/bench/op_rate.h"
#include "harness/bench/rate.h"
#include "harness/engine/clock.h"
#include "harness/engine/file.h"
#include "harness/engine/npy.h"
#include "harness/engine/pool.h"
#include "harness/engine/safetensors.h"
#include "harness/infer/forward.h"
#include "harness/lua/bind.h"
#include "harness/run/cpu_time.h"
#include "harness/run/machine.h"
#include "harness/train/interrupt.h"

/* machine() -> {cpu, host, system, blas, kernels, cores, threads, memory_bytes, version, dirty,
 * compiler, compiler_flags, share}. */
static int machine(lua_State *lua) {
    lh_machine m = {0};
    lh_lua_check(lua, lh_machine_describe(&m));
    lua_newtable(lua);
    lh_lua_set_text(lua, "cpu", m.cpu);
    lh_lua_set_text(lua, "host", m.host);
    lh_lua_set_text(lua, "system", m.system);
    lh_lua_set_text(lua, "blas", m.blas);
    lh_lua_set_text(lua, "kernels", m.kernels);
    lh_lua_set_text(lua, "version", lh_version());
    lh_lua_set_text(lua, "dirty", lh_version_dirty());
    lh_lua_set_text(lua, "compiler", lh_compiler());
    lh_lua_set_text(lua, "compiler_flags", lh_compiler_flags());
    lh_lua_set_text(lua, "share", lh_share_folder());
    lh_lua_set_integer(lua, "cores", m.cores);
    lh_lua_set_integer(lua, "threads", m.threads);
    lh_lua_set_integer(lua, "memory_bytes", m.memory_bytes);
    return 1;
}

/* load_average() -> of the last minute, or nil where the system does not say. */
static int load_average(lua_State *lua) {
    const double load = lh_load_average();
    if (load >= 0.0) lua_pushnumber(lua, load);
    return load >= 0.0;
}

/* set_threads(count): of the processor. */
static int set_threads(lua_State *lua) {
    enum { MOST_THREADS = 1024 };
    const lua_Integer count = luaL_checkinteger(lua, 1);
    luaL_argcheck(lua, count >= 1 && count <= MOST_THREADS, 1, "between 1 and 1024 threads");
    lh_cpu_set_threads((int)count);
    return 0;
}

/* check_device(name): fails where a run on it would, before anything is trained. */
static int check_device(lua_State *lua) {
    lh_device *device = NULL;
    lh_lua_check(lua, lh_pool_open_device(luaL_checkstring(lua, 1), &device));
    lh_device_close(device);
    return 0;
}

static int push_name(lua_State *lua) {
    const lh_device *device = lua_touserdata(lua, 1);
    lua_pushstring(lua, device->name);
    return 1;
}

/* device_name(device) -> what the maker calls it, or nil for the processor. */
static int device_name(lua_State *lua) {
    lh_device *device = NULL;
    lh_lua_check(lua, lh_pool_open_device(luaL_checkstring(lua, 1), &device));
    const int status = lh_lua_guard(lua, push_name, device);
    lh_device_close(device);
    lh_lua_settle(lua, status);
    return 1;
}

/* device_memory(device) -> bytes that sessions on it could still take. */
static int device_memory(lua_State *lua) {
    lh_device *device = NULL;
    lh_lua_check(lua, lh_pool_open_device(luaL_checkstring(lua, 1), &device));
    const bool is_cpu = device->kind == LH_CPU;
    lua_pushinteger(lua, is_cpu ? lh_memory_available() : device->memory_bytes);
    lh_device_close(device);
    return 1;
}

/* clock() -> seconds that only ever grow. */
static int clock_now(lua_State *lua) {
    lua_pushnumber(lua, lh_clock_seconds());
    return 1;
}

/* cpu_time() -> seconds of the processors, seconds of this process, processors, their name
 * (harness/run/cpu_time.h); nothing where the system does not say. */
static int cpu_time(lua_State *lua) {
    lh_cpu_time now;
    if (lh_cpu_time_read(&now) != LH_OK) {
        lh_error_clear();
        return 0;
    }
    lua_pushnumber(lua, now.machine);
    lua_pushnumber(lua, now.process);
    lua_pushinteger(lua, now.processors);
    lua_pushstring(lua, now.place);
    return 4;
}

/* sleep(seconds): less when a signal comes. */
static int sleep_seconds(lua_State *lua) {
    const double seconds = luaL_checknumber(lua, 1);
    struct timespec pause = {.tv_sec = (time_t)seconds};
    pause.tv_nsec = (long)(1e9 * (seconds - (double)pause.tv_sec));
    (void)nanosleep(&pause, NULL);
    return 0;
}

/* terminal_width("output" | "error") -> columns of that stream, or nil when it is no terminal. */
static int terminal_width(lua_State *lua) {
    static const char *const streams[] = {"output", "error", NULL};
    static const int files[] = {STDOUT_FILENO, STDERR_FILENO};
    const int file = files[luaL_checkoption(lua, 1, NULL, streams)];
    struct winsize size;
    if (isatty(file) == 0) return 0;
    const bool known = ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    lua_pushinteger(lua, known ? size.ws_col : 80);
    return 1;
}

/* program_folder() -> where the running program lies, "." when the system does not say. */
static int program_folder(lua_State *lua) {
    char *path = NULL;
    lh_lua_check(lua, lh_link_read("/proc/self/exe", &path));
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    if (slash != NULL) {
        lh_lua_push_owned(lua, path, (size_t)(slash - path));
    } else {
        free(path);
        lua_pushliteral(lua, ".");
    }
    return 1;
}

static int interrupted(lua_State *lua) {
    lua_pushboolean(lua, lh_interrupt_requested());
    return 1;
}

/* matmul_rate(size, threads, ours) -> FLOP/s of this machine's matrix product. */
static int matmul_rate(lua_State *lua) {
    double rate = 0;
    lh_lua_check(lua, lh_matmul_rate(luaL_checkinteger(lua, 1), (int)luaL_checkinteger(lua, 2),
                                     lua_toboolean(lua, 3), &rate));
    lua_pushnumber(lua, rate);
    return 1;
}

/* lsh_rate(length, rounds, chunk) -> seconds of full and LSH attention and of bringing tokens into
 * order. */
static int lsh_rate(lua_State *lua) {
    lh_lsh_rate rate;
    lh_lua_check(lua, lh_lsh_measure(luaL_checkinteger(lua, 1), luaL_checkinteger(lua, 2),
                                     luaL_checkinteger(lua, 3), &rate));
    const struct {
        const char *name;
        double value;
    } fields[] = {{"full", rate.full},
                  {"lsh", rate.lsh},
                  {"full_training", rate.full_training},
                  {"lsh_training", rate.lsh_training},
                  {"order", rate.order}};
    lua_newtable(lua);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; ++i) {
        lh_lua_set_number(lua, fields[i].name, fields[i].value);
    }
    return 1;
}

/* op_rate(ops) -> seconds that an op takes beside its kernel, forward and backward. */
static int op_rate(lua_State *lua) {
    lh_op_rate rate;
    lh_lua_check(lua, lh_op_measure(luaL_checkinteger(lua, 1), &rate));
    lua_pushnumber(lua, rate.recorded_s);
    lua_pushnumber(lua, rate.backward_s);
    return 2;
}

/* ---- forward ---- */

static lh_status run_forward(const lh_forward_spec *spec, const char *out, const char *heads) {
    lh_forward_result result = {0};
    lh_status status = lh_forward_run(spec, &result);
    const int64_t shape[] = {result.rows, result.length, result.columns};
    const int64_t heads_shape[] = {result.attentions, result.encoded, spec->length};
    if (status == LH_OK) status = lh_npy_write(out, 3, shape, result.values);
    if (status == LH_OK && heads != NULL)
        status = lh_npy_write(heads, 3, heads_shape, result.heads);
    free(result.values);
    free(result.heads);
    return status;
}

/* Rows of integers, the shorter ones filled up with 0, on the Lua stack. */
typedef struct integer_rows {
    int64_t rows, length; /* of the longest */
    int32_t *values, *counts;
} integer_rows;

enum { MOST_TOKENS = 1 << 24 }; /* and rows */

static int32_t *new_integers(lua_State *lua, int64_t count) {
    return lua_newuserdatauv(lua, (size_t)(count + 1) * sizeof(int32_t), 0);
}

static int32_t token_at_top(lua_State *lua) {
    const lua_Integer token = luaL_checkinteger(lua, -1);
    if (token < 0 || token > INT32_MAX) (void)luaL_error(lua, "token %I is out of range", token);
    return (int32_t)token;
}

/* Field `name` of the table at 1, {{...}, ...}; NULL values when it is absent. */
static integer_rows rows_of(lua_State *lua, const char *name) {
    integer_rows made = {0};
    lua_getfield(lua, 1, name);
    if (lua_isnil(lua, -1)) return made;
    const int table = lua_gettop(lua);
    made.rows = lh_lua_count(lua, table, MOST_TOKENS);
    made.counts = new_integers(lua, made.rows);
    for (int64_t r = 0; r < made.rows; ++r) {
        lua_geti(lua, table, r + 1);
        made.counts[r] = (int32_t)lh_lua_count(lua, -1, MOST_TOKENS);
        if (made.counts[r] > made.length) made.length = made.counts[r];
        lua_pop(lua, 1);
    }
    made.values = new_integers(lua, made.rows * made.length);
    memset(made.values, 0, (size_t)(made.rows * made.length) * sizeof *made.values);
    for (int64_t r = 0; r < made.rows; ++r) {
        lua_geti(lua, table, r + 1);
        for (int64_t t = 0; t < made.counts[r]; ++t) {
            lua_geti(lua, -1, t + 1);
            made.values[r * made.length + t] = token_at_top(lua);
            lua_pop(lua, 1);
        }
        lua_pop(lua, 1);
    }
    return made;
}

/* Tokens, and those of the source where there is one; the memory is left on the stack. */
static void read_tokens(lua_State *lua, lh_forward_spec *spec) {
    const integer_rows tokens = rows_of(lua, "tokens"), source = rows_of(lua, "source");
    spec->rows = tokens.rows;
    spec->length = tokens.length;
    spec->tokens = tokens.values;
    if (source.values == NULL) return;
    if (source.rows != tokens.rows)
        (void)luaL_error(lua, "%d rows of tokens, %d of the source", (int)tokens.rows,
                         (int)source.rows);
    spec->setup.source_vocabulary = spec->setup.vocabulary;
    spec->setup.source_length = source.length;
    spec->source = source.values;
    spec->source_count = source.counts;
}

static int push_reals(lua_State *lua) {
    const int64_t *count = lua_touserdata(lua, 1);
    (void)lua_newuserdatauv(lua, (size_t)(*count + 1) * sizeof(real), 0);
    return 1;
}

/* The array at `path`, [rows][length][features]; the memory is left on the stack. */
static void read_vectors(lua_State *lua, const char *path, lh_forward_spec *spec) {
    lh_npy array = {0};
    lh_lua_check(lua, lh_npy_read(path, &array));
    const int status = lh_lua_guard(lua, push_reals, &array.count);
    if (status != LUA_OK) lh_npy_clear(&array);
    lh_lua_settle(lua, status);
    real *vectors = lua_touserdata(lua, -1);
    const bool good =
        array.rank == 3 && array.reals != NULL && array.shape[2] == spec->setup.input_features;
    int64_t finite = 0;
    for (; good && finite < array.count && isfinite(array.reals[finite]); ++finite)
        vectors[finite] = (real)array.reals[finite];
    const bool whole = finite == array.count;
    spec->rows = array.shape[0];
    spec->length = array.shape[1];
    spec->vectors = vectors;
    lh_npy_clear(&array);
    if (good && whole) return;
    if (good)
        lh_lua_check(lua, lh_fail(LH_EFORMAT, "%s: element %lld is no finite number", path,
                                  (long long)finite));
    lh_lua_check(lua, lh_fail(LH_EFORMAT, "%s: no array of reals [rows][length][%lld]", path,
                              (long long)spec->setup.input_features));
}

/* forward{model = its options, sizes, weights or nil, seed, device, tokens = {{...}, ...} and
 * source =
 * {{...}, ...} or nil, or inputs = path, segment, out, heads = path or nil}: the rows of `tokens`
 * have one length; sizes as task_info gives them. */
static int forward(lua_State *lua) {
    luaL_checktype(lua, 1, LUA_TTABLE);
    lua_settop(lua, 1);
    const lh_lua_options *model = lh_lua_options_field(lua, 1, "model");
    lh_forward_spec spec = {
        .model = model->model, .options = model->values, .device = lh_lua_field(lua, 1, "device")};
    const char *out = lh_lua_field(lua, 1, "out");
    lua_getfield(lua, 1, "weights");
    spec.weights = luaL_optstring(lua, -1, NULL);
    lua_getfield(lua, 1, "sizes");
    spec.setup = lh_lua_setup(lua, lua_gettop(lua));
    lua_getfield(lua, 1, "segment");
    spec.segment = luaL_optinteger(lua, -1, 0);
    lua_getfield(lua, 1, "heads");
    const char *heads = luaL_optstring(lua, -1, NULL);
    spec.shows_heads = heads != NULL;
    lua_getfield(lua, 1, "seed");
    spec.seed = (uint64_t)luaL_optinteger(lua, -1, 1);
    if (lua_getfield(lua, 1, "inputs") == LUA_TSTRING)
        read_vectors(lua, lua_tostring(lua, -1), &spec);
    else
        read_tokens(lua, &spec);
    lh_lua_check(lua, run_forward(&spec, out, heads));
    return 0;
}

static int push_metadata(lua_State *lua) {
    static const char *const names[] = {"model",        "model_options", "task",
                                        "task_options", "vocabulary",    "vocabulary_digest"};
    const lh_safetensors *file = lua_touserdata(lua, 1);
    lua_newtable(lua);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        char key[64];
        (void)snprintf(key, sizeof key, "longhaul.%s", names[i]);
        lh_lua_set_text(lua, names[i], lh_safetensors_metadata(file, key));
    }
    return 1;
}

/* weights_texts(path) -> the texts of a weight file's metadata that longhaul writes, by their names
 * without "longhaul."; an empty table for a file of another's. */
static int weights_texts(lua_State *lua) {
    lh_safetensors *file = NULL;
    lh_lua_check(lua, lh_safetensors_open(luaL_checkstring(lua, 1), &file));
    const int status = lh_lua_guard(lua, push_metadata, file);
    lh_safetensors_close(file);
    lh_lua_settle(lua, status);
    return 1;
}

static int push_array(lua_State *lua) {
    const lh_npy *array = lua_touserdata(lua, 1);
    lua_newtable(lua);
    for (int64_t i = 0; i < array->count; ++i) {
        if (array->integers != NULL) {
            lua_pushinteger(lua, array->integers[i]);
        } else {
            lua_pushnumber(lua, array->reals[i]);
        }
        lua_seti(lua, -2, i + 1);
    }
    lua_newtable(lua);
    for (int i = 0; i < array->rank; ++i) {
        lua_pushinteger(lua, array->shape[i]);
        lua_seti(lua, -2, i + 1);
    }
    lua_setfield(lua, -2, "shape");
    return 1;
}

/* read_npy(path) -> {shape = {...}, values}: integers as integers, reals as reals. */
static int read_npy(lua_State *lua) {
    lh_npy array = {0};
    lh_lua_check(lua, lh_npy_read(luaL_checkstring(lua, 1), &array));
    const int status = lh_lua_guard(lua, push_array, &array);
    lh_npy_clear(&array);
    lh_lua_settle(lua, status);
    return 1;
}

const luaL_Reg lh_lua_machine[] = {{"machine", machine},
                                   {"load_average", load_average},
                                   {"set_threads", set_threads},
                                   {"check_device", check_device},
                                   {"device_name", device_name},
                                   {"clock", clock_now},
                                   {"device_memory", device_memory},
                                   {"cpu_time", cpu_time},
                                   {"sleep", sleep_seconds},
                                   {"terminal_width", terminal_width},
                                   {"program_folder", program_folder},
                                   {"interrupted", interrupted},
                                   {"matmul_rate", matmul_rate},
                                   {"lsh_rate", lsh_rate},
                                   {"op_rate", op_rate},
                                   {"forward", forward},
                                   {"read_npy", read_npy},
                                   {"weights_texts", weights_texts},
                                   {NULL, NULL}};
