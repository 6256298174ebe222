-- Mistakes to seed in tape, tensors, parameters and ops, each with the tests that must see it.
local ops, regions = "double:tests/gradients/test_ops.c", "double:tests/gradients/test_regions.c"
local flops = "tests/models/test_models.c:counted_flops_are_those_of_the_formula"
local tape = "tests/harness/engine/test_tape.c"
local starts = "tests/models/test_models.c:a_start_flag_is_a_fresh_start"
return {
  {
    file = "harness/engine/atomic_file.c", tests = "tests/harness/engine/test_atomic_file.c",
    { "refused() || fsync(fileno(file->stream)) != 0", "refused()", "contents are not forced to the disk" },
    { "refused() || fsync(descriptor) != 0", "refused()", "the name is not forced to the disk" },
    { "    unlink(file->partial);", "", "an abandoned file stays" },
    { 'open(file->partial, O_CREAT', 'open(file->path, O_CREAT', "the old file is overwritten in place" },
  },
  {
    file = "harness/ops/top_tokens.c", tests = ops,
    { "rows % group != 0 ||", "", "a group may be cut off" },
  },
  {
    file = "harness/engine/model.c", tests = "tests/harness/engine/test_model.c",
    { "lh_params_mark_undecayed(declare->model->params)", "(void)declare", "what takes no decay decays" },
    { "lh_params_end_group(declare->model->params)", "lh_params_begin_group(declare->model->params)",
      "the parameters after a group are another group" },
    { "lh_params_mark_statistic(declare->model->params)", "(void)declare", "a statistic is learnt" },
    { "lh_params_set_initial(declare->model->params, values)", "(void)values, (void)declare",
      "the values of an instance are not those it begins with" },
    { " || (kind == LH_STATE_RING && rank != 2)", "", "a ring may be flat" },
  },
  {
    file = "harness/engine/state.c", tests = "tests/harness/engine/test_state.c",
    { "!param->statistic || ", "", "any parameter may be set as a statistic" },
    { "if (slot->count != NULL) LH_TRY(clear_counts(slot->count));",
      "if (slot->count != NULL && slot->value == NULL) LH_TRY(clear_counts(slot->count));", "a fresh start keeps the counts of rings" },
    { "    drop_statistics(state);\n    for (int i = 0; i < state->slot_count; ++i) {\n        lh_state_slot *slot = &state->slot[i];\n        lh_tensor_release(slot->pending);",
      "    for (int i = 0; i < state->slot_count; ++i) {\n        lh_state_slot *slot = &state->slot[i];\n        lh_tensor_release(slot->pending);",
      "a fresh start keeps statistics that were handed over" },
    { "return lh_tape_own(pass->tape, lh_tensor_detached(param));", "return param;", "a statistic takes a gradient" },
  },
  {
    file = "harness/engine/plugin.c", tests = "tests/harness/engine/test_plugin.c",
    { "const lh_status status = known ? LH_OK : load_file(kinds, file);", "const lh_status status = known && file == NULL ? LH_OK : load_file(kinds, file);",
      "a plug-in is loaded again" },
    { "path != NULL ? path : getenv", "path == NULL ? path : getenv", "the path given does not count" },
    { "folder == NULL || length > 0", "true", "a path without a name is a folder" },
  },
  {
    file = "harness/engine/swap.c", tests = "tests/harness/engine/test_swap.c",
    { "return differentiating ? bring_gradients(swap, g) : LH_OK;", "return (void)differentiating, bring_gradients(swap, g);",
      "gradients come where nobody wants them" },
  },
  {
    file = "harness/engine/tape.c", tests = tape,
    { "!tape->holding || root == NULL || !root->persistent", "root == NULL || !root->persistent",
      "parameters are held outside of regions" },
    { "if (mark.holding) return NULL;", "", "an inner region takes what the outer one holds" },
    { "tape->holding = tape->holding || tape->recording;", "tape->holding = true;", "an evaluation holds parameters" },
    { "lh_swap_leave(tape->swap, mark)", "lh_swap_leave(tape->swap, 0 * mark)", "the end of a region sends all visitors away",
      tests = "tests/harness/engine/test_swap.c" },
  },
  {
    file = "harness/engine/quantile.c", tests = "tests/harness/engine/test_quantile.c",
    { "quantile(values, count, 0.5)", "quantile(values, count, 0.25)", "the median is the lower quartile" },
    { "q * (double)(count - 1)", "q * (double)count", "quantiles are one place too high" },
  },
  {
    file = "harness/engine/array.c", tests = "tests/harness/engine/test_array.c",
    { "? 2 * *capacity : INT64_MAX", "? *capacity : INT64_MAX", "an array moves with every item" },
    { "(uint64_t)larger > SIZE_MAX / item_bytes", "false", "a size beyond all memory wraps around" },
  },
  {
    file = "harness/engine/hash.c", tests = "tests/harness/engine/test_hash.c",
    { "slot->key == key && ", "", "any key in the way is taken for the wanted one" },
    { "(begin + i) & (from->slots - 1)", "i", "growing turns ids under one key around" },
  },
  {
    file = "harness/engine/nearest_name.c", tests = "tests/harness/engine/test_nearest_name.c",
    { "return INT_MAX;", "return WORD_BYTES;", "a long word is near to any name" },
  },
  {
    file = "harness/ops/reduce.c", tests = tape,
    { "if (kind == MEAN) r.alpha = 1.0 / (double)r.axis;", "(void)kind;", "a mean is a sum" },
  },
  {
    file = "harness/ops/linear.c", tests = ops,
    { "args.write = LH_ADD;", "args.write = LH_SET;", "linear_add forgets what it adds to" },
    { "2.0 * (double)l->rows * (double)l->in * (double)l->out", "(double)l->rows * (double)l->in * (double)l->out",
      "half the FLOPs of products", tests = flops },
  },
  {
    file = "harness/ops/loss.c", tests = ops .. " tests/harness/train/test_evaluate.c",
    { "first == 0 ? LH_SET : LH_ADD", "LH_SET", "the head's gradient is that of the last rows" },
  },
  {
    file = "harness/ops/lsh.c", tests = "tests/models/test_reformer.c",
    { "2 * largest(1, length / settled.chunk)", "largest(1, length / settled.chunk) * 4", "twice the buckets" },
    { "lh_tape_parts_before(tape, count)", "0 * lh_tape_parts_before(tape, count)", "ranks draw the same rotations",
      tests = "tests/harness/test_ranks.sh" },
  },
  {
    file = "harness/engine/tape.c", tests = regions,
    { "if (!tape->in_backward && !tape->flops_paused) tape->flops += flops;", "tape->flops += flops;", "FLOPs of recomputation count",
      tests = tape },
    { "tape->key.op += 1;", "", "all dropouts of a step draw the same numbers",
      tests = tape },
    { "count / tape->rows * tape->first_row", "0 * count", "ranks draw the same masks",
      tests = tape },
  },
  {
    file = "harness/ops/checkpoint.c", tests = regions,
    { "lh_tape_set_random_position(tape, saved->random_position);", "", "a checkpoint drops other things the second time" },
    { "lh_tape_set_recording(tape, false);\n    lh_tape_set_random_position(tape, position);", "lh_tape_set_recording(tape, false);\n    (void)position;",
      "what is drawn after a checkpoint's backward changes", tests = tape },
    { "if (status == LH_OK) status = seed_outputs(node, outputs);", "if (status != LH_OK) status = seed_outputs(node, outputs);", "a checkpoint's gradients are not handed in" },
  },
  {
    file = "harness/ops/reversible.c", tests = regions .. " tests/models/test_reformer.c",
    { "lh_tensor *y2 = g != NULL ? combine(tape, *x2, g, 1) : NULL;", "lh_tensor *y2 = g != NULL ? combine(tape, *x2, g, -1) : NULL;",
      "the second stream is subtracted" },
    { "if (flowed != NULL) *dx = combine(tape, *dx, flowed, 1);", "if (flowed != NULL) *dx = flowed;",
      "the residual's own gradient is lost" },
  },
  {
    file = "harness/engine/gradient.c", tests = tape,
    { "slice->offset = of->offset + offset;", "slice->offset = offset;", "slices of slices land at the front" },
  },
  {
    file = "harness/engine/state.c", tests = starts,
    { "if (flags[r] != 0) counts[r] = 0;", "if (flags[r] == 2) counts[r] = 0;", "a new document keeps the memory of the last" },
    { "if (slot->kind == LH_STATE_RING) continue;", "continue;", "a new document keeps the state of the last" },
    { "if (state->statistic[i] != NULL)\n            LH_TRY", "if (state->statistic[i] != NULL && i < 0)\n            LH_TRY", "running statistics never change",
      tests = "tests/models/test_distilling.c" },
  },
  {
    file = "harness/engine/params.c", tests = "tests/models/test_initial.c",
    { "truncated_deviation = 0.87962566103423978", "truncated_deviation = 1.0", "truncated normals are too narrow" },
    { "return column % 2 == 0 ? sin(angle) : cos(angle);", "return column % 2 == 0 ? cos(angle) : sin(angle);",
      "sines and cosines exchanged", tests = "tests/models/test_reformer.c" },
    { ".stream = LH_STREAM_INIT, .op = (uint32_t)i}", ".stream = LH_STREAM_INIT, .op = 0 * (uint32_t)i}",
      "all parameters begin with the same numbers", tests = "tests/models/test_initial.c" },
    { "!param->statistic && (with_embedding || !param->embedding)", "with_embedding || !param->embedding",
      "statistics count as parameters", tests = "tests/models/test_distilling.c" },
    { ".decay = rank > 1", ".decay = rank > 0", "gains and biases decay", tests = "tests/harness/train/test_optimizer.c" },
    { "with_embedding || !param->embedding", "true || with_embedding || !param->embedding",
      "embeddings count where they should not", tests = "tests/models/test_initial.c" },
  },
  {
    file = "harness/engine/params_file.c", tests = "tests/models/test_gpt2.c tests/models/test_t5.c",
    { "y[j * rows + i] = x[i * columns + j];", "y[i * columns + j] = x[i * columns + j + 0 * rows];",
      "published matrices are not transposed" },
    { 'prefix[] = "transformer."', 'prefix[] = "transformers."', "files with a prefix are not read" },
  },
  {
    file = "harness/engine/safetensors.c", tests = "tests/harness/engine/test_safetensors.c",
    { "if (size > 0 && (double)entry->count > most / (double)size) return false;", "", "shapes may overflow" },
    { "value >= 0 && value <= most", "value <= most", "negative sizes are taken" },
  },
  {
    file = "harness/engine/pool.c", tests = tape,
    { "pool->stats.device_allocations += 1;", "", "allocations are not counted" },
  },
  {
    file = "harness/engine/swap.c", tests = "tests/harness/engine/test_swap.c tests/harness/train/test_swap_parameters.c",
    { "if (!g->collected) return fill_zeros(g->gradients);", "", "swapped gradients begin with what lay there" },
  },
}
