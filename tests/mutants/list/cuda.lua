-- Mistakes to seed in CUDA kernels, each with the tests that must see it.
return {
  {
    file = "kernels/cuda/softmax.cu", tests = "sim:softmax_forward sim:softmax_backward",
    { "y[i] = masked ? 0 : expf(x[i] - most) / sum;", "y[i] = masked ? 0 : expf(x[i]) / sum;", "the maximum is not taken off" },
    { "y[i] * (dy[i] - sum)", "y[i] * dy[i]", "the dot product is left out of the gradient" },
  },
  {
    file = "kernels/cuda/layer_norm.cu", tests = "sim:layer_norm_forward sim:layer_norm_backward",
    { "sqrtf(lh_warp_sum(squares) / (real)a.width + a.epsilon)", "sqrtf(lh_warp_sum(squares) / (real)a.width) + a.epsilon", "epsilon outside the root" },
    { "lh_load_run(a.bias, begin, a.width)", "lh_load_run(a.bias, 0, a.width)", "one bias for all columns" },
    { "begin + n < a.width ? run.at[n] - mean : 0", "run.at[n] - mean", "the variance has elements past the row's end" },
  },
  {
    file = "kernels/cuda/scan_chunk.cuh", tests = "sim:decay_scan_forward sim:decay_scan_backward",
    { "return j <= i && i < c.count ?", "return j < i && i < c.count ?", "a token does not read its own" },
    { "t > own; --t)", "t > own + 1; --t)", "slopes of the next row are left out" },
  },
  {
    file = "kernels/cuda/scan_chunk.cu", tests = "sim:decay_scan_backward",
    { "backward ? chunks - 1 - n : n", "n", "gradients of states run forwards" },
  },
  {
    file = "kernels/cuda/delta_rule.cu", tests = "sim:delta_rule_forward sim:delta_rule_backward",
    { "return j < i ? lh_scan_between(c, i, j) : 0;", "return j <= i ? lh_scan_between(c, i, j) : 0;", "a token corrects itself" },
    { "inverse[t * LH_SCAN_CHUNK + row]", "inverse[row * LH_SCAN_CHUNK + t]", "the system is not transposed backward" },
    { "shared.slopes[row][t] + shared.slopes[t][row]", "2 * shared.slopes[row][t]", "a key's gradient by later tokens" },
  },
  {
    file = "kernels/cuda/dropout.cu", tests = "sim:dropout",
    { "(real)(1 / (1 - a.rate))", "(real)(1 - a.rate)", "kept values are scaled down" },
  },
  {
    file = "kernels/cuda/clip_factor.cu", tests = "sim:clip_factor",
    { "max_norm > 0", "max_norm >= 0", "no clipping clips to zero" },
  },
  {
    file = "kernels/cuda/adafactor.cu", tests = "sim:adafactor",
    { "matrix + (rows_before + down) / (uint32_t)a.rows;", "matrix + 0 * (rows_before + down);", "all matrices have the columns of the first" },
    { "(before + i - down * runs) * LH_RUN", "(before + i) * LH_RUN", "a chunk's second row begins behind the first" },
    { "v.at[n] != 0 ?", "true ?", "elements past the end are not numbers" },
    { "lh_min(CHUNK, runs_of(a) - first)", "(int64_t)CHUNK", "a chunk goes past its tensor" },
  },
  {
    file = "kernels/cuda/gather.cu", tests = "sim:scatter_add",
    { "if (at < end) row[r] =", "if (at <= end) row[r] =", "the next entry's first row is added" },
    { "s += AHEAD * PARTS)", "s += PARTS)", "rows are added eight times" },
  },
  {
    file = "kernels/cuda/radix_sort.cuh", tests = "sim:lsh_sort",
    { "if (s + n < end) body(", "if (s + n <= end) body(", "a thread sorts its neighbour's item, too" },
    { "(key[n] >> shift)", "(key[n] >> 0 * shift)", "every pass sorts by the same digit" },
  },
  {
    file = "kernels/cuda/adam.cu", tests = "sim:adam",
    { "sqrtf(", "(", "Adam without a root" },
  },
  {
    file = "kernels/cuda/mma.cuh", tests = "sim:attention_forward",
    { "left[1] = lh_pack(low[2], low[3]);", "left[1] = lh_pack(high[0], high[1]);", "weights of eight rows are those of other keys" },
    { "lane / 16 * 8 + lane % 8) * pitch", "lane / 8 % 2 * 8 + lane % 8) * pitch", "keys and columns of an operand change places" },
    { "const int n = i % 2 * 2 + i / 2;", "const int n = i;", "weights in tf32 are those of other keys" },
    { "half * 8 + lane / 16 * 4, false);", "half * 8 + lane / 16, false);", "columns of a query in tf32 are others" },
  },
  {
    file = "kernels/cuda/attention_tile_forward.cuh", tests = "sim:attention_forward",
    { "*state = {most, state->sum * factor + sum};", "*state = {most, state->sum + sum};", "earlier weights keep their reference" },
    { "lanes < LH_MMA_LANES; lanes *= 2)\n        sum +=", "lanes < LH_MMA_LANES / 2; lanes *= 2)\n        sum +=", "half of a row's sum" },
    { "bring_keys(base + LH_TILE);", "bring_keys(base);", "every tile has the first one's keys" },
    { "shrink[h] != 1", "false", "sums do not shrink" },
    { "        lh_await_copies();\n        __syncthreads();\n        if (ahead", "        __syncthreads();\n        if (ahead", "values are not waited for" },
  },
  {
    file = "kernels/cuda/attention_tile_pairs.cuh", tests = "sim:attention_forward",
    { "pair.full && ", "", "the keys that a tile lacks are seen" },
    { "lh_clamp_diagonal(limits.farthest - offset)", "lh_clamp_diagonal(limits.farthest)",
      "all tiles have the first one's window" },
    { "lh_min(key_end, filled)", "lh_max(key_end, filled)", "rows of a ring that are not filled are seen" },
  },
  {
    file = "kernels/cuda/attention_tile_bias.cuh", tests = "sim:attention_forward",
    { "one = one && own[n] == first;", "one = true;", "the first diagonal's bias is that of all" },
    { "if (n % warps != (int)threadIdx.x / LH_WARP) continue;", "if ((int)threadIdx.x / LH_WARP != 0 || n % warps != 0) continue;",
      "one warp's diagonals have a bias" },
  },
  {
    file = "kernels/cuda/attention_tile_dropout.cuh", tests = "sim:attention_forward",
    { "(uint32_t)(kept >> before)", "(uint32_t)kept", "a row draws from the beginning of a block" },
    { "return lh_reverse_bits(", "return (", "distances of a period fall where keys rise" },
    { "first - at * LH_KEPT_KEYS", "0", "every query has the first one's distances" },
  },
  {
    file = "kernels/cuda/attention_tile.cuh", tests = "sim:attention_forward",
    { "rows + s * LH_STEP * pitch + d", "rows + d", "the stripes of a warp are one" },
    { "begin + n * step < count);", "begin + n * step <= count);", "a row more than there are" },
    { "if (n < to.rows)", "if (n <= to.rows)", "a row more than there are is stored" },
  },
  {
    file = "kernels/cuda/attention_tile_backward.cu", tests = "sim:attention_backward",
    { "if (rows->bucket == bucket) return;", "if (bucket >= 0) return;", "the gradient of a bucket goes to none" },
    { "diagonal + LH_STEP - 1 - half * LH_STEP", "diagonal + LH_STEP - 1 - half", "diagonals below are those above" },
    { "memory->bucket + rows->at.first, bias_sums", "memory->bucket, bias_sums", "all warps have the first one's diagonals" },
  },
  {
    file = "kernels/cuda/attention_tile.cuh", tests = "sim:attention_backward",
    { "by_columns ? column * weight_pitch + row :", "false ? column * weight_pitch + row :",
      "gradients of position vectors in tf32 come from other queries" },
  },
  {
    file = "kernels/cuda/attention_tile_backward.cuh", tests = "sim:attention_backward",
    { "whole && bias.one && !(spec.dropout > 0)", "whole && bias.one", "dropout is not seen backward" },
    { "whole && bias.one && !(spec.dropout > 0)", "whole && !(spec.dropout > 0)", "biases are not seen backward" },
    { "place.warp * stripes * LH_STEP", "place.warp * LH_STEP", "warps share a stripe" },
  },
  {
    file = "kernels/cuda/lsh_hash.cu", tests = "sim:lsh_hash",
    { "(b.value == a.value && b.at < a.at)", "(b.value == a.value && b.at > a.at)", "of equals the last" },
    { "walk->bucket + walk->place * at", "walk->bucket + at", "factors are not mixed" },
    { "begin < columns; begin += COLUMNS", "begin < lh_min(columns, COLUMNS); begin += COLUMNS", "columns past 32 are left out" },
    { "begin < a.head_width; begin += PIECE", "begin < lh_min(a.head_width, PIECE); begin += PIECE", "elements past 32 are left out" },
  },
  {
    file = "kernels/cuda/linear_combination.cu", tests = "sim:linear_combination",
    { "return args->b.dtype == LH_BF16", "return args->a.dtype == LH_BF16", "a branch in bf16 is read as reals" },
  },
  {
    file = "kernels/cuda/ring_append.cu", tests = "sim:ring_append",
    { "% a.capacity", "% (a.capacity + 1)", "a ring of one slot more" },
  },
  {
    file = "kernels/cuda/top_tokens.cu", tests = "sim:top_tokens",
    { "score == 0 ? 0 : score", "score", "zeros of both signs are not equal" },
    { "equal_before += w < warp ? found[1][w] : 0;", "", "ties are counted within a warp" },
  },
}
