/* How they are kept: by an allocator, a hook and a limit of the process. */
#include "harness/tasks/lua_bounds.h"

#include <lauxlib.h>
#include <unistd.h>

enum { COUNTED = 1000 };

/* A hook is given nothing of its own, and coroutines inherit it. */
static _Thread_local lh_lua_bounds *current;

/* lua_Alloc: refuses what goes beyond the bound, and then Lua collects garbage and asks again. */
static void *allocate(void *context, void *block, size_t before, size_t after) {
    lh_lua_bounds *b = context;
    const size_t old = block != NULL ? before : 0;
    if (after > old && after - old > b->bytes) return NULL;
    void *made = b->allocate(b->context, block, before, after);
    if (after == 0 || made != NULL) b->bytes = b->bytes + old - after;
    return made;
}

/* Once nothing is left every further instruction fails, so that no pcall of the script goes on. */
static void count(lua_State *lua, lua_Debug *unused) {
    (void)unused;
    if (current == NULL) return;
    current->instructions -= COUNTED;
    if (current->instructions >= 0) return;
    lua_sethook(lua, count, LUA_MASKCOUNT, 1);
    luaL_where(lua, 0); /* a hook is no function of its own */
    lua_pushfstring(lua, "%sthe sandbox allows %d million instructions", lua_tostring(lua, -1),
                    current->millions);
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

static void start_timer(lh_lua_bounds *b, rlim_t seconds) {
    const struct sigaction ends = {.sa_handler = say_and_end};
    struct rusage used;
    (void)getrlimit(RLIMIT_CPU, &b->limit);
    (void)getrusage(RUSAGE_SELF, &used);
    struct rlimit limit = b->limit;
    limit.rlim_cur = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + seconds + 1;
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
                              .millions = limits->millions,
                              .bytes = limits->bytes};
    bounds->allocate = lua_getallocf(lua, &bounds->context);
    start_timer(bounds, limits->seconds);
    current = bounds;
    lua_setallocf(lua, allocate, bounds);
    lua_sethook(lua, count, LUA_MASKCOUNT, COUNTED);
}

void lh_lua_bounds_end(const lh_lua_bounds *bounds) {
    lua_sethook(bounds->lua, bounds->hook, bounds->mask, bounds->every);
    lua_setallocf(bounds->lua, bounds->allocate, bounds->context);
    current = bounds->outer;
    stop_timer(bounds);
}
