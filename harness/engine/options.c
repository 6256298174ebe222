#include "harness/engine/options_text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_BYTES = 64, CHOICES_BYTES = 256 };

/* One option: its row, the place of its field in the owner, its value. */
typedef struct entry {
    const lh_option *row;
    size_t offset;
    lh_value value;
    void *owned; /* what a text or a list lends; NULL: the table's */
} entry;

struct lh_options {
    const char *owner;
    int count;
    entry *entry;
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

static int count_rows(const lh_option_table *tables) {
    int count = 0;
    for (const lh_option_table *table = tables; table->rows != NULL; ++table) {
        for (const lh_option *row = table->rows; row->name != NULL; ++row)
            count += 1;
    }
    return count;
}

lh_status lh_options_create(const char *owner, const lh_option_table *tables, lh_options **out) {
    lh_options *options = lh_allocate_zeroed(1, sizeof *options);
    if (options == NULL) return LH_EMEMORY;
    options->owner = owner;
    options->entry = lh_allocate_zeroed((size_t)count_rows(tables) + 1, sizeof *options->entry);
    if (options->entry == NULL) {
        free(options);
        return LH_EMEMORY;
    }
    for (const lh_option_table *table = tables; table->rows != NULL; ++table) {
        for (const lh_option *row = table->rows; row->name != NULL; ++row)
            options->entry[options->count++] =
                (entry){.row = row, .offset = table->offset + row->offset, .value = row->standard};
    }
    *out = options;
    return LH_OK;
}

/* Texts and lists become the entry's own; what it had goes. */
static lh_status keep(entry *at, lh_value value) {
    void *owned = NULL;
    if (at->row->type == LH_OPTION_TEXT) {
        value.text = owned = lh_duplicate_text(value.text);
        if (owned == NULL) return LH_EMEMORY;
    } else if (at->row->type == LH_OPTION_LIST) {
        const size_t bytes = (size_t)value.list.count * sizeof(int64_t);
        owned = lh_allocate(bytes + 1);
        if (owned == NULL) return LH_EMEMORY;
        if (bytes > 0) memcpy(owned, value.list.value, bytes);
        value.list.value = owned;
    }
    free(at->owned);
    at->owned = owned;
    at->value = value;
    return LH_OK;
}

lh_status lh_options_copy(const lh_options *from, lh_options **out) {
    lh_options *options = lh_allocate_zeroed(1, sizeof *options);
    if (options == NULL) return LH_EMEMORY;
    options->owner = from->owner;
    options->entry = lh_allocate_zeroed((size_t)from->count + 1, sizeof *options->entry);
    lh_status status = options->entry != NULL ? LH_OK : LH_EMEMORY;
    while (status == LH_OK && options->count < from->count) {
        entry *at = &options->entry[options->count];
        *at = from->entry[options->count++];
        at->owned = NULL;
        status = keep(at, at->value);
    }
    if (status != LH_OK) {
        lh_options_destroy(options);
        return status;
    }
    *out = options;
    return LH_OK;
}

void lh_options_destroy(lh_options *options) {
    if (options == NULL) return;
    for (int i = 0; i < options->count; ++i)
        free(options->entry[i].owned);
    free(options->entry);
    free(options);
}

/* ---- checking one value ---- */

/* `got` as it was given, whatever its type. */
static lh_status refuse(const lh_options *options, const lh_option *row, const lh_option *got,
                        const lh_value *value, const char *expected) {
    char *text = NULL;
    LH_TRY(lh_option_spell(got, value, &text));
    const bool joined = got->type == LH_OPTION_TEXT && strchr(text, ',') != NULL;
    const lh_status status = lh_fail(
        LH_EOPTION, "%s: option '%s' must be %s, got '%s'%s", options->owner, row->name, expected,
        text, joined && row->type != LH_OPTION_LIST ? "; blanks separate options" : "");
    free(text);
    return status;
}

static lh_status check_range(const lh_options *options, const lh_option *row, const lh_option *got,
                             const lh_value *value, double number) {
    const bool bounded = row->minimum != 0 || row->maximum != 0;
    char least[LH_REAL_BYTES], most[LH_REAL_BYTES], range[2 * LH_REAL_BYTES + 16];
    if (!bounded || (number >= row->minimum && number <= row->maximum)) return LH_OK;
    lh_real_spell(row->minimum, least);
    lh_real_spell(row->maximum, most);
    (void)snprintf(range, sizeof range, "between %s and %s", least, most);
    return refuse(options, row, got, value, range);
}

static bool to_integer(lh_option_type type, lh_value value, int64_t *out) {
    *out = value.integer;
    if (type == LH_OPTION_INTEGER) return true;
    if (type == LH_OPTION_REAL) return lh_real_integer(value.real, out);
    return type == LH_OPTION_TEXT && lh_text_integer(value.text, out);
}

static bool to_real(lh_option_type type, lh_value value, double *out) {
    *out = type == LH_OPTION_INTEGER ? (double)value.integer : value.real;
    if (type == LH_OPTION_INTEGER) return true;
    if (type == LH_OPTION_REAL) return isfinite(*out);
    return type == LH_OPTION_TEXT && lh_text_real(value.text, out);
}

static bool to_flag(lh_option_type type, lh_value value, bool *out) {
    if (type == LH_OPTION_TEXT) {
        *out = strcmp(value.text, "true") == 0;
        return *out || strcmp(value.text, "false") == 0;
    }
    *out = value.flag;
    return type == LH_OPTION_FLAG;
}

static lh_status set_number(lh_options *options, entry *at, const lh_option *got, lh_value value) {
    lh_value made;
    if (at->row->type == LH_OPTION_INTEGER) {
        if (!to_integer(got->type, value, &made.integer))
            return refuse(options, at->row, got, &value, "an integer");
        LH_TRY(check_range(options, at->row, got, &value, (double)made.integer));
    } else {
        if (!to_real(got->type, value, &made.real))
            return refuse(options, at->row, got, &value, "a number");
        LH_TRY(check_range(options, at->row, got, &value, made.real));
    }
    at->value = made;
    return LH_OK;
}

static lh_status refuse_choice(const lh_options *options, const lh_option *row, const char *text) {
    char all[CHOICES_BYTES] = "one of";
    for (int i = 0; row->choices[i] != NULL; ++i) {
        const size_t used = strlen(all);
        (void)snprintf(all + used, sizeof all - used, "%s %s", i > 0 ? "," : "", row->choices[i]);
    }
    const char *nearest = lh_nearest_name(text, row->choices);
    return lh_fail(LH_EOPTION, "%s: option '%s' must be %s, got '%s'%s%s%s", options->owner,
                   row->name, all, text, nearest != NULL ? " (did you mean '" : "",
                   nearest != NULL ? nearest : "", nearest != NULL ? "'?)" : "");
}

/* A choice may look like a flag or a number: keep_best = true. */
static lh_status set_choice(lh_options *options, entry *at, const lh_option *got, lh_value value) {
    char *text = NULL;
    int choice = 0;
    LH_TRY(lh_option_spell(got, &value, &text));
    while (at->row->choices[choice] != NULL && strcmp(at->row->choices[choice], text) != 0)
        choice += 1;
    const bool known = at->row->choices[choice] != NULL;
    const lh_status status = known ? LH_OK : refuse_choice(options, at->row, text);
    if (known) at->value.choice = choice;
    free(text);
    return status;
}

/* "1,0,2", or one integer. */
static lh_status set_list(lh_options *options, entry *at, const lh_option *got, lh_value value) {
    static const char expected[] = "a list of integers such as 1,0,2";
    int64_t one = 0;
    if (got->type == LH_OPTION_LIST) return keep(at, value);
    if (got->type != LH_OPTION_TEXT) {
        if (!to_integer(got->type, value, &one))
            return refuse(options, at->row, got, &value, expected);
        return keep(at, (lh_value){.list = {1, &one}});
    }
    const int count = lh_text_list(value.text, NULL);
    if (count < 0) return refuse(options, at->row, got, &value, expected);
    int64_t *integers = lh_allocate((size_t)count * sizeof *integers + 1);
    if (integers == NULL) return LH_EMEMORY;
    (void)lh_text_list(value.text, integers);
    const lh_status status = keep(at, (lh_value){.list = {count, integers}});
    free(integers);
    return status;
}

/* ---- setting ---- */

int lh_options_find(const lh_options *options, const char *name) {
    for (int i = 0; i < options->count; ++i) {
        if (strcmp(options->entry[i].row->name, name) == 0) return i;
    }
    return -1;
}

static lh_status unknown(const lh_options *options, const char *name) {
    const char **names = lh_allocate_zeroed((size_t)options->count + 1, sizeof *names);
    if (names == NULL) return LH_EMEMORY;
    for (int i = 0; i < options->count; ++i)
        names[i] = options->entry[i].row->name;
    const char *nearest = lh_nearest_name(name, names);
    free(names);
    return lh_fail(LH_EOPTION, "%s: unknown option '%s'%s%s%s", options->owner, name,
                   nearest != NULL ? " (did you mean '" : "", nearest != NULL ? nearest : "",
                   nearest != NULL ? "'?)" : "");
}

lh_status lh_options_set_value(lh_options *options, const char *name, lh_option_type type,
                               lh_value value) {
    const int index = lh_options_find(options, name);
    if (index < 0) return unknown(options, name);
    entry *at = &options->entry[index];
    const lh_option got = {.name = name, .type = type};
    switch (at->row->type) {
    case LH_OPTION_INTEGER:
    case LH_OPTION_REAL:
        return set_number(options, at, &got, value);
    case LH_OPTION_FLAG:
        if (to_flag(type, value, &at->value.flag)) return LH_OK;
        return refuse(options, at->row, &got, &value, "true or false");
    case LH_OPTION_CHOICE:
        return set_choice(options, at, &got, value);
    case LH_OPTION_LIST:
        return set_list(options, at, &got, value);
    case LH_OPTION_TEXT:
        break;
    }
    return type == LH_OPTION_TEXT ? keep(at, value)
                                  : refuse(options, at->row, &got, &value, "a text");
}

lh_status lh_options_set(lh_options *options, const char *name, const char *text) {
    return lh_options_set_value(options, name, LH_OPTION_TEXT, (lh_value){.text = text});
}

/* ---- reading ---- */

static void fill_field(lh_option_type type, const lh_value *value, void *field) {
    switch (type) {
    case LH_OPTION_INTEGER:
        memcpy(field, &value->integer, sizeof value->integer);
        break;
    case LH_OPTION_REAL:
        memcpy(field, &value->real, sizeof value->real);
        break;
    case LH_OPTION_FLAG:
        memcpy(field, &value->flag, sizeof value->flag);
        break;
    case LH_OPTION_CHOICE:
        memcpy(field, &value->choice, sizeof value->choice);
        break;
    case LH_OPTION_TEXT:
        memcpy(field, &value->text, sizeof value->text);
        break;
    case LH_OPTION_LIST:
        memcpy(field, &value->list, sizeof value->list);
        break;
    }
}

void lh_options_fill(const lh_options *options, void *holder) {
    for (int i = 0; i < options->count; ++i)
        fill_field(options->entry[i].row->type, &options->entry[i].value,
                   (char *)holder + options->entry[i].offset);
}

void lh_options_standard(const lh_option *rows, void *holder) {
    for (const lh_option *row = rows; row->name != NULL; ++row)
        fill_field(row->type, &row->standard, (char *)holder + row->offset);
}

int lh_list_copy(const lh_list *list, int64_t *values, int capacity) {
    for (int i = 0; i < list->count && i < capacity; ++i)
        values[i] = list->value[i];
    return list->count;
}

const char *lh_options_owner(const lh_options *options) {
    return options->owner;
}

int lh_options_count(const lh_options *options) {
    return options->count;
}

const lh_option *lh_options_row(const lh_options *options, int index) {
    return options->entry[index].row;
}

const lh_value *lh_options_value(const lh_options *options, int index) {
    return &options->entry[index].value;
}
