/* An op recorded and differentiated once, and run again without its record for every difference. */
#include "tests/kernels/op_gradient.h"

enum { OP_INPUTS = 4 };

typedef struct problem {
    op_of_tensors op;
    lh_pool *pool;
    lh_tape *tape;
    lh_tensor *input[OP_INPUTS], *cotangent;
    int count;
} problem;

static lh_tensor *random_tensor(suite *s, lh_pool *pool, int64_t rows, int64_t width) {
    lh_tensor *made = NULL;
    if (lh_tensor_create(pool, LH_REAL, 2, (int64_t[]){rows, width}, &made) != LH_OK) abort();
    for (int64_t i = 0; i < rows * width; i++)
        lh_tensor_real(made)[i] = (real)suite_normal(s);
    return made;
}

static void problem_open(suite *s, problem *p, int64_t rows, int64_t width) {
    if (lh_pool_create(s->device, &p->pool) != LH_OK) abort();
    if (lh_tape_create(p->pool, &p->tape) != LH_OK) abort();
    p->cotangent = random_tensor(s, p->pool, rows, width);
    for (int i = 0; i < p->count; i++) {
        p->input[i] = random_tensor(s, p->pool, rows, width);
        if (lh_tensor_require_gradient(p->input[i]) != LH_OK) abort();
    }
}

static void problem_close(problem *p) {
    lh_tape_destroy(p->tape);
    for (int i = 0; i < p->count; i++)
        lh_tensor_release(p->input[i]);
    lh_tensor_release(p->cotangent);
    lh_pool_destroy(p->pool);
}

static lh_tensor *run(const problem *p, bool recording) {
    lh_tape_begin(p->tape, recording, 1, 0);
    return p->op(p->tape, p->input);
}

static double loss_of(suite *s, const void *arguments) {
    const problem *p = arguments;
    (void)s;
    const lh_tensor *y = run(p, false);
    return y == NULL ? (double)NAN
                     : dot(lh_tensor_real(y), lh_tensor_real(p->cotangent), lh_tensor_count(y));
}

/* False: the op fails, or leaves an input without a gradient. */
static bool differentiate(const problem *p, gradient_pair *pairs) {
    static const char *const names[OP_INPUTS] = {"input 0", "input 1", "input 2", "input 3"};
    lh_tensor *y = run(p, true);
    if (y == NULL || lh_tape_backward_from(p->tape, y, p->cotangent) != LH_OK) return false;
    for (int i = 0; i < p->count; i++) {
        const lh_tensor *gradient = lh_tensor_gradient(p->input[i]);
        if (gradient == NULL) return false;
        pairs[i] = (gradient_pair){.name = names[i],
                                   .input = lh_tensor_real(p->input[i]),
                                   .gradient = lh_tensor_real(gradient),
                                   .count = lh_tensor_count(gradient)};
    }
    return true;
}

void op_gradient(suite *s, op_of_tensors op, int count, int64_t rows, int64_t width) {
    problem p = {.op = op, .count = count};
    gradient_pair pairs[OP_INPUTS];
    case_open(s, &p, sizeof p, "the op, %d inputs of %" PRId64 " x %" PRId64, count, rows, width);
    problem_open(s, &p, rows, width);
    if (differentiate(&p, pairs)) {
        gradient_check(s, pairs, count, loss_of, &p);
    } else {
        s->failed++;
        case_fails(s, "the op gives no gradients: %s", lh_error_text());
    }
    s->ordinal++;
    problem_close(&p);
}
