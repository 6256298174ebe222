/* The agent moves as it is told; walls stop it. */
#include "datasets/generate/random_walk.h"

#include "harness/engine/draw.h"

enum { RESET, FORWARD, LEFT, RIGHT, FIRST_CELL };

typedef struct agent {
    int64_t row, column;
    int heading; /* quarter turns clockwise; 0 faces the last row */
} agent;

int64_t lh_random_walk_vocabulary(const lh_random_walk *rules) {
    return FIRST_CELL + rules->grid * rules->grid;
}

int64_t lh_random_walk_longest(const lh_random_walk *rules) {
    return 1 + rules->steps;
}

static void step_forward(agent *a, int64_t grid) {
    static const int rows[] = {1, 0, -1, 0}, columns[] = {0, -1, 0, 1};
    const int64_t row = a->row + rows[a->heading], column = a->column + columns[a->heading];
    if (row < 0 || row >= grid || column < 0 || column >= grid) return;
    a->row = row;
    a->column = column;
}

static void act(agent *a, int action, int64_t grid) {
    switch (action) {
    case FORWARD:
        step_forward(a, grid);
        break;
    case LEFT:
        a->heading = (a->heading + 3) % 4;
        break;
    default:
        a->heading = (a->heading + 1) % 4;
    }
}

void lh_random_walk_write(const lh_random_walk *rules, lh_random_key key, lh_episode *out) {
    agent a = {0, 0, 0};
    out->length = lh_random_walk_longest(rules);
    out->tokens[0] = RESET;
    out->labels[0] = FIRST_CELL;
    for (int64_t t = 1; t < out->length; ++t) {
        const int action = FORWARD + (int)lh_random_below(key, (uint64_t)t, 3);
        act(&a, action, rules->grid);
        out->tokens[t] = action;
        out->labels[t] = (int32_t)(FIRST_CELL + a.row * rules->grid + a.column);
    }
}
