/* Functions in C that get memory, check it, use it and give it back. A function has the same four
 * statements for each of its pointers, shuffled together; in a defective one two neighbours of one
 * pointer have changed places. */
#include "datasets/generate/generate_defect.h"

#include <stdio.h>
#include <string.h>

#include "harness/engine/draw.h"

enum { MOST_POINTERS = 3, STATEMENTS = 4, CHECK = 1 };

static const char *const names[] = {"buf",  "ctx",   "node", "frame", "pkt",   "state", "entry",
                                    "task", "block", "page", "queue", "table", "image", "stream"};
static const char *const types[] = {"AVFrame", "Node",  "Packet", "Device", "Request",
                                    "Buffer",  "Inode", "Socket", "Job",    "Region"};
static const char *const verbs[] = {"read",  "parse", "init", "flush", "open",
                                    "write", "merge", "scan", "copy",  "resize"};
static const char *const fields[] = {"size", "flags", "count", "offset", "width", "refs", "level"};
static const char *const fillers[] = {"n += 2;",
                                      "n = n * 3 + 1;",
                                      "if (n > 64) n = 64;",
                                      "for (int i = 0; i < n; i++) n ^= i;",
                                      "trace(n);",
                                      "n = clip(n, 0, 255);"};

typedef struct writer {
    lh_draws draws;
    char *text;
} writer;

#define PICK(w, table) (table)[lh_draw(&(w)->draws, sizeof(table) / sizeof *(table))]

/* The longest function has less than half of the room. */
static void write_text(writer *w, const char *before, const char *text, const char *behind) {
    const size_t used = strlen(w->text);
    (void)snprintf(w->text + used, LH_FUNCTION_BYTES - used, "%s%s%s", before, text, behind);
}

/* A pointer and its statements: get, check, use, release. */
typedef struct pointer {
    const char *name, *type, *field;
    int order[STATEMENTS], done;
} pointer;

static void write_statement(writer *w, const pointer *p) {
    switch (p->order[p->done]) {
    case 0:
        write_text(w, "    ", p->type, " *");
        write_text(w, "", p->name, " = malloc(sizeof *");
        write_text(w, "", p->name, ");\n");
        break;
    case CHECK:
        write_text(w, "    if (!", p->name, ") return -1;\n");
        break;
    case 2:
        write_text(w, "    ", p->name, "->");
        write_text(w, "", p->field, " = n;\n");
        break;
    default:
        write_text(w, "    free(", p->name, ");\n");
    }
}

/* Names differ within a function. */
static void draw_pointers(writer *w, pointer *pointers, int count) {
    const int first = lh_draw(&w->draws, sizeof names / sizeof *names);
    for (int i = 0; i < count; ++i) {
        const size_t name = (size_t)(first + 5 * i) % (sizeof names / sizeof *names);
        pointers[i] = (pointer){.name = names[name],
                                .type = PICK(w, types),
                                .field = PICK(w, fields),
                                .order = {0, 1, 2, 3}};
    }
}

static void write_body(writer *w, pointer *pointers, int count) {
    for (int left = count * STATEMENTS; left > 0;) {
        pointer *p = &pointers[lh_draw(&w->draws, (size_t)count)];
        if (lh_draw(&w->draws, 4) == 0) write_text(w, "    ", PICK(w, fillers), "\n");
        if (p->done == STATEMENTS) continue;
        write_statement(w, p);
        p->done += 1;
        left -= 1;
    }
}

bool lh_generate_function(uint64_t seed, uint64_t index, char text[LH_FUNCTION_BYTES]) {
    writer w = {.draws.key = {.seed = seed, .step = index, .stream = LH_STREAM_DATA}, .text = text};
    pointer pointers[MOST_POINTERS];
    text[0] = '\0';
    const bool defective = lh_draw(&w.draws, 2) == 1;
    const int count = 1 + lh_draw(&w.draws, MOST_POINTERS);
    draw_pointers(&w, pointers, count);
    if (defective) {
        int *order =
            pointers[lh_draw(&w.draws, (size_t)count)].order + CHECK + lh_draw(&w.draws, 2);
        const int swapped = order[0];
        order[0] = order[1];
        order[1] = swapped;
    }
    write_text(&w, "static int ", PICK(&w, verbs), "_");
    write_text(&w, "", PICK(&w, fields), "(int n)\n{\n");
    write_body(&w, pointers, count);
    write_text(&w, "    return n;\n}\n", "", "");
    return defective;
}
