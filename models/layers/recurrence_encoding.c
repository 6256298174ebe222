/* Recurrence encoding matrices (Huang et al. 2023, section 3): which heads have which kind, their
 * parameters and first values, the mixing of eq. 4, and what a figure is told of them. */
#include "models/layers/recurrence_encoding.h"

#include <math.h>
#include <stdio.h>

#include "models/layers/common.h"

static const char *const sharings[] = {"pair", "frozen", "independent", NULL};
static const char *const spreads[] = {"even", "random", "negative", "mirrored", NULL};

enum { DEFAULT_CUTOFF = 200 };

const lh_option lh_recurrence_config_options[] = {
    LH_LIST("rsa_kinds", lh_recurrence_config, kinds_given, LH_NO_INTEGERS, 0, LH_REM_HEADS,
            "heads with a REM: regular, cosine, sine, dilated regular, cosine, sine (k1..k6)"),
    LH_LIST("rsa_dilation", lh_recurrence_config, dilation_given, LH_NO_INTEGERS, 1, 1e9,
            "dilation d of the k4 + k5 + k6 dilated heads; one number stands for all"),
    LH_REAL("rsa_gate", lh_recurrence_config, gate, 0, -30, 30,
            "initial gate mu of a layer: the REM weighs sigmoid(mu)"),
    LH_INTEGER("rsa_cutoff", lh_recurrence_config, cutoff, DEFAULT_CUTOFF, 0, 1e9,
               "largest power K in a REM; 0: no limit"),
    LH_CHOICE("rsa_sharing", lh_recurrence_config, sharing, LH_RECURRENCE_PAIR, sharings,
              "nu and theta: of a pair of cosine and sine, own nu with theta frozen, or both own"),
    LH_CHOICE("rsa_spread", lh_recurrence_config, spread, LH_RECURRENCE_EVEN, spreads,
              "first eta in [-2, -1] and [1, 2] and first nu in [1, 2]: evenly, drawn, evenly with "
              "every eta below zero, or evenly with etas by turns from -2 on instead of 1"),
    {0}};

static const double quarter_pi = 0.78539816339744831;

/* ---- options ---- */

static lh_status settle_dilations(lh_recurrence_config *config) {
    const int64_t dilated = config->kinds[3] + config->kinds[4] + config->kinds[5];
    const int count = lh_list_copy(&config->dilation_given, config->dilation, LH_REM_HEADS);
    if (count != dilated && !(count == 1 && dilated > 0)) {
        return lh_fail(LH_EOPTION,
                       "option 'rsa_dilation' has %d numbers for %lld dilated heads (give one for "
                       "each, or one for all)",
                       count, (long long)dilated);
    }
    for (int64_t i = 1; i < dilated && count == 1; ++i)
        config->dilation[i] = config->dilation[0];
    return LH_OK;
}

static lh_status refuse_unused(const lh_recurrence_config *config) {
    const lh_part_option idle[] = {{"rsa_dilation", config->dilation_given.count > 0},
                                   {"rsa_gate", config->gate < 0 || config->gate > 0},
                                   {"rsa_cutoff", config->cutoff != DEFAULT_CUTOFF},
                                   {"rsa_sharing", config->sharing != LH_RECURRENCE_PAIR},
                                   {"rsa_spread", config->spread != LH_RECURRENCE_EVEN},
                                   {0}};
    return lh_refuse_idle(idle, "rsa_kinds: no head is encoded without them");
}

lh_status lh_recurrence_config_settle(lh_recurrence_config *config, int64_t heads) {
    const int count = lh_list_copy(&config->kinds_given, config->kinds, LH_RECURRENCE_KINDS);
    if (count != 0 && count != LH_RECURRENCE_KINDS) {
        return lh_fail(LH_EOPTION,
                       "option 'rsa_kinds' has %d numbers, not 6 (regular, cosine, sine, then the "
                       "same dilated: 0,0,0,0,2,2)",
                       count);
    }
    for (int i = 0; i < count; ++i)
        config->heads += config->kinds[i];
    const int64_t most = heads < LH_REM_HEADS ? heads : LH_REM_HEADS;
    if (config->heads > most) {
        return lh_fail(LH_EOPTION,
                       "option 'rsa_kinds' asks for %lld heads with a REM, at most %lld of %lld",
                       (long long)config->heads, (long long)most, (long long)heads);
    }
    if (config->heads == 0) LH_TRY(refuse_unused(config));
    if (config->cutoff == 0) config->cutoff = LH_FAR;
    return settle_dilations(config);
}

/* ---- parameters and their initial values ---- */

/* The paper wants them spread over [1, 2], eta over [-2, -1] as well. */
static double spread(int64_t index, int64_t count) {
    return count < 2 ? 1.5 : 1.0 + (double)index / (double)(count - 1);
}

/* The i-th of `count` etas: 1, -1, 1.5, -1.5, 2; negative -1, -1.25, -1.5, -1.75, -2; mirrored -2,
 * 2, -1.5, 1.5, -1. */
static double eta_of(lh_recurrence_spread how, int64_t i, int64_t count) {
    if (how == LH_RECURRENCE_NEGATIVE) return -spread(i, count);
    const double size = spread(i / 2, (count + 1) / 2), sign = i % 2 == 0 ? 1 : -1;
    return how == LH_RECURRENCE_MIRRORED ? sign * (size - 3) : sign * size;
}

/* `count` regular heads: the next entries of eta. Gives the next free entry. */
static int32_t add_regular(lh_recurrence_encoding *layer, lh_recurrence_spread how, int64_t count,
                           int32_t next) {
    for (int64_t i = 0; i < count; ++i, ++next) {
        layer->first_eta[next] = eta_of(how, i, count);
        layer->head[layer->encoded++] =
            (lh_rem_head){.kind = LH_REM_REGULAR, .decay = next, .angle = -1};
    }
    return next;
}

/* `count` heads of one cyclical kind that read the entries of nu and theta from `first` on. */
static void add_cyclical(lh_recurrence_encoding *layer, const lh_recurrence_config *config,
                         lh_rem_kind kind, int64_t count, int32_t first) {
    const bool frozen = config->sharing == LH_RECURRENCE_FROZEN;
    for (int32_t i = 0; i < (int32_t)count; ++i) {
        layer->first_nu[first + i] = spread(i, count);
        layer->first_theta[first + i] = quarter_pi;
        layer->head[layer->encoded++] =
            (lh_rem_head){.kind = kind, .decay = first + i, .angle = frozen ? -1 : first + i};
    }
}

/* Where the sine heads' entries begin when the cosine heads' begin at `first`; then the first entry
 * behind both. */
static int32_t sine_entries(const lh_recurrence_config *config, const int64_t *kinds,
                            int32_t first) {
    return config->sharing == LH_RECURRENCE_PAIR ? first : first + (int32_t)kinds[1];
}

static int32_t entries_end(const lh_recurrence_config *config, const int64_t *kinds,
                           int32_t first) {
    if (config->sharing != LH_RECURRENCE_PAIR) return first + (int32_t)(kinds[1] + kinds[2]);
    return first + (int32_t)(kinds[1] > kinds[2] ? kinds[1] : kinds[2]);
}

/* The heads in the order k1 .. k6; the plain and the dilated ones are spread separately. */
static void lay_out(lh_recurrence_encoding *layer, const lh_recurrence_config *config,
                    int32_t *etas, int32_t *nus) {
    for (int part = 0; part < 2; ++part) {
        const int64_t *kinds = config->kinds + 3 * part;
        const int first = layer->encoded;
        const int32_t sines = sine_entries(config, kinds, *nus);
        *etas = add_regular(layer, config->spread, kinds[0], *etas);
        add_cyclical(layer, config, LH_REM_COSINE, kinds[1], *nus);
        add_cyclical(layer, config, LH_REM_SINE, kinds[2], sines);
        *nus = entries_end(config, kinds, *nus);
        for (int i = first; i < layer->encoded; ++i) {
            layer->head[i].dilation = part == 1 ? config->dilation[i - first] : 1;
            layer->head[i].cutoff = config->cutoff;
        }
    }
}

/* A list that begins with `initial`, or with what `init` draws where that is NULL. */
static int declare_list(lh_declare *declaration, int64_t count, lh_init init, const double *initial,
                        const char *prefix, const char *name) {
    if (count == 0) return -1;
    const int index = lh_declare_param(declaration, init, 1, &count, "%s.%s", prefix, name);
    lh_declare_initial(declaration, initial);
    return index;
}

void lh_recurrence_encoding_declare(lh_recurrence_encoding *layer,
                                    const lh_recurrence_config *config, lh_declare *declaration,
                                    const char *prefix) {
    int32_t etas = 0, nus = 0;
    layer->encoded = 0;
    if (config->heads == 0) return;
    lay_out(layer, config, &etas, &nus);
    const int32_t thetas = config->sharing == LH_RECURRENCE_FROZEN ? 0 : nus;
    const lh_init signed_sizes = {LH_INIT_EITHER_SIGN, 1.5, 0.5},
                  sizes = {LH_INIT_UNIFORM, 1.5, 0.5}, given = lh_init_zeros();
    const bool drawn = config->spread == LH_RECURRENCE_RANDOM;
    layer->first_mu = config->gate;
    layer->eta = declare_list(declaration, etas, signed_sizes, drawn ? NULL : layer->first_eta,
                              prefix, "eta");
    layer->nu = declare_list(declaration, nus, sizes, drawn ? NULL : layer->first_nu, prefix, "nu");
    layer->theta = declare_list(declaration, thetas, given, layer->first_theta, prefix, "theta");
    layer->mu = declare_list(declaration, 1, given, &layer->first_mu, prefix, "mu");
}

/* ---- forward ---- */

/* Shows g P V: what the encodings add where attention gave nothing. */
static lh_status show(lh_tape *tape, const lh_recurrence *lists, const lh_attention *attention,
                      const lh_tensor *attended) {
    if (!lh_tape_has_viewer(tape)) return LH_OK;
    lh_tensor *added = lh_encode_recurrence(tape, lists, attention->keys, attention->key_count,
                                            lh_zeros(tape, 4, attended->shape));
    if (added == NULL) return lh_failed();
    return lh_tape_show(tape,
                        lh_convert(tape, lh_slice(tape, added, 2, 0, lists->encoded), LH_REAL));
}

/* Mixes with the parameters that stand in `lists`. */
static lh_tensor *mix(const lh_recurrence_encoding *layer, lh_tape *tape, lh_recurrence lists,
                      const lh_attention *attention, lh_tensor *attended) {
    lists.both_ways = attention->min_distance < 0;
    lists.encoded = layer->encoded;
    for (int i = 0; i < layer->encoded; ++i) {
        lh_rem_head *head = &lists.head[i];
        *head = layer->head[i];
        const int64_t farthest = attention->max_distance / head->dilation;
        if (head->cutoff > farthest) head->cutoff = farthest;
    }
    if (show(tape, &lists, attention, attended) != LH_OK) return NULL;
    return lh_encode_recurrence(tape, &lists, attention->keys, attention->key_count, attended);
}

static lh_tensor *list_of(const lh_pass *pass, int param) {
    return param >= 0 ? lh_pass_param(pass, param) : NULL;
}

lh_tensor *lh_recurrence_encoding_mix(const lh_recurrence_encoding *layer, const lh_pass *pass,
                                      const lh_attention *attention, lh_tensor *attended) {
    if (layer->encoded == 0 || attended == NULL) return attended;
    const lh_recurrence lists = {.eta = list_of(pass, layer->eta),
                                 .nu = list_of(pass, layer->nu),
                                 .theta = list_of(pass, layer->theta),
                                 .mu = list_of(pass, layer->mu)};
    return mix(layer, lh_pass_tape(pass), lists, attention, attended);
}

lh_tensor *lh_recurrence_encoding_mix_again(const lh_recurrence_encoding *layer, lh_tape *tape,
                                            lh_tensor *const *param, const lh_attention *attention,
                                            lh_tensor *attended) {
    if (layer->encoded == 0 || attended == NULL) return attended;
    const lh_recurrence lists = {.eta = layer->eta >= 0 ? param[layer->eta] : NULL,
                                 .nu = layer->nu >= 0 ? param[layer->nu] : NULL,
                                 .theta = layer->theta >= 0 ? param[layer->theta] : NULL,
                                 .mu = param[layer->mu]};
    return mix(layer, tape, lists, attention, attended);
}

/* What a figure is told of one layer. */
typedef struct report_to {
    long long layer; /* counted from 1 */
    const lh_report *report;
} report_to;

static void report_head(const report_to *to, int head, const char *what, double value) {
    char name[64];
    (void)snprintf(name, sizeof name, "layer_%lld_rsa_head_%d_%s", to->layer, head + 1, what);
    to->report->tell(to->report->context, name, value);
}

static lh_status read_param(const lh_params *params, int index, real *values) {
    if (index < 0) return LH_OK;
    const lh_tensor *list = lh_params_get(params, index);
    return lh_tensor_read(list, values, lh_tensor_count(list));
}

static double sigmoid(double x) {
    return 1.0 / (1.0 + exp(-x));
}

static lh_status report_heads(const lh_recurrence_encoding *layer, const lh_params *params,
                              const report_to *to) {
    real eta[LH_REM_HEADS], nu[LH_REM_HEADS], theta[LH_REM_HEADS];
    LH_TRY(read_param(params, layer->eta, eta));
    LH_TRY(read_param(params, layer->nu, nu));
    LH_TRY(read_param(params, layer->theta, theta));
    for (int i = 0; i < layer->encoded; ++i) {
        const lh_rem_head *head = &layer->head[i];
        if (head->kind == LH_REM_REGULAR) {
            report_head(to, i, "lambda", tanh((double)eta[head->decay]));
            continue;
        }
        const double angle = head->angle >= 0 ? (double)theta[head->angle] : quarter_pi;
        report_head(to, i, "gamma", sigmoid((double)nu[head->decay]));
        report_head(to, i, "theta", angle);
    }
    return LH_OK;
}

lh_status lh_recurrence_encoding_probe(const lh_recurrence_encoding *layer, const lh_params *params,
                                       int64_t index, const lh_report *report) {
    if (layer->encoded == 0) return LH_OK;
    real mu = 0;
    char name[48];
    (void)snprintf(name, sizeof name, "layer_%lld_rsa_gate", (long long)index + 1);
    LH_TRY(lh_tensor_read(lh_params_get(params, layer->mu), &mu, 1));
    report->tell(report->context, name, sigmoid((double)mu));
    const report_to to = {(long long)index + 1, report};
    return report_heads(layer, params, &to);
}

lh_status lh_recurrence_encodings_probe(const lh_recurrence_encoding *first, size_t stride,
                                        int64_t count, const lh_params *params,
                                        const lh_report *report) {
    const char *layer = (const char *)first;
    for (int64_t i = 0; i < count; ++i, layer += stride)
        LH_TRY(lh_recurrence_encoding_probe((const lh_recurrence_encoding *)(const void *)layer,
                                            params, i, report));
    return LH_OK;
}
