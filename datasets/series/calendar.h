/* Dates of time series. A moment is the number of seconds since 1970-01-01 00:00:00 by the
 * calendar, without time zones, summer time or leap seconds. */
#ifndef LH_DATASETS_CALENDAR_H
#define LH_DATASETS_CALENDAR_H

#include "kernels/base.h"

typedef enum lh_date_style {
    LH_DATE_NONE,
    LH_DATE_YEAR_FIRST, /* 2016-07-01 00:15:00, or with a T for the blank (ISO 8601) */
    LH_DATE_MONTH_FIRST /* 7/1/2016 0:15 */
} lh_date_style;

/* Sets *moment and gives the style; LH_DATE_NONE when the whole text is no such date. A year has
 * four digits; the seconds, the time of day and a Z behind it may be missing. */
lh_date_style lh_date_parse(const char *text, int64_t *moment);

/* "2016-07-01 00:15:00" */
enum { LH_DATE_TEXT = 32 };
void lh_date_format(int64_t moment, char text[LH_DATE_TEXT]);

/* The same day of the month and time of day, `months` later; the day must exist in that month. */
int64_t lh_date_add_months(int64_t moment, int64_t months);

/* What Informer knows of a moment, each from -0.5 to 0.5: minute / 59, hour / 23, weekday / 6
 * (Monday first), (day of the month - 1) / 30, (day of the year - 1) / 365, less a half (Zhou et
 * al. 2021, appendix B; the released utils/timefeatures.py). */
enum { LH_TIME_FEATURES = 5 };
void lh_time_features(int64_t moment, real out[LH_TIME_FEATURES]);

#endif
