/* Languages as automata that label strings, and the released rules by which strings are drawn. */
#include "datasets/generate/regular_strings.h"

#include <stdlib.h>
#include <string.h>

#include "harness/engine/draw.h"
#include <xxhash.h>

/* ---- automata ---- */

/* What a label tells: which letters may follow, or whether the string so far is a member. */
typedef enum label_kind { FOLLOWERS, MEMBERSHIP } label_kind;

typedef struct drawer drawer;

typedef struct automaton {
    label_kind tells;
    uint8_t next[5][LH_LETTERS]; /* state 0 is the first one; D_n counts its depth instead */
    uint32_t accepting;          /* bit s: a string may end in state s */
    uint32_t open;               /* FOLLOWERS, bit s: a letter that leads to state s may follow */
    int64_t depth;               /* D_n: n */
    const char *word;            /* draw_powers: what is repeated, in letters 0 and 1 */
    void (*draw)(drawer *d);
    bool shuffled; /* the released corpus passes through a set */
} automaton;

const char *const lh_regular_language_names[LH_REGULAR_LANGUAGES + 1] = {
    "parity",  "d2",      "d4",  "tomita3", "tomita5", "tomita6", "tomita1", "tomita2",
    "tomita4", "tomita7", "d1",  "d3",      "d5",      "d6",      "d7",      "d8",
    "d9",      "d10",     "d11", "d12",     "aa",      "aaaa",    "abab",    NULL};

static void draw_geometric(drawer *d);
static void draw_blocks(drawer *d);
static void draw_brackets(drawer *d);
static void draw_powers(drawer *d);
static void draw_short_zeros(drawer *d);
static void draw_four_blocks(drawer *d);

/* The state of D_n is its depth; n + 1 is lost. */
#define BRACKETS(n)                                                                                \
    { .accepting = 0x1, .open = (2u << (n)) - 1, .depth = (n), .draw = draw_brackets }

/* The state of Tomita 5 is (#0 mod 2, #1 mod 2), that of
 * Tomita 6 is #0 - #1 mod 3. */
static const automaton automata[LH_REGULAR_LANGUAGES] = {
    [LH_PARITY] = {.tells = MEMBERSHIP,
                   .next = {{0, 1}, {1, 0}},
                   .accepting = 0x1,
                   .draw = draw_geometric},
    [LH_D2] = BRACKETS(2),
    [LH_D4] = BRACKETS(4),
    [LH_TOMITA3] = {.next = {{0, 1}, {3, 0}, {3, 1}, {2, 4}, {4, 4}},
                    .accepting = 0x7,
                    .open = 0x7,
                    .draw = draw_blocks,
                    .shuffled = true},
    [LH_TOMITA5] = {.tells = MEMBERSHIP,
                    .next = {{2, 1}, {3, 0}, {0, 3}, {1, 2}},
                    .accepting = 0x1,
                    .draw = draw_geometric,
                    .shuffled = true},
    [LH_TOMITA6] = {.tells = MEMBERSHIP,
                    .next = {{1, 2}, {2, 0}, {0, 1}},
                    .accepting = 0x1,
                    .draw = draw_geometric,
                    .shuffled = true},
    [LH_TOMITA1] = {.next = {{1, 0}, {1, 1}},
                    .accepting = 0x1,
                    .open = 0x1,
                    .word = "1",
                    .draw = draw_powers,
                    .shuffled = true},
    [LH_TOMITA2] = {.next = {{2, 1}, {0, 2}, {2, 2}},
                    .accepting = 0x1,
                    .open = 0x3,
                    .word = "10",
                    .draw = draw_powers,
                    .shuffled = true},
    [LH_TOMITA4] = {.next = {{1, 0}, {2, 0}, {3, 0}, {3, 3}},
                    .accepting = 0x7,
                    .open = 0x7,
                    .draw = draw_short_zeros,
                    .shuffled = true},
    [LH_TOMITA7] = {.next = {{0, 1}, {2, 1}, {2, 3}, {4, 3}, {4, 4}},
                    .accepting = 0xf,
                    .open = 0xf,
                    .draw = draw_four_blocks,
                    .shuffled = true},
    [LH_D1] = BRACKETS(1),
    [LH_D3] = BRACKETS(3),
    [LH_D5] = BRACKETS(5),
    [LH_D6] = BRACKETS(6),
    [LH_D7] = BRACKETS(7),
    [LH_D8] = BRACKETS(8),
    [LH_D9] = BRACKETS(9),
    [LH_D10] = BRACKETS(10),
    [LH_D11] = BRACKETS(11),
    [LH_D12] = BRACKETS(12),
    [LH_AA] = {.tells = MEMBERSHIP,
               .next = {{1, 2}, {0, 2}, {2, 2}},
               .accepting = 0x1,
               .word = "00",
               .draw = draw_powers},
    [LH_AAAA] = {.tells = MEMBERSHIP,
                 .next = {{1, 4}, {2, 4}, {3, 4}, {0, 4}, {4, 4}},
                 .accepting = 0x1,
                 .word = "0000",
                 .draw = draw_powers},
    [LH_ABAB] = {.tells = MEMBERSHIP,
                 .next = {{1, 4}, {4, 2}, {3, 4}, {4, 0}, {4, 4}},
                 .accepting = 0x1,
                 .word = "0101",
                 .draw = draw_powers},
};

int64_t lh_regular_language_depth(lh_regular_language language) {
    return automata[language].depth;
}

static int step(const automaton *a, int state, int letter) {
    const int lost = (int)a->depth + 1;
    if (a->depth == 0) return a->next[state][letter];
    if (state == lost || letter == 0) return state < lost ? state + 1 : lost;
    return state > 0 ? state - 1 : lost;
}

bool lh_regular_language_has(lh_regular_language language, const uint8_t *letters, int64_t length) {
    const automaton *a = &automata[language];
    int state = 0;
    for (int64_t t = 0; t < length; ++t)
        state = step(a, state, letters[t]);
    return (a->accepting >> state & 1) != 0;
}

void lh_regular_language_label(lh_regular_language language, const uint8_t *letters, int64_t length,
                               real *label) {
    const automaton *a = &automata[language];
    int state = 0;
    for (int64_t t = 0; t < length; ++t) {
        state = step(a, state, letters[t]);
        const uint32_t member = a->accepting >> state & 1;
        for (int v = 0; v < LH_LETTERS; ++v) {
            const uint32_t follows = a->open >> step(a, state, v) & 1;
            const bool on = a->tells == FOLLOWERS ? follows != 0 : (int)member == v;
            label[LH_LETTERS * t + v] = on ? LH_R(1) : LH_R(0);
        }
    }
}

/* ---- one string ---- */

/* A candidate that is being written. Letters past `longest` are counted, not kept: the candidate
 * will be refused. */
struct drawer {
    const automaton *rules;
    lh_draws draws;
    int64_t shortest, longest, length;
    uint8_t *letter; /* [longest] */
};

static void put(drawer *d, int letter, int64_t count) {
    for (int64_t i = 0; i < count; ++i, ++d->length)
        if (d->length < d->longest) d->letter[d->length] = (uint8_t)letter;
}

/* 0 and 1 with probability L / (2 (1 + L)) each, L in the middle of the lengths; else the end. */
static void draw_geometric(drawer *d) {
    const int64_t middle = (d->shortest + d->longest) / 2;
    while (d->length < d->longest) {
        const int64_t choice = lh_draw(&d->draws, 2 * (1 + middle)) / middle;
        if (choice >= LH_LETTERS) return;
        put(d, (int)choice, 1);
    }
}

static int64_t draw_length(drawer *d) {
    return d->shortest + lh_draw(&d->draws, d->longest - d->shortest + 1);
}

/* A word as often as it fits into a uniform length. */
static void draw_powers(drawer *d) {
    const int64_t size = (int64_t)strlen(d->rules->word), count = draw_length(d) / size;
    for (int64_t i = 0; i < count * size; ++i)
        put(d, d->rules->word[i % size] - '0', 1);
}

/* Tomita 4: random letters up to a uniform length, without a third 0 in a row. */
static void draw_short_zeros(drawer *d) {
    const int64_t length = draw_length(d);
    int64_t zeros = 0;
    while (d->length < length) {
        const int letter = zeros < 2 ? (int)lh_draw(&d->draws, LH_LETTERS) : 1;
        put(d, letter, 1);
        zeros = letter == 0 ? zeros + 1 : 0;
    }
}

/* Tomita 7: as many 0s, 1s, 0s and 1s as a uniform choice among those that still fit. */
static void draw_four_blocks(drawer *d) {
    for (int block = 0; block < 4; ++block)
        put(d, block % 2, lh_draw(&d->draws, d->longest - d->length + 1));
}

/* Tomita 3: blocks of a random letter up to a uniform length; 0s in even numbers while the 1s
 * before them are odd. */
static void draw_blocks(drawer *d) {
    const int64_t length = draw_length(d);
    int64_t ones = 0;
    int last = -1;
    while (d->length < length) {
        const int64_t room = length - d->length;
        const int letter = (int)lh_draw(&d->draws, LH_LETTERS);
        const bool even = letter == 0 && ones % 2 != 0;
        const int64_t count =
            even ? 2 * lh_draw(&d->draws, room / 2 + 1) : lh_draw(&d->draws, room + 1);
        put(d, letter, count);
        if (letter == 1) ones = last == 0 && count > 0 ? count : ones + count;
        if (count > 0) last = letter;
    }
}

/* A length of about three quarters of `length`: mean 0.75 of it, deviation a tenth of that. */
static int64_t draw_share(drawer *d, int64_t length) {
    const double mean = 0.75 * (double)length;
    const double z = lh_random_normal(d->draws.key, (uint64_t)1 << 40 | d->draws.drawn++);
    return (int64_t)(mean + 0.1 * mean * z);
}

/* D_n, n > 0, of at least `length` letters: groups a D_{n-1} b. Ends early past the longest string.
 * D_0 is empty whatever its length, so that is counted as drawn, and not computed. */
static void write_brackets(drawer *d, int64_t depth, int64_t length) {
    const int64_t begin = d->length;
    while (d->length - begin < length && d->length <= d->longest) {
        put(d, 0, 1);
        if (depth == 1)
            d->draws.drawn += 1;
        else
            write_brackets(d, depth - 1, draw_share(d, length));
        put(d, 1, 1);
    }
}

static void draw_brackets(drawer *d) {
    write_brackets(d, d->rules->depth, draw_share(d, d->longest));
}

/* ---- many strings ---- */

enum { VAIN_DRAWS = 1000, HOPELESS_DRAWS = 1000000 };

/* Which strings there are: open addressing, slots hold 1 + the number of a string. */
typedef struct index_table {
    int64_t slots; /* a power of two above twice the strings */
    int32_t *slot;
} index_table;

/* The slot of a string: where it is, or where it belongs. */
static int64_t find(const index_table *table, const lh_strings *strings, const uint8_t *letter,
                    int64_t length) {
    int64_t at = (int64_t)(XXH3_64bits(letter, (size_t)length) & (uint64_t)(table->slots - 1));
    for (;; at = (at + 1) & (table->slots - 1)) {
        const int64_t other = table->slot[at] - 1;
        if (other < 0) return at;
        if (strings->length[other] == length &&
            memcmp(lh_strings_at(strings, other), letter, (size_t)length) == 0)
            return at;
    }
}

/* Writes the next candidate behind the strings that there are. */
static void draw_candidate(drawer *d, const lh_strings *strings) {
    d->length = 0;
    d->letter = strings->letter + strings->count * strings->longest;
    d->rules->draw(d);
}

/* Whether the candidate may stay. Parity of an odd number of 1s gets one more, if it fits. */
static bool is_good(drawer *d, lh_regular_language language) {
    if (d->length < d->shortest || d->length > d->longest) return false;
    if (lh_regular_language_has(language, d->letter, d->length)) return true;
    if (language != LH_PARITY || d->length == d->longest) return false;
    put(d, 1, 1);
    return true;
}

static void keep(const drawer *d, index_table *table, lh_strings *strings) {
    const int64_t at = find(table, strings, d->letter, d->length);
    strings->length[strings->count++] = d->length;
    if (table->slot[at] != 0) return;
    table->slot[at] = (int32_t)strings->count;
    strings->distinct += 1;
}

static lh_status draw_all(drawer *d, lh_regular_language language, int64_t count,
                          index_table *table, lh_strings *out) {
    bool repeating = false;
    int64_t vain = 0;
    for (int64_t refused = 0; out->count < count; ++refused) {
        if (refused == HOPELESS_DRAWS)
            return lh_fail(LH_EOPTION, "%s: found no string of %lld to %lld letters",
                           lh_regular_language_names[language], (long long)d->shortest,
                           (long long)d->longest);
        draw_candidate(d, out);
        if (d->length > d->longest) continue;
        if (!repeating && table->slot[find(table, out, d->letter, d->length)] != 0) {
            repeating = ++vain == VAIN_DRAWS;
        } else if (is_good(d, language)) {
            keep(d, table, out);
            vain = refused = 0;
        }
    }
    return LH_OK;
}

/* A random order (Durstenfeld 1964). `d->letter` is free by now. */
static void shuffle(drawer *d, lh_strings *strings, uint8_t *spare) {
    const size_t row = (size_t)strings->longest;
    for (int64_t last = strings->count - 1; last > 0; --last) {
        const int64_t other = lh_draw(&d->draws, last + 1), length = strings->length[last];
        uint8_t *a = strings->letter + last * strings->longest;
        uint8_t *b = strings->letter + other * strings->longest;
        memcpy(spare, a, row);
        memmove(a, b, row);
        memcpy(b, spare, row);
        strings->length[last] = strings->length[other];
        strings->length[other] = length;
    }
}

lh_status lh_strings_draw(lh_regular_language language, int64_t shortest, int64_t longest,
                          int64_t count, lh_random_key key, lh_strings *out) {
    drawer d = {
        .rules = &automata[language], .draws.key = key, .shortest = shortest, .longest = longest};
    index_table table = {.slots = 4};
    while (table.slots <= 2 * count)
        table.slots *= 2;
    *out = (lh_strings){.longest = longest};
    /* One row more: where candidates are written. */
    out->letter = lh_allocate_zeroed((size_t)(count + 1), (size_t)longest);
    out->length = lh_allocate_zeroed((size_t)count, sizeof *out->length);
    table.slot = lh_allocate_zeroed((size_t)table.slots, sizeof *table.slot);
    lh_status status = out->letter && out->length && table.slot ? LH_OK : LH_EMEMORY;
    if (status == LH_OK) status = draw_all(&d, language, count, &table, out);
    if (status == LH_OK && d.rules->shuffled) shuffle(&d, out, out->letter + count * out->longest);
    free(table.slot);
    return status;
}

void lh_strings_clear(lh_strings *strings) {
    free(strings->length);
    free(strings->letter);
    *strings = (lh_strings){0};
}
