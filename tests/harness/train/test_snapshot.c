/* Checkpoint files: what comes back, and which damage is seen. */
#include "harness/train/snapshot.h"

#include <unistd.h>

#include "harness/engine/file.h"
#include "tests/test.h"

static char path[64];

/* Programs of several builds may run side by side. */
__attribute__((constructor)) static void name_path(void) {
    snprintf(path, sizeof path, "/tmp/longhaul-test-snapshot-%ld", (long)getpid());
}

/* A pool with two tensors: a real [3] and an i32 [2]. */
typedef struct fixture {
    lh_device *device;
    lh_pool *pool;
    lh_tensor *tensor[2];
    lh_snapshot_part part[2];
} fixture;

static bool open_fixture(fixture *f) {
    static const int64_t three[] = {3}, two[] = {2};
    *f = (fixture){0};
    return lh_device_open("cpu", &f->device) == LH_OK &&
           lh_pool_create(f->device, &f->pool) == LH_OK &&
           lh_tensor_create_zero(f->pool, LH_REAL, 1, three, &f->tensor[0]) == LH_OK &&
           lh_tensor_create_zero(f->pool, LH_I32, 1, two, &f->tensor[1]) == LH_OK;
}

static void close_fixture(fixture *f) {
    lh_tensor_release(f->tensor[0]);
    lh_tensor_release(f->tensor[1]);
    lh_pool_destroy(f->pool);
    lh_device_close(f->device);
    unlink(path);
}

static void set_values(const fixture *f, real x, int32_t n) {
    const real reals[] = {x, 2 * x, 3 * x};
    const int32_t integers[] = {n, -n};
    CHECK_OK(lh_tensor_write(f->tensor[0], reals, 3));
    CHECK_OK(lh_tensor_write(f->tensor[1], integers, 2));
}

static lh_snapshot make_snapshot(fixture *f, const char *identity) {
    for (int i = 0; i < 2; ++i)
        f->part[i] = (lh_snapshot_part){.tensor = f->tensor[i]};
    return (lh_snapshot){.identity = identity, .part = f->part, .part_count = 2};
}

static bool write_record(fixture *f, const lh_snapshot_record *record) {
    lh_snapshot snapshot = make_snapshot(f, "model=brt\nwidth=8\n");
    snapshot.record = *record;
    snapshot.cursor_count = 2;
    snapshot.cursor[0] = 7;
    snapshot.cursor[1] = -1;
    set_values(f, LH_R(0.25), 9);
    return CHECK_OK(lh_snapshot_write(&snapshot, path));
}

static bool write_example(fixture *f) {
    return write_record(f, &(lh_snapshot_record){.step = 41, .seconds = 1.5});
}

static void check_values(const fixture *f, double x, int32_t n) {
    real reals[3];
    int32_t integers[2];
    CHECK_OK(lh_tensor_read(f->tensor[0], reals, 3));
    CHECK_OK(lh_tensor_read(f->tensor[1], integers, 2));
    CHECK_NEAR(reals[2], 3 * x, 0);
    CHECK_EQ_INT(integers[1], -n);
}

TEST(what_was_written_is_read) {
    fixture f;
    REQUIRE(open_fixture(&f));
    REQUIRE(write_example(&f));
    set_values(&f, LH_R(0), 0);
    lh_snapshot snapshot = make_snapshot(&f, "model=brt\nwidth=8\n");
    CHECK_OK(lh_snapshot_read(&snapshot, path));
    CHECK_EQ_INT(snapshot.record.step, 41);
    CHECK_NEAR(snapshot.record.seconds, 1.5, 0);
    CHECK_EQ_INT(snapshot.cursor_count, 2);
    CHECK_EQ_INT(snapshot.cursor[0], 7);
    CHECK_EQ_INT(snapshot.cursor[1], -1);
    check_values(&f, 0.25, 9);
    close_fixture(&f);
}

static bool write_bytes(const unsigned char *data, size_t bytes) {
    FILE *file = fopen(path, "wb");
    if (file == NULL) return false;
    const bool good = fwrite(data, 1, bytes, file) == bytes;
    return fclose(file) == 0 && good;
}

/* Every truncation and every flipped byte is refused, and leaves the tensors alone. */
TEST(damaged_files_are_refused) {
    fixture f;
    REQUIRE(open_fixture(&f));
    REQUIRE(write_example(&f));
    void *data = NULL;
    size_t bytes = 0;
    REQUIRE_OK(lh_file_read_all(path, &data, &bytes));
    unsigned char *image = data;
    set_values(&f, LH_R(5), 5);
    for (size_t cut = 0; cut < bytes; ++cut) {
        lh_snapshot snapshot = make_snapshot(&f, "model=brt\nwidth=8\n");
        REQUIRE(write_bytes(image, cut));
        CHECK_FAILS(lh_snapshot_read(&snapshot, path), LH_EFORMAT, path);
    }
    for (size_t at = 0; at < bytes; ++at) {
        lh_snapshot snapshot = make_snapshot(&f, "model=brt\nwidth=8\n");
        image[at] ^= 0x10;
        REQUIRE(write_bytes(image, bytes));
        image[at] ^= 0x10;
        CHECK_FAILS(lh_snapshot_read(&snapshot, path), LH_EFORMAT, path);
    }
    lh_snapshot snapshot = make_snapshot(&f, "model=brt\nwidth=8\n");
    unsigned char *longer = calloc(bytes + 1, 1);
    REQUIRE(longer != NULL);
    memcpy(longer, image, bytes);
    REQUIRE(write_bytes(longer, bytes + 1));
    CHECK_FAILS(lh_snapshot_read(&snapshot, path), LH_EFORMAT, "bytes after its end");
    free(longer);
    check_values(&f, 5, 5);
    free(data);
    close_fixture(&f);
}

/* Damage from before the digest was made, say by memory that failed. */
TEST(counts_that_no_run_has_are_refused) {
    static const lh_snapshot_record records[] = {{.step = -1},
                                                 {.step = INT64_MAX},
                                                 {.tokens = INT64_MAX - 5},
                                                 {.tokens = INT64_MIN},
                                                 {.evaluations.stale = INT64_MAX}};
    fixture f;
    REQUIRE(open_fixture(&f));
    for (size_t i = 0; i < sizeof records / sizeof *records; ++i) {
        REQUIRE(write_record(&f, &records[i]));
        set_values(&f, LH_R(5), 5);
        lh_snapshot snapshot = make_snapshot(&f, "model=brt\nwidth=8\n");
        CHECK_FAILS(lh_snapshot_read(&snapshot, path), LH_EFORMAT, "that no run has counted");
        check_values(&f, 5, 5);
    }
    close_fixture(&f);
}

TEST(another_identity_is_named) {
    fixture f;
    REQUIRE(open_fixture(&f));
    REQUIRE(write_example(&f));
    lh_snapshot snapshot = make_snapshot(&f, "model=brt\nwidth=16\n");
    CHECK_FAILS(lh_snapshot_read(&snapshot, path), LH_EFORMAT, "width=8, this run width=16");
    snapshot = make_snapshot(&f, "model=brt\n");
    CHECK_FAILS(lh_snapshot_read(&snapshot, path), LH_EFORMAT, "width=8");
    snapshot = make_snapshot(&f, "model=brt\nwidth=8\ndepth=2\n");
    CHECK_FAILS(lh_snapshot_read(&snapshot, path), LH_EFORMAT, "depth=2");
    close_fixture(&f);
}

TEST(other_tensors_are_refused) {
    fixture f;
    REQUIRE(open_fixture(&f));
    REQUIRE(write_example(&f));
    lh_snapshot snapshot = make_snapshot(&f, "model=brt\nwidth=8\n");
    snapshot.part_count = 1;
    CHECK_FAILS(lh_snapshot_read(&snapshot, path), LH_EFORMAT, "2 tensors");
    lh_snapshot_part swapped[] = {f.part[1], f.part[0]};
    snapshot = make_snapshot(&f, "model=brt\nwidth=8\n");
    snapshot.part = swapped;
    CHECK_FAILS(lh_snapshot_read(&snapshot, path), LH_EFORMAT, "tensor 0");
    close_fixture(&f);
}

TEST(a_missing_file_or_folder_is_an_input_error) {
    fixture f;
    REQUIRE(open_fixture(&f));
    lh_snapshot snapshot = make_snapshot(&f, "");
    CHECK_FAILS(lh_snapshot_read(&snapshot, "/tmp/longhaul-none/x"), LH_EIO, "longhaul-none");
    CHECK_FAILS(lh_snapshot_write(&snapshot, "/tmp/longhaul-none/x"), LH_EIO, "longhaul-none");
    CHECK_FAILS(lh_snapshot_read(&snapshot, "/tmp"), LH_EIO, "plain file");
    close_fixture(&f);
}
