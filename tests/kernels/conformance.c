/* Checks every kernel of every backend of this build against plain loops.
 *
 *   conformance [--kernel NAME] [--backend NAME] [--mode MODE] [--seed N] [--case N] [--sample N]
 *               [--list]
 *
 * Modes: test (the results), self-test (spoilt results must be seen), grad (backward kernels
 * against differences; needs the double build), coverage (what is there), bench (times; refuses a
 * kernel whose test is red). Without a mode: coverage, test, self-test, and grad where it can run.
 * Without a backend: the instruction set that LH_CPU_ISA names, else all. A sample of N is about
 * one case of N, others with another seed.
 * The last line is "N passed, N failed"; the exit code is 1 when something failed. */
#include "tests/kernels/conformance.h"

#include <getopt.h>

typedef struct options {
    const char *kernel, *backend, *mode, *program;
    uint64_t seed;
    int only_case, sample;
    bool list, backend_required;
} options;

typedef struct tally {
    int passed, failed;
} tally;

static const struct {
    const char *name;
    suite_mode mode;
} mode_names[] = {{"test", MODE_TEST},
                  {"self-test", MODE_SELF_TEST},
                  {"grad", MODE_GRADIENT},
                  {"bench", MODE_BENCH},
                  {"coverage", MODE_COVERAGE}};

static const char *mode_name(suite_mode mode) {
    size_t i = 0;
    while (mode_names[i].mode != mode)
        i++;
    return mode_names[i].name;
}

static bool kernel_wanted(const options *o, const char *name) {
    return o->kernel == NULL || strcmp(o->kernel, name) == 0;
}

/* "avx2" and "cpu-avx2" name one table, "cpu" all of them. */
static bool backend_wanted(const options *o, const char *name) {
    if (o->backend == NULL || strcmp(o->backend, name) == 0) return true;
    const char *dash = strchr(name, '-');
    if (dash == NULL) return false;
    const size_t family = (size_t)(dash - name);
    return strcmp(o->backend, dash + 1) == 0 ||
           (strlen(o->backend) == family && strncmp(o->backend, name, family) == 0);
}

static suite suite_of(const options *o, suite_mode mode, lh_device *device,
                      const lh_kernels *table) {
    return (suite){.mode = mode,
                   .seed = o->seed,
                   .only_case = o->only_case,
                   .sample = o->sample,
                   .program = o->program,
                   .device = device,
                   .table = table};
}

static void start_kernel(suite *s, const kernel_entry *kernel) {
    s->kernel = kernel;
    s->ordinal = s->passed = s->failed = s->in_place = s->adding = s->misses = s->refusals = 0;
    s->random = s->seed;
}

/* The outcome of one kernel; a kernel without a single case is red. All its refusals of bf16 are
 * one check. */
static tally report(suite *s, const char *name) {
    s->passed += s->refusals > 0;
    if (s->passed + s->failed == 0 && s->only_case < 0) {
        printf("FAIL %s on %s: no case\n", name, s->table->name);
        s->failed++;
    }
    if (s->failed > 0)
        printf("%s on %s: %d of %d cases failed\n", name, s->table->name, s->failed,
               s->failed + s->passed);
    fflush(stdout);
    return (tally){.passed = s->passed, .failed = s->failed};
}

/* With activations of reals, then with those in bf16, where there are any. */
static void go_through(suite *s, const kernel_entry *kernel) {
    kernel->cases(s);
    s->dtype = LH_BF16;
    kernel->cases(s);
    s->dtype = LH_REAL;
}

static tally run_cases(suite *s, const kernel_entry *kernel) {
    start_kernel(s, kernel);
    if (!kernel->present(s->table)) {
        printf("FAIL %s on %s: missing\n", kernel->name, s->table->name);
        return (tally){.passed = 0, .failed = 1};
    }
    go_through(s, kernel);
    return report(s, kernel->name);
}

static tally run_gradients(suite *s, const options *o) {
    tally sum = {0, 0};
    for (int i = 0; i < kernel_entry_count; i++) {
        const kernel_entry *kernel = &kernel_entries[i];
        if (kernel->gradients == NULL || !kernel_wanted(o, kernel->name)) continue;
        start_kernel(s, kernel);
        kernel->gradients(s);
        const tally one = report(s, kernel->name);
        sum.passed += one.passed;
        sum.failed += one.failed;
    }
    return sum;
}

/* A time of a wrong result is no time. */
static tally run_bench(suite *s, const options *o, const kernel_entry *kernel) {
    const int threads = lh_cpu_threads();
    suite test = suite_of(o, MODE_TEST, s->device, s->table);
    test.quiet = true;
    start_kernel(&test, kernel);
    go_through(&test, kernel);
    if (test.failed > 0) {
        printf("%s on %s: not timed, because its test is red\n", kernel->name, s->table->name);
        return (tally){.passed = 0, .failed = 1};
    }
    lh_cpu_set_threads(threads);
    s->sample = 0; /* what is sampled is the test before */
    start_kernel(s, kernel);
    kernel->bench(s);
    return report(s, kernel->name);
}

static bool ends_with(const char *text, const char *end) {
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* One line of the table: cases, those that add, those in place, differences. */
static tally cover(suite *s, const kernel_entry *kernel) {
    start_kernel(s, kernel);
    go_through(s, kernel);
    const bool differentiated = kernel->gradients != NULL;
    const bool needed = ends_with(kernel->name, "_backward");
    const bool hole = !kernel->present(s->table) || s->passed == 0 || (needed && !differentiated);
    printf("%-24s %-12s %5d %6d %8d  %-8s %s\n", kernel->name,
           kernel->present(s->table) ? s->table->name : "-", s->passed, s->adding, s->in_place,
           differentiated ? "yes" : "-", hole ? "HOLE" : "");
    return (tally){.passed = !hole, .failed = hole};
}

static tally run_kernel(suite *s, const options *o, const kernel_entry *kernel) {
    if (s->mode == MODE_BENCH) return run_bench(s, o, kernel);
    if (s->mode == MODE_COVERAGE) return cover(s, kernel);
    return run_cases(s, kernel);
}

static tally run_table(const options *o, suite_mode mode, lh_device *device,
                       const lh_kernels *table) {
    suite s = suite_of(o, mode, device, table);
    if (mode == MODE_GRADIENT) return run_gradients(&s, o);
    tally sum = {0, 0};
    for (int i = 0; i < kernel_entry_count; i++) {
        if (!kernel_wanted(o, kernel_entries[i].name)) continue;
        const tally one = run_kernel(&s, o, &kernel_entries[i]);
        sum.passed += one.passed;
        sum.failed += one.failed;
    }
    return sum;
}

/* What the times depend on. */
static void print_setting(void) {
    const char *better = lh_blas_better_core();
    printf("%d threads, OpenBLAS core %s", lh_cpu_threads(), lh_blas_core());
    if (better != NULL) printf("; OPENBLAS_CORETYPE=%s may be faster", better);
    puts("");
}

/* Every table of the CPU runs on the one CPU device. */
static tally open_and_run(const options *o, suite_mode mode, const lh_kernels *table) {
    lh_device *device = NULL;
    const bool on_cpu = strncmp(table->name, "cpu-", strlen("cpu-")) == 0;
    if (lh_device_open(on_cpu ? "cpu" : "cuda", &device) != LH_OK) {
        printf("FAIL %s: %s\n", table->name, lh_device_error());
        return (tally){.passed = 0, .failed = 1};
    }
    const tally sum = run_table(o, mode, device, table);
    lh_device_close(device);
    printf("%s, %s: %d passed, %d failed\n", table->name, mode_name(mode), sum.passed, sum.failed);
    return sum;
}

/* Another table runs the same cases: they count once. */
static tally run_mode(const options *o, suite_mode mode) {
    if (mode == MODE_BENCH) print_setting();
    if (mode == MODE_COVERAGE)
        printf("%-24s %-12s %5s %6s %8s  %s\n", "kernel", "backend", "cases", "adding", "in place",
               "differences");
    tally sum = {0, 0};
    for (int i = 0; lh_kernels_at(i) != NULL; i++) {
        if (!backend_wanted(o, lh_kernels_at(i)->name)) continue;
        const tally one = open_and_run(o, mode, lh_kernels_at(i));
        sum.passed = one.passed > sum.passed ? one.passed : sum.passed;
        sum.failed += one.failed;
    }
    return sum;
}

static bool in_double(void) {
    return sizeof(real) == sizeof(double);
}

/* For tests/run.sh, which adds up programs: these cases are counted once, wherever they run. */
static void print_cases(const options *o, int cases) {
    printf("kernels: %d cases, as test, self-test and coverage\nsame cases: kernels on", cases);
    for (int i = 0; lh_kernels_at(i) != NULL; i++)
        if (backend_wanted(o, lh_kernels_at(i)->name)) printf(" %s", lh_kernels_at(i)->name);
    puts("");
}

/* Without a mode the self-test and the coverage go through the cases of the test once more: of them
 * only failures count. */
static tally run_all(const options *o) {
    tally sum = {0, 0};
    for (size_t i = 0; i < sizeof mode_names / sizeof *mode_names; i++) {
        const suite_mode mode = mode_names[i].mode;
        const bool wanted = o->mode != NULL
                                ? strcmp(o->mode, mode_names[i].name) == 0
                                : mode != MODE_BENCH && (mode != MODE_GRADIENT || in_double());
        if (!wanted) continue;
        const tally one = run_mode(o, mode);
        const bool again = o->mode == NULL && (mode == MODE_SELF_TEST || mode == MODE_COVERAGE);
        sum.passed += again ? 0 : one.passed;
        sum.failed += one.failed;
    }
    if (o->mode == NULL && o->kernel == NULL) print_cases(o, sum.passed);
    return sum;
}

static int list_kernels(void) {
    for (int i = 0; i < kernel_entry_count; i++)
        puts(kernel_entries[i].name);
    return 0;
}

static bool number_of(const char *text, int64_t *out) {
    char *end = NULL;
    *out = strtoll(text, &end, 10);
    return *text != '\0' && *end == '\0' && *out >= 0;
}

static bool parse(int count, char **arguments, options *o) {
    static const struct option known[] = {
        {"kernel", required_argument, NULL, 'k'}, {"backend", required_argument, NULL, 'b'},
        {"mode", required_argument, NULL, 'm'},   {"seed", required_argument, NULL, 's'},
        {"case", required_argument, NULL, 'c'},   {"sample", required_argument, NULL, 'n'},
        {"list", no_argument, NULL, 'l'},         {NULL, 0, NULL, 0}};
    int64_t number = 0;
    for (int letter; (letter = getopt_long(count, arguments, "", known, NULL)) != -1;) {
        if (letter == '?' || (strchr("scn", letter) != NULL && !number_of(optarg, &number)))
            return false;
        if (letter == 'k') o->kernel = optarg;
        if (letter == 'b') o->backend = optarg;
        if (letter == 'm') o->mode = optarg;
        if (letter == 's') o->seed = (uint64_t)number;
        if (letter == 'c') o->only_case = (int)number;
        if (letter == 'n') o->sample = (int)number;
        if (letter == 'l') o->list = true;
    }
    o->backend_required = o->backend != NULL;
    if (o->backend == NULL) o->backend = getenv("LH_CPU_ISA");
    if (o->backend != NULL && o->backend[0] == '\0') o->backend = NULL;
    return optind == count;
}

/* What is wrong with the names, or NULL. */
static const char *mistake(const options *o) {
    bool kernel = o->kernel == NULL, mode = o->mode == NULL, backend = !o->backend_required;
    for (int i = 0; i < kernel_entry_count; i++)
        kernel |= kernel_wanted(o, kernel_entries[i].name);
    for (int i = 0; lh_kernels_at(i) != NULL; i++)
        backend |= backend_wanted(o, lh_kernels_at(i)->name);
    for (size_t i = 0; i < sizeof mode_names / sizeof *mode_names; i++)
        mode |= o->mode != NULL && strcmp(o->mode, mode_names[i].name) == 0;
    if (!kernel) return "no such kernel; --list names them";
    if (!backend) return "no such backend in this build or on this processor";
    if (!mode) return "no such mode; there are test, self-test, grad, bench and coverage";
    if (o->mode != NULL && strcmp(o->mode, "grad") == 0 && !in_double())
        return "differences need the double build (make REAL=double)";
    return NULL;
}

int main(int count, char **arguments) {
    options o = {.program = arguments[0], .seed = 1, .only_case = -1};
    if (!parse(count, arguments, &o)) {
        fprintf(stderr,
                "usage: %s [--kernel NAME] [--backend NAME] [--seed N] [--case N] [--sample N]\n"
                "       [--list] [--mode test|self-test|grad|bench|coverage]\n",
                arguments[0]);
        return 2;
    }
    if (o.list) return list_kernels();
    const char *wrong = mistake(&o);
    if (wrong != NULL) {
        fprintf(stderr, "%s: %s\n", arguments[0], wrong);
        return 2;
    }
    const tally sum = run_all(&o);
    printf("%d passed, %d failed\n", sum.passed, sum.failed);
    return sum.failed > 0;
}
