/* C-like code: functions and structs are declared at the start and used under the same names to the
 * end, in the project's own idioms. */
#include "datasets/generate/generate.h"

static const char *const types[] = {"int",      "long",    "char", "float", "double", "size_t",
                                    "uint32_t", "int64_t", "bool", "short", NULL};
static const char *const operators[] = {"+", "-", "*", "&", "|", "<<", ">>", "^", "%", "/", NULL};
static const char *const checks[] = {"== 0",   "< 0",    "> limit", "!= NULL", ">= count", "< size",
                                     "& MASK", "<= MAX", "!= EOF",  "> 1",     NULL};
static const char *const comments[] = {
    "check bounds", "nothing to do", "keep the old", "caller owns it", "never fails", "see above",
    "slow path",    "round up",      "HACK",         "by hand",        NULL};
static const char *const failures[] = {"return -1",      "goto out",        "abort()", "exit(1)",
                                       "break",          "errno = EIO",     "panic()", "continue",
                                       "throw_error(e)", "longjmp(env, 1)", NULL};
static const char *const locks[] = {
    "lock(mutex)", "spin_enter()", "acquire(sem)", "begin_atomic()", "rcu_read()", "disable_irq()",
    "wait_for(q)", "take(token)",  "up(gate)",     "guard(&m)",      NULL};
static const char *const logs[] = {"printf", "log_debug", "trace", "fputs", "emit", "warn",
                                   "syslog", "LOG",       "note",  "dump",  NULL};
static const char *const loops[] = {
    "for (;;)",       "while (1)", "do",      "foreach(it)",     "repeat(n)", "until_done()",
    "loop_over(all)", "if (once)", "each(x)", "parallel_for(k)", NULL};
static const char *const returns[] = {
    "return 0;", "return OK;", "return true;", "goto done;", "return self;", "RETURN();", "end();",
    "return n;", "pass;",      "leave();",     NULL};

static const lh_story_attribute attributes[] = {{'f', NULL, false, "do_"}, {'a', NULL, false, ""},
                                                {'s', NULL, false, ""},    {'m', NULL, false, "m_"},
                                                {'t', types, false, ""},   {'\0', NULL, false, ""}};
static const lh_story_list lists[] = {{'o', operators}, {'c', checks},  {'r', comments},
                                      {'x', failures},  {'k', locks},   {'g', logs},
                                      {'l', loops},     {'z', returns}, {'\0', NULL}};

static const char *const opening[] = {"struct %s {\n    %t %m;\n};\n\n",
                                      "%t %f(struct %s *%a);\n\n", NULL};

static const char *const body[] = {"    %t %m = %f(&%s);\n",
                                   "    if (%a->%m #c) #x;\n",
                                   "    /* #r */\n    #k;\n",
                                   "    %a->%m = ^a->^m #o 1;\n",
                                   "    #z\n}\n\nstatic %t use_%s(struct %s *%a) {\n",
                                   "    #l { %f(%a); #g(%m); }\n",
                                   NULL};

const lh_story_kind lh_story_code = {
    .attributes = attributes, .lists = lists, .opening = opening, .body = body, .line_width = 0};
