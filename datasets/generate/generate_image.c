/* A picture is a gradient with tiles on it, mirrored, in few levels and with a bit of noise. */
#include "datasets/generate/generate_image.h"

#include "harness/engine/draw.h"

/* A tile is a quarter of the image's side; its pattern has four colours. A channel has 16 levels.
 */
enum { CHANNELS = 3, COLOURS = 4, CELLS = 4, MOST_TILE = 64, LEVEL = 16 };

typedef struct scene {
    lh_draws draws;
    int64_t side, tile;
    uint8_t colour[COLOURS][CHANNELS], top[CHANNELS], bottom[CHANNELS];
    uint8_t across[MOST_TILE], down[MOST_TILE]; /* the pattern: their sum is a colour's number */
    bool tiled[CELLS][CELLS / 2];               /* cells of the left half with a tile */
} scene;

static void draw_colour(scene *s, uint8_t colour[CHANNELS]) {
    for (int c = 0; c < CHANNELS; ++c)
        colour[c] = (uint8_t)lh_draw(&s->draws, 256);
}

static void draw_scene(scene *s) {
    draw_colour(s, s->top);
    draw_colour(s, s->bottom);
    for (int i = 0; i < COLOURS; ++i)
        draw_colour(s, s->colour[i]);
    for (int64_t i = 0; i < s->tile; ++i) {
        s->across[i] = (uint8_t)lh_draw(&s->draws, COLOURS);
        s->down[i] = (uint8_t)lh_draw(&s->draws, COLOURS);
    }
    for (int row = 0; row < CELLS; ++row) {
        for (int column = 0; column < CELLS / 2; ++column)
            s->tiled[row][column] = lh_draw(&s->draws, 2) == 1;
    }
}

static uint8_t channel_at(const scene *s, int64_t y, int64_t x, int c) {
    const int64_t left = lh_min(x, s->side - 1 - x);
    if (s->tiled[y / s->tile % CELLS][left / s->tile % (CELLS / 2)])
        return s->colour[(s->across[left % s->tile] + s->down[y % s->tile]) % COLOURS][c];
    return (uint8_t)((s->top[c] * (s->side - 1 - y) + s->bottom[c] * y) / (s->side - 1));
}

void lh_generate_image(uint64_t seed, uint64_t index, int64_t side, uint8_t *pixels) {
    scene s = {.draws.key = {.seed = seed, .step = index, .stream = LH_STREAM_DATA},
               .side = side,
               .tile = side / CELLS};
    draw_scene(&s);
    for (int64_t i = 0; i < side * side * CHANNELS; ++i) {
        const int64_t y = i / (side * CHANNELS), x = i / CHANNELS % side;
        const uint8_t value = channel_at(&s, y, x, (int)(i % CHANNELS));
        pixels[i] = (uint8_t)(value / LEVEL * LEVEL + lh_draw(&s.draws, 2));
    }
}
