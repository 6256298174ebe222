#include "models/layers/gate.h"

#include "models/layers/initial.h"

/* Section 3.5: biases small but not zero, because Adafactor scales updates by the size of the
 * parameter. */
static const double bias_deviation = 0.1;
static const double gate_variance = 0.1;

void lh_gate_declare(lh_gate *gate, const lh_block_config *config, int64_t fan_in,
                     lh_declare *declare, const char *prefix) {
    const int64_t matrix[] = {fan_in, config->width}, vector[] = {config->width};
    const lh_init weight = lh_init_fan_in(gate_variance, fan_in);
    const lh_init bias = lh_init_normal(bias_deviation);
    gate->z = lh_declare_param(declare, lh_init_fan_in(1.0, fan_in), 2, matrix, "%s.z", prefix);
    if (config->z_bias) {
        gate->z_bias = lh_declare_param(declare, bias, 1, vector, "%s.z_bias", prefix);
    }
    if (config->gate == LH_GATE_FIXED) {
        gate->bias = lh_declare_param(declare, bias, 1, vector, "%s.bias", prefix);
        return;
    }
    gate->forget = lh_declare_param(declare, weight, 2, matrix, "%s.forget", prefix);
    gate->forget_bias = lh_declare_param(declare, bias, 1, vector, "%s.forget_bias", prefix);
    gate->input = lh_declare_param(declare, weight, 2, matrix, "%s.input", prefix);
    gate->input_bias = lh_declare_param(declare, bias, 1, vector, "%s.input_bias", prefix);
}

static lh_unary_op activation_of(const lh_block_config *config) {
    const bool code = config->tanh_rule == LH_TANH_CODE && config->layout == LH_LAYOUT_SINGLE;
    const bool paper = config->tanh_rule == LH_TANH_PAPER && config->gate == LH_GATE_LSTM;
    return code || paper ? LH_UNARY_TANH : LH_UNARY_IDENTITY;
}

lh_tensor *lh_gate_apply(const lh_gate *gate, const lh_block_config *config, const lh_pass *pass,
                         lh_tensor *c, lh_tensor *h) {
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *z_bias = config->z_bias ? lh_pass_param(pass, gate->z_bias) : NULL;
    lh_tensor *z = lh_linear(tape, h, lh_pass_param(pass, gate->z), z_bias, activation_of(config));
    if (config->gate == LH_GATE_FIXED) {
        return lh_fixed_gate(tape, c, z, lh_pass_param(pass, gate->bias));
    }
    lh_tensor *forget = lh_linear(tape, h, lh_pass_param(pass, gate->forget),
                                  lh_pass_param(pass, gate->forget_bias), LH_UNARY_IDENTITY);
    lh_tensor *input = lh_linear(tape, h, lh_pass_param(pass, gate->input),
                                 lh_pass_param(pass, gate->input_bias), LH_UNARY_IDENTITY);
    return lh_lstm_gate(tape, c, z, forget, input, 1.0, -1.0);
}
