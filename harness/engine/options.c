/* The options of an owner: values checked as they are set, filled into its fields, and all of
 * them as one text, spelled and parsed. */
#include "harness/engine/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/nearest_name.h"
#include "harness/engine/text.h"

enum { CHOICES_BYTES = 256 };

static const char blanks[] = " \t\r\n";

/* One option: its row, the place of its field in the owner, its value. */
typedef struct entry {
    const lh_option *row;
    size_t offset;
    lh_value value;
    void *owned; /* what a text or a list lends; NULL: the table's */
} entry;

struct lh_options {
    const char *owner;
    const lh_refused *refused;
    int count;
    entry *entry;
};

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

void lh_options_refuse(lh_options *options, const lh_refused *refused) {
    options->refused = refused;
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
    options->refused = from->refused;
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
    const char *each = row->type == LH_OPTION_LIST ? "integers " : "";
    char least[LH_REAL_BYTES], most[LH_REAL_BYTES], range[2 * LH_REAL_BYTES + 32];
    if (!bounded || (number >= row->minimum && number <= row->maximum)) return LH_OK;
    lh_real_spell(row->minimum, least);
    lh_real_spell(row->maximum, most);
    (void)snprintf(range, sizeof range, "%sbetween %s and %s", each, least, most);
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
    if (type != LH_OPTION_FLAG) return false; /* whose bits may be no bool */
    *out = value.flag;
    return true;
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
    const char *meant = lh_nearest_name(text, row->choices);
    return lh_fail(LH_EOPTION, "%s: option '%s' must be %s, got '%s'%s%s%s", options->owner,
                   row->name, all, text, meant != NULL ? " (did you mean '" : "",
                   meant != NULL ? meant : "", meant != NULL ? "'?)" : "");
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

/* A refusal names the one integer, since a list may be long. */
static lh_status keep_list(const lh_options *options, entry *at, lh_list list) {
    const lh_option got = {.type = LH_OPTION_INTEGER};
    for (int i = 0; i < list.count; ++i) {
        const lh_value one = {.integer = list.value[i]};
        LH_TRY(check_range(options, at->row, &got, &one, (double)one.integer));
    }
    return keep(at, (lh_value){.list = list});
}

/* "1,0,2", or one integer. */
static lh_status set_list(lh_options *options, entry *at, const lh_option *got, lh_value value) {
    static const char expected[] = "a list of integers such as 1,0,2";
    int64_t one = 0;
    if (got->type == LH_OPTION_LIST) return keep_list(options, at, value.list);
    if (got->type != LH_OPTION_TEXT) {
        if (!to_integer(got->type, value, &one))
            return refuse(options, at->row, got, &value, expected);
        return keep_list(options, at, (lh_list){1, &one});
    }
    const int count = lh_text_list(value.text, NULL);
    if (count < 0) return refuse(options, at->row, got, &value, expected);
    int64_t *integers = lh_allocate((size_t)count * sizeof *integers + 1);
    if (integers == NULL) return LH_EMEMORY;
    (void)lh_text_list(value.text, integers);
    const lh_status status = keep_list(options, at, (lh_list){count, integers});
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

bool lh_options_has_group(const lh_options *options, const char *group) {
    const size_t length = strlen(group);
    for (int i = 0; i < options->count; ++i) {
        const char *name = options->entry[i].row->name;
        if (strncmp(name, group, length) == 0 && name[length] == '_') return true;
    }
    return false;
}

static lh_status unknown(const lh_options *options, const char *name) {
    for (const lh_refused *at = options->refused; at != NULL && at->prefix != NULL; ++at) {
        if (strncmp(name, at->prefix, strlen(at->prefix)) == 0)
            return lh_fail(LH_EOPTION, "%s: no option '%s': %s", options->owner, name, at->why);
    }
    const char **names = lh_allocate_zeroed((size_t)options->count + 1, sizeof *names);
    if (names == NULL) return LH_EMEMORY;
    for (int i = 0; i < options->count; ++i)
        names[i] = options->entry[i].row->name;
    const char *meant = lh_did_you_mean(name, names);
    free(names);
    return lh_fail(LH_EOPTION, "%s: unknown option '%s'%s", options->owner, name, meant);
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

static bool is_standard(const lh_option *row, const lh_value *value) {
    const lh_list *ours = &value->list, *standard = &row->standard.list;
    switch (row->type) {
    case LH_OPTION_INTEGER:
        return value->integer == row->standard.integer;
    case LH_OPTION_REAL:
        return value->real == row->standard.real;
    case LH_OPTION_FLAG:
        return value->flag == row->standard.flag;
    case LH_OPTION_CHOICE:
        return value->choice == row->standard.choice;
    case LH_OPTION_TEXT:
        return strcmp(value->text, row->standard.text) == 0;
    case LH_OPTION_LIST:
        break;
    }
    return ours->count == standard->count &&
           (ours->count == 0 ||
            memcmp(ours->value, standard->value, (size_t)ours->count * sizeof *ours->value) == 0);
}

bool lh_options_is_unsaid(const lh_options *options, int index, const char *const *later) {
    const entry *at = &options->entry[index];
    while (later != NULL && *later != NULL && strcmp(*later, at->row->name) != 0)
        later += 1;
    return later != NULL && *later != NULL && is_standard(at->row, &at->value);
}

lh_status lh_options_spell(const lh_options *options, char **text) {
    return lh_options_spell_said(options, NULL, text);
}

lh_status lh_options_spell_said(const lh_options *options, const char *const *later, char **text) {
    lh_text all = {0};
    lh_status status = lh_text_reserve(&all, 0);
    for (int i = 0; status == LH_OK && i < lh_options_count(options); ++i) {
        char *pair = NULL;
        if (lh_options_is_unsaid(options, i, later)) continue;
        status =
            lh_option_spell_pair(lh_options_row(options, i), lh_options_value(options, i), &pair);
        if (status == LH_OK && all.bytes > 0) status = lh_text_add(&all, " ", 1);
        if (status == LH_OK) status = lh_text_add_string(&all, pair);
        free(pair);
    }
    if (status != LH_OK) free(all.data);
    *text = status == LH_OK ? all.data : NULL;
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
        return lh_fail(LH_EOPTION,
                       "%s: expected name=value, got '%s%.*s' (a value with blanks stands in "
                       "quotes: name='a b')",
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
