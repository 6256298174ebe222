/* cJSON takes a NUL for a blank or for the end of a string, and does not tell a text that is no
 * JSON from memory that ran out: here they are told apart. */
#include "harness/engine/json.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

/* The offset of the first escape \u0000, or `bytes`. */
static size_t find_escaped_nul(const char *text, size_t bytes) {
    for (size_t i = 0; i + 1 < bytes; ++i) {
        if (text[i] != '\\') continue;
        if (bytes - i >= 6 && memcmp(text + i, "\\u0000", 6) == 0) return i;
        ++i;
    }
    return bytes;
}

static lh_json_defect find_nul(const char *text, size_t bytes) {
    const char *nul = bytes > 0 ? memchr(text, '\0', bytes) : NULL;
    if (nul != NULL) return (lh_json_defect){"a NUL byte", (size_t)(nul - text)};
    const size_t escaped = find_escaped_nul(text, bytes);
    return escaped < bytes ? (lh_json_defect){"a NUL character", escaped} : (lh_json_defect){0};
}

static size_t skip_blanks(const char *text, size_t bytes, size_t at) {
    while (at < bytes && strchr(" \t\r\n", text[at]) != NULL)
        ++at;
    return at;
}

/* The value at the beginning, *end behind it; NULL after a defect or a recorded failure. */
static cJSON *parse_first(const char *text, size_t bytes, size_t *end, lh_json_defect *defect) {
    cJSON_Hooks checked = {.malloc_fn = lh_allocate, .free_fn = free};
    const char *stop = text;
    cJSON_InitHooks(&checked);
    cJSON *value = cJSON_ParseWithLengthOpts(text, bytes, &stop, false);
    *end = (size_t)(stop - text);
    if (value == NULL && lh_error_get()->status == LH_OK)
        *defect = (lh_json_defect){"no JSON", *end};
    return value;
}

cJSON *lh_json_parse(const char *text, size_t bytes, lh_json_defect *defect) {
    size_t end = 0;
    *defect = find_nul(text, bytes);
    if (defect->what != NULL) return NULL;
    cJSON *value = parse_first(text, bytes, &end, defect);
    if (value == NULL) return NULL;
    end = skip_blanks(text, bytes, end);
    if (end == bytes) return value;
    *defect = (lh_json_defect){"something behind the value", end};
    cJSON_Delete(value);
    return NULL;
}
