/* Days are counted; months and years follow from the count by the Gregorian rules. */
#include "datasets/series/calendar.h"

#include <stdio.h>
#include <string.h>

enum { DAY = 86400 };

typedef struct date {
    int64_t year, month, day; /* month and day from 1 */
} date;

static int64_t floor_divide(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

/* Days since 1970-01-01 in the Gregorian calendar; years begin in March, so that the leap day is
 * the last one. */
static int64_t days_of(date d) {
    const int64_t month = (d.month + 9) % 12, year = d.year - (d.month <= 2),
                  era = floor_divide(year, 400), of_era = year - 400 * era,
                  of_year = (153 * month + 2) / 5 + d.day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static date date_of(int64_t days) {
    const int64_t shifted = days + 719468, era = floor_divide(shifted, 146097),
                  of_era = shifted - 146097 * era,
                  year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365,
                  of_year = of_era - (365 * year + year / 4 - year / 100),
                  month = (5 * of_year + 2) / 153;
    date d = {.day = of_year - (153 * month + 2) / 5 + 1, .month = (month + 2) % 12 + 1};
    d.year = year + 400 * era + (d.month <= 2);
    return d;
}

/* ---- text ---- */

enum { YEAR_DIGITS = 4 }; /* no fewer: "99" says no century, on which the weekday depends */

/* Reads `least` to `most` digits and the mark that must follow them ('\0': none). */
static bool take(const char **at, int least, int most, char mark, int64_t *value) {
    int count = 0;
    for (*value = 0; count < most && **at >= '0' && **at <= '9'; ++count, ++*at)
        *value = 10 * *value + (**at - '0');
    if (count < least || (mark != '\0' && **at != mark)) return false;
    *at += mark != '\0';
    return true;
}

static bool take_year(const char **at, char mark, int64_t *year) {
    return take(at, YEAR_DIGITS, YEAR_DIGITS, mark, year);
}

/* "0:15", "00:15:00" or "00:15:00Z" to the end of the text. */
static bool take_time(const char *at, int64_t *seconds) {
    int64_t hour = 0, minute = 0, second = 0;
    if (!take(&at, 1, 2, ':', &hour) || !take(&at, 1, 2, '\0', &minute)) return false;
    if (*at == ':') {
        ++at;
        if (!take(&at, 1, 2, '\0', &second)) return false;
    }
    at += *at == 'Z';
    *seconds = 3600 * hour + 60 * minute + second;
    return *at == '\0' && hour < 24 && minute < 60 && second < 60;
}

/* The end of the text, or a time of day behind one of `marks`. */
static bool take_rest(const char *at, const char *marks, int64_t *seconds) {
    return *at == '\0' || (strchr(marks, *at) != NULL && take_time(at + 1, seconds));
}

static bool exists(date d) {
    const date back = date_of(days_of(d));
    return d.month >= 1 && d.month <= 12 && d.day >= 1 && d.year == back.year &&
           d.month == back.month && d.day == back.day;
}

lh_date_style lh_date_parse(const char *text, int64_t *moment) {
    date d = {0, 0, 0};
    int64_t seconds = 0;
    const char *at = text;
    lh_date_style style = LH_DATE_YEAR_FIRST;
    bool good = take_year(&at, '-', &d.year) && take(&at, 1, 2, '-', &d.month) &&
                take(&at, 1, 2, '\0', &d.day) && take_rest(at, " T", &seconds);
    if (!good) {
        at = text;
        style = LH_DATE_MONTH_FIRST;
        good = take(&at, 1, 2, '/', &d.month) && take(&at, 1, 2, '/', &d.day) &&
               take_year(&at, '\0', &d.year) && take_rest(at, " ", &seconds);
    }
    if (!good || !exists(d)) return LH_DATE_NONE;
    *moment = days_of(d) * DAY + seconds;
    return style;
}

void lh_date_format(int64_t moment, char text[LH_DATE_TEXT]) {
    const int64_t days = floor_divide(moment, DAY), seconds = moment - days * DAY;
    const date d = date_of(days);
    (void)snprintf(text, LH_DATE_TEXT, "%04d-%02d-%02d %02d:%02d:%02d", (int)d.year, (int)d.month,
                   (int)d.day, (int)(seconds / 3600), (int)(seconds / 60 % 60),
                   (int)(seconds % 60));
}

int64_t lh_date_add_months(int64_t moment, int64_t months) {
    const int64_t days = floor_divide(moment, DAY);
    date d = date_of(days);
    const int64_t month = d.month - 1 + months, years = floor_divide(month, 12);
    d.year += years;
    d.month = month - 12 * years + 1;
    return moment + (days_of(d) - days) * DAY;
}

/* ---- features ---- */

void lh_time_features(int64_t moment, real out[LH_TIME_FEATURES]) {
    const int64_t days = floor_divide(moment, DAY), seconds = moment - days * DAY;
    const date d = date_of(days);
    const int64_t of_year = days - days_of((date){d.year, 1, 1}),
                  weekday = (days + 3) - 7 * floor_divide(days + 3, 7); /* 1970 began on Thursday */
    const double features[LH_TIME_FEATURES] = {
        (double)(seconds / 60 % 60) / 59.0, (double)(seconds / 3600) / 23.0, (double)weekday / 6.0,
        (double)(d.day - 1) / 30.0, (double)of_year / 365.0};
    for (int i = 0; i < LH_TIME_FEATURES; ++i)
        out[i] = (real)(features[i] - 0.5);
}
