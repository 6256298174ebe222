/* Which name is near enough to be proposed, and the sentence that proposes it. */
#include "harness/engine/nearest_name.h"

#include "tests/test.h"

static const char *const names[] = {"width", "heads", "layers", "window", NULL};
static const char *const none[] = {NULL};

TEST(the_nearest_name_has_the_fewest_edits) {
    CHECK_STR(lh_nearest_name("windw", names), "window");
    CHECK_STR(lh_nearest_name("widht", names), "width");
    CHECK_STR(lh_nearest_name("layer", names), "layers");
    CHECK_STR(lh_nearest_name("HEADS", names), "heads");
    CHECK_STR(lh_nearest_name("width", names), "width");
}

/* Two edits of three letters would be too many, one is not. */
TEST(swapped_neighbours_are_one_edit) {
    static const char *const commands[] = {"new", "run", "runs", NULL};
    CHECK_STR(lh_nearest_name("rnu", commands), "run");
    CHECK_STR(lh_nearest_name("urns", commands), "runs");
    CHECK(lh_nearest_name("nur", commands) == NULL);
}

TEST(of_equally_near_names_it_is_the_first_and_a_message_has_three) {
    static const char *const equal[] = {"bat", "cat", NULL};
    CHECK_STR(lh_nearest_name("rat", equal), "bat");
    CHECK_STR(lh_did_you_mean("rat", equal),
              " (did you mean 'bat' or 'cat'?); there are: bat, cat");
    CHECK_STR(lh_did_you_mean("bat", equal), " (did you mean 'bat'?); there are: bat, cat");
    static const char *const many[] = {"bat", "cat", "fat", "hat", NULL};
    CHECK_STR(lh_did_you_mean("rat", many),
              " (did you mean 'bat' or 'cat' or 'fat'?); there are: bat, cat, fat, hat");
}

/* At most half of a short word, or a third of a longer one, may be wrong. */
TEST(a_name_that_shares_little_is_not_near) {
    static const char *const four[] = {"abcd", NULL};
    CHECK_STR(lh_nearest_name("abxy", four), "abcd");
    CHECK(lh_nearest_name("axyz", four) == NULL);
    static const char *const eight[] = {"longest", "abcdefgh", NULL};
    CHECK(lh_nearest_name("nonsense", eight) == NULL);
    CHECK_STR(lh_nearest_name("abcdexyz", eight), "abcdefgh");
    CHECK(lh_nearest_name("abcdwxyz", eight) == NULL);
    CHECK(lh_nearest_name("q", names) == NULL);
    CHECK(lh_nearest_name("", names) == NULL);
    CHECK(lh_nearest_name("width", none) == NULL);
}

TEST(a_part_of_a_name_stands_for_it_where_nothing_is_nearer) {
    const char *const tasks[] = {"language_model", "random_walk", "modelling", NULL};
    CHECK_STR(lh_nearest_name("languag", tasks), "language_model");
    CHECK_STR(lh_nearest_name("Walk", tasks), "random_walk");
    CHECK_STR(lh_nearest_name("mode", tasks), "modelling"); /* it begins so */
    CHECK_STR(lh_nearest_name("modeling", tasks), "modelling");
    CHECK(lh_nearest_name("la", tasks) == NULL);
    CHECK(lh_nearest_name("xyzzy_walk", tasks) == NULL);
}

TEST(long_words_are_near_to_nothing) {
    char word[301];
    memset(word, 'w', 300);
    word[300] = '\0';
    CHECK(lh_nearest_name(word, names) == NULL);
    word[64] = '\0';
    const char *const itself[] = {word, NULL};
    CHECK(lh_nearest_name(word, itself) == NULL);
    word[63] = '\0';
    CHECK(lh_nearest_name(word, itself) == word);
    CHECK_EQ_INT(strlen(lh_did_you_mean(word, itself)),
                 63 + 63 + strlen(" (did you mean ''?); there are: "));
}

TEST(a_message_goes_on_with_the_nearest_and_with_what_there_is) {
    CHECK_STR(lh_did_you_mean("windw", names),
              " (did you mean 'window'?); there are: width, heads, layers, window");
    CHECK_STR(lh_did_you_mean("q", names), "; there are: width, heads, layers, window");
    CHECK_STR(lh_did_you_mean("q", none), "");
}

/* Forty names of 10 bytes are a list by themselves, and none beside the nearest; 120 are none. */
TEST(a_list_that_nobody_would_read_is_left_out) {
    static char text[120][16];
    const char *many[121] = {NULL};
    for (int i = 0; i < 120; ++i) {
        (void)snprintf(text[i], sizeof text[i], "option_%03d", i);
        many[i] = text[i];
    }
    CHECK_STR(lh_did_you_mean("option_07", many),
              " (did you mean 'option_007' or 'option_017' or 'option_027'?)");
    CHECK_STR(lh_did_you_mean("q", many), "");
    many[40] = NULL;
    CHECK_STR(lh_did_you_mean("option_07", many),
              " (did you mean 'option_007' or 'option_017' or 'option_027'?)");
    const char *told = lh_did_you_mean("q", many);
    CHECK_EQ_INT(strlen(told), strlen("; there are: ") + 40 * 10 + 39 * 2);
    CHECK_STR(strrchr(told, ' '), " option_039");
}
