/* Sequences of a two-layer recurrent network that is linear to any degree (Huang et al. 2023, eq. 9
 * and appendix B.2):
 *
 *   h_t^i = W_h^i z_{t-1}^i + W_z^i z_t^{i-1} + b^i,    z_t^i = alpha g(h_t^i) + (1 - alpha) h_t^i,
 *   z_t^0 = x_t,    y_t = z_t^2 + e_t,
 *
 * all vectors of width two, x and e standard normal. The paper does not give the weights: entries
 * are drawn from N(0, 1), W_h scaled to a spectral norm, b a tenth. No g here is steeper than 1, so
 * that below 1 a step forgets where it began, with any alpha; a spectral radius does not promise
 * that. */
#ifndef LH_DATASETS_NETWORK_SEQUENCES_H
#define LH_DATASETS_NETWORK_SEQUENCES_H

#include "harness/engine/error.h"
#include "kernels/random.h"

enum { LH_SIMULATED_WIDTH = 2, LH_SIMULATED_LAYERS = 2 };

/* See lh_digest_generated. */
enum { LH_SIMULATED_NETWORK_VERSION = 1 };

/* "tanh", "sigmoid", "relu", NULL: what g may be. */
extern const char *const lh_simulated_activations[];

typedef struct lh_simulated_network {
    int activation; /* index into lh_simulated_activations */
    double alpha;   /* share of what is not linear, 0..1 */
    double norm;    /* spectral norm of both W_h */
} lh_simulated_network;

/* The larger singular value of a 2 x 2 matrix. */
double lh_spectral_norm(const double *matrix);

/* Writes `count` steps of x and y [count][LH_SIMULATED_WIDTH] from z_0 = 0. Weights, inputs and
 * errors depend on the key alone, so that alpha and g change nothing else. */
void lh_simulated_network_write(const lh_simulated_network *network, lh_random_key key,
                                int64_t count, real *x, real *y);

#endif
