/* The tape: scopes that own tensors, the list of nodes, and the walk back over them. */
#include "harness/engine/tape.h"

#include <stdlib.h>
#include <string.h>

#include "harness/engine/arena.h"
#include "harness/engine/array.h"
#include "harness/engine/record.h"
#include "harness/engine/swap.h"
#include "kernels/random.h"

/* What a random op decided. */
typedef struct decision {
    uint32_t position;
    lh_tensor *value;
} decision;

struct lh_tape {
    lh_pool *pool;
    lh_arena arena;
    lh_node *last;
    lh_tensor **owned; /* the scopes' tensors, innermost last */
    int64_t owned_count, owned_capacity;
    decision *decisions; /* in the order of their making */
    int64_t decision_count, decision_capacity;
    bool recording, remembering;
    bool in_backward;
    bool holding; /* in a region whose backward is recorded, though its ops are not */
    lh_hold *holds;
    int64_t first_row, rows; /* rows 0: all of them */
    lh_gradient_watcher watcher;
    void *watcher_context;
    lh_viewer viewer;
    void *viewer_context;
    lh_swap *swap;
    double flops;
    bool flops_paused;
    lh_random_key key;
};

lh_status lh_tape_create(lh_pool *pool, lh_tape **out) {
    lh_tape *tape = lh_allocate_zeroed(1, sizeof *tape);
    if (tape == NULL) return LH_EMEMORY;
    tape->pool = pool;
    *out = tape;
    return LH_OK;
}

static void release_owned(lh_tape *tape, int64_t mark) {
    while (tape->owned_count > mark)
        lh_tensor_release(tape->owned[--tape->owned_count]);
}

/* Lets go of everything a node holds. Its memory belongs to the arena. */
static void node_clear(lh_node *node) {
    for (int i = 0; i < node->saved_count; ++i)
        lh_tensor_release(node->saved[i]);
    for (int i = 0; i < node->input_count; ++i)
        lh_gradient_release(node->input[i]);
    for (int i = 0; i < node->output_count; ++i)
        lh_gradient_release(node->output[i]);
}

static void forget_decisions(lh_tape *tape) {
    while (tape->decision_count > 0)
        lh_tensor_release(tape->decisions[--tape->decision_count].value);
}

static void forget_nodes(lh_tape *tape) {
    for (; tape->last != NULL; tape->last = tape->last->previous)
        node_clear(tape->last);
    tape->holds = NULL;
    lh_arena_reset(&tape->arena);
}

void lh_tape_destroy(lh_tape *tape) {
    if (tape == NULL) return;
    forget_nodes(tape);
    forget_decisions(tape);
    release_owned(tape, 0);
    lh_arena_clear(&tape->arena);
    free(tape->decisions);
    free(tape->owned);
    free(tape);
}

void lh_tape_begin(lh_tape *tape, bool recording, uint64_t seed, uint64_t step) {
    forget_nodes(tape);
    forget_decisions(tape);
    release_owned(tape, 0);
    tape->recording = recording;
    tape->remembering = recording;
    tape->in_backward = false;
    tape->holding = false;
    tape->flops = 0;
    tape->flops_paused = false;
    tape->key = (lh_random_key){.seed = seed, .step = step, .stream = LH_STREAM_DROPOUT};
}

void lh_tape_set_rows(lh_tape *tape, int64_t first, int64_t count) {
    tape->first_row = first;
    tape->rows = count;
}

int64_t lh_tape_parts_before(const lh_tape *tape, int64_t count) {
    return tape->rows > 0 ? count / tape->rows * tape->first_row : 0;
}

void lh_tape_watch(lh_tape *tape, lh_gradient_watcher watcher, void *context) {
    tape->watcher = watcher;
    tape->watcher_context = context;
}

void lh_tape_set_viewer(lh_tape *tape, lh_viewer viewer, void *context) {
    tape->viewer = viewer;
    tape->viewer_context = context;
}

bool lh_tape_has_viewer(const lh_tape *tape) {
    return tape->viewer != NULL;
}

lh_status lh_tape_show(const lh_tape *tape, const lh_tensor *shown) {
    if (shown == NULL) return lh_failed();
    return tape->viewer(tape->viewer_context, shown);
}

void lh_tape_set_swap(lh_tape *tape, lh_swap *swap) {
    tape->swap = swap;
}

lh_swap *lh_tape_swap(const lh_tape *tape) {
    return tape->swap;
}

lh_status lh_tape_need(lh_tape *tape, const lh_tensor *parameter) {
    return tape->swap != NULL ? lh_swap_need(tape->swap, parameter, tape->recording) : LH_OK;
}

int lh_tape_visits(const lh_tape *tape) {
    return tape->swap != NULL ? lh_swap_visits(tape->swap) : 0;
}

lh_status lh_tape_end_visits(lh_tape *tape, int mark) {
    return tape->swap != NULL ? lh_swap_leave(tape->swap, mark) : LH_OK;
}

bool lh_tape_is_recording(const lh_tape *tape) {
    return tape->recording;
}

lh_pool *lh_tape_pool(const lh_tape *tape) {
    return tape->pool;
}

lh_device *lh_tape_device(const lh_tape *tape) {
    return lh_pool_device(tape->pool);
}

double lh_tape_flops(const lh_tape *tape) {
    return tape->flops;
}

void lh_tape_count_flops(lh_tape *tape, double flops) {
    if (!tape->in_backward && !tape->flops_paused) tape->flops += flops;
}

void lh_tape_pause_flops(lh_tape *tape) {
    tape->flops_paused = true;
}

void lh_tape_resume_flops(lh_tape *tape) {
    tape->flops_paused = false;
}

/* ---- scopes ---- */

lh_scope lh_scope_open(lh_tape *tape) {
    return (lh_scope){.mark = tape->owned_count};
}

void lh_scope_close_many(lh_tape *tape, lh_scope scope, lh_tensor *const *keep, int count) {
    int64_t kept = scope.mark;
    for (int64_t i = scope.mark; i < tape->owned_count; ++i) {
        lh_tensor *tensor = tape->owned[i];
        bool wanted = false;
        for (int k = 0; k < count && !wanted; ++k)
            wanted = keep[k] == tensor;
        if (wanted) {
            tape->owned[kept++] = tensor;
        } else {
            lh_tensor_release(tensor);
        }
    }
    tape->owned_count = kept;
}

lh_tensor *lh_scope_close(lh_tape *tape, lh_scope scope, lh_tensor *keep) {
    lh_scope_close_many(tape, scope, &keep, 1);
    return keep;
}

lh_tensor *lh_tape_own(lh_tape *tape, lh_tensor *tensor) {
    if (tensor == NULL) return NULL;
    if (lh_array_reserve(&tape->owned, &tape->owned_capacity, tape->owned_count + 1,
                         sizeof(lh_tensor *)) != LH_OK) {
        lh_tensor_release(tensor);
        return NULL;
    }
    tape->owned[tape->owned_count++] = tensor;
    return tensor;
}

lh_tensor *lh_tape_new(lh_tape *tape, lh_dtype dtype, int rank, const int64_t *shape) {
    lh_tensor *tensor = NULL;
    if (lh_tensor_create(tape->pool, dtype, rank, shape, &tensor) != LH_OK) return NULL;
    return lh_tape_own(tape, tensor);
}

lh_tensor *lh_tape_new_like(lh_tape *tape, const lh_tensor *like) {
    return lh_tape_new(tape, like->dtype, like->rank, like->shape);
}

lh_tensor *lh_tape_leaf(lh_tape *tape, lh_tensor *tensor, bool differentiate) {
    lh_tensor *leaf = lh_tape_own(tape, lh_tensor_detached(tensor));
    if (leaf == NULL || !differentiate) return leaf;
    return lh_tensor_require_gradient(leaf) == LH_OK ? leaf : NULL;
}

/* ---- random numbers ---- */

lh_tensor *lh_tape_random_key(lh_tape *tape) {
    lh_random_key key = tape->key;
    tape->key.op += 1;
    int32_t words[sizeof key / sizeof(int32_t)];
    memcpy(words, &key, sizeof key);
    const int64_t shape[] = {sizeof key / sizeof(int32_t)};
    lh_tensor *tensor = lh_tape_new(tape, LH_I32, 1, shape);
    if (tensor == NULL) return NULL;
    return lh_tensor_write(tensor, words, shape[0]) == LH_OK ? tensor : NULL;
}

uint32_t lh_tape_random_position(const lh_tape *tape) {
    return tape->key.op;
}

void lh_tape_set_random_position(lh_tape *tape, uint32_t position) {
    tape->key.op = position;
}

lh_status lh_tape_remember(lh_tape *tape, uint32_t position, lh_tensor *value) {
    if (!tape->remembering) return LH_OK;
    LH_TRY(lh_array_reserve(&tape->decisions, &tape->decision_capacity, tape->decision_count + 1,
                            sizeof *tape->decisions));
    tape->decisions[tape->decision_count++] = (decision){position, lh_tensor_retain(value)};
    return LH_OK;
}

lh_tensor *lh_tape_recall(const lh_tape *tape, uint32_t position) {
    for (int64_t i = tape->decision_count - 1; i >= 0; --i)
        if (tape->decisions[i].position == position) return tape->decisions[i].value;
    return NULL;
}

/* ---- recording ---- */

bool lh_tape_wants(const lh_tape *tape, lh_tensor *const *tensors, int count) {
    if (!tape->recording) return false;
    for (int i = 0; i < count; ++i) {
        if (tensors[i] != NULL && tensors[i]->gradient != NULL) return true;
    }
    return false;
}

void *lh_tape_scratch(lh_tape *tape, size_t bytes) {
    return lh_arena_take(&tape->arena, bytes);
}

/* Node and its arrays in one piece of the arena. */
static lh_node *node_create(lh_tape *tape, const lh_record *record) {
    const size_t pointers =
        (size_t)(record->input_count + record->output_count + record->saved_count);
    char *memory = lh_tape_scratch(tape, sizeof(lh_node) + pointers * sizeof(void *));
    void *args = record->args_bytes > 0 ? lh_tape_scratch(tape, record->args_bytes) : NULL;
    if (memory == NULL || (record->args_bytes > 0 && args == NULL)) return NULL;
    if (args != NULL) memcpy(args, record->args, record->args_bytes);
    lh_node *node = (lh_node *)(void *)memory;
    void **array = (void **)(void *)(memory + sizeof(lh_node));
    *node = (lh_node){.op = record->op,
                      .backward = record->backward,
                      .input_count = record->input_count,
                      .output_count = record->output_count,
                      .saved_count = record->saved_count,
                      .input = (lh_gradient **)array,
                      .output = (lh_gradient **)(array + record->input_count),
                      .saved = (lh_tensor **)(array + record->input_count + record->output_count),
                      .args = args};
    return node;
}

lh_status lh_tape_hold(lh_tape *tape, lh_gradient *gradient) {
    lh_gradient *root = lh_gradient_root(gradient);
    if (!tape->holding || root == NULL || !root->persistent) return LH_OK;
    lh_hold *hold = lh_tape_scratch(tape, sizeof *hold);
    if (hold == NULL) return LH_EMEMORY;
    *hold = (lh_hold){.gradient = root, .next = tape->holds};
    tape->holds = hold;
    root->uses += 1;
    return LH_OK;
}

static lh_status hold_inputs(lh_tape *tape, const lh_record *record) {
    for (int i = 0; i < record->input_count; ++i) {
        if (record->input[i] != NULL) LH_TRY(lh_tape_hold(tape, record->input[i]->gradient));
    }
    return LH_OK;
}

lh_region_mark lh_tape_enter_region(lh_tape *tape) {
    const lh_region_mark mark = {.recording = tape->recording, .holding = tape->holding};
    tape->holding = tape->holding || tape->recording;
    tape->recording = false;
    return mark;
}

lh_hold *lh_tape_leave_region(lh_tape *tape, lh_region_mark mark) {
    tape->recording = mark.recording;
    tape->holding = mark.holding;
    if (mark.holding) return NULL;
    lh_hold *holds = tape->holds;
    tape->holds = NULL;
    return holds;
}

lh_status lh_tape_record(lh_tape *tape, const lh_record *record) {
    if (tape->holding) return hold_inputs(tape, record);
    if (!lh_tape_wants(tape, record->input, record->input_count)) return LH_OK;
    for (int i = 0; i < record->output_count; ++i) {
        LH_TRY(lh_tensor_require_gradient(record->output[i]));
    }
    lh_node *node = node_create(tape, record);
    if (node == NULL) return LH_EMEMORY;
    for (int i = 0; i < record->input_count; ++i) {
        lh_tensor *input = record->input[i];
        node->input[i] = input != NULL ? lh_gradient_retain(input->gradient) : NULL;
        if (node->input[i] != NULL) lh_gradient_root(node->input[i])->uses += 1;
    }
    node->holds = record->holds;
    node->at_once = record->at_once;
    for (int i = 0; i < record->output_count; ++i) {
        node->output[i] = lh_gradient_retain(record->output[i]->gradient);
    }
    for (int i = 0; i < record->saved_count; ++i) {
        node->saved[i] = lh_tensor_retain(record->saved[i]);
    }
    node->previous = tape->last;
    tape->last = node;
    return LH_OK;
}

lh_node *lh_tape_last(const lh_tape *tape) {
    return tape->last;
}

bool lh_tape_set_recording(lh_tape *tape, bool recording) {
    const bool former = tape->recording;
    tape->recording = recording;
    return former;
}

/* ---- backward ---- */

static bool has_gradient(const lh_node *node) {
    for (int i = 0; i < node->output_count; ++i) {
        if (lh_gradient_is_present(node->output[i])) return true;
    }
    return false;
}

/* Puts slots of their own in place of inputs that overlap an earlier one; those go to `shared`. */
static lh_status part_inputs(lh_node *node, lh_gradient **shared) {
    for (int i = 0; i < node->input_count; ++i) {
        bool overlaps = false;
        for (int k = 0; k < i && !overlaps; ++k)
            overlaps = lh_gradient_overlaps(node->input[i], node->input[k]);
        if (!overlaps) continue;
        lh_gradient *own = lh_gradient_create_apart(node->input[i]);
        if (own == NULL) return LH_EMEMORY;
        shared[i] = node->input[i];
        node->input[i] = own;
    }
    return LH_OK;
}

/* Puts the inputs back and, of a backward that went well, adds to them what flowed. */
static lh_status join_inputs(lh_node *node, lh_gradient *const *shared, lh_status status) {
    for (int i = 0; i < node->input_count; ++i) {
        if (shared[i] == NULL) continue;
        lh_gradient *own = node->input[i];
        node->input[i] = shared[i];
        if (status == LH_OK && lh_gradient_is_present(own))
            status = lh_gradient_give(lh_gradient_root(shared[i]), lh_gradient_root(own)->value);
        lh_gradient_release(own);
    }
    return status;
}

static lh_status differentiate(lh_tape *tape, lh_node *node) {
    if (!node->at_once) return node->backward(tape, node);
    lh_gradient *shared[LH_RECORD_TENSORS] = {NULL};
    lh_status status = part_inputs(node, shared);
    if (status == LH_OK) status = node->backward(tape, node);
    return join_inputs(node, shared, status);
}

static lh_status node_run(lh_tape *tape, lh_node *node) {
    if (!has_gradient(node)) return LH_OK;
    const lh_scope scope = lh_scope_open(tape);
    const lh_status status = differentiate(tape, node);
    lh_scope_close(tape, scope, NULL);
    if (status != LH_OK) lh_note("backward of %s", node->op);
    for (int i = 0; i < node->output_count; ++i)
        lh_gradient_clear(node->output[i]);
    return status;
}

/* One place fewer that may contribute. */
static lh_status leave(lh_tape *tape, lh_gradient *root) {
    root->uses -= 1;
    if (root->uses != 0 || !root->persistent || tape->watcher == NULL) return LH_OK;
    LH_TRY(lh_gradient_settle(root));
    return tape->watcher(tape->watcher_context, root->value);
}

/* The node will contribute no more. */
static lh_status leave_inputs(lh_tape *tape, lh_node *node) {
    for (int i = 0; i < node->input_count; ++i) {
        if (node->input[i] != NULL) LH_TRY(leave(tape, lh_gradient_root(node->input[i])));
    }
    for (const lh_hold *hold = node->holds; hold != NULL; hold = hold->next)
        LH_TRY(leave(tape, hold->gradient));
    return tape->watcher != NULL ? tape->watcher(tape->watcher_context, NULL) : LH_OK;
}

lh_status lh_tape_run_back(lh_tape *tape, const lh_node *stop) {
    lh_status status = LH_OK;
    while (tape->last != stop) {
        lh_node *node = tape->last;
        tape->last = node->previous;
        if (status == LH_OK) status = node_run(tape, node);
        if (status == LH_OK) status = leave_inputs(tape, node);
        node_clear(node);
    }
    return status;
}

lh_status lh_tape_backward_from(lh_tape *tape, lh_tensor *output, const lh_tensor *cotangent) {
    if (output == NULL) return lh_failed();
    if (output->gradient == NULL) {
        return lh_fail(LH_ESTATE, "backward: nothing was recorded for this tensor");
    }
    if (!lh_tensor_same_shape(output, cotangent)) {
        return lh_fail(LH_ESHAPE, "backward: output %s, cotangent %s", lh_shape_text(output),
                       lh_shape_text(cotangent));
    }
    lh_tensor *own = lh_tensor_detached(cotangent);
    if (own == NULL) return LH_EMEMORY;
    const lh_status before = lh_error_get()->status;
    const bool recording = lh_tape_set_recording(tape, false);
    tape->in_backward = true;
    lh_status status = lh_gradient_give(output->gradient, own);
    if (status == LH_OK) status = lh_tape_run_back(tape, NULL);
    lh_tensor_release(own); /* held so long, the caller's memory is nobody's own to write to */
    forget_decisions(tape);
    tape->in_backward = false;
    lh_tape_set_recording(tape, recording);
    return lh_error_since(before, status);
}

lh_status lh_tape_backward(lh_tape *tape, lh_tensor *loss) {
    if (loss == NULL) return lh_failed();
    if (lh_tensor_count(loss) != 1) {
        return lh_fail(LH_ESHAPE, "backward: a loss has one element, not %s", lh_shape_text(loss));
    }
    const lh_scope scope = lh_scope_open(tape);
    lh_tensor *one = lh_tape_new_like(tape, loss);
    if (one == NULL) return lh_failed();
    const real value = 1;
    lh_status status = lh_tensor_write(one, &value, 1);
    if (status == LH_OK) status = lh_tape_backward_from(tape, loss, one);
    lh_scope_close(tape, scope, NULL);
    return status;
}
