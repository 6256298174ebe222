-- Mistakes to seed in reading, generating and splitting data, each with the tests that must see it.
return {
  {
    file = "datasets/text/corpus_generated.c", tests = "tests/datasets/test_corpus.c",
    { "test_first = (uint64_t)2 << 32", "test_first = (uint64_t)1 << 32", "test documents are validation documents" },
    { "valid_first = (uint64_t)1 << 32", "valid_first = (uint64_t)0 << 32", "validation documents are training documents" },
  },
  {
    file = "datasets/text/corpus_stream.c", tests = "tests/datasets/test_corpus.c",
    { "valid = t->bytes / 100 * 95", "valid = t->bytes / 100 * 90", "no validation split" },
    { "train = t->bytes / 100 * 90", "train = t->bytes / 100 * 95", "training text runs to the test split" },
  },
  {
    file = "datasets/text/document_store.c", tests = "tests/datasets/test_corpus.c",
    { "hundredth < 90 ? LH_TRAIN : hundredth < 95 ? LH_VALID : LH_TEST", "hundredth < 90 ? LH_TRAIN : LH_VALID", "no test split by hash" },
    { "made.cut_before || begin > 0", "made.cut_before", "a split begins within a character" },
    { "made.cut_after || (size_t)bytes < made.bytes", "made.cut_after", "a limit ends within a character" },
    { "i->cut_before ? lh_utf8_rest", "true ? lh_utf8_rest", "a whole file's bad beginning is passed over" },
  },
  {
    file = "datasets/text/document_store.c", tests = "tests/datasets/test_token_cache.c",
    { "lh_digest_content(0, text, bytes) != i->content", "bytes < i->begin + i->bytes",
      "a text that changed is kept under its old name" },
    { "(uint64_t)corpus->valid_tokens,", "0,", "tokens of cut documents are kept for whole ones" },
    { "count_items(corpus, (int)split) + index", "index", "a document has the tokens of another split's" },
  },
  {
    file = "datasets/text/token_cache.c", tests = "tests/datasets/test_token_cache.c",
    { "if (digest_tokens(tokens, p->count) != p->digest) return none;", "", "damaged tokens are taken" },
    { "return h.digest == digest_frame(&h, cache->places);", "return true;", "a damaged frame is taken" },
    { "|| h.key != key ||", "||", "another corpus' tokens are taken" },
    { "if (all[i].tokens == NULL && now != NULL)", "if (false)", "what is kept is lost when more is" },
  },
  {
    file = "datasets/generate/algorithm.c", tests = "tests/datasets/test_tracking.c",
    { "operator== INCREASE ? 1 : - 1", "1", "decreasing increases" },
    { "(int32_t)(p->value[v] - 1)", "(int32_t)p->value[v]", "labels are one too high" },
    { "operator== INCREASE ? p->rules->largest : 1", "p->rules->largest", "a value may fall below one" },
  },
  {
    file = "datasets/generate/random_walk.c", tests = "tests/datasets/test_tracking.c",
    { "a->heading = (a->heading + 3) % 4;", "a->heading = (a->heading + 2) % 4;", "left turns turn back" },
    { "FIRST_CELL + a.row * rules->grid + a.column", "FIRST_CELL + a.column * rules->grid + a.row", "rows and columns exchanged" },
    { "row < 0 || row >= grid || column < 0 || column >= grid", "row < 0 || row >= grid || column < 0 || column > grid", "the walk leaves the grid" },
  },
  {
    file = "datasets/generate/duplication.c", tests = "tests/harness/tasks/test_sequences.c",
    { "1 + (int32_t)lh_random_below", "0 + (int32_t)lh_random_below", "words may hold the separator" },
    { "out + rules->word + 1", "out + rules->word", "the copy begins at the separator" },
  },
  {
    file = "datasets/generate/recall.c", tests = "tests/datasets/test_recall.c",
    { "pow((double)(j + 1), rules->power - 1.0)", "pow((double)(j + 1), rules->power)", "another power law" },
    { "if (slot[2 * j] != 0) continue;", "", "two queries in one slot" },
    { "out->labels[at] = out->tokens[2 * i + 1];", "out->labels[at] = out->tokens[2 * i];", "the key is its own answer" },
  },
  {
    file = "datasets/generate/regular_strings.c", tests = "tests/datasets/test_regular_strings.c",
    { "return (a->accepting >> state & 1) != 0;", "return (a->accepting >> state & 1) == 0;", "what is not in the language" },
    { "a->tells == FOLLOWERS ? follows != 0 : (int)member == v", "follows != 0; (void)member", "membership is told as followers" },
  },
  {
    file = "datasets/generate/regular_strings.c", tests = "tests/datasets/test_generators.c",
    { "d->draws.drawn += 1;", "", "what is not computed is not counted as drawn" },
  },
  {
    file = "datasets/generate/network_sequences.c", tests = "tests/datasets/test_network_sequences.c",
    { "(1 - network->alpha) * h", "network->alpha * h", "alpha on both sides" },
    { "l == 0 ? below : z[l - 1]", "below", "the second layer reads the input" },
  },
  {
    file = "datasets/series/series.c", tests = "tests/datasets/test_series.c",
    { "train = rows * 7 / 10", "train = rows * 8 / 10", "the training split is longer" },
    { "sqrt(squares / (double)rows)", "sqrt(squares / (double)(rows + 9))", "another deviation" },
    { "deviation > 0.0 ? deviation : 1.0", "deviation", "a constant channel is divided by zero" },
  },
  {
    file = "datasets/series/calendar.c", tests = "tests/datasets/test_series.c",
    { "of_era / 4 - of_era / 100", "of_era / 4", "1900 is a leap year" },
    { "3600 * hour + 60 * minute", "3600 * hour + minute", "minutes are seconds" },
    { "take(at, YEAR_DIGITS, YEAR_DIGITS", "take(at, 1, YEAR_DIGITS", "98 is a year" },
  },
  {
    file = "datasets/tokens/words.c", tests = "tests/datasets/test_words.c",
    { "x->count < y->count ? 1 : -1", "x->count < y->count ? -1 : 1", "rare words come first" },
    { "return x->id < y->id ? -1 : 1;", "return x->id < y->id ? 1 : -1;", "ties in reverse" },
  },
  {
    file = "datasets/text/document_store.c", tests = "tests/datasets/test_document_store.c",
    { "next->path != NULL && next->content == i->content", "false", "a file is read for each of its pieces" },
    { "memcpy(i->text, file->text + i->begin", "memcpy(i->text, file->text", "every piece is the first" },
    { "visit(to, i->text, i->bytes);\n    release_text(i);", "visit(to, i->text, i->bytes);", "texts that were shown are kept" },
  },
  {
    file = "datasets/tokens/tokenizer.c", tests = "tests/datasets/test_tokenizer.c",
    { "tokens[i] >= vocabulary", "tokens[i] > vocabulary", "the first id outside a vocabulary is decoded" },
    { "tokens[i] < 0 || ", "", "ids below 0 are decoded" },
  },
  {
    file = "datasets/images/images.c", tests = "tests/harness/tasks/test_sequences.c tests/datasets/test_images.c",
    { "to[i % CHANNELS * plane + i / CHANNELS]", "to[i + 0 * plane]", "channels come one after the other" },
  },
  {
    file = "datasets/text/parallel_text.c", tests = "tests/datasets/test_parallel_text.c",
    { "parallel->left_out += empty;", "(void)parallel;", "pairs that are left out are not counted" },
  },
  {
    file = "datasets/text/defects.c", tests = "tests/datasets/test_defects.c",
    { "if (used > 0 && text[used - 1] == ' ') used -= 1;", "", "a space at the end stays" },
    { "count == 1 && spells", "count == 1", "the unknown word is both answers" },
  },
  {
    file = "datasets/tokens/bpe.c", tests = "tests/datasets/test_bpe.c",
    { "(b >= 33 && b <= 126)", "(b >= 32 && b <= 126)", "the space is its own character" },
  },
  {
    file = "datasets/tokens/tokens_bytes.c", tests = "tests/datasets/test_corpus.c",
    { "tokens[i] < SPECIAL + 256", "tokens[i] < SPECIAL + 128", "bytes above 127 are lost" },
  },
  {
    file = "datasets/text/json_lines.c", tests = "tests/datasets/test_corpus.c",
    { "line.number += 1;", "", "lines are not counted" },
  },
  {
    file = "datasets/generate/generate_series.c", tests = "tests/datasets/test_generate_series.c",
    { "0.4 * value + (before - values[index - 1]) / c.scale", "value + 0 * before", "channels do not follow one another" },
  },
}
