/* One option: its row in a table, which binds it to a field, and its value as text: the only place
 * where single values are spelled and read. What an owner's options are together: options.h. */
#ifndef LH_ENGINE_OPTION_H
#define LH_ENGINE_OPTION_H

#include <stddef.h>

#include "harness/engine/error.h"

/* Integers in a row; the array belongs to the options. */
typedef struct lh_list {
    int count;
    const int64_t *value;
} lh_list;

typedef enum lh_option_type {
    LH_OPTION_INTEGER, /* int64_t */
    LH_OPTION_REAL,    /* double */
    LH_OPTION_FLAG,    /* bool */
    LH_OPTION_CHOICE,  /* an enumeration: the index in `choices` */
    LH_OPTION_TEXT,    /* const char *, which belongs to the options */
    LH_OPTION_LIST     /* lh_list */
} lh_option_type;

typedef union lh_value {
    int64_t integer;
    double real;
    bool flag;
    int choice;
    const char *text;
    lh_list list;
} lh_value;

/* One row of a table. */
typedef struct lh_option {
    const char *name;
    lh_option_type type;
    size_t offset;              /* of its field in the struct that the table is bound to */
    lh_value standard;          /* default */
    double minimum, maximum;    /* of numbers, in lists too; both 0: unbounded */
    const char *const *choices; /* NULL-terminated, for choices */
    const char *meaning;        /* one line, with the unit and the paper's symbol */
} lh_option;

/* ---- rows; a field of another type does not compile ---- */

#define LH_FIELD(holder, field, type)                                                              \
    _Generic(((holder *)NULL)->field, type : offsetof(holder, field))

#define LH_INTEGER(label, holder, field, value, least, most, about)                                \
    {                                                                                              \
        .name = (label), .type = LH_OPTION_INTEGER, .offset = LH_FIELD(holder, field, int64_t),    \
        .standard.integer = (value), .minimum = (least), .maximum = (most), .meaning = (about)     \
    }

#define LH_REAL(label, holder, field, value, least, most, about)                                   \
    {                                                                                              \
        .name = (label), .type = LH_OPTION_REAL, .offset = LH_FIELD(holder, field, double),        \
        .standard.real = (value), .minimum = (least), .maximum = (most), .meaning = (about)        \
    }

#define LH_FLAG(label, holder, field, value, about)                                                \
    {                                                                                              \
        .name = (label), .type = LH_OPTION_FLAG, .offset = LH_FIELD(holder, field, bool),          \
        .standard.flag = (value), .meaning = (about)                                               \
    }

/* An enumeration is compatible with one of the two. */
#define LH_CHOICE(label, holder, field, value, names, about)                                       \
    {                                                                                              \
        .name = (label), .type = LH_OPTION_CHOICE,                                                 \
        .offset = _Generic(((holder *)NULL)->field, int                                            \
                           : offsetof(holder, field), unsigned                                     \
                           : offsetof(holder, field)),                                             \
        .standard.choice = (int)(value), .choices = (names), .meaning = (about)                    \
    }

#define LH_TEXT(label, holder, field, value, about)                                                \
    {                                                                                              \
        .name = (label), .type = LH_OPTION_TEXT, .offset = LH_FIELD(holder, field, const char *),  \
        .standard.text = (value), .meaning = (about)                                               \
    }

/* `value` is LH_INTEGERS(4, 8) or LH_NO_INTEGERS; `least` and `most` bound each integer. */
#define LH_LIST(label, holder, field, value, least, most, about)                                   \
    {                                                                                              \
        .name = (label), .type = LH_OPTION_LIST, .offset = LH_FIELD(holder, field, lh_list),       \
        .standard.list = value, .minimum = (least), .maximum = (most), .meaning = (about)          \
    }
#define LH_INTEGERS(...)                                                                           \
    {                                                                                              \
        sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]) {              \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define LH_NO_INTEGERS                                                                             \
    { 0, NULL }

/* ---- values as text ---- */

/* Copies up to `capacity` integers and returns how many the list has. */
int lh_list_copy(const lh_list *list, int64_t *values, int capacity);

/* The value as lh_options_set reads it. Gives *text (free()). */
lh_status lh_option_spell(const lh_option *row, const lh_value *value, char **text);

/* Whether the whole text is a finite number, and which. */
bool lh_text_real(const char *text, double *out);

/* Whether a real is an integer, and which. */
bool lh_real_integer(double number, int64_t *out);

/* Exact up to the ends of int64_t; "500e3" is an integer too. */
bool lh_text_integer(const char *text, int64_t *out);

/* How many integers "1,0,2" has, -1 when it is no list; an empty text is an empty one. Writes them
 * where `value` is not NULL. */
int lh_text_list(const char *text, int64_t *value);

/* The shortest text that gives the same double. */
enum { LH_REAL_BYTES = 32 };
void lh_real_spell(double number, char text[LH_REAL_BYTES]);

#endif
