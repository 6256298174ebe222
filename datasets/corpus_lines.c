/* JSON lines: a document a line, in the forms in which dialogues and web text are kept.
 *
 *   {"text": "..."}      {"dialogue": [turn, ...]}      [turn, ...]
 *
 * A turn is a string or {"speaker": "...", "text": "..."}; turns become lines, "speaker: text". */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "datasets/corpus.h"
#include "datasets/unpack.h"

/* Where a line stands, for messages. */
typedef struct place {
    const char *path;
    int64_t line;
} place;

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

static lh_status refuse(const place *at, const char *what) {
    return lh_fail(LH_EFORMAT, "%s: line %lld: %s", at->path, (long long)at->line, what);
}

static lh_status append_turn(const place *at, const cJSON *turn, buffer *out) {
    const cJSON *speaker = cJSON_GetObjectItemCaseSensitive(turn, "speaker");
    const cJSON *text =
        cJSON_IsObject(turn) ? cJSON_GetObjectItemCaseSensitive(turn, "text") : turn;
    if (!cJSON_IsString(text))
        return refuse(at, "a turn is neither a string nor an object with a string \"text\"");
    if (cJSON_IsString(speaker)) {
        LH_TRY(append(out, speaker->valuestring));
        LH_TRY(append(out, ": "));
    }
    LH_TRY(append(out, text->valuestring));
    return append(out, "\n");
}

static lh_status text_of(const place *at, const cJSON *json, buffer *out) {
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(json, "text"), *turn = NULL;
    if (cJSON_IsString(text)) return append(out, text->valuestring);
    const cJSON *turns =
        cJSON_IsArray(json) ? json : cJSON_GetObjectItemCaseSensitive(json, "dialogue");
    if (!cJSON_IsArray(turns))
        return refuse(at, "neither a string \"text\" nor an array of turns \"dialogue\"");
    cJSON_ArrayForEach(turn, turns) LH_TRY(append_turn(at, turn, out));
    return LH_OK;
}

static lh_status parse_line(const place *at, const char *line, size_t bytes, buffer *out) {
    if (memchr(line, '\0', bytes) != NULL) return refuse(at, "a NUL byte");
    const char *end = NULL;
    cJSON *json = lh_fault() ? NULL : cJSON_ParseWithLengthOpts(line, bytes, &end, false);
    if (json == NULL) {
        const long long column = end != NULL ? (long long)(end - line) + 1 : 1;
        return lh_fail(LH_EFORMAT, "%s: line %lld, column %lld: not JSON", at->path,
                       (long long)at->line, column);
    }
    const lh_status status = text_of(at, json, out);
    cJSON_Delete(json);
    return status;
}

static lh_status add_line(lh_corpus *corpus, int split, const char *name, const place *at,
                          const char *line, size_t bytes) {
    char label[LH_PATH_BYTES + 32];
    buffer text = {0};
    lh_status status = parse_line(at, line, bytes, &text);
    if (status == LH_OK && text.bytes == 0) status = refuse(at, "an empty document");
    if (status != LH_OK) {
        free(text.data);
        return status;
    }
    (void)snprintf(label, sizeof label, "%s:%lld", name, (long long)at->line);
    const lh_split chosen = split >= 0 ? (lh_split)split : lh_split_by_name(label);
    return lh_corpus_add_text(corpus, chosen, label, text.data, text.bytes);
}

bool lh_corpus_is_lines(const char *name) {
    return lh_name_ends(name, ".jsonl") || lh_name_ends(name, ".jsonl.gz");
}

lh_status lh_corpus_read_lines(lh_corpus *corpus, int split, const char *name, const char *path) {
    char *text = NULL;
    size_t bytes = 0;
    place at = {.path = path};
    LH_TRY(lh_file_unpack(path, &text, &bytes));
    lh_status status = LH_OK;
    for (size_t begin = 0; begin < bytes && status == LH_OK;) {
        const char *end = memchr(text + begin, '\n', bytes - begin);
        const size_t length = end != NULL ? (size_t)(end - text) - begin : bytes - begin;
        at.line += 1;
        const bool blank = strspn(text + begin, " \t\r") >= length;
        if (!blank) status = add_line(corpus, split, name, &at, text + begin, length);
        begin += length + 1;
    }
    free(text);
    return status;
}
