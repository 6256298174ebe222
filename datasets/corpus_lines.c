/* JSON lines: a document a line, in the forms in which dialogues and web text are kept.
 *
 *   {"text": "..."}      {"dialogue": [turn, ...]}      [turn, ...]
 *
 * The option `field` puts another name in the place of "text"; its value may be turns as well. A
 * turn is a string or {"speaker": "...", "text": "..."}; turns become lines, "speaker: text". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/corpus.h"
#include "datasets/json_lines.h"

/* What a file's lines share. */
typedef struct reader {
    lh_corpus *corpus;
    const char *field, *name;
    int split; /* -1: by hash */
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

/* ---- documents ---- */

static lh_status append_turn(const lh_json_line *line, const char *field, int index,
                             const cJSON *turn, buffer *out) {
    const cJSON *speaker = cJSON_GetObjectItemCaseSensitive(turn, "speaker");
    const cJSON *text =
        cJSON_IsObject(turn) ? cJSON_GetObjectItemCaseSensitive(turn, "text") : turn;
    if (!cJSON_IsString(text) || (speaker != NULL && !cJSON_IsString(speaker))) {
        return lh_fail(LH_EFORMAT,
                       "%s: line %lld: field '%s', turn %d: neither a string nor an object with "
                       "the strings \"text\" and, if any, \"speaker\"",
                       line->path, (long long)line->number, field, index);
    }
    if (speaker != NULL) {
        LH_TRY(append(out, speaker->valuestring));
        LH_TRY(append(out, ": "));
    }
    LH_TRY(append(out, text->valuestring));
    return append(out, "\n");
}

static lh_status append_value(const lh_json_line *line, const char *field, const cJSON *value,
                              buffer *out) {
    const cJSON *turn = NULL;
    int index = 0;
    if (cJSON_IsString(value)) return append(out, value->valuestring);
    if (!cJSON_IsArray(value)) {
        return lh_fail(LH_EFORMAT,
                       "%s: line %lld: field '%s' is neither a string nor an array of turns",
                       line->path, (long long)line->number, field);
    }
    cJSON_ArrayForEach(turn, value) LH_TRY(append_turn(line, field, ++index, turn, out));
    return LH_OK;
}

static lh_status append_document(const reader *r, const lh_json_line *line, buffer *out) {
    static const char dialogue[] = "dialogue";
    const cJSON *json = line->value;
    if (cJSON_IsArray(json)) return append_value(line, dialogue, json, out);
    if (!cJSON_IsObject(json))
        return lh_json_line_refuse(line, "neither an object nor an array of turns");
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(json, r->field);
    if (value != NULL) return append_value(line, r->field, value, out);
    value = cJSON_GetObjectItemCaseSensitive(json, dialogue);
    if (value != NULL) return append_value(line, dialogue, value, out);
    return lh_fail(LH_EFORMAT,
                   "%s: line %lld: no field '%s' and no 'dialogue'; the option 'field' names the "
                   "field that holds the text",
                   line->path, (long long)line->number, r->field);
}

/* ---- files ---- */

static lh_status add_line(void *to, const lh_json_line *line) {
    const reader *r = to;
    char label[LH_PATH_BYTES + 32];
    buffer text = {0};
    lh_status status = append_document(r, line, &text);
    if (status == LH_OK && text.bytes == 0) status = lh_json_line_refuse(line, "an empty document");
    if (status != LH_OK) {
        free(text.data);
        return status;
    }
    (void)snprintf(label, sizeof label, "%s:%lld", r->name, (long long)line->number);
    const lh_split split = r->split >= 0 ? (lh_split)r->split : lh_split_by_name(label);
    return lh_corpus_add_text(r->corpus, split, label, text.data, text.bytes);
}

lh_status lh_corpus_read_lines(lh_corpus *corpus, const char *field, int split, const char *name,
                               const char *path) {
    reader r = {.corpus = corpus, .field = field, .name = name, .split = split};
    return lh_json_lines_read(path, add_line, &r);
}
