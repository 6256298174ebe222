/* Following a recurrent network that is linear to any degree (Huang et al. 2023, appendix B.2 and
 * Figure 6): vectors x_t in, y_t out.
 *
 * One long sequence is cut into segments, the rows of every batch; all steps of a segment but the
 * last are trained on, and the last is what every split scores. The run's seed chooses the weights
 * and the sequence. */
#include "harness/tasks/tasks.h"

#include <stdlib.h>

#include "datasets/digest.h"
#include "datasets/generate/network_sequences.h"
#include "harness/engine/text.h"

enum { WIDTH = LH_SIMULATED_WIDTH };

typedef struct simulation {
    lh_simulated_network network;
    int64_t rows, length;
    uint64_t seed;
    bool asked;                 /* the pass has a batch left to give */
    real *x, *y, *train, *last; /* weights of training and of a pass */
    int32_t *starts;
} simulation;

static lh_status open_task(void *instance, uint64_t seed, lh_model_setup *setup) {
    simulation *task = instance;
    task->seed = seed;
    const int64_t steps = task->rows * task->length;
    const size_t bytes = (size_t)(steps * WIDTH) * sizeof *task->x;
    task->x = lh_allocate(bytes);
    task->y = lh_allocate(bytes);
    task->train = lh_allocate(bytes);
    task->last = lh_allocate(bytes);
    task->starts = lh_allocate((size_t)task->rows * sizeof *task->starts);
    if (!task->x || !task->y || !task->train || !task->last || !task->starts) return LH_EMEMORY;
    const lh_random_key key = {.seed = seed, .stream = LH_STREAM_DATA};
    lh_simulated_network_write(&task->network, key, steps, task->x, task->y);
    for (int64_t r = 0; r < task->rows; ++r)
        task->starts[r] = 1;
    for (int64_t i = 0; i < steps * WIDTH; ++i) {
        const bool is_last = (i / WIDTH + 1) % task->length == 0;
        task->train[i] = is_last ? LH_R(0) : LH_R(1);
        task->last[i] = is_last ? LH_R(1) : LH_R(0);
    }
    *setup = (lh_model_setup){.input_features = WIDTH, .output_features = WIDTH};
    return LH_OK;
}

static void close_task(void *instance) {
    simulation *task = instance;
    free(task->x);
    free(task->y);
    free(task->train);
    free(task->last);
    free(task->starts);
}

static void get_shape(const void *instance, int64_t *rows, int64_t *length) {
    const simulation *task = instance;
    *rows = task->rows;
    *length = task->length;
}

static lh_host_batch batch_of(const simulation *task, const real *weights) {
    return (lh_host_batch){.rows = task->rows,
                           .length = task->length,
                           .target_length = task->length,
                           .vectors = task->x,
                           .target_vectors = task->y,
                           .weights = weights,
                           .starts = task->starts};
}

static lh_status train_batch(void *instance, lh_host_batch *out) {
    const simulation *task = instance;
    *out = batch_of(task, task->train);
    return LH_OK;
}

static lh_status evaluate_begin(void *instance, lh_split split) {
    (void)split;
    simulation *task = instance;
    task->asked = true;
    return LH_OK;
}

static lh_status evaluate_batch(void *instance, lh_host_batch *out) {
    simulation *task = instance;
    *out = task->asked ? batch_of(task, task->last) : (lh_host_batch){0};
    task->asked = false;
    return LH_OK;
}

static int get_cursor(const void *instance, int64_t *words) {
    (void)instance;
    (void)words;
    return 0;
}

static lh_status set_cursor(void *instance, const int64_t *words, int count) {
    (void)instance;
    (void)words;
    return count == 0 ? LH_OK : lh_fail(LH_EFORMAT, "data: a position where there is none");
}

static char *describe(const void *instance) {
    const simulation *task = instance;
    return lh_format("%lld segments of %lld steps, %s to %g", (long long)task->rows,
                     (long long)task->length, lh_simulated_activations[task->network.activation],
                     task->network.alpha);
}

/* The seed is the run's own. */
static uint64_t digest(const void *instance) {
    (void)instance;
    return lh_digest_generated(LH_SIMULATED_NETWORK_VERSION, 0);
}

static const lh_option simulation_options[] = {
    LH_CHOICE("activation", simulation, network.activation, 0, lh_simulated_activations,
              "g: tanh, sigmoid or relu"),
    LH_REAL("alpha", simulation, network.alpha, 0.5, 0, 1, "share of what is not linear"),
    LH_REAL("recurrent_norm", simulation, network.norm, 0.8, 0, 1,
            "spectral norm of the true recurrent weights"),
    LH_INTEGER("segments", simulation, rows, 100, 1, 65536, "segments of the sequence"),
    LH_INTEGER("length", simulation, length, 100, 2, 65536, "steps of a segment"),
    {0}};

static const lh_option_table options[] = {LH_OWN_TABLE(simulation), {0}};

const lh_task_class lh_simulated_network_class = {
    .name = "simulated_network",
    .summary = "Follow a recurrent network that is linear to a "
               "degree",
    .options = options,
    .kind = {.input_features = WIDTH, .output_features = WIDTH},
    .instance_size = sizeof(simulation),
    .open = open_task,
    .close = close_task,
    .shape = get_shape,
    .train_batch = train_batch,
    .evaluate_begin = evaluate_begin,
    .evaluate_batch = evaluate_batch,
    .cursor_get = get_cursor,
    .cursor_set = set_cursor,
    .describe = describe,
    .digest = digest};
