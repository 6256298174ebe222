/* Options: fields get what was declared and set, of the right type; what is wrong is said; text
 * gives back the values that it was made of. */
#include "harness/engine/options.h"

#include "harness/engine/plugin.h"
#include "harness/tasks/tasks.h"
#include "harness/train/train_options.h"
#include "tests/test.h"

typedef enum colour { RED, GREEN, BLUE } colour;
static const char *const colours[] = {"red", "green", "blue", NULL};

typedef struct inner {
    int64_t depth;
    lh_list sizes;
} inner;

typedef struct outer {
    int64_t count;
    double rate;
    bool loud;
    colour colour;
    const char *name;
    lh_list kinds;
    int64_t grid[2];
    inner inner, second;
} outer;

static const lh_option inner_options[] = {
    LH_INTEGER("depth", inner, depth, 3, 0, 0, "unbounded"),
    LH_LIST("sizes", inner, sizes, LH_INTEGERS(4, -8), -8, 1000, "a bounded list"),
    {0}};

/* The same struct under other names, for a second place. */
static const lh_option second_options[] = {
    LH_INTEGER("second_depth", inner, depth, 5, 1, 9, "bounded"), {0}};

static const lh_option outer_options[] = {
    LH_INTEGER("count", outer, count, 7, 1, 1e15, "an integer"),
    LH_REAL("rate", outer, rate, 0.1, 0, 0.99, "a real"),
    LH_FLAG("loud", outer, loud, true, "a flag"),
    LH_CHOICE("colour", outer, colour, GREEN, colours, "a choice"),
    LH_TEXT("name", outer, name, "books", "a text"),
    LH_LIST("kinds", outer, kinds, LH_NO_INTEGERS, 0, 0, "an empty list"),
    LH_INTEGER("height", outer, grid[1], 2, 0, 0, "in an array"),
    {0}};

static const lh_option_table tables[] = {LH_OWN_TABLE(outer),
                                         LH_TABLE(outer, inner, inner),
                                         {second_options, offsetof(outer, second)},
                                         {0}};

static lh_options *options_of(const char *text) {
    lh_options *options = NULL;
    CHECK_OK(lh_options_create("thing", tables, &options));
    CHECK_OK(lh_options_parse(options, text));
    return options;
}

/* What the text sets, in the fields; the options own its texts and lists. */
static lh_options *fill(const char *text, outer *out) {
    lh_options *options = options_of(text);
    *out = (outer){0};
    lh_options_fill(options, out);
    return options;
}

static void check_refused(const char *text, const char *message) {
    lh_options *options = options_of("");
    CHECK_FAILS(lh_options_parse(options, text), LH_EOPTION, message);
    lh_options_destroy(options);
}

static void check_list(lh_list list, int count, const int64_t *expected) {
    REQUIRE(list.count == count);
    for (int i = 0; i < count; ++i)
        CHECK_EQ_INT(list.value[i], expected[i]);
}

/* ---- values ---- */

TEST(fields_get_their_defaults) {
    outer o;
    lh_options *options = fill("", &o);
    CHECK_EQ_INT(o.count, 7);
    CHECK(o.rate == 0.1);
    CHECK(o.loud);
    CHECK_EQ_INT(o.colour, GREEN);
    CHECK_STR(o.name, "books");
    CHECK_EQ_INT(o.kinds.count, 0);
    CHECK_EQ_INT(o.grid[0], 0);
    CHECK_EQ_INT(o.grid[1], 2);
    CHECK_EQ_INT(o.inner.depth, 3);
    check_list(o.inner.sizes, 2, (const int64_t[]){4, -8});
    CHECK_EQ_INT(o.second.depth, 5);
    CHECK_EQ_INT(o.second.sizes.count, 0);
    lh_options_destroy(options);
    inner alone;
    lh_options_standard(inner_options, &alone);
    CHECK_EQ_INT(alone.depth, 3);
    check_list(alone.sizes, 2, (const int64_t[]){4, -8});
}

TEST(text_sets_fields_of_every_table) {
    outer o;
    lh_options *options =
        fill("  count=12 rate=2.5e-1\nloud=false colour=blue name=pg19 kinds=1,0,2 "
             "height=-3 depth=4 sizes= second_depth=9\t",
             &o);
    CHECK_EQ_INT(o.count, 12);
    CHECK(o.rate == 0.25);
    CHECK(!o.loud);
    CHECK_EQ_INT(o.colour, BLUE);
    CHECK_STR(o.name, "pg19");
    check_list(o.kinds, 3, (const int64_t[]){1, 0, 2});
    CHECK_EQ_INT(o.grid[1], -3);
    CHECK_EQ_INT(o.inner.depth, 4);
    CHECK_EQ_INT(o.inner.sizes.count, 0);
    CHECK_EQ_INT(o.second.depth, 9);
    lh_options_destroy(options);
}

TEST(integers_are_exact_and_may_have_an_exponent) {
    outer o;
    lh_options *options = fill("depth=9007199254740993 count=500e3", &o);
    CHECK_EQ_INT(o.inner.depth, 9007199254740993);
    CHECK_EQ_INT(o.count, 500000);
    CHECK_OK(lh_options_parse(options, "depth=-9223372036854775808"));
    lh_options_fill(options, &o);
    CHECK_EQ_INT(o.inner.depth, INT64_MIN);
    CHECK_FAILS(lh_options_parse(options, "depth=9223372036854775808"), LH_EOPTION, "an integer");
    CHECK_FAILS(lh_options_parse(options, "depth=1e30"), LH_EOPTION, "an integer");
    lh_options_destroy(options);
}

TEST(typed_values_convert_where_nothing_is_lost) {
    outer o;
    const int64_t three[] = {3, 1, 2};
    lh_options *options = options_of("");
    CHECK_OK(lh_options_set_value(options, "count", LH_OPTION_REAL, (lh_value){.real = 1e3}));
    CHECK_OK(lh_options_set_value(options, "rate", LH_OPTION_INTEGER, (lh_value){.integer = 0}));
    CHECK_OK(lh_options_set_value(options, "loud", LH_OPTION_FLAG, (lh_value){.flag = false}));
    CHECK_OK(lh_options_set_value(options, "colour", LH_OPTION_TEXT, (lh_value){.text = "red"}));
    CHECK_OK(lh_options_set_value(options, "kinds", LH_OPTION_INTEGER, (lh_value){.integer = 6}));
    CHECK_OK(
        lh_options_set_value(options, "sizes", LH_OPTION_LIST, (lh_value){.list = {3, three}}));
    lh_options_fill(options, &o);
    CHECK_EQ_INT(o.count, 1000);
    CHECK(o.rate == 0);
    CHECK(!o.loud);
    CHECK_EQ_INT(o.colour, RED);
    check_list(o.kinds, 1, (const int64_t[]){6});
    check_list(o.inner.sizes, 3, three);
    CHECK(o.inner.sizes.value != three);
    CHECK_FAILS(lh_options_set_value(options, "count", LH_OPTION_REAL, (lh_value){.real = 2.5}),
                LH_EOPTION, "option 'count' must be an integer, got '2.5'");
    CHECK_FAILS(lh_options_set_value(options, "rate", LH_OPTION_REAL, (lh_value){.real = NAN}),
                LH_EOPTION, "a number");
    CHECK_FAILS(lh_options_set_value(options, "loud", LH_OPTION_INTEGER, (lh_value){.integer = 1}),
                LH_EOPTION, "option 'loud' must be true or false, got '1'");
    CHECK_FAILS(
        lh_options_set_value(options, "loud", LH_OPTION_INTEGER, (lh_value){.integer = 255}),
        LH_EOPTION, "option 'loud' must be true or false, got '255'");
    CHECK_FAILS(lh_options_set_value(options, "name", LH_OPTION_FLAG, (lh_value){.flag = true}),
                LH_EOPTION, "option 'name' must be a text, got 'true'");
    CHECK_FAILS(
        lh_options_set_value(options, "count", LH_OPTION_LIST, (lh_value){.list = {3, three}}),
        LH_EOPTION, "option 'count' must be an integer, got '3,1,2'");
    lh_options_destroy(options);
}

TEST(a_copy_owns_what_it_says) {
    outer o;
    lh_options *copy = NULL, *options = fill("name=mine kinds=5,6 count=3", &o);
    REQUIRE_OK(lh_options_copy(options, &copy));
    CHECK_OK(lh_options_parse(options, "name=other kinds=7 count=4"));
    lh_options_destroy(options);
    lh_options_fill(copy, &o);
    CHECK_STR(o.name, "mine");
    CHECK_EQ_INT(o.count, 3);
    check_list(o.kinds, 2, (const int64_t[]){5, 6});
    lh_options_destroy(copy);
}

/* ---- what is refused ---- */

TEST(what_is_wrong_is_said) {
    check_refused("conut=3", "thing: unknown option 'conut' (did you mean 'count'?)");
    check_refused("xyzzy=3", "thing: unknown option 'xyzzy'");
    check_refused("count=0", "option 'count' must be between 1 and 1000000000000000, got '0'");
    check_refused("rate=1", "option 'rate' must be between 0 and 0.99, got '1'");
    check_refused("rate=nan", "option 'rate' must be a number, got 'nan'");
    check_refused("rate=", "option 'rate' must be a number, got ''");
    check_refused("count=2.5", "option 'count' must be an integer, got '2.5'");
    check_refused("count=12x", "option 'count' must be an integer, got '12x'");
    check_refused("loud=yes", "option 'loud' must be true or false, got 'yes'");
    check_refused("colour=bleu", "option 'colour' must be one of red, green, blue, got 'bleu' (did "
                                 "you mean 'blue'?)");
    check_refused("count", "thing: expected name=value, got 'count' (a value with blanks stands in "
                           "quotes: name='a b')");
    check_refused("=3", "thing: expected name=value, got '=3'");
    check_refused("count=3,rate=0.5", "got '3,rate=0.5'; blanks separate options");
}

/* By how the name begins; an option that is there, and one that nobody has, are what they were; a
 * copy refuses the same. */
TEST(what_others_have_is_refused_with_a_reason) {
    static const lh_refused refused[] = {{"wave_", "it has no waves"}, {"co", "never"}, {0}};
    lh_options *options = options_of(""), *copy = NULL;
    lh_options_refuse(options, refused);
    CHECK_FAILS(lh_options_parse(options, "wave_length=2"), LH_EOPTION,
                "thing: no option 'wave_length': it has no waves");
    CHECK_FAILS(lh_options_parse(options, "wav=2"), LH_EOPTION, "unknown option 'wav'");
    CHECK_OK(lh_options_parse(options, "count=2"));
    REQUIRE_OK(lh_options_copy(options, &copy));
    CHECK_FAILS(lh_options_parse(copy, "wave_length=2"), LH_EOPTION, "it has no waves");
    lh_options_refuse(copy, NULL);
    CHECK_FAILS(lh_options_parse(copy, "wave_length=2"), LH_EOPTION, "unknown option");
    lh_options_destroy(copy);
    lh_options_destroy(options);
}

TEST(a_list_has_one_spelling) {
    static const char *const wrong[] = {"1+0+2", "1:0:2", "1,,2",  "1,2,",
                                        ",1",    "1, 2",  "1.5,2", "a"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        char text[64], message[128];
        (void)snprintf(text, sizeof text, "kinds='%s'", wrong[i]);
        (void)snprintf(message, sizeof message,
                       "thing: option 'kinds' must be a list of integers such as 1,0,2, got '%s'",
                       wrong[i]);
        check_refused(text, message);
    }
}

/* However it is given. */
TEST(each_integer_of_a_list_keeps_to_its_range) {
    static const char message[] = "option 'sizes' must be integers between -8 and 1000, got '1001'";
    const int64_t two[] = {4, 1001}, most = INT64_MAX;
    lh_options *options = options_of("sizes=-8,1000");
    check_refused("sizes=1001", message);
    check_refused("sizes=3,1001,-9", message);
    check_refused("sizes=-9223372036854775808", "got '-9223372036854775808'");
    CHECK_FAILS(
        lh_options_set_value(options, "sizes", LH_OPTION_LIST, (lh_value){.list = {2, two}}),
        LH_EOPTION, message);
    CHECK_FAILS(
        lh_options_set_value(options, "sizes", LH_OPTION_INTEGER, (lh_value){.integer = most}),
        LH_EOPTION, "got '9223372036854775807'");
    CHECK_OK(lh_options_parse(options, "kinds=9223372036854775807"));
    lh_options_destroy(options);
}

TEST(what_is_refused_changes_nothing) {
    outer o;
    lh_options *options = fill("count=3 kinds=1,2 name=mine", &o);
    CHECK_STATUS(lh_options_parse(options, "count=0"), LH_EOPTION);
    CHECK_STATUS(lh_options_parse(options, "kinds=1+2"), LH_EOPTION);
    CHECK_STATUS(lh_options_parse(options, "name='un"), LH_EOPTION);
    lh_options_fill(options, &o);
    CHECK_EQ_INT(o.count, 3);
    check_list(o.kinds, 2, (const int64_t[]){1, 2});
    CHECK_STR(o.name, "mine");
    lh_options_destroy(options);
}

/* ---- quoting ---- */

TEST(quotes_hold_what_they_enclose) {
    outer o;
    lh_options *options = fill("name='two words' count=3", &o);
    CHECK_STR(o.name, "two words");
    CHECK_EQ_INT(o.count, 3);
    lh_options_destroy(options);
    options = fill("name=\"it's \\\"here\\\"\" count=4", &o);
    CHECK_STR(o.name, "it's \"here\"");
    CHECK_EQ_INT(o.count, 4);
    lh_options_destroy(options);
    options = fill("name='a\\nb\\tc\\rd\\\\e\\'f' count=5", &o);
    CHECK_STR(o.name, "a\nb\tc\rd\\e'f");
    CHECK_EQ_INT(o.count, 5);
    lh_options_destroy(options);
    check_refused("name='two words", "option 'name' has a quote that is not closed");
    check_refused("name='two'words", "option 'name' needs a blank behind its closing quote");
    check_refused("name='two\\'", "option 'name' has a quote that is not closed");
}

/* The apostrophe opened a quote that swallowed all options behind it. */
TEST(an_apostrophe_in_a_word_is_a_letter) {
    outer o;
    lh_options *options = fill("name=./it's count=3 rate=0.5 loud=false", &o);
    CHECK_STR(o.name, "./it's");
    CHECK_EQ_INT(o.count, 3);
    CHECK(o.rate == 0.5);
    CHECK(!o.loud);
    lh_options_destroy(options);
}

TEST(the_text_says_every_option) {
    char *text = NULL;
    lh_options *options = options_of("name=\"./it's\" kinds=1,0,2");
    REQUIRE_OK(lh_options_spell(options, &text));
    CHECK_STR(text, "count=7 rate=0.1 loud=true colour=green name='./it\\'s' kinds=1,0,2 height=2 "
                    "depth=3 sizes=4,-8 second_depth=5");
    free(text);
    CHECK_OK(lh_options_parse(options, "name='' kinds="));
    REQUIRE_OK(lh_options_spell(options, &text));
    CHECK_CONTAINS(text, " name='' kinds='' ");
    free(text);
    lh_options_destroy(options);
}

/* A text of letters that mean something to the parser, to shells and to CSV. */
static void draw_text(char *text, int most) {
    static const char letters[] = "'\"\\ ,=\n\r\t#ab1\xc3\xa9\x01\x7f+:;$`{}";
    const int length = (int)(test_random() % (uint64_t)most);
    for (int i = 0; i < length; ++i)
        text[i] = letters[test_random() % (sizeof letters - 1)];
    text[length] = '\0';
}

/* The text of `options` gives back every value, bit for bit, and itself. */
static void check_round_trip(const lh_options *options) {
    char *text = NULL, *again = NULL;
    outer a, b;
    REQUIRE_OK(lh_options_spell(options, &text));
    lh_options *parsed = options_of(text);
    REQUIRE_OK(lh_options_spell(parsed, &again));
    CHECK_STR(again, text);
    CHECK(strpbrk(text, "\n\r\t") == NULL);
    lh_options_fill(options, &a);
    lh_options_fill(parsed, &b);
    CHECK_EQ_INT(b.count, a.count);
    CHECK(memcmp(&b.rate, &a.rate, sizeof a.rate) == 0);
    CHECK_STR(b.name, a.name);
    CHECK_EQ_INT(b.inner.depth, a.inner.depth);
    check_list(b.kinds, a.kinds.count, a.kinds.value);
    lh_options_destroy(parsed);
    free(again);
    free(text);
}

TEST(text_gives_back_any_values) {
    enum { CASES = 2000, MOST = 24 };
    for (int i = 0; i < CASES; ++i) {
        char name[MOST];
        int64_t kinds[4];
        lh_options *options = options_of("");
        draw_text(name, MOST);
        for (int k = 0; k < 4; ++k)
            kinds[k] = (int64_t)test_random();
        const double rate = 0.99 * (double)(test_random() >> 11) / 9007199254740992.0;
        const lh_list list = {(int)(test_random() % 5), kinds};
        CHECK_OK(lh_options_set(options, "name", name));
        CHECK_OK(lh_options_set_value(options, "kinds", LH_OPTION_LIST, (lh_value){.list = list}));
        CHECK_OK(lh_options_set_value(options, "depth", LH_OPTION_INTEGER,
                                      (lh_value){.integer = (int64_t)test_random()}));
        CHECK_OK(lh_options_set_value(options, "rate", LH_OPTION_REAL, (lh_value){.real = rate}));
        check_round_trip(options);
        lh_options_destroy(options);
    }
}

/* ---- every class ---- */

/* Names are there once, defaults keep to their ranges, and the whole text is read back. */
static void check_class(const char *name, const lh_option_table *class_tables, size_t size) {
    char *text = NULL, *again = NULL;
    lh_options *options = NULL, *parsed = NULL;
    REQUIRE_OK(lh_options_create(name, class_tables, &options));
    REQUIRE_OK(lh_options_create(name, class_tables, &parsed));
    for (int i = 0; i < lh_options_count(options); ++i) {
        const lh_option *row = lh_options_row(options, i);
        test_check(lh_options_find(options, row->name) == i, __FILE__, __LINE__,
                   "%s has '%s' twice", name, row->name);
        test_check(row->meaning != NULL && row->meaning[0] != '\0', __FILE__, __LINE__,
                   "%s: '%s' says nothing", name, row->name);
    }
    REQUIRE_OK(lh_options_spell(options, &text));
    CHECK_OK(lh_options_parse(parsed, text));
    REQUIRE_OK(lh_options_spell(parsed, &again));
    CHECK_STR(again, text);
    for (const lh_option_table *table = class_tables; table->rows != NULL; ++table) {
        for (const lh_option *row = table->rows; row->name != NULL; ++row)
            test_check(table->offset + row->offset < size, __FILE__, __LINE__,
                       "%s: '%s' lies outside of the instance", name, row->name);
    }
    free(text);
    free(again);
    lh_options_destroy(options);
    lh_options_destroy(parsed);
}

TEST(tables_of_all_classes_are_sound) {
    const lh_model_class *model = NULL;
    const lh_task_class *task = NULL;
    for (int i = 0; (model = lh_model_class_at(i)) != NULL; ++i)
        check_class(model->name, model->options, model->instance_size);
    for (int i = 0; (task = lh_task_class_at(i)) != NULL; ++i)
        check_class(task->name, task->options, task->instance_size);
    check_class("train", lh_train_options, 4096);
}

TEST(what_is_set_can_be_looked_at_and_spelled) {
    lh_options *options = options_of("count=9 name='two words' sizes=3,-1");
    char *text = NULL;
    CHECK_STR(lh_options_owner(options), "thing");
    const int count = lh_options_find(options, "count"), name = lh_options_find(options, "name");
    REQUIRE(count >= 0 && name >= 0);
    CHECK_EQ_INT(lh_options_value(options, count)->integer, 9);
    CHECK_STR(lh_options_value(options, name)->text, "two words");
    REQUIRE_OK(
        lh_option_spell(lh_options_row(options, name), lh_options_value(options, name), &text));
    CHECK_STR(text, "two words");
    free(text);
    REQUIRE_OK(lh_option_spell_pair(lh_options_row(options, name), lh_options_value(options, name),
                                    &text));
    CHECK_STR(text, "name='two words'");
    free(text);
    const int sizes = lh_options_find(options, "sizes");
    int64_t copied[3] = {0, 0, 77};
    CHECK_EQ_INT(lh_list_copy(&lh_options_value(options, sizes)->list, copied, 1), 2);
    CHECK(copied[0] == 3 && copied[1] == 0);
    CHECK_EQ_INT(lh_list_copy(&lh_options_value(options, sizes)->list, copied, 3), 2);
    CHECK(copied[1] == -1 && copied[2] == 77);
    lh_options_destroy(options);
}

static const char *const all_later[] = {"count", "rate",  "loud",  "colour",
                                        "name",  "kinds", "sizes", NULL};

/* Later options are said where they do not stand at their standard, of whatever type. */
TEST(a_group_begins_the_name_of_an_option) {
    lh_options *options = options_of("");
    CHECK(lh_options_has_group(options, "second"));
    CHECK(!lh_options_has_group(options, "secon"));
    CHECK(!lh_options_has_group(options, "second_depth"));
    CHECK(!lh_options_has_group(options, ""));
    lh_options_destroy(options);
}

TEST(later_options_are_silent_at_their_standard) {
    static const char *const set[] = {"count=8",   "rate=0.2", "loud=false", "colour=blue",
                                      "name=book", "kinds=1",  "sizes=4,8"};
    char *text = NULL;
    for (int i = -1; i < 7; ++i) {
        lh_options *options = options_of(i >= 0 ? set[i] : "sizes=4,-8 kinds='' name=books");
        REQUIRE_OK(lh_options_spell_said(options, all_later, &text));
        test_check(i < 0 || strstr(text, set[i]) != NULL, __FILE__, __LINE__,
                   "'%s' says nothing of %s", text, i >= 0 ? set[i] : "");
        int said = 0;
        for (const char *at = text; (at = strchr(at, '=')) != NULL; ++at)
            said += 1;
        CHECK_EQ_INT(said, i >= 0 ? 4 : 3);
        const int count = lh_options_find(options, "count");
        CHECK_EQ_INT(lh_options_is_unsaid(options, count, all_later), i != 0);
        CHECK(!lh_options_is_unsaid(options, count, NULL));
        free(text);
        lh_options_destroy(options);
    }
}

static void check_later(const char *name, const lh_option_table *class_tables,
                        const char *const *later) {
    lh_options *options = NULL;
    REQUIRE_OK(lh_options_create(name, class_tables, &options));
    for (; later != NULL && *later != NULL; ++later)
        test_check(lh_options_find(options, *later) >= 0, __FILE__, __LINE__,
                   "%s has no option '%s', which came later", name, *later);
    lh_options_destroy(options);
}

TEST(options_that_came_later_are_there) {
    const lh_model_class *model = NULL;
    for (int i = 0; (model = lh_model_class_at(i)) != NULL; ++i)
        check_later(model->name, model->options, model->later_options);
    check_later("train", lh_train_options, lh_train_later_options);
}
