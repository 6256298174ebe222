/* What generators make of a seed where the data have no content to digest: a digest of each one's
 * output. Runs on old and new data are told apart by the generators' versions alone, so whoever
 * changes an output raises its version, and both numbers here. */
#include "datasets/digest.h"
#include "datasets/generate/algorithm.h"
#include "datasets/generate/duplication.h"
#include "datasets/generate/generate_image.h"
#include "datasets/generate/network_sequences.h"
#include "datasets/generate/random_walk.h"
#include "datasets/generate/recall.h"
#include "datasets/generate/regular_strings.h"
#include "tests/test.h"

enum { ROOM = 4096, SIDE = 32, STEPS = 64 };

static lh_random_key key_of(uint64_t index) {
    return (lh_random_key){.seed = 7, .step = index, .stream = LH_STREAM_DATA};
}

static void check_generator(const char *name, int version, int known_version, uint64_t digest,
                            uint64_t known) {
    (void)test_check(version == known_version && digest == known, __FILE__, __LINE__,
                     "%s: version %d makes %#llx; known is version %d with %#llx: another output "
                     "wants another version",
                     name, version, (unsigned long long)digest, known_version,
                     (unsigned long long)known);
}

TEST(duplication) {
    const lh_duplication rules = {.word = 31, .alphabet = 127};
    int32_t sequence[64];
    uint64_t digest = 0;
    REQUIRE(lh_duplication_length(&rules) == 64);
    for (uint64_t n = 0; n < 4; ++n) {
        lh_duplication_write(&rules, key_of(n), sequence);
        digest = lh_digest_mix(digest, sequence, sizeof sequence);
    }
    check_generator("duplication", LH_DUPLICATION_VERSION, 1, digest, 0xbff812369835790cULL);
}

TEST(images) {
    static uint8_t pixels[SIDE * SIDE * 3];
    uint64_t digest = 0;
    for (uint64_t n = 0; n < 4; ++n) {
        lh_generate_image(7, n, SIDE, pixels);
        digest = lh_digest_mix(digest, pixels, sizeof pixels);
    }
    check_generator("images", LH_GENERATED_IMAGE_VERSION, 1, digest, 0x853c6c0c74da0201ULL);
}

static uint64_t digest_episode(uint64_t digest, const lh_episode *e) {
    const size_t bytes = (size_t)e->length * sizeof *e->tokens;
    return lh_digest_mix(lh_digest_mix(digest, e->tokens, bytes), e->labels, bytes);
}

TEST(tracking) {
    static int32_t tokens[ROOM], labels[ROOM];
    const lh_random_walk walk = {.grid = 5, .steps = 100};
    const lh_algorithm program = {.variables = 3, .statements = 40, .largest = 10};
    lh_episode e = {.tokens = tokens, .labels = labels};
    uint64_t walks = 0, programs = 0;
    REQUIRE(lh_random_walk_longest(&walk) <= ROOM && lh_algorithm_longest(&program) <= ROOM);
    for (uint64_t n = 0; n < 4; ++n) {
        lh_random_walk_write(&walk, key_of(n), &e);
        walks = digest_episode(walks, &e);
        lh_algorithm_write(&program, key_of(n), &e);
        programs = digest_episode(programs, &e);
    }
    check_generator("random walk", LH_RANDOM_WALK_VERSION, 1, walks, 0x2b8c64bd85428e48ULL);
    check_generator("algorithm", LH_ALGORITHM_VERSION, 1, programs, 0xb1aab79ca1f36701ULL);
}

TEST(recall) {
    static int32_t tokens[ROOM], labels[ROOM];
    const lh_recall rules = {
        .vocabulary = 512, .pairs = 16, .length = 256, .power = 0.01, .fills = true};
    lh_episode e = {.tokens = tokens, .labels = labels};
    lh_recall_writer writer;
    uint64_t digest = 0;
    REQUIRE(lh_recall_open(&rules, &writer) == LH_OK);
    for (uint64_t n = 0; n < 4; ++n) {
        lh_recall_write(&writer, key_of(n), &e);
        digest = digest_episode(digest, &e);
    }
    lh_recall_clear(&writer);
    check_generator("recall", LH_RECALL_VERSION, 1, digest, 0xf19d77dcf5786af9ULL);
}

/* Of the languages first .. end - 1: strings and labels. */
static uint64_t digest_of_languages(int first, int end) {
    enum { LONGEST = 40 };
    real label[LONGEST * LH_LETTERS];
    uint8_t bits[LONGEST * LH_LETTERS];
    uint64_t digest = 0;
    for (int l = first; l < end; ++l) {
        lh_strings strings = {0};
        if (!CHECK_OK(lh_strings_draw((lh_regular_language)l, 2, LONGEST, 50, key_of(0), &strings)))
            return 0;
        for (int64_t n = 0; n < strings.count; ++n) {
            const int64_t length = strings.length[n];
            lh_regular_language_label((lh_regular_language)l, lh_strings_at(&strings, n), length,
                                      label);
            for (int64_t i = 0; i < length * LH_LETTERS; ++i)
                bits[i] = label[i] > LH_R(0.5);
            digest = lh_digest_mix(digest, lh_strings_at(&strings, n), (size_t)length);
            digest = lh_digest_mix(digest, bits, (size_t)(length * LH_LETTERS));
        }
        lh_strings_clear(&strings);
    }
    return digest;
}

TEST(regular_languages) {
    check_generator("regular languages", LH_REGULAR_LANGUAGE_VERSION, 1,
                    digest_of_languages(0, LH_TOMITA1), 0x2b3c7af91d36c490ULL);
    check_generator("further regular languages", LH_REGULAR_LANGUAGE_VERSION, 1,
                    digest_of_languages(LH_TOMITA1, LH_REGULAR_LANGUAGES), 0xddd2c984ba222b3fULL);
}

/* To thousandths, which no rounding of this or another machine reaches. */
TEST(simulated_network) {
    const lh_simulated_network network = {.activation = 0, .alpha = 0.5, .norm = 0.8};
    real x[STEPS * LH_SIMULATED_WIDTH], y[STEPS * LH_SIMULATED_WIDTH];
    int32_t thousandths[2 * STEPS * LH_SIMULATED_WIDTH];
    lh_simulated_network_write(&network, key_of(0), STEPS, x, y);
    for (int i = 0; i < STEPS * LH_SIMULATED_WIDTH; ++i) {
        thousandths[2 * i] = (int32_t)lround((double)x[i] * 1000);
        thousandths[2 * i + 1] = (int32_t)lround((double)y[i] * 1000);
    }
    check_generator("simulated network", LH_SIMULATED_NETWORK_VERSION, 1,
                    lh_digest_mix(0, thousandths, sizeof thousandths), 0xbd7372a116369dbaULL);
}

/* Other versions and seeds are other data. */
TEST(versions_and_seeds_count) {
    const uint64_t digest = lh_digest_generated(1, 2);
    CHECK(digest == lh_digest_generated(1, 2));
    CHECK(digest != lh_digest_generated(2, 2));
    CHECK(digest != lh_digest_generated(1, 3));
    CHECK(digest != lh_digest_generated(2, 1));
}
