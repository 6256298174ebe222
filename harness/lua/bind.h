/* The C half of the Lua library: module `longhaul.core`. A binding checks its arguments, calls C,
 * releases everything, and only then raises, on the state it was called with. Whatever makes a
 * value of Lua raises where memory is short: what C holds meanwhile needs lh_lua_guard. */
#ifndef LH_LUA_BIND_H
#define LH_LUA_BIND_H

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "harness/engine/model.h"
#include "harness/train/evaluate.h"
#include "harness/train/task.h"

/* A new state with the standard libraries, longhaul.core and the embedded Lua files preloaded. NULL
 * when memory is short. Close with lua_close. */
lua_State *lh_lua_open(void);

/* Raises the recorded error of this thread, with `level`'s position in front (0: none), and clears
 * the record. */
int lh_lua_raise(lua_State *lua, int level);

/* Raises when status is not LH_OK; nothing may be held then. */
void lh_lua_check(lua_State *lua, lh_status status);

/* Pushes nil and why, and forgets the failure: for a function that answers what is refused so. */
int lh_lua_refuse(lua_State *lua);

/* Calls `push` with `from` as light userdata and leaves its one result on the stack, or the error
 * that it raised; the caller releases what it holds, and then lh_lua_settle raises that error. */
int lh_lua_guard(lua_State *lua, lua_CFunction push, const void *from);
void lh_lua_settle(lua_State *lua, int status);

/* Pushes what a function is told, and gives how many values it is. */
typedef int lh_lua_values(lua_State *lua, const void *from);

/* Calls the function at an index of the stack with these values; leaves its one result on the
 * stack, or the error that anything of this raised: for what C hears while it holds something. */
int lh_lua_tell(lua_State *lua, int function, lh_lua_values *values, const void *from);

/* A function that is told several things, up to the first failure: that stays on the stack for
 * lh_lua_settle, with `status`, which begins as LUA_OK. */
typedef struct lh_lua_hearer {
    lua_State *lua;
    int function, status;
} lh_lua_hearer;
void lh_lua_tell_next(lh_lua_hearer *hearer, lh_lua_values *values, const void *from);

/* Begins a table that a hearer fills: `add` puts what it is told into its upvalue. lh_lua_gathered
 * ends it with the table on top of the stack, or raises what failed. */
void lh_lua_gather(lua_State *lua, lua_CFunction add, lh_lua_hearer *hearer);
void lh_lua_gathered(const lh_lua_hearer *hearer);

/* Pushes a text that malloc made, or "" for NULL, and frees it. */
void lh_lua_push_owned(lua_State *lua, char *text, size_t bytes);

/* ---- one group of functions per file ---- */

extern const luaL_Reg lh_lua_arguments[];
extern const luaL_Reg lh_lua_models[];
extern const luaL_Reg lh_lua_option_values[];
extern const luaL_Reg lh_lua_sessions[];
extern const luaL_Reg lh_lua_generate[];
extern const luaL_Reg lh_lua_files[];
extern const luaL_Reg lh_lua_json[];
extern const luaL_Reg lh_lua_machine[];
extern const luaL_Reg lh_lua_cost[];
extern const luaL_Reg lh_lua_check_model[];
extern const luaL_Reg lh_lua_ranks[];
extern const luaL_Reg lh_lua_bounding[];
extern const luaL_Reg lh_lua_processes[];
extern const luaL_Reg lh_lua_csv[];

/* ---- shared by the groups ---- */

/* What `options` gives to Lua: values for one class, or for training when neither is set. */
typedef struct lh_lua_options {
    const lh_model_class *model;
    const lh_task_class *task;
    lh_options *values;
} lh_lua_options;

/* The options at `index`; raises when they are of another kind than "model", "task" or "train".
 * Lends while they are on the stack. */
const lh_lua_options *lh_lua_options_at(lua_State *lua, int index, const char *kind);

/* Field `name` of the table at `index` as options of that kind; left on the stack. */
const lh_lua_options *lh_lua_options_field(lua_State *lua, int index, const char *name);

/* Pushes a table {tokens, bytes, words}. */
void lh_lua_push_split_size(lua_State *lua, const lh_split_size *size);

/* Pushes an array of {name, type, meaning, default, minimum, maximum, choices}. */
void lh_lua_push_tables(lua_State *lua, const lh_option_table *tables);

/* Field `name` of the table at `index` as a string that the stack keeps alive; raises when absent
 * or no string. */
const char *lh_lua_field(lua_State *lua, int index, const char *name);

/* How many entries the array at `index` has, whatever its __len says; raises when it is no table or
 * has more than `most`. */
int64_t lh_lua_count(lua_State *lua, int index, int64_t most);

/* Pushes the metatable of the userdata of this name, which is made when it is first asked for: its
 * `methods` (NULL: none), and `close` for the collector and the end of a block. */
void lh_lua_push_type(lua_State *lua, const char *name, const luaL_Reg *methods,
                      lua_CFunction close);

/* Fields of the table at the top of the stack; of a NULL text there is none, and neither of a
 * number that has to be known and is not (NaN). */
void lh_lua_set_text(lua_State *lua, const char *name, const char *value);
void lh_lua_set_integer(lua_State *lua, const char *name, int64_t value);
void lh_lua_set_number(lua_State *lua, const char *name, double value);
void lh_lua_set_known_number(lua_State *lua, const char *name, double value);
void lh_lua_set_flag(lua_State *lua, const char *name, bool value);
void lh_lua_set_hex(lua_State *lua, const char *name, uint64_t value);

/* Sets field `name` to an array of the texts, which end with NULL; an empty one when there are
 * none. */
void lh_lua_set_texts(lua_State *lua, const char *name, const char *const *texts);

/* Pushes 16 hexadecimal digits. */
void lh_lua_push_hex(lua_State *lua, uint64_t value);

/* Pushes a table with `data`, `remark` (absent where there is none) and `digest` of an open task.
 */
void lh_lua_push_task_data(lua_State *lua, const lh_task *task);

/* The table at `index` as what a task tells a model; sizes that it lacks are 0. */
lh_model_setup lh_lua_setup(lua_State *lua, int index);

/* ---- embedded files ---- */

typedef struct lh_lua_file {
    const char *module; /* "longhaul.experiment" */
    const char *path;   /* for messages */
    const unsigned char *text;
    size_t bytes;
} lh_lua_file;

/* Made by scripts/embed.lua; ends with a NULL module. */
extern const lh_lua_file lh_lua_embedded[];

#endif
