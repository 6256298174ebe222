/* Images: the words and pictures that are generated, and the released files that are read. */
#include "datasets/generate/duplication.h"
#include "datasets/generate/generate_image.h"
#include "datasets/images/images.h"

#include "tests/datasets/data_root.h"
#include "tests/test.h"

enum { SIDE = 8, BYTES = SIDE * SIDE * 3 };

/* ---- duplication ---- */

TEST(a_word_stands_twice_behind_zeros) {
    const lh_duplication rules = {.word = 511, .alphabet = 127};
    int32_t sequence[1024], other[1024];
    int seen[128] = {0};
    REQUIRE(lh_duplication_length(&rules) == 1024);
    for (uint64_t n = 0; n < 40; ++n) {
        lh_duplication_write(&rules, (lh_random_key){.seed = 3, .step = n}, sequence);
        CHECK(sequence[0] == 0 && memcmp(sequence, sequence + 512, 512 * sizeof *sequence) == 0);
        for (int t = 1; t < 512; ++t) {
            CHECK(sequence[t] >= 1 && sequence[t] <= 127);
            seen[sequence[t] & 127] += 1;
        }
    }
    /* 40 * 511 / 127 = 161 of each, with a deviation of 12.6 */
    for (int symbol = 1; symbol <= 127; ++symbol)
        CHECK_NEAR(seen[symbol], 161, 5 * 12.6);
    lh_duplication_write(&rules, (lh_random_key){.seed = 3, .step = 39}, other);
    CHECK(memcmp(sequence, other, sizeof other) == 0);
    lh_duplication_write(&rules, (lh_random_key){.seed = 4, .step = 39}, other);
    CHECK(memcmp(sequence, other, sizeof other) != 0);
}

/* ---- the image generator ---- */

TEST(generated_images_are_mirrored_but_for_noise) {
    uint8_t image[64 * 64 * 3], again[64 * 64 * 3];
    int64_t different = 0, low = 0;
    lh_generate_image(1, 5, 64, image);
    for (int i = 0; i < 64 * 64 * 3; ++i) {
        const int y = i / 192, x = i / 3 % 64, c = i % 3;
        different += image[i] >> 1 != image[y * 192 + (63 - x) * 3 + c] >> 1;
        low += image[i] & 1;
    }
    CHECK_EQ_INT(different, 0);
    CHECK_NEAR(low, 6144, 5 * 55.5);
    lh_generate_image(1, 5, 64, again);
    CHECK(memcmp(image, again, sizeof image) == 0);
    lh_generate_image(1, 6, 64, again);
    CHECK(memcmp(image, again, sizeof image) != 0);
}

/* Where two cells of a column have the tile they are equal: pixels 16 rows apart or more. */
TEST(a_tile_comes_again_many_rows_below) {
    int64_t pairs = 0, equal = 0;
    for (uint64_t n = 0; n < 50; ++n) {
        uint8_t image[64 * 64 * 3];
        lh_generate_image(2, n, 64, image);
        for (int y = 0; y < 48; ++y) {
            pairs += 1;
            int64_t same = 0;
            for (int i = 0; i < 16 * 3; ++i)
                same += image[y * 192 + i] >> 1 == image[(y + 16) * 192 + i] >> 1;
            equal += same == 16 * 3;
        }
    }
    CHECK(equal > pairs / 8 && equal < pairs / 2);
}

/* ---- files ---- */

/* A .npy file of bytes, of which byte i is i % 251 + add. */
static void write_file(const char *name, const char *kind, const char *shape, int bytes, int add) {
    uint8_t file[1024] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    const int header =
        snprintf((char *)file + 10, 256, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n",
                 kind, shape);
    file[8] = (uint8_t)header;
    for (int i = 0; i < bytes; ++i)
        file[10 + header + i] = (uint8_t)(i % 251 + add);
    write_text(name, file, (size_t)(10 + header + bytes));
}

static lh_images_spec make_spec(void) {
    return (lh_images_spec){.name = "images", .side = SIDE, .counts = {1, 1, 1}};
}

/* The release has the red plane first, then green, then blue. */
TEST(planes_become_pixels) {
    lh_images *images = NULL;
    uint8_t pixels[BYTES];
    REQUIRE(make_root());
    write_file("images/train/batch_1.npy", "|u1", "(2, 192)", 2 * BYTES, 0);
    write_file("images/train/batch_2.npy", "|u1", "(1, 8, 8, 3)", BYTES, 7);
    const lh_images_spec spec = make_spec();
    REQUIRE_OK(lh_images_open(&spec, &images));
    CHECK_EQ_INT(lh_images_count(images, LH_TRAIN), 3);
    CHECK_EQ_INT(lh_images_count(images, LH_VALID), 0);
    CHECK_CONTAINS(lh_images_source(images), "3 images");
    for (int at = 0; at < 2; ++at) {
        REQUIRE_OK(lh_images_read(images, LH_TRAIN, at, pixels));
        for (int i = 0; i < BYTES; ++i)
            CHECK_EQ_INT(pixels[i], (at * BYTES + i % 3 * 64 + i / 3) % 251);
    }
    REQUIRE_OK(lh_images_read(images, LH_TRAIN, 2, pixels));
    for (int i = 0; i < BYTES; ++i)
        CHECK_EQ_INT(pixels[i], (i % 251 + 7) & 255);
    CHECK_FAILS(lh_images_read(images, LH_TRAIN, 3, pixels), LH_EOPTION, "image 3 of 3");
    lh_images_destroy(images);
}

TEST(validation_images_are_the_test_split_of_the_release) {
    lh_images *images = NULL;
    REQUIRE(make_root());
    write_file("images/train/a.npy", "|u1", "(1, 192)", BYTES, 0);
    write_file("images/valid/a.npy", "|u1", "(4, 192)", 4 * BYTES, 0);
    lh_images_spec spec = make_spec();
    spec.limits[LH_TEST] = 3;
    REQUIRE_OK(lh_images_open(&spec, &images));
    CHECK_EQ_INT(lh_images_count(images, LH_VALID), 4);
    CHECK_EQ_INT(lh_images_count(images, LH_TEST), 3);
    lh_images_destroy(images);
}

static void check_refused(lh_status expected, const char *message) {
    lh_images *images = NULL;
    const lh_images_spec spec = make_spec();
    CHECK_FAILS(lh_images_open(&spec, &images), expected, message);
    CHECK(images == NULL);
}

TEST(files_that_hold_no_images_are_refused) {
    REQUIRE(make_root());
    write_text("images/train/readme", "", 0);
    check_refused(LH_EFORMAT, "has no .npy file");
    write_file("images/train/a.npy", "|u1", "(1, 191)", BYTES, 0);
    check_refused(LH_EFORMAT, "a.npy: expected unsigned bytes of shape [images][192]");
    write_file("images/train/a.npy", "|u1", "(1, 8, 3, 8)", BYTES, 0);
    check_refused(LH_EFORMAT, "[images][8][8][3]");
    write_file("images/train/a.npy", "<f4", "(1, 192)", 4 * BYTES, 0);
    check_refused(LH_EFORMAT, "unsigned bytes");
    write_file("images/train/a.npy", "|u1", "(2, 192)", 2 * BYTES - 1, 0);
    check_refused(LH_EFORMAT, "truncated: 384 elements promised, 383 there");
    write_file("images/train/a.npy", "|u1", "(2, 192", 2 * BYTES, 0);
    check_refused(LH_EFORMAT, "shape");
    write_file("images/train/a.npy", "|u1", "(1, 192)", BYTES, 0);
    write_text("images/valid", "", 0);
    check_refused(LH_EIO, "images/valid: the folder cannot be read");
    REQUIRE(make_root());
    check_refused(LH_EIO, "no images");
}
