/* Mathematics in LaTeX: macros and labels are made at the start and cited to the end, and the
 * author keeps to a notation and to the same turns of phrase. */
#include "datasets/generate/generate.h"

static const char *const nouns[] = {"group",   "ring",    "module", "sheaf",   "scheme",
                                    "graph",   "lattice", "field",  "measure", "space",
                                    "functor", "complex", NULL};
static const char *const properties[] = {"finite", "compact", "free",   "exact",  "smooth",
                                         "normal", "regular", "simple", "proper", "flat",
                                         "closed", "dense",   NULL};
static const char *const letters[] = {"\\alpha", "\\beta",  "\\gamma", "\\delta", "\\lambda",
                                      "\\mu",    "\\sigma", "\\tau",   "\\phi",   "\\psi",
                                      "\\omega", "\\theta", NULL};
static const char *const reasons[] = {"by induction",
                                      "as above",
                                      "for symmetry",
                                      "up to scaling",
                                      "without loss",
                                      "in general",
                                      "locally",
                                      "on the nose",
                                      "modulo torsion",
                                      "trivially",
                                      "everywhere",
                                      "next",
                                      NULL};
static const char *const relations[] = {"\\leq",   "\\in",   "\\subset", "\\simeq", "\\to",
                                        "=",       "\\cong", "\\otimes", "\\perp",  "\\mid",
                                        "\\wedge", "<",      NULL};
static const char *const sets[] = {
    "\\mathbb{Z}", "\\mathbf{R}", "k[x]",    "\\mathfrak{g}", "S^1", "\\Omega", "L^2",
    "\\Gamma",     "GL_n",        "\\ell^p", "V^*",           "X/G", NULL};
static const char *const openers[] = {
    "Clearly,",     "Hence",       "Now",       "We see that",  "It follows that",
    "Observe that", "Recall that", "Moreover,", "Suppose that", "Then",
    "But",          "Finally,",    NULL};
static const char *const theories[] = {"homology",   "descent", "duality", "K-theory", "sieves",
                                       "entropy",    "forcing", "mixing",  "gluing",   "blow-ups",
                                       "resolvents", "tilting", NULL};
static const char *const operators[] = {"\\operatorname{Hom}",
                                        "\\int_X",
                                        "\\sum_i",
                                        "\\lim",
                                        "\\operatorname{Ext}",
                                        "\\det",
                                        "\\prod_j",
                                        "\\ker",
                                        "\\sup",
                                        "\\bigcup",
                                        "\\nabla",
                                        "\\partial",
                                        NULL};
static const char *const ends[] = {"QED",      "\\qed",          "This is all.", "Done.",
                                   "\\square", "We are done.",   "as desired",   "\\blacksquare",
                                   "Enough.",  "\\hfill$\\Box$", "//",           "I omit the rest.",
                                   NULL};

static const lh_story_attribute attributes[] = {
    {'k', NULL, false, "thm:"}, {'m', NULL, false, "\\"},     {'c', NULL, true, ""},
    {'n', nouns, false, ""},    {'p', properties, false, ""}, {'l', letters, false, ""},
    {'\0', NULL, false, ""}};
static const lh_story_list lists[] = {{'r', reasons}, {'e', relations}, {'s', sets},
                                      {'a', openers}, {'t', theories},  {'o', operators},
                                      {'q', ends},    {'\0', NULL}};

static const char *const opening[] = {
    "\\newcommand{%m}{\\mathcal{%c}}\n",
    "\\begin{theorem}\\label{%k}\nLet $%m$ be a %p %n. Then $%l #e %m$ #r.\n\\end{theorem}\n\n",
    NULL};

static const char *const body[] = {"#a by Theorem~~\\ref{%k} the %n $%m$ is %p #r. ",
                                   "Let $%l #e #s$ be as in \\cite{%c}, by #t. ",
                                   "\\begin{proof}\n#a $#o %m #e #s$. #q\n\\end{proof}\n\n",
                                   "#a the %p %n over $#s$ has #t. ",
                                   "$$#o %l #e %m$$\n",
                                   "#a Theorem~~\\ref{%k} holds #r. #q\n\n",
                                   NULL};

const lh_story_kind lh_story_latex = {
    .attributes = attributes, .lists = lists, .opening = opening, .body = body, .line_width = 76};
