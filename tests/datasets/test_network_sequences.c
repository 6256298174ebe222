/* Properties that sequences of the simulated network have, whatever its weights. */
#include "datasets/generate/network_sequences.h"

#include "tests/test.h"

enum { COUNT = 500, SIZE = COUNT * LH_SIMULATED_WIDTH };

typedef struct sequence {
    real x[SIZE], y[SIZE];
} sequence;

static sequence sequence_of(int activation, double alpha, uint64_t seed) {
    sequence s;
    const lh_simulated_network network = {.activation = activation, .alpha = alpha, .norm = 0.8};
    const lh_random_key key = {.seed = seed, .stream = LH_STREAM_DATA};
    lh_simulated_network_write(&network, key, COUNT, s.x, s.y);
    return s;
}

TEST(spectral_norm_of_known_matrices) {
    static const double turn[] = {0.6, -0.8, 0.8, 0.6}, stretch[] = {0, 2, -3, 0},
                        shear[] = {1, 1, 0, 1};
    CHECK_NEAR(lh_spectral_norm(turn), 1, 1e-12);
    CHECK_NEAR(lh_spectral_norm(stretch), 3, 1e-12);
    CHECK_NEAR(lh_spectral_norm(shear), 0.5 * (1 + sqrt(5)), 1e-12);
}

/* With alpha 0 the function is not used; inputs are the same for all. */
TEST(alpha_alone_lets_the_activation_in) {
    const sequence linear = sequence_of(0, 0, 3), other = sequence_of(2, 0, 3),
                   half = sequence_of(2, 0.5, 3), again = sequence_of(2, 0.5, 3),
                   seed = sequence_of(2, 0.5, 4);
    CHECK(memcmp(linear.y, other.y, sizeof linear.y) == 0);
    CHECK(memcmp(linear.x, half.x, sizeof linear.x) == 0);
    CHECK(memcmp(linear.y, half.y, sizeof linear.y) != 0);
    CHECK(memcmp(half.y, again.y, sizeof half.y) == 0);
    CHECK(memcmp(half.x, seed.x, sizeof half.x) != 0);
}

/* The errors are the same for all, so differences are those of the states: tanh lies in (-1, 1),
 * the sigmoid in (0, 1). */
TEST(states_stay_in_the_range_of_the_activation) {
    const sequence tanhs = sequence_of(0, 1, 5), sigmoids = sequence_of(1, 1, 5);
    double least = 0, most = 0;
    for (int i = 0; i < SIZE; ++i) {
        const double apart = (double)sigmoids.y[i] - (double)tanhs.y[i];
        least = apart < least ? apart : least;
        most = apart > most ? apart : most;
    }
    CHECK(least > -1 && most < 2);
    CHECK(most > 0.5);
}

/* The first step has no past: what recurrent weights are there shows in the later ones alone. */
TEST(the_norm_scales_what_comes_from_the_past) {
    sequence s, t;
    const lh_random_key key = {.seed = 6, .stream = LH_STREAM_DATA};
    const lh_simulated_network none = {.norm = 0}, some = {.norm = 0.8};
    lh_simulated_network_write(&none, key, COUNT, s.x, s.y);
    lh_simulated_network_write(&some, key, COUNT, t.x, t.y);
    CHECK(memcmp(s.x, t.x, sizeof s.x) == 0);
    CHECK(memcmp(s.y, t.y, LH_SIMULATED_WIDTH * sizeof *s.y) == 0);
    CHECK(memcmp(s.y, t.y, sizeof s.y) != 0);
}

/* Without a past, max(h, 0) - h is never negative where a layer reads the same input either way;
 * the second layer reads what max made of the first, and may come out below. */
TEST(the_second_layer_reads_the_first) {
    const lh_simulated_network linear = {.activation = 2},
                               rectified = {.activation = 2, .alpha = 1};
    int below = 0, above = 0;
    for (uint64_t seed = 0; seed < 20; ++seed) {
        sequence s, t;
        const lh_random_key key = {.seed = seed, .stream = LH_STREAM_DATA};
        lh_simulated_network_write(&linear, key, COUNT, s.x, s.y);
        lh_simulated_network_write(&rectified, key, COUNT, t.x, t.y);
        for (int i = 0; i < SIZE; ++i) {
            below += (double)t.y[i] - (double)s.y[i] < -0.01;
            above += (double)t.y[i] - (double)s.y[i] > 0.01;
        }
    }
    CHECK(above > 20 * SIZE / 10);
    CHECK(below > 20 * SIZE / 50);
}

/* A spectral norm of 0.8 in both layers: nothing explodes, with ReLU neither. */
TEST(sequences_are_stable) {
    for (uint64_t seed = 0; seed < 40; ++seed) {
        const sequence s = sequence_of(2, 0.5 * (double)(seed % 3), seed / 3);
        double largest = 0;
        for (int i = 0; i < SIZE; ++i)
            largest = fmax(largest, fabs((double)s.y[i]));
        CHECK(largest > 1 && largest < 200);
    }
}
