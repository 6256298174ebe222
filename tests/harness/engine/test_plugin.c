/* Models from shared objects on a path: found by name, loaded once, and what cannot be loaded is
 * told and left out. */
#include "harness/engine/plugin.h"

#include <unistd.h>

#include "harness/engine/atomic_file.h"
#include "tests/test.h"

/* What was said of those that were skipped. */
typedef struct complaints {
    int count;
    char first[512], last[512];
} complaints;

static void hear(void *context, const char *message) {
    complaints *heard = context;
    char *to = heard->count++ == 0 ? heard->first : heard->last;
    (void)snprintf(to, sizeof heard->last, "%s", message);
}

static const lh_plugin_kind *const models_alone[] = {&lh_model_kind, NULL};

static int class_count(void) {
    int count = 0;
    while (lh_model_class_at(count) != NULL)
        count += 1;
    return count;
}

/* tests/plugins has bigram.so, faulty.so and slide.so, which calls its model outside_slide. */
TEST(the_models_of_a_folder_are_found_by_name_once) {
    complaints heard = {0};
    const char *folder = getenv("LH_TEST_PLUGINS");
    if (folder == NULL) SKIP("LH_TEST_PLUGINS is not set");
    const int in_tree = class_count();
    CHECK(lh_model_class_find("bigram") == NULL);
    CHECK_CONTAINS(lh_error_text(), "no model 'bigram'");
    for (int i = 0; i < 2; ++i) {
        lh_plugins_load(models_alone, folder, hear, &heard);
        CHECK_EQ_INT(class_count(), in_tree + 3);
    }
    const lh_model_class *bigram = lh_model_class_find("bigram");
    REQUIRE(bigram != NULL && lh_model_class_find("outside_slide") != NULL);
    CHECK_CONTAINS(lh_class_file(&lh_model_kind, "bigram"), "/bigram.so");
    CHECK(lh_class_file(&lh_model_kind, "brt") == NULL);
    CHECK_STR(bigram->paper, "Shannon 1948");
    CHECK(bigram->forward != NULL && bigram->check == NULL);
    CHECK_EQ_INT(heard.count, 0);
}

/* A file that is no library among others, in the last of three folders, of which one is not there
 * and one has no name. */
TEST(what_cannot_be_loaded_is_told_and_left_out) {
    complaints heard = {0};
    char folder[] = "/tmp/longhaul-plugin-XXXXXX", broken[64], notes[64], path[128];
    REQUIRE(mkdtemp(folder) != NULL);
    (void)snprintf(broken, sizeof broken, "%s/broken.so", folder);
    (void)snprintf(notes, sizeof notes, "%s/notes.txt", folder);
    (void)snprintf(path, sizeof path, "%s/nowhere::%s", folder, folder);
    REQUIRE_OK(lh_atomic_file_put(broken, "no library\n", 11));
    REQUIRE_OK(lh_atomic_file_put(notes, "no library\n", 11));
    const int before = class_count();
    lh_plugins_load(models_alone, path, hear, &heard);
    CHECK_EQ_INT(heard.count, 2);
    CHECK_CONTAINS(heard.first, "nowhere cannot be read");
    CHECK_CONTAINS(heard.last, broken);
    lh_plugins_load(models_alone, notes, hear, &heard);
    CHECK_CONTAINS(heard.last, "notes.txt is no folder");
    CHECK_EQ_INT(class_count(), before);
    CHECK_EQ_INT(lh_error_get()->status, LH_OK);
    CHECK(unlink(broken) == 0 && unlink(notes) == 0 && rmdir(folder) == 0);
}

TEST(without_a_path_the_environment_has_it) {
    complaints heard = {0};
    REQUIRE(unsetenv("LONGHAUL_PLUGINS") == 0);
    lh_plugins_load(models_alone, NULL, hear, &heard);
    CHECK_EQ_INT(heard.count, 0);
    REQUIRE(setenv("LONGHAUL_PLUGINS", "/nowhere/at/all", 1) == 0);
    lh_plugins_load(models_alone, NULL, hear, &heard);
    CHECK_EQ_INT(heard.count, 1);
    CHECK_CONTAINS(heard.first, "/nowhere/at/all");
    lh_plugins_load(models_alone, "", hear, &heard);
    CHECK_EQ_INT(heard.count, 1);
}

/* A kind of two classes of this tree and none of plug-ins. */
typedef struct fruit {
    const char *name;
} fruit;

static const void *own_fruit(int index) {
    static const fruit all[] = {{"apple"}, {"pear"}};
    return index >= 0 && index < 2 ? &all[index] : NULL;
}

static bool complete_fruit(void *class) {
    return class != NULL;
}

TEST(a_kind_has_its_own_classes_by_name) {
    const lh_plugin_kind kind = {.noun = "fruit",
                                 .symbol = "no_such_symbol",
                                 .class_size = sizeof(fruit),
                                 .own = own_fruit,
                                 .complete = complete_fruit};
    CHECK(lh_class_at(&kind, 1) == own_fruit(1) && lh_class_at(&kind, 2) == NULL);
    CHECK(lh_class_at(&kind, -1) == NULL);
    CHECK(lh_class_find(&kind, "pear") == own_fruit(1));
    CHECK(lh_class_find(&kind, "peer") == NULL);
    CHECK_CONTAINS(lh_error_text(), "no fruit 'peer' (did you mean 'pear'?)");
    lh_error_clear();
    CHECK(lh_class_find(&lh_model_kind, "brt") == lh_model_class_find("brt"));
}
