/* The verdict on a case: reference twice, kernel four times, bounds. */
#include "tests/kernels/conformance.h"

#include <fenv.h>
#include <float.h>
#include <limits.h>
#include <stdarg.h>

enum { SHOWN_FAILURES = 4, ULPS = 4 };

/* Marks what the reference does not write. */
#define UNTOUCHED     ((precise)(-0x1.a5a5ap+90))
#define UNTOUCHED_I32 (INT32_MIN + 165)

bool case_fails(suite *s, const char *format, ...) {
    s->misses++;
    if (s->quiet || s->misses > SHOWN_FAILURES) return false;
    static const char *const modes[] = {"test", "self-test", "grad", "bench", "coverage"};
    printf("FAIL %s on %s, case %d (%s): ", s->kernel->name, s->table->name, s->ordinal, s->name);
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n  repeat: %s --kernel %s --backend %s --mode %s --seed %" PRIu64 " --case %d\n",
           s->program, s->kernel->name, s->table->name, modes[s->mode], s->seed, s->ordinal);
    return false;
}

/* ---- The reference ---- */

/* Of what a reference reads and writes: bf16 is the kernels' own affair. */
static buffer_type reference_type(const buffer *b) {
    return b->type == TYPE_BF16 ? TYPE_REAL : b->type;
}

static size_t reference_size(const buffer *b, bool in_precise) {
    const buffer_type type = reference_type(b);
    return type == TYPE_REAL && in_precise ? sizeof(precise) : element_size(type);
}

static precise value_at(const void *data, buffer_type type, bool in_precise, int64_t i) {
    if (type == TYPE_I32) return (precise)((const int32_t *)data)[i];
    if (type == TYPE_DOUBLE) return (precise)((const double *)data)[i];
    if (type == TYPE_BF16) return (precise)from_bf16(((const uint16_t *)data)[i]);
    return in_precise ? ((const precise *)data)[i] : (precise)((const real *)data)[i];
}

static void set_value(void *data, buffer_type type, bool in_precise, int64_t i, precise value) {
    if (type == TYPE_DOUBLE) {
        ((double *)data)[i] = (double)value;
    } else if (type == TYPE_BF16) {
        ((uint16_t *)data)[i] = to_bf16((float)value);
    } else if (in_precise) {
        ((precise *)data)[i] = value;
    } else {
        ((real *)data)[i] = (real)value;
    }
}

static void *reference_memory(const buffer *b, bool in_precise) {
    char *data = malloc((size_t)b->count * reference_size(b, in_precise) + 1);
    if (data == NULL) abort();
    if (b->type == TYPE_I32 && b->role == ROLE_OUT) {
        for (int64_t i = 0; i < b->count; i++)
            ((int32_t *)(void *)data)[i] = UNTOUCHED_I32;
    } else if (b->type == TYPE_I32 || b->type == TYPE_BYTES) {
        memcpy(data, b->initial, b->bytes);
    } else {
        for (int64_t i = 0; i < b->count; i++)
            set_value(data, reference_type(b), in_precise, i,
                      b->role == ROLE_OUT ? UNTOUCHED : value_at(b->initial, b->type, false, i));
    }
    return data;
}

static bool is_untouched(const buffer *b, int64_t i) {
    if (b->role != ROLE_OUT) return false;
    if (b->type == TYPE_I32) return ((const int32_t *)b->precise)[i] == UNTOUCHED_I32;
    return value_at(b->precise, reference_type(b), true, i) == UNTOUCHED;
}

/* A copy of the arguments in which every pointer leads to the reference's own memory. */
static void run_reference(suite *s, bool in_precise) {
    char *args = malloc(s->args_size);
    if (args == NULL) abort();
    memcpy(args, s->args, s->args_size);
    for (int i = 0; i < s->buffer_count; i++) {
        buffer *b = &s->buffers[i];
        void *memory = reference_memory(b, in_precise);
        memcpy(args + b->field, &memory, sizeof memory);
        *(in_precise ? &b->precise : &b->naive) = memory;
    }
    (in_precise ? s->kernel->precise : s->kernel->naive)(args);
    if (in_precise && s->canonical_precise != NULL) s->canonical_precise(args);
    if (!in_precise && s->canonical_real != NULL) s->canonical_real(args);
    free(args);
}

static void release_naive(suite *s) {
    for (int i = 0; i < s->buffer_count; i++)
        free(s->buffers[i].naive);
}

static void release_precise(suite *s) {
    for (int i = 0; i < s->buffer_count; i++)
        free(s->buffers[i].precise);
}

/* ---- Bounds ---- */

/* In bf16 a quarter of two roundings to nearest, 2^-8 each: sums are as fine as those of reals, but
 * a result and what it is made from may both have been stored. */
static precise ulp_of(buffer_type type) {
    if (type == TYPE_I32) return 0;
    if (type == TYPE_BF16) return 0x1p-9;
    return type == TYPE_DOUBLE || sizeof(real) == sizeof(double) ? (precise)DBL_EPSILON
                                                                 : (precise)FLT_EPSILON;
}

/* The size of the largest result, and how far plain loops are off at most. */
static void measure(buffer *b) {
    for (int64_t i = 0; i < b->count; i++) {
        const precise want = value_at(b->precise, reference_type(b), true, i);
        if (!isfinite(want) || is_untouched(b, i)) continue;
        const precise naive = value_at(b->naive, reference_type(b), false, i);
        const precise size = want < 0 ? -want : want;
        const precise difference = naive < want ? want - naive : naive - want;
        if (size > b->scale) b->scale = size;
        if (isfinite(difference) && difference > b->off) b->off = difference;
    }
}

int suite_rounding = FE_TONEAREST, suite_roundings;

/* Chance can make one evaluation of a short sum exact. Rounding all of it up, and all of it down,
 * shows how much its arithmetic can be off; rounding operands up and down by turns, also where what
 * all have in common cancels in a difference. */
static void run_references(suite *s) {
    static const int roundings[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    run_reference(s, true);
    for (size_t i = 0; i < sizeof roundings / sizeof *roundings; i++) {
        suite_rounding = roundings[i];
        suite_roundings = 0;
        fesetround(suite_rounding);
        run_reference(s, false);
        fesetround(FE_TONEAREST);
        for (int k = 0; k < s->buffer_count; k++)
            if (s->buffers[k].role != ROLE_IN && s->buffers[k].type != TYPE_BYTES)
                measure(&s->buffers[k]);
        release_naive(s);
    }
}

/* Twice what plain loops in the tested precision are off by, and a few units in the last place of
 * the largest result. */
static precise allowed_for(const suite *s, const buffer *b) {
    return s->exact ? 0 : 2 * b->off + ULPS * ulp_of(b->type) * b->scale;
}

/* How far one element is off; infinite when of another kind. */
static precise miss_of(const buffer *b, const char *data, int64_t i) {
    const precise infinite = (precise)INFINITY;
    const bool poisoned = is_poison(data + (size_t)i * element_size(b->type), b->type);
    if (is_untouched(b, i)) return poisoned ? 0 : infinite;
    if (poisoned) return infinite;
    const precise want = value_at(b->precise, reference_type(b), true, i);
    const precise got = value_at(data, b->type, false, i);
    if (isnan(want)) return isnan(got) ? 0 : infinite;
    if (want == got) return 0;
    if (!isfinite(want) || !isfinite(got)) return infinite;
    return got < want ? want - got : got - want;
}

static bool output_good(suite *s, const buffer *b) {
    const precise allowed = allowed_for(s, b);
    const char *data = call_result(s, b);
    precise worst = 0;
    int64_t index = -1;
    for (int64_t i = 0; i < b->count; i++) {
        const precise miss = miss_of(b, data, i);
        if (miss > allowed && miss > worst) {
            worst = miss;
            index = i;
        }
    }
    if (index < 0) return true;
    if (is_untouched(b, index)) return case_fails(s, "%s[%" PRId64 "] is written", b->name, index);
    return case_fails(s, "%s[%" PRId64 "] is %.9Lg, expected %.9Lg; off by %.3Lg, allowed %.3Lg",
                      b->name, index, (long double)value_at(data, b->type, false, index),
                      (long double)value_at(b->precise, reference_type(b), true, index),
                      (long double)worst, (long double)allowed);
}

static bool outputs_good(suite *s) {
    if (!s->outputs_defined) return true;
    if (s->canonical_real != NULL) s->canonical_real(s->args);
    for (int i = 0; i < s->buffer_count; i++) {
        const buffer *b = &s->buffers[i];
        if (b->role != ROLE_IN && b->type != TYPE_BYTES && !output_good(s, b)) return false;
    }
    return true;
}

static bool status_good(suite *s, lh_status status) {
    if (status == s->expected) return true;
    return case_fails(s, "gives status %d, expected %d%s%s", (int)status, (int)s->expected,
                      s->device->kind == LH_CPU ? "" : ": ",
                      s->device->kind == LH_CPU ? "" : lh_device_error());
}

static bool neighbours_good(suite *s) {
    const char *touched = call_trespass(s);
    if (touched == NULL) return true;
    return case_fails(s, "changes %s, or memory beside it", touched);
}

/* ---- Repetition ---- */

static void keep_outputs(suite *s) {
    for (int i = 0; i < s->buffer_count; i++) {
        buffer *b = &s->buffers[i];
        b->kept = malloc(b->bytes + 1);
        if (b->kept == NULL) abort();
        memcpy(b->kept, call_result(s, b), b->bytes);
    }
}

static void release_kept(suite *s) {
    for (int i = 0; i < s->buffer_count; i++)
        free(s->buffers[i].kept);
}

/* The same bits, but for those of a NaN. */
static bool repeats(suite *s, int threads) {
    for (int i = 0; i < s->buffer_count; i++) {
        const buffer *b = &s->buffers[i];
        const char *now = call_result(s, b), *kept = b->kept;
        if (memcmp(now, kept, b->bytes) == 0 || b->type == TYPE_BYTES) continue;
        const size_t size = element_size(b->type);
        for (int64_t j = 0; j < b->count; j++) {
            const precise first = value_at(kept, b->type, false, j);
            const precise second = value_at(now, b->type, false, j);
            const size_t at = (size_t)j * size;
            if (memcmp(now + at, kept + at, size) == 0 || (isnan(first) && isnan(second))) continue;
            return case_fails(s, "%s[%" PRId64 "] is %.9Lg with 1 thread and %.9Lg with %d threads",
                              b->name, j, (long double)first, (long double)second, threads);
        }
    }
    return true;
}

static bool call_good(suite *s, int threads) {
    call_restore(s);
    const int64_t before = call_launches(s);
    if (!status_good(s, call_kernel(s, threads))) return false;
    const int64_t launched = before < 0 ? -1 : call_launches(s) - before;
    call_fetch(s);
    return neighbours_good(s) && cost_good(s, launched);
}

static bool threads_agree(suite *s) {
    for (int threads = 2; threads <= 3; threads++) {
        if (!call_good(s, threads)) return false;
        if (s->outputs_defined && s->canonical_real != NULL) s->canonical_real(s->args);
        if (s->outputs_defined && !repeats(s, threads)) return false;
    }
    return true;
}

static bool aligned_good(suite *s) {
    call_prepare(s, false);
    bool good = call_good(s, 1) && outputs_good(s);
    if (good) {
        keep_outputs(s);
        good = threads_agree(s);
        release_kept(s);
    }
    call_release(s);
    return good;
}

static bool misaligned_good(suite *s) {
    call_prepare(s, true);
    const bool good = call_good(s, 2) && outputs_good(s);
    call_release(s);
    return good;
}

void check_case(suite *s) {
    if (s->outputs_defined) run_references(s);
    const bool good = aligned_good(s) && misaligned_good(s);
    release_precise(s);
    case_verdict(s, good);
}

/* ---- Proof that a wrong result is seen ---- */

/* One part in a thousand of the largest result: a bound that lets this pass is worth nothing,
 * unless the results are what is left of larger numbers. */
static void spoil_element(suite *s, const buffer *b, int64_t i) {
    const void *result = call_result(s, b);
    char *data = b->shares >= 0 ? s->buffers[b->shares].data : b->data;
    if (b->type == TYPE_I32) {
        ((int32_t *)(void *)data)[i] = -7;
        return;
    }
    const precise before = value_at(result, b->type, false, i);
    const precise small = b->scale / 1000;
    const bool fine = allowed_for(s, b) < small && b->type != TYPE_BF16; /* which drops so little */
    const precise step = fine ? small : b->scale + 1;
    set_value(data, b->type, false, i, isfinite(before) ? before + step : 7);
}

static const buffer *random_buffer(suite *s, bool output) {
    const int first = (int)suite_integer(s, s->buffer_count);
    for (int i = 0; i < s->buffer_count; i++) {
        const buffer *b = &s->buffers[(first + i) % s->buffer_count];
        if ((b->role != ROLE_IN) == output && b->count > 0) return b;
    }
    return NULL;
}

/* Spoils a result, an input or a guard; of a call without memory the workspace's. */
static void spoil_something(suite *s) {
    if (s->buffer_count == 0) {
        s->workspace[0] ^= 1;
        return;
    }
    const int64_t what = suite_integer(s, 4);
    const buffer *output = random_buffer(s, true);
    if (what >= 2 && output != NULL && s->outputs_defined) {
        spoil_element(s, output, suite_integer(s, output->count));
        return;
    }
    const buffer *input = random_buffer(s, false);
    if (what == 1 && input != NULL && !call_shared(s, input)) {
        input->data[suite_integer(s, (int64_t)input->bytes)] ^= 1;
        return;
    }
    const buffer *b = &s->buffers[suite_integer(s, s->buffer_count)];
    b->data[suite_integer(s, 2) == 0 ? -1 : (int64_t)b->bytes] ^= 1;
}

void self_test_case(suite *s) {
    if (s->outputs_defined) run_references(s);
    call_prepare(s, false);
    call_restore(s);
    const lh_status status = call_kernel(s, 1);
    if (status == s->expected) {
        call_fetch(s);
        spoil_something(s);
        const bool was_quiet = s->quiet;
        s->quiet = true;
        const bool red = !neighbours_good(s) || !outputs_good(s);
        s->quiet = was_quiet;
        s->misses = 0;
        if (!red) case_fails(s, "stays green with a spoilt result");
        case_verdict(s, red);
    }
    call_release(s);
    release_precise(s);
}
