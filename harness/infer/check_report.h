/* What a check of a model is told, and what it finds. */
#ifndef LH_INFER_CHECK_REPORT_H
#define LH_INFER_CHECK_REPORT_H

#include "harness/engine/model.h"

/* Hears what is checked next, which is number `done` of `all`, counted from 0. */
typedef void (*lh_check_observer)(void *context, const char *what, int done, int all);

/* All borrowed. */
typedef struct lh_check_spec {
    const lh_model_class *model;
    const lh_options *options;
    lh_model_setup setup;
    int64_t length; /* of a segment; 0: one that the model takes */
    bool shorter;   /* or fewer, where the class tells which lengths it takes */
    uint64_t seed;
    lh_check_observer hear; /* optional */
    void *context;          /* what it is given */
} lh_check_spec;

typedef enum lh_check_verdict {
    LH_CHECK_OK,
    LH_CHECK_FAILED,
    LH_CHECK_WARNING,
    LH_CHECK_LEFT_OUT /* the class does not declare it */
} lh_check_verdict;

typedef struct lh_finding {
    const char *check; /* "causality" */
    lh_check_verdict verdict;
    char text[400];
} lh_finding;

enum { LH_FINDINGS = 9 };

typedef struct lh_check_report {
    int64_t length; /* of the segments */
    int count;
    lh_finding finding[LH_FINDINGS];
} lh_check_report;

/* What a check found; its text may be cut. */
void lh_find(lh_finding *out, const char *check, lh_check_verdict verdict, const char *format, ...)
    LH_PRINTF(4, 5);

#endif
