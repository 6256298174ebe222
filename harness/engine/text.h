/* Text on the heap, of any length: what is written is never cut. */
#ifndef LH_ENGINE_TEXT_H
#define LH_ENGINE_TEXT_H

#include "harness/engine/error.h"

/* What printf would write. Gives (free()); NULL after LH_EMEMORY. */
char *lh_format(const char *format, ...) LH_PRINTF(1, 2);

/* Text that grows. Starts zeroed; free() its data, or hand them over. */
typedef struct lh_text {
    char *data; /* NULL until something was added; then a NUL follows the text */
    size_t bytes;
    int64_t capacity;
} lh_text;

/* Makes room for `bytes` in all, and a NUL behind them. */
lh_status lh_text_reserve(lh_text *text, size_t bytes);
lh_status lh_text_add(lh_text *text, const char *data, size_t bytes);
lh_status lh_text_add_string(lh_text *text, const char *data);
/* Adds what printf would write as a line: behind a line end, unless it is the first. */
lh_status lh_text_add_line(lh_text *text, const char *format, ...) LH_PRINTF(2, 3);

#endif
