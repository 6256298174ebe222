/* Options: what a user sets of a model, a task, data or training. An option is declared once, bound
 * to the field of a struct that holds its value, so that reading it is reading the field. From the
 * same tables come checking, `describe`, Lua constructors, documents and CSV columns.
 *
 * A struct has a table of its options, called <type>_options, that ends with a row of zeros:
 *
 *     typedef struct stack { int64_t width; lh_recurrence_config recurrence; } stack;
 *     static const lh_option stack_options[] = {
 *         LH_INTEGER("width", stack, width, 128, 1, 65536, "embedding size"), {0}};
 *
 * and a class lists the tables of all structs that make up what it keeps:
 *
 *     static const lh_option_table options[] = {
 *         LH_OWN_TABLE(stack), LH_TABLE(stack, recurrence, lh_recurrence_config), {0}};
 *
 * Values are typed all the way; text is read and written at the edges only: on the command line, in
 * CSV cells and in hashes. */
#ifndef LH_ENGINE_OPTIONS_H
#define LH_ENGINE_OPTIONS_H

#include "harness/engine/option.h"

/* A table, and where the struct that it is bound to lies in its owner. */
typedef struct lh_option_table {
    const lh_option *rows;
    size_t offset;
} lh_option_table;

/* The table of a struct of this type that lies at `member` of its owner, and the owner's own. */
#define LH_TABLE(owner, member, type)                                                              \
    { type##_options, LH_FIELD(owner, member, type) }
#define LH_OWN_TABLE(owner)                                                                        \
    { owner##_options, 0 }

/* Options that others of its kind have and this owner cannot: how their names begin, and why. */
typedef struct lh_refused {
    const char *prefix, *why;
} lh_refused;

/* ---- values for the tables of an owner ---- */

typedef struct lh_options lh_options;

/* All defaults. Borrows the tables, which end with {0} and must outlive the values. `owner` names
 * it in messages ("brt"). */
lh_status lh_options_create(const char *owner, const lh_option_table *tables, lh_options **out);
/* Who sets one of these (which end with {0} and must outlive the values) is told why not. NULL:
 * none.
 */
void lh_options_refuse(lh_options *options, const lh_refused *refused);
lh_status lh_options_copy(const lh_options *from, lh_options **out);
void lh_options_destroy(lh_options *options);

/* Sets the option to a value of this type (choices are given as text) and copies it. Where the
 * option has another type the value is converted if nothing is lost: 1e3 is an integer, an integer
 * is a real and a list of one; a text is read as the value is spelled. Fails: LH_EOPTION, with the
 * nearest name or what is permitted. */
lh_status lh_options_set_value(lh_options *options, const char *name, lh_option_type type,
                               lh_value value);

/* The same for a text: "500e3", "true", "1,0,2". */
lh_status lh_options_set(lh_options *options, const char *name, const char *text);

/* Sets what "name=value name=value" says. A value with blanks stands in quotes of either kind, in
 * which a backslash makes \n, \r and \t and keeps any other character as it is. */
lh_status lh_options_parse(lh_options *options, const char *text);

/* Writes every value into its field of `holder`, an instance of the owner. Texts and lists are lent
 * until the option is set again or the options are destroyed. */
void lh_options_fill(const lh_options *options, void *holder);

/* Writes the defaults into the fields of a struct that a table is bound to; for code that opens by
 * itself what users open by options. */
void lh_options_standard(const lh_option *rows, void *holder);

/* ---- looking at them ---- */

const char *lh_options_owner(const lh_options *options);
int lh_options_count(const lh_options *options);
/* Row `index` of all tables one after the other, and its value. */
const lh_option *lh_options_row(const lh_options *options, int index);
/* Lends until it is set. */
const lh_value *lh_options_value(const lh_options *options, int index);
/* Index of the row of that name, or -1. */
int lh_options_find(const lh_options *options, const char *name);
/* Whether there are options whose names begin with `group` and an underscore. */
bool lh_options_has_group(const lh_options *options, const char *group);

/* "name=value" of one option as lh_options_parse reads it. Gives *text (free()). */
lh_status lh_option_spell_pair(const lh_option *row, const lh_value *value, char **text);

/* All options as lh_options_parse reads them, in the order of their tables: the one spelling that
 * is stored and hashed. Equal values give equal texts, and the text gives back the values whatever
 * characters they hold. Gives *text (free()). */
lh_status lh_options_spell(const lh_options *options, char **text);

/* ---- options that came later ---- */

/* Whether option `index` is one of `later`, a list of names that ends with NULL (or NULL), and at
 * its standard: such an option is no part of what a run is, so that runs of before it came stay
 * what they were. */
bool lh_options_is_unsaid(const lh_options *options, int index, const char *const *later);

/* lh_options_spell without those. Gives *text (free()). */
lh_status lh_options_spell_said(const lh_options *options, const char *const *later, char **text);

#endif
