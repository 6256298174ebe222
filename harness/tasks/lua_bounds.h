/* Bounds for a call of Lua whose end nobody knows: instructions, memory and, of a stranger's,
 * processor time, which a single call of a library function may take without end. */
#ifndef LH_TASKS_LUA_BOUNDS_H
#define LH_TASKS_LUA_BOUNDS_H

#include <lua.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

typedef struct lh_lua_limits {
    int millions;     /* of instructions */
    size_t bytes;     /* that may be held more than at the beginning */
    unsigned seconds; /* of the processor; they end the program; 0: not bounded */
    const char *rule; /* "the sandbox allows": how an error of instructions or memory begins */
} lh_lua_limits;

/* What is left to a call; calls may nest, those of one state in another's, too. */
typedef struct lh_lua_bounds {
    struct lh_lua_bounds *outer;
    lua_State *lua;
    lua_Alloc allocate;
    void *context;
    lua_Hook hook;
    int mask, every;
    lua_Integer instructions;
    lh_lua_limits limits;
    bool is_overrun, is_refused; /* of instructions, of memory */
    char
        place[LUA_IDSIZE + 16]; /* where the instructions were overrun; "" for none of the script */
    size_t bytes;               /* that may still be held */
    struct rlimit limit;
    struct sigaction action;
} lh_lua_bounds;

/* From here to the end what the state does counts. Between them the caller makes one protected
 * call: its error is LUA_ERRMEM where memory was refused. */
void lh_lua_bounds_begin(lh_lua_bounds *bounds, lua_State *lua, const lh_lua_limits *limits);
void lh_lua_bounds_end(const lh_lua_bounds *bounds);

#endif
