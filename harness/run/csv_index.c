/* One block: header, an entry for each column, their names and texts, their rows' codes. */
#include "harness/run/csv_index.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "harness/engine/atomic_file.h"
#include "harness/engine/file.h"
#include "harness/engine/text.h"

/* Which file it is of. */
typedef struct stamp {
    uint64_t device, inode, size, changed[2], touched[2];
} stamp;

typedef struct header {
    char magic[8];
    uint64_t digest; /* of all that follows */
    stamp of;
    uint64_t columns, rows;
} header;

/* Where in the block a column's name and texts begin, how many bytes they are, and where its codes
 * are; 0: all rows have its one text. */
typedef struct entry {
    uint64_t texts, text_bytes, different, codes;
} entry;

/* The last byte is the version of this format. */
static const char magic[8] = {'L', 'H', 'I', 'N', 'D', 'E', 'X', 1};

static stamp stamp_of(const struct stat *about) {
    return (stamp){
        .device = (uint64_t)about->st_dev,
        .inode = (uint64_t)about->st_ino,
        .size = (uint64_t)about->st_size,
        .changed = {(uint64_t)about->st_mtim.tv_sec, (uint64_t)about->st_mtim.tv_nsec},
        .touched = {(uint64_t)about->st_ctim.tv_sec, (uint64_t)about->st_ctim.tv_nsec},
    };
}

static uint64_t digest_of(const char *data, size_t bytes) {
    const size_t from = offsetof(header, of);
    return XXH3_64bits(data + from, bytes - from);
}

static const entry *entries_of(const char *data) {
    return (const entry *)(const void *)(data + sizeof(header));
}

/* ---- reading ---- */

static bool is_inside(uint64_t from, uint64_t bytes, uint64_t all) {
    return from <= all && bytes <= all - from;
}

/* Whether so many texts end where they must. */
static bool texts_end(const char *text, uint64_t bytes, uint64_t count) {
    const char *end = text + bytes;
    while (count > 0 && text < end) {
        const char *nul = memchr(text, '\0', (size_t)(end - text));
        if (nul == NULL) return false;
        text = nul + 1;
        count -= 1;
    }
    return count == 0 && text == end;
}

/* Whether a column can be read, whatever its bytes are. */
static bool is_sound(const lh_csv_index *index, const entry *e) {
    const uint64_t rows = (uint64_t)index->rows;
    if (!is_inside(e->texts, e->text_bytes, index->bytes) || e->different == 0 ||
        e->different > rows || !texts_end(index->data + e->texts, e->text_bytes, e->different + 1))
        return false;
    if (e->codes == 0) return e->different == 1;
    if (e->codes % sizeof(uint32_t) != 0 ||
        !is_inside(e->codes, rows * sizeof(uint32_t), index->bytes))
        return false;
    const uint32_t *code = (const uint32_t *)(const void *)(index->data + e->codes);
    uint32_t most = 0;
    for (uint64_t r = 0; r < rows; ++r)
        most = code[r] > most ? code[r] : most;
    return most < e->different;
}

/* Whether the block is an index of the file, and whole. */
static bool is_valid(lh_csv_index *index, const struct stat *about) {
    const stamp now = stamp_of(about);
    header h;
    if (index->bytes < sizeof h) return false;
    memcpy(&h, index->data, sizeof h);
    if (memcmp(h.magic, magic, sizeof magic) != 0 || memcmp(&h.of, &now, sizeof now) != 0)
        return false;
    /* a row is a byte at least, and so is a column */
    if (h.rows == 0 || h.rows > now.size || h.columns == 0 || h.columns > now.size ||
        !is_inside(sizeof h, h.columns * sizeof(entry), index->bytes) ||
        h.digest != digest_of(index->data, index->bytes))
        return false;
    index->columns = (int64_t)h.columns;
    index->rows = (int64_t)h.rows;
    index->end = now.size;
    for (int64_t c = 0; c < index->columns; ++c)
        if (!is_sound(index, entries_of(index->data) + c)) return false;
    return true;
}

static char *name_of(const char *path) {
    return lh_format("%s.index", path);
}

/* An index is about as long as its file at most; what is longer is none. */
static bool read_block(const char *name, const struct stat *about, lh_csv_index *index) {
    struct stat own;
    void *data = NULL;
    if (stat(name, &own) != 0 || !S_ISREG(own.st_mode) || own.st_size / 4 > about->st_size)
        return false;
    if (lh_file_read_all(name, &data, &index->bytes) != LH_OK) return false;
    index->data = data;
    return true;
}

bool lh_csv_index_read(const char *path, lh_csv_index *out) {
    struct stat about;
    const lh_status before = lh_error_get()->status;
    *out = (lh_csv_index){0};
    if (stat(path, &about) != 0 || about.st_size < LH_CSV_INDEX_LEAST) return false;
    char *name = name_of(path);
    const bool good = name != NULL && read_block(name, &about, out) && is_valid(out, &about);
    free(name);
    lh_error_survive(before);
    if (!good) lh_csv_index_free(out);
    return good;
}

lh_csv_column lh_csv_index_column(const lh_csv_index *index, int64_t column) {
    const entry *e = entries_of(index->data) + column;
    const char *name = index->data + e->texts;
    return (lh_csv_column){
        .name = name,
        .texts = name + strlen(name) + 1,
        .different = (int64_t)e->different,
        .code = e->codes == 0 ? NULL : (const uint32_t *)(const void *)(index->data + e->codes),
    };
}

void lh_csv_index_free(lh_csv_index *index) {
    free(index->data);
    *index = (lh_csv_index){0};
}

/* ---- making ---- */

static lh_status fill(lh_csv_coder *columns, const lh_csv_table *t) {
    for (int64_t i = 0; i < t->columns; ++i)
        LH_TRY(lh_csv_coder_begin(&columns[i], t, i));
    for (int64_t r = 1; r < t->rows; ++r)
        for (int64_t i = 0; i < t->columns; ++i)
            LH_TRY(lh_csv_coder_add(&columns[i], r - 1, lh_csv_table_field(t, r, i)));
    return LH_OK;
}

static void free_columns(lh_csv_coder *columns, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        lh_csv_coder_free(&columns[i]);
    free(columns);
}

static size_t aligned(size_t bytes) {
    return (bytes + 7) / 8 * 8;
}

/* Lays the block out; gives its length. */
static size_t lay_out(const lh_csv_coder *columns, const lh_csv_table *t, entry *entries) {
    size_t at = sizeof(header) + (size_t)t->columns * sizeof(entry);
    for (int64_t i = 0; i < t->columns; ++i) {
        const lh_csv_coder *c = &columns[i];
        entries[i] = (entry){.texts = at, .text_bytes = (uint64_t)c->used};
        entries[i].different = (uint64_t)c->known - 1;
        at = aligned(at + (size_t)c->used);
        if (c->known == 2) continue;
        entries[i].codes = at;
        at = aligned(at + (size_t)(t->rows - 1) * sizeof *c->code);
    }
    return at;
}

static lh_status make_block(const lh_csv_coder *columns, const lh_csv_table *t, lh_csv_index *out) {
    entry *entries = lh_allocate_zeroed((size_t)t->columns, sizeof *entries);
    if (entries == NULL) return LH_EMEMORY;
    out->bytes = lay_out(columns, t, entries);
    out->data = lh_allocate_zeroed(out->bytes, 1);
    if (out->data != NULL) {
        header h = {.of = stamp_of(&t->about),
                    .columns = (uint64_t)t->columns,
                    .rows = (uint64_t)t->rows - 1};
        memcpy(h.magic, magic, sizeof magic);
        memcpy(out->data, &h, sizeof h);
        memcpy(out->data + sizeof h, entries, (size_t)t->columns * sizeof *entries);
        for (int64_t i = 0; i < t->columns; ++i) {
            const lh_csv_coder *c = &columns[i];
            memcpy(out->data + entries[i].texts, c->texts, (size_t)c->used);
            if (entries[i].codes > 0)
                memcpy(out->data + entries[i].codes, c->code,
                       (size_t)(t->rows - 1) * sizeof *c->code);
        }
        h.digest = digest_of(out->data, out->bytes);
        memcpy(out->data, &h, sizeof h);
    }
    free(entries);
    return out->data != NULL ? LH_OK : LH_EMEMORY;
}

/* Only its owner may read it, as the file may be private. What is no plain file stays. */
static lh_status put_block(const char *path, const lh_csv_index *index) {
    struct stat there;
    char *name = name_of(path);
    if (name == NULL) return LH_EMEMORY;
    const int file = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (file >= 0) (void)close(file);
    lh_status status = LH_OK;
    if (lstat(name, &there) == 0 && S_ISREG(there.st_mode))
        status = lh_atomic_file_put(name, index->data, index->bytes);
    free(name);
    return status;
}

/* Whether the times of the file would show that it was changed again. */
static bool is_settled(const struct stat *about) {
    enum { SECONDS = 2 };
    const time_t now = time(NULL);
    return about->st_mtim.tv_sec + SECONDS < now && about->st_ctim.tv_sec + SECONDS < now;
}

lh_status lh_csv_index_write(const char *path, const lh_csv_table *table) {
    const struct stat *about = &table->about;
    if (about->st_size < LH_CSV_INDEX_LEAST || !is_settled(about) || table->rows < 2 ||
        table->rows > INT32_MAX || table->end != (size_t)about->st_size)
        return LH_OK;
    lh_csv_coder *columns = lh_allocate_zeroed((size_t)table->columns, sizeof *columns);
    if (columns == NULL) return LH_EMEMORY;
    lh_csv_index index = {0};
    lh_status status = fill(columns, table);
    if (status == LH_OK) status = make_block(columns, table, &index);
    free_columns(columns, table->columns);
    if (status == LH_OK) status = put_block(path, &index);
    lh_csv_index_free(&index);
    return status;
}
