return {
  {
    file = "datasets/corpus_generated.c", tests = "tests/datasets/test_corpus.c",
    { "test_first = (uint64_t)2 << 32", "test_first = (uint64_t)1 << 32", "test documents are validation documents" },
    { "valid_first = (uint64_t)1 << 32", "valid_first = (uint64_t)0 << 32", "validation documents are training documents" },
  },
  {
    file = "datasets/corpus_stream.c", tests = "tests/datasets/test_corpus.c",
    { "valid = t->bytes / 100 * 95", "valid = t->bytes / 100 * 90", "no validation split" },
    { "train = t->bytes / 100 * 90", "train = t->bytes / 100 * 95", "training text runs to the test split" },
  },
  {
    file = "datasets/corpus_folder.c", tests = "tests/datasets/test_corpus.c",
    { "hundredth < 90 ? LH_TRAIN : hundredth < 95 ? LH_VALID : LH_TEST", "hundredth < 90 ? LH_TRAIN : LH_VALID", "no test split by hash" },
  },
  {
    file = "datasets/algorithm.c", tests = "tests/datasets/test_tracking.c",
    { "operator== INCREASE ? 1 : - 1", "1", "decreasing increases" },
    { "(int32_t)(p->value[v] - 1)", "(int32_t)p->value[v]", "labels are one too high" },
    { "operator== INCREASE ? p->rules->largest : 1", "p->rules->largest", "a value may fall below one" },
  },
  {
    file = "datasets/random_walk.c", tests = "tests/datasets/test_tracking.c",
    { "a->heading = (a->heading + 3) % 4;", "a->heading = (a->heading + 2) % 4;", "left turns turn back" },
    { "FIRST_CELL + a.row * rules->grid + a.column", "FIRST_CELL + a.column * rules->grid + a.row", "rows and columns exchanged" },
    { "row < 0 || row >= grid || column < 0 || column >= grid", "row < 0 || row >= grid || column < 0 || column > grid", "the walk leaves the grid" },
  },
  {
    file = "datasets/duplication.c", tests = "tests/harness/train/test_sequences.c",
    { "out[t] = copy[t] = 1 +", "out[t] = copy[t] = 0 +", "words may hold the separator" },
    { "out + rules->word + 1", "out + rules->word", "the copy begins at the separator" },
  },
  {
    file = "datasets/regular_language.c", tests = "tests/datasets/test_regular_language.c",
    { "return (a->accepting >> state & 1) != 0;", "return (a->accepting >> state & 1) == 0;", "what is not in the language" },
    { "a->tells == FOLLOWERS ? follows != 0 : (int)member == v", "follows != 0; (void)member", "membership is told as followers" },
  },
  {
    file = "datasets/simulated_network.c", tests = "tests/datasets/test_simulated_network.c",
    { "(1 - network->alpha) * h", "network->alpha * h", "alpha on both sides" },
    { "l == 0 ? below : z[l - 1]", "below", "the second layer reads the input" },
  },
  {
    file = "datasets/series.c", tests = "tests/datasets/test_series.c",
    { "train = rows * 7 / 10", "train = rows * 8 / 10", "the training split is longer" },
    { "sqrt(squares / (double)rows)", "sqrt(squares / (double)(rows + 9))", "another deviation" },
    { "deviation > 0.0 ? deviation : 1.0", "deviation", "a constant channel is divided by zero" },
  },
  {
    file = "datasets/calendar.c", tests = "tests/datasets/test_series.c",
    { "of_era / 4 - of_era / 100", "of_era / 4", "1900 is a leap year" },
    { "3600 * hour + 60 * minute", "3600 * hour + minute", "minutes are seconds" },
  },
  {
    file = "datasets/words.c", tests = "tests/datasets/test_words.c",
    { "x->count < y->count ? 1 : -1", "x->count < y->count ? -1 : 1", "rare words come first" },
    { "return x->id < y->id ? -1 : 1;", "return x->id < y->id ? 1 : -1;", "ties in reverse" },
  },
  {
    file = "datasets/images.c", tests = "tests/harness/train/test_sequences.c tests/datasets/test_sequences.c",
    { "to[i % CHANNELS * plane + i / CHANNELS]", "to[i]; (void)plane", "channels come one after the other" },
  },
  {
    file = "datasets/parallel.c", tests = "tests/datasets/test_parallel.c",
    { "parallel->left_out += empty;", "", "pairs that are left out are not counted" },
  },
  {
    file = "datasets/defects.c", tests = "tests/datasets/test_defects.c",
    { "if (used > 0 && text[used - 1] == ' ') used -= 1;", "", "a space at the end stays" },
  },
  {
    file = "datasets/bpe.c", tests = "tests/datasets/test_bpe.c",
    { "(b >= 33 && b <= 126)", "(b >= 32 && b <= 126)", "the space is its own character" },
  },
  {
    file = "datasets/tokens_bytes.c", tests = "tests/datasets/test_corpus.c",
    { "tokens[i] < SPECIAL + 256", "tokens[i] < SPECIAL + 128", "bytes above 127 are lost" },
  },
  {
    file = "datasets/json_lines.c", tests = "tests/datasets/test_corpus.c",
    { "line.number += 1;", "", "lines are not counted" },
  },
  {
    file = "datasets/generate_series.c", tests = "tests/datasets/test_series.c",
    { "0.4 * value + (before - table->values[index - 1]) / c.scale", "value + 0 * before", "channels do not follow one another" },
  },
}
