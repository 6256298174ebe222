/* The kept digests: a magic word, how many there are, so many entries in order, and XXH3 of all
 * before. */
#define XXH_STATIC_LINKING_ONLY /* a state without an allocation of its own */
#include "datasets/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "datasets/locate.h"
#include "harness/engine/array.h"
#include "harness/engine/atomic_file.h"
#include "harness/engine/file.h"
#include "harness/engine/text.h"

enum { BLOCK_BYTES = 1 << 20 };
static const char magic[8] = "LHDIGST2";

/* A file as it was when it was read. */
typedef struct entry {
    uint64_t path; /* its XXH3 */
    uint64_t device, inode, size;
    int64_t modified, changed; /* nanoseconds */
    uint64_t digest;           /* of the content alone */
    uint64_t has_nul;          /* 0 or 1: the content has a NUL byte */
} entry;

typedef struct entries {
    entry *at;
    size_t count;
    int64_t capacity;
} entries;

struct lh_digests {
    entries kept, fresh; /* kept: in order */
};

/* ---- digests ---- */

uint64_t lh_digest_mix(uint64_t digest, const void *data, size_t bytes) {
    return XXH3_64bits_withSeed(data, bytes, digest);
}

uint64_t lh_digest_text(uint64_t digest, const char *text) {
    return lh_digest_mix(digest, text, strlen(text));
}

uint64_t lh_digest_generated(uint64_t version, uint64_t seed) {
    return lh_digest_mix(lh_digest_mix(0, &version, sizeof version), &seed, sizeof seed);
}

static lh_status read_blocks(FILE *stream, const char *path, XXH3_state_t *state, char *block,
                             bool *has_nul) {
    for (;;) {
        const size_t got = lh_fault() ? 0 : fread(block, 1, BLOCK_BYTES, stream);
        if (got > 0) (void)XXH3_64bits_update(state, block, got);
        if (has_nul != NULL) *has_nul = *has_nul || memchr(block, '\0', got) != NULL;
        if (got == BLOCK_BYTES) continue;
        if (feof(stream)) return LH_OK;
        return lh_fail(LH_EIO, "%s: cannot be read", path);
    }
}

/* The content alone. has_nul may be NULL. */
static lh_status read_content(const char *path, uint64_t *content, bool *has_nul) {
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    FILE *stream = lh_file_open(path);
    if (stream == NULL) return LH_EIO;
    char *block = lh_allocate(BLOCK_BYTES);
    const lh_status status =
        block != NULL ? read_blocks(stream, path, &state, block, has_nul) : LH_EMEMORY;
    *content = XXH3_64bits_digest(&state);
    free(block);
    (void)fclose(stream);
    return status;
}

lh_status lh_digest_file(const char *path, uint64_t *digest) {
    uint64_t content = 0;
    LH_TRY(read_content(path, &content, NULL));
    *digest = lh_digest_mix(*digest, &content, sizeof content);
    return LH_OK;
}

uint64_t lh_digest_content(uint64_t digest, const void *data, size_t bytes) {
    const uint64_t content = XXH3_64bits(data, bytes);
    return lh_digest_mix(digest, &content, sizeof content);
}

/* ---- entries ---- */

static lh_status add_entry(entries *list, const entry *added) {
    LH_TRY(
        lh_array_reserve(&list->at, &list->capacity, (int64_t)list->count + 1, sizeof *list->at));
    list->at[list->count++] = *added;
    return LH_OK;
}

static int by_path(const void *a, const void *b) {
    const uint64_t left = ((const entry *)a)->path, right = ((const entry *)b)->path;
    return (left > right) - (left < right);
}

static int64_t nanoseconds(struct timespec moment) {
    return (int64_t)moment.tv_sec * 1000000000 + moment.tv_nsec;
}

static lh_status describe(const char *path, entry *out) {
    struct stat status;
    if (stat(path, &status) != 0)
        return lh_fail(LH_EIO, "%s: cannot be read: %s", path, strerror(errno));
    *out = (entry){.path = XXH3_64bits(path, strlen(path)),
                   .device = (uint64_t)status.st_dev,
                   .inode = (uint64_t)status.st_ino,
                   .size = (uint64_t)status.st_size,
                   .modified = nanoseconds(status.st_mtim),
                   .changed = nanoseconds(status.st_ctim)};
    return LH_OK;
}

static bool is_unchanged(const entry *known, const entry *now) {
    return known->device == now->device && known->inode == now->inode && known->size == now->size &&
           known->modified == now->modified && known->changed == now->changed;
}

/* Whether it last changed so long ago that another change shows in its times. */
static bool is_settled(const entry *now) {
    struct timespec moment;
    (void)clock_gettime(CLOCK_REALTIME, &moment);
    const int64_t latest = nanoseconds(moment) - 1000000000;
    return now->modified < latest && now->changed < latest;
}

lh_status lh_digests_file(lh_digests *digests, const char *path, uint64_t *digest, bool *has_nul) {
    entry now;
    LH_TRY(describe(path, &now));
    const entry *known = NULL;
    if (digests->kept.count > 0)
        known = bsearch(&now, digests->kept.at, digests->kept.count, sizeof now, by_path);
    if (known != NULL && is_unchanged(known, &now)) {
        now = *known;
    } else {
        const bool settled = is_settled(&now);
        bool found = false;
        LH_TRY(read_content(path, &now.digest, &found));
        now.has_nul = found;
        if (settled) LH_TRY(add_entry(&digests->fresh, &now));
    }
    *digest = lh_digest_mix(*digest, &now.digest, sizeof now.digest);
    if (has_nul != NULL) *has_nul = now.has_nul != 0;
    return LH_OK;
}

/* ---- the file ---- */

/* Its path (free()); NULL when there is no cache folder. */
static char *find_store(void) {
    char *folder = NULL;
    if (lh_cache_folder(&folder) != LH_OK || folder == NULL) return NULL;
    char *path = lh_format("%s/digests", folder);
    free(folder);
    return path;
}

/* Where the image's entries begin, and how many they are; NULL when anything is amiss. */
static const char *entries_of(const char *image, size_t bytes, uint64_t *count) {
    const size_t frame = sizeof magic + 2 * sizeof(uint64_t);
    uint64_t sum = 0;
    if (bytes < frame || memcmp(image, magic, sizeof magic) != 0) return NULL;
    memcpy(count, image + sizeof magic, sizeof *count);
    memcpy(&sum, image + bytes - sizeof sum, sizeof sum);
    if (*count != (bytes - frame) / sizeof(entry) || (bytes - frame) % sizeof(entry) != 0)
        return NULL;
    if (XXH3_64bits(image, bytes - sizeof sum) != sum) return NULL;
    return image + sizeof magic + sizeof *count;
}

static bool read_store(const char *path, entries *out) {
    void *image = NULL;
    size_t bytes = 0;
    uint64_t count = 0;
    if (access(path, R_OK) != 0 || lh_file_read_all(path, &image, &bytes) != LH_OK) return false;
    const char *from = entries_of(image, bytes, &count);
    entry *at = from != NULL ? lh_allocate((size_t)(count + 1) * sizeof *at) : NULL;
    if (at != NULL) {
        memcpy(at, from, (size_t)count * sizeof *at);
        *out = (entries){.at = at, .count = (size_t)count, .capacity = (int64_t)count + 1};
    }
    free(image);
    return at != NULL;
}

static lh_status write_store(const char *path, const entries *list) {
    const size_t size = list->count * sizeof *list->at,
                 bytes = sizeof magic + sizeof(uint64_t) + size;
    const uint64_t count = list->count;
    lh_atomic_file *file = NULL;
    char *image = lh_allocate(bytes);
    if (image == NULL) return LH_EMEMORY;
    memcpy(image, magic, sizeof magic);
    memcpy(image + sizeof magic, &count, sizeof count);
    memcpy(image + sizeof magic + sizeof count, list->at, size);
    const uint64_t sum = XXH3_64bits(image, bytes);
    lh_status status = lh_atomic_file_open(path, &file);
    if (status == LH_OK) status = lh_atomic_file_write(file, image, bytes);
    if (status == LH_OK) status = lh_atomic_file_write(file, &sum, sizeof sum);
    free(image);
    if (status == LH_OK) return lh_atomic_file_commit(file);
    lh_atomic_file_abandon(file);
    return status;
}

/* Those of `list` whose path `added` does not have, then `added`, in order. */
static lh_status merge(entries *list, entries *added) {
    entries all = {0};
    lh_status status = LH_OK;
    qsort(added->at, added->count, sizeof *added->at, by_path);
    for (size_t i = 0; status == LH_OK && i < list->count; ++i) {
        const bool again =
            bsearch(&list->at[i], added->at, added->count, sizeof *added->at, by_path) != NULL;
        if (!again) status = add_entry(&all, &list->at[i]);
    }
    for (size_t i = 0; status == LH_OK && i < added->count; ++i) {
        const bool again = i > 0 && added->at[i].path == added->at[i - 1].path;
        if (!again) status = add_entry(&all, &added->at[i]);
    }
    if (all.count > 0) qsort(all.at, all.count, sizeof *all.at, by_path);
    free(list->at);
    *list = all;
    return status;
}

/* Opens <path>.lock in a folder that is made where there is none; -1 when it cannot. */
static int open_lock(const char *path) {
    char *folder = lh_format("%.*s", (int)(strrchr(path, '/') - path), path);
    char *name = lh_format("%s.lock", path);
    const bool made = folder != NULL && name != NULL && lh_make_folder(folder) == LH_OK;
    const int file = made && !lh_fault() ? open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0666) : -1;
    free(folder);
    free(name);
    return file;
}

/* Holds the lock, so that processes add one after the other; -1 when it cannot. */
static int lock_store(const char *path) {
    const int file = open_lock(path);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (file < 0 || fcntl(file, F_SETLKW, &whole) == 0) return file;
    (void)close(file);
    return -1;
}

void lh_digests_keep(lh_digests *digests) {
    if (digests->fresh.count == 0) return;
    const lh_status before = lh_error_get()->status;
    char *path = find_store();
    const int lock = path != NULL ? lock_store(path) : -1;
    if (lock >= 0) {
        entries now = {0};
        (void)read_store(path, &now);
        if (merge(&now, &digests->fresh) == LH_OK) (void)write_store(path, &now);
        free(now.at);
        (void)close(lock);
        digests->fresh.count = 0;
    }
    free(path);
    lh_error_survive(before); /* what went wrong costs time, nothing else */
}

lh_status lh_digests_create(lh_digests **out) {
    const lh_status before = lh_error_get()->status;
    *out = lh_allocate_zeroed(1, sizeof **out);
    if (*out == NULL) return LH_EMEMORY;
    char *path = find_store();
    if (path == NULL || !read_store(path, &(*out)->kept)) lh_error_survive(before);
    free(path);
    return LH_OK;
}

void lh_digests_destroy(lh_digests *digests) {
    if (digests == NULL) return;
    free(digests->kept.at);
    free(digests->fresh.at);
    free(digests);
}
