/* Mathematics in LaTeX: macros and labels are made at the start and cited to the end. */
#include "datasets/generate.h"

static const char *const nouns[] = {"group",   "ring",    "module", "sheaf",   "scheme",
                                    "graph",   "lattice", "field",  "measure", "space",
                                    "functor", "complex", NULL};
static const char *const properties[] = {"finite", "compact", "free",   "exact",  "smooth",
                                         "normal", "regular", "simple", "proper", "flat",
                                         "closed", "dense",   NULL};
static const char *const letters[] = {"\\alpha", "\\beta",  "\\gamma", "\\delta", "\\lambda",
                                      "\\mu",    "\\sigma", "\\tau",   "\\phi",   "\\psi",
                                      "\\omega", "\\theta", NULL};
static const char *const reasons[] = {
    "by induction",   "by definition",     "as above",
    "by symmetry",    "up to isomorphism", "without loss of generality",
    "by compactness", "in general",        NULL};
static const char *const relations[] = {"\\leq", "\\in",   "\\subset", "\\simeq", "\\to",
                                        "=",     "\\cong", "\\otimes", NULL};

static const lh_story_attribute attributes[] = {
    {'k', NULL, false, "thm:"}, {'m', NULL, false, "\\"},     {'c', NULL, true, ""},
    {'n', nouns, false, ""},    {'p', properties, false, ""}, {'l', letters, false, ""},
    {'\0', NULL, false, ""}};
static const lh_story_list lists[] = {{'r', reasons}, {'e', relations}, {'\0', NULL}};

static const char *const opening[] = {
    "\\newcommand{%m}{\\mathcal{%c}}\n",
    "\\begin{theorem}\\label{%k}\nLet $%m$ be a %p %n. Then $%l #e %m$ #r.\n\\end{theorem}\n\n",
    NULL};

static const char *const body[] = {
    "By Theorem~~\\ref{%k} the %n $%m$ is %p #r. ",
    "Let $%l #e %m$ be as in \\cite{%c}. ",
    "\\begin{proof}\nSince $%m$ is %p, Theorem~~\\ref{%k} gives $%l #e ^l$ #r.\n\\end{proof}\n\n",
    "The %p %n $%m$ of \\cite{%c} contains $%l$. ",
    "$$%l #e %m #e ^m$$\n",
    "Compare Theorem~~\\ref{%k} with Theorem~~\\ref{^k}. ",
    "#r, the %n of \\cite{%c} is %p.\n\n",
    NULL};

const lh_story_kind lh_story_latex = {
    .attributes = attributes, .lists = lists, .opening = opening, .body = body, .line_width = 76};
