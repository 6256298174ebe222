---@meta longhaul
-- Written by scripts/annotate.lua; an editor with a Lua language server reads it.

---@alias longhaul.metric
---| "accuracy"
---| "accuracy_bin0"
---| "accuracy_bin1"
---| "best_accuracy"
---| "best_accuracy_bin0"
---| "best_accuracy_bin1"
---| "bits_per_byte"
---| "bits_per_token"
---| "bleu"
---| "context_tokens"
---| "error_percent"
---| "flops_per_token"
---| "held_bytes"
---| "inference_memory_bytes"
---| "kaplan_flops_per_token"
---| "layout_parameters"
---| "mae"
---| "mfu"
---| "mse"
---| "parameters"
---| "peak_memory_bytes"
---| "perplexity"
---| "relative_step_time"
---| "rsa_gate"
---| "sacrebleu_cased"
---| "sacrebleu_uncased"
---| "state_bytes"
---| "step_time_ms"
---| "step_time_q1_ms"
---| "step_time_q3_ms"
---| "tokens_per_second"
---| "tokens_to_reach"
---| "training_tokens_per_second"
---| "valid_accuracy"
---| "valid_accuracy_bin0"
---| "valid_accuracy_bin1"
---| "valid_bits_per_byte"
---| "valid_bits_per_token"
---| "valid_error_percent"
---| "valid_mae"
---| "valid_mse"
---| "valid_perplexity"
---| "valid_word_perplexity"
---| "wall_time_s"
---| "word_perplexity"

---@class longhaul.models.xl
---@field layers? integer # number of layers (default 12)
---@field width? integer # embedding size D (default 1024)
---@field heads? integer # attention heads H (default 8)
---@field head_width? integer # size of a head; 0: width / heads (default 0)
---@field hidden? integer # hidden size of the feed-forward network; 0: 4 * width (default 0)
---@field window? integer # window W in tokens (default 512)
---@field dropout? number # dropout rate in training (default 0.05)
---@field normalize? boolean # unit-length queries and keys with a learned scale per head (default true)
---@field position_bias? boolean # T5 relative position bias (default true)
---@field see_self? boolean # let a token attend to itself (the released code does not) (default false)
---@field logit_divisor? "sqrt_vocabulary"|"sqrt_width"|"one" # what the tied head's logits are divided by (default sqrt_vocabulary)
---@field rsa_kinds? integer[]|string # heads with a REM: regular, cosine, sine, dilated regular, cosine, sine (k1..k6) (default )
---@field rsa_dilation? integer[]|string # dilation d of the k4 + k5 + k6 dilated heads; one number stands for all (default )
---@field rsa_gate? number # initial gate mu of a layer: the REM weighs sigmoid(mu) (default 0)
---@field rsa_cutoff? integer # largest power K in a REM; 0: no limit (default 200)
---@field rsa_sharing? "pair"|"frozen"|"independent" # nu and theta: of a pair of cosine and sine, own nu with theta frozen, or both own (default pair)
---@field rsa_spread? "even"|"random"|"negative" # first eta in [-2, -1] and [1, 2] and first nu in [1, 2]: evenly, drawn, or evenly with every eta below zero (default even)

---@class longhaul.models.slide
---@field layers? integer # number of layers (default 12)
---@field width? integer # embedding size D (default 1024)
---@field heads? integer # attention heads H (default 8)
---@field head_width? integer # size of a head; 0: width / heads (default 0)
---@field hidden? integer # hidden size of the feed-forward network; 0: 4 * width (default 0)
---@field window? integer # window W in tokens (default 512)
---@field dropout? number # dropout rate in training (default 0.05)
---@field normalize? boolean # unit-length queries and keys with a learned scale per head (default true)
---@field position_bias? boolean # T5 relative position bias (default true)
---@field see_self? boolean # let a token attend to itself (the released code does not) (default false)
---@field logit_divisor? "sqrt_vocabulary"|"sqrt_width"|"one" # what the tied head's logits are divided by (default sqrt_vocabulary)
---@field rsa_kinds? integer[]|string # heads with a REM: regular, cosine, sine, dilated regular, cosine, sine (k1..k6) (default )
---@field rsa_dilation? integer[]|string # dilation d of the k4 + k5 + k6 dilated heads; one number stands for all (default )
---@field rsa_gate? number # initial gate mu of a layer: the REM weighs sigmoid(mu) (default 0)
---@field rsa_cutoff? integer # largest power K in a REM; 0: no limit (default 200)
---@field rsa_sharing? "pair"|"frozen"|"independent" # nu and theta: of a pair of cosine and sine, own nu with theta frozen, or both own (default pair)
---@field rsa_spread? "even"|"random"|"negative" # first eta in [-2, -1] and [1, 2] and first nu in [1, 2]: evenly, drawn, or evenly with every eta below zero (default even)

---@class longhaul.models.brt
---@field layers? integer # number of layers (default 12)
---@field width? integer # embedding size D (default 1024)
---@field heads? integer # attention heads H (default 8)
---@field head_width? integer # size of a head; 0: width / heads (default 0)
---@field hidden? integer # hidden size of the feed-forward network; 0: 4 * width (default 0)
---@field window? integer # window W in tokens (default 512)
---@field dropout? number # dropout rate in training (default 0.05)
---@field normalize? boolean # unit-length queries and keys with a learned scale per head (default true)
---@field position_bias? boolean # T5 relative position bias (default true)
---@field see_self? boolean # let a token attend to itself (the released code does not) (default false)
---@field logit_divisor? "sqrt_vocabulary"|"sqrt_width"|"one" # what the tied head's logits are divided by (default sqrt_vocabulary)
---@field rsa_kinds? integer[]|string # heads with a REM: regular, cosine, sine, dilated regular, cosine, sine (k1..k6) (default )
---@field rsa_dilation? integer[]|string # dilation d of the k4 + k5 + k6 dilated heads; one number stands for all (default )
---@field rsa_gate? number # initial gate mu of a layer: the REM weighs sigmoid(mu) (default 0)
---@field rsa_cutoff? integer # largest power K in a REM; 0: no limit (default 200)
---@field rsa_sharing? "pair"|"frozen"|"independent" # nu and theta: of a pair of cosine and sine, own nu with theta frozen, or both own (default pair)
---@field rsa_spread? "even"|"random"|"negative" # first eta in [-2, -1] and [1, 2] and first nu in [1, 2]: evenly, drawn, or evenly with every eta below zero (default even)
---@field recurrence? "none"|"fixed:dual"|"fixed:single"|"fixed:skip"|"lstm:dual"|"lstm:single"|"lstm:skip" # gate and gate configuration, sections 3.4 and 3.6 (default fixed:skip)
---@field recurrent_layers? integer[]|string # recurrent layers, from 1; negative counts from the top (-3 of 12 is the paper's layer 10) (default -3)
---@field states? integer # state vectors S; 0: as many as window (default 0)
---@field feedback? boolean # all layers read the states, block by block, section 3.7 (default false)
---@field gate_tanh? "code"|"paper" # tanh on z: in the single configuration (code) or in every LSTM gate (paper, eq. 4) (default code)
---@field gate_bias? boolean # b^(z) of eqs. 1 and 4, which the released code lacks (default false)

---@class longhaul.models.memorizing
---@field layers? integer # number of layers (default 12)
---@field width? integer # embedding size D (default 1024)
---@field heads? integer # attention heads H (default 8)
---@field head_width? integer # size of a head; 0: width / heads (default 0)
---@field hidden? integer # hidden size of the feed-forward network; 0: 4 * width (default 0)
---@field window? integer # window W in tokens (default 512)
---@field dropout? number # dropout rate in training (default 0.05)
---@field normalize? boolean # unit-length queries and keys with a learned scale per head (default true)
---@field position_bias? boolean # T5 relative position bias (default true)
---@field see_self? boolean # let a token attend to itself (the released code does not) (default false)
---@field logit_divisor? "sqrt_vocabulary"|"sqrt_width"|"one" # what the tied head's logits are divided by (default sqrt_vocabulary)
---@field rsa_kinds? integer[]|string # heads with a REM: regular, cosine, sine, dilated regular, cosine, sine (k1..k6) (default )
---@field rsa_dilation? integer[]|string # dilation d of the k4 + k5 + k6 dilated heads; one number stands for all (default )
---@field rsa_gate? number # initial gate mu of a layer: the REM weighs sigmoid(mu) (default 0)
---@field rsa_cutoff? integer # largest power K in a REM; 0: no limit (default 200)
---@field rsa_sharing? "pair"|"frozen"|"independent" # nu and theta: of a pair of cosine and sine, own nu with theta frozen, or both own (default pair)
---@field rsa_spread? "even"|"random"|"negative" # first eta in [-2, -1] and [1, 2] and first nu in [1, 2]: evenly, drawn, or evenly with every eta below zero (default even)
---@field memory? integer # tokens that the memory holds per row (default 32768)
---@field top? integer # nearest keys that a query attends to (default 128)
---@field memory_layer? integer # layer with the memory, from 1; negative counts from the top (default -4)

---@class longhaul.models.transformer_xl
---@field layers? integer # layers of the core (L) (default 8)
---@field width? integer # embedding size D (default 1024)
---@field heads? integer # attention heads (default 8)
---@field head_width? integer # size of a head; 0: width / heads (default 0)
---@field hidden? integer # hidden size of the feed-forward network; 0: 4 * width (default 0)
---@field dropout? number # dropout rate of attention and feed-forward network in training (default 0)
---@field post_norm? boolean # norms behind the residual sums instead of before attention and feed-forward network (default false)
---@field rsa_kinds? integer[]|string # heads with a REM: regular, cosine, sine, dilated regular, cosine, sine (k1..k6) (default )
---@field rsa_dilation? integer[]|string # dilation d of the k4 + k5 + k6 dilated heads; one number stands for all (default )
---@field rsa_gate? number # initial gate mu of a layer: the REM weighs sigmoid(mu) (default 0)
---@field rsa_cutoff? integer # largest power K in a REM; 0: no limit (default 200)
---@field rsa_sharing? "pair"|"frozen"|"independent" # nu and theta: of a pair of cosine and sine, own nu with theta frozen, or both own (default pair)
---@field rsa_spread? "even"|"random"|"negative" # first eta in [-2, -1] and [1, 2] and first nu in [1, 2]: evenly, drawn, or evenly with every eta below zero (default even)
---@field span? integer # attention span S in tokens (default 512)

---@class longhaul.models.universal
---@field width? integer # embedding size D (default 1024)
---@field heads? integer # attention heads (default 8)
---@field head_width? integer # size of a head; 0: width / heads (default 0)
---@field hidden? integer # hidden size of the feed-forward network; 0: 4 * width (default 0)
---@field dropout? number # dropout rate of attention and feed-forward network in training (default 0)
---@field post_norm? boolean # norms behind the residual sums instead of before attention and feed-forward network (default false)
---@field rsa_kinds? integer[]|string # heads with a REM: regular, cosine, sine, dilated regular, cosine, sine (k1..k6) (default )
---@field rsa_dilation? integer[]|string # dilation d of the k4 + k5 + k6 dilated heads; one number stands for all (default )
---@field rsa_gate? number # initial gate mu of a layer: the REM weighs sigmoid(mu) (default 0)
---@field rsa_cutoff? integer # largest power K in a REM; 0: no limit (default 200)
---@field rsa_sharing? "pair"|"frozen"|"independent" # nu and theta: of a pair of cosine and sine, own nu with theta frozen, or both own (default pair)
---@field rsa_spread? "even"|"random"|"negative" # first eta in [-2, -1] and [1, 2] and first nu in [1, 2]: evenly, drawn, or evenly with every eta below zero (default even)
---@field span? integer # attention span S in tokens (default 512)
---@field steps? integer # recurrent steps: applications of the one layer (N) (default 8)

---@class longhaul.models.staircase
---@field layers? integer # layers of the core (L) (default 8)
---@field width? integer # embedding size D (default 1024)
---@field heads? integer # attention heads (default 8)
---@field head_width? integer # size of a head; 0: width / heads (default 0)
---@field hidden? integer # hidden size of the feed-forward network; 0: 4 * width (default 0)
---@field dropout? number # dropout rate of attention and feed-forward network in training (default 0)
---@field post_norm? boolean # norms behind the residual sums instead of before attention and feed-forward network (default false)
---@field rsa_kinds? integer[]|string # heads with a REM: regular, cosine, sine, dilated regular, cosine, sine (k1..k6) (default )
---@field rsa_dilation? integer[]|string # dilation d of the k4 + k5 + k6 dilated heads; one number stands for all (default )
---@field rsa_gate? number # initial gate mu of a layer: the REM weighs sigmoid(mu) (default 0)
---@field rsa_cutoff? integer # largest power K in a REM; 0: no limit (default 200)
---@field rsa_sharing? "pair"|"frozen"|"independent" # nu and theta: of a pair of cosine and sine, own nu with theta frozen, or both own (default pair)
---@field rsa_spread? "even"|"random"|"negative" # first eta in [-2, -1] and [1, 2] and first nu in [1, 2]: evenly, drawn, or evenly with every eta below zero (default even)
---@field forward_size? integer # new tokens of a step (C) (default 64)
---@field steps? integer # recurrent steps N: passes of every token through the core; the step size is N * C (default 4)
---@field cache? "inputs"|"outputs" # what crosses a segment boundary: the layers' inputs (section 3.2) or, as in the released code, their outputs (default inputs)
---@field segment_chunks? integer # with cache=outputs: chunks of a segment, whose outputs alone the released code keeps; 0: all N - 1 in reach stay (default 0)

---@class longhaul.models.cached_staircase
---@field layers? integer # layers of the core (L) (default 8)
---@field width? integer # embedding size D (default 1024)
---@field heads? integer # attention heads (default 8)
---@field head_width? integer # size of a head; 0: width / heads (default 0)
---@field hidden? integer # hidden size of the feed-forward network; 0: 4 * width (default 0)
---@field dropout? number # dropout rate of attention and feed-forward network in training (default 0)
---@field post_norm? boolean # norms behind the residual sums instead of before attention and feed-forward network (default false)
---@field rsa_kinds? integer[]|string # heads with a REM: regular, cosine, sine, dilated regular, cosine, sine (k1..k6) (default )
---@field rsa_dilation? integer[]|string # dilation d of the k4 + k5 + k6 dilated heads; one number stands for all (default )
---@field rsa_gate? number # initial gate mu of a layer: the REM weighs sigmoid(mu) (default 0)
---@field rsa_cutoff? integer # largest power K in a REM; 0: no limit (default 200)
---@field rsa_sharing? "pair"|"frozen"|"independent" # nu and theta: of a pair of cosine and sine, own nu with theta frozen, or both own (default pair)
---@field rsa_spread? "even"|"random"|"negative" # first eta in [-2, -1] and [1, 2] and first nu in [1, 2]: evenly, drawn, or evenly with every eta below zero (default even)
---@field forward_size? integer # new tokens of a step (C) (default 64)
---@field step_size? integer # tokens that a step reads, cached ones included (N * C) (default 256)
---@field computed_steps? integer # passes of every token before it is cached (M) (default 1)

---@class longhaul.models.feedback
---@field layers? integer # layers of the core (L) (default 8)
---@field width? integer # embedding size D (default 1024)
---@field heads? integer # attention heads (default 8)
---@field head_width? integer # size of a head; 0: width / heads (default 0)
---@field hidden? integer # hidden size of the feed-forward network; 0: 4 * width (default 0)
---@field dropout? number # dropout rate of attention and feed-forward network in training (default 0)
---@field post_norm? boolean # norms behind the residual sums instead of before attention and feed-forward network (default false)
---@field rsa_kinds? integer[]|string # heads with a REM: regular, cosine, sine, dilated regular, cosine, sine (k1..k6) (default )
---@field rsa_dilation? integer[]|string # dilation d of the k4 + k5 + k6 dilated heads; one number stands for all (default )
---@field rsa_gate? number # initial gate mu of a layer: the REM weighs sigmoid(mu) (default 0)
---@field rsa_cutoff? integer # largest power K in a REM; 0: no limit (default 200)
---@field rsa_sharing? "pair"|"frozen"|"independent" # nu and theta: of a pair of cosine and sine, own nu with theta frozen, or both own (default pair)
---@field rsa_spread? "even"|"random"|"negative" # first eta in [-2, -1] and [1, 2] and first nu in [1, 2]: evenly, drawn, or evenly with every eta below zero (default even)
---@field span? integer # tokens before each one that it sees (S) (default 512)
---@field memory? "mix"|"top" # what a token leaves behind: a learned mixture of all its layers, or the top one (default mix)
---@field see_self? boolean # let a token attend to itself too (as a cached staircase does) (default false)
---@field share_kv? boolean # one norm, key and value matrix for all layers (the paper's 102M row) (default false)
---@field carry? "raw"|"normed" # memory vectors as they cross a segment: as they are, or through the first layer's norm, which the released code then applies twice (default raw)

---@class longhaul.models.dai_xl
---@field layers? integer # layers (N) (default 12)
---@field width? integer # embedding size d (default 512)
---@field heads? integer # attention heads (default 8)
---@field head_width? integer # size of a head; 0: width / heads (default 0)
---@field hidden? integer # hidden size of the feed-forward network; 0: 4 * width (default 0)
---@field memory? integer # tokens of the segments before that every layer attends to (M) (default 512)
---@field same_length? boolean # every token sees as many tokens as there is memory (default false)
---@field longest_distance? integer # larger distances count as this one; 0: none do (default 0)
---@field dropout? number # dropout rate of embeddings, positions, layers and the last hidden states in training (default 0.1)
---@field attention_dropout? number # dropout rate of the attention weights in training (default 0)
---@field initial_deviation? number # of the initial weights, which narrow models want larger (default 0.02)
---@field cutoffs? integer[]|string # adaptive softmax: where the vocabulary, frequent words first, is cut into clusters (default )
---@field recurrent_layer? integer # the layer that is block-recurrent, from 1; negative counts from the top; 0: none. Its networks are 4 * width wide whatever 'hidden' is, and nothing in it is dropped (default 0)
---@field states? integer # state vectors of that layer (default 128)
---@field state_head_width? integer # size of that layer's heads whose queries are states; 0: head_width (default 0)
---@field block? integer # tokens per step of the states; 0: the segment, whose states are then never learnt (default 0)
---@field rsa_matrix? "lags"|"learned"|"toeplitz" # what the heads of rsa_kinds mix in: REMs, learned matrices (FL-XL), or a learned number a lag (default lags)
---@field segment? integer # learned matrices: the longest segment, which is their number of rows (default 0)
---@field rsa_kinds? integer[]|string # heads with a REM: regular, cosine, sine, dilated regular, cosine, sine (k1..k6) (default )
---@field rsa_dilation? integer[]|string # dilation d of the k4 + k5 + k6 dilated heads; one number stands for all (default )
---@field rsa_gate? number # initial gate mu of a layer: the REM weighs sigmoid(mu) (default 0)
---@field rsa_cutoff? integer # largest power K in a REM; 0: no limit (default 200)
---@field rsa_sharing? "pair"|"frozen"|"independent" # nu and theta: of a pair of cosine and sine, own nu with theta frozen, or both own (default pair)
---@field rsa_spread? "even"|"random"|"negative" # first eta in [-2, -1] and [1, 2] and first nu in [1, 2]: evenly, drawn, or evenly with every eta below zero (default even)
---@field cluster_divisor? integer # embeddings of each cluster of 'cutoffs' are narrower by this factor than those before it (div_val), read and predicted by projections; 1: all as wide as the model (default 1)
---@field share_biases? boolean # all layers have the same biases of positions (not untie_r) (default true)

---@class longhaul.models.compressive
---@field layers? integer # layers (N) (default 12)
---@field width? integer # embedding size d (default 512)
---@field heads? integer # attention heads (default 8)
---@field head_width? integer # size of a head; 0: width / heads (default 0)
---@field hidden? integer # hidden size of the feed-forward network; 0: 4 * width (default 0)
---@field block? integer # tokens that are read at once, after which memories move on (n_s) (default 512)
---@field memory? integer # tokens before the block that every layer attends to (n_m) (default 512)
---@field compressed_memory? integer # compressed memories before those (n_cm) (default 512)
---@field compression_rate? integer # memories that become one compressed memory (c) (default 2)
---@field compression? "convolution"|"dilated"|"mean"|"max" # what makes one of them, section 3.2: a convolution over neighbours; one over tokens spread across the block; their mean; their largest (default convolution)
---@field compression_loss? "attention"|"task"|"auto_encoding" # what a convolution learns from: attention reconstruction; the task's loss through the blocks of a segment, of which it needs two, which then reaches memories too; or that memories come back from it by a linear map (default attention)
---@field dropout? number # dropout rate of embeddings, positions, layers and the last hidden states in training (default 0.1)
---@field attention_dropout? number # dropout rate of the attention weights in training (default 0)
---@field initial_deviation? number # of the initial weights, which narrow models want larger (default 0.02)
---@field cutoffs? integer[]|string # adaptive softmax: where the vocabulary, frequent words first, is cut into clusters (default )
---@field rsa_kinds? integer[]|string # heads with a REM: regular, cosine, sine, dilated regular, cosine, sine (k1..k6) (default )
---@field rsa_dilation? integer[]|string # dilation d of the k4 + k5 + k6 dilated heads; one number stands for all (default )
---@field rsa_gate? number # initial gate mu of a layer: the REM weighs sigmoid(mu) (default 0)
---@field rsa_cutoff? integer # largest power K in a REM; 0: no limit (default 200)
---@field rsa_sharing? "pair"|"frozen"|"independent" # nu and theta: of a pair of cosine and sine, own nu with theta frozen, or both own (default pair)
---@field rsa_spread? "even"|"random"|"negative" # first eta in [-2, -1] and [1, 2] and first nu in [1, 2]: evenly, drawn, or evenly with every eta below zero (default even)
---@field cluster_divisor? integer # embeddings of each cluster of 'cutoffs' are narrower by this factor than those before it (div_val), read and predicted by projections; 1: all as wide as the model (default 1)
---@field share_biases? boolean # all layers have the same biases of positions (not untie_r) (default true)

---@class longhaul.models.rmt
---@field layers? integer # layers (N) (default 12)
---@field width? integer # embedding size d (default 512)
---@field heads? integer # attention heads (default 8)
---@field head_width? integer # size of a head; 0: width / heads (default 0)
---@field hidden? integer # hidden size of the feed-forward network; 0: 4 * width (default 0)
---@field block? integer # tokens between two memories (default 150)
---@field memory_tokens? integer # memory tokens (m) (default 10)
---@field unroll? integer # blocks through which gradients flow: at each so many the memory is a constant; 0: all of a segment (default 0)
---@field memory? integer # inputs of the blocks before, memory tokens included, that every layer attends to; 0: memory tokens alone (default 0)
---@field memory_reads_cache? boolean # memory tokens, too, attend to those (default false)
---@field shifted_positions? boolean # what distance adds to a memory token's score for one behind it is what the release's shift of its matrix of positions leaves there; else that of distance 0 (default false)
---@field dropout? number # dropout rate of embeddings, positions, layers and the last hidden states in training (default 0.1)
---@field attention_dropout? number # dropout rate of the attention weights in training (default 0)
---@field initial_deviation? number # of the initial weights, which narrow models want larger (default 0.02)
---@field cutoffs? integer[]|string # adaptive softmax: where the vocabulary, frequent words first, is cut into clusters (default )
---@field rsa_kinds? integer[]|string # heads with a REM: regular, cosine, sine, dilated regular, cosine, sine (k1..k6) (default )
---@field rsa_dilation? integer[]|string # dilation d of the k4 + k5 + k6 dilated heads; one number stands for all (default )
---@field rsa_gate? number # initial gate mu of a layer: the REM weighs sigmoid(mu) (default 0)
---@field rsa_cutoff? integer # largest power K in a REM; 0: no limit (default 200)
---@field rsa_sharing? "pair"|"frozen"|"independent" # nu and theta: of a pair of cosine and sine, own nu with theta frozen, or both own (default pair)
---@field rsa_spread? "even"|"random"|"negative" # first eta in [-2, -1] and [1, 2] and first nu in [1, 2]: evenly, drawn, or evenly with every eta below zero (default even)
---@field cluster_divisor? integer # embeddings of each cluster of 'cutoffs' are narrower by this factor than those before it (div_val), read and predicted by projections; 1: all as wide as the model (default 1)
---@field share_biases? boolean # all layers have the same biases of positions (not untie_r) (default true)

---@class longhaul.models.lstm
---@field layers? integer # number of layers (default 2)
---@field width? integer # embedding size D (default 128)
---@field hidden? integer # cells of a layer (default 512)
---@field dropout? number # dropout rate between layers in training (default 0)

---@class longhaul.models.rnn
---@field layers? integer # number of layers (default 2)
---@field width? integer # embedding size D (default 128)
---@field hidden? integer # cells of a layer (default 512)
---@field dropout? number # dropout rate between layers in training (default 0)
---@field activation? "linear"|"tanh"|"sigmoid"|"relu" # g of the cells; linear: the identity (default tanh)

---@class longhaul.models.linear_attention
---@field layers? integer # layers (L) (default 6)
---@field width? integer # embedding size D (default 512)
---@field heads? integer # attention heads (default 8)
---@field head_width? integer # size of a head; 0: width / heads (default 0)
---@field hidden? integer # hidden size of the feed-forward network; 0: 4 * width (default 0)
---@field dropout? number # dropout rate of embeddings, hidden units and residual branches in training (default 0)
---@field epsilon? number # what is added to the divisor of eq. 9 (default 1e-06)

---@class longhaul.models.mamba2
---@field layers? integer # layers (L) (default 24)
---@field width? integer # embedding size D (default 768)
---@field expand? integer # channels of x for each of width (default 2)
---@field state? integer # size of B and C (N) (default 128)
---@field head_width? integer # channels of a head (P) (default 64)
---@field groups? integer # groups of heads that share B and C; the gated norm is by groups, too (default 1)
---@field kernel? integer # tokens that the convolution reads (default 4)
---@field epsilon? number # what norms add to the mean square (default 1e-05)
---@field step_min? number # least dt that heads begin with (default 0.001)
---@field step_max? number # largest dt that heads begin with (default 0.1)
---@field tied? boolean # the head is the embedding (default true)

---@class longhaul.models.gated_deltanet
---@field layers? integer # layers (L) (default 21)
---@field width? integer # embedding size D (default 2048)
---@field heads? integer # heads of queries and keys (default 6)
---@field value_heads? integer # heads of values, a multiple of heads; 0: heads (default 0)
---@field head_width? integer # size of a head's query and key (default 256)
---@field expand? number # size of a head's value for each of head_width (default 2)
---@field hidden? integer # hidden size of the feed-forward network; 0: 8/3 width, up to the next 256 (default 0)
---@field kernel? integer # tokens that the convolutions read (default 4)
---@field negative_eigenvalues? boolean # beta within 0 and 2: a state may change its sign (default false)
---@field epsilon? number # what norms add to the mean square (default 1e-06)
---@field initial_deviation? number # deviation of first weights (default 0.02)
---@field tied? boolean # the head is the embedding (default false)

---@class longhaul.models.transformer
---@field layers? integer # layers (L) (default 6)
---@field width? integer # embedding size D (default 512)
---@field heads? integer # attention heads (default 8)
---@field head_width? integer # size of a head; 0: width / heads (default 0)
---@field hidden? integer # hidden size of the feed-forward network; 0: 4 * width (default 0)
---@field positions? "sinusoidal"|"relative"|"none" # sinusoidal: added to the embeddings; relative: Transformer-XL's, in every layer; none (default sinusoidal)
---@field longest_distance? integer # relative positions: larger distances count as this one (default 1000)
---@field zero_memory? integer # relative positions: zero states before a sequence that are attended to, and how many tokens one then sees, itself included; 0: none, and all; 1600 as released (default 0)
---@field dropout? number # dropout rate of embeddings, attention (not with positions=relative), hidden units and residual branches in training (default 0)
---@field rsa_kinds? integer[]|string # heads with a REM: regular, cosine, sine, dilated regular, cosine, sine (k1..k6) (default )
---@field rsa_dilation? integer[]|string # dilation d of the k4 + k5 + k6 dilated heads; one number stands for all (default )
---@field rsa_gate? number # initial gate mu of a layer: the REM weighs sigmoid(mu) (default 0)
---@field rsa_cutoff? integer # largest power K in a REM; 0: no limit (default 200)
---@field rsa_sharing? "pair"|"frozen"|"independent" # nu and theta: of a pair of cosine and sine, own nu with theta frozen, or both own (default pair)
---@field rsa_spread? "even"|"random"|"negative" # first eta in [-2, -1] and [1, 2] and first nu in [1, 2]: evenly, drawn, or evenly with every eta below zero (default even)

---@class longhaul.models.rsa
---@field layers? integer # number of layers (default 2)
---@field width? integer # outputs of a layer (default 2)
---@field heads? integer # attention heads (default 4)
---@field head_width? integer # size of a head (default 2)
---@field rsa_kinds? integer[]|string # heads with a REM: regular, cosine, sine, dilated regular, cosine, sine (k1..k6) (default )
---@field rsa_dilation? integer[]|string # dilation d of the k4 + k5 + k6 dilated heads; one number stands for all (default )
---@field rsa_gate? number # initial gate mu of a layer: the REM weighs sigmoid(mu) (default 0)
---@field rsa_cutoff? integer # largest power K in a REM; 0: no limit (default 200)
---@field rsa_sharing? "pair"|"frozen"|"independent" # nu and theta: of a pair of cosine and sine, own nu with theta frozen, or both own (default pair)
---@field rsa_spread? "even"|"random"|"negative" # first eta in [-2, -1] and [1, 2] and first nu in [1, 2]: evenly, drawn, or evenly with every eta below zero (default even)

---@class longhaul.models.gpt2
---@field layers? integer # blocks (L) (default 12)
---@field width? integer # embedding size (k) (default 768)
---@field heads? integer # attention heads (default 12)
---@field context? integer # learned positions: the longest window (default 1024)
---@field dropout? number # dropout rate of embeddings, attention and residual branches in training (default 0.1)
---@field rsa_kinds? integer[]|string # heads with a REM: regular, cosine, sine, dilated regular, cosine, sine (k1..k6) (default )
---@field rsa_dilation? integer[]|string # dilation d of the k4 + k5 + k6 dilated heads; one number stands for all (default )
---@field rsa_gate? number # initial gate mu of a layer: the REM weighs sigmoid(mu) (default 0)
---@field rsa_cutoff? integer # largest power K in a REM; 0: no limit (default 200)
---@field rsa_sharing? "pair"|"frozen"|"independent" # nu and theta: of a pair of cosine and sine, own nu with theta frozen, or both own (default pair)
---@field rsa_spread? "even"|"random"|"negative" # first eta in [-2, -1] and [1, 2] and first nu in [1, 2]: evenly, drawn, or evenly with every eta below zero (default even)
---@field window? integer # tokens that the model sees at once (T); 0: the segment (default 0)
---@field overlap? integer # tokens of a window that the next one repeats (default 0)
---@field recompute? boolean # keep one window's activations at a time and compute the others again in backward (default true)
---@field cache? boolean # keep keys and values, so that segments continue a window (for generation) (default false)

---@class longhaul.models.gpt2_recurrent
---@field layers? integer # blocks (L) (default 12)
---@field width? integer # embedding size (k) (default 768)
---@field heads? integer # attention heads (default 12)
---@field context? integer # learned positions: the longest window (default 1024)
---@field dropout? number # dropout rate of embeddings, attention and residual branches in training (default 0.1)
---@field rsa_kinds? integer[]|string # heads with a REM: regular, cosine, sine, dilated regular, cosine, sine (k1..k6) (default )
---@field rsa_dilation? integer[]|string # dilation d of the k4 + k5 + k6 dilated heads; one number stands for all (default )
---@field rsa_gate? number # initial gate mu of a layer: the REM weighs sigmoid(mu) (default 0)
---@field rsa_cutoff? integer # largest power K in a REM; 0: no limit (default 200)
---@field rsa_sharing? "pair"|"frozen"|"independent" # nu and theta: of a pair of cosine and sine, own nu with theta frozen, or both own (default pair)
---@field rsa_spread? "even"|"random"|"negative" # first eta in [-2, -1] and [1, 2] and first nu in [1, 2]: evenly, drawn, or evenly with every eta below zero (default even)
---@field window? integer # tokens that the model sees at once (T); 0: the segment (default 0)
---@field overlap? integer # tokens of a window that the next one repeats (default 0)
---@field recompute? boolean # keep one window's activations at a time and compute the others again in backward (default true)
---@field cache? boolean # keep keys and values, so that segments continue a window (for generation) (default false)
---@field insertion? integer # layer, from 1, that attends to the window before (l_ins); 0: all layers (default 2)
---@field pooling? "mean"|"max"|"attention" # over the tokens of a window (default mean)
---@field embeddings? integer # vectors that a window hands on (default 1)
---@field summary_layers? integer # hidden layers of the network that makes them (default 3)
---@field summary_hidden? integer # size of those layers (default 200)
---@field final_norm? boolean # pool the last layer after the final norm, as Hugging Face numbers hidden states (default true)
---@field carry? boolean # in training too, a segment goes on from the one before it; without it segments of one window learn no recurrence, and are refused where documents are longer (default false)

---@class longhaul.models.t5
---@field layers? integer # layers of the encoder, and of the decoder (default 6)
---@field width? integer # embedding size (d_model) (default 512)
---@field heads? integer # attention heads (default 8)
---@field head_width? integer # size of a head (d_kv); 0: width / heads (default 0)
---@field hidden? integer # feed-forward size (d_ff) (default 2048)
---@field dropout? number # dropout rate of embeddings, attention, feed-forward and residual branches in training (default 0.1)
---@field rsa_padding? boolean # recurrence encodings mix in the padding behind a source, too (default false)
---@field rsa_kinds? integer[]|string # heads with a REM: regular, cosine, sine, dilated regular, cosine, sine (k1..k6) (default )
---@field rsa_dilation? integer[]|string # dilation d of the k4 + k5 + k6 dilated heads; one number stands for all (default )
---@field rsa_gate? number # initial gate mu of a layer: the REM weighs sigmoid(mu) (default 0)
---@field rsa_cutoff? integer # largest power K in a REM; 0: no limit (default 200)
---@field rsa_sharing? "pair"|"frozen"|"independent" # nu and theta: of a pair of cosine and sine, own nu with theta frozen, or both own (default pair)
---@field rsa_spread? "even"|"random"|"negative" # first eta in [-2, -1] and [1, 2] and first nu in [1, 2]: evenly, drawn, or evenly with every eta below zero (default even)

---@class longhaul.models.reformer
---@field layers? integer # number of layers (n_l) (default 12)
---@field width? integer # embedding size (d_model) (default 1024)
---@field heads? integer # attention heads (n_h) (default 8)
---@field head_width? integer # size of a head (d_k); 0: width / heads (default 0)
---@field hidden? integer # hidden size of the feed-forward network (d_ff); 0: 4 * width (default 0)
---@field residual? "reversible"|"two_streams"|"plain" # reversible, the same with activations kept, or plain residual connections (default reversible)
---@field feed_forward_chunk? integer # tokens that pass through a feed-forward network at a time; 0: all (default 0)
---@field dropout? number # dropout rate of embeddings and branches in training, one mask along the sequence (or a feed_forward_chunk) (default 0)
---@field attention? string # of the layers, in turn and from the first one again: full, shared, shared_plain, lsh, lsh_chunks, local or dot_product, separated by commas (default lsh)
---@field rounds? integer # hash rounds (n_rounds) (default 1)
---@field eval_rounds? integer # hash rounds in evaluation; 0: as in training (default 0)
---@field chunk? integer # sorted tokens of a chunk (m) (default 64)
---@field buckets? integer[]|string # hash buckets, or their even factors; empty: two a chunk (default )
---@field local_chunk? integer # tokens of a chunk of local layers (default 64)
---@field positions? integer[]|string # longest sequence, or its axes for axial embeddings (128,512); empty: no positions (default 65536)
---@field position_widths? integer[]|string # sizes of the axes' vectors, which are concatenated; empty: they are added (default )

---@class longhaul.models.routing
---@field layers? integer # layers (L) (default 12)
---@field width? integer # embedding size D (default 512)
---@field heads? integer # attention heads, local and routed (default 8)
---@field head_width? integer # size of a head; 0: width / heads (default 0)
---@field hidden? integer # hidden size of the feed-forward network; 0: 4 * width (default 0)
---@field window? integer # tokens of a block; local heads see their own block and the one before (default 256)
---@field routing_layers? integer # last layers that have routed heads; -1: all, 0: none (default -1)
---@field routing_heads? integer # routed heads of such a layer; 0: half of the heads (default 0)
---@field dropout? number # dropout rate of embeddings, hidden units and residual branches in training (default 0)
---@field clusters? integer # centroids of each head (k) (default 16)
---@field routing_window? integer # tokens that a centroid takes (w); 0: length / clusters, rounded up (default 0)
---@field longest_distance? integer # places between two tokens of a cluster; larger ones count as this one (default 512)
---@field overlap? "sum"|"mean" # what a token of several clusters gets: their sum, or as released that divided by their number + 0.01 (default sum)
---@field routing_scale? number # what products of unit queries and keys are multiplied by; 0: sqrt(head_width), which is eq. 1 of layer-normed ones; head_width as released (default 0)
---@field centroid_decay? number # what a centroid keeps of itself in each segment of training (lambda) (default 0.999)

---@class longhaul.models.reformer_encoder_decoder
---@field layers? integer # number of layers (n_l) (default 12)
---@field width? integer # embedding size (d_model) (default 1024)
---@field heads? integer # attention heads (n_h) (default 8)
---@field head_width? integer # size of a head (d_k); 0: width / heads (default 0)
---@field hidden? integer # hidden size of the feed-forward network (d_ff); 0: 4 * width (default 0)
---@field residual? "reversible"|"two_streams"|"plain" # reversible, the same with activations kept, or plain residual connections (default reversible)
---@field feed_forward_chunk? integer # tokens that pass through a feed-forward network at a time; 0: all (default 0)
---@field dropout? number # dropout rate of embeddings and branches in training, one mask along the sequence (or a feed_forward_chunk) (default 0)
---@field positions? integer # longest source and target (default 2048)
---@field shared? boolean # one embedding for source, target and the head (default true)

---@class longhaul.models.informer
---@field layers? integer # layers of the encoder (default 2)
---@field decoder_layers? integer # layers of the decoder (default 1)
---@field width? integer # size of hidden states (d_model) (default 512)
---@field heads? integer # attention heads (default 8)
---@field hidden? integer # hidden size of the feed-forward network (d_ff); 0: 4 * width (default 0)
---@field dropout? number # dropout rate of embeddings, attention (not ProbSparse) and residual branches in training (default 0.05)
---@field sinusoids? boolean # add absolute sinusoidal positions to the embeddings (default true)
---@field rsa_kinds? integer[]|string # heads with a REM: regular, cosine, sine, dilated regular, cosine, sine (k1..k6) (default )
---@field rsa_dilation? integer[]|string # dilation d of the k4 + k5 + k6 dilated heads; one number stands for all (default )
---@field rsa_gate? number # initial gate mu of a layer: the REM weighs sigmoid(mu) (default 0)
---@field rsa_cutoff? integer # largest power K in a REM; 0: no limit (default 200)
---@field rsa_sharing? "pair"|"frozen"|"independent" # nu and theta: of a pair of cosine and sine, own nu with theta frozen, or both own (default pair)
---@field rsa_spread? "even"|"random"|"negative" # first eta in [-2, -1] and [1, 2] and first nu in [1, 2]: evenly, drawn, or evenly with every eta below zero (default even)
---@field attention? "full"|"prob" # self-attention: ProbSparse or dense (default prob)
---@field factor? integer # ProbSparse: factor * ceil(ln length) queries attend, as many keys are sampled (c) (default 5)
---@field mix? boolean # leave heads and steps of the decoder's self-attention swapped, as the released code does (default true)
---@field rsa_lazy? boolean # ProbSparse: recurrence encoding joins the queries that do not attend, too (default true)
---@field distil? boolean # halve the sequence between layers of the encoder (section 3.2), which RSA leaves out (default false)

---@class longhaul.models.logsparse
---@field layers? integer # layers of the encoder (default 2)
---@field decoder_layers? integer # layers of the decoder (default 1)
---@field width? integer # size of hidden states (d_model) (default 512)
---@field heads? integer # attention heads (default 8)
---@field hidden? integer # hidden size of the feed-forward network (d_ff); 0: 4 * width (default 0)
---@field dropout? number # dropout rate of embeddings, attention (not ProbSparse) and residual branches in training (default 0.05)
---@field sinusoids? boolean # add absolute sinusoidal positions to the embeddings (default true)
---@field rsa_kinds? integer[]|string # heads with a REM: regular, cosine, sine, dilated regular, cosine, sine (k1..k6) (default )
---@field rsa_dilation? integer[]|string # dilation d of the k4 + k5 + k6 dilated heads; one number stands for all (default )
---@field rsa_gate? number # initial gate mu of a layer: the REM weighs sigmoid(mu) (default 0)
---@field rsa_cutoff? integer # largest power K in a REM; 0: no limit (default 200)
---@field rsa_sharing? "pair"|"frozen"|"independent" # nu and theta: of a pair of cosine and sine, own nu with theta frozen, or both own (default pair)
---@field rsa_spread? "even"|"random"|"negative" # first eta in [-2, -1] and [1, 2] and first nu in [1, 2]: evenly, drawn, or evenly with every eta below zero (default even)
---@field kernel? integer # steps that queries and keys of self-attention are convolved over (k) (default 3)
---@field local? integer # distances up to this are visible beside the powers of two (default 0)
---@field restart? integer # the pattern of distances begins again after so many steps; 0: never (default 0)

---@class longhaul.models.series_xl
---@field layers? integer # layers (L) (default 3)
---@field width? integer # size of hidden states (d_model) (default 512)
---@field heads? integer # attention heads (default 8)
---@field hidden? integer # hidden size of the feed-forward network; 0: 4 * width (default 0)
---@field memory? integer # steps before the window that a layer remembers; 0: seq_len (default 0)
---@field positions? "relative"|"none" # relative: Transformer-XL's, in every layer; none (default relative)
---@field dropout? number # dropout rate of embeddings, positions, layers and the last hidden states in training (default 0.05)
---@field rsa_kinds? integer[]|string # heads with a REM: regular, cosine, sine, dilated regular, cosine, sine (k1..k6) (default )
---@field rsa_dilation? integer[]|string # dilation d of the k4 + k5 + k6 dilated heads; one number stands for all (default )
---@field rsa_gate? number # initial gate mu of a layer: the REM weighs sigmoid(mu) (default 0)
---@field rsa_cutoff? integer # largest power K in a REM; 0: no limit (default 200)
---@field rsa_sharing? "pair"|"frozen"|"independent" # nu and theta: of a pair of cosine and sine, own nu with theta frozen, or both own (default pair)
---@field rsa_spread? "even"|"random"|"negative" # first eta in [-2, -1] and [1, 2] and first nu in [1, 2]: evenly, drawn, or evenly with every eta below zero (default even)

---@class longhaul.models.dlinear
---@field decompose? boolean # DLinear: maps of their own for the moving average and for what is left (default true)
---@field kernel? integer # steps of the moving average, odd (default 25)
---@field subtract_last? boolean # NLinear (with decompose=false): predict differences from the last observed value (default false)

---@class longhaul.models.seasonal_naive
---@field season? integer # steps of a season, a day of hours (default 24)

---@class longhaul.tasks.language_model: { [1]: longhaul.corpus }
---@field segment? integer # tokens of a segment (N) (default 512)
---@field batch? integer # documents read side by side (B) (default 8)
---@field predict_across? boolean # predict the first token of a segment from the segment before it (default true)
---@field overlap? integer # tokens of a segment that the next one repeats without predicting them (default 0)
---@field evaluate_documents? integer # documents of a split that an evaluation reads; 0: all (default 0)
---@field evaluate_batches? integer # batches after which an evaluation ends; 0: at the end of the documents (default 0)
---@field subsequences? "none"|"disjoint"|"quarter"|"streams" # join the documents; read every segment by itself (disjoint ones, or in training one at every quarter of a segment), or in each row of a batch its part from end to end (streams) (default none)
---@field name? string # books, latex, code, generate:KIND, plugin:NAME, a name that `longhaul data list` shows, or a folder or a file of JSON lines with a slash in its path (default books)
---@field tokens? string # tokenizer: bytes, bpe:NAME, bpe:FOLDER, bpe:train:SIZE, sentencepiece:NAME, sentencepiece:FILE.model, sentencepiece:train:SIZE, subwords:NAME, words:FILE, words:train:SIZE; :NAME+NAME behind SIZE: trained on those corpora (default bytes)
---@field documents? integer # generator: documents to train on, beside ten each to validate and to test (default 200)
---@field document_bytes? integer # generator: size of a document (default 32768)
---@field split_bytes? integer # cut longer documents into pieces of this size, documents of their own; 0: whole (default 0)
---@field limit_bytes? integer # bytes of the train split to use; 0: all (default 0)
---@field limit_eval_bytes? integer # bytes of valid and of test to use; 0: all (default 0)
---@field limit_documents? integer # documents of the train split to use, the first by name, before they are cut; 0: all (default 0)
---@field valid_tokens? integer # first tokens of every validation document to use; 0: all (default 0)
---@field data_seed? integer # generator: seed of the documents (default 1)
---@field field? string # JSON lines: the field that holds a document; empty: text (default )

---@class longhaul.tasks.random_walk: { [1]: longhaul.corpus }
---@field segment? integer # symbols of a segment (default 64)
---@field batch? integer # streams read side by side (B) (default 64)
---@field episodes? integer # training episodes, read again and again; 0: new ones without end (default 10000)
---@field evaluate_episodes? integer # episodes of the validation and of the test split (default 1000)
---@field data_seed? integer # what the episodes are drawn from (default 1)
---@field grid? integer # cells along a side of the grid (default 8)
---@field steps? integer # actions of an episode (default 400)

---@class longhaul.tasks.algorithm: { [1]: longhaul.corpus }
---@field segment? integer # symbols of a segment (default 64)
---@field batch? integer # streams read side by side (B) (default 64)
---@field episodes? integer # training episodes, read again and again; 0: new ones without end (default 10000)
---@field evaluate_episodes? integer # episodes of the validation and of the test split (default 1000)
---@field data_seed? integer # what the episodes are drawn from (default 1)
---@field variables? integer # variables (default 3)
---@field statements? integer # statements of a program (default 100)
---@field largest? integer # values are 1 to this (default 10)

---@class longhaul.tasks.duplication: { [1]: longhaul.corpus }
---@field batch? integer # sequences of a batch (B) (default 32)
---@field word? integer # symbols of a word; a sequence is two zeros and the word twice (default 511)
---@field alphabet? integer # symbols of a word are 1 to this (default 127)
---@field segment? integer # tokens of a sequence that are read at once; 0: all (default 0)
---@field evaluate_sequences? integer # sequences of the validation and of the test split (default 256)
---@field data_seed? integer # what held-out sequences are drawn from; training draws fresh ones from the run's seed (default 1)

---@class longhaul.tasks.recall: { [1]: longhaul.corpus }
---@field vocabulary? integer # tokens: one half of them are keys, the other values (default 8192)
---@field pairs? integer[]|string # keys of a sequence, each with its value; several: kinds of sequences (default 8)
---@field lengths? integer[]|string # tokens of a sequence: of each kind, or of all (default 64)
---@field shares? integer[]|string # how many sequences are of each kind, in proportion (default 1)
---@field power? number # slot j behind the pairs asks with a chance of j^(power - 1); 1: all alike (default 0.01)
---@field fills? boolean # random tokens between the queries in place of 0 (default false)
---@field segment? integer # tokens of a sequence that are read at once; 0: all of the longest (default 0)
---@field batch? integer # sequences of a batch (B) (default 64)
---@field evaluate_sequences? integer # sequences of the validation and of the test split (default 1000)
---@field data_seed? integer # what held-out sequences are drawn from; training draws fresh ones from the run's seed (default 1)

---@class longhaul.tasks.imagenet64: { [1]: longhaul.corpus }
---@field batch? integer # sequences of a batch (B) (default 32)
---@field name? string # a data folder with train/, valid/ and test/ of .npy files; without one the embedded generator makes imagenet64 (default imagenet64)
---@field side? integer # pixels along a side; a sequence is side * side * 3 bytes (default 64)
---@field images? integer # generator: images to train on (default 10000)
---@field evaluate_images? integer # images of the validation and of the test split, the first of them (default 512)
---@field data_seed? integer # generator: seed of the images (default 1)

---@class longhaul.tasks.regular_language: { [1]: longhaul.corpus }
---@field language? "parity"|"d2"|"d4"|"tomita3"|"tomita5"|"tomita6"|"tomita1"|"tomita2"|"tomita4"|"tomita7"|"d1"|"d3"|"d5"|"d6"|"d7"|"d8"|"d9"|"d10"|"d11"|"d12"|"aa"|"aaaa"|"abab" # an even number of 1s; brackets up to n deep, d1 to d12; tomita1 to tomita7; or (aa)*, (aaaa)*, (abab)* (default parity)
---@field batch? integer # strings of a batch (B) (default 32)
---@field shortest? integer # letters of the shortest string (default 2)
---@field longest? integer # letters of the longest string in training and bin 0; 0: the paper's 50, 100 for D_n (default 0)
---@field increment? integer # bin 1 has longer strings, by up to so many letters; 0: as many as longest (default 0)
---@field strings? integer # training strings; 0: the paper's 10000, 5000 for D_n (default 0)
---@field evaluate_strings? integer # strings of the validation split and of each bin; 0: the paper's 2000, 1000 for D_n (default 0)
---@field data_seed? integer # what the strings are drawn from (default 1)

---@class longhaul.tasks.simulated_network: { [1]: longhaul.corpus }
---@field activation? "tanh"|"sigmoid"|"relu" # g: tanh, sigmoid or relu (default tanh)
---@field alpha? number # share of what is not linear (default 0.5)
---@field recurrent_norm? number # spectral norm of the true recurrent weights (default 0.8)
---@field segments? integer # segments of the sequence (default 100)
---@field length? integer # steps of a segment (default 100)

---@class longhaul.tasks.forecasting: { [1]: longhaul.series }
---@field seq_len? integer # steps that are observed (default 96)
---@field label_len? integer # of them the last ones that a decoder begins with (default 48)
---@field pred_len? integer # steps to predict: the horizon (default 24)
---@field batch? integer # windows side by side (B) (default 32)
---@field sampler? "sequential"|"shuffled"|"streams" # order of training windows; sequential: row r of a batch begins r windows behind the first and moves on by `batch` steps; streams: by as many, in a piece of the series of its own (default sequential)
---@field drop_last? boolean # evaluate whole batches only, as Informer's code does (default false)
---@field limit_windows? integer # training windows to use, the latest; 0: all (default 0)
---@field evaluate_windows? integer # windows of a split that an evaluation reads, the first; 0: all (default 0)
---@field name? string # ETTh1, ETTh2, ETTm1, Weather, generate:seasonal, a series in a data folder (`longhaul data import`), or a CSV file with a slash in its path (default ETTh1)
---@field borders? "informer"|"months"|"calendar"|"shares" # rows of the splits: months (12/4/4 for ETT, 28/10/10 for Weather) of 30 days or by the calendar, shares 70/10/20; informer: as its code has it, months for ETT and shares else (default informer)
---@field freq? "h"|"t" # time features: h (hour, weekday, day, day of the year), t (the minute, too) (default h)
---@field series_rows? integer # generator: rows (default 17420)
---@field channels? integer # generator: channels (default 7)
---@field data_seed? integer # generator: seed (default 1)

---@class longhaul.tasks.translation: { [1]: longhaul.corpus }
---@field batch_tokens? integer # tokens of a batch on either side, padding included; lengths are 8, 16, 32 ... (default 2048)
---@field beam? integer # open translations of a sentence of the test split; 0: none is translated (default 4)
---@field length_penalty? number # alpha: scores are divided by ((5 + length) / 6)^alpha (default 0.6)
---@field longer? integer # tokens that a translation may have beyond those of its source (default 50)
---@field name? string # a data folder, or one with a slash in its path, with train, valid and test in both languages (default wmt14-en-de)
---@field source? string # ending of the files to translate from (default en)
---@field target? string # ending of the files to translate into (default de)
---@field tokens? string # one tokenizer for both languages: bytes, subwords:NAME, sentencepiece:NAME, sentencepiece:train:SIZE (default sentencepiece:train:32000)
---@field pairs? integer # generator: sentence pairs to train on (default 20000)
---@field evaluate_pairs? integer # first pairs of the validation and of the test split to use; 0: all, generator: 500 (default 0)
---@field max_tokens? integer # training pairs with a longer side are left out (default 256)
---@field data_seed? integer # generator: seed of the pairs (default 1)

---@class longhaul.tasks.defect: { [1]: longhaul.corpus }
---@field name? string # a data folder, or one with a slash in its path, with train.jsonl, valid.jsonl, test.jsonl (default devign)
---@field tokens? string # tokenizer: bpe:codet5-small as published; bytes, bpe:NAME, bpe:FOLDER, bpe:train:SIZE, sentencepiece:NAME, sentencepiece:FILE.model, sentencepiece:train:SIZE, subwords:NAME, words:FILE, words:train:SIZE (default bytes)
---@field source_length? integer # tokens of a function, its begin and end included; longer ones are cut (default 512)
---@field batch? integer # functions of a batch (B) (default 32)
---@field head? "generation"|"classification" # write "true" or "false", or classify the decoder's last state (default generation)
---@field functions? integer # training functions to use, the first ones; 0: all, generator: 10000 (default 0)
---@field evaluate_functions? integer # the same of the validation and of the test split; 0: all, generator: 1000 (default 0)
---@field data_seed? integer # generator: seed of the functions (default 1)

---@class longhaul.tasks.scripted_tokens: { [1]: string }
---@field file? string # the Lua file that makes the examples (default )
---@field parameters? string # what the file is told in place of its defaults, as in word=31 (default )
---@field segment? integer # positions of an example that are read at once; 0: all (default 0)
---@field batch? integer # examples of a batch (B) (default 32)
---@field evaluate_examples? integer # examples of the validation and of the test split (default 256)
---@field data_seed? integer # what held-out examples are drawn from; training draws fresh ones from the run's seed (default 1)

---@class longhaul.tasks.scripted_vectors: { [1]: string }
---@field file? string # the Lua file that makes the examples (default )
---@field parameters? string # what the file is told in place of its defaults, as in word=31 (default )
---@field segment? integer # positions of an example that are read at once; 0: all (default 0)
---@field batch? integer # examples of a batch (B) (default 32)
---@field evaluate_examples? integer # examples of the validation and of the test split (default 256)
---@field data_seed? integer # what held-out examples are drawn from; training draws fresh ones from the run's seed (default 1)

---@class longhaul.text: longhaul.tasks.language_model, { [1]: string }

---@class longhaul.series: longhaul.tasks.forecasting, { [1]: string }

---@class longhaul.train
---@field steps? integer # training steps (default 1000)
---@field optimizer? "sgd"|"adam"|"adamw"|"adafactor" # update rule (default adafactor)
---@field rate? number # learning rate before the schedule (default 1)
---@field schedule? "constant"|"linear"|"rsqrt"|"cosine"|"step"|"delayed_step" # decay: rsqrt is rate / sqrt(max(step, warmup)) (default rsqrt)
---@field warmup? integer # steps of linear warm-up from 0 (default 1000)
---@field first_rate? "zero"|"step"|"full" # of the first step of a warm-up: 0; rate / warmup, the schedule one step ahead; or, once, the full rate (default zero)
---@field final_rate? number # rate at the end of linear and cosine (default 0)
---@field decay_from? "warmup"|"start"|"start_held" # linear and cosine over the steps behind the warm-up, or over all steps: the warm-up then rises to the full rate, or held to what the decay leaves at its end (which is before the last step) (default warmup)
---@field step_every? integer # steps between drops of step and delayed_step (default 1000)
---@field step_factor? number # what step multiplies the rate with (default 0.5)
---@field clip? number # largest global gradient norm; 0: no clipping (default 0)
---@field momentum? number # of sgd and adafactor (its beta1, below 1) (default 0.9)
---@field beta1? number # of adam and adamw, below 1 (default 0.9)
---@field beta2? number # of adam and adamw, below 1 (default 0.999)
---@field epsilon? number # of adam and adamw (default 1e-08)
---@field weight_decay? number # of matrices; not with adafactor (default 0)
---@field second_moment_decay? number # adafactor: beta2 = 1 - (step + 1)^-this (default 0.8)
---@field update_clip? number # adafactor: largest rms of an update (d); 0: no clipping (default 1)
---@field parameter_scale? boolean # adafactor: updates relative to the parameter's rms (default true)
---@field factor_minimum? integer # adafactor: smallest axis whose second moment is factored; t5x: 128, transformers: 1 (default 128)
---@field log_every? integer # steps between points of the loss curve (default 10)
---@field evaluate_every? integer # steps between evaluations on the validation split; 0: none (default 0)
---@field keep_best? false|true|"accuracy"|"error_percent"|"bits_per_token"|"bits_per_byte"|"perplexity"|"word_perplexity"|"mse"|"mae" # experiments end with the weights of the best evaluation (early stopping): true by its loss, or by the metric that is named (default false)
---@field patience? integer # evaluations in a row without a better loss (nor a better metric, where keep_best names one) after which training ends; 0: never (default 0)
---@field evaluate_test? boolean # evaluations read the test split too: its accuracies join the curve, the best of them the results (nothing is chosen by them) (default false)
---@field checkpoint_every? integer # steps between checkpoints; 0: by time only (default 0)
---@field checkpoint_seconds? number # seconds between checkpoints; 0: by steps only (default 60)
---@field precision? "f32"|"tf32"|"bf16" # what matrix products round their operands to, bf16 also what activations are in memory; tf32 on a GPU only, bf16 also on a processor with avx512_bf16 or AMX (default f32)
---@field swap_parameters? boolean # layers' parameters rest in host memory, where the optimizer works, and visit the device while their layer computes (reversible layers) (default false)
---@field accumulate? integer # micro-batches that the rows of a step are cut into, one after the other in memory; their gradients are summed, so that the batch stays that of the step (default 1)
---@field segments_per_step? integer # consecutive segments that a step goes through, carrying the state from each to the next; their gradients are summed before the one update, but statistics (centroids, running means) move in each of them (default 1)

---@class longhaul.models
---@field xl fun(options: longhaul.models.xl): longhaul.spec
---@field slide fun(options: longhaul.models.slide): longhaul.spec
---@field brt fun(options: longhaul.models.brt): longhaul.spec
---@field memorizing fun(options: longhaul.models.memorizing): longhaul.spec
---@field transformer_xl fun(options: longhaul.models.transformer_xl): longhaul.spec
---@field universal fun(options: longhaul.models.universal): longhaul.spec
---@field staircase fun(options: longhaul.models.staircase): longhaul.spec
---@field cached_staircase fun(options: longhaul.models.cached_staircase): longhaul.spec
---@field feedback fun(options: longhaul.models.feedback): longhaul.spec
---@field dai_xl fun(options: longhaul.models.dai_xl): longhaul.spec
---@field compressive fun(options: longhaul.models.compressive): longhaul.spec
---@field rmt fun(options: longhaul.models.rmt): longhaul.spec
---@field lstm fun(options: longhaul.models.lstm): longhaul.spec
---@field rnn fun(options: longhaul.models.rnn): longhaul.spec
---@field linear_attention fun(options: longhaul.models.linear_attention): longhaul.spec
---@field mamba2 fun(options: longhaul.models.mamba2): longhaul.spec
---@field gated_deltanet fun(options: longhaul.models.gated_deltanet): longhaul.spec
---@field transformer fun(options: longhaul.models.transformer): longhaul.spec
---@field rsa fun(options: longhaul.models.rsa): longhaul.spec
---@field gpt2 fun(options: longhaul.models.gpt2): longhaul.spec
---@field gpt2_recurrent fun(options: longhaul.models.gpt2_recurrent): longhaul.spec
---@field t5 fun(options: longhaul.models.t5): longhaul.spec
---@field reformer fun(options: longhaul.models.reformer): longhaul.spec
---@field routing fun(options: longhaul.models.routing): longhaul.spec
---@field reformer_encoder_decoder fun(options: longhaul.models.reformer_encoder_decoder): longhaul.spec
---@field informer fun(options: longhaul.models.informer): longhaul.spec
---@field logsparse fun(options: longhaul.models.logsparse): longhaul.spec
---@field series_xl fun(options: longhaul.models.series_xl): longhaul.spec
---@field dlinear fun(options: longhaul.models.dlinear): longhaul.spec
---@field seasonal_naive fun(options: longhaul.models.seasonal_naive): longhaul.spec

---@class longhaul.tasks
---@field language_model fun(options: longhaul.tasks.language_model): longhaul.spec
---@field random_walk fun(options: longhaul.tasks.random_walk): longhaul.spec
---@field algorithm fun(options: longhaul.tasks.algorithm): longhaul.spec
---@field duplication fun(options: longhaul.tasks.duplication): longhaul.spec
---@field recall fun(options: longhaul.tasks.recall): longhaul.spec
---@field imagenet64 fun(options: longhaul.tasks.imagenet64): longhaul.spec
---@field regular_language fun(options: longhaul.tasks.regular_language): longhaul.spec
---@field simulated_network fun(options: longhaul.tasks.simulated_network): longhaul.spec
---@field forecasting fun(options: longhaul.tasks.forecasting): longhaul.spec
---@field translation fun(options: longhaul.tasks.translation): longhaul.spec
---@field defect fun(options: longhaul.tasks.defect): longhaul.spec
---@field scripted_tokens fun(options: longhaul.tasks.scripted_tokens): longhaul.spec
---@field scripted_vectors fun(options: longhaul.tasks.scripted_vectors): longhaul.spec

---@class longhaul.plot
---@field [1] "bars"|"boxes"|"columns"|"lines"|"loss"|"outputs"|"pareto"|"profile"|"recurrence"|"trials"
---@field y? string|table a metric
---@field published? string a table of `results/published/`: hollow marks where it prints what is shown; the title of x says where others lie
---@field title? string default: experiment, data and axes
---@field name? string of its files; default: the kind
---@field dataset? string the only one to show
---@field by? string|function the box of a row: a factor, an option of the model, or a function of the row; default: its data set
---@field of? table experiments whose rows are shown; default: this one
---@field row? string the only label to show
---@field rows? table their labels
---@field without? string "%s, no REM": splits each column into what the row of that name takes and the rest; what it takes above the whole is hatched, and the spread is that of the whole
---@field parts? table what these two are called
---@field x? string|table a metric, a factor or an option of the model; { name, log = true } is logarithmic
---@field group? string a factor, an option of the model, "class", "dataset" or "row": a curve for each value
---@field band? string|boolean "seeds": the standard deviation around each curve
---@field relative_to? string a group: the others are shown as ratios to it
---@field where? table factors or options and their values: only the rows that have them
---@field together? boolean true: all data sets in one chart
---@field layer? number counted from 1
---@field input? string a string of 0 and 1, the letters of a regular language
---@field label? string what points are labelled by, like `group`; default: the row
---@field frontier? boolean false: without the front
---@field part? string "position": bits of a token by its place in the document; "kept": by how many tokens are read before it; "changed": what one other token costs, by how far back it stands; "recall": right answers by when the token was last read

---@class longhaul.row
---@field [1] string|table the label, or a point of `lh.grid`, whose factors become columns of runs.csv; one that is called as an option of its model has that option's value
---@field model longhaul.spec an architecture and its options: `lh.models.NAME { ... }`
---@field task longhaul.spec what is predicted, and the data: `lh.tasks.NAME { ... }`
---@field train longhaul.spec how it is trained: `lh.train { ... }`
---@field seeds? integer how many; default: `bench:seeds(n)`, else 1
---@field dataset? string its name in tables; default: the corpus' name
---@field label? string for a point of `lh.grid`
---@field slug? string what the column `model` says; default: the published table's for this label, else the model's class
---@field published_row? string the paper's label, where it is another
---@field from? string|table the row whose trained weights of the same seed it begins with: a label, or `{ bench, label }`
---@field weights? string|table a weight file, or a name under which one was fetched; `{ name, partly = true }`: it may lack parameters
---@field keep_weights? boolean keeps the row's own under `results/<experiment>/weights/`
---@field values? table<string, number> metrics that the script knows itself: `{ kaplan_flops_per_token = 1e6 }`
---@field tune? longhaul.tune training options to choose on the validation split, made by `lh.tune`
---@field context? table<string, integer> measures how far back the trained model looks, over passages of the validation split: `{ length = 512, passages = 256 }`
---@field reach? table<string, number> a loss of the curve for `tokens_to_reach`: `{ valid_bits = 2.0 }`

---@class longhaul.tune
---@field by longhaul.metric a loss or score of the validation split, `"valid_bits_per_token"`
---@field steps? integer of a trial; default: those of the row
---@field seeds? integer of a trial, whose mean decides; default: 1
---@field halving? boolean in rounds: all choices for a fraction of the steps, then the better half of them for twice as many, and so on; the last two have all `steps`
---@field OPTION? any[] a training option, with the values that are tried: `rate = { 1e-3, 3e-3 }`

---@class longhaul.match
---@field [1] longhaul.spec the model, `lh.models.NAME { ... }`, with all but its size
---@field task longhaul.spec what it is for: it says how many tokens or features there are
---@field parameters? number how many it shall have, embeddings included
---@field flops_per_token? number what one token shall take forward
---@field step_time_ms? number what a training step shall take on this machine
---@field train? longhaul.spec with step_time_ms: how it is trained; default: lh.train {}

---@class longhaul.table
---@field columns longhaul.metric[] metrics, in order
---@field baseline? string|table<string, any> label, or factors, of the row that `relative_step_time` refers to
---@field published? string a table of `results/published/` whose values stand beside ours
---@field datasets? table<string, string> our names of data sets to the paper's, or to `""` where it has none
---@field best? table<longhaul.metric, "min"|"max"> `"min"` or `"max"` for a metric that does not say which end is better
---@field select? "best_valid" `"best_valid"`: the seed that did best on the validation split
---@field name? string of its files; default: `table`
---@field title? string above it

---@class longhaul.fit
---@field group string the factor that has an exponent for each of its values
---@field over string[] the factors of growth
---@field of table<string, any> what is fitted, by name: a metric, or a function of `value(metric)`
---@field published? string a table whose formulas are printed beside
---@field crossing? string a group: from where on each of the others is below it
---@field name? string of its files; default: `exponents`

---@class longhaul.best_at
---@field seconds? number[] moments, in seconds of a row's own training steps
---@field flops? number[] moments, in FLOPs of training

---@class longhaul.sample
---@field row string the label of an earlier row, whose model goes on
---@field tokens string the tokenizer
---@field count integer passages
---@field context integer tokens of the validation split that are read
---@field length integer tokens that are added
---@field temperature? number 0 (default): the likeliest tokens

---@class longhaul.claim
---@field [1] string its id, as in results/published
---@field holds longhaul.predicate the published predicate
---@field asks? longhaul.predicate what the sentence asks, where the published predicate asks for less, or for more
---@field direction? longhaul.predicate a weaker form
---@field direction_says? string the weaker form in words
---@field untested? string|table why it cannot fail, or `{ predicate, reason }`
---@field of_size? string what only scale `paper` tells
---@field scale_changes? string what the scale changes of it
---@field expected? string in place of the sentence of results/published
---@field says? string the claim in words, where no paper makes it
---@field paper? string default: from the id
---@field note? string beside the verdict

---@class longhaul.cell
---@field experiment longhaul.experiment whose row it is
---@field row string label, or a slug that no other row has
---@field metric longhaul.metric a column of runs.csv
---@field dataset? string without: the mean over data sets, for costs that seeds share; of the rest the row's only data set
---@field published? string the paper's table, "paper_table1"
---@field printed_as? longhaul.metric what the paper's number stands for, where that is another metric

---@class longhaul.corpus

---@class longhaul.term
---@operator add(longhaul.term|number): longhaul.term
---@operator sub(longhaul.term|number): longhaul.term
---@operator mul(longhaul.term|number): longhaul.term
---@operator div(longhaul.term|number): longhaul.term
---@operator pow(longhaul.term|number): longhaul.term

---@class longhaul.predicate

---@class longhaul.spec
local spec = {}

---The same spec with some options changed: `base:with { window = 64 }`.
---@param changes table<string, any>
---@return longhaul.spec
function spec:with(changes) end

---The value of one option: a number, a boolean, a string or an array of integers; nil when there
---is none.
---@param name string
---@return any
function spec:option(name) end

---The value of one option as text, as on the command line: "1,0,2". `spec.text` is all options as
---text.
---@param name string
---@return string
function spec:spelled(name) end

---@class longhaul.predicates
local p = {}

---What a row has of a metric: a table that the source understands, called `text` where verdicts name it.
---@param text string
---@param cell longhaul.cell
---@return longhaul.term
function p.cell(text, cell) end

---The least of several terms.
---@param parts longhaul.term[]
---@return longhaul.term
function p.least(parts) end

---The greatest of several terms.
---@param parts longhaul.term[]
---@return longhaul.term
function p.greatest(parts) end

---Its absolute value.
---@param part longhaul.term
---@return longhaul.term
function p.abs(part) end

---To so many decimals, as a paper prints a value.
---@param part longhaul.term
---@param decimals integer
---@return longhaul.term
function p.rounded(part, decimals) end

---To so many significant digits.
---@param part longhaul.term
---@param digits integer
---@return longhaul.term
function p.significant(part, digits) end

---The mean of several terms.
---@param parts longhaul.term[]
---@return longhaul.term
function p.mean(parts) end

---The same term under a shorter text.
---@param text string
---@param part longhaul.term
---@return longhaul.term
function p.named(text, part) end

---In how many of the pairs { a, b } a is below b; with `ties`, or equal to it.
---@param text string
---@param pairs longhaul.term[][]
---@param ties boolean
---@return longhaul.term
function p.wins(text, pairs, ties) end

---What a paper prints for this cell, in the paper's unit; nil where it prints nothing.
---@param cell longhaul.term
---@return number?
function p.printed(cell) end

---Whether a paper prints a number for this cell.
---@param cell longhaul.term
---@return boolean
function p.is_printed(cell) end

---a < b.
---@param a longhaul.term|number
---@param b longhaul.term|number
---@return longhaul.predicate
function p.less(a, b) end

---a <= b.
---@param a longhaul.term|number
---@param b longhaul.term|number
---@return longhaul.predicate
function p.at_most(a, b) end

---a = b; the margin is how far they are apart, below 0.
---@param a longhaul.term|number
---@param b longhaul.term|number
---@return longhaul.predicate
function p.equal(a, b) end

---Every part holds.
---@param parts longhaul.predicate[]
---@return longhaul.predicate
function p.all(parts) end

---At least one part holds.
---@param parts longhaul.predicate[]
---@return longhaul.predicate
function p.any(parts) end

---`make(value)` holds for every value of a list.
---@param list any[]
---@param make fun(value: any): longhaul.predicate
---@return longhaul.predicate
function p.each(list, make) end

---low <= a <= high.
---@param low longhaul.term|number
---@param a longhaul.term
---@param high longhaul.term|number
---@return longhaul.predicate
function p.between(low, a, high) end

---Each term is below the one before it.
---@param terms longhaul.term[]
---@return longhaul.predicate
function p.falling(terms) end

---No term is above the one before it.
---@param terms longhaul.term[]
---@return longhaul.predicate
function p.not_rising(terms) end

---@class longhaul.experiment
local bench = {}

---Adds a row: `bench:row { "Rec:fixed:skip", model = ..., task = ..., train = ..., seeds = 3,
---dataset = "books" }`. The first value is the label, or a point of lh.grid whose factors become
---columns of runs.csv. `from` names a row whose trained weights this one starts from, `weights` a
---file of weights or a name under which they were fetched, or { name, partly = true }; `values`
---are numbers that the script knows of the row, as columns of runs.csv; `reach` is a loss for
---tokens_to_reach; `tune`, made by lh.tune, chooses training options on the validation split.
---@param row longhaul.row
---@return longhaul.experiment
function bench:row(row) end

---How many seeds rows have that do not say so themselves.
---@param count integer
---@return longhaul.experiment
function bench:seeds(count) end

---Declares a table: `bench:table { columns = { "bits_per_token", "relative_step_time" }, baseline
---= "Slide:13L", published = "paper_table1" }`. `datasets` maps our names of datasets to the
---paper's, or to "" where the paper has not used them; `best` says "min" or "max" for a metric.
---@param options longhaul.table
---@return longhaul.experiment
function bench:table(options) end

---Declares a chart: `bench:plot { "pareto", x = "step_time_ms", y = "bits_per_token" }`. The kinds
---are the files of harness/report/charts/, each with the fields that it takes. An axis is a
---metric, a factor of the sweep or a model option; `{ "window", log = true }` makes it
---logarithmic.
---@param options longhaul.plot
---@return longhaul.experiment
function bench:plot(options) end

---Declares exponents: `bench:fit { group = "attention", over = { "length" }, of = { time =
---"step_time_ms" }, published = "paper_table1" }`. For each value of the factor `group` and each
---factor of `over`, rows that differ in it alone give the slope of log y over log x; `of` names
---what is fitted: metrics, or functions of `value(metric)`.
---@param options longhaul.fit
---@return longhaul.experiment
function bench:fit(options) end

---Declares who is best at a moment: `bench:best_at { seconds = { 60, 180, 600 }, flops = { 1e12 } }`
---lists, data set by data set, the training loss that each row has reached by then. Seconds are
---those of a row's own steps, at the time that one takes on the idle machine.
---@param options longhaul.best_at
---@return longhaul.experiment
function bench:best_at(options) end

---Declares sample texts: `bench:sample { row = "Recurrent", tokens = "bytes", count = 4, context =
---300, length = 80 }`: `count` passages of `context` tokens of the validation split, each
---continued by the row's model (temperature 0: by the likeliest tokens).
---@param options longhaul.sample
---@return longhaul.experiment
function bench:sample(options) end

---Declares a claim: `bench:claim { "paper_p072", holds = p.less(2, BST "xl:2048" / BST
---"rec:fixed:skip") }` with `p = lh.predicate`. `asks` is judged in place of `holds` where the paper's
---sentence says more or less than the published predicate, and `expected` puts it in words.
---`direction` is a weaker form, which `direction_says` puts in words. `untested` says why it cannot
---fail, or is { predicate, reason }, which tells when; `of_size` names what is only known at scale
---paper.
---@param claim longhaul.claim
---@return longhaul.experiment
function bench:claim(claim) end

---@class longhaul
---@field predicate longhaul.predicates comparisons over the cells of tables, of which claims are made
---@field models longhaul.models
---@field tasks longhaul.tasks
local lh = { data = {} }

---The scale that this run is at.
---@return "smoke"|"small"|"study"|"medium"|"gpu"|"paper"
function lh.scale() end

---Picks by scale: `lh.by_scale { smoke = 10, small = 1000, paper = 500e3 }`. A scale that is not
---named takes the nearest smaller one that is.
---@generic T
---@param choices { smoke?: T, small?: T, study?: T, medium?: T, gpu?: T, paper?: T }
---@return T
function lh.by_scale(choices) end

---Tables of options as one; of values with the same name the last one stands. Nil adds nothing.
---@param ... table?
---@return table
function lh.merged(...) end

---A list of claims for `bench:claim`, and a function that adds one to it: `local claims, claim =
---lh.claims { scale_changes = "width 64" }`, then `claim("paper_p072", holds)` or, with further
---fields, `claim("paper_p072", holds, { direction = weaker })`. All have the fields of `shared`.
---@param shared? table
---@return longhaul.claim[]
---@return fun(id: string, holds: longhaul.predicate, more?: table)
function lh.claims(shared) end

---The value that a Lua file returns, by its path from the file that includes it: `local setting =
---lh.include "setting.lua"`.
---@param name string
---@return any
function lh.include(name) end

---The values of the files of one name in every folder beside the file that includes them: `for _,
---claims in ipairs(lh.include_each "claims.lua") do`.
---@param name string
---@return any[]
function lh.include_each(name) end

---A new experiment. Its name is the folder under results/. With `runs` its rows are runs of that
---other experiment, which a figure shares with a table: what one has trained the other finds.
---@param name string "window-sweep"
---@param options? { runs?: string }
---@return longhaul.experiment
function lh.experiment(name, options) end

---Options of training: `lh.train { steps = 500, optimizer = "adafactor", rate = 0.5 }`.
---@param options longhaul.train
---@return longhaul.spec
function lh.train(options) end

---Parameters of a model for a task, or over a vocabulary, its embedding table included; allocates
---nothing.
---@param model longhaul.spec
---@param over longhaul.spec|integer
---@return integer
function lh.parameters(model, over) end

---Bytes that a model carries from segment to segment of a task, for each batch row.
---@param model longhaul.spec
---@param task longhaul.spec
---@return integer
function lh.state_bytes(model, task) end

---A model at the size of a budget: `lh.match { lh.models.brt { layers = 4, heads = 2 }, task = task,
---parameters = 1e6 }` is the same model with the width, and if no width does the depth, at which
---it has a million parameters for that task, within 3 %; `flops_per_token` and `step_time_ms` are
---the other budgets. Heads stay as many; hidden sizes that are stated grow with the width.
---@param options longhaul.match
---@return longhaul.spec
function lh.match(options) end

---Training options to be chosen for every row alike: `tune = lh.tune { rate = { 1e-3, 3e-3, 1e-2 },
---steps = 200, by = "valid_bits_per_byte" }` in a row. Each combination is a trial of one seed, a run
---of the experiment `NAME-trials`; the row trains with what did best on the validation split (of
---`seeds = 3` in the mean).
---`halving = true` gives few steps to all and more to the better half, round by round.
---@param options longhaul.tune
---@return longhaul.tune
function lh.tune(options) end

---A corpus: `lh.data.text { "books", tokens = "bytes" }`. The first value is the name.
---@param options longhaul.text|string
---@return longhaul.corpus
function lh.data.text(options) end

---A time series: `lh.data.series { "ETTh1" }`. The first value is the name.
---@param options longhaul.series|string
---@return longhaul.series
function lh.data.series(options) end

---The first of several corpora that is on this machine: `lh.data.first { "enwik8", "books" }`. The
---last one is taken for granted; the embedded generator serves "books", "latex" and "code".
---@param names string[]
---@return string
function lh.data.first(names) end

---All combinations of ordered axes: `lh.grid { { "window", 32, 64 }, { "gate", "fixed", "lstm" }
---}` gives an iterator over points with a field per axis, the last axis running fastest.
---@param axes any[][]
---@return fun(): table?
function lh.grid(axes) end

return lh