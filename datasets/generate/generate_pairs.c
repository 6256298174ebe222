/* English and German out of one grammar. A sentence is a main clause and up to two subordinate
 * ones; what differs between the languages is what translation has to learn: the order of words,
 * articles and endings that depend on gender and case, and words that are copied. */
#include "datasets/generate/generate_pairs.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "harness/engine/draw.h"

typedef enum gender { MASCULINE, FEMININE, NEUTER } gender;

typedef struct word {
    const char *english, *german;
} word;

typedef struct noun {
    const char *english, *german;
    gender gender;
} noun;

static const noun nouns[] = {
    {"dog", "Hund", MASCULINE},      {"cat", "Katze", FEMININE},
    {"child", "Kind", NEUTER},       {"house", "Haus", NEUTER},
    {"street", "Straße", FEMININE},  {"teacher", "Lehrer", MASCULINE},
    {"book", "Buch", NEUTER},        {"river", "Fluss", MASCULINE},
    {"city", "Stadt", FEMININE},     {"king", "König", MASCULINE},
    {"apple", "Apfel", MASCULINE},   {"bird", "Vogel", MASCULINE},
    {"door", "Tür", FEMININE},       {"garden", "Garten", MASCULINE},
    {"horse", "Pferd", NEUTER},      {"letter", "Brief", MASCULINE},
    {"woman", "Frau", FEMININE},     {"picture", "Bild", NEUTER},
    {"bridge", "Brücke", FEMININE},  {"ship", "Schiff", NEUTER},
    {"tree", "Baum", MASCULINE},     {"window", "Fenster", NEUTER},
    {"doctor", "Arzt", MASCULINE},   {"flower", "Blume", FEMININE},
    {"train", "Zug", MASCULINE},     {"clock", "Uhr", FEMININE},
    {"girl", "Mädchen", NEUTER},     {"mountain", "Berg", MASCULINE},
    {"question", "Frage", FEMININE}, {"animal", "Tier", NEUTER},
};
static const word adjectives[] = {
    {"old", "alt"},    {"new", "neu"},    {"red", "rot"},    {"small", "klein"},
    {"big", "groß"},   {"quiet", "leis"}, {"young", "jung"}, {"beautiful", "schön"},
    {"white", "weiß"}, {"cold", "kalt"},  {"warm", "warm"},  {"green", "grün"},
};
static const word transitive[] = {
    {"sees", "sieht"},       {"finds", "findet"},  {"buys", "kauft"},      {"hears", "hört"},
    {"loves", "liebt"},      {"paints", "malt"},   {"looks for", "sucht"}, {"shows", "zeigt"},
    {"forgets", "vergisst"}, {"carries", "trägt"},
};
static const word intransitive[] = {
    {"sleeps", "schläft"}, {"laughs", "lacht"}, {"waits", "wartet"},
    {"works", "arbeitet"}, {"falls", "fällt"},  {"sings", "singt"},
};
static const word adverbs[] = {
    {"today", "heute"},     {"often", "oft"},      {"here", "hier"},          {"never", "nie"},
    {"at night", "nachts"}, {"slowly", "langsam"}, {"everywhere", "überall"},
};
static const word conjunctions[] = {
    {"because", "weil"}, {"although", "obwohl"}, {"while", "während"},
    {"if", "wenn"},      {"before", "bevor"},
};
static const char *const names[] = {"Anna", "Peter", "Maria", "Otto", "Clara", "Emil", "Ida"};

typedef struct writer {
    lh_draws draws;
    char *english, *german;
} writer;

#define PICK(w, table) (table)[lh_draw(&(w)->draws, sizeof(table) / sizeof *(table))]

/* The longest sentence has less than half of the room. */
static void append(char *text, const char *between, const char *more) {
    const size_t used = strlen(text);
    (void)snprintf(text + used, LH_PAIR_BYTES - used, "%s%s", used > 0 ? between : "", more);
}

static void say(char *text, const char *more) {
    append(text, " ", more);
}

/* ---- noun phrases ---- */

/* One phrase in both languages. */
typedef struct phrase {
    char english[80], german[80];
} phrase;

static const char *article(gender g, bool object) {
    static const char *const subject[] = {"der", "die", "das"}, *const accusative[] = {"den", "die",
                                                                                       "das"};
    return object ? accusative[g] : subject[g];
}

static void draw_phrase(writer *w, bool object, phrase *out) {
    const int64_t kind = lh_draw(&w->draws, 8);
    if (kind == 0) {
        const char *name = PICK(w, names);
        (void)snprintf(out->english, sizeof out->english, "%s", name);
        (void)snprintf(out->german, sizeof out->german, "%s", name);
        return;
    }
    const noun *thing = &PICK(w, nouns);
    if (kind == 1 && object) {
        const int number = 2 + (int)lh_draw(&w->draws, 998);
        (void)snprintf(out->english, sizeof out->english, "number %d", number);
        (void)snprintf(out->german, sizeof out->german, "Nummer %d", number);
        return;
    }
    const char *the = article(thing->gender, object);
    if (kind < 5) {
        (void)snprintf(out->english, sizeof out->english, "the %s", thing->english);
        (void)snprintf(out->german, sizeof out->german, "%s %s", the, thing->german);
        return;
    }
    const word *adjective = &PICK(w, adjectives);
    const char *ending = object && thing->gender == MASCULINE ? "en" : "e";
    (void)snprintf(out->english, sizeof out->english, "the %s %s", adjective->english,
                   thing->english);
    (void)snprintf(out->german, sizeof out->german, "%s %s%s %s", the, adjective->german, ending,
                   thing->german);
}

/* ---- clauses ---- */

typedef struct clause {
    phrase subject, object;
    const word *verb, *adverb; /* adverb NULL: none */
    bool has_object;
} clause;

static void draw_clause(writer *w, clause *out) {
    draw_phrase(w, false, &out->subject);
    out->has_object = lh_draw(&w->draws, 3) > 0;
    if (out->has_object) draw_phrase(w, true, &out->object);
    out->verb = out->has_object ? &PICK(w, transitive) : &PICK(w, intransitive);
    out->adverb = lh_draw(&w->draws, 2) == 0 ? &PICK(w, adverbs) : NULL;
}

static void say_english(writer *w, const clause *c) {
    say(w->english, c->subject.english);
    say(w->english, c->verb->english);
    if (c->has_object) say(w->english, c->object.english);
    if (c->adverb != NULL) say(w->english, c->adverb->english);
}

/* The verb is the second part of a main clause, which an adverb begins. */
static void say_main(writer *w, const clause *c) {
    if (c->adverb != NULL) say(w->german, c->adverb->german);
    if (c->adverb == NULL) say(w->german, c->subject.german);
    say(w->german, c->verb->german);
    if (c->adverb != NULL) say(w->german, c->subject.german);
    if (c->has_object) say(w->german, c->object.german);
}

static void say_subordinate(writer *w, const clause *c) {
    say(w->german, c->subject.german);
    if (c->adverb != NULL) say(w->german, c->adverb->german);
    if (c->has_object) say(w->german, c->object.german);
    say(w->german, c->verb->german);
}

/* The first letter becomes a capital: of ASCII, or one of the umlauts, which are two bytes. */
static void capitalise(char *text) {
    if (text[0] == '\xc3') {
        text[1] = (char)(text[1] & ~0x20);
    } else {
        text[0] = (char)toupper((unsigned char)text[0]);
    }
}

void lh_generate_pair(uint64_t seed, uint64_t index, char source[LH_PAIR_BYTES],
                      char target[LH_PAIR_BYTES]) {
    writer w = {.draws.key = {.seed = seed, .step = index, .stream = LH_STREAM_DATA},
                .english = source,
                .german = target};
    clause c;
    source[0] = target[0] = '\0';
    draw_clause(&w, &c);
    say_english(&w, &c);
    say_main(&w, &c);
    for (int64_t more = lh_draw(&w.draws, 3); more > 0; --more) {
        const word *conjunction = &PICK(&w, conjunctions);
        say(source, conjunction->english);
        append(target, "", ",");
        say(target, conjunction->german);
        draw_clause(&w, &c);
        say_english(&w, &c);
        say_subordinate(&w, &c);
    }
    append(source, "", ".");
    append(target, "", ".");
    capitalise(source);
    capitalise(target);
}
