/* The folder, the files in it, and the call of a Lua reader whose lines count as coverage. */
#include "tests/fuzz/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/engine/error.h"
#include "harness/lua/bind.h"

enum { PATHS = 8, PATH_BYTES = 128, COUNTERS = 1 << 15 };

static char folder[PATH_BYTES - 64];

static void remove_folder(void) {
    char command[PATH_BYTES];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) (void)fprintf(stderr, "%s is left behind\n", folder);
}

/* In memory where that is a place for files: readers and writers are asked, not the disk. */
static const char *own_folder(void) {
    if (folder[0] != '\0') return folder;
    (void)snprintf(folder, sizeof folder, "%s/longhaul-fuzz-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(folder) == NULL || atexit(remove_folder) != 0) abort();
    return folder;
}

const char *scratch_path(const char *name) {
    static char paths[PATHS][PATH_BYTES];
    static int next;
    char *path = paths[next++ % PATHS];
    (void)snprintf(path, PATH_BYTES, "%s/%s", own_folder(), name);
    return path;
}

const char *scratch_write(const char *name, const void *data, size_t size) {
    const char *path = scratch_path(name);
    FILE *stream = fopen(path, "wb");
    if (stream == NULL || fwrite(data, 1, size, stream) != size || fclose(stream) != 0) abort();
    return path;
}

/* ---- Lua ---- */

/* libFuzzer takes these for coverage, too: one for each line, by a hash. */
__attribute__((section("__libfuzzer_extra_counters"))) static uint8_t counters[COUNTERS];

static void count_line(lua_State *lua, lua_Debug *record) {
    (void)lua_getinfo(lua, "S", record);
    const uint32_t file = (uint32_t)((uintptr_t)record->source >> 4);
    uint8_t *counter = &counters[(file * 2654435761u + (uint32_t)record->currentline) % COUNTERS];
    if (*counter < UINT8_MAX) *counter += 1;
}

/* A state with the script's function at the top of its stack. */
static lua_State *open_script(const char *script) {
    lua_State *lua = lh_lua_open();
    if (lua == NULL) abort();
    if (luaL_loadfilex(lua, script, "t") != LUA_OK || lua_pcall(lua, 0, 1, 0) != LUA_OK) {
        (void)fprintf(stderr, "%s\n", lua_tostring(lua, -1));
        abort();
    }
    lua_sethook(lua, count_line, LUA_MASKLINE, 0);
    return lua;
}

void scratch_call(const char *script, const uint8_t *data, size_t size) {
    static lua_State *lua;
    if (lua == NULL) lua = open_script(script);
    lua_pushvalue(lua, -1);
    lua_pushlstring(lua, (const char *)data, size);
    lua_pushstring(lua, own_folder());
    if (lua_pcall(lua, 2, 0, 0) != LUA_OK) {
        (void)fprintf(stderr, "%s: %s\n", script, lua_tostring(lua, -1));
        abort();
    }
    lua_sethook(lua, count_line, LUA_MASKLINE, 0); /* the sandbox has hooks of its own */
}
