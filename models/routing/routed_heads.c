/* Routing attention: clusters are taken, gathered, attended in, and added up where their tokens
 * stand. */
#include "models/routing/routed_heads.h"

#include <math.h>

#include "models/layers/common.h"

static const char *const overlap_names[] = {"sum", "mean", NULL};

const lh_option lh_routing_config_options[] = {
    LH_INTEGER("clusters", lh_routing_config, clusters, 16, 1, 1e6, "centroids of each head (k)"),
    LH_INTEGER("routing_window", lh_routing_config, window, 0, 0, 1e9,
               "tokens that a centroid takes (w); 0: length / clusters, rounded up"),
    LH_INTEGER("longest_distance", lh_routing_config, longest_distance, 512, 0, 1e6,
               "places between two tokens of a cluster; larger ones count as this one"),
    LH_CHOICE("overlap", lh_routing_config, overlap, LH_ROUTING_SUM, overlap_names,
              "what a token of several clusters gets: their sum, or as released that divided by "
              "their number + 0.01"),
    LH_REAL("routing_scale", lh_routing_config, scale, 0, 0, 1e6,
            "what products of unit queries and keys are multiplied by; 0: sqrt(head_width), which "
            "is eq. 1 of layer-normed ones; head_width as released"),
    LH_REAL("centroid_decay", lh_routing_config, decay, 0.999, 0, 1,
            "what a centroid keeps of itself in each segment of training (lambda)"),
    {0}};

/* Tokens of a cluster, in segments of this length. */
static int64_t tokens_of_cluster(const lh_routing_config *config, int64_t length) {
    const int64_t balanced = (length + config->clusters - 1) / config->clusters;
    const int64_t top = config->window > 0 ? config->window : balanced;
    return top < length ? top : length;
}

void lh_routed_heads_declare(lh_routed_heads *routed, const lh_routing_config *config,
                             lh_init positions, lh_declare *declaration, const char *prefix) {
    const int64_t width = routed->head_width,
                  centroids[] = {routed->heads, config->clusters, width},
                  table[] = {config->longest_distance + 1, width};
    const lh_init unit = lh_init_normal(1.0 / sqrt((double)width));
    routed->positions =
        lh_declare_param(declaration, positions, 2, table, "%s.routing_positions", prefix);
    routed->centroids = lh_declare_param(declaration, unit, 3, centroids, "%s.centroids", prefix);
    lh_declare_statistic(declaration);
}

/* ---- forward ---- */

/* One pass: tokens of all heads lie as [heads][batch][length], which is what an index counts. */
typedef struct run {
    const lh_routed_heads *routed;
    const lh_routing_config *config;
    lh_pass *pass;
    lh_tape *tape;
    int64_t batch, length, tokens; /* tokens of all heads and batch rows */
} run;

/* x [batch][length][heads][width] -> [tokens][width]. */
static lh_tensor *as_tokens(const run *r, lh_tensor *x) {
    static const int order[] = {2, 0, 1, 3};
    const int64_t flat[] = {r->tokens, r->routed->head_width};
    x = lh_permute(r->tape, x, order);
    return x != NULL ? lh_reshape(r->tape, x, 2, flat) : NULL;
}

static lh_tensor *from_tokens(const run *r, lh_tensor *y) {
    static const int order[] = {1, 2, 0, 3};
    const lh_routed_heads *routed = r->routed;
    const int64_t shape[] = {routed->heads, r->batch, r->length, routed->head_width};
    if (y == NULL) return NULL;
    return lh_permute(r->tape, lh_reshape(r->tape, y, 4, shape), order);
}

/* u = LayerNorm(q) / sqrt(head_width). */
static lh_tensor *unit_queries(const run *r, lh_tensor *q) {
    static const double epsilon = 1e-6;
    const int64_t width = r->routed->head_width;
    lh_tensor *gain = lh_filled(r->tape, 1, &width, 1.0 / sqrt((double)width));
    return lh_layer_norm(r->tape, q, gain, NULL, epsilon);
}

/* 1 / (count + more). */
static lh_tensor *inverse(const run *r, lh_tensor *count, double more) {
    const int64_t one = 1;
    lh_tensor *sum = lh_add_row(r->tape, count, lh_filled(r->tape, 1, &one, more));
    return lh_unary(r->tape, LH_UNARY_SQUARE, lh_unary(r->tape, LH_UNARY_RSQRT, sum));
}

/* How often each of `entries` stands in the index. */
static lh_tensor *count_index(const run *r, lh_tensor *index, int64_t entries) {
    if (index == NULL) return NULL;
    const int64_t shape[] = {lh_tensor_count(index), 1};
    return lh_scatter_add(r->tape, lh_filled(r->tape, 2, shape, 1.0), index, entries);
}

/* mu + (1 - decay) (mean of its tokens - mu), from u [heads][batch * length][width] and its scores.
 * The mean is made as a sum over a number; without tokens both differences are zero, and the small
 * addend, which changes no other number, keeps them so. */
static lh_status move_centroids(const run *r, lh_tensor *u, lh_tensor *score) {
    static const double small = 1e-12;
    lh_tape *tape = r->tape;
    lh_tensor *mu = lh_pass_param(r->pass, r->routed->centroids);
    if (u == NULL || score == NULL || mu == NULL) return lh_failed();
    const int64_t all = mu->shape[0] * mu->shape[1], flat[] = {all, mu->shape[2]};
    lh_tensor *nearest = lh_top_tokens(tape, score, 1, score->shape[1]);
    lh_tensor *count = count_index(r, nearest, all);
    lh_tensor *sum = lh_scatter_add(tape, u, nearest, all);
    lh_tensor *own = lh_reshape(tape, mu, 2, flat);
    lh_tensor *away = lh_subtract(tape, sum, lh_multiply_column(tape, own, count));
    away = lh_multiply_column(tape, away, inverse(r, count, small));
    lh_tensor *next = lh_add(tape, own, lh_scale(tape, away, 1.0 - r->config->decay));
    if (next == NULL) return lh_failed();
    return lh_pass_set_statistic(r->pass, r->routed->centroids,
                                 lh_reshape(tape, next, 3, mu->shape));
}

/* The tokens that each centroid takes, i32 [heads][batch][clusters][top]. */
static lh_tensor *take_tokens(const run *r, lh_tensor *u) {
    static const int order[] = {0, 1, 3, 2};
    lh_tape *tape = r->tape;
    const lh_routed_heads *routed = r->routed;
    const int64_t clusters = r->config->clusters,
                  by_head[] = {routed->heads, r->batch * r->length, routed->head_width},
                  split[] = {routed->heads, r->batch, r->length, clusters};
    u = lh_convert(tape, lh_detach(tape, u), LH_REAL);
    if (u == NULL) return NULL;
    u = lh_reshape(tape, u, 3, by_head);
    lh_tensor *score = lh_matmul(tape, u, lh_pass_param(r->pass, routed->centroids), false, true);
    if (lh_pass_is_training(r->pass) && move_centroids(r, u, score) != LH_OK) return NULL;
    if (score == NULL) return NULL;
    score = lh_permute(tape, lh_reshape(tape, score, 4, split), order);
    return lh_top_tokens(tape, score, tokens_of_cluster(r->config, r->length), clusters);
}

/* Attention of the taken tokens, each cluster a batch row with one head: [taken][width]. */
static lh_tensor *attend_clusters(const run *r, lh_tensor *u, lh_tensor *v, lh_tensor *taken) {
    lh_tape *tape = r->tape;
    if (taken == NULL) return NULL;
    const int64_t width = r->routed->head_width, top = taken->shape[3],
                  clusters[] = {-1, top, 1, width}, flat[] = {-1, width};
    const double scale = r->config->scale > 0 ? r->config->scale : sqrt((double)width);
    lh_tensor *q = lh_gather(tape, u, taken), *values = lh_gather(tape, v, taken);
    if (q == NULL || values == NULL) return NULL;
    q = lh_reshape(tape, q, 4, clusters);
    lh_attention attention = LH_ATTENTION;
    attention.scale = scale;
    attention.min_distance = 0;
    attention.positions = lh_pass_param(r->pass, r->routed->positions);
    attention.keys[attention.key_count++] =
        (lh_keys){.k = lh_scale(tape, q, 1.0), /* with a gradient of its own */
                  .v = lh_reshape(tape, values, 4, clusters)};
    lh_tensor *y = lh_attend(tape, &attention, q);
    return y != NULL ? lh_reshape(tape, y, 2, flat) : NULL;
}

lh_tensor *lh_routed_heads_attend(const lh_routed_heads *routed, const lh_routing_config *config,
                                  lh_pass *pass, lh_tensor *q, lh_tensor *v) {
    if (q == NULL || v == NULL) return NULL;
    const run r = {.routed = routed,
                   .config = config,
                   .pass = pass,
                   .tape = lh_pass_tape(pass),
                   .batch = q->shape[0],
                   .length = q->shape[1],
                   .tokens = routed->heads * q->shape[0] * q->shape[1]};
    const lh_scope scope = lh_scope_open(r.tape);
    lh_tensor *u = as_tokens(&r, unit_queries(&r, q));
    lh_tensor *taken = u != NULL ? take_tokens(&r, u) : NULL;
    lh_tensor *y = attend_clusters(&r, u, as_tokens(&r, v), taken);
    y = lh_scatter_add(r.tape, y, taken, r.tokens);
    if (config->overlap == LH_ROUTING_MEAN)
        y = lh_multiply_column(r.tape, y, inverse(&r, count_index(&r, taken, r.tokens), 0.01));
    return lh_scope_close(r.tape, scope, from_tokens(&r, y));
}

double lh_routed_head_flops(const lh_routing_config *config, int64_t length, int64_t head_width) {
    const double top = (double)tokens_of_cluster(config, length),
                 clusters = (double)config->clusters;
    const double pairs = clusters * 0.5 * top * (top + 1.0);
    /* Scores, mixing and position vectors of the pairs, and scores of the centroids. */
    return 2.0 * (double)head_width * (3.0 * pairs + clusters * (double)length);
}
