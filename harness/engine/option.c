/* Single values of options: read from text and spelled as text. */
#include "harness/engine/option.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INTEGER_BYTES = 24 };

/* ---- reading one value ---- */

bool lh_text_real(const char *text, double *out) {
    char *end = NULL;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*out);
}

bool lh_real_integer(double number, int64_t *out) {
    const double limit = 9223372036854775808.0; /* 2^63 */
    if (!(number >= -limit && number < limit) || number != floor(number)) return false;
    *out = (int64_t)number;
    return true;
}

bool lh_text_integer(const char *text, int64_t *out) {
    char *end = NULL;
    double number = 0;
    errno = 0;
    const long long digits = strtoll(text, &end, 10);
    if (end != text && *end == '\0') {
        *out = digits;
        return errno == 0;
    }
    return lh_text_real(text, &number) && lh_real_integer(number, out);
}

int lh_text_list(const char *text, int64_t *value) {
    int count = 0;
    for (const char *at = text; *at != '\0'; ++count) {
        char *end = NULL;
        if (count > 0 && *at++ != ',') return -1;
        errno = 0;
        const long long number = strtoll(at, &end, 10);
        if (end == at || errno != 0 || strchr(" \t\r\n", *at) != NULL) return -1;
        if (value != NULL) value[count] = number;
        at = end;
    }
    return count;
}

/* ---- spelling one value ---- */

void lh_real_spell(double number, char text[LH_REAL_BYTES]) {
    const bool whole = fabs(number) < 1e17 && number == floor(number);
    if (number == 0) number = 0; /* -0 is equal to it */
    if (whole) (void)snprintf(text, LH_REAL_BYTES, "%.0f", number);
    for (int digits = 15; digits <= 17 && !whole; ++digits) {
        (void)snprintf(text, LH_REAL_BYTES, "%.*g", digits, number);
        if (strtod(text, NULL) == number) return;
    }
}

static lh_status spell_list(const lh_list *list, char **text) {
    size_t used = 0;
    const size_t bytes = (size_t)list->count * INTEGER_BYTES + 1;
    *text = lh_allocate(bytes);
    if (*text == NULL) return LH_EMEMORY;
    (*text)[0] = '\0';
    for (int i = 0; i < list->count; ++i)
        used += (size_t)snprintf(*text + used, bytes - used, "%s%lld", i > 0 ? "," : "",
                                 (long long)list->value[i]);
    return LH_OK;
}

lh_status lh_option_spell(const lh_option *row, const lh_value *value, char **text) {
    char number[LH_REAL_BYTES];
    const char *spelled = number;
    switch (row->type) {
    case LH_OPTION_INTEGER:
        (void)snprintf(number, sizeof number, "%lld", (long long)value->integer);
        break;
    case LH_OPTION_REAL:
        lh_real_spell(value->real, number);
        break;
    case LH_OPTION_FLAG:
        spelled = value->flag ? "true" : "false";
        break;
    case LH_OPTION_CHOICE:
        spelled = row->choices[value->choice];
        break;
    case LH_OPTION_TEXT:
        spelled = value->text;
        break;
    case LH_OPTION_LIST:
        return spell_list(&value->list, text);
    }
    *text = lh_duplicate_text(spelled);
    return *text != NULL ? LH_OK : LH_EMEMORY;
}

int lh_list_copy(const lh_list *list, int64_t *values, int capacity) {
    for (int i = 0; i < list->count && i < capacity; ++i)
        values[i] = list->value[i];
    return list->count;
}
