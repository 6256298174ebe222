/* Bounds for a call of Lua that nobody trusts. */
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness/lua/bind.h"

enum { COUNTED = 1000 };

/* What is left to a call; calls may nest. */
typedef struct bounds {
    struct bounds *outer;
    lua_Alloc allocate;
    void *context;
    size_t bytes;
    lua_Integer instructions;
    int millions;
} bounds;

/* A hook is given nothing of its own, and coroutines inherit it. */
static _Thread_local bounds *current;

/* lua_Alloc: refuses what goes beyond the bound, and then Lua collects garbage and asks again. */
static void *allocate(void *context, void *block, size_t before, size_t after) {
    bounds *b = context;
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
    (void)luaL_error(lua, "the sandbox allows %d million instructions", current->millions);
}

/* ---- processor time, which a single call of a library function may take without end ---- */

static void say_and_end(int signal_number) {
    static const char message[] =
        "longhaul: the script took more processor time than the sandbox allows\n";
    (void)signal_number;
    (void)!write(STDERR_FILENO, message, sizeof message - 1);
    _exit(1);
}

typedef struct timer {
    struct rlimit limit;
    struct sigaction action;
} timer;

static void start_timer(timer *before, rlim_t seconds) {
    const struct sigaction ends = {.sa_handler = say_and_end};
    struct rusage used;
    (void)getrlimit(RLIMIT_CPU, &before->limit);
    (void)getrusage(RUSAGE_SELF, &used);
    struct rlimit limit = before->limit;
    limit.rlim_cur = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + seconds + 1;
    if (limit.rlim_cur > before->limit.rlim_cur) limit.rlim_cur = before->limit.rlim_cur;
    (void)sigaction(SIGXCPU, &ends, &before->action);
    (void)setrlimit(RLIMIT_CPU, &limit);
}

static void stop_timer(const timer *before) {
    (void)setrlimit(RLIMIT_CPU, &before->limit);
    (void)sigaction(SIGXCPU, &before->action, NULL);
}

/* bounded(million_instructions, mebibytes, seconds, f, ...) -> what f(...) gives; an error where it
 * takes more. Seconds are of the processor, and end the program. */
static int bounded(lua_State *lua) {
    timer before;
    bounds b = {.outer = current,
                .millions = (int)luaL_checkinteger(lua, 1),
                .bytes = (size_t)luaL_checkinteger(lua, 2) << 20};
    const rlim_t seconds = (rlim_t)luaL_checkinteger(lua, 3);
    luaL_checktype(lua, 4, LUA_TFUNCTION);
    const lua_Hook hook = lua_gethook(lua);
    const int mask = lua_gethookmask(lua), every = lua_gethookcount(lua);
    b.instructions = (lua_Integer)b.millions * 1000000;
    b.allocate = lua_getallocf(lua, &b.context);
    start_timer(&before, seconds);
    current = &b;
    lua_setallocf(lua, allocate, &b);
    lua_sethook(lua, count, LUA_MASKCOUNT, COUNTED);
    const int status = lua_pcall(lua, lua_gettop(lua) - 4, LUA_MULTRET, 0);
    lua_sethook(lua, hook, mask, every);
    lua_setallocf(lua, b.allocate, b.context);
    current = b.outer;
    stop_timer(&before);
    if (status == LUA_ERRMEM)
        return luaL_error(lua, "the sandbox allows %d MiB of memory", (int)lua_tointeger(lua, 2));
    if (status != LUA_OK) return lua_error(lua);
    return lua_gettop(lua) - 3;
}

const luaL_Reg lh_lua_bounds[] = {{"bounded", bounded}, {NULL, NULL}};
