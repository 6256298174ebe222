/* The embedded generator of time series. Each channel is a daily season with a second harmonic, a
 * weekly and a yearly one, whose strengths drift slowly, on top of correlated noise; every third
 * channel follows the one before it a day later, so that looking back pays. */
#include "datasets/generate/generate_series.h"

#include <math.h>

#include "kernels/random.h"

static const double turn = 6.283185307179586;

/* Uniform in [low, high): draw `index` of the series' key. */
static double uniform(lh_random_key key, uint64_t index, double low, double high) {
    return low + (high - low) * (double)lh_random_unit(lh_random_word(key, index));
}

/* Variance 1: the sum of twelve uniform numbers. */
static double normal(lh_random_key key, uint64_t index) {
    double sum = -6.0;
    for (uint64_t i = 0; i < 12; ++i)
        sum += uniform(key, 12 * index + i, 0.0, 1.0);
    return sum;
}

/* What a channel is made of; seasons in the order of `days`. */
enum { SEASONS = 4 };
static const double days[SEASONS] = {1.0, 0.5, 7.0, 365.0};

typedef struct channel {
    double strength[SEASONS], phase[SEASONS];
    double noise, drift; /* the running values */
    double mean, scale;
} channel;

static channel draw_channel(lh_random_key key) {
    static const double most[SEASONS] = {1.2, 0.5, 0.6, 0.8};
    channel c = {.mean = uniform(key, 0, -5.0, 20.0), .scale = uniform(key, 1, 1.0, 8.0)};
    for (uint64_t s = 0; s < SEASONS; ++s) {
        c.strength[s] = uniform(key, 2 + 2 * s, 0.3, 1.0) * most[s];
        c.phase[s] = uniform(key, 3 + 2 * s, 0.0, 1.0);
    }
    return c;
}

/* The channel's value before mean and scale, `day` days after the start. */
static double advance(channel *c, lh_random_key key, int64_t row, double day) {
    double value = 0.0;
    c->noise = 0.9 * c->noise + 0.15 * normal(key, (uint64_t)(2 * row));
    c->drift = 0.999 * c->drift + 0.02 * normal(key, (uint64_t)(2 * row + 1));
    for (int s = 0; s < SEASONS; ++s)
        value += c->strength[s] * (1.0 + c->drift) * sin(turn * (day / days[s] + c->phase[s]));
    return value + c->noise;
}

/* Channel 0, 1, 3, 4 ... of their own; 2, 5, 8 ... half that of the channel before, a day earlier.
 */
static void fill_channel(uint64_t seed, int64_t index, const lh_generated_series *of,
                         double *values) {
    const lh_random_key shape = {.seed = seed, .stream = LH_STREAM_DATA, .op = (uint32_t)index},
                        noise = {.seed = seed,
                                 .step = 1,
                                 .stream = LH_STREAM_DATA,
                                 .op = (uint32_t)index};
    const int64_t day = 86400 / of->step;
    channel c = draw_channel(shape);
    for (int64_t row = 0; row < of->rows; ++row) {
        double value = advance(&c, noise, row, (double)(row * of->step) / 86400.0);
        double *cell = values + row * of->channels + index;
        if (index % 3 == 2 && row >= day) {
            const double before = cell[-day * of->channels - 1];
            value = 0.4 * value + (before - values[index - 1]) / c.scale;
        }
        *cell = c.mean + c.scale * value;
    }
}

void lh_generate_series(uint64_t seed, const lh_generated_series *of, double *values) {
    for (int64_t c = 0; c < of->channels; ++c)
        fill_channel(seed, c, of, values);
}
