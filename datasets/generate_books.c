/* Prose about a small cast: whoever is named keeps trade, town and possession for the whole book.
 */
#include "datasets/generate.h"

static const char *const trades[] = {"miller", "smith",  "baker",  "sailor",  "tailor", "weaver",
                                     "mason",  "doctor", "priest", "captain", "farmer", "lawyer",
                                     "potter", "hunter", "cooper", "painter", NULL};
static const char *const things[] = {
    "lantern", "sword",  "letter",   "mirror", "basket", "violin", "silver ring", "map", "saddle",
    "clock",   "pistol", "old book", "cradle", "ladder", "kettle", "blue coat",   NULL};
static const char *const verbs[] = {"took",   "found",  "lost",    "sold",    "hid",
                                    "mended", "wanted", "carried", "praised", "forgot",
                                    "lent",   "kept",   NULL};
static const char *const moods[] = {
    "gravely",     "softly",         "at once",     "with a laugh", "in the evening",
    "before dawn", "without a word", "in the rain", "as always",    "with great care",
    NULL};
static const char *const sayings[] = {"The road is long",
                                      "Winter is near",
                                      "I know nothing of it",
                                      "Let us wait",
                                      "It was never mine",
                                      "The river is high",
                                      "You are late again",
                                      "God help us all",
                                      "Not a word of this",
                                      "We shall see",
                                      NULL};

static const lh_story_attribute attributes[] = {{'n', NULL, true, ""},
                                                {'t', NULL, true, ""},
                                                {'p', trades, false, ""},
                                                {'o', things, false, ""},
                                                {'\0', NULL, false, ""}};
static const lh_story_list lists[] = {{'v', verbs}, {'m', moods}, {'s', sayings}, {'\0', NULL}};

static const char *const opening[] = {
    "There lived in the town of %t a %p by the name of %n, who owned a %o. ", NULL};

static const char *const body[] = {"The %p %n of %t #v the %o #m. ",
                                   "\"#s,\" said %n the %p. ",
                                   "%n #v the ^o of the ^p ^n. ",
                                   "In %t the %p #v it #m. ",
                                   "The %p of %t, %n, came to ^t #m.\n\n",
                                   "\"#s,\" said the ^p of ^t to %n. ",
                                   "The %o of %n was in ^t. ",
                                   "%n the %p and ^n the ^p #v the %o. ",
                                   NULL};

const lh_story_kind lh_story_books = {
    .attributes = attributes, .lists = lists, .opening = opening, .body = body, .line_width = 72};
