/* Weights first, then inputs and errors step by step, all from one row of draws. */
#include "datasets/generate/network_sequences.h"

#include <math.h>
#include <string.h>

#include "harness/engine/draw.h"

enum { WIDTH = LH_SIMULATED_WIDTH, LAYERS = LH_SIMULATED_LAYERS };

const char *const lh_simulated_activations[] = {"tanh", "sigmoid", "relu", NULL};

static const double bias_scale = 0.1;

typedef struct weights {
    double own[WIDTH * WIDTH], input[WIDTH * WIDTH], bias[WIDTH]; /* W_h, W_z, b */
} weights;

double lh_spectral_norm(const double *m) {
    return 0.5 * (hypot(m[0] + m[3], m[2] - m[1]) + hypot(m[0] - m[3], m[1] + m[2]));
}

static void draw_weights(lh_draws *d, double norm, weights *w) {
    for (int i = 0; i < WIDTH * WIDTH; ++i) {
        w->own[i] = lh_draw_normal(d);
        w->input[i] = lh_draw_normal(d);
    }
    for (int i = 0; i < WIDTH; ++i)
        w->bias[i] = bias_scale * lh_draw_normal(d);
    const double scale = norm / lh_spectral_norm(w->own);
    for (int i = 0; i < WIDTH * WIDTH; ++i)
        w->own[i] *= scale;
}

static double activate(int activation, double h) {
    switch (activation) {
    case 0:
        return tanh(h);
    case 1:
        return 1.0 / (1.0 + exp(-h));
    default:
        return h > 0 ? h : 0;
    }
}

/* z <- the next state of a layer with input `below`. */
static void step(const lh_simulated_network *network, const weights *w, const double *below,
                 double *z) {
    double next[WIDTH];
    for (int i = 0; i < WIDTH; ++i) {
        double h = w->bias[i];
        for (int k = 0; k < WIDTH; ++k)
            h += w->own[i * WIDTH + k] * z[k] + w->input[i * WIDTH + k] * below[k];
        next[i] = network->alpha * activate(network->activation, h) + (1 - network->alpha) * h;
    }
    memcpy(z, next, sizeof next);
}

void lh_simulated_network_write(const lh_simulated_network *network, lh_random_key key,
                                int64_t count, real *x, real *y) {
    lh_draws d = {.key = key};
    weights w[LAYERS];
    double z[LAYERS][WIDTH] = {{0}};
    for (int l = 0; l < LAYERS; ++l)
        draw_weights(&d, network->norm, &w[l]);
    for (int64_t t = 0; t < count; ++t) {
        double below[WIDTH];
        for (int i = 0; i < WIDTH; ++i) {
            below[i] = lh_draw_normal(&d);
            x[t * WIDTH + i] = (real)below[i];
        }
        for (int l = 0; l < LAYERS; ++l)
            step(network, &w[l], l == 0 ? below : z[l - 1], z[l]);
        for (int i = 0; i < WIDTH; ++i)
            y[t * WIDTH + i] = (real)(z[LAYERS - 1][i] + lh_draw_normal(&d));
    }
}
