/* Lines are parsed one by one, so that a message names line and column. */
#include "datasets/text/json_lines.h"

#include <stdlib.h>
#include <string.h>

#include "datasets/unpack.h"
#include "harness/engine/file.h"
#include "harness/engine/json.h"
#include "harness/engine/utf8.h"

lh_status lh_json_line_refuse(const lh_json_line *line, const char *what) {
    return lh_fail(LH_EFORMAT, "%s: line %lld: %s", line->path, (long long)line->number, what);
}

static lh_status refuse_column(const lh_json_line *line, size_t offset, const char *what) {
    return lh_fail(LH_EFORMAT, "%s: line %lld, column %zu: %s", line->path, (long long)line->number,
                   offset + 1, what);
}

static bool is_blank(const char *text, size_t bytes) {
    size_t i = 0;
    while (i < bytes && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r'))
        ++i;
    return i == bytes;
}

static lh_status read_line(lh_json_line *line, const char *text, size_t bytes, lh_json_visit *visit,
                           void *to) {
    lh_json_defect defect;
    const size_t good = lh_utf8_length(text, bytes);
    if (good < bytes) return refuse_column(line, good, "not UTF-8");
    cJSON *json = lh_json_parse(text, bytes, &defect);
    if (json == NULL) return refuse_column(line, defect.offset, defect.what);
    line->value = json;
    const lh_status status = visit(to, line);
    cJSON_Delete(json);
    return status;
}

bool lh_json_lines_is(const char *name) {
    return lh_name_ends(name, ".jsonl") || lh_name_ends(name, ".jsonl.gz");
}

lh_status lh_json_lines_of(const char *path, const char *text, size_t bytes, lh_json_visit *visit,
                           void *to) {
    lh_json_line line = {.path = path};
    for (size_t begin = 0; begin < bytes;) {
        const char *at = text + begin, *end = memchr(at, '\n', bytes - begin);
        const size_t length = end != NULL ? (size_t)(end - at) : bytes - begin;
        line.number += 1;
        if (!is_blank(at, length)) LH_TRY(read_line(&line, at, length, visit, to));
        begin += length + 1;
    }
    return LH_OK;
}

lh_status lh_json_lines_read(const char *path, lh_json_visit *visit, void *to) {
    lh_text text;
    LH_TRY(lh_file_unpack(path, &text));
    const lh_status status = lh_json_lines_of(path, text.data, text.bytes, visit, to);
    free(text.data);
    return status;
}
