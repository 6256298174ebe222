/* Which loss teaches what in the Compressive Transformer: the values of its own loss, from
 * tests/oracles/compressive.py, and who learns from it. */
#include "tests/test.h"

#include "tests/models/model_bench.h"

enum { ROWS = 1, BLOCK = 4, TOKENS = 16 };

#define SIZES "dropout=0 layers=2 width=8 heads=2 hidden=12 block=4 "

static const int32_t fresh[] = {1}, going_on[] = {0};

/* The oracle's parameters and tokens. */
static void fill(model_bench *bench, int32_t *tokens) {
    lh_params *params = bench->model->params;
    for (int i = 0; i < lh_params_count(params); ++i) {
        const lh_param *param = lh_params_at(params, i);
        const size_t length = strlen(param->name);
        const bool gain = length >= 4 && strcmp(param->name + length - 4, "gain") == 0;
        int sum = 0;
        for (const char *c = param->name; *c != '\0'; ++c)
            sum += (unsigned char)*c;
        for (int64_t e = 0; e < param->count; ++e) {
            const double value = 0.5 * sin(0.37 * (double)e + 1.3 * (double)(sum % 97) + 0.1);
            lh_tensor_real(param->value)[e] = (real)(gain ? 1.0 + 0.2 * value : value);
        }
    }
    for (int i = 0; i < TOKENS; ++i)
        tokens[i] = (7 * i * i + 3 * i + 1) % BENCH_VOCABULARY;
}

static bool open_filled(model_bench *bench, const char *options, int32_t *tokens) {
    if (!bench_open(bench, "compressive", options, ROWS)) return false;
    fill(bench, tokens);
    return true;
}

/* A training pass over `length` tokens from `at` on; nothing is committed. */
static bool pass(model_bench *bench, const int32_t *tokens, int64_t at, int64_t length,
                 lh_output *out) {
    lh_tape_begin(bench->tape, true, 3, (uint64_t)at);
    return bench_forward(bench, length, tokens + at, at == 0 ? fresh : going_on, true, out) != NULL;
}

/* A segment's loss is the mean of its blocks', however it is split. */
TEST(the_loss_is_the_oracles) {
    static const struct {
        const char *options;
        double loss[4];
    } cases[] = {
        {SIZES "memory=4 compressed_memory=4 compression_rate=2",
         {0.97413660231332966, 3.5864024520829121, 7.4942695401567168, 9.775166672488826}},
        {SIZES "memory=8 compressed_memory=2 compression_rate=4 head_width=3",
         {0.0072235435197577896, 0.0072235435197577896, 0.24563159147859479, 0.029576765020422224}},
        {SIZES "memory=3 compressed_memory=4 compression_rate=2 compression=dilated",
         {3.489975947625211, 5.2651560367108354, 8.7973919645198624, 3.4575157389940436}},
        {SIZES "memory=4 compressed_memory=4 compression_rate=2 compression_loss=auto_encoding",
         {1.9868721576536803, 9.2879953820150831, 7.6848082118202878, 7.6727399854055118}},
        {SIZES "memory=3 compressed_memory=4 compression_rate=2 compression=dilated "
               "compression_loss=auto_encoding",
         {3.1672347079120593, 12.792626020436238, 9.0123197474737999, 3.5332145790522249}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        for (int blocks = 1; blocks <= 4; blocks *= 2) {
            model_bench bench;
            lh_output out;
            int32_t tokens[TOKENS];
            REQUIRE(open_filled(&bench, cases[i].options, tokens));
            for (int b = 0; b < 4; b += blocks) {
                double mean = 0;
                for (int k = 0; k < blocks; ++k)
                    mean += cases[i].loss[b + k] / blocks;
                REQUIRE(pass(&bench, tokens, b * BLOCK, blocks * BLOCK, &out));
                REQUIRE(out.auxiliary_loss != NULL);
                CHECK_NEAR((double)*lh_tensor_real(out.auxiliary_loss), mean, 1e-10);
                REQUIRE_OK(lh_state_commit(bench.state));
            }
            bench_close(&bench);
        }
    }
}

/* Without training, with nothing to learn, or with the task's loss there is none. */
TEST(there_is_no_loss_where_nothing_learns_from_it) {
    static const char *const options[] = {SIZES "compression=mean", SIZES "compression=max",
                                          SIZES "compression_loss=task", SIZES};
    for (int i = 0; i < 4; ++i) {
        model_bench bench;
        lh_output out;
        int32_t tokens[TOKENS];
        REQUIRE(open_filled(&bench, options[i], tokens));
        lh_tape_begin(bench.tape, true, 3, 1);
        REQUIRE(bench_forward(&bench, BLOCK, tokens, fresh, i < 3, &out) != NULL);
        CHECK(out.auxiliary_loss == NULL);
        bench_close(&bench);
    }
}

static bool is_compression(const lh_param *param) {
    return strstr(param->name, "compression.") != NULL;
}

/* The loss of compression in block 2. */
static bool third_block(model_bench *bench, const int32_t *tokens, lh_output *out) {
    return pass(bench, tokens, 2 * BLOCK, BLOCK, out) && out->auxiliary_loss != NULL;
}

/* By how much that loss changes along a parameter's gradient, and that gradient's square. */
static bool climb(model_bench *bench, const int32_t *tokens, const lh_param *param, double *slope,
                  double *squares) {
    const double step = 1e-5;
    const size_t bytes = (size_t)param->count * sizeof(real);
    lh_output out;
    double side[2];
    real *gradient = lh_allocate(bytes), *value = lh_tensor_real(param->value);
    if (gradient == NULL) return false;
    memcpy(gradient, lh_tensor_real(lh_tensor_gradient(param->value)), bytes);
    *squares = 0;
    bool good = true;
    for (int s = 0; s < 2 && good; ++s) {
        for (int64_t e = 0; e < param->count; ++e)
            value[e] += (real)(s == 0 ? step : -2 * step) * gradient[e];
        good = third_block(bench, tokens, &out);
        if (good) side[s] = (double)*lh_tensor_real(out.auxiliary_loss);
    }
    for (int64_t e = 0; e < param->count; ++e) {
        value[e] += (real)step * gradient[e];
        *squares += gradient[e] * gradient[e];
    }
    *slope = good ? (side[0] - side[1]) / (2 * step) : 0;
    free(gradient);
    return good;
}

/* Its loss reaches the compression alone, and rightly: along the gradient it changes as fast as
 * the gradient is long. One block, in which compression changes nothing else. */
TEST(compression_alone_learns_from_its_loss) {
    static const char *const options[] = {
        SIZES "memory=6 compressed_memory=4 compression_rate=2",
        SIZES "memory=6 compressed_memory=4 compression_rate=2 compression_loss=auto_encoding"};
    for (int o = 0; o < 2; ++o) {
        model_bench bench;
        lh_output out;
        int32_t tokens[TOKENS];
        REQUIRE(open_filled(&bench, options[o], tokens));
        for (int64_t at = 0; at < 2 * BLOCK; at += BLOCK) {
            REQUIRE(pass(&bench, tokens, at, BLOCK, &out));
            REQUIRE_OK(lh_state_commit(bench.state));
        }
        REQUIRE(third_block(&bench, tokens, &out));
        REQUIRE_OK(lh_tape_backward(bench.tape, out.auxiliary_loss));
        const lh_params *params = bench.model->params;
        for (int i = 0; i < lh_params_count(params); ++i) {
            const lh_param *param = lh_params_at(params, i);
            const bool learns = lh_tensor_gradient(param->value) != NULL;
            double slope = 0, squares = 0;
            test_check(learns == is_compression(param), __FILE__, __LINE__,
                       "the loss of compression and %s", param->name);
            if (!learns) continue;
            REQUIRE(climb(&bench, tokens, param, &slope, &squares));
            CHECK(squares > 1e-6);
            CHECK_NEAR(slope / squares, 1.0, 1e-6);
        }
        bench_close(&bench);
    }
}

/* The gradients of the task's loss over tokens [0, TOKENS) in calls of `length`, as one block. */
static bool sum_gradients(model_bench *bench, const int32_t *tokens, int64_t length, real *sum) {
    const lh_params *params = bench->model->params;
    const int64_t count = lh_tensor_count(lh_params_gradients(params));
    memset(sum, 0, (size_t)count * sizeof *sum);
    for (int64_t at = 0; at < TOKENS; at += length) {
        lh_output out;
        if (!pass(bench, tokens, at, length, &out)) return false;
        lh_tensor *loss = bench_loss(bench, &out, length, tokens + at, 0.1);
        if (!CHECK_OK(lh_tape_backward(bench->tape, loss))) return false;
        if (!CHECK_OK(lh_params_settle_gradients(bench->model->params))) return false;
        for (int64_t e = 0; e < count; ++e)
            sum[e] += lh_tensor_real(lh_params_gradients(params))[e];
        lh_params_clear_gradients(bench->model->params);
        if (!CHECK_OK(lh_state_commit(bench->state))) return false;
    }
    return true;
}

/* Memories are constants: a segment of four blocks teaches what four segments of one do. With
 * compression_loss=task it teaches more, compression too. */
TEST(the_tasks_loss_stops_at_memories) {
    enum { MOST = 8192 };
    static real whole[MOST], split[MOST];
    static const char *const options[] = {
        SIZES "memory=4 compressed_memory=4 compression_rate=2",
        SIZES "memory=4 compressed_memory=4 compression_rate=2 compression_loss=task"};
    for (int task = 0; task < 2; ++task) {
        model_bench bench;
        int32_t tokens[TOKENS];
        REQUIRE(open_filled(&bench, options[task], tokens));
        const lh_params *params = bench.model->params;
        REQUIRE(lh_tensor_count(lh_params_gradients(params)) <= MOST);
        REQUIRE(sum_gradients(&bench, tokens, BLOCK, split));
        REQUIRE_OK(lh_state_clear(bench.state));
        REQUIRE(sum_gradients(&bench, tokens, TOKENS, whole));
        double apart = 0, compression = 0;
        for (int i = 0; i < lh_params_count(params); ++i) {
            const lh_param *param = lh_params_at(params, i);
            const int64_t first = param->value->offset;
            for (int64_t e = first; e < first + param->count; ++e) {
                apart = fmax(apart, fabs(whole[e] - split[e]));
                if (is_compression(param)) compression = fmax(compression, fabs(whole[e]));
            }
        }
        CHECK(task == 1 ? apart > 1e-3 : apart < 1e-10);
        CHECK((compression > 1e-6) == (task == 1));
        bench_close(&bench);
    }
}
