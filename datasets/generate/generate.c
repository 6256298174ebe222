/* A story draws its facts, then tells templates about them until it is long enough. */
#include "datasets/generate/generate.h"

#include <stdlib.h>
#include <string.h>

#include "harness/engine/draw.h"
#include "harness/engine/text.h"

/* How often a template stays with the entity of the one before, and a list gives the document's
 * favourite. */
enum { STICKY_PERCENT = 60, FAVOURITE_PERCENT = 85, LIST_WORDS = 64 };

typedef struct story {
    const lh_story_kind *kind;
    lh_draws draws;
    char word[LH_STORY_ATTRIBUTES][LH_STORY_ENTITIES][LH_STORY_WORD];
    uint8_t order[LH_STORY_ATTRIBUTES][LIST_WORDS]; /* the document's favourites, best first */
    int current, other;
    lh_text text;
    size_t line_start;
    lh_status status;
} story;

/* ---- drawing ---- */

static int count_words(const char *const *words) {
    int count = 0;
    while (words[count] != NULL && count < LIST_WORDS)
        count += 1;
    return count;
}

/* Two or three syllables of consonant and vowel: few letters, easily spelt, rarely the same twice.
 */
static void invent_name(story *s, bool capital, const char *prefix, char *out) {
    static const char consonants[] = "bdfgklmnprstvz", vowels[] = "aeiou";
    const uint32_t syllables = 2 + lh_draw(&s->draws, 2);
    size_t used = strlen(prefix);
    memcpy(out, prefix, used);
    const size_t first = used;
    for (uint32_t i = 0; i < syllables; ++i) {
        out[used++] = consonants[lh_draw(&s->draws, sizeof consonants - 1)];
        out[used++] = vowels[lh_draw(&s->draws, sizeof vowels - 1)];
    }
    if (capital) out[first] = (char)(out[first] - 'a' + 'A');
    out[used] = '\0';
}

static bool is_taken(const story *s, int attribute, int entity) {
    for (int e = 0; e < entity; ++e) {
        if (strcmp(s->word[attribute][e], s->word[attribute][entity]) == 0) return true;
    }
    return false;
}

static void draw_attribute(story *s, const lh_story_attribute *a, int entity) {
    const int index = a->letter - 'a';
    char *out = s->word[index][entity];
    do {
        if (a->words == NULL) {
            invent_name(s, a->capital, a->prefix, out);
        } else {
            const char *word = a->words[lh_draw(&s->draws, (uint32_t)count_words(a->words))];
            memcpy(out, word, strlen(word) + 1);
        }
    } while (is_taken(s, index, entity));
}

/* A random order of the list's words (Fisher and Yates): the document's favourites. */
static void draw_order(story *s, const lh_story_list *list) {
    uint8_t *order = s->order[list->letter - 'a'];
    const int count = count_words(list->words);
    for (int i = 0; i < count; ++i)
        order[i] = (uint8_t)i;
    for (int i = count - 1; i > 0; --i) {
        const uint32_t j = lh_draw(&s->draws, (uint32_t)i + 1);
        const uint8_t kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

static void draw_facts(story *s) {
    for (const lh_story_attribute *a = s->kind->attributes; a->letter != '\0'; ++a) {
        for (int e = 0; e < LH_STORY_ENTITIES; ++e)
            draw_attribute(s, a, e);
    }
    for (const lh_story_list *list = s->kind->lists; list->letter != '\0'; ++list) {
        draw_order(s, list);
    }
}

/* ---- writing ---- */

static void put(story *s, char c) {
    const int width = s->kind->line_width;
    if (c == ' ' && width > 0 && s->text.bytes - s->line_start >= (size_t)width) c = '\n';
    if (s->status == LH_OK) s->status = lh_text_add(&s->text, &c, 1);
    if (c == '\n') s->line_start = s->text.bytes;
}

static void put_text(story *s, const char *text) {
    while (*text != '\0')
        put(s, *text++);
}

static const char *const *words_of(const story *s, char letter) {
    const lh_story_list *list = s->kind->lists;
    while (list->letter != letter)
        list += 1;
    return list->words;
}

static const char *favourite(story *s, char letter) {
    const char *const *words = words_of(s, letter);
    const uint8_t *order = s->order[letter - 'a'];
    const int count = count_words(words);
    if (lh_draw(&s->draws, 100) < FAVOURITE_PERCENT) return words[order[0]];
    return words[order[lh_draw(&s->draws, (uint32_t)count)]];
}

static void expand(story *s, const char *template) {
    for (const char *at = template; *at != '\0'; ++at) {
        const bool last = at[1] == '\0';
        if (*at == '~' && !last) {
            put(s, *++at);
        } else if (*at == '%' && !last) {
            put_text(s, s->word[*++at - 'a'][s->current]);
        } else if (*at == '^' && !last) {
            put_text(s, s->word[*++at - 'a'][s->other]);
        } else if (*at == '#' && !last) {
            put_text(s, favourite(s, *++at));
        } else {
            put(s, *at);
        }
    }
}

/* Mostly the same entity as before, else any: mentions near and far. */
static void move_on(story *s) {
    if (lh_draw(&s->draws, 100) >= STICKY_PERCENT)
        s->current = (int)lh_draw(&s->draws, LH_STORY_ENTITIES);
    s->other =
        (s->current + 1 + (int)lh_draw(&s->draws, LH_STORY_ENTITIES - 1)) % LH_STORY_ENTITIES;
}

static void write_story(story *s, size_t target) {
    const int templates = count_words(s->kind->body);
    for (int e = 0; e < LH_STORY_ENTITIES; ++e) {
        s->current = e;
        s->other = (e + 1) % LH_STORY_ENTITIES;
        for (int i = 0; s->kind->opening[i] != NULL; ++i)
            expand(s, s->kind->opening[i]);
    }
    while (s->text.bytes + 1 < target && s->status == LH_OK) {
        move_on(s);
        expand(s, s->kind->body[lh_draw(&s->draws, (uint32_t)templates)]);
    }
    put(s, '\n');
}

lh_status lh_generate_document(lh_text_kind kind, uint64_t seed, uint64_t index,
                               size_t target_bytes, char **text, size_t *bytes) {
    static const lh_story_kind *const kinds[] = {&lh_story_books, &lh_story_latex, &lh_story_code};
    if ((size_t)kind >= sizeof kinds / sizeof kinds[0]) {
        return lh_fail(LH_EOPTION, "generate: no kind of text %d; there are books, latex, code",
                       (int)kind);
    }
    story *s = lh_allocate_zeroed(1, sizeof *s);
    if (s == NULL) return LH_EMEMORY;
    s->kind = kinds[kind];
    s->draws.key = (lh_random_key){
        .seed = seed, .step = index, .stream = LH_STREAM_DATA, .op = (uint32_t)kind};
    draw_facts(s);
    write_story(s, target_bytes);
    const lh_status status = s->status;
    if (status == LH_OK) {
        *text = s->text.data;
        *bytes = s->text.bytes;
    } else {
        free(s->text.data);
    }
    free(s);
    return status;
}
