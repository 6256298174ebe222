/* A file: head, a place for each document, tokens as they lie in memory. The head has a digest of
 * itself and the places, each place one of its document's tokens, which is compared when the
 * document is first asked for: to open a large file costs no reading. */
#include "datasets/text/token_cache.h"

#include <stdlib.h>
#include <string.h>

#include "datasets/digest.h"
#include "datasets/locate.h"
#include "harness/engine/atomic_file.h"
#include "harness/engine/file.h"
#include "harness/engine/text.h"

typedef struct head {
    char magic[8];
    uint64_t key, documents;
    uint64_t digest; /* of all before it and of the places */
} head;

static const char magic[8] = "LHTOKEN2";

typedef struct place {
    uint64_t first, count; /* in tokens */
    int64_t bytes, words, unspelled;
    uint64_t kept; /* 0: the document is not here */
    uint64_t digest;
} place;

struct lh_token_cache {
    const void *map;
    size_t map_bytes;
    const place *places;
    const int32_t *tokens;
    uint64_t documents, token_count;
};

/* ---- the frame ---- */

/* Its path (free()); NULL when there is no cache folder. */
static char *path_of(uint64_t key) {
    char *folder = NULL;
    if (lh_cache_folder(&folder) != LH_OK || folder == NULL) return NULL;
    char *path = lh_format("%s/tokens/%016llx", folder, (unsigned long long)key);
    free(folder);
    return path;
}

static uint64_t digest_frame(const head *h, const place *places) {
    const uint64_t digest = lh_digest_mix(0, h, offsetof(head, digest));
    return lh_digest_mix(digest, places, (size_t)h->documents * sizeof *places);
}

static uint64_t digest_tokens(const int32_t *tokens, uint64_t count) {
    return lh_digest_mix(count, tokens, (size_t)count * sizeof *tokens);
}

/* Whether the map is a whole frame of this key; fills in where its parts lie. */
static bool read_frame(lh_token_cache *cache, uint64_t key, uint64_t documents) {
    head h;
    if (cache->map == NULL || cache->map_bytes < sizeof h) return false;
    memcpy(&h, cache->map, sizeof h);
    const size_t left = cache->map_bytes - sizeof h;
    if (memcmp(h.magic, magic, sizeof magic) != 0 || h.key != key || h.documents != documents)
        return false;
    if (left / sizeof *cache->places < documents) return false;
    const char *behind = (const char *)cache->map + sizeof h;
    const size_t places_bytes = (size_t)documents * sizeof *cache->places;
    cache->places = (const void *)behind;
    cache->tokens = (const void *)(behind + places_bytes);
    cache->documents = documents;
    cache->token_count = (left - places_bytes) / sizeof *cache->tokens;
    return h.digest == digest_frame(&h, cache->places);
}

/* ---- reading ---- */

static bool open_path(lh_token_cache *cache, const char *path, uint64_t key, int64_t documents) {
    if (path == NULL || !lh_file_exists(path)) return false;
    return lh_file_map(path, &cache->map, &cache->map_bytes) == LH_OK &&
           read_frame(cache, key, (uint64_t)documents);
}

lh_token_cache *lh_token_cache_open(uint64_t key, int64_t documents) {
    const lh_status before = lh_error_get()->status;
    lh_token_cache *cache = lh_allocate_zeroed(1, sizeof *cache);
    char *path = path_of(key);
    if (cache != NULL && !open_path(cache, path, key, documents)) {
        lh_token_cache_close(cache);
        cache = NULL;
    }
    free(path);
    lh_error_survive(before);
    return cache;
}

void lh_token_cache_close(lh_token_cache *cache) {
    if (cache == NULL) return;
    lh_file_unmap(cache->map, cache->map_bytes);
    free(cache);
}

lh_encoded lh_token_cache_find(const lh_token_cache *cache, int64_t index) {
    const lh_encoded none = {0};
    const place *p = &cache->places[index];
    if (p->kept == 0 || p->first > cache->token_count) return none;
    if (p->count > cache->token_count - p->first) return none;
    const int32_t *tokens = cache->tokens + p->first;
    if (digest_tokens(tokens, p->count) != p->digest) return none;
    return (lh_encoded){.tokens = tokens,
                        .count = (int64_t)p->count,
                        .bytes = p->bytes,
                        .words = p->words,
                        .unspelled = p->unspelled};
}

/* ---- keeping ---- */

/* Documents with tokens become places; the others' stay zero. */
static void fill_places(const lh_encoded *document, uint64_t documents, place *places) {
    uint64_t first = 0;
    for (uint64_t i = 0; i < documents; ++i) {
        const lh_encoded *d = &document[i];
        if (d->tokens == NULL) continue;
        const uint64_t count = (uint64_t)d->count;
        places[i] = (place){.first = first,
                            .count = count,
                            .bytes = d->bytes,
                            .words = d->words,
                            .unspelled = d->unspelled,
                            .kept = 1,
                            .digest = digest_tokens(d->tokens, count)};
        first += count;
    }
}

static lh_status write_parts(lh_atomic_file *file, const head *h, const place *places,
                             const lh_encoded *document) {
    LH_TRY(lh_atomic_file_write(file, h, sizeof *h));
    LH_TRY(lh_atomic_file_write(file, places, (size_t)h->documents * sizeof *places));
    for (uint64_t i = 0; i < h->documents; ++i) {
        const size_t bytes = (size_t)places[i].count * sizeof *document[i].tokens;
        if (bytes > 0) LH_TRY(lh_atomic_file_write(file, document[i].tokens, bytes));
    }
    return LH_OK;
}

static lh_status make_folder_of(const char *path) {
    char *folder = lh_format("%.*s", (int)(strrchr(path, '/') - path), path);
    if (folder == NULL) return LH_EMEMORY;
    const lh_status status = lh_make_folder(folder);
    free(folder);
    return status;
}

static lh_status write_file(const char *path, const head *h, const place *places,
                            const lh_encoded *document) {
    lh_atomic_file *file = NULL;
    LH_TRY(make_folder_of(path));
    LH_TRY(lh_atomic_file_open(path, &file));
    const lh_status status = write_parts(file, h, places, document);
    if (status == LH_OK) return lh_atomic_file_commit(file);
    lh_atomic_file_abandon(file);
    return status;
}

static lh_status write_all(uint64_t key, const lh_encoded *document, int64_t documents) {
    head h = {.key = key, .documents = (uint64_t)documents};
    memcpy(h.magic, magic, sizeof magic);
    place *places = lh_allocate_zeroed((size_t)documents, sizeof *places);
    char *path = places != NULL ? path_of(key) : NULL;
    lh_status status = path != NULL ? LH_OK : LH_EIO;
    if (status == LH_OK) {
        fill_places(document, h.documents, places);
        h.digest = digest_frame(&h, places);
        status = write_file(path, &h, places, document);
    }
    free(path);
    free(places);
    return status;
}

void lh_token_cache_keep(uint64_t key, const lh_encoded *document, int64_t documents) {
    const lh_status before = lh_error_get()->status;
    lh_encoded *all = lh_allocate((size_t)documents * sizeof *all);
    lh_token_cache *now = lh_token_cache_open(key, documents);
    for (int64_t i = 0; all != NULL && i < documents; ++i) {
        all[i] = document[i];
        if (all[i].tokens == NULL && now != NULL) all[i] = lh_token_cache_find(now, i);
    }
    if (all != NULL) (void)write_all(key, all, documents);
    lh_token_cache_close(now);
    free(all);
    lh_error_survive(before); /* what went wrong costs time, nothing else */
}
