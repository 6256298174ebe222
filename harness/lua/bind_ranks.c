/* The ranks of a run (harness/run/ranks.h). */
#include <stdlib.h>
#include <string.h>

#include "harness/lua/bind.h"
#include "harness/run/ranks.h"

/* ranks() -> rank, how many, whether one was lost. */
static int ranks(lua_State *lua) {
    const lh_communicator *all = lh_ranks();
    lua_pushinteger(lua, all != NULL ? all->rank : 0);
    lua_pushinteger(lua, all != NULL ? all->size : 1);
    lua_pushboolean(lua, all != NULL && all->lost);
    return 3;
}

/* share_text(text) -> rank 0's text on every rank. */
static int share_text(lua_State *lua) {
    lh_communicator *all = lh_ranks();
    size_t bytes = 0;
    const char *text = luaL_checklstring(lua, 1, &bytes);
    if (all == NULL) {
        lua_settop(lua, 1);
        return 1;
    }
    uint64_t size = lh_ranks_is_first(all) ? bytes : 0;
    lh_lua_check(lua, lh_ranks_merge(all, &size, sizeof size));
    char *shared = lua_newuserdatauv(lua, size + 1, 0);
    memset(shared, 0, size + 1);
    if (lh_ranks_is_first(all)) memcpy(shared, text, bytes);
    lh_lua_check(lua, lh_ranks_merge(all, shared, size));
    lua_pushlstring(lua, shared, size);
    return 1;
}

/* any_rank(flag) -> whether it is set on any rank. */
static int any_rank(lua_State *lua) {
    bool flag = lua_toboolean(lua, 1);
    lh_lua_check(lua, lh_ranks_any(lh_ranks(), &flag));
    lua_pushboolean(lua, flag);
    return 1;
}

/* sum_ranks(number) -> the sum over the ranks. */
static int sum_ranks(lua_State *lua) {
    double sum = luaL_checknumber(lua, 1);
    lh_lua_check(lua, lh_ranks_sum(lh_ranks(), &sum, 1));
    lua_pushnumber(lua, sum);
    return 1;
}

/* each_rank(number) -> the numbers of all ranks in their order, on every rank. */
static int each_rank(lua_State *lua) {
    lh_communicator *all = lh_ranks();
    const int size = all != NULL ? all->size : 1, rank = all != NULL ? all->rank : 0;
    const double own = luaL_checknumber(lua, 1);
    double *number = lua_newuserdatauv(lua, (size_t)size * sizeof *number, 0);
    for (int i = 0; i < size; ++i)
        number[i] = i == rank ? own : 0.0;
    lh_lua_check(lua, lh_ranks_sum(all, number, size));
    lua_createtable(lua, size, 0);
    for (int i = 0; i < size; ++i) {
        lua_pushnumber(lua, number[i]);
        lua_rawseti(lua, -2, i + 1);
    }
    return 1;
}

const luaL_Reg lh_lua_ranks[] = {{"ranks", ranks},         {"share_text", share_text},
                                 {"any_rank", any_rank},   {"sum_ranks", sum_ranks},
                                 {"each_rank", each_rank}, {NULL, NULL}};
