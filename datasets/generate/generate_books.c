/* Prose about a small cast: whoever is named keeps trade, town and possession for the whole book,
 * and the teller has turns of phrase. */
#include "datasets/generate/generate.h"

static const char *const trades[] = {"miller", "smith",  "baker",  "sailor",  "tailor", "weaver",
                                     "mason",  "doctor", "priest", "captain", "farmer", "lawyer",
                                     "potter", "hunter", "cooper", "painter", NULL};
static const char *const things[] = {"lantern", "sword",  "letter", "mirror", "basket", "violin",
                                     "ring",    "map",    "saddle", "clock",  "pistol", "book",
                                     "cradle",  "ladder", "kettle", "coat",   NULL};
static const char *const verbs[] = {"took",   "found",   "lost",    "sold",   "hid",  "mended",
                                    "wanted", "carried", "praised", "forgot", "lent", "kept",
                                    "broke",  "gave",    "used",    "judged", NULL};
static const char *const moods[] = {"gravely",   "softly",  "boldly", "at once",   "laughing",
                                    "kindly",    "in vain", "unseen", "twice",     "for nothing",
                                    "every day", "poorly",  "warily", "yet again", "openly",
                                    "humbly",    NULL};
static const char *const sayings[] = {"The road is long",
                                      "Winter is near",
                                      "I know nothing of it",
                                      "Let us wait",
                                      "It was never mine",
                                      "Rivers run high",
                                      "You are late",
                                      "God help us all",
                                      "Not a word",
                                      "We shall see",
                                      "Bread is dear",
                                      "Keep your head",
                                      "Ask my wife",
                                      "Come closer",
                                      "Damn the king",
                                      "Who can tell",
                                      NULL};
static const char *const times[] = {
    "At noon",      "By night",  "On Sunday",    "In spring", "Every week",  "Long ago",
    "The next day", "Once more", "After church", "Until May", "Before dawn", "Rarely",
    "Years later",  "Soon",      "Vainly",       "Just then", NULL};
static const char *const weather[] = {"rain",       "snow",     "fog",     "wind",      "heat",
                                      "thunder",    "dust",     "hail",    "moonlight", "clouds",
                                      "ice",        "sunshine", "drizzle", "gales",     "lightning",
                                      "east winds", NULL};
static const char *const places[] = {
    "the mill",         "an inn",     "his garden", "our church",  "a barn",
    "no man's land",    "my cellar",  "some wood",  "the harbour", "every street",
    "Lord Vane's park", "two fields", "one boat",   "court",       "prison",
    "King Street",      NULL};
static const char *const foods[] = {"bread",  "cheese",   "wine",  "onions", "fish",  "apples",
                                    "mutton", "soup",     "honey", "eggs",   "plums", "tea",
                                    "veal",   "radishes", "nuts",  "ale",    NULL};
static const char *const tempers[] = {"proud",   "weary",   "merry",  "sober",  "angry", "humble",
                                      "jealous", "honest",  "clever", "bitter", "timid", "fat",
                                      "lame",    "unlucky", "drunk",  "grey",   NULL};
static const char *const verdicts[] = {
    "so they say",  "I swear it", "as we know", "by all accounts", "God willing", "more or less",
    "they told me", "in a way",   "no doubt",   "quite",           "perhaps",     "upon my word",
    "you see",      "let me add", "for once",   "to be sure",      NULL};
static const char *const beasts[] = {"horse",     "goat", "dog",     "mule",  "cat", "hen",
                                     "ox",        "pig",  "raven",   "sheep", "fox", "eel",
                                     "tame bear", "lark", "jackdaw", "viper", NULL};

static const lh_story_attribute attributes[] = {{'n', NULL, true, ""},
                                                {'t', NULL, true, ""},
                                                {'p', trades, false, ""},
                                                {'o', things, false, ""},
                                                {'\0', NULL, false, ""}};
static const lh_story_list lists[] = {
    {'v', verbs}, {'m', moods},   {'s', sayings},  {'a', times},  {'w', weather}, {'l', places},
    {'f', foods}, {'j', tempers}, {'d', verdicts}, {'b', beasts}, {'\0', NULL}};

static const char *const opening[] = {
    "There lived in the town of %t a %p by the name of %n, who owned a %o. ", NULL};

static const char *const body[] = {"#a the %p %n #v the %o in #l. ",
                                   "\"#s,\" said %n the %p #m. ",
                                   "There was #w over %t, #d. ",
                                   "%n ate #f with the ^p. ",
                                   "The #j %p of %t had a #b. ",
                                   "#a it was all #w and #f, #d.\n\n",
                                   "The #b of %n went to #l #m. ",
                                   "%n was #j: \"#s!\" ",
                                   NULL};

const lh_story_kind lh_story_books = {
    .attributes = attributes, .lists = lists, .opening = opening, .body = body, .line_width = 72};
