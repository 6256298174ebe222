/* Command-line arguments through getopt_long. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/nearest_name.h"
#include "harness/lua/bind.h"

/* What getopt_long calls option i is FIRST_OPTION + i, which no letter is. */
enum { MOST_OPTIONS = 32, MOST_ARGUMENTS = 256, FIRST_OPTION = 256 };

/* What one call of getopt_long works on; everything is owned by the Lua stack. */
typedef struct arguments {
    struct option option[MOST_OPTIONS + 1];
    bool repeats[MOST_OPTIONS + 1];
    char *argv[MOST_ARGUMENTS + 1];
    int option_count, argc;
} arguments;

/* Options are strings: "scale=" takes a value, "only=+" one each time that it is given, "force"
 * none. */
static void read_options(lua_State *lua, arguments *a) {
    a->option_count = (int)lh_lua_count(lua, 2, MOST_OPTIONS);
    for (int i = 0; i < a->option_count; ++i) {
        lua_geti(lua, 2, i + 1);
        const char *text = luaL_checkstring(lua, -1);
        const size_t length = strcspn(text, "=");
        const bool takes = text[length] == '=';
        lua_pushlstring(lua, text, length);
        a->option[i] = (struct option){.name = lua_tostring(lua, -1),
                                       .has_arg = takes ? required_argument : no_argument,
                                       .val = FIRST_OPTION + i};
        a->repeats[i] = takes && text[length + 1] == '+';
    }
}

static void read_words(lua_State *lua, arguments *a) {
    const int64_t count = lh_lua_count(lua, 1, MOST_ARGUMENTS - 1);
    static char name[] = "longhaul";
    a->argv[a->argc++] = name;
    for (int64_t i = 1; i <= count; ++i) {
        lua_geti(lua, 1, i);
        const char *text = luaL_checkstring(lua, -1);
        /* getopt permutes the pointers only; the text is never written to. */
        a->argv[a->argc++] = (char *)(uintptr_t)text;
    }
}

static int tell(lua_State *lua, const char *format, const char *text) {
    lua_pushnil(lua);
    lua_pushfstring(lua, format, text);
    return 2;
}

/* The word that getopt_long has refused: the last one, or the one of several letters that it is in.
 */
static const char *refused_word(const arguments *a) {
    const char *last = a->argv[optind > 1 ? optind - 1 : 1];
    const bool is_letter = optopt != 0 && optopt < FIRST_OPTION;
    const bool is_in = is_letter && !(last[0] == '-' && strlen(last) == 2);
    return is_in ? a->argv[optind] : last;
}

/* None that there is: the nearest one, for "--scael". */
static int refuse(lua_State *lua, const arguments *a, const char *word) {
    const char *names[MOST_OPTIONS + 1] = {NULL};
    luaL_checkstack(lua, a->option_count + 4, "too many options");
    for (int i = 0; i < a->option_count; ++i)
        names[i] = lua_pushfstring(lua, "--%s", a->option[i].name);
    const char *bare = word + strspn(word, "-");
    lua_pushlstring(lua, bare, strcspn(bare, "="));
    const char *name = lua_pushfstring(lua, "--%s", lua_tostring(lua, -1));
    lua_pushnil(lua);
    lua_pushfstring(lua, "unknown option: %s%s", word, lh_did_you_mean(name, names));
    return 2;
}

/* The word that named the option which getopt_long gave last: its value may be a word of its own.
 */
static const char *last_word(const arguments *a, int index) {
    const bool apart =
        a->option[index].has_arg == required_argument && optarg == a->argv[optind - 1];
    return a->argv[optind - (apart ? 2 : 1)];
}

/* getopt_long takes the beginning of a name for it: --seed would be --seeds. */
static bool is_whole(const char *word, const char *name) {
    const size_t length = strlen(name);
    return strncmp(word + 2, name, length) == 0 && strchr("=", word[2 + length]) != NULL;
}

/* Sets the option in the table at `values`: true, its value, or for one that repeats all values. */
static void keep(lua_State *lua, const arguments *a, int index, int values) {
    const char *name = a->option[index].name;
    if (!a->repeats[index]) {
        if (a->option[index].has_arg == required_argument) {
            lua_pushstring(lua, optarg);
        } else {
            lua_pushboolean(lua, 1);
        }
        lua_setfield(lua, values, name);
        return;
    }
    if (lua_getfield(lua, values, name) == LUA_TNIL) {
        lua_newtable(lua);
        lua_pushvalue(lua, -1);
        lua_setfield(lua, values, name);
        lua_remove(lua, -2);
    }
    lua_pushstring(lua, optarg);
    lua_seti(lua, -2, (lua_Integer)lua_rawlen(lua, -2) + 1);
    lua_pop(lua, 1);
}

/* arguments(words, options) -> {name = value, true, or {value ...} of one that repeats},
 * {positional ...}; or nil, message. */
static int parse(lua_State *lua) {
    arguments a = {0};
    luaL_checktype(lua, 1, LUA_TTABLE);
    luaL_checktype(lua, 2, LUA_TTABLE);
    luaL_checkstack(lua, MOST_ARGUMENTS + 2 * MOST_OPTIONS + 16, "too many arguments");
    read_options(lua, &a);
    read_words(lua, &a);
    lua_newtable(lua);
    const int values = lua_gettop(lua);
    opterr = 0;
    optind = 0;
    int found = 0;
    while ((found = getopt_long(a.argc, a.argv, ":", a.option, NULL)) != -1) {
        const int index = (found < FIRST_OPTION ? optopt : found) - FIRST_OPTION;
        const char *word = found < FIRST_OPTION ? refused_word(&a) : last_word(&a, index);
        if (index < 0 || !is_whole(word, a.option[index].name)) return refuse(lua, &a, word);
        if (found == ':') return tell(lua, "%s needs a value", word);
        if (found == '?') return tell(lua, "--%s takes no value", a.option[index].name);
        keep(lua, &a, index, values);
    }
    lua_newtable(lua);
    for (int i = optind; i < a.argc; ++i) {
        lua_pushstring(lua, a.argv[i]);
        lua_seti(lua, -2, i - optind + 1);
    }
    return 2;
}

const luaL_Reg lh_lua_arguments[] = {{"arguments", parse}, {NULL, NULL}};
