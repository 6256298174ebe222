/* How single values are read from text; for the options' own files. */
#ifndef LH_ENGINE_OPTIONS_TEXT_H
#define LH_ENGINE_OPTIONS_TEXT_H

#include "harness/engine/options.h"

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
