/* Atomic files: a crash, a second writer, a link or a pipe never leaves half a file or loses an old
 * one. */
#include "harness/engine/atomic_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/engine/file.h"
#include "tests/test.h"

static char folder[64], path[96];

/* Stands in for the C library's: what has been asked to reach the disk, in order. */
static struct {
    int files, folders;
    bool renamed_before_file;
} synced;

/* The partial file whose renaming is watched. */
static char partial[160];

static bool replaced(void) {
    return access(partial, F_OK) != 0;
}

int fsync(int descriptor) {
    struct stat about;
    if (fstat(descriptor, &about) != 0) return -1;
    if (S_ISDIR(about.st_mode)) {
        synced.folders += replaced();
    } else {
        synced.files += 1;
        synced.renamed_before_file = replaced() || about.st_size == 0;
    }
    return 0;
}

/* Programs of several builds may run side by side. */
__attribute__((constructor)) static void name_files(void) {
    snprintf(folder, sizeof folder, "/tmp/longhaul-test-atomic-%ld", (long)getpid());
    snprintf(path, sizeof path, "%s/file", folder);
    mkdir(folder, 0777);
}

/* How many files the folder holds; all are removed. */
static int clear_folder(void) {
    int count = 0;
    DIR *entries = opendir(folder);
    for (struct dirent *e = readdir(entries); e != NULL; e = readdir(entries)) {
        char name[512];
        if (e->d_name[0] == '.') continue;
        snprintf(name, sizeof name, "%s/%s", folder, e->d_name);
        unlink(name);
        count += 1;
    }
    closedir(entries);
    return count;
}

__attribute__((destructor)) static void remove_folder(void) {
    rmdir(folder);
}

static void check_contents(const char *expected) {
    void *data = NULL;
    size_t bytes = 0;
    REQUIRE_OK(lh_file_read_all(path, &data, &bytes));
    CHECK_STR(data, expected);
    CHECK_EQ_INT(bytes, strlen(expected));
    free(data);
}

static void replace_contents(const char *text) {
    lh_atomic_file *file = NULL;
    REQUIRE_OK(lh_atomic_file_open(path, &file));
    CHECK_OK(lh_atomic_file_write(file, text, strlen(text)));
    CHECK_OK(lh_atomic_file_commit(file));
}

TEST(a_commit_replaces_the_file) {
    replace_contents("first");
    check_contents("first");
    replace_contents("");
    check_contents("");
    unlink(path);
}

/* A power cut leaves the old file or the new one: the contents are on the disk before the name, and
 * the name is before the call returns. */
TEST(a_commit_is_durable) {
    memset(&synced, 0, sizeof synced);
    lh_atomic_file *file = NULL;
    REQUIRE_OK(lh_atomic_file_open(path, &file));
    snprintf(partial, sizeof partial, "%s", lh_atomic_file_name(file));
    CHECK_OK(lh_atomic_file_write(file, "lasting", 7));
    CHECK_OK(lh_atomic_file_commit(file));
    CHECK_EQ_INT(synced.files, 1);
    CHECK(!synced.renamed_before_file);
    CHECK_EQ_INT(synced.folders, 1);
    unlink(path);
}

TEST(another_program_reads_what_was_flushed) {
    lh_atomic_file *file = NULL;
    char command[200];
    REQUIRE_OK(lh_atomic_file_open(path, &file));
    CHECK_OK(lh_atomic_file_write(file, "read", 4));
    CHECK_OK(lh_atomic_file_flush(file));
    snprintf(command, sizeof command, "grep -qx read '%s'", lh_atomic_file_name(file));
    CHECK_EQ_INT(system(command), 0);
    lh_atomic_file_abandon(file);
    CHECK_EQ_INT(clear_folder(), 0);
}

TEST(the_old_file_stands_until_the_commit) {
    replace_contents("old");
    lh_atomic_file *file = NULL;
    REQUIRE_OK(lh_atomic_file_open(path, &file));
    CHECK_OK(lh_atomic_file_write(file, "half", 4));
    check_contents("old");
    lh_atomic_file_abandon(file);
    check_contents("old");
    CHECK_EQ_INT(clear_folder(), 1);
}

TEST(two_writers_of_one_path_do_not_meet) {
    lh_atomic_file *first = NULL, *second = NULL;
    REQUIRE_OK(lh_atomic_file_open(path, &first));
    REQUIRE_OK(lh_atomic_file_open(path, &second));
    CHECK(strcmp(lh_atomic_file_name(first), lh_atomic_file_name(second)) != 0);
    CHECK_OK(lh_atomic_file_write(first, "first", 5));
    CHECK_OK(lh_atomic_file_write(second, "second", 6));
    CHECK_OK(lh_atomic_file_commit(first));
    check_contents("first");
    CHECK_OK(lh_atomic_file_commit(second));
    check_contents("second");
    CHECK_EQ_INT(clear_folder(), 1);
}

/* In another process: begins to write the path, then ends, or waits to be killed. */
static pid_t writer(bool waits, int ready) {
    const pid_t child = fork();
    if (child != 0) return child;
    lh_atomic_file *file = NULL;
    (void)lh_atomic_file_open(path, &file);
    (void)!write(ready, "x", 1);
    if (waits) pause();
    _exit(0);
}

static pid_t started_writer(bool waits) {
    int ends[2];
    char byte = 0;
    CHECK(pipe(ends) == 0);
    const pid_t child = writer(waits, ends[1]);
    CHECK(read(ends[0], &byte, 1) == 1);
    close(ends[0]);
    close(ends[1]);
    return child;
}

TEST(what_a_dead_process_left_is_removed_what_a_living_one_writes_stays) {
    int state = 0;
    const pid_t dead = started_writer(false), alive = started_writer(true);
    waitpid(dead, &state, 0);
    char own[160];
    snprintf(own, sizeof own, "%s/of-a-user.1-x.partial", folder);
    fclose(fopen(own, "w"));
    lh_atomic_file_sweep(folder);
    CHECK(access(own, F_OK) == 0);
    CHECK_EQ_INT(clear_folder(), 2);
    kill(alive, SIGKILL);
    waitpid(alive, &state, 0);
}

static bool leave(const char *format, ...) {
    char name[64], left[160];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    (void)snprintf(left, sizeof left, "%s/%s", folder, name);
    FILE *file = fopen(left, "w");
    return file != NULL && fclose(file) == 0;
}

/* In a container every process has the number 1. */
TEST(what_a_process_of_the_same_number_left_is_removed) {
    lh_atomic_file *own = NULL;
    const long number = (long)getpid();
    REQUIRE_OK(lh_atomic_file_open(path, &own));
    REQUIRE(leave("file.%ld-7.partial", number)); /* as names were */
    REQUIRE(leave("file.%ld-123-7.partial", number));
    lh_atomic_file_sweep(folder);
    CHECK_OK(lh_atomic_file_write(own, "whole", 5));
    CHECK_OK(lh_atomic_file_commit(own));
    check_contents("whole");
    CHECK_EQ_INT(clear_folder(), 1);
}

TEST(names_that_users_gave_stay) {
    static const char *const names[] = {"a.1-x.partial",  "a.1.partial",   "a.1-2-3-4.partial",
                                        "a.1--2.partial", "a1-2.partial",  "1-2.partial",
                                        "a.-1-2.partial", "a.1-2.partial~"};
    enum { NAMES = sizeof names / sizeof *names };
    for (int i = 0; i < NAMES; ++i)
        REQUIRE(leave("%s", names[i]));
    lh_atomic_file_sweep(folder);
    CHECK_EQ_INT(clear_folder(), NAMES);
}

TEST(the_first_write_into_a_folder_sweeps_it) {
    int state = 0;
    char inner[80];
    snprintf(inner, sizeof inner, "%s/inner", folder);
    snprintf(path, sizeof path, "%s/file", inner);
    REQUIRE(mkdir(inner, 0777) == 0);
    waitpid(started_writer(false), &state, 0);
    replace_contents("new");
    unlink(path);
    CHECK(rmdir(inner) == 0); /* else something is left */
    snprintf(path, sizeof path, "%s/file", folder);
}

TEST(eight_processes_write_one_path_and_sweep_its_folder) {
    enum { PROCESSES = 8, ROUNDS = 40 };
    int failed = 0;
    for (int p = 0; p < PROCESSES; ++p) {
        if (fork() != 0) continue;
        bool good = true;
        for (int r = 0; r < ROUNDS; ++r) {
            lh_atomic_file *file = NULL;
            lh_atomic_file_sweep(folder); /* of files that the others have just begun */
            good = good && lh_atomic_file_open(path, &file) == LH_OK &&
                   lh_atomic_file_write(file, "whole", 5) == LH_OK &&
                   lh_atomic_file_commit(file) == LH_OK;
        }
        _exit(good ? 0 : 1);
    }
    for (int p = 0; p < PROCESSES; ++p) {
        int state = 0;
        CHECK(wait(&state) > 0);
        failed += state != 0;
    }
    CHECK_EQ_INT(failed, 0);
    check_contents("whole");
    CHECK_EQ_INT(clear_folder(), 1);
}

TEST(a_symbolic_link_stays_and_its_target_is_replaced) {
    char link[128], target[128];
    struct stat about;
    snprintf(link, sizeof link, "%s/link", folder);
    snprintf(target, sizeof target, "%s/there", folder);
    REQUIRE(symlink("link2", link) == 0);
    snprintf(path, sizeof path, "%s/link2", folder);
    REQUIRE(symlink(target, path) == 0);
    snprintf(path, sizeof path, "%s/link", folder);
    replace_contents("one"); /* the target is not there yet */
    replace_contents("two");
    CHECK(lstat(link, &about) == 0 && S_ISLNK(about.st_mode));
    snprintf(path, sizeof path, "%s/there", folder);
    CHECK(lstat(path, &about) == 0 && S_ISREG(about.st_mode));
    check_contents("two");
    CHECK_EQ_INT(clear_folder(), 3);
    REQUIRE(symlink("link", link) == 0);
    lh_atomic_file *file = NULL;
    CHECK_FAILS(lh_atomic_file_open(link, &file), LH_EIO, "symbolic links without end");
    clear_folder();
    snprintf(path, sizeof path, "%s/file", folder);
}

TEST(mode_and_group_stay) {
    struct stat about;
    const mode_t before = umask(022);
    replace_contents("one");
    CHECK(stat(path, &about) == 0);
    CHECK_EQ_INT(about.st_mode & 07777, 0644);
    REQUIRE(chmod(path, 0664) == 0);
    const bool changed = chown(path, (uid_t)-1, about.st_gid + 1) == 0; /* root may */
    const gid_t group = about.st_gid + (changed ? 1 : 0);
    replace_contents("two");
    CHECK(stat(path, &about) == 0);
    CHECK_EQ_INT(about.st_mode & 07777, 0664);
    CHECK_EQ_INT(about.st_gid, group);
    umask(before);
    clear_folder();
}

TEST(a_pipe_is_refused_and_not_waited_for) {
    void *data = NULL;
    size_t bytes = 0;
    lh_atomic_file *file = NULL;
    REQUIRE(mkfifo(path, 0666) == 0);
    CHECK_FAILS(lh_file_read_all(path, &data, &bytes), LH_EIO, "not a plain file");
    CHECK_FAILS(lh_atomic_file_open(path, &file), LH_EIO, "not a plain file");
    clear_folder();
}

TEST(failures_name_the_file) {
    lh_atomic_file *file = NULL;
    void *data = NULL;
    size_t bytes = 0;
    CHECK_FAILS(lh_atomic_file_open("/tmp/longhaul-none/file", &file), LH_EIO, "longhaul-none");
    CHECK_FAILS(lh_atomic_file_open("/tmp", &file), LH_EIO, "/tmp: not a plain file");
    CHECK_FAILS(lh_atomic_file_open("/dev/null", &file), LH_EIO, "/dev/null: not a plain file");
    CHECK(file == NULL);
    CHECK_FAILS(lh_file_read_all("/tmp/longhaul-none/file", &data, &bytes), LH_EIO,
                "longhaul-none");
    CHECK_FAILS(lh_file_read_all("/tmp", &data, &bytes), LH_EIO, "not a plain file");
    CHECK(data == NULL);
    lh_atomic_file_abandon(NULL);
}
