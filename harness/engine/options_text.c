/* Option values as text: the only place where they are spelled and read. */
#include "harness/engine/options_text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INTEGER_BYTES = 24 };

static const char blanks[] = " \t\r\n";

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
        if (end == at || errno != 0 || strchr(blanks, *at) != NULL) return -1;
        if (value != NULL) value[count] = number;
        at = end;
    }
    return count;
}

/* ---- spelling one value ---- */

void lh_real_spell(double number, char text[LH_REAL_BYTES]) {
    const bool whole = fabs(number) < 1e17 && number == floor(number);
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

/* ---- spelling all ---- */

/* What a backslash and `letter` stand for in quotes. */
static char unescaped(char letter) {
    return letter == 'n' ? '\n' : letter == 'r' ? '\r' : letter == 't' ? '\t' : letter;
}

/* The letter that stands for a character behind a backslash; 0: it needs none. */
static char escape_of(char character) {
    switch (character) {
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    case '\'':
    case '\\':
        return character;
    default:
        return '\0';
    }
}

/* Writes the value, quoted where it must be, into room for twice the text; returns the end. */
static char *write_value(char *out, const char *text) {
    const bool quotes = text[0] == '\0' || strpbrk(text, " \t\r\n'\"\\") != NULL;
    if (quotes) *out++ = '\'';
    for (const char *at = text; *at != '\0'; ++at) {
        const char letter = quotes ? escape_of(*at) : '\0';
        if (letter != '\0') *out++ = '\\';
        *out++ = letter != '\0' ? letter : *at;
    }
    if (quotes) *out++ = '\'';
    return out;
}

lh_status lh_option_spell_pair(const lh_option *row, const lh_value *value, char **text) {
    char *plain = NULL;
    LH_TRY(lh_option_spell(row, value, &plain));
    const size_t name = strlen(row->name);
    *text = lh_allocate(name + 2 * strlen(plain) + 4);
    if (*text != NULL) {
        memcpy(*text, row->name, name);
        (*text)[name] = '=';
        *write_value(*text + name + 1, plain) = '\0';
    }
    free(plain);
    return *text != NULL ? LH_OK : LH_EMEMORY;
}

/* Adds a text to the ones before it. */
static lh_status append(char **all, size_t *used, const char *text) {
    const size_t bytes = strlen(text) + 1, blank = *used > 0 ? 1 : 0;
    char *grown = lh_reallocate(*all, *used + blank + bytes);
    if (grown == NULL) return LH_EMEMORY;
    if (blank > 0) grown[*used] = ' ';
    memcpy(grown + *used + blank, text, bytes);
    *used += blank + bytes - 1;
    *all = grown;
    return LH_OK;
}

lh_status lh_options_spell(const lh_options *options, char **text) {
    size_t used = 0;
    *text = lh_duplicate_text("");
    lh_status status = *text != NULL ? LH_OK : LH_EMEMORY;
    for (int i = 0; status == LH_OK && i < lh_options_count(options); ++i) {
        char *pair = NULL;
        status =
            lh_option_spell_pair(lh_options_row(options, i), lh_options_value(options, i), &pair);
        if (status == LH_OK) status = append(text, &used, pair);
        free(pair);
    }
    if (status == LH_OK) return LH_OK;
    free(*text);
    *text = NULL;
    return status;
}

/* ---- parsing all ---- */

/* Reads a value from *at into `out`, at most as long, and moves *at behind it. Returns what is
 * wrong with it, or NULL. */
static const char *read_value(const char **at, char *out) {
    const char *from = *at;
    const char quote = *from;
    if (quote != '\'' && quote != '"') {
        const size_t length = strcspn(from, blanks);
        memcpy(out, from, length);
        out[length] = '\0';
        *at = from + length;
        return NULL;
    }
    for (from += 1; *from != quote; ++from) {
        if (*from == '\\' && from[1] != '\0') {
            *out++ = unescaped(*++from);
        } else if (*from == '\0') {
            return "has a quote that is not closed";
        } else {
            *out++ = *from;
        }
    }
    *out = '\0';
    *at = from + 1;
    return strchr(blanks, from[1]) != NULL ? NULL : "needs a blank behind its closing quote";
}

/* `name` and `value` have room for the whole text. */
static lh_status parse_pair(lh_options *options, const char **at, char *name, char *value) {
    const size_t length = strcspn(*at, "= \t\r\n");
    memcpy(name, *at, length);
    name[length] = '\0';
    *at += length;
    if (**at != '=' || length == 0)
        return lh_fail(LH_EOPTION, "%s: expected name=value, got '%s%.*s'",
                       lh_options_owner(options), name, (int)strcspn(*at, blanks), *at);
    *at += 1;
    const char *wrong = read_value(at, value);
    if (wrong != NULL)
        return lh_fail(LH_EOPTION, "%s: option '%s' %s", lh_options_owner(options), name, wrong);
    return lh_options_set(options, name, value);
}

lh_status lh_options_parse(lh_options *options, const char *text) {
    const size_t bytes = strlen(text) + 1;
    char *name = lh_allocate(bytes), *value = lh_allocate(bytes);
    lh_status status = name != NULL && value != NULL ? LH_OK : LH_EMEMORY;
    const char *at = text + strspn(text, blanks);
    while (status == LH_OK && *at != '\0') {
        status = parse_pair(options, &at, name, value);
        at += strspn(at, blanks);
    }
    free(name);
    free(value);
    return status;
}
