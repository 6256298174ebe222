/* Weight files: every element type, and every lie that a header can tell about the file. */
#include "harness/engine/safetensors.h"
#include "harness/engine/safetensors_type.h"

#include <unistd.h>

#include "tests/tensor_named.h"
#include "tests/test.h"

static char path[64];

__attribute__((constructor)) static void name_file(void) {
    snprintf(path, sizeof path, "/tmp/longhaul-test-safetensors-%ld", (long)getpid());
}

/* A file of this header length, header and `data_bytes` bytes 0, 1, 2 ... */
static void put(uint64_t length, const char *header, int data_bytes) {
    FILE *file = fopen(path, "wb");
    REQUIRE(file != NULL);
    for (int i = 0; i < 8; i++)
        fputc((int)(length >> 8 * i & 255), file);
    fputs(header, file);
    for (int i = 0; i < data_bytes; i++)
        fputc(i, file);
    fclose(file);
}

static void put_header(const char *header, int data_bytes) {
    put(strlen(header), header, data_bytes);
}

static void check_refused(const char *message) {
    lh_safetensors *file = NULL;
    CHECK_FAILS(lh_safetensors_open(path, &file), LH_EFORMAT, message);
    CHECK(file == NULL);
    lh_safetensors_close(file);
    unlink(path);
}

TEST(a_file_of_torch_is_recognised) {
    static const char *const begins[] = {"PK\003\004archive/data.pkl", "\200\002\212\nl\374"};
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(path, "wb");
        REQUIRE(file != NULL);
        fputs(begins[i], file);
        fclose(file);
        check_refused("a PyTorch checkpoint, which could run code; write it as safetensors once: "
                      "python3 -c");
    }
}

/* One tensor with this type, shape and offsets, in a file with so many bytes of data. */
static void check_refused_within(int bytes, const char *type, const char *shape,
                                 const char *offsets, const char *message) {
    char header[256];
    snprintf(header, sizeof header, "{\"weight\":{\"dtype\":%s,\"shape\":%s,\"data_offsets\":%s}}",
             type, shape, offsets);
    put_header(header, bytes);
    check_refused(message);
}

static void check_entry_refused(const char *type, const char *shape, const char *offsets,
                                const char *message) {
    check_refused_within(16, type, shape, offsets, message);
}

/* The only tensor of a file, converted. */
static void read_only_one(const char *type, const void *data, size_t bytes, int count, real *out) {
    char header[128];
    lh_safetensors *file = NULL;
    snprintf(header, sizeof header,
             "{\"x\":{\"dtype\":\"%s\",\"shape\":[%d],\"data_offsets\":[0,%zu]}}", type, count,
             bytes);
    put_header(header, 0);
    FILE *stream = fopen(path, "ab");
    REQUIRE(stream != NULL);
    fwrite(data, 1, bytes, stream);
    fclose(stream);
    REQUIRE_OK(lh_safetensors_open(path, &file));
    const lh_safetensors_entry *entry = tensor_named(file, "x");
    REQUIRE(entry != NULL && entry->count == count);
    CHECK_STR(entry->type->name, type);
    lh_safetensors_convert(entry, out);
    lh_safetensors_close(file);
    unlink(path);
}

TEST(what_is_written_is_read_again) {
    static const real matrix[] = {LH_R(1.5), LH_R(-2), LH_R(0.1), LH_R(1e30), 0, (real)INFINITY};
    static const real number[] = {LH_R(-7)};
    static const int64_t shape[] = {2, 3}, empty[] = {4, 0};
    const lh_safetensors_source sources[] = {{"z/matrix", 2, shape, matrix},
                                             {"a \"quoted\" \xc3\xa9", 0, NULL, number},
                                             {"none", 2, empty, NULL}};
    const lh_safetensors_text texts[] = {{"data", "caf\xe9"}, {"steps", "12"}};
    lh_safetensors *file = NULL;
    REQUIRE_OK(lh_safetensors_write(path, &(lh_safetensors_contents){sources, 3, texts, 2}));
    REQUIRE_OK(lh_safetensors_open(path, &file));
    CHECK_EQ_INT(lh_safetensors_count(file), 3);
    CHECK_STR(lh_safetensors_at(file, 0)->name, "a \"quoted\" \xc3\xa9");
    CHECK_STR(lh_safetensors_metadata(file, "steps"), "12");
    CHECK_STR(lh_safetensors_metadata(file, "data"), "caf?"); /* the header is UTF-8 */
    CHECK(lh_safetensors_metadata(file, "step") == NULL);
    const lh_safetensors_entry *entry = tensor_named(file, "z/matrix");
    REQUIRE(entry != NULL);
    CHECK_STR(entry->type->name, "F32");
    CHECK_EQ_INT(entry->rank, 2);
    CHECK_EQ_INT(entry->shape[1], 3);
    real values[6];
    lh_safetensors_convert(entry, values);
    for (int i = 0; i < 6; i++)
        CHECK(values[i] == (real)(float)matrix[i]);
    const lh_safetensors_entry *single = tensor_named(file, sources[1].name);
    REQUIRE(single != NULL && single->rank == 0 && single->count == 1);
    lh_safetensors_convert(single, values);
    CHECK(values[0] == LH_R(-7));
    CHECK_EQ_INT(tensor_named(file, "none")->count, 0);
    lh_safetensors_close(file);
    unlink(path);
}

TEST(many_values_pass_the_write_buffer_whole) {
    enum { COUNT = 10007 };
    static real values[COUNT], again[COUNT];
    const int64_t shape[] = {COUNT};
    lh_safetensors *file = NULL;
    for (int i = 0; i < COUNT; i++)
        values[i] = (real)test_uniform();
    const lh_safetensors_source source = {"x", 1, shape, values};
    REQUIRE_OK(lh_safetensors_write(
        path, &(lh_safetensors_contents){.sources = &source, .source_count = 1}));
    REQUIRE_OK(lh_safetensors_open(path, &file));
    CHECK((uintptr_t)lh_safetensors_at(file, 0)->data % 8 == 0);
    lh_safetensors_convert(lh_safetensors_at(file, 0), again);
    CHECK(memcmp(values, again, sizeof values) == 0);
    CHECK(lh_safetensors_metadata(file, "format") == NULL);
    lh_safetensors_close(file);
    unlink(path);
}

TEST(a_file_without_tensors_is_legal) {
    lh_safetensors *file = NULL;
    REQUIRE_OK(lh_safetensors_write(path, &(lh_safetensors_contents){0}));
    REQUIRE_OK(lh_safetensors_open(path, &file));
    CHECK_EQ_INT(lh_safetensors_count(file), 0);
    lh_safetensors_close(file);
    unlink(path);
}

/* 640 is 80 02 in bytes, as a pickle of version 2 begins. */
TEST(a_header_may_be_as_long_as_a_file_of_torch_begins) {
    static const size_t lengths[] = {640, 66176};
    for (int i = 0; i < 2; i++) {
        lh_safetensors *file = NULL;
        char *header = malloc(lengths[i] + 1);
        REQUIRE(header != NULL);
        (void)snprintf(header, lengths[i] + 1, "%-*s", (int)lengths[i], "{}");
        put_header(header, 0);
        CHECK_OK(lh_safetensors_open(path, &file));
        lh_safetensors_close(file);
        free(header);
        unlink(path);
    }
}

TEST(elements_of_every_type_are_converted) {
    real out[8];
    read_only_one("F64", (const double[]){-0.5, 3}, 16, 2, out);
    CHECK(out[0] == LH_R(-0.5) && out[1] == LH_R(3));
    static const uint16_t half[] = {0x3c00, 0xc000, 0x0001, 0x03ff, 0x7bff, 0x7c00, 0x7e00, 0x8000};
    read_only_one("F16", half, sizeof half, 8, out);
    CHECK(out[0] == LH_R(1) && out[1] == LH_R(-2));
    CHECK(out[2] == LH_R(0x1p-24) && out[3] == LH_R(0x3ffp-24) && out[4] == LH_R(65504));
    CHECK(isinf(out[5]) && isnan(out[6]) && out[7] == 0 && signbit(out[7]));
    read_only_one("BF16", (const uint16_t[]){0x3f80, 0xc040, 0x7fc0}, 6, 3, out);
    CHECK(out[0] == LH_R(1) && out[1] == LH_R(-3) && isnan(out[2]));
    read_only_one("I64", (const int64_t[]){-5}, 8, 1, out);
    CHECK(out[0] == LH_R(-5));
    read_only_one("U32", (const uint32_t[]){3000000000}, 4, 1, out);
    CHECK(out[0] == LH_R(3000000000));
    read_only_one("I16", (const int16_t[]){-300}, 2, 1, out);
    CHECK(out[0] == LH_R(-300));
    read_only_one("U8", (const uint8_t[]){200, 1}, 2, 2, out);
    CHECK(out[0] == LH_R(200) && out[1] == LH_R(1));
    read_only_one("I8", (const int8_t[]){-1}, 1, 1, out);
    CHECK(out[0] == LH_R(-1));
}

TEST(lengths_beyond_the_file_are_refused) {
    put(100, "{}", 0);
    check_refused("header of 100 bytes in a file of 10");
    put(UINT64_MAX, "{}", 0);
    check_refused("header of");
    put((uint64_t)1 << 62, "{}", 0);
    check_refused("header of");
    put(0, "{}", 0);
    check_refused("no JSON object");
}

TEST(other_files_are_refused_as_such) {
    FILE *stream = fopen(path, "wb");
    REQUIRE(stream != NULL);
    fputs("no weight", stream);
    fclose(stream);
    check_refused("no safetensors file: one begins with the length of its header");
    put(0, "", 0);
    check_refused("no safetensors file");
}

TEST(short_and_absent_files_are_refused) {
    lh_safetensors *file = NULL;
    CHECK_FAILS(lh_safetensors_open("/tmp/longhaul-none/x", &file), LH_EIO, "longhaul-none");
    CHECK_FAILS(lh_safetensors_open("/tmp", &file), LH_EIO, "/tmp");
    FILE *stream = fopen(path, "wb");
    REQUIRE(stream != NULL);
    fclose(stream);
    check_refused("empty");
    stream = fopen(path, "wb");
    REQUIRE(stream != NULL);
    fputs("\2", stream);
    fclose(stream);
    check_refused("no safetensors file");
}

TEST(broken_headers_are_refused) {
    put_header("{\"a\":", 0);
    check_refused("no JSON object");
    put_header("[1]", 0);
    check_refused("no safetensors file");
    put_header("{} x", 0);
    check_refused("no JSON object: something behind the value at its byte 4");
    put_header("{}{}", 0);
    check_refused("something behind the value at its byte 3");
    put_header("{\"a\\u0000b\":1}", 0);
    check_refused("a NUL character at its byte 4");
    put_header("{\"__metadata__\":{\"a\":1}}", 0);
    check_refused("metadata");
    put_header("{\"__metadata__\":\"a\"}", 0);
    check_refused("metadata");
    put_header("{\"x\":5}", 0);
    check_refused("tensor x: unknown dtype");
    put_header("{\"x\":[1,2]}", 0);
    check_refused("tensor x: unknown dtype");
}

TEST(entries_that_do_not_fit_are_refused) {
    check_entry_refused("\"F33\"", "[4]", "[0,16]", "tensor weight: unknown dtype");
    check_entry_refused("7", "[4]", "[0,16]", "unknown dtype");
    check_entry_refused("\"F32\"", "4", "[0,16]", "unreadable shape");
    check_entry_refused("\"F32\"", "[-4]", "[0,16]", "unreadable shape");
    check_entry_refused("\"F32\"", "[1.5]", "[0,16]", "unreadable shape");
    check_entry_refused("\"F32\"", "[\"4\"]", "[0,16]", "unreadable shape");
    check_entry_refused("\"F32\"", "[1e300]", "[0,16]", "unreadable shape");
    check_entry_refused("\"F32\"", "[4294967296,4294967296]", "[0,0]", "unreadable shape");
    check_entry_refused("\"F32\"", "[1,1,1,1,1,1,1,1,4]", "[0,16]", "unreadable shape");
    check_entry_refused("\"F32\"", "[16,16]", "[0,16]", "unreadable shape");
    check_entry_refused("\"F32\"", "[4]", "[0,12]", "offsets");
    check_entry_refused("\"F32\"", "[4]", "[4,20]", "offsets");
    check_entry_refused("\"F32\"", "[4]", "[16,0]", "offsets");
    check_entry_refused("\"F32\"", "[4]", "[-16,0]", "offsets");
    check_entry_refused("\"F32\"", "[4]", "[0,16,16]", "offsets");
    check_entry_refused("\"F32\"", "[4]", "{\"a\":0,\"b\":16}", "offsets");
    check_entry_refused("\"F32\"", "[4]", "[0,1e400]", "offsets");
    check_entry_refused("\"F32\"", "[4]", "null", "offsets");
}

/* Each size is below that of the file, and the product of all is 2^64, which is 0 in 64 bits. */
TEST(a_shape_whose_size_overflows_is_refused) {
    check_refused_within(256, "\"F32\"", "[256,256,256,256,256,256,256,256]", "[0,0]",
                         "unreadable shape, or larger than the file");
}

TEST(tensors_share_neither_bytes_nor_names) {
    put_header("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
               "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}",
               16);
    check_refused("tensors a and b overlap");
    put_header("{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
               "\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]}}",
               16);
    check_refused("tensor a stands twice");
}

TEST(what_could_not_be_read_is_not_written) {
    static const real value[] = {1};
    const int64_t huge[] = {INT64_MAX, 2}, negative[] = {-1};
    const lh_safetensors_source same[] = {{"a", 0, NULL, value}, {"a", 0, NULL, value}};
    const lh_safetensors_source wrong[] = {{"a", 2, huge, value},
                                           {"b", 1, negative, value},
                                           {"c", LH_SAFETENSORS_RANK + 1, huge, value},
                                           {"__metadata__", 0, NULL, value}};
    CHECK_FAILS(lh_safetensors_write(path, &(lh_safetensors_contents){same, 2, NULL, 0}),
                LH_EOPTION, "tensor a");
    for (int i = 0; i < 3; i++) {
        CHECK_FAILS(lh_safetensors_write(path, &(lh_safetensors_contents){&wrong[i], 1, NULL, 0}),
                    LH_ESHAPE, wrong[i].name);
    }
    CHECK_FAILS(lh_safetensors_write(path, &(lh_safetensors_contents){&wrong[3], 1, NULL, 0}),
                LH_EOPTION, "__metadata__");
    CHECK(access(path, F_OK) != 0);
}

TEST(types_are_found_by_their_names) {
    static const char *const names[] = {"F64", "F32", "F16", "BF16"};
    for (int i = 0; i < 4; ++i)
        CHECK(lh_safetensors_type_find(names[i]) != NULL);
    CHECK(lh_safetensors_type_find("F8") == NULL && lh_safetensors_type_find("") == NULL);
    CHECK(lh_safetensors_type_find("f32") == NULL);
}
