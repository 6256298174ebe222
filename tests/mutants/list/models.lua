-- Mistakes to seed in models, each with the tests that must see it.
local oracle = "double:tests/gradients/test_oracle.c"
return {
  {
    file = "models/mamba2.c", tests = oracle .. " tests/models/test_models.c",
    { "lh_scale(r->tape, rate, -1.0)", "lh_scale(r->tape, rate, -0.5)", "states decay at half the rate" },
    { "lh_add(r->tape, y, skip(r, x))", "y", "D x is left out" },
  },
  {
    file = "models/layers/state_space.c", tests = oracle .. " tests/models/test_models.c",
    { "- 1, ahead, x)", "- 1, ahead, ahead)", "a segment's last tokens are not carried" },
  },
  {
    file = "models/gated_deltanet.c", tests = oracle .. " tests/models/test_models.c",
    { "lh_scale(r->tape, rate, -1.0)", "lh_scale(r->tape, rate, -0.5)", "states decay at half the rate" },
    { "1.0 / sqrt((double)model->head_width)", "1.0 / (double)model->head_width", "queries are scaled by the width itself" },
    { "negative_eigenvalues ? 2.0 : 1.0", "negative_eigenvalues ? 1.0 : 1.0", "negative_eigenvalues is ignored" },
    { "lh_multiply(r->tape, unit, lh_unary(r->tape, LH_UNARY_SILU, gate))", "lh_multiply(r->tape, unit, gate)", "the gate lacks its SiLU" },
  },
  {
    file = "models/compressive.c", tests = oracle .. " double:tests/gradients/test_compressive.c",
    { "-model->memory - model->compressed)", "-model->compressed)", "compressed memories stand where memories do" },
    { "{0, 1, 3, 2, 4}", "{0, 1, 2, 3, 4}", "dilated taps are neighbours" },
    { "at / model->rate, model->compressed)", "0, model->compressed)", "all blocks see the first block's compressed memories" },
    { "model->loss == TASK ? x : lh_detach(tape, x)", "x", "the task's loss reaches memories" },
    { "lh_detach(p->tape, lh_pass_param(p->pass, weight))", "lh_pass_param(p->pass, weight)", "attention learns from the loss of compression" },
  },
  {
    file = "models/rmt.c", tests = oracle .. " double:tests/gradients/test_rmt.c",
    { "(part){0, tokens, tokens, false,", "(part){0, tokens, tokens, true,", "memory that is read sees itself in order" },
    { "behind + tokens, false,", "behind + tokens, true,", "memory that is written sees itself in order" },
    { "-own.first - model->memory", "-model->memory", "the cache stands at the same place for all parts" },
    { "b % model->unroll == 0", "b % model->unroll == 1", "gradients are cut a block late" },
    { "lh_detach(p->tape, x)", "x", "the cache takes gradients" },
  },
  {
    file = "models/linear_attention.c", tests = oracle,
    { "return lh_add_row(tape, lh_unary(tape, LH_UNARY_ELU, x), one);", "(void)one; return lh_unary(tape, LH_UNARY_ELU, x);",
      "the feature map lacks its one" },
    { "lh_multiply_column(tape, mixed, lh_unary(tape, LH_UNARY_SQUARE, root))", "lh_multiply_column(tape, mixed, root)", "the root of the divisor" },
  },
  {
    file = "models/gpt2.c", tests = oracle .. " tests/models/test_gpt2.c",
    { "(model->carries_in_training || !lh_pass_is_training(pass))", "!lh_pass_is_training(pass)", "carry is ignored",
      tests = "tests/models/test_gpt2.c" },
    { "model->insertion -= 1;", "model->insertion -= 0;", "insertion is one layer too high" },
    { "(model->insertion < 0 || model->insertion == layer)", "(model->insertion < 0 || model->insertion <= layer)",
      "the summary is inserted in all layers above" },
    { "last && model->final_norm ? *hidden : x", "last ? *hidden : x", "final_norm=false is ignored" },
    { "window = window_of(model, length),\n                  stride = window - model->overlap", "window = window_of(model, length),\n                  stride = window - 0 * model->overlap", "windows do not overlap",
      tests = oracle .. " tests/models/test_gpt2.c tests/models/test_models.c:segments_change_nothing_where_state_carries" },
    { "const int64_t repeated = first == 0 ? 0 : model->overlap;", "const int64_t repeated = 0 * first;",
      "repeated tokens are predicted by the later window", tests = oracle .. " tests/models/test_gpt2.c" },
  },
  {
    file = "models/gpt2/gpt2_core.c", tests = oracle,
    { "attention.scale = 1.0 / sqrt((double)config->head_width);", "attention.scale = 1.0 / (double)config->head_width;", "scores are divided by the width" },
    { "run->param[l->in_bias], LH_UNARY_GELU", "run->param[l->in_bias], LH_UNARY_RELU", "ReLU for GELU" },
    { "residual = 0.02 / sqrt(2.0 * (double)config->layers)", "residual = 0.02 / sqrt((double)config->layers)",
      "residual branches begin divided by sqrt(L)", tests = "tests/models/test_initial.c" },
  },
  {
    file = "models/transformer.c", tests = oracle .. " tests/models/test_transformer.c",
    { "attention.min_distance = 0;", "attention.min_distance = 1;", "a token does not see itself" },
    { "reach < most ? reach : most", "reach", "longest_distance is ignored" },
    { "uniform(sqrt(6.0 / (double)(model->width + three)))", "uniform(sqrt(6.0 / (double)(2 * model->width)))",
      "Xavier of the separate projections", tests = "tests/models/test_transformer.c" },
  },
  {
    file = "models/t5.c", tests = oracle .. " tests/models/test_t5.c",
    { "if (w->stack->decodes) attention.min_distance = 0;", "", "the decoder sees ahead" },
    { "w->stack->decodes ? 0 : -LH_T5_MAX_DISTANCE", "-LH_T5_MAX_DISTANCE", "the decoder's bias is the encoder's" },
    { "1 / (width * head_width)", "1 / width + 0 * head_width", "queries do not take up the scale", tests = "tests/models/test_initial.c" },
    { "b->gain), in, NULL, LH_UNARY_RELU", "b->gain), in, NULL, LH_UNARY_GELU", "GELU for ReLU" },
  },
  {
    file = "models/dai_xl.c", tests = oracle .. " tests/models/test_dai_xl.c",
    { "chosen < 0 ? layers + chosen : chosen - 1", "chosen < 0 ? layers + chosen : chosen", "recurrent_layer counts from 0" },
  },
  {
    file = "models/dai/dai_core.c", tests = oracle .. " tests/models/test_dai_xl.c",
    { "config->hidden = 4 * config->width;", "config->hidden = 2 * config->width;", "half the hidden units by default" },
    { "drop(&p, lh_scale(p.tape, *x, sqrt((double)core->config.width)))", "drop(&p, *x)", "embeddings are not scaled" },
  },
  {
    file = "models/staircase.c", tests = oracle .. " tests/models/test_staircase.c",
    { "lh_tensor *kept = model->cache == OUTPUTS ? x : in;", "lh_tensor *kept = model->cache == OUTPUTS ? in : x;", "inputs and outputs are exchanged in the cache" },
    { "const int64_t finished = step - model->steps + 1;", "const int64_t finished = step - model->steps;", "a chunk gets one pass more" },
  },
  {
    file = "models/cached_staircase.c", tests = oracle .. " tests/models/test_staircase.c",
    { "config->first_distance = model->sees_self ? 0 : 1;", "config->first_distance = 1;", "distances begin at 1 for see_self" },
    { ".core = core, .layers = config->share_keys ? 1 : config->layers", ".core = core, .layers = config->layers", "shared keys are made by every layer" },
  },
  {
    file = "models/lstm.c", tests = oracle .. " tests/models/test_rnn.c",
    { "i == 0 ? first : model->hidden", "first", "upper layers are as narrow as the input" },
    { "model->activation != LH_UNARY_IDENTITY ? lh_unary", "model->activation == LH_UNARY_IDENTITY ? lh_unary", "the activation of an RNN" },
  },
  {
    file = "models/reformer_encoder_decoder.c", tests = oracle .. " tests/models/test_reformer_encoder_decoder.c",
    { "lh_scale(run->tape, lh_add(run->tape, y[0], y[1]), 0.5)", "lh_scale(run->tape, lh_add(run->tape, y[0], y[1]), 1.0)", "both streams are summed" },
  },
  {
    file = "models/series_xl.c", tests = oracle .. " tests/models/test_series.c",
    { "attention.scale = 1.0 / sqrt((double)model->head_width);", "attention.scale = 1.0;", "scores are not scaled" },
    { "attention.min_distance = 0;", "attention.min_distance = 1;", "a step does not see itself" },
  },
  {
    file = "models/rsa.c", tests = oracle .. " tests/models/test_rsa.c",
    { "attention.scale = 1.0 / sqrt((double)model->head_width);", "attention.scale = 1.0;", "scores are not scaled" },
    { "1.0 / sqrt((double)fan_in)", "1.0 / (double)fan_in", "first values by the fan-in", tests = "tests/models/test_initial.c" },
  },
}
