/* Formatting in two passes, one that counts and one that writes; and text that grows by doubling.
 */
#include "harness/engine/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/array.h"

static LH_PRINTF(1, 0) char *format_list(const char *format, va_list values) {
    va_list counted;
    va_copy(counted, values);
    const int length = vsnprintf(NULL, 0, format, counted);
    va_end(counted);
    char *text = length >= 0 ? lh_allocate((size_t)length + 1) : NULL;
    if (text != NULL) (void)vsnprintf(text, (size_t)length + 1, format, values);
    if (length < 0) (void)lh_fail(LH_EMEMORY, "a text is too long to be written");
    return text;
}

char *lh_format(const char *format, ...) {
    va_list values;
    va_start(values, format);
    char *text = format_list(format, values);
    va_end(values);
    return text;
}

lh_status lh_text_reserve(lh_text *text, size_t bytes) {
    const bool first = text->data == NULL;
    LH_TRY(lh_array_reserve(&text->data, &text->capacity, (int64_t)bytes + 1, 1));
    if (first) text->data[0] = '\0';
    return LH_OK;
}

lh_status lh_text_add(lh_text *text, const char *data, size_t bytes) {
    LH_TRY(lh_text_reserve(text, text->bytes + bytes));
    if (bytes > 0) memcpy(text->data + text->bytes, data, bytes);
    text->bytes += bytes;
    text->data[text->bytes] = '\0';
    return LH_OK;
}

lh_status lh_text_add_string(lh_text *text, const char *data) {
    return lh_text_add(text, data, strlen(data));
}

lh_status lh_text_add_line(lh_text *text, const char *format, ...) {
    va_list values;
    va_start(values, format);
    char *line = format_list(format, values);
    va_end(values);
    lh_status status = line != NULL ? LH_OK : LH_EMEMORY;
    if (status == LH_OK && text->bytes > 0) status = lh_text_add_string(text, "\n");
    if (status == LH_OK) status = lh_text_add_string(text, line);
    free(line);
    return status;
}
