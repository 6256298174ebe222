/* Tasks whose examples a Lua file makes: batches, segments, positions, and what a file may not be.
 */
#include "harness/tasks/lua_examples.h"
#include "tests/test.h"

#include "tests/harness/tasks/task_bench.h"

static char folder[] = "/tmp/lh-XXXXXX", path[64];

/* A file whose `example` has this body; a is a token, n a size. */
static const char tokens_head[] =
    "local kept, thing = 0, {}\n"
    "return { parameters = { n = 6, name = 'x', rate = 0.5 },\n"
    "sizes = function(p) return { length = p.n, vocabulary = 50 } end,\n"
    "example = function(p, split)\n";
static const char vectors_head[] = "return { parameters = { n = 3 },\n"
                                   "sizes = function(p) return { length = p.n, inputs = 2, outputs "
                                   "= 1 } end,\n"
                                   "example = function(p, split)\n";
static const char tail[] = "\nend }\n";

/* Every position draws; the first two are not asked for. */
static const char drawn[] =
    "local a, b, mask = {}, {}, {}\n"
    "for t = 1, p.n do a[t] = math.random(0, 49); b[t] = math.random(50) - 1; mask[t] = t > 2 end\n"
    "return a, b, mask";

static bool write_text(const char *text) {
    if (path[0] == '\0' && CHECK(mkdtemp(folder) != NULL))
        (void)snprintf(path, sizeof path, "%s/test_scripted.lua", folder);
    FILE *out = fopen(path, "w");
    if (!CHECK(out != NULL)) return false;
    fputs(text, out);
    return CHECK(fclose(out) == 0);
}

static bool write_file(const char *head, const char *body) {
    char text[1024];
    (void)snprintf(text, sizeof text, "%s%s%s", head, body, tail);
    return write_text(text);
}

static lh_status make_scripted(task_bench *f, const char *name, const char *options,
                               uint64_t seed) {
    char file[80];
    (void)snprintf(file, sizeof file, "file=%s", path);
    return make_task(f, name, file, options, seed);
}

static bool open_scripted(task_bench *f, const char *name, const char *options, uint64_t seed) {
    return CHECK_OK(make_scripted(f, name, options, seed));
}

TEST(a_row_is_an_example_with_its_mask) {
    task_bench f;
    lh_host_batch batch;
    REQUIRE(write_file(tokens_head, drawn));
    REQUIRE(open_scripted(&f, "scripted_tokens", "batch=3", 1));
    CHECK_EQ_INT(f.setup.vocabulary, 50);
    REQUIRE_OK(next_batch(&f, &batch));
    REQUIRE(batch.rows == 3 && batch.length == 6);
    int differing = 0;
    for (int i = 0; i < 18; ++i) {
        CHECK(batch.weights[i] == (i % 6 >= 2 ? LH_R(1) : LH_R(0)));
        CHECK(batch.tokens[i] >= 0 && batch.tokens[i] < 50 && batch.starts[i / 6] == 1);
        differing += batch.tokens[i] != batch.tokens[(i + 6) % 18];
    }
    CHECK(differing > 12);
    close_task(&f);
}

TEST(what_guessing_scores_is_told_of_the_data) {
    static const struct {
        const char *chance, *told;
    } cases[] = {{"", "examples of test_scripted.lua, 2 positions"},
                 {"chance = function(p) return { error_percent = 100 * p.n, accuracy = 0.25 } end,",
                  "examples of test_scripted.lua, 2 positions (guessing scores accuracy 0.25, "
                  "error_percent 75)"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char text[512];
        task_bench f;
        (void)snprintf(text, sizeof text,
                       "return { parameters = { n = 0.75 }, %s sizes = function() return { length "
                       "= 2, vocabulary = 9 } end, example = function() return { 7, 8 }, { 8, 7 } "
                       "end }",
                       cases[i].chance);
        REQUIRE(write_text(text));
        REQUIRE(open_scripted(&f, "scripted_tokens", "batch=2", 1));
        char *data = f.task->class->describe(f.task->instance);
        CHECK(data != NULL && strcmp(data, cases[i].told) == 0);
        free(data);
        close_task(&f);
    }
}

/* The first example that ends early leaves the rest of its row without weight. */
TEST(a_shorter_example_is_filled_up) {
    task_bench f;
    lh_host_batch batch;
    REQUIRE(write_file(tokens_head, "return { 7, 8 }, { 8, 9 }"));
    REQUIRE(open_scripted(&f, "scripted_tokens", "batch=2 parameters='n=4'", 1));
    REQUIRE_OK(next_batch(&f, &batch));
    REQUIRE(batch.length == 4);
    for (int i = 0; i < 8; ++i) {
        CHECK(batch.weights[i] == (i % 4 < 2 ? LH_R(1) : LH_R(0)));
        CHECK_EQ_INT(batch.tokens[i], i % 4 == 0 ? 7 : i % 4 == 1 ? 8 : 0);
    }
    close_task(&f);
}

/* The same numbers in pieces; 4 does not divide 6. */
TEST(an_example_may_be_read_in_segments) {
    task_bench whole, parts;
    lh_host_batch all, part;
    REQUIRE(write_file(tokens_head, drawn));
    REQUIRE(open_scripted(&whole, "scripted_tokens", "batch=2", 1));
    REQUIRE(open_scripted(&parts, "scripted_tokens", "batch=2 segment=4", 1));
    for (int n = 0; n < 3; ++n) {
        REQUIRE_OK(next_batch(&whole, &all));
        for (int p = 0; p < 2; ++p) {
            REQUIRE_OK(next_batch(&parts, &part));
            REQUIRE(part.length == 4 && part.starts[1] == (p == 0));
            for (int i = 0; i < 8; ++i) {
                const int t = 4 * p + i % 4, at = i / 4 * 6 + t;
                CHECK_EQ_INT(part.tokens[i], t < 6 ? all.tokens[at] : 0);
                CHECK_EQ_INT(part.target[i], t < 6 ? all.target[at] : 0);
                CHECK(part.weights[i] == (t < 6 ? all.weights[at] : LH_R(0)));
            }
        }
    }
    close_task(&whole);
    close_task(&parts);
}

TEST(a_stream_goes_on_from_its_position) {
    task_bench f, again;
    lh_host_batch batch, same;
    int64_t words[LH_CURSOR_WORDS];
    REQUIRE(write_file(tokens_head, drawn));
    REQUIRE(open_scripted(&f, "scripted_tokens", "batch=2 segment=2", 5));
    REQUIRE(open_scripted(&again, "scripted_tokens", "batch=2 segment=2", 5));
    for (int n = 0; n < 4; ++n)
        REQUIRE_OK(next_batch(&f, &batch)); /* amid the second group of examples */
    const int count = f.task->class->cursor_get(f.task->instance, words);
    REQUIRE_OK(again.task->class->cursor_set(again.task->instance, words, count));
    REQUIRE_OK(next_batch(&f, &batch));
    REQUIRE_OK(next_batch(&again, &same));
    for (int i = 0; i < 4; ++i)
        CHECK(batch.tokens[i] == same.tokens[i] && batch.target[i] == same.target[i]);
    CHECK_EQ_INT(batch.starts[0], same.starts[0]);
    words[0] = -1;
    CHECK_FAILS(again.task->class->cursor_set(again.task->instance, words, 1), LH_EFORMAT,
                "position");
    close_task(&f);
    close_task(&again);
}

/* Held-out examples do not follow the run's seed, training does; a pass has each of them once. */
TEST(a_pass_hands_out_what_is_held_out) {
    task_bench a, b;
    lh_host_batch one, other;
    REQUIRE(write_file(tokens_head, drawn));
    REQUIRE(open_scripted(&a, "scripted_tokens", "batch=4 evaluate_examples=6", 1));
    REQUIRE(open_scripted(&b, "scripted_tokens", "batch=4 evaluate_examples=6", 2));
    REQUIRE_OK(next_batch(&a, &one));
    REQUIRE_OK(next_batch(&b, &other));
    CHECK(memcmp(one.tokens, other.tokens, 24 * sizeof(int32_t)) != 0);
    REQUIRE_OK(a.task->class->evaluate_begin(a.task->instance, LH_TEST));
    REQUIRE_OK(b.task->class->evaluate_begin(b.task->instance, LH_TEST));
    double weight = 0;
    int batches = 0;
    do {
        REQUIRE_OK(a.task->class->evaluate_batch(a.task->instance, &one));
        REQUIRE_OK(b.task->class->evaluate_batch(b.task->instance, &other));
        batches += one.rows > 0;
        for (int64_t i = 0; i < one.rows * one.length; ++i) {
            CHECK_EQ_INT(one.tokens[i], other.tokens[i]);
            weight += (double)one.weights[i];
        }
    } while (one.rows > 0);
    CHECK_EQ_INT(batches, 2);
    CHECK_NEAR(weight, 6 * 4, 0);
    close_task(&a);
    close_task(&b);
}

TEST(vectors_have_inputs_and_targets) {
    task_bench f;
    lh_host_batch batch;
    REQUIRE(write_file(vectors_head, "local x, y = {}, {}\n"
                                     "for t = 1, p.n do x[t] = { math.normal(), t }; y[t] = { "
                                     "x[t][1] + t } end\n"
                                     "return x, y, { 0, 1, true }"));
    REQUIRE(open_scripted(&f, "scripted_vectors", "batch=2", 1));
    CHECK(f.setup.input_features == 2 && f.setup.output_features == 1 && f.setup.vocabulary == 0);
    REQUIRE_OK(next_batch(&f, &batch));
    REQUIRE(batch.rows == 2 && batch.target_length == 3 && batch.tokens == NULL);
    for (int i = 0; i < 6; ++i) {
        const double t = i % 3 + 1, x = (double)batch.vectors[2 * i];
        CHECK_NEAR(batch.vectors[2 * i + 1], t, 0);
        CHECK_NEAR(batch.target_vectors[i], x + t, 1e-5);
        CHECK(batch.weights[i] == (i % 3 > 0 ? LH_R(1) : LH_R(0)));
        CHECK(fabs(x) < 6 && x != (double)batch.vectors[2 * ((i + 1) % 6)]);
    }
    close_task(&f);
}

/* What the file is told arrives with its type, the split by its name. */
TEST(a_file_hears_parameters_and_split) {
    task_bench f;
    lh_host_batch batch;
    REQUIRE(write_file(
        tokens_head, "assert(math.type(p.n) == 'integer' and p.rate == 0.25 and p.name == 'a b')\n"
                     "local s = split == 'valid' and 1 or split == 'test' and 2 or 0\n"
                     "return { s }, { s }"));
    REQUIRE(
        open_scripted(&f, "scripted_tokens", "parameters='n=2 rate=0.25 name=\"a b\"' batch=1", 1));
    REQUIRE_OK(next_batch(&f, &batch));
    CHECK_EQ_INT(batch.tokens[0], 0);
    for (int split = LH_VALID; split <= LH_TEST; ++split) {
        REQUIRE_OK(f.task->class->evaluate_begin(f.task->instance, (lh_split)split));
        REQUIRE_OK(f.task->class->evaluate_batch(f.task->instance, &batch));
        CHECK_EQ_INT(batch.tokens[0], split);
    }
    close_task(&f);
}

/* Content decides, not time or place; another generator is other data. */
TEST(the_digest_is_that_of_the_content) {
    lh_lua_examples *a = NULL, *b = NULL, *c = NULL;
    REQUIRE(write_file(tokens_head, drawn));
    REQUIRE_OK(lh_lua_examples_create(path, "", false, &a));
    REQUIRE_OK(lh_lua_examples_create(path, "n=9", false, &b));
    REQUIRE(write_file(tokens_head, "return { 7, 8 }, { 8, 9 }"));
    REQUIRE_OK(lh_lua_examples_create(path, "", false, &c));
    CHECK(lh_lua_examples_digest(a) == lh_lua_examples_digest(b));
    CHECK(lh_lua_examples_digest(a) != lh_lua_examples_digest(c));
    CHECK_EQ_INT(lh_lua_examples_sizes(a)->length, 6);
    CHECK_EQ_INT(lh_lua_examples_sizes(b)->length, 9);
    int32_t tokens[6], targets[6];
    real weights[6];
    const lh_example out = {.tokens = tokens, .targets = targets, .weights = weights};
    CHECK_OK(lh_lua_examples_make(c, (lh_random_key){.seed = 1}, LH_TEST, &out));
    CHECK(tokens[1] == 8 && targets[1] == 9 && tokens[2] == 0);
    lh_lua_examples_destroy(a);
    lh_lua_examples_destroy(b);
    lh_lua_examples_destroy(c);
}

/* ---- mistakes ---- */

static const struct {
    const char *body, *message;
} mistakes[] = {
    {"return { 50 }, { 0 }",
     "test_scripted.lua:4: tokens[1] is 50; a token is an integer from 0 to"},
    {"return { 1.5 }, { 0 }", "tokens[1] is 1.5"},
    {"return { 1 }, { 1, 2 }", "targets has 2 entries, but there are 1 positions"},
    {"return { 1, 2, 3, 4, 5, 6, 7 }, {}", "tokens has 7 entries, `sizes` allows 1 to 6"},
    {"return {}, {}", "tokens has 0 entries"},
    {"return { 1 }", "targets must be an array, got nil"},
    {"return { 1 }, { 1 }, { 2 }", "mask[1] is 2; expected 0, 1, true or false"},
    {"\nreturn { p.n.x.y }, { 1 }", "test_scripted.lua:6: attempt to index"},
    {"error('no luck')", "test_scripted.lua:5: no luck"},
    {"error({})", "an error whose value is no text"},
    {"for name in pairs(p) do end", "test_scripted.lua:5: a file of examples has no 'pairs'"},
    {"return { tim }, { 1 }", "test_scripted.lua:5: undefined global 'tim'"},
    {"return { os.time() }, { 1 }", "undefined global 'os'"},
    {"count = 1", "assignment to undefined global 'count'"},
    {"return { math.random(2, 1) }, { 1 }", "the interval is empty"},
    {"return { math.random(0, 1 << 32) }, { 1 }", "holds more than 2^32 integers"},
    {"return { math.random(1, 1 << 32) + (1 << 32) }, { 1 }", "tokens[1] is "},
    /* what outlives a call, and what is another in every interpreter */
    {"kept = kept + 1; return { kept }, { 1 }", "gives something else when it is called again"},
    {"local a = {}\n"
     "for c in tostring(thing):sub(-6, -2):gmatch '.' do a[#a + 1] = tonumber(c, 16) end\n"
     "return a, a",
     "called again"},
};

TEST(a_mistake_in_an_example_is_named_with_its_line) {
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; ++i) {
        task_bench f;
        REQUIRE(write_file(tokens_head, mistakes[i].body));
        if (!CHECK_FAILS(make_scripted(&f, "scripted_tokens", "", 1), LH_EFORMAT,
                         mistakes[i].message))
            printf("\n  of: %s", mistakes[i].body);
        close_task(&f);
    }
}

TEST(a_mistake_in_vectors_is_named) {
    static const char *const cases[][2] = {
        {"return { { 1, 2 } }, { { 1, 2 } }", "targets[1] must be an array of 1 numbers"},
        {"return { { 1, 2 }, 3 }, { { 1 }, { 2 } }", "inputs[2] must be an array of 2 numbers"},
        {"return { { 1, 0 / 0 } }, { { 1 } }", "inputs[1][2] is"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        task_bench f;
        REQUIRE(write_file(vectors_head, cases[i][0]));
        CHECK_FAILS(make_scripted(&f, "scripted_vectors", "", 1), LH_EFORMAT, cases[i][1]);
        close_task(&f);
    }
}

static const struct {
    const char *text, *message;
} files[] = {
    {"return {", "test_scripted.lua:"},
    {"return 3", "the file must return a table with `sizes` and `example`"},
    {"return { size = 3 }", "the table has no field 'size' (did you mean 'sizes'?)"},
    {"return { sizes = 3 }", "'sizes' must be a function"},
    {"return { sizes = print }", "'example' must be a function"},
    {"return { sizes = function() return { length = 1, vocabulary = 2 } end, example = print, "
     "chance = 3 }",
     "'chance' must be a function"},
    {"return { sizes = function() return { length = 1, vocabulary = 2 } end, example = print, "
     "chance = function() return { acuracy = 1 } end }",
     "chance has no field 'acuracy' (did you mean 'accuracy'?)"},
    {"return { sizes = function() return { length = 1, vocabulary = 2 } end, example = print, "
     "chance = function() return { accuracy = 1 / 0 } end }",
     "chance: 'accuracy' must be a number, got inf"},
    {"return { parameters = { a = {} }, sizes = print, example = print }",
     "parameter 'a' is a number, a flag or a text, not a table"},
    {"return { parameters = { a = 'b\\0c' }, sizes = print, example = print }",
     "parameter 'a' holds a zero byte"},
    {"return { sizes = function() end, example = print }", "sizes must return a table"},
    {"return { sizes = function() return { length = 0, vocabulary = 2 } end, example = print }",
     "sizes: 'length' must be an integer from 1"},
    {"return { sizes = function() return { inputs = 1 } end, example = print }",
     "sizes has no field 'inputs'"},
    {"local x = math.random() return {}", "math.random draws for an example"},
};

static const char plain_sizes[] = "sizes = function() return { length = 1, vocabulary = 2 } end,";

/* A bound is that of a call, but what is held counts over all calls. */
TEST(what_a_file_takes_can_be_bounded) {
    static const char *const endless[] = {
        "while true do end",
        "return { sizes = function() while true do end end, example = print }",
        "return { sizes = function() local s = ('x'):rep(1 << 24) end, example = print }",
    };
    static const char *const told[] = {"1 million instructions", "1 million instructions",
                                       "the sandbox allows 1 MiB of memory"};
    char text[512];
    lh_lua_examples *made = NULL;
    int32_t token = 0, target = 0;
    real weight = 0;
    const lh_example out = {.tokens = &token, .targets = &target, .weights = &weight};
    const lh_lua_limits narrow = {
        .millions = 1, .bytes = 1 << 20, .seconds = 60, .rule = "the sandbox allows"};
    lh_lua_examples_bound(&narrow);
    for (int i = 0; i < 3; ++i) {
        REQUIRE(write_text(endless[i]));
        CHECK_FAILS(lh_lua_examples_create(path, "", false, &made), i < 2 ? LH_EFORMAT : LH_EMEMORY,
                    told[i]);
    }
    (void)snprintf(text, sizeof text,
                   "local held = {} return { %s example = function()\n"
                   "held[#held + 1] = ('x'):rep(1 << 17) .. #held return { 1 }, { 1 } end }",
                   plain_sizes);
    REQUIRE(write_text(text));
    REQUIRE_OK(lh_lua_examples_create(path, "", false, &made));
    CHECK_OK(lh_lua_examples_make(made, (lh_random_key){.seed = 1}, LH_TRAIN, &out));
    lh_status last = LH_OK;
    for (int i = 0; i < 8 && last == LH_OK; ++i)
        last = lh_lua_examples_make(made, (lh_random_key){.seed = 1}, LH_TRAIN, &out);
    CHECK_FAILS(last, LH_EMEMORY, "allows 1 MiB of memory");
    lh_lua_examples_destroy(made);
    lh_lua_examples_bound(NULL);
    (void)snprintf(text, sizeof text, "for _ = 1, 2e6 do end return { %s example = print }",
                   plain_sizes);
    REQUIRE(write_text(text));
    REQUIRE_OK(lh_lua_examples_create(path, "", false, &made));
    lh_lua_examples_destroy(made);
}

/* Nor does a file that is trusted train, or be looked at, without end. */
TEST(a_loop_without_end_is_told_at_its_line) {
    char text[256];
    lh_lua_examples *made = NULL;
    int32_t token = 0, target = 0;
    real weight = 0;
    const lh_example out = {.tokens = &token, .targets = &target, .weights = &weight};
    (void)snprintf(text, sizeof text, "return { %s\nexample = function()\nwhile true do end\nend }",
                   plain_sizes);
    REQUIRE(write_text(text));
    REQUIRE_OK(lh_lua_examples_create(path, "", false, &made));
    CHECK_FAILS(
        lh_lua_examples_make(made, (lh_random_key){.seed = 1}, LH_TRAIN, &out), LH_EFORMAT,
        "test_scripted.lua:3: a call of a file of examples may take 2000 million instructions");
    lh_lua_examples_destroy(made);
}

TEST(a_mistake_in_a_file_is_named) {
    for (size_t i = 0; i < sizeof files / sizeof files[0]; ++i) {
        lh_lua_examples *made = NULL;
        REQUIRE(write_text(files[i].text));
        CHECK_FAILS(lh_lua_examples_create(path, "", false, &made), LH_EFORMAT, files[i].message);
    }
    task_bench f;
    CHECK_FAILS(make_scripted(&f, "scripted_tokens", "file=''", 1), LH_EOPTION, "option 'file'");
    close_task(&f);
    CHECK_FAILS(make_scripted(&f, "scripted_tokens", "file=/nowhere.lua", 1), LH_EIO,
                "/nowhere.lua");
    close_task(&f);
    REQUIRE(write_file(tokens_head, drawn));
    CHECK_FAILS(make_scripted(&f, "scripted_tokens", "parameters='nme=y'", 1), LH_EOPTION,
                "did you mean 'name'?");
    close_task(&f);
    CHECK_FAILS(make_scripted(&f, "scripted_tokens", "parameters='n=2.5'", 1), LH_EOPTION,
                "must be an integer");
    close_task(&f);
    CHECK(remove(path) == 0 && remove(folder) == 0);
}
