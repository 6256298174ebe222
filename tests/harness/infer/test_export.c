/* What an export writes is what the session has, and goes on with. */
#include <cjson/cJSON.h>
#include <unistd.h>

#include "harness/engine/file.h"
#include "harness/engine/safetensors.h"
#include "harness/infer/export.h"
#include "harness/train/session_file.h"
#include "harness/train/trainer.h"
#include "tests/harness/trigram.h"
#include "tests/tensor_named.h"
#include "tests/test.h"

static const char task_text[] = "segment=6 batch=3",
                  train_text[] = "steps=9 rate=0.30000000000000004 warmup=2";
static char folder[] = "/tmp/longhaul-test-export-XXXXXX";

enum { BATCHES = 12, ROWS = 3, LENGTH = 6 };

static const char *in_folder(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void make_folder(void) {
    snprintf(folder, sizeof folder, "/tmp/longhaul-test-export-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
}

static void remove_folder(void) {
    static const char *const names[] = {"run.json", "weights.safetensors", "batches.safetensors"};
    for (int i = 0; i < 3; ++i)
        (void)unlink(in_folder(names[i]));
    CHECK(rmdir(folder) == 0);
}

static lh_session *open_session(uint64_t seed) {
    lh_session *session = NULL;
    CHECK_OK(trigram_session("width=16 dropout=0.1", task_text, train_text, seed, &session));
    return session;
}

TEST(a_run_goes_on_as_if_it_had_not_been_exported) {
    lh_session *exported = open_session(4), *other = open_session(4);
    REQUIRE(exported != NULL && other != NULL);
    make_folder();
    CHECK_OK(lh_session_export(exported, folder, BATCHES));
    CHECK_OK(lh_session_train(exported, NULL, NULL, NULL));
    CHECK_OK(lh_session_train(other, NULL, NULL, NULL));
    CHECK(same_values(exported, other));
    remove_folder();
    lh_session_destroy(exported);
    lh_session_destroy(other);
}

static double option(const cJSON *root, const char *group, const char *name) {
    return cJSON_GetNumberValue(cJSON_GetObjectItem(cJSON_GetObjectItem(root, group), name));
}

TEST(options_are_there_with_their_defaults) {
    lh_session *session = open_session(9007199254740993);
    REQUIRE(session != NULL);
    make_folder();
    CHECK_OK(lh_session_export(session, folder, 1));
    void *text = NULL;
    size_t bytes = 0;
    CHECK_OK(lh_file_read_all(in_folder("run.json"), &text, &bytes));
    cJSON *root = cJSON_Parse(text);
    CHECK(strstr(text, "\"seed\":\t9007199254740993,") != NULL); /* no double has it */
    CHECK_STR(cJSON_GetStringValue(cJSON_GetObjectItem(root, "model")), "trigram");
    CHECK_EQ_INT(cJSON_GetNumberValue(cJSON_GetObjectItem(root, "vocabulary")), TRIGRAM_VOCABULARY);
    CHECK_EQ_INT(option(root, "model_options", "width"), 16);
    CHECK_NEAR(option(root, "model_options", "dropout"), 0.1, 0);
    CHECK_NEAR(option(root, "train_options", "rate"), 0.30000000000000004, 0);
    CHECK_NEAR(option(root, "train_options", "epsilon"), 1e-8, 0);
    cJSON_Delete(root);
    free(text);
    remove_folder();
    lh_session_destroy(session);
}

TEST(weights_are_those_of_the_session) {
    lh_session *session = open_session(4), *other = open_session(5);
    REQUIRE(session != NULL && other != NULL);
    make_folder();
    CHECK_OK(lh_session_export(session, folder, 1));
    CHECK(!same_values(session, other));
    CHECK_OK(lh_session_load_weights(other, in_folder("weights.safetensors"), false));
    CHECK(same_values(session, other));
    remove_folder();
    lh_session_destroy(session);
    lh_session_destroy(other);
}

/* Element `index` of the file's tensor. */
static int64_t stored(const lh_safetensors *file, const char *name, int64_t index) {
    const lh_safetensors_entry *entry = tensor_named(file, name);
    if (entry == NULL || entry->count > BATCHES * ROWS * LENGTH || index >= entry->count) return -1;
    real values[BATCHES * ROWS * LENGTH];
    lh_safetensors_convert(entry, values);
    return (int64_t)values[index];
}

static void check_batch(const lh_safetensors *file, int64_t index, const lh_host_batch *host) {
    for (int64_t i = 0; i < ROWS * LENGTH; ++i) {
        const int64_t at = index * ROWS * LENGTH + i;
        CHECK_EQ_INT(stored(file, "tokens", at), host->tokens[i]);
        CHECK_EQ_INT(stored(file, "target", at), host->target[i]);
        CHECK_EQ_INT(stored(file, "weights", at), host->weights[i] > 0);
    }
    for (int64_t r = 0; r < ROWS; ++r)
        CHECK_EQ_INT(stored(file, "starts", index * ROWS + r), host->starts[r]);
}

TEST(batches_are_the_next_ones_of_training) {
    lh_session *session = open_session(4), *other = open_session(4);
    REQUIRE(session != NULL && other != NULL);
    make_folder();
    CHECK_OK(lh_session_export(session, folder, BATCHES));
    lh_safetensors *file = NULL;
    REQUIRE_OK(lh_safetensors_open(in_folder("batches.safetensors"), &file));
    CHECK_EQ_INT(tensor_named(file, "tokens")->shape[0], BATCHES);
    const lh_task *task = lh_session_task(other);
    for (int64_t i = 0; i < BATCHES; ++i) {
        lh_host_batch host;
        CHECK_OK(task->class->train_batch(task->instance, &host));
        check_batch(file, i, &host);
    }
    lh_safetensors_close(file);
    remove_folder();
    lh_session_destroy(session);
    lh_session_destroy(other);
}

static int batches_left;

static lh_status run_dry(void *instance, lh_host_batch *out) {
    if (batches_left-- == 0) return lh_fail(LH_EIO, "the disk is gone");
    return pattern_class.train_batch(instance, out);
}

static void check_same_place(const lh_session *session, const lh_task_place *before) {
    lh_task_place after;
    lh_task_mark(lh_session_task(session), &after);
    CHECK_EQ_INT(after.words, before->words);
    CHECK(memcmp(after.cursor, before->cursor, (size_t)before->words * sizeof(int64_t)) == 0);
}

/* Whichever batch fails, while they are measured or while they are kept. */
TEST(a_session_stands_where_it_stood_when_a_batch_fails) {
    lh_task_class failing = pattern_class;
    failing.train_batch = run_dry;
    lh_session *session = NULL;
    lh_task_place before;
    REQUIRE_OK(any_session(&trigram_class, "", &failing, task_text, train_text, 4, &session));
    lh_task_mark(lh_session_task(session), &before);
    make_folder();
    for (int good = 0; good < 4; ++good) {
        batches_left = good;
        CHECK_FAILS(lh_session_export(session, folder, 2), LH_EIO, "the disk is gone");
        check_same_place(session, &before);
    }
    remove_folder();
    lh_session_destroy(session);
}

TEST(what_cannot_be_exported_is_refused) {
    lh_session *session = open_session(4);
    REQUIRE(session != NULL);
    CHECK_STATUS(lh_session_export(session, "/tmp", 0), LH_EOPTION);
    CHECK_FAILS(lh_session_export(session, "/nowhere/to/be", 1), LH_EIO, "/nowhere/to/be");
    lh_session_destroy(session);
}
