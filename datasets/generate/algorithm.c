/* Programs as the released generator of the Staircase paper writes them: each statement draws its
 * kind uniformly, and draws again, kind and all, when that kind is impossible. */
#include "datasets/generate/algorithm.h"

#include "harness/engine/draw.h"

/* Symbols after the numbers. */
enum { ASSIGN, INCREASE, DECREASE, PRINT, IF, LESS, GREATER, THEN, STOP, END, OPERATORS };

/* "if v < n :" and the longest statement inside, "v = n ;". */
enum { LONGEST_STATEMENT = 9, UNASSIGNED = 0 };

typedef struct program {
    const lh_algorithm *rules;
    lh_draws draws;
    int64_t value[LH_ALGORITHM_VARIABLES]; /* UNASSIGNED or 1 .. largest */
    lh_episode *out;
} program;

int64_t lh_algorithm_vocabulary(const lh_algorithm *rules) {
    return rules->largest + OPERATORS + rules->variables;
}

int64_t lh_algorithm_longest(const lh_algorithm *rules) {
    return rules->statements * LONGEST_STATEMENT + 1;
}

/* ---- drawing and writing ---- */

static int64_t draw_number(program *p) {
    return 1 + lh_draw(&p->draws, p->rules->largest);
}

/* A uniform variable among those that are assigned, or those that are not; -1 when there is none.
 */
static int64_t draw_variable(program *p, bool assigned) {
    int64_t found[LH_ALGORITHM_VARIABLES], count = 0;
    for (int64_t v = 0; v < p->rules->variables; ++v)
        if ((p->value[v] != UNASSIGNED) == assigned) found[count++] = v;
    return count > 0 ? found[lh_draw(&p->draws, count)] : -1;
}

static void write_symbol(program *p, int64_t symbol) {
    lh_episode *out = p->out;
    out->tokens[out->length] = (int32_t)symbol;
    out->labels[out->length++] = LH_UNLABELLED;
}

static void write_operator(program *p, int operator) {
    write_symbol(p, p->rules->largest + operator);
}

static void write_number(program *p, int64_t number) {
    write_symbol(p, number - 1);
}

static void write_variable(program *p, int64_t variable) {
    write_symbol(p, p->rules->largest + OPERATORS + variable);
}

/* ---- statements: each false when its kind is impossible, and then nothing is written ---- */

static bool assign(program *p) {
    const int64_t v = draw_variable(p, false);
    if (v < 0) return false;
    p->value[v] = draw_number(p);
    write_variable(p, v);
    write_operator(p, ASSIGN);
    write_number(p, p->value[v]);
    write_operator(p, STOP);
    return true;
}

static bool step(program *p, int operator) {
    const int64_t v = draw_variable(p, true), limit = operator== INCREASE ? p->rules->largest : 1;
    if (v < 0 || p->value[v] == limit) return false;
    p->value[v] += operator== INCREASE ? 1 : - 1;
    write_variable(p, v);
    write_operator(p, operator);
    write_operator(p, STOP);
    return true;
}

static bool print(program *p) {
    const int64_t v = draw_variable(p, true);
    if (v < 0) return false;
    write_operator(p, PRINT);
    write_variable(p, v);
    write_operator(p, STOP);
    p->out->labels[p->out->length - 1] = (int32_t)(p->value[v] - 1);
    return true;
}

/* An assignment or a step, drawn until one is possible. */
static void write_inner(program *p) {
    bool done = false;
    while (!done) {
        const int64_t kind = lh_draw(&p->draws, 3);
        done = kind == 0 ? assign(p) : step(p, kind == 1 ? INCREASE : DECREASE);
    }
}

/* The inner statement runs when the condition holds; else it is written from a copy of the state.
 */
static void write_guarded(program *p, bool holds) {
    int64_t before[LH_ALGORITHM_VARIABLES];
    for (int v = 0; v < LH_ALGORITHM_VARIABLES; ++v)
        before[v] = p->value[v];
    write_inner(p);
    for (int v = 0; v < LH_ALGORITHM_VARIABLES && !holds; ++v)
        p->value[v] = before[v];
}

static bool condition(program *p) {
    const int64_t left = draw_variable(p, true);
    if (left < 0) return false;
    int64_t right = -1, number = 0;
    if (lh_draw(&p->draws, 2) == 0) {
        const int64_t kept = p->value[left];
        p->value[left] = UNASSIGNED; /* so that the other one is drawn */
        right = draw_variable(p, true);
        p->value[left] = kept;
        if (right < 0) return false;
        number = p->value[right];
    } else {
        number = draw_number(p);
    }
    const bool less = lh_draw(&p->draws, 2) == 0;
    write_operator(p, IF);
    write_variable(p, left);
    write_operator(p, less ? LESS : GREATER);
    if (right >= 0) {
        write_variable(p, right);
    } else {
        write_number(p, number);
    }
    write_operator(p, THEN);
    write_guarded(p, less ? p->value[left] < number : p->value[left] > number);
    return true;
}

static bool statement(program *p) {
    switch (lh_draw(&p->draws, 5)) {
    case 0:
        return assign(p);
    case 1:
        return step(p, INCREASE);
    case 2:
        return step(p, DECREASE);
    case 3:
        return condition(p);
    default:
        return print(p);
    }
}

void lh_algorithm_write(const lh_algorithm *rules, lh_random_key key, lh_episode *out) {
    program p = {.rules = rules, .draws.key = key, .out = out};
    out->length = 0;
    for (int64_t written = 0; written < rules->statements;)
        written += statement(&p) ? 1 : 0;
    write_operator(&p, END);
}
