/* Files with a JSON value a line, compressed with gzip or not; for the datasets' own files. */
#ifndef LH_DATASETS_JSON_LINES_H
#define LH_DATASETS_JSON_LINES_H

#include <cjson/cJSON.h>

#include "harness/engine/error.h"

/* A line being read, and where it stands, for messages. */
typedef struct lh_json_line {
    const char *path;
    int64_t number; /* from 1 */
    const cJSON *value;
} lh_json_line;

typedef lh_status lh_json_visit(void *to, const lh_json_line *line);

/* Calls visit for the value of each line that is not blank, and ends with the first failure. Fails:
 * LH_EIO; LH_EFORMAT naming file, line and column of what is not UTF-8, no JSON or a NUL. */
lh_status lh_json_lines_read(const char *path, lh_json_visit *visit, void *to);
/* The same of what the file unpacks to. */
lh_status lh_json_lines_of(const char *path, const char *text, size_t bytes, lh_json_visit *visit,
                           void *to);

/* LH_EFORMAT "<path>: line <number>: <what>". */
lh_status lh_json_line_refuse(const lh_json_line *line, const char *what);

bool lh_json_lines_is(const char *name); /* by its ending: .jsonl or .jsonl.gz */

#endif
