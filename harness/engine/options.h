/* Option tables: the one description from which checking, `describe`, Lua constructors, documents
 * and CSV columns are made. Unknown or ill-typed options are errors that suggest the nearest name.
 */
#ifndef LH_ENGINE_OPTIONS_H
#define LH_ENGINE_OPTIONS_H

#include "harness/engine/error.h"

typedef enum lh_option_type {
    LH_OPTION_INTEGER,
    LH_OPTION_REAL,
    LH_OPTION_FLAG,   /* true, false */
    LH_OPTION_CHOICE, /* one of `choices` */
    LH_OPTION_TEXT,
    LH_OPTION_LIST /* comma-separated integers, may be empty */
} lh_option_type;

/* Added to a type: the option came when runs had been made, and while it has its standard it is no
 * part of a run's identity. */
enum { LH_OPTION_LATE = 16 };

/* One row of a table; a table ends with a row whose name is NULL. */
typedef struct lh_option {
    const char *name;
    int type;                   /* lh_option_type, and LH_OPTION_LATE or not */
    const char *standard;       /* default, as text */
    double minimum, maximum;    /* for numbers; both 0: unbounded */
    const char *const *choices; /* NULL-terminated, for choices */
    const char *meaning;        /* one line, with the unit and the paper's symbol */
} lh_option;

/* Values for one table. Setting checks at once. */
typedef struct lh_options lh_options;

/* Borrows the table, which must outlive the values. `owner` names it in messages ("brt"). */
lh_status lh_options_create(const char *owner, const lh_option *table, lh_options **out);
lh_status lh_options_copy(const lh_options *from, lh_options **out);
void lh_options_destroy(lh_options *options);

/* Fails: LH_EOPTION, with the nearest name or the permitted range. "500e3" is an integer. */
lh_status lh_options_set(lh_options *options, const char *name, const char *value);

/* Parses "name=value name=value" or "name=value, name=value"; list values may be quoted or use
 * colons or plus signs between integers ("recurrent_layers=4+10"). */
lh_status lh_options_parse(lh_options *options, const char *text);

/* Cannot fail for names of the table with the matching type; an unknown name is a broken invariant
 * of the caller and gives 0 / "". */
int64_t lh_options_integer(const lh_options *options, const char *name);
double lh_options_real(const lh_options *options, const char *name);
bool lh_options_flag(const lh_options *options, const char *name);
const char *lh_options_text(const lh_options *options,
                            const char *name); /* text and choice; lends */
/* Index of the choice in its table row. */
int lh_options_choice(const lh_options *options, const char *name);
/* Copies up to `capacity` integers, returns how many the list has. */
int lh_options_list(const lh_options *options, const char *name, int64_t *values, int capacity);
/* Whether the user set it (rather than the default standing). */
bool lh_options_is_set(const lh_options *options, const char *name);

/* Whether the value is one that an identity leaves out. */
bool lh_option_is_silent(const lh_option *row, const char *value);

/* The type without LH_OPTION_LATE. */
lh_option_type lh_option_plain_type(const lh_option *row);

const lh_option *lh_options_table(const lh_options *options);
/* The value of row `index` as canonical text ("%.17g" for reals). Lends until the next set. */
const char *lh_options_value(const lh_options *options, int index);

/* The nearest of `names` (NULL-terminated) to `word` by edit distance, or NULL when none is near.
 */
const char *lh_nearest_name(const char *word, const char *const *names);

#endif
