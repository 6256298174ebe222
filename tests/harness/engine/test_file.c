/* Files and folders: what is read whole, what a path leads to, and the errors that name it. */
#include "harness/engine/file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/engine/atomic_file.h"
#include "harness/engine/text.h"
#include "tests/test.h"

static char folder[] = "/tmp/longhaul-file-XXXXXX";

/* A path in the folder; lends until the next but three. */
static const char *in(const char *name) {
    static char paths[4][512];
    static int next;
    if (strstr(folder, "XXXXXX") != NULL) (void)mkdtemp(folder);
    next = (next + 1) % 4;
    (void)snprintf(paths[next], sizeof paths[next], "%s/%s", folder, name);
    return paths[next];
}

TEST(a_file_comes_back_whole_and_ends_with_a_nul) {
    void *data = NULL;
    size_t bytes = 0;
    REQUIRE_OK(lh_atomic_file_put(in("whole"), "a\0b\n", 4));
    REQUIRE_OK(lh_file_read_all(in("whole"), &data, &bytes));
    CHECK_EQ_INT(bytes, 4);
    CHECK(memcmp(data, "a\0b\n", 5) == 0);
    free(data);
    REQUIRE_OK(lh_atomic_file_put(in("whole"), "", 0));
    REQUIRE_OK(lh_file_read_all(in("whole"), &data, &bytes));
    CHECK(bytes == 0 && *(char *)data == '\0');
    free(data);
}

TEST(a_file_is_mapped_whole) {
    const void *map = NULL;
    size_t bytes = 1;
    REQUIRE_OK(lh_atomic_file_put(in("whole"), "a\0b\n", 4));
    REQUIRE_OK(lh_file_map(in("whole"), &map, &bytes));
    REQUIRE_OK(lh_atomic_file_put(in("whole"), "other", 5)); /* another file at its place */
    CHECK(bytes == 4 && memcmp(map, "a\0b\n", 4) == 0);
    lh_file_unmap(map, bytes);
    REQUIRE_OK(lh_atomic_file_put(in("whole"), "", 0));
    REQUIRE_OK(lh_file_map(in("whole"), &map, &bytes));
    CHECK(map == NULL && bytes == 0);
    lh_file_unmap(map, bytes);
    CHECK_FAILS(lh_file_map(in("nothing"), &map, &bytes), LH_EIO, "/nothing: cannot read");
    CHECK_FAILS(lh_file_map(folder, &map, &bytes), LH_EIO, "not a plain file");
}

/* What errno held of an earlier call is no reason for a later one. */
TEST(a_failure_of_the_system_says_why) {
    errno = ENOSPC;
    CHECK(!lh_io_refused());
    CHECK_FAILS(lh_io_failure("write", "a/file"), LH_EIO, "a/file: cannot write: fault");
    errno = ENOSPC;
    CHECK_FAILS(lh_io_failure("sync", "a/file"), LH_EIO, "a/file: cannot sync: No space left");
}

TEST(what_cannot_be_read_is_named) {
    void *data = NULL;
    size_t bytes = 0;
    CHECK_FAILS(lh_file_read_all(in("nothing"), &data, &bytes), LH_EIO, "/nothing: cannot read");
    CHECK(data == NULL);
    CHECK(lh_file_open(in("nothing")) == NULL);
    CHECK_EQ_INT(lh_error_get()->status, LH_EIO);
    lh_error_clear();
    CHECK(lh_file_open(folder) == NULL);
    CHECK_CONTAINS(lh_error_text(), "not a plain file");
    lh_error_clear();
    REQUIRE(mkfifo(in("pipe"), 0600) == 0);
    CHECK(lh_file_open(in("pipe")) == NULL); /* and does not wait for a writer */
    lh_error_clear();
    REQUIRE_OK(lh_atomic_file_put(in("plain"), "x", 1));
    FILE *file = lh_file_open(in("plain"));
    REQUIRE(file != NULL);
    CHECK_EQ_INT(fgetc(file), 'x');
    (void)fclose(file);
}

TEST(paths_are_told_apart) {
    REQUIRE_OK(lh_atomic_file_put(in("one"), "", 0));
    CHECK(lh_file_exists(in("one")) && !lh_is_folder(in("one")));
    CHECK(lh_file_exists(folder) && lh_is_folder(folder));
    CHECK(!lh_file_exists(in("two")) && !lh_is_folder(in("two")));
    CHECK(lh_name_ends("a.gz", ".gz") && lh_name_ends(".gz", ".gz") && lh_name_ends("a", ""));
    CHECK(!lh_name_ends("a.gz", ".g") && !lh_name_ends("gz", ".gz"));
}

TEST(the_first_name_that_is_there_is_found) {
    static const char *const names[] = {"missing", "second", "first", NULL};
    static const char *const none[] = {"missing", NULL};
    char *path = NULL;
    REQUIRE_OK(lh_atomic_file_put(in("first"), "", 0));
    REQUIRE_OK(lh_file_find(in("."), names, &path));
    REQUIRE(path != NULL);
    CHECK(lh_name_ends(path, "/first"));
    free(path);
    REQUIRE_OK(lh_atomic_file_put(in("second"), "", 0));
    REQUIRE_OK(lh_file_find(folder, names, &path));
    REQUIRE(path != NULL);
    CHECK_STR(path, in("second"));
    free(path);
    REQUIRE_OK(lh_file_find(folder, none, &path));
    CHECK(path == NULL);
}

TEST(folders_are_made_with_their_parents) {
    CHECK_OK(lh_make_folder(in("a/b//c")));
    CHECK(lh_is_folder(in("a/b/c")));
    CHECK_OK(lh_make_folder(in("a/b/c")));
    CHECK_OK(lh_make_folder(in("a/d/")));
    CHECK(lh_is_folder(in("a/d")));
    CHECK_STATUS(lh_make_folder(""), LH_EIO);
    REQUIRE_OK(lh_atomic_file_put(in("taken"), "", 0));
    CHECK_FAILS(lh_make_folder(in("taken")), LH_EIO, "taken: a file is where a folder should be");
    CHECK_FAILS(lh_make_folder(in("taken/below")), LH_EIO,
                "taken: a file is where a folder should be");
}

/* Longer than any buffer of a fixed size that one might have chosen for a link. */
TEST(a_link_is_read_however_long_it_is) {
    char target[1200], *read = NULL;
    memset(target, 'y', sizeof target);
    target[sizeof target - 1] = '\0';
    REQUIRE(symlink(target, in("long")) == 0 && symlink("short", in("link")) == 0);
    REQUIRE_OK(lh_link_read(in("long"), &read));
    CHECK_STR(read, target);
    free(read);
    REQUIRE_OK(lh_link_read(in("link"), &read));
    CHECK_STR(read, "short");
    free(read);
    REQUIRE_OK(lh_link_read(folder, &read));
    CHECK(read == NULL);
}
