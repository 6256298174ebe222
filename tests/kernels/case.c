/* One case of a kernel: its arguments, the copies that other implementations work on, and the
 * poison by which an output that nobody wrote is seen. */
#include "tests/kernels/conformance.h"

#include <stdarg.h>

static void *allocate(size_t bytes) {
    void *memory = malloc(bytes + 1);
    if (memory == NULL) abort();
    return memory;
}

static uint64_t hash_text(uint64_t hash, const char *text) {
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

/* The random numbers of a case depend on nothing before it, so that --case repeats it alone. */
void case_open(suite *s, void *args, size_t size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(s->name, sizeof s->name, format, arguments);
    va_end(arguments);
    if (s->dtype == LH_BF16 && length >= 0 && (size_t)length < sizeof s->name)
        snprintf(s->name + length, sizeof s->name - (size_t)length, ", bf16");
    s->args = args;
    s->args_size = size;
    s->buffer_count = s->pair_count = 0;
    s->expected = LH_OK;
    s->outputs_defined = true;
    s->exact = false;
    s->flops = 0;
    s->loss = NULL;
    s->canonical_precise = s->canonical_real = NULL;
    s->random = hash_text(s->seed * 1000003u + (uint64_t)s->ordinal, s->kernel->name);
}

static size_t field_offset(const suite *s, const void *field) {
    return (size_t)((const char *)field - (const char *)s->args);
}

size_t element_size(buffer_type type) {
    switch (type) {
    case TYPE_REAL:
        return sizeof(real);
    case TYPE_BF16:
        return sizeof(uint16_t);
    case TYPE_DOUBLE:
        return sizeof(double);
    case TYPE_I32:
        return sizeof(int32_t);
    case TYPE_BYTES:
        break;
    }
    return 1;
}

int poison_of(buffer_type type) {
    return type == TYPE_I32 ? 0x9c : 0xff;
}

bool is_poison(const void *element, buffer_type type) {
    const unsigned char *bytes = element;
    for (size_t i = 0; i < element_size(type); i++)
        if (bytes[i] != poison_of(type)) return false;
    return true;
}

static void *buffer_add(suite *s, const char *name, const void *field, buffer_type type,
                        buffer_role role, int64_t count) {
    if (s->buffer_count == CASE_BUFFERS || count < 0) abort();
    buffer *b = &s->buffers[s->buffer_count++];
    const size_t bytes = (size_t)count * element_size(type);
    *b = (buffer){.name = name,
                  .field = field_offset(s, field),
                  .type = type,
                  .role = role,
                  .count = count,
                  .bytes = bytes,
                  .shares = -1,
                  .initial = allocate(bytes)};
    memset(b->initial, poison_of(type), bytes);
    memcpy((char *)s->args + b->field, &b->initial, sizeof b->initial);
    return b->initial;
}

static void fill_normal(suite *s, real *x, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        x[i] = (real)suite_normal(s);
}

real *case_in(suite *s, const char *name, const void *field, int64_t count) {
    real *x = buffer_add(s, name, field, TYPE_REAL, ROLE_IN, count);
    fill_normal(s, x, count);
    return x;
}

real *case_in_out(suite *s, const char *name, const void *field, int64_t count) {
    real *x = buffer_add(s, name, field, TYPE_REAL, ROLE_IN_OUT, count);
    fill_normal(s, x, count);
    return x;
}

static int32_t *add_integers(suite *s, const char *name, const void *field, buffer_role role,
                             int64_t count, int64_t below) {
    int32_t *x = buffer_add(s, name, field, TYPE_I32, role, count);
    for (int64_t i = 0; i < count; i++)
        x[i] = (int32_t)suite_integer(s, below);
    return x;
}

int32_t *case_in_i32(suite *s, const char *name, const void *field, int64_t count, int64_t below) {
    return add_integers(s, name, field, ROLE_IN, count, below);
}

int32_t *case_in_out_i32(suite *s, const char *name, const void *field, int64_t count,
                         int64_t below) {
    return add_integers(s, name, field, ROLE_IN_OUT, count, below);
}

static double *add_doubles(suite *s, const char *name, const void *field, buffer_role role,
                           int64_t count) {
    double *x = buffer_add(s, name, field, TYPE_DOUBLE, role, count);
    for (int64_t i = 0; i < count && role != ROLE_OUT; i++)
        x[i] = suite_normal(s);
    return x;
}

double *case_in_double(suite *s, const char *name, const void *field, int64_t count) {
    return add_doubles(s, name, field, ROLE_IN, count);
}

void case_in_bytes(suite *s, const char *name, const void *field, const void *from, size_t bytes) {
    memcpy(buffer_add(s, name, field, TYPE_BYTES, ROLE_IN, (int64_t)bytes), from, bytes);
}

real *case_out(suite *s, const char *name, const void *field, int64_t count, lh_write write) {
    if (write == LH_ADD) return case_in_out(s, name, field, count);
    return buffer_add(s, name, field, TYPE_REAL, ROLE_OUT, count);
}

void case_out_i32(suite *s, const char *name, const void *field, int64_t count) {
    buffer_add(s, name, field, TYPE_I32, ROLE_OUT, count);
}

void case_out_double(suite *s, const char *name, const void *field, int64_t count, lh_write write) {
    add_doubles(s, name, field, write == LH_ADD ? ROLE_IN_OUT : ROLE_OUT, count);
}

static int buffer_at(const suite *s, const void *field) {
    const size_t offset = field_offset(s, field);
    for (int i = 0; i < s->buffer_count; i++)
        if (s->buffers[i].field == offset) return i;
    abort(); /* a mistake in the case file */
}

static bool takes_bf16(const suite *s) {
    return s->table->takes_bf16[s->kernel->id];
}

void case_dtype(suite *s, const void *field, lh_dtype dtype) {
    lh_act *act = (lh_act *)(void *)((char *)s->args + field_offset(s, field));
    act->dtype = dtype;
    if (dtype != LH_BF16 || act->data == NULL) return;
    buffer *b = &s->buffers[buffer_at(s, field)];
    const real *from = b->initial;
    uint16_t *to = allocate((size_t)b->count * sizeof *to);
    for (int64_t i = 0; i < b->count; i++)
        to[i] = to_bf16((float)from[i]);
    b->type = TYPE_BF16;
    b->bytes = (size_t)b->count * sizeof *to;
    if (b->role == ROLE_OUT) memset(to, poison_of(b->type), b->bytes);
    free(b->initial);
    b->initial = to;
    memcpy((char *)s->args + b->field, &b->initial, sizeof b->initial);
    if (!takes_bf16(s)) case_expect(s, LH_EOPTION, false);
}

void case_in_place(suite *s, const void *out_field, const void *in_field) {
    buffer *out = &s->buffers[buffer_at(s, out_field)];
    out->shares = buffer_at(s, in_field);
    if (out->role == ROLE_IN_OUT) memcpy(out->initial, s->buffers[out->shares].initial, out->bytes);
}

void case_exact(suite *s) {
    s->exact = true;
}

void case_scale(suite *s, const void *field, double scale) {
    s->buffers[buffer_at(s, field)].scale = (precise)scale;
}

void case_expect(suite *s, lh_status status, bool outputs_defined) {
    s->expected = status;
    s->outputs_defined = outputs_defined;
}

void case_refused(suite *s, lh_status status, void *args, size_t size, const char *fields) {
    case_open(s, args, size, "refused: %s", fields);
    case_expect(s, status, false);
    case_run(s);
}

void case_canonical(suite *s, void (*in_precise)(const void *), void (*in_real)(const void *)) {
    s->canonical_precise = in_precise;
    s->canonical_real = in_real;
}

void case_loss(suite *s, objective loss) {
    s->loss = loss;
}

/* A gradient that the case does not ask for is not checked. */
void case_pair(suite *s, const void *input_field, const void *gradient_field) {
    const void *gradient = NULL;
    memcpy(&gradient, gradient_field, sizeof gradient);
    if (gradient == NULL) return;
    if (s->pair_count == CASE_PAIRS) abort();
    s->pair_input[s->pair_count] = buffer_at(s, input_field);
    s->pair_gradient[s->pair_count++] = buffer_at(s, gradient_field);
}

void case_flops(suite *s, double flops) {
    s->flops = flops;
}

static void count_features(suite *s) {
    bool in_place = false, adding = false;
    for (int i = 0; i < s->buffer_count; i++) {
        in_place |= s->buffers[i].shares >= 0;
        adding |= s->buffers[i].role == ROLE_IN_OUT;
    }
    s->in_place += in_place;
    s->adding += adding;
    case_verdict(s, true);
}

static void run_in_mode(suite *s) {
    switch (s->mode) {
    case MODE_TEST:
        check_case(s);
        break;
    case MODE_SELF_TEST:
        self_test_case(s);
        break;
    case MODE_GRADIENT:
        gradient_case(s);
        break;
    case MODE_BENCH:
        bench_case(s);
        break;
    case MODE_COVERAGE:
        count_features(s);
        break;
    }
}

void case_verdict(suite *s, bool good) {
    const bool refusal = s->dtype == LH_BF16 && !takes_bf16(s);
    s->failed += !good;
    s->refusals += good && refusal;
    s->passed += good && !refusal;
}

static bool has_bf16(const suite *s) {
    for (int i = 0; i < s->buffer_count; i++)
        if (s->buffers[i].type == TYPE_BF16) return true;
    return false;
}

/* Cases come in nested loops: a fixed step would leave out the same sizes of one loop each time. */
static bool is_sampled(const suite *s) {
    const uint32_t mixed = ((uint32_t)s->ordinal * UINT32_C(2654435761)) >> 16;
    return s->sample <= 1 || mixed % (uint32_t)s->sample == s->seed % (uint64_t)s->sample;
}

static bool is_asked_for(const suite *s) {
    return s->only_case < 0 ? is_sampled(s) : s->only_case == s->ordinal;
}

void case_run(suite *s) {
    const bool counts = s->dtype == LH_REAL || has_bf16(s);
    if (counts && is_asked_for(s)) run_in_mode(s);
    for (int i = 0; i < s->buffer_count; i++)
        free(s->buffers[i].initial);
    s->buffer_count = 0;
    s->ordinal += counts;
}
