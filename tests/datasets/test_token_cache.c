/* Tokens that are kept: the same as without, made once, and again whenever anything is amiss. */
#include "datasets/text/token_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "datasets/digest.h"
#include "datasets/text/corpus.h"
#include "harness/engine/file.h"
#include "tests/config.h"
#include "tests/datasets/data_root.h"
#include "tests/test.h"

enum { PATH = 2 * DATA_ROOT_BYTES, DOCUMENTS = 6, DOCUMENT_BYTES = 1 << 18 };

static const char *path_of(const char *name) {
    static char path[PATH];
    (void)snprintf(path, sizeof path, "%s/%s", data_root, name);
    return path;
}

/* Words of a document, of which the vocabulary knows some. */
static void write_document(int index, int seed) {
    static const char *const words[] = {"one", "two", "three", "four", "five", "six", "seven"};
    char name[PATH], *text = malloc(DOCUMENT_BYTES + 16);
    size_t bytes = 0;
    REQUIRE(text != NULL);
    for (unsigned n = (unsigned)(index + 17 * seed); bytes < DOCUMENT_BYTES; n = n * 75 + 74)
        bytes += (size_t)snprintf(text + bytes, 16, "%s ", words[n / 16 % 7]);
    (void)snprintf(name, sizeof name, "mine/%s/%d.txt", index == 5 ? "valid" : "train", index);
    write_text(name, text, DOCUMENT_BYTES);
    free(text);
}

/* A corpus of six documents with a vocabulary, and an empty cache folder. */
static bool make_place(void) {
    static const char vocabulary[] = "<eos>\n<unk>\none\ntwo\nfour\n";
    char cache[PATH];
    if (!make_root()) return false;
    (void)snprintf(cache, sizeof cache, "%s/cache", data_root);
    for (int i = 0; i < DOCUMENTS; ++i)
        write_document(i, 0);
    write_text("words", vocabulary, sizeof vocabulary - 1);
    return CHECK(setenv("XDG_CACHE_HOME", cache, 1) == 0);
}

static lh_status open_mine(const char *more, lh_corpus **out) {
    char text[3 * PATH];
    lh_options *options = NULL;
    lh_corpus_config config;
    (void)snprintf(text, sizeof text, "name=mine tokens=words:%s %s", path_of("words"), more);
    lh_status status = parse_config(lh_corpus_config_options, text, &config, &options);
    if (status == LH_OK) status = lh_corpus_open(&config, out);
    lh_options_destroy(options);
    return status;
}

/* Reads the documents [first, end) of all as a process of its own would; a digest of all that they
 * say. */
static uint64_t read_some(const char *more, int first, int end) {
    uint64_t digest = 0;
    lh_corpus *corpus = NULL;
    if (!CHECK_OK(open_mine(more, &corpus))) return 0;
    for (int i = first; i < end; ++i) {
        lh_document d;
        const lh_split split = i == 5 ? LH_VALID : LH_TRAIN;
        if (!CHECK_OK(lh_corpus_document(corpus, split, i % 5, &d))) break;
        const int64_t numbers[] = {d.count, d.bytes, d.words};
        digest = lh_digest_mix(digest, d.tokens, (size_t)d.count * sizeof *d.tokens);
        digest = lh_digest_mix(digest, numbers, sizeof numbers);
    }
    lh_corpus_destroy(corpus);
    CHECK_EQ_INT(lh_error_get()->status, LH_OK);
    return digest;
}

static uint64_t read_all(const char *more) {
    return read_some(more, 0, DOCUMENTS);
}

/* The one file of the cache, or NULL; lends. */
static const char *kept_file(void) {
    static char found[PATH];
    char command[2 * PATH];
    found[0] = '\0';
    (void)snprintf(command, sizeof command, "ls %s/cache/longhaul/tokens/* 2>/dev/null", data_root);
    FILE *list = popen(command, "r");
    if (list == NULL || fgets(found, sizeof found, list) == NULL) found[0] = '\0';
    found[strcspn(found, "\n")] = '\0';
    if (list != NULL) (void)pclose(list);
    return found[0] != '\0' ? found : NULL;
}

/* ---- with and without ---- */

TEST(kept_tokens_are_those_of_the_text) {
    static const char *const options[] = {"", "split_bytes=100000", "valid_tokens=1000",
                                          "limit_documents=5 split_bytes=200000"};
    const struct timespec settle = {.tv_sec = 1, .tv_nsec = 100000000};
    for (int i = 0; i < 4; ++i) {
        REQUIRE(make_place());
        REQUIRE(setenv("XDG_CACHE_HOME", "/dev/null", 1) == 0); /* nothing can be kept */
        const uint64_t without = read_all(options[i]);
        char cache[PATH];
        (void)snprintf(cache, sizeof cache, "%s", path_of("cache"));
        REQUIRE(setenv("XDG_CACHE_HOME", cache, 1) == 0);
        if (i == 0) (void)nanosleep(&settle, NULL); /* so that digests of files are kept, too */
        CHECK(read_all(options[i]) == without);
        REQUIRE(kept_file() != NULL);
        const long long before = bytes_read();
        CHECK(read_all(options[i]) == without);
        CHECK(i > 0 || before < 0 || bytes_read() - before < DOCUMENT_BYTES);
    }
}

TEST(runs_add_to_what_is_kept) {
    struct stat few, all, again;
    REQUIRE(make_place());
    const uint64_t second = read_some("", 3, DOCUMENTS), first = read_some("", 0, 3);
    REQUIRE(kept_file() != NULL && stat(kept_file(), &all) == 0);
    CHECK(read_some("", 3, DOCUMENTS) == second && read_some("", 0, 3) == first);
    REQUIRE(stat(kept_file(), &again) == 0);
    CHECK(all.st_ino == again.st_ino); /* nothing was encoded: nothing was written */
    REQUIRE(unlink(kept_file()) == 0);
    CHECK(read_some("", 3, DOCUMENTS) == second);
    REQUIRE(stat(kept_file(), &few) == 0);
    CHECK(few.st_size < all.st_size * 2 / 3);
}

TEST(little_text_is_not_kept) {
    REQUIRE(make_place());
    (void)read_all("limit_bytes=1000 limit_eval_bytes=1000 split_bytes=200");
    CHECK(kept_file() == NULL);
}

/* ---- what is amiss ---- */

static void spoil(long at, int whence, bool cut) {
    FILE *file = fopen(kept_file(), "r+");
    REQUIRE(file != NULL);
    REQUIRE(fseek(file, at, whence) == 0);
    if (cut) {
        CHECK(ftruncate(fileno(file), ftell(file)) == 0);
    } else {
        const int byte = fgetc(file);
        CHECK(fseek(file, -1, SEEK_CUR) == 0 && fputc(byte ^ 1, file) == (byte ^ 1));
    }
    (void)fclose(file);
}

TEST(a_damaged_file_is_made_anew) {
    static const struct {
        long at;
        int whence;
        bool cut;
    } damages[] = {{0, SEEK_SET, false},  {8, SEEK_SET, false},    {16, SEEK_SET, false},
                   {24, SEEK_SET, false}, {40, SEEK_SET, false},   {-4, SEEK_END, false},
                   {-4, SEEK_END, true},  {100, SEEK_SET, true},   {10, SEEK_SET, true},
                   {0, SEEK_SET, true},   {-99999, SEEK_END, true}};
    REQUIRE(make_place());
    const uint64_t whole = read_all("");
    struct stat before, after;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; ++i) {
        REQUIRE(kept_file() != NULL && stat(kept_file(), &before) == 0);
        spoil(damages[i].at, damages[i].whence, damages[i].cut);
        const bool same = read_all("") == whole;
        REQUIRE(stat(kept_file(), &after) == 0);
        test_check(same && after.st_size == before.st_size && after.st_ino != before.st_ino,
                   __FILE__, __LINE__, "damage %zu is not mended", i);
    }
}

/* The file of one corpus under the name of another. */
TEST(a_foreign_file_is_made_anew) {
    char first[PATH], second[PATH];
    REQUIRE(make_place());
    const uint64_t whole = read_all("");
    (void)snprintf(first, sizeof first, "%s", kept_file());
    (void)snprintf(second, sizeof second, "%s", path_of("aside"));
    REQUIRE(rename(first, second) == 0);
    const uint64_t cut = read_all("valid_tokens=1000");
    REQUIRE(cut != whole);
    (void)snprintf(first, sizeof first, "%s", kept_file());
    REQUIRE(rename(second, first) == 0);
    CHECK(read_all("valid_tokens=1000") == cut);
    CHECK(read_all("valid_tokens=1000") == cut);
}

TEST(another_text_or_vocabulary_has_other_tokens) {
    static const char other[] = "<eos>\n<unk>\none\ntwo\nfive\n";
    REQUIRE(make_place());
    const uint64_t first = read_all("");
    write_document(2, 1);
    const uint64_t second = read_all("");
    CHECK(first != second && read_all("") == second);
    write_text("words", other, sizeof other - 1);
    const uint64_t third = read_all("");
    CHECK(third != second && read_all("") == third);
}

/* Tokens of another text are not kept under the name of the one that was digested. */
TEST(a_text_that_changes_meanwhile_is_noticed) {
    lh_corpus *corpus = NULL;
    lh_document document;
    REQUIRE(make_place());
    REQUIRE_OK(open_mine("", &corpus));
    write_document(1, 1); /* as many bytes */
    CHECK_OK(lh_corpus_document(corpus, LH_TRAIN, 0, &document));
    CHECK_FAILS(lh_corpus_document(corpus, LH_TRAIN, 1, &document), LH_EIO,
                "1.txt: changed since the corpus was opened");
    lh_corpus_destroy(corpus);
}

/* ---- several processes ---- */

TEST(processes_at_once_read_and_write_one_file) {
    enum { PROCESSES = 4 };
    REQUIRE(make_place());
    REQUIRE(setenv("XDG_CACHE_HOME", "/dev/null", 1) == 0);
    const uint64_t whole = read_all("");
    char cache[PATH];
    (void)snprintf(cache, sizeof cache, "%s", path_of("cache"));
    REQUIRE(setenv("XDG_CACHE_HOME", cache, 1) == 0);
    for (int i = 0; i < PROCESSES; ++i) {
        if (fork() == 0) {
            (void)read_some("", i, i + 2);
            _exit(read_all("") == whole ? 0 : 1);
        }
    }
    for (int i = 0, state = 0; i < PROCESSES; ++i)
        CHECK(wait(&state) > 0 && state == 0);
    CHECK(read_all("") == whole);
    CHECK(read_all("") == whole);
}

/* ---- how texts are encoded ---- */

static void check_kind(const char *name, uint64_t known) {
    static const char text[] = "One two, isn't three?  naïve\n\tFOUR 4711 zwölf\n two two.";
    lh_tokenizer *tokenizer = NULL;
    int32_t *tokens = NULL;
    int64_t count = 0;
    REQUIRE_OK(lh_tokenizer_open(name, &tokenizer));
    CHECK(lh_tokenizer_key(tokenizer) != 0);
    REQUIRE_OK(lh_tokenizer_encode(tokenizer, text, sizeof text - 1, &tokens, &count));
    const uint64_t digest = lh_digest_mix(0, tokens, (size_t)count * sizeof *tokens);
    (void)test_check(LH_TOKENS_VERSION == 1 && digest == known, __FILE__, __LINE__,
                     "%s: LH_TOKENS_VERSION %d makes %#llx: other tokens want another version",
                     name, LH_TOKENS_VERSION, (unsigned long long)digest);
    free(tokens);
    lh_tokenizer_destroy(tokenizer);
}

TEST(other_tokens_have_another_version) {
    char name[PATH + 8];
    lh_tokenizer *bytes = NULL;
    REQUIRE(make_place());
    (void)snprintf(name, sizeof name, "words:%s", path_of("words"));
    check_kind(name, 0x7714756f86e319cfULL);
#ifdef LH_HAVE_PCRE2
    check_kind("bpe:tests/golden/bpe", 0x7554a1eea9d0bb51ULL);
    check_kind("subwords:tests/golden/subwords/small.subwords", 0xacbb67ce9e06f6ebULL);
#endif
    REQUIRE_OK(lh_tokenizer_open("bytes", &bytes));
    CHECK(lh_tokenizer_key(bytes) == 0); /* as fast as reading them */
    lh_tokenizer_destroy(bytes);
}
