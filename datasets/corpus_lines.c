/* JSON lines: a document a line, in the forms in which dialogues and web text are kept.
 *
 *   {"text": "..."}      {"dialogue": [turn, ...]}      [turn, ...]
 *
 * The option `field` puts another name in the place of "text"; its value may be turns as well. A
 * turn is a string or {"speaker": "...", "text": "..."}; turns become lines, "speaker: text". */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/corpus.h"
#include "datasets/unpack.h"
#include "datasets/utf8.h"

/* What a file's lines share, and where the current one stands. */
typedef struct reader {
    lh_corpus *corpus;
    const char *field, *name, *path;
    int split; /* -1: by hash */
    int64_t line;
} reader;

typedef struct buffer {
    char *data;
    size_t bytes, capacity;
} buffer;

static lh_status append(buffer *b, const char *text) {
    const size_t length = strlen(text);
    if (b->bytes + length + 1 > b->capacity) {
        const size_t capacity = 2 * b->capacity + length + 64;
        char *data = lh_reallocate(b->data, capacity);
        if (data == NULL) return LH_EMEMORY;
        b->data = data;
        b->capacity = capacity;
    }
    memcpy(b->data + b->bytes, text, length + 1);
    b->bytes += length;
    return LH_OK;
}

static lh_status refuse(const reader *r, const char *what) {
    return lh_fail(LH_EFORMAT, "%s: line %lld: %s", r->path, (long long)r->line, what);
}

static lh_status refuse_column(const reader *r, size_t offset, const char *what) {
    return lh_fail(LH_EFORMAT, "%s: line %lld, column %zu: %s", r->path, (long long)r->line,
                   offset + 1, what);
}

/* ---- documents ---- */

static lh_status append_turn(const reader *r, const char *field, int index, const cJSON *turn,
                             buffer *out) {
    const cJSON *speaker = cJSON_GetObjectItemCaseSensitive(turn, "speaker");
    const cJSON *text =
        cJSON_IsObject(turn) ? cJSON_GetObjectItemCaseSensitive(turn, "text") : turn;
    if (!cJSON_IsString(text) || (speaker != NULL && !cJSON_IsString(speaker))) {
        return lh_fail(LH_EFORMAT,
                       "%s: line %lld: field '%s', turn %d: neither a string nor an object with "
                       "the strings \"text\" and, if any, \"speaker\"",
                       r->path, (long long)r->line, field, index);
    }
    if (speaker != NULL) {
        LH_TRY(append(out, speaker->valuestring));
        LH_TRY(append(out, ": "));
    }
    LH_TRY(append(out, text->valuestring));
    return append(out, "\n");
}

static lh_status append_value(const reader *r, const char *field, const cJSON *value, buffer *out) {
    const cJSON *turn = NULL;
    int index = 0;
    if (cJSON_IsString(value)) return append(out, value->valuestring);
    if (!cJSON_IsArray(value)) {
        return lh_fail(LH_EFORMAT,
                       "%s: line %lld: field '%s' is neither a string nor an array of turns",
                       r->path, (long long)r->line, field);
    }
    cJSON_ArrayForEach(turn, value) LH_TRY(append_turn(r, field, ++index, turn, out));
    return LH_OK;
}

static lh_status append_document(const reader *r, const cJSON *json, buffer *out) {
    static const char dialogue[] = "dialogue";
    if (cJSON_IsArray(json)) return append_value(r, dialogue, json, out);
    if (!cJSON_IsObject(json)) return refuse(r, "neither an object nor an array of turns");
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(json, r->field);
    if (value != NULL) return append_value(r, r->field, value, out);
    value = cJSON_GetObjectItemCaseSensitive(json, dialogue);
    if (value != NULL) return append_value(r, dialogue, value, out);
    return lh_fail(LH_EFORMAT,
                   "%s: line %lld: no field '%s' and no 'dialogue'; the option 'field' names the "
                   "field that holds the text",
                   r->path, (long long)r->line, r->field);
}

/* ---- lines ---- */

/* The offset of the first escape \u0000, or `bytes`: cJSON would end the string there. */
static size_t find_escaped_nul(const char *line, size_t bytes) {
    for (size_t i = 0; i + 1 < bytes; ++i) {
        if (line[i] != '\\') continue;
        if (bytes - i >= 6 && memcmp(line + i, "\\u0000", 6) == 0) return i;
        ++i;
    }
    return bytes;
}

static lh_status check_line(const reader *r, const char *line, size_t bytes) {
    const char *nul = memchr(line, '\0', bytes);
    if (nul != NULL) return refuse_column(r, (size_t)(nul - line), "a NUL byte");
    const size_t escaped = find_escaped_nul(line, bytes);
    if (escaped < bytes) return refuse_column(r, escaped, "a NUL character");
    const size_t good = lh_utf8_length(line, bytes);
    return good < bytes ? refuse_column(r, good, "not UTF-8") : LH_OK;
}

static bool is_blank(const char *text, size_t bytes) {
    size_t i = 0;
    while (i < bytes && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r'))
        ++i;
    return i == bytes;
}

static lh_status parse_line(const reader *r, const char *line, size_t bytes, buffer *out) {
    LH_TRY(check_line(r, line, bytes));
    const char *end = NULL;
    cJSON *json = lh_fault() ? NULL : cJSON_ParseWithLengthOpts(line, bytes, &end, false);
    const size_t offset = end != NULL ? (size_t)(end - line) : 0;
    if (json == NULL) return refuse_column(r, offset, "not JSON");
    const bool whole = is_blank(line + offset, bytes - offset);
    const lh_status status = whole ? append_document(r, json, out)
                                   : refuse_column(r, offset, "more than one value in a line");
    cJSON_Delete(json);
    return status;
}

static lh_status add_line(const reader *r, const char *line, size_t bytes) {
    char label[LH_PATH_BYTES + 32];
    buffer text = {0};
    lh_status status = parse_line(r, line, bytes, &text);
    if (status == LH_OK && text.bytes == 0) status = refuse(r, "an empty document");
    if (status != LH_OK) {
        free(text.data);
        return status;
    }
    (void)snprintf(label, sizeof label, "%s:%lld", r->name, (long long)r->line);
    const lh_split split = r->split >= 0 ? (lh_split)r->split : lh_split_by_name(label);
    return lh_corpus_add_text(r->corpus, split, label, text.data, text.bytes);
}

/* ---- files ---- */

bool lh_corpus_is_lines(const char *name) {
    return lh_name_ends(name, ".jsonl") || lh_name_ends(name, ".jsonl.gz");
}

lh_status lh_corpus_read_lines(lh_corpus *corpus, const char *field, int split, const char *name,
                               const char *path) {
    char *text = NULL;
    size_t bytes = 0;
    reader r = {.corpus = corpus, .field = field, .name = name, .path = path, .split = split};
    LH_TRY(lh_file_unpack(path, &text, &bytes));
    lh_status status = LH_OK;
    for (size_t begin = 0; begin < bytes && status == LH_OK;) {
        const char *end = memchr(text + begin, '\n', bytes - begin);
        const size_t length = end != NULL ? (size_t)(end - text) - begin : bytes - begin;
        r.line += 1;
        if (!is_blank(text + begin, length)) status = add_line(&r, text + begin, length);
        begin += length + 1;
    }
    free(text);
    return status;
}
