/* JSON through cJSON, for all that reads it. */
#ifndef LH_ENGINE_JSON_H
#define LH_ENGINE_JSON_H

#include "harness/engine/error.h"

struct cJSON; /* so that headers that are installed need none of it */

/* Why a text is not one JSON value, and at which of its bytes. */
typedef struct lh_json_defect {
    const char *what; /* "no JSON"; NULL: nothing is known to be wrong with it */
    size_t offset;
} lh_json_defect;

/* The value of a text, with blanks around it or not; cJSON_Delete() it. NULL: *defect says why, and
 * nothing is recorded, since callers know what the place is called; or memory ran out, which is
 * recorded, and *defect says nothing. A caller's lh_fail(LH_EFORMAT, ...) with the defect is right
 * for both: what is recorded already is what it gives. A NUL is a defect also where JSON allows it:
 * strings of C would end there. */
struct cJSON *lh_json_parse(const char *text, size_t bytes, lh_json_defect *defect);

#endif
