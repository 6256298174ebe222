/* Included before everything else in our own builds (make WERROR=1): functions that have no safe
 * use, or a better one here, do not compile. System headers come first, since they may name them.
 */
#ifndef LH_TESTS_LINT_BANNED_H
#define LH_TESTS_LINT_BANNED_H

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* unbounded writes: snprintf, memcpy */
#pragma GCC poison strcpy strcat sprintf vsprintf gets
/* hidden state, not thread-safe: strtok_r, kernels/random.h, localtime_r and gmtime_r */
#pragma GCC poison strtok rand srand localtime gmtime ctime asctime
/* mistakes look like zero: strtol, strtod with their end pointer */
#pragma GCC poison atoi atol atoll atof

#endif
