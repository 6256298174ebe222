/* Tokenizers and generators for Lua. */
#include "datasets/digest.h"
#include "datasets/text/corpus_read.h"
#include "datasets/text/vocabulary.h"
#include "harness/infer/generator.h"
#include "harness/lua/bind.h"

#include <stdio.h>
#include <stdlib.h>

static const char tokenizer_type[] = "longhaul.tokenizer", generator_type[] = "longhaul.generator";

/* ---- tokenizers ---- */

static lh_tokenizer *tokenizer_at(lua_State *lua, int index) {
    lh_tokenizer **slot = luaL_checkudata(lua, index, tokenizer_type);
    if (*slot == NULL) luaL_argerror(lua, index, "the tokenizer is closed");
    return *slot;
}

static int tokenizer_close(lua_State *lua) {
    lh_tokenizer **slot = luaL_checkudata(lua, 1, tokenizer_type);
    lh_tokenizer_destroy(*slot);
    *slot = NULL;
    return 0;
}

/* Sets the options of a corpus to those of the same names that a task has. */
static lh_status take_options(const lh_options *task, lh_options *corpus) {
    for (const lh_option *row = lh_corpus_config_options; row->name != NULL; ++row) {
        const int index = lh_options_find(task, row->name);
        if (index < 0)
            return lh_fail(LH_EOPTION, "%s has no corpus of its own", lh_options_owner(task));
        LH_TRY(lh_options_set_value(corpus, row->name, row->type, *lh_options_value(task, index)));
    }
    return LH_OK;
}

static lh_status train_on(const lh_corpus_config *config, const char *name, lh_tokenizer **out) {
    lh_corpus *corpus = NULL;
    LH_TRY(lh_corpus_read(config, &corpus));
    const lh_status status = lh_vocabulary_open(corpus, name, NULL, out);
    lh_corpus_destroy(corpus);
    return status;
}

/* Trains on the documents of a task. */
static lh_status train_on_task(const lh_options *task, const char *name, lh_tokenizer **out) {
    static const lh_option_table tables[] = {LH_OWN_TABLE(lh_corpus_config), {0}};
    lh_options *options = NULL;
    LH_TRY(lh_options_create("corpus", tables, &options));
    lh_status status = take_options(task, options);
    if (status == LH_OK) {
        lh_corpus_config config;
        lh_options_fill(options, &config);
        status = train_on(&config, name, out);
    }
    lh_options_destroy(options);
    return status;
}

/* tokenizer(name, task's options or nil) -> a tokenizer; one that is trained, and whose name has no
 * corpus, on that of the task. */
static int tokenizer(lua_State *lua) {
    const char *name = luaL_checkstring(lua, 1);
    const lh_lua_options *task = lua_isnoneornil(lua, 2) ? NULL : lh_lua_options_at(lua, 2, "task");
    lh_tokenizer **slot = lua_newuserdatauv(lua, sizeof *slot, 0);
    *slot = NULL;
    luaL_setmetatable(lua, tokenizer_type);
    const bool of_task = task != NULL && lh_vocabulary_needs_corpus(name);
    lh_lua_check(lua, of_task ? train_on_task(task->values, name, slot)
                              : lh_vocabulary_open(NULL, name, NULL, slot));
    return 1;
}

/* What a token means shows behind another one, too: a first blank is lost. */
static lh_status mix_token(const lh_tokenizer *t, int32_t token, uint64_t *digest) {
    const int32_t twice[] = {token, token};
    char *text = NULL;
    size_t bytes = 0;
    LH_TRY(lh_tokenizer_decode(t, twice, 2, &text, &bytes));
    *digest = lh_digest_mix(*digest, text, bytes);
    free(text);
    return LH_OK;
}

/* tokenizer:digest() -> what all of its tokens mean, as 16 hexadecimal digits. */
static int tokenizer_digest(lua_State *lua) {
    const lh_tokenizer *t = tokenizer_at(lua, 1);
    const int64_t count = lh_tokenizer_vocabulary(t);
    uint64_t digest = 0;
    for (int64_t i = 0; i < count; ++i)
        lh_lua_check(lua, mix_token(t, (int32_t)i, &digest));
    char text[17];
    (void)snprintf(text, sizeof text, "%016llx", (unsigned long long)digest);
    lua_pushstring(lua, text);
    return 1;
}

static int tokenizer_vocabulary(lua_State *lua) {
    lua_pushinteger(lua, lh_tokenizer_vocabulary(tokenizer_at(lua, 1)));
    return 1;
}

typedef struct encoding {
    int32_t *tokens;
    int64_t count;
} encoding;

static int push_encoding(lua_State *lua) {
    const encoding *made = lua_touserdata(lua, 1);
    lua_createtable(lua, (int)made->count, 0);
    for (int64_t i = 0; i < made->count; ++i) {
        lua_pushinteger(lua, made->tokens[i]);
        lua_seti(lua, -2, i + 1);
    }
    return 1;
}

/* tokenizer:encode(text) -> array of ids. */
static int tokenizer_encode(lua_State *lua) {
    size_t bytes = 0;
    encoding made = {0};
    const lh_tokenizer *t = tokenizer_at(lua, 1);
    const char *text = luaL_checklstring(lua, 2, &bytes);
    lh_lua_check(lua, lh_tokenizer_encode(t, text, bytes, &made.tokens, &made.count));
    const int status = lh_lua_guard(lua, push_encoding, &made);
    free(made.tokens);
    lh_lua_settle(lua, status);
    return 1;
}

/* The array at `index` as tokens, on the Lua stack. */
static int32_t *tokens_at(lua_State *lua, int index, int64_t *count) {
    enum { MOST = 1 << 24 };
    *count = lh_lua_count(lua, index, MOST);
    int32_t *tokens = lua_newuserdatauv(lua, (size_t)(*count + 1) * sizeof *tokens, 0);
    for (int64_t i = 0; i < *count; ++i) {
        lua_geti(lua, index, i + 1);
        const lua_Integer token = luaL_checkinteger(lua, -1);
        if (token < INT32_MIN || token > INT32_MAX) luaL_argerror(lua, index, "no token's number");
        tokens[i] = (int32_t)token;
        lua_pop(lua, 1);
    }
    return tokens;
}

/* tokenizer:decode(array of ids) -> text. */
static int tokenizer_decode(lua_State *lua) {
    int64_t count = 0;
    char *text = NULL;
    size_t bytes = 0;
    const lh_tokenizer *t = tokenizer_at(lua, 1);
    const int32_t *tokens = tokens_at(lua, 2, &count);
    lh_lua_check(lua, lh_tokenizer_decode(t, tokens, count, &text, &bytes));
    lh_lua_push_owned(lua, text, bytes);
    return 1;
}

/* ---- generators ---- */

static lh_generator *generator_at(lua_State *lua, int index) {
    lh_generator **slot = luaL_checkudata(lua, index, generator_type);
    if (*slot == NULL) luaL_argerror(lua, index, "the generator is closed");
    return *slot;
}

static int generator_close(lua_State *lua) {
    lh_generator **slot = luaL_checkudata(lua, 1, generator_type);
    lh_generator_destroy(*slot);
    *slot = NULL;
    return 0;
}

/* generator{model = its options, vocabulary, weights or nil, seed, device, segment or nil} -> a
 * generator. */
static int generator(lua_State *lua) {
    luaL_checktype(lua, 1, LUA_TTABLE);
    lua_settop(lua, 1);
    const lh_lua_options *model = lh_lua_options_field(lua, 1, "model");
    lh_generator_spec spec = {
        .model = model->model, .options = model->values, .device = lh_lua_field(lua, 1, "device")};
    lua_getfield(lua, 1, "weights");
    spec.weights = luaL_optstring(lua, -1, NULL);
    lua_getfield(lua, 1, "vocabulary");
    spec.setup.vocabulary = luaL_checkinteger(lua, -1);
    lua_getfield(lua, 1, "segment");
    spec.segment = luaL_optinteger(lua, -1, 0);
    lua_getfield(lua, 1, "seed");
    spec.seed = (uint64_t)luaL_optinteger(lua, -1, 1);
    lh_generator **slot = lua_newuserdatauv(lua, sizeof *slot, 0);
    *slot = NULL;
    luaL_setmetatable(lua, generator_type);
    lh_lua_check(lua, lh_generator_create(&spec, slot));
    return 1;
}

/* generator:segment() -> tokens of the segment that is read anew for each token; 0: none is. */
static int generator_segment(lua_State *lua) {
    lua_pushinteger(lua, lh_generator_segment(generator_at(lua, 1)));
    return 1;
}

/* generator:feed(array of ids). */
static int generator_feed(lua_State *lua) {
    int64_t count = 0;
    lh_generator *g = generator_at(lua, 1);
    const int32_t *tokens = tokens_at(lua, 2, &count);
    lh_lua_check(lua, lh_generator_feed(g, tokens, count));
    return 0;
}

/* generator:next(temperature, top_k, top_p) -> id. */
static int generator_next(lua_State *lua) {
    const lh_sampling sampling = {.temperature = luaL_checknumber(lua, 2),
                                  .top_k = luaL_checkinteger(lua, 3),
                                  .top_p = luaL_checknumber(lua, 4)};
    int32_t token = 0;
    lh_lua_check(lua, lh_generator_next(generator_at(lua, 1), &sampling, &token));
    lua_pushinteger(lua, token);
    return 1;
}

/* ---- types ---- */

static const luaL_Reg tokenizer_methods[] = {
    {"vocabulary", tokenizer_vocabulary}, {"encode", tokenizer_encode},
    {"decode", tokenizer_decode},         {"digest", tokenizer_digest},
    {"close", tokenizer_close},           {NULL, NULL}};

static const luaL_Reg generator_methods[] = {{"feed", generator_feed},
                                             {"next", generator_next},
                                             {"segment", generator_segment},
                                             {"close", generator_close},
                                             {NULL, NULL}};

/* setup_generators(): makes the userdata types; the library calls it once. */
static int setup_generators(lua_State *lua) {
    lh_lua_push_type(lua, tokenizer_type, tokenizer_methods, tokenizer_close);
    lh_lua_push_type(lua, generator_type, generator_methods, generator_close);
    return 0;
}

const luaL_Reg lh_lua_generate[] = {{"setup_generators", setup_generators},
                                    {"tokenizer", tokenizer},
                                    {"generator", generator},
                                    {NULL, NULL}};
