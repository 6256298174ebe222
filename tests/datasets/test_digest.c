/* What a run's identity says of its data: the content, wherever it lies, and read once. */
#include "datasets/digest.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "datasets/images/images.h"
#include "datasets/series/series.h"
#include "datasets/text/corpus.h"
#include "datasets/text/defects.h"
#include "datasets/text/parallel_text.h"
#include "tests/config.h"
#include "tests/datasets/data_root.h"
#include "tests/test.h"

enum { PATH = 2 * DATA_ROOT_BYTES, LARGE = 4 << 20 };

/* A new data folder and, in it, a new cache folder. */
static bool make_place(void) {
    char cache[PATH];
    if (!make_root()) return false;
    (void)snprintf(cache, sizeof cache, "%s/cache", data_root);
    return CHECK(setenv("XDG_CACHE_HOME", cache, 1) == 0);
}

static const char *path_of(const char *name) {
    static char path[PATH];
    (void)snprintf(path, sizeof path, "%s/%s", data_root, name);
    return path;
}

/* ---- the content of every reader's files ---- */

static lh_status digest_corpus(const char *text, uint64_t *digest) {
    lh_options *options = NULL;
    lh_corpus *corpus = NULL;
    lh_corpus_config config;
    LH_TRY(parse_config(lh_corpus_config_options, text, &config, &options));
    const lh_status status = lh_corpus_open(&config, &corpus);
    if (status == LH_OK) *digest = lh_corpus_digest(corpus);
    lh_corpus_destroy(corpus);
    lh_options_destroy(options);
    return status;
}

static lh_status digest_parallel(const char *text, uint64_t *digest) {
    lh_options *options = NULL;
    lh_parallel *parallel = NULL;
    lh_parallel_config config;
    LH_TRY(parse_config(lh_parallel_config_options, text, &config, &options));
    const lh_status status = lh_parallel_open(&config, &parallel);
    if (status == LH_OK) *digest = lh_parallel_digest(parallel);
    lh_parallel_destroy(parallel);
    lh_options_destroy(options);
    return status;
}

static lh_status digest_series(const char *text, uint64_t *digest) {
    lh_options *options = NULL;
    lh_series *series = NULL;
    lh_series_config config;
    LH_TRY(parse_config(lh_series_config_options, text, &config, &options));
    const lh_status status = lh_series_open(&config, &series);
    if (status == LH_OK) *digest = lh_series_digest(series);
    lh_series_destroy(series);
    lh_options_destroy(options);
    return status;
}

static lh_status digest_defects(const char *name, uint64_t *digest) {
    lh_defects *defects = NULL;
    const lh_defects_spec spec = {
        .name = name, .tokens = "bytes", .most_tokens = 16, .counts = {1, 1, 1}};
    LH_TRY(lh_defects_open(&spec, &defects));
    *digest = lh_defects_digest(defects);
    lh_defects_destroy(defects);
    return LH_OK;
}

static lh_status digest_images(const char *name, uint64_t *digest) {
    lh_images *images = NULL;
    const lh_images_spec spec = {.name = name, .side = 1, .counts = {1, 1, 1}};
    LH_TRY(lh_images_open(&spec, &images));
    *digest = lh_images_digest(images);
    lh_images_destroy(images);
    return LH_OK;
}

#define NPY(pixels)                                                                                \
    "\x93NUMPY\x01\x00\x46\x00{'descr': '|u1', 'fortran_order': False, 'shape': (1, 3), }"         \
    "          \n" pixels
#define FUNCTION(text) "{\"func\": \"" text "\", \"target\": 1}\n"
#define ROWS(last)                                                                                 \
    "date,a\n2020-01-01 00:00,1\n2020-01-01 01:00,2\n2020-01-01 02:00,3\n2020-01-01 03:00,4\n"     \
    "2020-01-01 04:00,5\n2020-01-01 05:00,6\n2020-01-01 06:00,7\n2020-01-01 07:00,8\n"             \
    "2020-01-01 08:00,9\n2020-01-01 09:00," last "\n"

/* Files that a reader opens; the first one then gets another content of the same length. */
static const struct reader {
    const char *what, *files[3], *content[2];
    lh_status (*digest)(const char *text, uint64_t *digest);
    const char *text, *elsewhere;
} readers[] = {
    {"documents",
     {"a/train/x.txt", "a/test/y.txt"},
     {"one text", "two text"},
     digest_corpus,
     "name=a",
     "name=b"},
    {"evaluated documents",
     {"a/valid/x.txt", "a/train/y.txt"},
     {"one text", "two text"},
     digest_corpus,
     "name=a",
     "name=b"},
    {"pieces of documents",
     {"a/train/x.txt", "a/test/y.txt"},
     {"one text", "one tent"},
     digest_corpus,
     "name=a split_bytes=3",
     "name=b split_bytes=3"},
    {"a single text",
     {"a/text"},
     {"all of the text of the corpus, a hundred bytes or more, so that all of the three splits "
      "have "
      "some of it",
      "all of the text of the corpus, a hundred bytes or more, so that all of the three splits "
      "have "
      "none of it"},
     digest_corpus,
     "name=a",
     "name=b"},
    {"JSON lines",
     {"a/train.jsonl"},
     {"[\"one\"]\n[\"two\"]\n", "[\"one\"]\n[\"ten\"]\n"},
     digest_corpus,
     "name=a",
     "name=b"},
    {"sentences",
     {
         "a/test.de",
         "a/train.en",
         "a/train.de",
     },
     {"ein Hund\n", "ein Mund\n"},
     digest_parallel,
     "name=a tokens=bytes",
     "name=b tokens=bytes"},
    {"functions",
     {"a/test.jsonl", "a/train.jsonl", "a/valid.jsonl"},
     {FUNCTION("int a;"), FUNCTION("int b;")},
     digest_defects,
     "a",
     "b"},
    {"images",
     {"a/train/1.npy", "a/valid/1.npy"},
     {NPY("rgb"), NPY("bgr")},
     digest_images,
     "a",
     "b"},
};
enum { READERS = sizeof readers / sizeof readers[0] };

static size_t size_of(const struct reader *r) {
    return r->digest == digest_images ? sizeof NPY("rgb") - 1 : strlen(r->content[0]);
}

static void write_files(const struct reader *r) {
    for (int i = 0; i < 3 && r->files[i] != NULL; ++i)
        write_text(r->files[i], r->content[0], size_of(r));
    if (r->digest != digest_parallel) return;
    for (int i = 0; i < 2; ++i) {
        write_text(i == 0 ? "a/valid.en" : "a/test.en", r->content[0], strlen(r->content[0]));
        write_text("a/valid.de", r->content[0], strlen(r->content[0]));
    }
}

/* Writes another content under the old size and time. */
static void exchange(const char *name, const char *content, size_t bytes) {
    struct stat before;
    REQUIRE(stat(path_of(name), &before) == 0);
    write_text(name, content, bytes);
    const struct timespec times[2] = {before.st_atim, before.st_mtim};
    struct stat after;
    REQUIRE(utimensat(AT_FDCWD, path_of(name), times, 0) == 0 && stat(path_of(name), &after) == 0);
    CHECK(after.st_size == before.st_size && after.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
}

static void check_reader(const struct reader *r) {
    uint64_t first = 0, moved = 0, other = 0;
    char from[PATH];
    REQUIRE(make_place());
    write_files(r);
    REQUIRE_OK(r->digest(r->text, &first));
    (void)snprintf(from, sizeof from, "%s", path_of("a"));
    REQUIRE(rename(from, path_of("b")) == 0);
    REQUIRE_OK(r->digest(r->elsewhere, &moved));
    REQUIRE(rename(path_of("b"), from) == 0);
    exchange(r->files[0], r->content[1], size_of(r));
    REQUIRE_OK(r->digest(r->text, &other));
    if (!CHECK(first == moved)) printf("%s that lie elsewhere are other data\n", r->what);
    if (!CHECK(first != other)) printf("%s that were exchanged are the same data\n", r->what);
}

TEST(data_are_what_their_files_hold) {
    for (int i = 0; i < READERS; ++i)
        check_reader(&readers[i]);
}

TEST(a_series_is_its_values_and_names) {
    uint64_t digest[4];
    char text[2 * PATH];
    REQUIRE(make_place());
    static const char *const content[4] = {ROWS("10"), ROWS("10"), ROWS("11"), NULL};
    for (int i = 0; i < 4; ++i) {
        const char *name = i == 1 ? "there/s.csv" : "s.csv";
        const char *rows = i < 3 ? content[i] : "date,b" /* another name */;
        write_text(name, rows, strlen(rows));
        if (i == 3) {
            write_text(name, ROWS("10"), strlen(ROWS("10")));
            FILE *file = fopen(path_of(name), "r+");
            REQUIRE(file != NULL);
            CHECK(fseek(file, 5, SEEK_SET) == 0 && fputc('b', file) == 'b');
            (void)fclose(file);
        }
        (void)snprintf(text, sizeof text, "name=%s borders=shares", path_of(name));
        REQUIRE_OK(digest_series(text, &digest[i]));
    }
    CHECK(digest[0] == digest[1]);
    CHECK(digest[0] != digest[2] && digest[0] != digest[3] && digest[2] != digest[3]);
}

TEST(names_and_splits_are_part_of_the_data) {
    uint64_t digest[3];
    static const char *const place[3] = {"a/train/x.txt", "a/train/z.txt", "a/test/x.txt"};
    for (int i = 0; i < 3; ++i) {
        REQUIRE(make_place());
        write_text("a/train/y.txt", "text", 4);
        write_text(place[i], "more", 4);
        REQUIRE_OK(digest_corpus("name=a", &digest[i]));
    }
    CHECK(digest[0] != digest[1] && digest[0] != digest[2] && digest[1] != digest[2]);
}

TEST(a_vocabulary_is_part_of_the_data) {
    uint64_t digest[2];
    char text[2 * PATH];
    REQUIRE(make_place());
    write_text("a/train/x.txt", "one two", 7);
    for (int i = 0; i < 2; ++i) {
        const char *words = i == 0 ? "<eos>\n<unk>\none\n" : "<eos>\n<unk>\ntwo\n";
        write_text("words", words, strlen(words));
        (void)snprintf(text, sizeof text, "name=a tokens=words:%s", path_of("words"));
        REQUIRE_OK(digest_corpus(text, &digest[i]));
    }
    CHECK(digest[0] != digest[1]);
}

/* Documents that nobody reads change nothing. */
TEST(only_what_is_used_counts) {
    uint64_t digest[3];
    REQUIRE(make_place());
    for (int i = 0; i < 3; ++i) {
        write_text("a/train/1.txt", i == 2 ? "last" : "text", 4);
        write_text("a/train/2.txt", i == 0 ? "this" : "that", 4);
        REQUIRE_OK(digest_corpus("name=a limit_documents=1", &digest[i]));
    }
    CHECK(digest[0] == digest[1] && digest[1] != digest[2]);
}

/* ---- kept digests ---- */

static void write_large(const char *name, char letter) {
    char *text = malloc(LARGE);
    REQUIRE(text != NULL);
    memset(text, letter, LARGE);
    write_text(name, text, LARGE);
    free(text);
}

/* A file that changed just now is not kept. */
static void settle(void) {
    const struct timespec wait = {.tv_sec = 1, .tv_nsec = 100000000};
    (void)nanosleep(&wait, NULL);
}

static bool has_nul; /* of the last file */

/* Takes the digest as a process of its own would; how many bytes it read. */
static long long digest_once(const char *name, uint64_t *digest) {
    lh_digests *digests = NULL;
    const long long before = bytes_read();
    if (!CHECK_OK(lh_digests_create(&digests))) return -1;
    *digest = 0;
    CHECK_OK(lh_digests_file(digests, path_of(name), digest, &has_nul));
    lh_digests_keep(digests);
    lh_digests_destroy(digests);
    return bytes_read() - before;
}

TEST(a_file_is_read_once_until_it_changes) {
    uint64_t digest[5], plain = 0;
    if (bytes_read() < 0) SKIP("the system does not count what is read");
    REQUIRE(make_place());
    write_large("x", 'x');
    CHECK(digest_once("x", &digest[0]) >= LARGE);
    CHECK(digest_once("x", &digest[1]) >= LARGE); /* written just now: not kept */
    settle();
    CHECK(digest_once("x", &digest[1]) >= LARGE);
    CHECK(digest_once("x", &digest[2]) < LARGE / 8);
    CHECK(digest[0] == digest[1] && digest[1] == digest[2]);
    REQUIRE_OK(lh_digest_file(path_of("x"), &plain));
    CHECK(plain == digest[0]);
    /* Other content under the old size and time: the system's own time of the change tells. */
    struct stat before;
    REQUIRE(stat(path_of("x"), &before) == 0);
    write_large("x", 'y');
    const struct timespec times[2] = {before.st_atim, before.st_mtim};
    REQUIRE(utimensat(AT_FDCWD, path_of("x"), times, 0) == 0);
    CHECK(digest_once("x", &digest[3]) >= LARGE);
    CHECK(digest[3] != digest[0]);
}

/* Changes the byte that stands so far from the end, whatever it is. */
static void damage(const char *name, long place) {
    FILE *file = fopen(path_of(name), "r+");
    REQUIRE(file != NULL);
    CHECK(fseek(file, place, SEEK_END) == 0);
    const int other = fgetc(file) ^ 1;
    CHECK(fseek(file, place, SEEK_END) == 0 && fputc(other, file) == other);
    (void)fclose(file);
}

TEST(what_is_kept_tells_text_from_what_is_none) {
    static const char content[2][3] = {"ab", {'a', '\0', 'b'}};
    uint64_t digest = 0;
    for (int i = 0; i < 2; ++i) {
        REQUIRE(make_place());
        write_text("x", content[i], sizeof content[i] - (i == 0));
        settle();
        for (int times = 0; times < 2; ++times) {
            (void)digest_once("x", &digest);
            CHECK_EQ_INT(has_nul, i);
        }
    }
}

TEST(a_damaged_store_is_read_as_empty) {
    uint64_t digest[3];
    REQUIRE(make_place());
    write_large("x", 'x');
    settle();
    (void)digest_once("x", &digest[0]);
    damage("cache/longhaul/digests", -20); /* in the digest */
    CHECK(digest_once("x", &digest[1]) >= LARGE || bytes_read() < 0);
    CHECK(digest[0] == digest[1]);
    CHECK(digest_once("x", &digest[2]) < LARGE / 8); /* and mended */
    CHECK(digest[0] == digest[2]);
    write_text("cache/longhaul/digests", "short", 5);
    (void)digest_once("x", &digest[1]);
    CHECK(digest[0] == digest[1]);
}

TEST(without_a_cache_folder_files_are_read_again) {
    uint64_t digest = 0, again = 0;
    REQUIRE(make_place());
    write_large("x", 'x');
    write_text("blocked", "", 0);
    REQUIRE(setenv("XDG_CACHE_HOME", path_of("blocked"), 1) == 0);
    settle();
    CHECK(digest_once("x", &digest) >= 0);
    CHECK(digest_once("x", &again) >= LARGE || bytes_read() < 0);
    CHECK(digest != 0 && digest == again);
}

/* Processes that keep different files at once lose none of them. */
TEST(several_processes_add_to_one_store) {
    enum { PROCESSES = 6 };
    char name[16];
    uint64_t digest = 0;
    REQUIRE(make_place());
    for (int i = 0; i < PROCESSES; ++i) {
        (void)snprintf(name, sizeof name, "file%d", i);
        write_large(name, (char)('a' + i));
    }
    settle();
    for (int i = 0; i < PROCESSES; ++i) {
        (void)snprintf(name, sizeof name, "file%d", i);
        if (fork() == 0) {
            (void)digest_once(name, &digest);
            _exit(0);
        }
    }
    for (int i = 0, state = 0; i < PROCESSES; ++i)
        CHECK(wait(&state) > 0 && state == 0);
    for (int i = 0; i < PROCESSES; ++i) {
        (void)snprintf(name, sizeof name, "file%d", i);
        CHECK(digest_once(name, &digest) < LARGE / 8);
    }
}

/* ---- LONGHAUL_DATA that names nothing ---- */

static void check_refused(lh_status status) {
    CHECK_EQ_INT(status, LH_EIO);
    CHECK_CONTAINS(lh_error_text(), "LONGHAUL_DATA is '");
    CHECK_CONTAINS(lh_error_text(), "which is no folder");
    lh_error_clear();
}

TEST(a_data_folder_that_is_not_there_is_an_error_of_every_reader) {
    static const char *const places[] = {"nowhere", "file"};
    uint64_t digest = 0;
    for (int i = 0; i < 2; ++i) {
        REQUIRE(make_place());
        write_text("file", "", 0);
        REQUIRE(setenv("LONGHAUL_DATA", path_of(places[i]), 1) == 0);
        check_refused(digest_corpus("name=books documents=2", &digest));
        check_refused(digest_corpus("name=generate:books documents=2 tokens=bpe:gpt2", &digest));
        check_refused(digest_corpus("name=enwik8", &digest));
        check_refused(digest_parallel("name=wmt14-en-de pairs=8 tokens=bytes", &digest));
        check_refused(digest_series("name=ETTh1", &digest));
        check_refused(digest_defects("devign", &digest));
        check_refused(digest_images("imagenet64", &digest));
    }
    REQUIRE(setenv("LONGHAUL_DATA", "", 1) == 0); /* as if unset */
    CHECK_OK(digest_corpus("name=books documents=2", &digest));
}
