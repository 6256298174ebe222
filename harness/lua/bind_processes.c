/* Workers: other processes of this program (harness/run/process.h), and what a process that waits
 * for them needs to know of signals and memory. */
#include <string.h>
#include <sys/resource.h>

#include "harness/lua/bind.h"
#include "harness/run/machine.h"
#include "harness/run/process.h"
#include "harness/train/interrupt.h"

static const char process_type[] = "longhaul.process";

enum { MOST_WORDS = 256, MOST_PROCESSES = 1024 };

static lh_process *process_at(lua_State *lua, int index) {
    return luaL_checkudata(lua, index, process_type);
}

static int process_close(lua_State *lua) {
    lh_process_kill(process_at(lua, 1));
    return 0;
}

/* process:read() -> what it has printed since, "" for nothing; nil once it has ended. */
static int process_read(lua_State *lua) {
    char text[4096];
    size_t bytes = 0;
    if (!lh_process_read(process_at(lua, 1), text, sizeof text, &bytes)) return 0;
    lua_pushlstring(lua, text, bytes);
    return 1;
}

static int process_stop(lua_State *lua) {
    lh_process_stop(process_at(lua, 1));
    return 0;
}

/* process:wait() -> its exit code, or minus the signal that ended it. */
static int process_wait(lua_State *lua) {
    lua_pushinteger(lua, lh_process_reap(process_at(lua, 1)));
    return 1;
}

/* start_process(words after the program's name) -> process. */
static int start_process(lua_State *lua) {
    static const luaL_Reg methods[] = {{"read", process_read},
                                       {"stop", process_stop},
                                       {"wait", process_wait},
                                       {"close", process_close},
                                       {NULL, NULL}};
    static char name[] = "longhaul";
    char *words[MOST_WORDS + 2] = {name};
    const int64_t count = lh_lua_count(lua, 1, MOST_WORDS);
    luaL_checkstack(lua, MOST_WORDS + 4, "too many words");
    for (int64_t i = 1; i <= count; ++i) {
        lua_geti(lua, 1, i);
        words[i] = (char *)(uintptr_t)luaL_checkstring(lua, -1); /* exec does not write to it */
    }
    lh_process *process = lua_newuserdatauv(lua, sizeof *process, 0);
    *process = (lh_process){.output = -1};
    lh_lua_push_type(lua, process_type, methods, process_close);
    lua_setmetatable(lua, -2);
    lh_lua_check(lua, lh_process_start(words, process));
    return 1;
}

/* await(processes, seconds): until one has printed or ended, or a signal came. */
static int await(lua_State *lua) {
    const lh_process *processes[MOST_PROCESSES];
    const int64_t count = lh_lua_count(lua, 1, MOST_PROCESSES);
    for (int64_t i = 0; i < count; ++i) {
        lua_geti(lua, 1, i + 1);
        processes[i] = process_at(lua, -1);
        lua_pop(lua, 1);
    }
    lh_process_await(processes, (int)count, luaL_checknumber(lua, 2));
    return 0;
}

/* catching_signals(f) -> what f() gives: meanwhile the first signal that asks the program to end
 * only shows in `interrupted`. */
static int catching_signals(lua_State *lua) {
    lh_interrupt before;
    luaL_checktype(lua, 1, LUA_TFUNCTION);
    lua_settop(lua, 1);
    lh_interrupt_catch(&before);
    const int status = lua_pcall(lua, 0, LUA_MULTRET, 0);
    lh_interrupt_release(&before);
    return status == LUA_OK ? lua_gettop(lua) : lua_error(lua);
}

/* memory() -> bytes that this machine could still lend; the most that this process has had. */
static int memory(lua_State *lua) {
    struct rusage used;
    (void)getrusage(RUSAGE_SELF, &used);
    lua_pushinteger(lua, lh_memory_available());
    lua_pushinteger(lua, (lua_Integer)used.ru_maxrss * 1024);
    return 2;
}

const luaL_Reg lh_lua_processes[] = {{"start_process", start_process},
                                     {"await", await},
                                     {"catching_signals", catching_signals},
                                     {"memory", memory},
                                     {NULL, NULL}};
