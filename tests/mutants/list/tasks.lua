-- Mistakes to seed in tasks and inference, each with the tests that must see it.
return {
  {
    file = "harness/tasks/scripted.c", tests = "tests/harness/tasks/test_scripted.c",
    { "split == LH_TRAIN ? task->seed : (uint64_t)task->data_seed", "task->seed",
      "held-out examples follow the run's seed" },
    { "if (s->loaded != group) LH_TRY", "if (s->loaded < 0) LH_TRY", "every batch has the first examples" },
    { "s->examples < 0 || index < s->examples", "true", "a pass goes on behind its end" },
    { "LH_TRY(make(task, fresh, LH_TRAIN, 1, other));", "LH_TRY(make(task, task->examples, LH_TRAIN, 1, other)); (void)fresh;",
      "an address that stays is not noticed" },
  },
  {
    file = "harness/tasks/lua_examples.c", tests = "tests/harness/tasks/test_scripted.c",
    { "token < 0 || token >= vocabulary", "token < 0 || token > vocabulary", "a token behind the vocabulary" },
    { "return lua_toboolean(lua, -1) ? LH_R(1) : LH_R(0);", "return LH_R(1);", "a mask of flags asks for everything" },
    { "clear(examples, out);", "if (out == NULL) clear(examples, out);", "a short example leaves what stood there" },
  },
  {
    file = "harness/tasks/regular_language.c", tests = "tests/harness/tasks/test_regular_language.c",
    { "task->bin[0] = (part){&task->drawn[0], train, evaluate};", "task->bin[0] = (part){&task->drawn[0], 0, evaluate};",
      "test bin 0 is training strings" },
    { "task->valid = (part){&task->drawn[0], train + evaluate, evaluate};",
      "task->valid = (part){&task->drawn[0], train, evaluate};", "the validation split is test bin 0" },
    { "if (task->next >= task->train.count) task->next = 0;", "if (task->next > task->train.count) task->next = 0;",
      "an epoch may end with an empty batch" },
    { "i < LH_LETTERS * length ? LH_R(1) : LH_R(0)", "LH_R(1) + 0 * (real)i", "padding counts" },
    { "return brackets ? (published){100, 5000, 1000} : (published){50, 10000, 2000};",
      "return brackets ? (published){100, 10000, 2000} : (published){50, 10000, 2000};", "bracket languages have twice the strings",
      tests = "tests/harness/tasks/test_regular_language.c tests/lua/test_settings.lua" },
  },
  {
    file = "harness/tasks/forecasting.c", tests = "tests/harness/tasks/test_forecasting.c",
    { "of->first += of->count - limit;", "of->first += 0;", "limit_windows keeps the earliest windows" },
    { "range.begin > task->seq_len ? range.begin - task->seq_len : 0", "range.begin", "a split's first windows are not observed before it" },
    { "task->sampler == SEQUENTIAL ? task->rows : 0", "0", "sequential windows have no stride" },
  },
  {
    file = "harness/tasks/tracking.c", tests = "tests/harness/tasks/test_tracking.c",
    { "label != LH_UNLABELLED ? LH_R(1) : LH_R(0)", "LH_R(1)", "unlabelled steps are predicted" },
    { "if (s->again) return index % s->count;", "if (s->again) return 0;", "every episode is the first one" },
  },
  {
    file = "harness/tasks/sequences.c", tests = "tests/harness/tasks/test_sequences.c",
    { "source->split == LH_TRAIN ? task->train_seed : (uint64_t)task->data_seed", "(uint64_t)task->data_seed; (void)source; (void)task->train_seed",
      "training words are those of the evaluation" },
  },
  {
    file = "harness/tasks/defect.c", tests = "tests/harness/tasks/test_defect.c",
    { "const bool labelled = t == function->count - 1;", "const bool labelled = t >= 0 && t < function->count;", "every token is answered" },
    { "training || t == ANSWER ? LH_R(1) : LH_R(0)", "LH_R(1) + 0 * (real)training", "evaluation scores more than the answer" },
  },
  {
    file = "harness/tasks/translation.c", tests = "tests/harness/tasks/test_translation.c",
    { "b->tokens[first + t] = t > 0 && predicts ? pair->target[t - 1] : 0;", "b->tokens[first + t] = predicts ? pair->target[t] : 0;",
      "the decoder reads what it is to predict" },
    { "predicts ? LH_R(1) : LH_R(0)", "LH_R(1)", "padding is predicted" },
    { "task->epoch += 1;", "", "every epoch has the same order" },
  },
  {
    file = "harness/tasks/language_model.c", tests = "tests/harness/tasks/test_language_model.c",
    { "split == LH_TRAIN && task->subsequences == QUARTER ? quarter : length", "task->subsequences == QUARTER ? quarter : length; (void)split",
      "evaluation reads every token four times" },
  },
  {
    file = "harness/infer/beam.c", tests = "tests/harness/infer/test_beam.c",
    { "s->most = 2 * spec->beam;", "s->most = spec->beam;", "a beam may run dry" },
    { "(double)x[i] > highest ? (double)x[i] : highest", "highest", "log-probabilities overflow" },
  },
  {
    file = "harness/infer/bleu.c", tests = "tests/harness/infer/test_bleu.c",
    { "hypothesis < reference ? 1.0 - reference / hypothesis : 0.0", "0.0 * (hypothesis - reference)", "no brevity penalty" },
    { "unmatched *= 2.0;", "", "one smoothing for all orders" },
    { "log(matches / (double)counts->total[n]) / LH_BLEU_ORDER", "log(matches / (double)counts->total[n])", "a sum of orders for their mean" },
  },
  {
    file = "harness/tasks/length_plan.c", tests = "tests/harness/tasks/test_length_plan.c",
    { "batches += (items + rows - 1) / rows;", "batches += items / rows;", "the last short batch is dropped" },
  },
  {
    file = "harness/infer/generator.c", tests = "tests/harness/infer/test_generator.c",
    { "g->position += count;", "", "a cache is written at the same place" },
    { "return overlap > 0 ? run(g, g->last, overlap) : LH_OK;", "return LH_OK;", "a new window does not see its overlap" },
    { "g->position - 1, g->position == g->segment);", "g->position - 1, true);", "a segment read anew is carried over each time" },
    { "g->model->state_count > 0 || g->past != NULL ? 0 : g->segment / 2;", "0;", "a segment without state begins with nothing" },
  },
  {
    file = "harness/train/buckets.c", tests = "tests/harness/train/test_buckets.c",
    { "find(buckets, gradient->offset)->open -= 1;", "find(buckets, gradient->offset)->open -= 2;", "a bucket leaves before it is full" },
  },
  {
    file = "harness/train/adaptive_softmax.c", tests = "tests/models/test_dai_xl.c",
    { "output->cutoff[0] + output->clusters - 1 - i", "output->cutoff[0] + i", "clusters stand in order" },
    { "biases[0] = output->head_bias;", "biases[0] = output->cluster[0].bias;", "a widened head has a cluster's biases" },
  },
  {
    file = "harness/train/snapshot.c", tests = "tests/harness/train/test_snapshot.c",
    { 'if (header.body_bytes < expected) return corrupt(path, "bytes after its end");', "", "a checkpoint may be too long" },
  },
}
