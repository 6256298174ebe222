/* C-like code: functions and structs are declared at the start and used under the same names to the
 * end. */
#include "datasets/generate.h"

static const char *const types[] = {"int",      "long",    "char", "float", "double", "size_t",
                                    "uint32_t", "int64_t", "bool", "short", NULL};
static const char *const operators[] = {" + ", " - ", " * ", " & ", " | ", " << ", NULL};
static const char *const checks[] = {" == 0",     " < 0",    " > limit", " != NULL",
                                     " >= count", " < size", NULL};
static const char *const comments[] = {"check the bounds",   "nothing to do", "keep the old value",
                                       "the caller owns it", "never fails",   "see above",
                                       "slow but simple",    "round up",      NULL};

static const lh_story_attribute attributes[] = {{'f', NULL, false, "do_"}, {'a', NULL, false, ""},
                                                {'s', NULL, false, ""},    {'m', NULL, false, "m_"},
                                                {'t', types, false, ""},   {'\0', NULL, false, ""}};
static const lh_story_list lists[] = {
    {'o', operators}, {'c', checks}, {'r', comments}, {'\0', NULL}};

static const char *const opening[] = {"struct %s {\n    %t %m;\n};\n\n",
                                      "%t %f(struct %s *%a);\n\n", NULL};

static const char *const body[] = {"    %t %m = %f(&%s);\n",
                                   "    if (%a->%m#c) return %f(%a);\n",
                                   "    /* #r */\n",
                                   "    %a->%m = %a->%m#o^a->^m;\n",
                                   "}\n\nstatic %t use_%s(struct %s *%a) {\n",
                                   "    while (%f(%a)#c) %a->%m = ^f(^a);\n",
                                   "    return %a->%m#o1;\n",
                                   NULL};

const lh_story_kind lh_story_code = {
    .attributes = attributes, .lists = lists, .opening = opening, .body = body, .line_width = 0};
