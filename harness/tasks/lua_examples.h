/* Examples that a Lua file makes, for tasks whose rules are written there.
 *
 *     return {
 *       parameters = { word = 31, alphabet = 16 },
 *       sizes = function(p) return { vocabulary = p.alphabet + 1, length = 2 * p.word } end,
 *       chance = function(p) return { accuracy = 1 / p.alphabet } end,
 *       example = function(p, split) return tokens, targets, mask end,
 *     }
 *
 * `parameters`: defaults, of which a run may say others. `chance`, which may be left out: what
 * guessing scores. `example` gives an array of tokens and one
 * of targets, or arrays of vectors, and a mask, which may be left out: 1 or true where something is
 * to be predicted. An example follows from the file, the parameters, the split and a key of random
 * numbers alone: the file sees no clock, no other file and no order of a table's names, and
 * math.random draws under the key. So the content of the file is its digest. */
#ifndef LH_TASKS_LUA_EXAMPLES_H
#define LH_TASKS_LUA_EXAMPLES_H

#include "harness/engine/split.h"
#include "harness/tasks/lua_bounds.h"
#include "kernels/random.h"

/* What `sizes` says. Tokens have a vocabulary, vectors `inputs` and `outputs` numbers. */
typedef struct lh_example_sizes {
    int64_t length; /* of the longest example */
    int64_t vocabulary, inputs, outputs;
} lh_example_sizes;

/* One example, in arrays of `length` positions that the caller has; those behind its end are 0.
 * Of tokens the first two, of vectors the next two ([length][inputs] and [length][outputs]);
 * weights as the targets, a 1 for each number to predict. */
typedef struct lh_example {
    int32_t *tokens, *targets;
    real *inputs, *outputs, *weights;
} lh_example;

typedef struct lh_lua_examples lh_lua_examples;

/* What each call of a file may take that is opened from now on, and all of them of memory. NULL: as
 * at first what a loop without end alone takes. */
void lh_lua_examples_bound(const lh_lua_limits *limits);

/* Runs a file, for tokens or for vectors; parameters as "name=value name=value". Gives; destroy it.
 * Fails with the file's name and line: LH_EIO, LH_EFORMAT, LH_EOPTION for a parameter. */
lh_status lh_lua_examples_create(const char *file, const char *parameters, bool vectors,
                                 lh_lua_examples **out);
void lh_lua_examples_destroy(lh_lua_examples *examples); /* NULL is allowed */

const lh_example_sizes *lh_lua_examples_sizes(const lh_lua_examples *examples); /* lends */
/* What guessing scores, "accuracy 0.111, error_percent 88.9"; "" where the file does not say it. */
const char *lh_lua_examples_chance(const lh_lua_examples *examples); /* lends */
/* Of the file's content. */
uint64_t lh_lua_examples_digest(const lh_lua_examples *examples);

/* Makes the example of a key. Fails: LH_EFORMAT, with file and line. */
lh_status lh_lua_examples_make(lh_lua_examples *examples, lh_random_key key, lh_split split,
                               const lh_example *out);

#endif
