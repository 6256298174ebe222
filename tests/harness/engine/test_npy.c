/* .npy files: what is written is read again, and headers that lie are refused. */
#include "harness/engine/npy.h"

#include <unistd.h>

#include "tests/test.h"

static char path[64];

__attribute__((constructor)) static void name_file(void) {
    snprintf(path, sizeof path, "/tmp/longhaul-test-npy-%ld", (long)getpid());
}

/* A file of this dictionary, saying that it is `length` bytes long, and `bytes` bytes of data. */
static void put(size_t length, const char *header, const void *data, size_t bytes) {
    FILE *file = fopen(path, "wb");
    REQUIRE(file != NULL);
    fwrite("\x93NUMPY\x01\x00", 1, 8, file);
    fputc((int)(length & 255), file);
    fputc((int)(length >> 8), file);
    fputs(header, file);
    fwrite(data, 1, bytes, file);
    fclose(file);
}

static void put_array(const char *type, const char *shape, const void *data, size_t bytes) {
    char header[256];
    snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n",
             type, shape);
    put(strlen(header), header, data, bytes);
}

static void check_refused(const char *message) {
    lh_npy array = {0};
    CHECK_FAILS(lh_npy_read(path, &array), LH_EFORMAT, message);
    CHECK(array.reals == NULL && array.integers == NULL);
    unlink(path);
}

static void check_shape_refused(const char *shape, const char *message) {
    static const char data[16];
    put_array("<f4", shape, data, sizeof data);
    check_refused(message);
}

TEST(what_is_written_is_read_again) {
    static const real values[] = {LH_R(1.5), LH_R(-2), LH_R(0.25), 0, LH_R(7), LH_R(1e-20)};
    const int64_t shape[] = {3, 1, 2};
    lh_npy array = {0};
    REQUIRE_OK(lh_npy_write(path, 3, shape, values));
    REQUIRE_OK(lh_npy_read(path, &array));
    CHECK_EQ_INT(array.rank, 3);
    CHECK_EQ_INT(array.count, 6);
    CHECK_EQ_INT(array.shape[0], 3);
    CHECK_EQ_INT(array.shape[1], 1);
    CHECK_EQ_INT(array.shape[2], 2);
    REQUIRE(array.reals != NULL && array.integers == NULL);
    for (int i = 0; i < 6; i++)
        CHECK(array.reals[i] == (double)values[i]);
    lh_npy_clear(&array);
    CHECK(array.reals == NULL && array.count == 0);
    unlink(path);
}

TEST(values_begin_on_a_multiple_of_64) {
    const real value = 3;
    REQUIRE_OK(lh_npy_write(path, 0, NULL, &value));
    FILE *file = fopen(path, "rb");
    REQUIRE(file != NULL);
    fseek(file, 0, SEEK_END);
    CHECK_EQ_INT(ftell(file) % 64, sizeof(real));
    fclose(file);
    lh_npy array = {0};
    REQUIRE_OK(lh_npy_read(path, &array));
    CHECK(array.rank == 0 && array.count == 1);
    REQUIRE(array.reals != NULL);
    CHECK_NEAR(array.reals[0], 3, 0);
    lh_npy_clear(&array);
    unlink(path);
}

TEST(the_largest_rank_and_empty_arrays_pass) {
    const int64_t shape[LH_NPY_RANK] = {1, INT32_MAX, 0, INT32_MAX, 1, 1, 1, INT32_MAX};
    lh_npy array = {0};
    REQUIRE_OK(lh_npy_write(path, LH_NPY_RANK, shape, NULL));
    REQUIRE_OK(lh_npy_read(path, &array));
    CHECK_EQ_INT(array.rank, LH_NPY_RANK);
    CHECK_EQ_INT(array.count, 0);
    CHECK_EQ_INT(array.shape[LH_NPY_RANK - 1], INT32_MAX);
    lh_npy_clear(&array);
    unlink(path);
}

TEST(integers_and_both_widths_are_read) {
    lh_npy array = {0};
    put_array("<i4", "(2,)", (const int32_t[]){-3, 7}, 8);
    REQUIRE_OK(lh_npy_read(path, &array));
    REQUIRE(array.integers != NULL && array.reals == NULL);
    CHECK_EQ_INT(array.integers[0], -3);
    CHECK_EQ_INT(array.integers[1], 7);
    lh_npy_clear(&array);
    put_array("<i8", "(1, 1)", (const int64_t[]){INT64_MIN}, 8);
    REQUIRE_OK(lh_npy_read(path, &array));
    REQUIRE(array.integers != NULL);
    CHECK(array.integers[0] == INT64_MIN);
    lh_npy_clear(&array);
    const struct {
        const char *type;
        unsigned char bytes[8];
        int size;
        int64_t value;
    } kinds[] = {{"|i1", {0xfe}, 1, -2},
                 {"|u1", {0xfe}, 1, 254},
                 {"<i2", {0xff, 0xff}, 2, -1},
                 {"<u2", {0x51, 0xc4}, 2, 50257},
                 {"<u4", {0, 0, 0, 0x80}, 4, INT64_C(0x80000000)},
                 {"<u8", {7}, 8, 7},
                 {">i2", {0xff, 0xfe}, 2, -2},
                 {">i4", {0, 0, 0xc4, 0x51}, 4, 50257},
                 {">u8", {0, 0, 0, 0, 0, 0, 1, 0}, 8, 256}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        put_array(kinds[i].type, "(1,)", kinds[i].bytes, (size_t)kinds[i].size);
        REQUIRE_OK(lh_npy_read(path, &array));
        REQUIRE(array.integers != NULL);
        CHECK_EQ_INT(array.integers[0], kinds[i].value);
        lh_npy_clear(&array);
    }
    put_array("<f8", "(1,)", (const double[]){0.1}, 8);
    REQUIRE_OK(lh_npy_read(path, &array));
    REQUIRE(array.reals != NULL);
    CHECK_NEAR(array.reals[0], 0.1, 0);
    lh_npy_clear(&array);
    put_array(">f4", "(1,)", (const unsigned char[]){0xbf, 0xc0, 0, 0}, 4);
    REQUIRE_OK(lh_npy_read(path, &array));
    REQUIRE(array.reals != NULL);
    CHECK_NEAR(array.reals[0], -1.5, 0);
    lh_npy_clear(&array);
    put_array("<u8", "(2,)", (const uint64_t[]){7, UINT64_C(1) << 63}, 16);
    check_refused("element 1 is 9223372036854775808, beyond 2^63 - 1");
    unlink(path);
}

TEST(shapes_that_do_not_fit_are_refused) {
    check_shape_refused("(5,)", "truncated: 5 elements promised, 4 there");
    check_shape_refused("(-1,)", "shape");
    check_shape_refused("(1,", "shape");
    check_shape_refused("(,)", "shape");
    check_shape_refused("(x,)", "shape");
    check_shape_refused("4", "shape");
    check_shape_refused("(1, 1, 1, 1, 1, 1, 1, 1, 1)", "shape");
    check_shape_refused("(4294967296, 4294967296)", "shape");
    check_shape_refused("(99999999999999999999,)", "shape");
    check_shape_refused("(4611686018427387904,)", "shape");
}

TEST(other_types_and_orders_are_refused) {
    static const char data[16];
    static const char *const types[] = {"=f4", "<f2", "<c8", "|b1", "<U1", "<f", ""};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        put_array(types[i], "(1,)", data, sizeof data);
        check_refused("needs ");
    }
    const char *fortran = "{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }\n";
    put(strlen(fortran), fortran, data, sizeof data);
    check_refused("Fortran order");
    const char *nothing = "{}";
    put(strlen(nothing), nothing, data, sizeof data);
    check_refused("needs ");
    const char *shapeless = "{'descr': '<f4', 'fortran_order': False}";
    put(strlen(shapeless), shapeless, data, sizeof data);
    check_refused("no shape");
}

TEST(a_layout_says_where_elements_of_any_type_lie) {
    lh_npy_layout layout;
    put_array("|u1", "(3, 5)", "abcdefghijklmno", 15);
    REQUIRE_OK(lh_npy_read_layout(path, &layout));
    CHECK(layout.rank == 2 && layout.shape[0] == 3 && layout.shape[1] == 5 && layout.count == 15);
    CHECK_STR(layout.kind, "u1");
    FILE *file = fopen(path, "rb");
    REQUIRE(file != NULL && fseek(file, (long)layout.offset + 14, SEEK_SET) == 0);
    CHECK_EQ_INT(fgetc(file), 'o');
    fclose(file);
    put_array("<i4", "(4,)", "abcdefghijklmno", 15);
    CHECK_FAILS(lh_npy_read_layout(path, &layout), LH_EFORMAT, "truncated: 4 elements");
    unlink(path);
    CHECK_FAILS(lh_npy_read_layout(path, &layout), LH_EIO, path);
}

TEST(broken_files_are_refused) {
    lh_npy array = {0};
    put(400, "{'descr'", "", 0);
    check_refused("header of 400 bytes in a file of 18");
    put(65535, "{", "", 0);
    check_refused("header of 65535 bytes");
    FILE *file = fopen(path, "wb");
    REQUIRE(file != NULL);
    fputs("\x93NUMPY\x02", file);
    fclose(file);
    check_refused("not a .npy file of version 1");
    file = fopen(path, "wb");
    REQUIRE(file != NULL);
    fclose(file);
    check_refused("not a .npy file");
    CHECK_FAILS(lh_npy_read("/tmp/longhaul-none/x", &array), LH_EIO, "longhaul-none");
}

TEST(impossible_shapes_are_not_written) {
    const int64_t shape[] = {-1};
    const real value = 1;
    CHECK_FAILS(lh_npy_write(path, LH_NPY_RANK + 1, shape, &value), LH_ESHAPE, "rank 9");
    CHECK_FAILS(lh_npy_write(path, 1, shape, &value), LH_ESHAPE, "negative");
    CHECK(access(path, F_OK) != 0);
}
