/* Writing a checkpoint, and reading one: the whole file is checked before anything changes. */
#include "harness/train/snapshot.h"

#include "harness/engine/atomic_file.h"
#include "harness/engine/file.h"

/* Only the digest is used, compiled in: nothing to link against. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stdlib.h>
#include <string.h>

static const char magic[8] = {'L', 'H', 'S', 'N', 'A', 'P', '0', '1'};

enum { SNAPSHOT_VERSION = 4, DIGEST_BYTES = 8 };

typedef struct snapshot_header {
    char magic[8];
    uint32_t version, real_bytes;
    uint64_t body_bytes;
} snapshot_header;

/* Bytes of `rows` rows of a tensor that has `of`. */
static size_t row_bytes(const lh_snapshot_part *part, int64_t rows) {
    const size_t bytes = lh_tensor_host_bytes(part->tensor);
    return part->rows.count > 0 ? bytes / (size_t)part->rows.count * (size_t)rows : bytes;
}

size_t lh_snapshot_part_bytes(const lh_snapshot_part *part) {
    return row_bytes(part, part->rows.all);
}

size_t lh_snapshot_part_offset(const lh_snapshot_part *part) {
    return part->rows.count > 0 ? row_bytes(part, part->rows.first) : 0;
}

/* ---- writing ---- */

typedef struct writer {
    lh_atomic_file *file;
    XXH3_state_t *digest;
    void *staging; /* as large as the largest tensor */
} writer;

static lh_status put(writer *w, const void *data, size_t bytes) {
    XXH3_64bits_update(w->digest, data, bytes);
    return lh_atomic_file_write(w->file, data, bytes);
}

static lh_status put_sized(writer *w, const void *data, size_t bytes) {
    const uint64_t size = bytes;
    LH_TRY(put(w, &size, sizeof size));
    return put(w, data, bytes);
}

static lh_status put_part(writer *w, const lh_snapshot_part *part) {
    if (part->whole != NULL) return put_sized(w, part->whole, lh_snapshot_part_bytes(part));
    LH_TRY(lh_tensor_read(part->tensor, w->staging, lh_tensor_count(part->tensor)));
    return put_sized(w, w->staging, lh_tensor_host_bytes(part->tensor));
}

static uint64_t body_bytes(const lh_snapshot *snapshot) {
    const size_t lengths = 4 + (size_t)snapshot->part_count;
    uint64_t bytes = lengths * sizeof(uint64_t) + strlen(snapshot->identity) +
                     sizeof snapshot->record +
                     (size_t)snapshot->cursor_count * sizeof snapshot->cursor[0];
    for (int i = 0; i < snapshot->part_count; ++i)
        bytes += lh_snapshot_part_bytes(&snapshot->part[i]);
    return bytes;
}

static lh_status put_all(writer *w, const lh_snapshot *snapshot) {
    snapshot_header header = {.version = SNAPSHOT_VERSION,
                              .real_bytes = sizeof(real),
                              .body_bytes = body_bytes(snapshot)};
    memcpy(header.magic, magic, sizeof magic);
    LH_TRY(put(w, &header, sizeof header));
    LH_TRY(put_sized(w, snapshot->identity, strlen(snapshot->identity)));
    LH_TRY(put_sized(w, &snapshot->record, sizeof snapshot->record));
    LH_TRY(put_sized(w, snapshot->cursor,
                     (size_t)snapshot->cursor_count * sizeof snapshot->cursor[0]));
    const uint64_t tensors = (uint64_t)snapshot->part_count;
    LH_TRY(put(w, &tensors, sizeof tensors));
    for (int i = 0; i < snapshot->part_count; ++i)
        LH_TRY(put_part(w, &snapshot->part[i]));
    const uint64_t digest = XXH3_64bits_digest(w->digest);
    return lh_atomic_file_write(w->file, &digest, sizeof digest);
}

static size_t largest_tensor(const lh_snapshot *snapshot) {
    size_t largest = 1;
    for (int i = 0; i < snapshot->part_count; ++i) {
        const size_t bytes = lh_tensor_host_bytes(snapshot->part[i].tensor);
        if (bytes > largest) largest = bytes;
    }
    return largest;
}

lh_status lh_snapshot_write(const lh_snapshot *snapshot, const char *path) {
    XXH3_state_t digest;
    XXH3_64bits_reset(&digest);
    writer w = {.digest = &digest, .staging = lh_allocate(largest_tensor(snapshot))};
    lh_status status = w.staging != NULL ? LH_OK : LH_EMEMORY;
    if (status == LH_OK) status = lh_atomic_file_open(path, &w.file);
    if (status == LH_OK) status = put_all(&w, snapshot);
    if (status == LH_OK)
        status = lh_atomic_file_commit(w.file);
    else
        lh_atomic_file_abandon(w.file);
    free(w.staging);
    return status;
}

/* ---- reading ---- */

typedef struct reader {
    const char *path;
    const unsigned char *at, *end;
} reader;

static lh_status corrupt(const char *path, const char *what) {
    return lh_fail(LH_EFORMAT, "%s: not a usable checkpoint: %s", path, what);
}

static lh_status get(reader *r, void *out, size_t bytes) {
    if ((size_t)(r->end - r->at) < bytes) return corrupt(r->path, "a part runs past the end");
    memcpy(out, r->at, bytes);
    r->at += bytes;
    return LH_OK;
}

/* A part with its length before it; lends. */
static lh_status get_sized(reader *r, const unsigned char **data, size_t *bytes) {
    uint64_t size = 0;
    LH_TRY(get(r, &size, sizeof size));
    if ((uint64_t)(r->end - r->at) < size) return corrupt(r->path, "a part runs past the end");
    *data = r->at;
    *bytes = (size_t)size;
    r->at += size;
    return LH_OK;
}

/* Checks header, size and digest; *r then spans the body. */
static lh_status open_image(const char *path, const unsigned char *image, size_t bytes, reader *r) {
    snapshot_header header;
    if (bytes < sizeof header + DIGEST_BYTES) return corrupt(path, "truncated");
    memcpy(&header, image, sizeof header);
    if (memcmp(header.magic, magic, sizeof magic) != 0)
        return corrupt(path, "it does not begin with LHSNAP01");
    if (header.version != SNAPSHOT_VERSION)
        return lh_fail(LH_EFORMAT, "%s: checkpoint version %u, this build reads %d", path,
                       header.version, SNAPSHOT_VERSION);
    if (header.real_bytes != sizeof(real))
        return lh_fail(LH_EFORMAT, "%s: checkpoint of a %u-byte build, this one has %zu bytes",
                       path, header.real_bytes, sizeof(real));
    const size_t expected = bytes - sizeof header - DIGEST_BYTES;
    if (header.body_bytes > expected) return corrupt(path, "truncated");
    if (header.body_bytes < expected) return corrupt(path, "bytes after its end");
    uint64_t digest = 0;
    memcpy(&digest, image + bytes - DIGEST_BYTES, sizeof digest);
    if (digest != XXH3_64bits(image, bytes - DIGEST_BYTES))
        return corrupt(path, "its digest does not match");
    *r = (reader){.path = path, .at = image + sizeof header, .end = image + bytes - DIGEST_BYTES};
    return LH_OK;
}

static size_t line_length(const char *text, size_t bytes) {
    size_t length = 0;
    while (length < bytes && text[length] != '\n')
        ++length;
    return length;
}

static lh_status check_identity(const char *path, const char *expected, const char *found,
                                size_t found_bytes) {
    size_t expected_bytes = strlen(expected);
    while (expected_bytes > 0 || found_bytes > 0) {
        const size_t ours = line_length(expected, expected_bytes);
        const size_t theirs = line_length(found, found_bytes);
        if (ours != theirs || memcmp(expected, found, ours) != 0)
            return lh_fail(LH_EFORMAT, "%s: checkpoint of another run: it has %.*s, this run %.*s",
                           path, (int)theirs, found, (int)ours, expected);
        const size_t ours_step = ours < expected_bytes ? ours + 1 : ours;
        const size_t theirs_step = theirs < found_bytes ? theirs + 1 : theirs;
        if (ours_step != theirs_step) return corrupt(path, "its identity text is cut");
        expected += ours_step;
        expected_bytes -= ours_step;
        found += theirs_step;
        found_bytes -= theirs_step;
    }
    return LH_OK;
}

/* A step below zero would be trained on for ever. */
static lh_status check_record(const char *path, const lh_snapshot_record *record) {
    const bool good = lh_is_count(record->step) && lh_is_count(record->tokens) &&
                      lh_is_count(record->evaluations.stale);
    return good ? LH_OK : corrupt(path, "steps, tokens or evaluations that no run has counted");
}

static lh_status get_head(reader *r, const char *identity, lh_snapshot *out) {
    const unsigned char *part = NULL;
    size_t bytes = 0;
    LH_TRY(get_sized(r, &part, &bytes));
    LH_TRY(check_identity(r->path, identity, (const char *)part, bytes));
    LH_TRY(get_sized(r, &part, &bytes));
    if (bytes != sizeof out->record) return corrupt(r->path, "a record of another size");
    memcpy(&out->record, part, bytes);
    LH_TRY(check_record(r->path, &out->record));
    LH_TRY(get_sized(r, &part, &bytes));
    if (bytes > sizeof out->cursor || bytes % sizeof out->cursor[0] != 0)
        return corrupt(r->path, "a data position of impossible size");
    memcpy(out->cursor, part, bytes);
    out->cursor_count = (int)(bytes / sizeof out->cursor[0]);
    return LH_OK;
}

/* Compares all tensors first (`load` false), or writes them. */
static lh_status get_tensors(reader r, const lh_snapshot *snapshot, bool load) {
    uint64_t count = 0;
    LH_TRY(get(&r, &count, sizeof count));
    if (count != (uint64_t)snapshot->part_count)
        return lh_fail(LH_EFORMAT, "%s: checkpoint with %llu tensors, this run has %d", r.path,
                       (unsigned long long)count, snapshot->part_count);
    for (int i = 0; i < snapshot->part_count; ++i) {
        const lh_snapshot_part *part = &snapshot->part[i];
        const unsigned char *data = NULL;
        size_t bytes = 0;
        LH_TRY(get_sized(&r, &data, &bytes));
        if (bytes != lh_snapshot_part_bytes(part))
            return lh_fail(LH_EFORMAT, "%s: tensor %d has %zu bytes, this run needs %zu", r.path, i,
                           bytes, lh_snapshot_part_bytes(part));
        if (load)
            LH_TRY(lh_tensor_write(part->tensor, data + lh_snapshot_part_offset(part),
                                   lh_tensor_count(part->tensor)));
    }
    return r.at == r.end ? LH_OK : corrupt(r.path, "bytes after its last tensor");
}

static lh_status set_stream(const char *path, const lh_task *task, const lh_snapshot *found) {
    const lh_status status =
        task == NULL ? LH_OK
                     : task->class->cursor_set(task->instance, found->cursor, found->cursor_count);
    if (status != LH_OK) lh_note("%s: not a usable checkpoint", path);
    return status;
}

static lh_status read_image(lh_snapshot *snapshot, const char *path, const unsigned char *image,
                            size_t bytes) {
    reader r;
    LH_TRY(open_image(path, image, bytes, &r));
    lh_snapshot found = {.part = snapshot->part, .part_count = snapshot->part_count};
    LH_TRY(get_head(&r, snapshot->identity, &found));
    LH_TRY(get_tensors(r, snapshot, false));
    LH_TRY(set_stream(path, snapshot->task, &found));
    LH_TRY(get_tensors(r, snapshot, true));
    found.identity = snapshot->identity;
    found.task = snapshot->task;
    *snapshot = found;
    return LH_OK;
}

lh_status lh_snapshot_read(lh_snapshot *snapshot, const char *path) {
    void *image = NULL;
    size_t bytes = 0;
    LH_TRY(lh_file_read_all(path, &image, &bytes));
    const lh_status status = read_image(snapshot, path, image, bytes);
    free(image);
    return status;
}
