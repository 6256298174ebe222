/* Texts are found again by their hash, rows that agree by the pair of part and code. */
#include "harness/run/csv_column.h"

#include <stdlib.h>
#include <string.h>

#include "harness/engine/array.h"

static lh_status add_text(lh_csv_coder *c, const char *text, size_t bytes) {
    LH_TRY(lh_array_reserve(&c->texts, &c->room, c->used + (int64_t)bytes, 1));
    LH_TRY(lh_array_reserve(&c->start, &c->starts, c->known + 1, sizeof *c->start));
    memcpy(c->texts + c->used, text, bytes);
    c->start[c->known++] = (size_t)c->used;
    c->used += (int64_t)bytes;
    return LH_OK;
}

lh_status lh_csv_coder_begin(lh_csv_coder *coder, const lh_csv_table *table, int64_t column) {
    const char *name = lh_csv_table_field(table, 0, column);
    coder->code = lh_allocate((size_t)(table->rows - 1) * sizeof *coder->code);
    if (coder->code == NULL) return LH_EMEMORY;
    return add_text(coder, name, strlen(name) + 1);
}

static bool is_same(const void *items, int32_t id, const void *wanted) {
    const lh_csv_coder *c = items;
    return strcmp(c->texts + c->start[id + 1], wanted) == 0;
}

lh_status lh_csv_coder_add(lh_csv_coder *coder, int64_t row, const char *text) {
    if (row > 0 && is_same(coder, (int32_t)coder->code[row - 1], text)) {
        coder->code[row] = coder->code[row - 1];
        return LH_OK;
    }
    const size_t bytes = strlen(text);
    const uint64_t key = lh_hash_text(text, bytes);
    int32_t code = lh_hash_find_item(&coder->codes, key, is_same, coder, text);
    if (code == LH_HASH_NONE) {
        code = (int32_t)coder->known - 1;
        LH_TRY(add_text(coder, text, bytes + 1));
        LH_TRY(lh_hash_add(&coder->codes, key, code));
    }
    coder->code[row] = (uint32_t)code;
    return LH_OK;
}

lh_status lh_csv_coder_fill(lh_csv_coder *coder, const lh_csv_table *table, int64_t column) {
    enum { AHEAD = 16 }; /* rows lie far apart in memory */
    LH_TRY(lh_csv_coder_begin(coder, table, column));
    for (int64_t r = 1; r < table->rows; ++r) {
        if (r + AHEAD < table->rows)
            __builtin_prefetch(lh_csv_table_field(table, r + AHEAD, column));
        LH_TRY(lh_csv_coder_add(coder, r - 1, lh_csv_table_field(table, r, column)));
    }
    return LH_OK;
}

lh_csv_column lh_csv_coder_column(const lh_csv_coder *coder) {
    return (lh_csv_column){
        .name = coder->texts,
        .texts = coder->texts + strlen(coder->texts) + 1,
        .different = coder->known - 1,
        .code = coder->code,
    };
}

void lh_csv_coder_free(lh_csv_coder *coder) {
    free(coder->texts);
    free(coder->start);
    free(coder->code);
    lh_hash_clear(&coder->codes);
    *coder = (lh_csv_coder){0};
}

/* ---- parts ---- */

static lh_status part_rows(const uint32_t *code, int64_t rows, int32_t *part, int32_t *parts,
                           lh_hash *numbers) {
    int32_t count = 0;
    for (int64_t i = 0; i < rows; ++i) {
        const uint64_t key = lh_hash_pair(part[i], (int32_t)code[i]);
        int32_t number = lh_hash_find(numbers, key);
        if (number == LH_HASH_NONE) {
            number = count++;
            LH_TRY(lh_hash_add(numbers, key, number));
        }
        part[i] = number;
    }
    *parts = count;
    return LH_OK;
}

lh_status lh_csv_part(const uint32_t *code, int64_t rows, int32_t *part, int32_t *parts) {
    lh_hash numbers = {0};
    const lh_status status = part_rows(code, rows, part, parts, &numbers);
    lh_hash_clear(&numbers);
    return status;
}
