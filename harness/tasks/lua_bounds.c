/* How they are kept: by an allocator, a hook and a limit of the process. */
#include "harness/tasks/lua_bounds.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COUNTED = 1000 };

/* A hook is given nothing of its own, and coroutines inherit it. */
static _Thread_local lh_lua_bounds *current;

/* lua_Alloc: refuses what goes beyond the bound, and then Lua collects garbage and asks again. */
static void *allocate(void *context, void *block, size_t before, size_t after) {
    lh_lua_bounds *b = context;
    const size_t old = block != NULL ? before : 0;
    if (after > old && after - old > b->bytes) {
        b->is_refused = true;
        return NULL;
    }
    void *made = b->allocate(b->context, block, before, after);
    if (after == 0 || made != NULL) b->bytes = b->bytes + old - after;
    return made;
}

static bool is_of_library(const lua_Debug *function) {
    return strncmp(function->source, "@harness/", 9) == 0 ||
           strncmp(function->source, "@datasets/", 10) == 0;
}

/* "sweep.lua:12: ", the innermost line that is not the library's; "" where there is none. */
static void find_place(lua_State *lua, char *place, size_t bytes) {
    lua_Debug function;
    for (int level = 0; lua_getstack(lua, level, &function) != 0; ++level) {
        (void)lua_getinfo(lua, "Sl", &function);
        if (function.currentline <= 0 || is_of_library(&function)) continue;
        (void)snprintf(place, bytes, "%s:%d: ", function.short_src, function.currentline);
        return;
    }
}

/* Once nothing is left every further instruction fails, so that no pcall of the script goes on;
 * whichever of these failures is seen last, it is told where the first one was. */
static void count(lua_State *lua, lua_Debug *unused) {
    (void)unused;
    if (current == NULL) return;
    current->instructions -= COUNTED;
    if (current->instructions >= 0) return;
    if (!current->is_overrun) find_place(lua, current->place, sizeof current->place);
    current->is_overrun = true;
    lua_sethook(lua, count, LUA_MASKCOUNT, 1);
    lua_pushfstring(lua, "%s%s %d million instructions: does a loop there end?", current->place,
                    current->limits.rule, current->limits.millions);
    (void)lua_error(lua);
}

/* ---- processor time ---- */

static void say_and_end(int signal_number) {
    static const char message[] =
        "longhaul: the script took more processor time than the sandbox allows\n";
    (void)signal_number;
    (void)!write(STDERR_FILENO, message, sizeof message - 1);
    _exit(1);
}

static void start_timer(lh_lua_bounds *b) {
    const struct sigaction ends = {.sa_handler = say_and_end};
    struct rusage used;
    (void)getrlimit(RLIMIT_CPU, &b->limit);
    (void)getrusage(RUSAGE_SELF, &used);
    struct rlimit limit = b->limit;
    limit.rlim_cur = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + b->limits.seconds + 1;
    if (limit.rlim_cur > b->limit.rlim_cur) limit.rlim_cur = b->limit.rlim_cur;
    (void)sigaction(SIGXCPU, &ends, &b->action);
    (void)setrlimit(RLIMIT_CPU, &limit);
}

static void stop_timer(const lh_lua_bounds *b) {
    (void)setrlimit(RLIMIT_CPU, &b->limit);
    (void)sigaction(SIGXCPU, &b->action, NULL);
}

/* ---- a call ---- */

void lh_lua_bounds_begin(lh_lua_bounds *bounds, lua_State *lua, const lh_lua_limits *limits) {
    *bounds = (lh_lua_bounds){.outer = current,
                              .lua = lua,
                              .hook = lua_gethook(lua),
                              .mask = lua_gethookmask(lua),
                              .every = lua_gethookcount(lua),
                              .instructions = (lua_Integer)limits->millions * 1000000,
                              .limits = *limits,
                              .bytes = limits->bytes};
    bounds->allocate = lua_getallocf(lua, &bounds->context);
    if (limits->seconds > 0) start_timer(bounds);
    current = bounds;
    lua_setallocf(lua, allocate, bounds);
    lua_sethook(lua, count, LUA_MASKCOUNT, COUNTED);
}

void lh_lua_bounds_end(const lh_lua_bounds *bounds) {
    lua_sethook(bounds->lua, bounds->hook, bounds->mask, bounds->every);
    lua_setallocf(bounds->lua, bounds->allocate, bounds->context);
    current = bounds->outer;
    if (bounds->limits.seconds > 0) stop_timer(bounds);
}
