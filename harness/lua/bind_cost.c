/* What a training step would cost on a GPU, counted and not run. */
#include <stddef.h>

#include "harness/bench/sizes_task.h"
#include "harness/bench/step_cost.h"
#include "harness/lua/bind.h"

static void push_call(lua_State *lua, const lh_ledger_call *call) {
    static const char *const classes[LH_COST_CLASSES] = {
        [LH_COST_STREAM] = "stream",
        [LH_COST_PRODUCT] = "product",
        [LH_COST_TILE] = "tile",
        [LH_COST_STRIPE] = "stripe",
        [LH_COST_FORWARD] = "forward",
        [LH_COST_BACKWARD] = "backward",
        [LH_COST_FORWARD_BIASED] = "forward_biased",
        [LH_COST_BACKWARD_BIASED] = "backward_biased",
        [LH_COST_REFERENCE] = "reference",
        [LH_COST_REGISTERS] = "registers"};
    static const char *const precisions[] = {
        [LH_PRECISION_F32] = "f32", [LH_PRECISION_TF32] = "tf32", [LH_PRECISION_BF16] = "bf16"};
    static const struct {
        const char *name;
        size_t offset;
    } amounts[] = {{"products", offsetof(lh_cost, products)},
                   {"flops", offsetof(lh_cost, flops)},
                   {"read", offsetof(lh_cost, read)},
                   {"written", offsetof(lh_cost, written)},
                   {"serial", offsetof(lh_cost, serial)}};
    lua_createtable(lua, 0, 9);
    lh_lua_set_text(lua, "kernel", lh_kernel_name(call->kernel));
    lh_lua_set_text(lua, "class", classes[call->cost.kind]);
    lh_lua_set_text(lua, "precision", precisions[call->cost.precision]);
    lh_lua_set_integer(lua, "launches", call->cost.launches);
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; ++i) {
        const char *at = (const char *)&call->cost + amounts[i].offset;
        lh_lua_set_number(lua, amounts[i].name, *(const double *)(const void *)at);
    }
}

static int push_cost(lua_State *lua) {
    const lh_step_cost *cost = lua_touserdata(lua, 1);
    lua_newtable(lua);
    lh_lua_set_integer(lua, "tokens", cost->tokens);
    lh_lua_set_number(lua, "model_flops", cost->model_flops);
    lh_lua_set_integer(lua, "peak_bytes", cost->peak_bytes);
    lua_createtable(lua, (int)cost->ledger.count, 0);
    for (int64_t i = 0; i < cost->ledger.count; ++i) {
        push_call(lua, &cost->ledger.call[i]);
        lua_seti(lua, -2, i + 1);
    }
    lua_setfield(lua, -2, "calls");
    return 1;
}

/* step_cost{model, task, train} -> {tokens, model_flops, peak_bytes, calls = {{kernel, class,
 * precision, launches, products, flops, read, written, serial} ...}}, as lh_cost has it. The three
 * are options; task may be sizes in place of them, as text: "vocabulary=N segment=N batch=N
 * source=N". */
static int step_cost(lua_State *lua) {
    luaL_checktype(lua, 1, LUA_TTABLE);
    const lh_lua_options *model = lh_lua_options_field(lua, 1, "model"),
                         *train = lh_lua_options_field(lua, 1, "train"), *task = NULL;
    const char *sizes = NULL;
    lua_getfield(lua, 1, "task");
    if (lua_type(lua, -1) == LUA_TSTRING)
        sizes = lua_tostring(lua, -1);
    else
        task = lh_lua_options_field(lua, 1, "task");
    lh_session_spec spec = {.model = model->model,
                            .model_options = model->values,
                            .task = task != NULL ? task->task : &lh_sizes_task,
                            .train_options = train->values,
                            .seed = 1};
    lh_options *own = NULL;
    lh_step_cost cost = {0};
    lh_status status = lh_options_create("sizes", lh_sizes_task.options, &own);
    if (status == LH_OK && sizes != NULL) status = lh_options_parse(own, sizes);
    spec.task_options = task != NULL ? task->values : own;
    if (status == LH_OK) status = lh_step_cost_count(&spec, &cost);
    const int pushed = status == LH_OK ? lh_lua_guard(lua, push_cost, &cost) : LUA_OK;
    lh_step_cost_clear(&cost);
    lh_options_destroy(own);
    lh_lua_check(lua, status);
    lh_lua_settle(lua, pushed);
    return 1;
}

const luaL_Reg lh_lua_cost[] = {{"step_cost", step_cost}, {NULL, NULL}};
