#include "harness/engine/options.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPTIONS = 64, WORD_BYTES = 64, LIST_VALUES = 256 };

struct lh_options {
    const char *owner;
    const lh_option *table;
    int count;
    char **value; /* canonical text per row */
    bool *user_set;
};

/* ---- nearest name ---- */

/* Levenshtein 1966 by one row of the table; long words are never near. */
static int edit_distance(const char *a, const char *b) {
    const size_t n = strlen(b);
    int row[WORD_BYTES];
    if (strlen(a) >= WORD_BYTES || n >= WORD_BYTES) return WORD_BYTES;
    for (size_t j = 0; j <= n; ++j)
        row[j] = (int)j;
    for (size_t i = 0; a[i] != '\0'; ++i) {
        int diagonal = row[0];
        row[0] = (int)i + 1;
        for (size_t j = 0; j < n; ++j) {
            const int replaced =
                diagonal + (tolower((unsigned char)a[i]) != tolower((unsigned char)b[j]));
            diagonal = row[j + 1];
            const int shorter = (row[j] < diagonal ? row[j] : diagonal) + 1;
            row[j + 1] = replaced < shorter ? replaced : shorter;
        }
    }
    return row[n];
}

const char *lh_nearest_name(const char *word, const char *const *names) {
    const char *nearest = NULL;
    int best = (int)strlen(word) / 2 + 1;
    for (int i = 0; names[i] != NULL; ++i) {
        const int distance = edit_distance(word, names[i]);
        if (distance < best) {
            best = distance;
            nearest = names[i];
        }
    }
    return nearest;
}

/* ---- life ---- */

static int table_length(const lh_option *table) {
    int count = 0;
    while (table[count].name != NULL)
        count += 1;
    return count;
}

static lh_status fill_values(lh_options *options, char *const *values) {
    for (int i = 0; i < options->count; ++i) {
        options->value[i] =
            lh_duplicate_text(values != NULL ? values[i] : options->table[i].standard);
        if (options->value[i] == NULL) return LH_EMEMORY;
    }
    return LH_OK;
}

static lh_status create(const char *owner, const lh_option *table, char *const *values,
                        lh_options **out) {
    lh_options *options = lh_allocate_zeroed(1, sizeof *options);
    if (options == NULL) return LH_EMEMORY;
    options->owner = owner;
    options->table = table;
    options->count = table_length(table);
    options->value = lh_allocate_zeroed((size_t)options->count, sizeof *options->value);
    options->user_set = lh_allocate_zeroed((size_t)options->count, sizeof *options->user_set);
    const bool made = options->value != NULL && options->user_set != NULL;
    const lh_status status = made ? fill_values(options, values) : LH_EMEMORY;
    if (status != LH_OK) {
        lh_options_destroy(options);
        return status;
    }
    *out = options;
    return LH_OK;
}

lh_status lh_options_create(const char *owner, const lh_option *table, lh_options **out) {
    return create(owner, table, NULL, out);
}

lh_status lh_options_copy(const lh_options *from, lh_options **out) {
    LH_TRY(create(from->owner, from->table, from->value, out));
    memcpy((*out)->user_set, from->user_set, (size_t)from->count * sizeof(bool));
    return LH_OK;
}

void lh_options_destroy(lh_options *options) {
    if (options == NULL) return;
    for (int i = 0; options->value != NULL && i < options->count; ++i)
        free(options->value[i]);
    free(options->value);
    free(options->user_set);
    free(options);
}

/* ---- checking one value ---- */

lh_option_type lh_option_plain_type(const lh_option *row) {
    return (lh_option_type)(row->type & ~LH_OPTION_LATE);
}

static bool parse_number(const char *text, double *out) {
    char *end = NULL;
    *out = strtod(text, &end);
    while (isspace((unsigned char)*end))
        end += 1;
    return end != text && *end == '\0' && isfinite(*out);
}

static lh_status refuse(const lh_options *options, const lh_option *row, const char *value,
                        const char *expected) {
    return lh_fail(LH_EOPTION, "%s: option '%s' must be %s, got '%s'", options->owner, row->name,
                   expected, value);
}

static lh_status check_number(const lh_options *options, const lh_option *row, const char *value,
                              char *canonical, size_t bytes) {
    double number = 0;
    const bool whole = lh_option_plain_type(row) == LH_OPTION_INTEGER;
    if (!parse_number(value, &number) || (whole && number != floor(number))) {
        return refuse(options, row, value, whole ? "an integer" : "a number");
    }
    const bool bounded = row->minimum != 0 || row->maximum != 0;
    if (bounded && (number < row->minimum || number > row->maximum)) {
        char range[80];
        (void)snprintf(range, sizeof range, "between %.17g and %.17g", row->minimum, row->maximum);
        return refuse(options, row, value, range);
    }
    if (whole) {
        (void)snprintf(canonical, bytes, "%.0f", number);
    } else {
        (void)snprintf(canonical, bytes, "%.17g", number);
    }
    return LH_OK;
}

static lh_status check_choice(const lh_options *options, const lh_option *row, const char *value) {
    char all[256] = "one of";
    for (int i = 0; row->choices[i] != NULL; ++i) {
        if (strcmp(row->choices[i], value) == 0) return LH_OK;
        const size_t used = strlen(all);
        (void)snprintf(all + used, sizeof all - used, "%s %s", i > 0 ? "," : "", row->choices[i]);
    }
    const char *nearest = lh_nearest_name(value, row->choices);
    if (nearest == NULL) return refuse(options, row, value, all);
    return lh_fail(LH_EOPTION, "%s: option '%s' must be %s, got '%s' (did you mean '%s'?)",
                   options->owner, row->name, all, value, nearest);
}

/* "4+10", "4:10", "4,10" and "4 10" all become "4,10". */
static lh_status check_list(const lh_options *options, const lh_option *row, const char *value,
                            char *canonical, size_t bytes) {
    size_t used = 0;
    canonical[0] = '\0';
    for (const char *at = value; *at != '\0';) {
        char *end = NULL;
        const long long number = strtoll(at, &end, 10);
        if (end == at || strlen(canonical) + 24 > bytes) {
            return refuse(options, row, value, "a list of integers such as 4,10");
        }
        used +=
            (size_t)snprintf(canonical + used, bytes - used, "%s%lld", used > 0 ? "," : "", number);
        at = end + strspn(end, ",:+ ");
    }
    return LH_OK;
}

static lh_status check(const lh_options *options, const lh_option *row, const char *value,
                       char *canonical, size_t bytes) {
    (void)snprintf(canonical, bytes, "%s", value);
    switch (lh_option_plain_type(row)) {
    case LH_OPTION_INTEGER:
    case LH_OPTION_REAL:
        return check_number(options, row, value, canonical, bytes);
    case LH_OPTION_FLAG:
        if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0) return LH_OK;
        return refuse(options, row, value, "true or false");
    case LH_OPTION_CHOICE:
        return check_choice(options, row, value);
    case LH_OPTION_LIST:
        return check_list(options, row, value, canonical, bytes);
    case LH_OPTION_TEXT:
        break;
    }
    return LH_OK;
}

/* ---- setting ---- */

static int row_of(const lh_options *options, const char *name) {
    for (int i = 0; i < options->count; ++i) {
        if (strcmp(options->table[i].name, name) == 0) return i;
    }
    return -1;
}

static lh_status unknown(const lh_options *options, const char *name) {
    const char *names[MOST_OPTIONS + 1] = {NULL};
    for (int i = 0; i < options->count && i < MOST_OPTIONS; ++i)
        names[i] = options->table[i].name;
    const char *nearest = lh_nearest_name(name, names);
    if (nearest == NULL) {
        return lh_fail(LH_EOPTION, "%s: unknown option '%s'", options->owner, name);
    }
    return lh_fail(LH_EOPTION, "%s: unknown option '%s' (did you mean '%s'?)", options->owner, name,
                   nearest);
}

lh_status lh_options_set(lh_options *options, const char *name, const char *value) {
    const int index = row_of(options, name);
    if (index < 0) return unknown(options, name);
    const size_t bytes = strlen(value) + LIST_VALUES;
    char *canonical = lh_allocate(bytes);
    if (canonical == NULL) return LH_EMEMORY;
    const lh_status status = check(options, &options->table[index], value, canonical, bytes);
    if (status != LH_OK) {
        free(canonical);
        return status;
    }
    free(options->value[index]);
    options->value[index] = canonical;
    options->user_set[index] = true;
    return LH_OK;
}

/* Cuts "name=value" off *at in place; NULL at the end. Values may stand in quotes. */
static char *next_pair(char **at) {
    char *start = *at + strspn(*at, ", \t\n");
    if (*start == '\0') return NULL;
    char *end = start;
    char quote = '\0';
    for (; *end != '\0'; ++end) {
        if (quote != '\0' ? *end == quote : *end == '"' || *end == '\'') {
            quote = quote != '\0' ? '\0' : *end;
        } else if (quote == '\0' && strchr(", \t\n", *end) != NULL) {
            break;
        }
    }
    *at = *end == '\0' ? end : end + 1;
    *end = '\0';
    return start;
}

static char *unquoted(char *value) {
    const size_t length = strlen(value);
    const bool quotes =
        length >= 2 && (value[0] == '"' || value[0] == '\'') && value[length - 1] == value[0];
    if (!quotes) return value;
    value[length - 1] = '\0';
    return value + 1;
}

lh_status lh_options_parse(lh_options *options, const char *text) {
    char *copy = lh_duplicate_text(text);
    if (copy == NULL) return LH_EMEMORY;
    lh_status status = LH_OK;
    char *at = copy, *pair = NULL;
    while (status == LH_OK && (pair = next_pair(&at)) != NULL) {
        char *equals = strchr(pair, '=');
        if (equals == NULL) {
            status = lh_fail(LH_EOPTION, "%s: expected name=value, got '%s'", options->owner, pair);
            continue;
        }
        *equals = '\0';
        status = lh_options_set(options, pair, unquoted(equals + 1));
    }
    free(copy);
    return status;
}

/* ---- reading ---- */

static const char *value_of(const lh_options *options, const char *name) {
    const int index = row_of(options, name);
    return index >= 0 ? options->value[index] : "";
}

int64_t lh_options_integer(const lh_options *options, const char *name) {
    return (int64_t)strtod(value_of(options, name), NULL);
}

double lh_options_real(const lh_options *options, const char *name) {
    return strtod(value_of(options, name), NULL);
}

bool lh_options_flag(const lh_options *options, const char *name) {
    return strcmp(value_of(options, name), "true") == 0;
}

const char *lh_options_text(const lh_options *options, const char *name) {
    return value_of(options, name);
}

int lh_options_choice(const lh_options *options, const char *name) {
    const int index = row_of(options, name);
    if (index < 0 || options->table[index].choices == NULL) return 0;
    for (int i = 0; options->table[index].choices[i] != NULL; ++i) {
        if (strcmp(options->table[index].choices[i], options->value[index]) == 0) return i;
    }
    return 0;
}

int lh_options_list(const lh_options *options, const char *name, int64_t *values, int capacity) {
    int count = 0;
    for (const char *at = value_of(options, name); *at != '\0';) {
        char *end = NULL;
        const long long number = strtoll(at, &end, 10);
        if (end == at) break;
        if (count < capacity) values[count] = number;
        count += 1;
        at = end + strspn(end, ",");
    }
    return count;
}

bool lh_options_is_set(const lh_options *options, const char *name) {
    const int index = row_of(options, name);
    return index >= 0 && options->user_set[index];
}

bool lh_option_is_silent(const lh_option *row, const char *value) {
    return (row->type & LH_OPTION_LATE) != 0 && strcmp(row->standard, value) == 0;
}

const lh_option *lh_options_table(const lh_options *options) {
    return options->table;
}

const char *lh_options_value(const lh_options *options, int index) {
    return options->value[index];
}
