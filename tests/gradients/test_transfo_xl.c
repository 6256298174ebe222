/* Weight files of transformers' TransfoXLLMHeadModel, made from tests/golden/transfo_xl.csv: read,
 * computed with, and written again (tests/oracles/transfo_xl.py). */
#include "tests/test.h"

#include "harness/train/loss.h"
#include "tests/models/model_bench.h"
#include "tests/tensor_named.h"

enum { SEGMENT = 8, SEGMENTS = 2, WORDS = BENCH_VOCABULARY, CASES = 3, LINE = 256, TENSORS = 64 };

static const char fixture[] = "tests/golden/transfo_xl.csv";
static const char theirs_path[] = "/tmp/longhaul-test-transfo-xl.safetensors",
                  ours_path[] = "/tmp/longhaul-test-transfo-xl-again.safetensors";

/* A tensor of the library's; `source` has the same values. */
typedef struct tensor {
    char name[96], source[96];
    int rank;
    int64_t shape[2], count;
    real *values;
} tensor;

typedef struct fixture_case {
    char options[LINE];
    int tensor_count;
    tensor tensors[TENSORS];
    bool has_run;
    real log_p[SEGMENTS * SEGMENT * WORDS];
} fixture_case;

/* The oracle's formula, as a weight file holds its values. */
static void fill(tensor *t) {
    int sum = 0;
    for (const char *c = t->source; *c != '\0'; ++c)
        sum += (unsigned char)*c;
    for (int64_t e = 0; e < t->count; ++e)
        t->values[e] = (float)(0.5 * sin(0.37 * (double)e + 1.3 * (double)(sum % 97) + 0.1));
}

/* NAME,SOURCE,ROWS[,COLUMNS] */
static bool read_tensor(const char *line, fixture_case *c) {
    tensor *t = &c->tensors[c->tensor_count];
    long long rows = 0, columns = 1;
    const int found =
        sscanf(line, "%95[^,],%95[^,],%lld,%lld", t->name, t->source, &rows, &columns);
    if (found < 3 || c->tensor_count + 1 >= TENSORS) return false;
    t->rank = found - 2;
    t->shape[0] = rows, t->shape[1] = columns;
    t->count = rows * columns;
    t->values = malloc((size_t)t->count * sizeof *t->values);
    if (t->values == NULL) return false;
    fill(t);
    c->tensor_count += 1;
    return true;
}

static void forget(fixture_case *c) {
    for (int i = 0; i < c->tensor_count; ++i)
        free(c->tensors[i].values);
    *c = (fixture_case){0};
}

static lh_status write_theirs(const fixture_case *c) {
    lh_safetensors_source sources[TENSORS];
    for (int i = 0; i < c->tensor_count; ++i) {
        const tensor *t = &c->tensors[i];
        sources[i] = (lh_safetensors_source){t->name, t->rank, t->shape, t->values};
    }
    const lh_safetensors_contents contents = {.sources = sources, .source_count = c->tensor_count};
    return lh_safetensors_write(theirs_path, &contents);
}

/* log p of the fixture's tokens, segment by segment. */
static bool compute(model_bench *b, fixture_case *c) {
    for (int s = 0; s < SEGMENTS; ++s) {
        int32_t tokens[SEGMENT];
        const int32_t starts[] = {s == 0};
        lh_output out;
        for (int i = 0; i < SEGMENT; ++i) {
            const int at = s * SEGMENT + i;
            tokens[i] = (7 * at * at + 3 * at + 1) % WORDS;
        }
        lh_tape_begin(b->tape, false, 1, 0);
        if (bench_forward(b, SEGMENT, tokens, starts, false, &out) == NULL) return false;
        const lh_tensor *log_p = lh_loss_logits(b->tape, &out);
        if (log_p == NULL || !CHECK_OK(lh_state_commit(b->state))) return false;
        memcpy(c->log_p + s * SEGMENT * WORDS, lh_tensor_real(log_p),
               SEGMENT * WORDS * sizeof *c->log_p);
    }
    return true;
}

/* What is written has the library's shapes and values, and leaves out only what is tied or is no
 * weight. */
static void check_written(const fixture_case *c) {
    lh_safetensors *file = NULL;
    int written = 0;
    REQUIRE_OK(lh_safetensors_open(ours_path, &file));
    for (int i = 0; i < c->tensor_count; ++i) {
        const tensor *t = &c->tensors[i];
        const lh_safetensors_entry *entry = tensor_named(file, t->name);
        const bool tied = strcmp(t->name, t->source) != 0 || strstr(t->name, "inv_freq") != NULL;
        real values[512];
        if (tied && entry == NULL) continue;
        if (!test_check(entry != NULL, __FILE__, __LINE__, "%s is not written", t->name)) continue;
        const bool alike = entry->rank == t->rank && entry->count == t->count && t->count <= 512 &&
                           memcmp(entry->shape, t->shape, (size_t)t->rank * sizeof *t->shape) == 0;
        if (!test_check(alike, __FILE__, __LINE__, "%s is of another shape", t->name)) continue;
        lh_safetensors_convert(entry, values);
        test_check(memcmp(values, t->values, (size_t)t->count * sizeof *values) == 0, __FILE__,
                   __LINE__, "%s has other values", t->name);
        written += 1;
    }
    CHECK_EQ_INT(written, lh_safetensors_count(file));
    lh_safetensors_close(file);
}

static bool run_case(fixture_case *c) {
    model_bench b;
    if (!CHECK_OK(write_theirs(c)) || !bench_open(&b, "dai_xl", c->options, 1)) return false;
    const lh_tensor_name *names = b.model->class->published_names;
    lh_params *params = b.model->params;
    c->has_run = CHECK_OK(lh_params_load(params, theirs_path, names, b.model->options, false)) &&
                 compute(&b, c) && CHECK_OK(lh_params_save(params, ours_path, names, NULL));
    bench_close(&b);
    if (c->has_run) check_written(c);
    (void)remove(theirs_path);
    (void)remove(ours_path);
    return c->has_run;
}

/* SEGMENT,POSITION,WORD,LOG_P */
static bool compare(const char *line, const fixture_case *c) {
    int segment = 0, position = 0, word = 0;
    double expected = 0;
    if (sscanf(line, "%d,%d,%d,%lf", &segment, &position, &word, &expected) != 4) return false;
    const double got = (double)c->log_p[(segment * SEGMENT + position) * WORDS + word];
    return test_check(fabs(got - expected) < 1e-10, __FILE__, __LINE__,
                      "%s: segment %d, position %d, word %d is %.12g, the library says %.12g",
                      c->options, segment, position, word, got, expected);
}

static const char *after(const char *line, const char *word) {
    const size_t length = strlen(word);
    return strncmp(line, word, length) == 0 ? line + length : NULL;
}

TEST(transformers_weights_are_read_and_written) {
    static fixture_case c;
    char line[LINE];
    int cases = 0, values = 0;
    FILE *file = fopen(fixture, "r");
    REQUIRE(file != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        const char *model = after(line, "model,\""), *one = after(line, "tensor,"),
                   *value = after(line, "value,");
        if (model != NULL) {
            forget(&c);
            (void)snprintf(c.options, sizeof c.options, "%.*s", (int)strcspn(model, "\""), model);
            cases += 1;
        }
        if (one != NULL) REQUIRE(read_tensor(one, &c));
        if (value == NULL) continue;
        if (!c.has_run) REQUIRE(run_case(&c));
        REQUIRE(compare(value, &c));
        values += 1;
    }
    (void)fclose(file);
    forget(&c);
    CHECK_EQ_INT(cases, CASES);
    CHECK_EQ_INT(values, CASES * SEGMENTS * 4 * WORDS);
}
