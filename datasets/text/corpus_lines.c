/* JSON lines: a document a line, in the forms in which dialogues and web text are kept.
 *
 *   {"text": "..."}      {"dialogue": [turn, ...]}      [turn, ...]
 *
 * The option `field` puts another name in the place of "text"; its value may be turns as well. A
 * turn is a string or {"speaker": "...", "text": "..."}; turns become lines, "speaker: text". */
#include "datasets/text/corpus_lines.h"

#include <stdlib.h>

#include "datasets/text/json_lines.h"
#include "harness/engine/text.h"

/* What a file's lines share. */
typedef struct reader {
    lh_corpus *corpus;
    const char *field, *name;
    int split; /* -1: by hash */
} reader;

/* ---- documents ---- */

static lh_status append_turn(const lh_json_line *line, const char *field, int index,
                             const cJSON *turn, lh_text *out) {
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
        LH_TRY(lh_text_add_string(out, speaker->valuestring));
        LH_TRY(lh_text_add_string(out, ": "));
    }
    LH_TRY(lh_text_add_string(out, text->valuestring));
    return lh_text_add_string(out, "\n");
}

static lh_status append_value(const lh_json_line *line, const char *field, const cJSON *value,
                              lh_text *out) {
    const cJSON *turn = NULL;
    int index = 0;
    if (cJSON_IsString(value)) return lh_text_add_string(out, value->valuestring);
    if (!cJSON_IsArray(value)) {
        return lh_fail(LH_EFORMAT,
                       "%s: line %lld: field '%s' is neither a string nor an array of turns",
                       line->path, (long long)line->number, field);
    }
    cJSON_ArrayForEach(turn, value) LH_TRY(append_turn(line, field, ++index, turn, out));
    return LH_OK;
}

static lh_status append_document(const reader *r, const lh_json_line *line, lh_text *out) {
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
    lh_text text = {0};
    lh_status status = append_document(r, line, &text);
    if (status == LH_OK && text.bytes == 0) status = lh_json_line_refuse(line, "an empty document");
    char *label = status == LH_OK ? lh_format("%s:%lld", r->name, (long long)line->number) : NULL;
    if (label == NULL) {
        free(text.data);
        return status != LH_OK ? status : LH_EMEMORY;
    }
    const lh_split split = r->split >= 0 ? (lh_split)r->split : lh_split_by_name(label);
    status = lh_corpus_add_text(r->corpus, split, label, text.data, text.bytes);
    free(label);
    return status;
}

lh_status lh_corpus_read_lines(lh_corpus *corpus, const char *field, int split, const char *name,
                               const char *path) {
    reader r = {.corpus = corpus, .field = field, .name = name, .split = split};
    return lh_json_lines_read(path, add_line, &r);
}
