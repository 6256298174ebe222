/* The text of a finding. */
#include "harness/infer/check_report.h"

#include <stdarg.h>
#include <stdio.h>

void lh_find(lh_finding *out, const char *check, lh_check_verdict verdict, const char *format,
             ...) {
    va_list words;
    out->check = check;
    out->verdict = verdict;
    va_start(words, format);
    (void)vsnprintf(out->text, sizeof out->text, format, words);
    va_end(words);
}
