/* Bindings while Lua has no memory left: each allocation of a call fails once. That none leaks what
 * C holds meanwhile, the leak sanitizer tells (make test-sanitize). */
#include <signal.h>

#include "tests/test.h"

#include "harness/lua/bind.h"

static const char calls[] =
    "local core = require 'longhaul.core'\n"
    "core.setup_options()\n"
    "core.setup_generators()\n"
    "core.setup_sessions()\n"
    "require 'longhaul.run.metrics'\n"
    "local few = core.options('task', 'recall',\n"
    "  'vocabulary=16 pairs=2 lengths=8 batch=1 evaluate_sequences=1')\n"
    "local task = core.options('task', 'recall', '')\n"
    "local model = core.options('model', 'gpt2', 'width=8 layers=1 heads=1')\n"
    "local train = core.options('train', '', '')\n"
    "local info, words = core.task_info(task), core.tokenizer('bytes')\n"
    "return {\n"
    "  function() return core.task_info(task) end,\n"
    "  function() return core.describe(model, info, 1) end,\n"
    "  function() return core.step_cost { model = model, task = task, train = train } end,\n"
    "  function() return task:text() end,\n"
    "  function() return words:encode('a text') end,\n"
    "  function() return words:decode { 97 } end,\n"
    "  function() return core.list_folder('tests') end,\n"
    "  function() return core.read_file('tests/leaks.txt') end,\n"
    "  function() return core.cache_folder() end,\n"
    "  function() return core.data_folders() end,\n"
    "  function() return core.program_folder() end,\n"
    "  function() return not pcall(core.describe, model, info, 'long') end,\n"
    "  function() return core.load_plugins 'tests/leaks.txt' end,\n"
    "  function()\n"
    "    local brt = core.options('model', 'brt',\n"
    "      'width=8 layers=1 heads=1 window=4 recurrent_layers=1')\n"
    "    local keep = core.options('train', '', 'steps=1 warmup=1 evaluate_every=1 "
    "keep_best=accuracy')\n"
    "    local session <close> = core.session {\n"
    "      model = brt, task = few, train = keep, device = 'cpu', seed = 1 }\n"
    "    session:train(nil, function() end)\n"
    "    return session:probe()\n"
    "  end,\n"
    "}\n";

static char message[256]; /* of the last failure */
static int64_t left;      /* allocations that succeed; negative: all */

static void *allocate(void *context, void *old, size_t had, size_t wanted) {
    (void)context;
    if (wanted == 0) {
        free(old);
        return NULL;
    }
    if (left == 0 && (old == NULL || wanted > had)) return NULL;
    if (left > 0 && old == NULL) left -= 1;
    return realloc(old, wanted);
}

/* Calls the function at the top, and leaves it there, with `allocations` that succeed. */
static int call(lua_State *lua, int64_t allocations) {
    lua_pushvalue(lua, -1);
    left = allocations;
    const int status = lua_pcall(lua, 0, 1, 0);
    left = -1;
    if (status != LUA_OK) (void)snprintf(message, sizeof message, "%s", lua_tostring(lua, -1));
    lua_pop(lua, 1);
    return status;
}

/* As a training does, which is to take that back. */
static bool catches_signals(void) {
    struct sigaction now;
    return sigaction(SIGINT, NULL, &now) != 0 || now.sa_handler != SIG_DFL;
}

TEST(bindings_give_up_where_lua_has_no_memory) {
    enum { MOST_ALLOCATIONS = 4096 };
    lua_State *lua = lh_lua_open();
    REQUIRE(lua != NULL);
    left = -1;
    lua_setallocf(lua, allocate, NULL);
    if (!CHECK(luaL_dostring(lua, calls) == LUA_OK)) (void)puts(lua_tostring(lua, -1));
    for (int i = 1; lua_istable(lua, 1) && lua_geti(lua, 1, i) == LUA_TFUNCTION; ++i) {
        int64_t n = 0;
        int status = LUA_ERRMEM;
        while (n < MOST_ALLOCATIONS && (status = call(lua, n)) != LUA_OK &&
               CHECK_CONTAINS(message, "not enough memory"))
            n += 1;
        CHECK(!catches_signals());
        CHECK_EQ_INT(status, LUA_OK);
        lua_settop(lua, 1);
    }
    lua_close(lua);
}
