-- new: skeletons of a model, a kernel, a task and an experiment, ready to be filled in.
local command = require "longhaul.command"
local core = require "longhaul.core"

local experiment = [==[
-- NAME: what this experiment asks, in one sentence.
local lh = require "longhaul"

local bench = lh.experiment "NAME"
local books = lh.data.text { "books", tokens = "bytes" }
local task = lh.tasks.language_model { books, segment = 512, batch = 8 }
local train = lh.train { steps = lh.by_scale { smoke = 10, small = 1000 }, warmup = 100 }
local slide = lh.models.slide { layers = 4, width = 128, heads = 4, window = 64 }
local brt = lh.models.brt { layers = 4, width = 128, heads = 4, window = 64 }

bench:row { "slide", model = slide, task = task, train = train, seeds = 2 }
bench:row { "brt", model = brt, task = task, train = train, seeds = 2 }

bench:table { columns = { "bits_per_byte", "relative_step_time" }, baseline = "slide" }
bench:plot { "pareto", x = "step_time_ms", y = "bits_per_byte" }
return bench
]==]

local model = [==[
/* NAME: one sentence, and the paper with its equations. */
#include "harness/engine/model.h"

/* What options set, and what declare keeps for forward. */
typedef struct NAME_model {
    int64_t width;
    int embedding, gain;
} NAME_model;

static const lh_option NAME_options[] = {
    LH_INTEGER("width", NAME_model, width, 128, 1, 65536, "embedding size"),
    {0},
};

static const lh_option_table NAME_tables[] = {{NAME_options, 0}, {0}};

static lh_status NAME_declare(void *instance, const lh_model_setup *setup, lh_declare *declare) {
    NAME_model *m = instance;
    const int64_t embedding[] = {setup->vocabulary, m->width};
    const lh_init normal = {.kind = LH_INIT_NORMAL, .mean = 0.0, .deviation = 1.0};
    const lh_init one = {.kind = LH_INIT_CONSTANT, .mean = 1.0};
    m->embedding = lh_declare_param(declare, normal, 2, embedding, "embedding.weight");
    lh_declare_embedding(declare);
    m->gain = lh_declare_param(declare, one, 1, &m->width, "norm.gain");
    return LH_OK;
}

/* hidden[r][t] = rms_norm(embedding[token[r][t]]): replace this by the architecture. */
static lh_status NAME_forward(const void *instance, lh_pass *pass, lh_output *out) {
    const NAME_model *m = instance;
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *weight = lh_pass_param(pass, m->embedding);
    lh_tensor *x = lh_gather(tape, weight, lh_pass_batch(pass)->tokens);
    out->hidden = lh_rms_norm(tape, x, lh_pass_param(pass, m->gain), 1e-6);
    out->head_weight = weight;
    out->logit_scale = 1.0 / (double)m->width;
    return out->hidden != NULL ? LH_OK : lh_error_get()->status;
}

static double NAME_flops_per_token(const void *instance, int64_t length) {
    (void)instance;
    (void)length;
    return 0.0; /* matrix products and attention; the harness adds the head */
}

const lh_model_class lh_model_NAME = {
    .name = "NAME",
    .summary = "one line",
    .paper = "Author et al. year, arXiv:number",
    .version = 1,
    .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS,
    .options = NAME_tables,
    .instance_size = sizeof(NAME_model),
    .declare = NAME_declare,
    .forward = NAME_forward,
    .flops_per_token = NAME_flops_per_token,
};
]==]

-- What makes a shared object of a model.
local plugin = model:gsub("const lh_model_class lh_model_NAME", "static const lh_model_class NAME_class") .. [==[

static const lh_model_class *const classes[] = {&NAME_class, NULL};

static const lh_plugin plugin = {
    .magic = LH_PLUGIN_MAGIC,
    .abi_major = LH_MODEL_ABI_MAJOR,
    .abi_minor = LH_MODEL_ABI_MINOR,
    .class_size = sizeof(lh_model_class),
    .classes = classes,
};

const lh_plugin *lh_plugin_get(void);
const lh_plugin *lh_plugin_get(void) {
    return &plugin;
}
]==]

local kernel = [==[
#include "kernels/cpu/kernels_cpu.h"

/* out[i] = x[i]: replace this by the operation. The rest of a kernel: its argument structure
 * lh_NAME_args in kernels/kernels.h, its line LH_KERNEL(NAME) in kernels/kernels.def, and a case
 * in tests/kernels with a plain reference in double. */
lh_status LH_CPU(NAME)(const lh_launch *launch, const lh_NAME_args *args) {
    (void)launch;
    for (int64_t i = 0; i < args->count; ++i)
        args->out[i] = args->x[i];
    return LH_OK;
}
]==]

local task = [==[
/* NAME: what is predicted from what, and how it is scored. Enter lh_NAME_class in the table of
 * harness/train/task.c. */
#include "harness/train/NAME.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct NAME_task {
    int64_t rows, length, position, left;
    int32_t *tokens, *target, *starts;
} NAME_task;

static const lh_option NAME_options[] = {
    LH_INTEGER("batch", NAME_task, rows, 8, 1, 65536, "rows of a training batch"),
    LH_INTEGER("length", NAME_task, length, 64, 1, 1048576, "tokens of a row"),
    {0},
};

static const lh_option_table NAME_tables[] = {{NAME_options, 0}, {0}};

static lh_status NAME_open(void *instance, uint64_t seed, lh_model_setup *setup) {
    NAME_task *t = instance;
    (void)seed;
    setup->vocabulary = 2;
    const size_t count = (size_t)(t->rows * t->length);
    t->tokens = lh_allocate_zeroed(count, sizeof *t->tokens);
    t->target = lh_allocate_zeroed(count, sizeof *t->target);
    t->starts = lh_allocate_zeroed((size_t)t->rows, sizeof *t->starts);
    return t->tokens && t->target && t->starts ? LH_OK : LH_EMEMORY;
}

static void NAME_close(void *instance) {
    NAME_task *t = instance;
    free(t->tokens);
    free(t->target);
    free(t->starts);
}

static void NAME_shape(const void *instance, int64_t *rows, int64_t *length) {
    const NAME_task *t = instance;
    *rows = t->rows;
    *length = t->length;
}

/* Alternating tokens, each predicting the next: replace this by the task. */
static void fill(NAME_task *t, lh_host_batch *out) {
    for (int64_t i = 0; i < t->rows * t->length; ++i) {
        t->tokens[i] = (int32_t)(i % 2);
        t->target[i] = (int32_t)((i + 1) % 2);
    }
    for (int64_t r = 0; r < t->rows; ++r)
        t->starts[r] = 1;
    *out = (lh_host_batch){.rows = t->rows,
                           .length = t->length,
                           .tokens = t->tokens,
                           .target = t->target,
                           .starts = t->starts};
}

static lh_status NAME_train_batch(void *instance, lh_host_batch *out) {
    NAME_task *t = instance;
    fill(t, out);
    t->position += 1;
    return LH_OK;
}

static lh_status NAME_evaluate_begin(void *instance, lh_split split) {
    NAME_task *t = instance;
    (void)split;
    t->left = 4;
    return LH_OK;
}

static lh_status NAME_evaluate_batch(void *instance, lh_host_batch *out) {
    NAME_task *t = instance;
    *out = (lh_host_batch){0};
    if (t->left-- > 0) fill(t, out);
    return LH_OK;
}

static int NAME_cursor_get(const void *instance, int64_t *words) {
    words[0] = ((const NAME_task *)instance)->position;
    return 1;
}

static lh_status NAME_cursor_set(void *instance, const int64_t *words, int count) {
    if (count != 1) return lh_fail(LH_EFORMAT, "NAME: the position has %d numbers, not 1", count);
    ((NAME_task *)instance)->position = words[0];
    return LH_OK;
}

static void NAME_describe(const void *instance, char *data, size_t capacity, uint64_t *digest) {
    (void)instance;
    (void)snprintf(data, capacity, "NAME (generated)");
    *digest = 1;
}

const lh_task_class lh_NAME_class = {
    .name = "NAME",
    .summary = "one line",
    .options = NAME_tables,
    .instance_size = sizeof(NAME_task),
    .open = NAME_open,
    .close = NAME_close,
    .shape = NAME_shape,
    .train_batch = NAME_train_batch,
    .evaluate_begin = NAME_evaluate_begin,
    .evaluate_batch = NAME_evaluate_batch,
    .cursor_get = NAME_cursor_get,
    .cursor_set = NAME_cursor_set,
    .describe = NAME_describe,
};
]==]

local task_header = [==[
/* NAME: one sentence. */
#ifndef LH_TRAIN_UPPER_H
#define LH_TRAIN_UPPER_H

#include "harness/train/task.h"

/* For the table in task.c. */
extern const lh_task_class lh_NAME_class;

#endif
]==]

-- What is written where, and what comes next.
local kinds = {
  experiment = { { { "experiments/examples/%s.lua", experiment } },
    "longhaul run experiments/examples/NAME.lua --scale smoke" },
  model = { { { "models/%s.c", model } },
    "declare it in models/models.h, enter it in models/table.c, make" },
  plugin = { { { "%s.c", plugin } },
    "cc -shared -fPIC -I PREFIX/include/longhaul NAME.c -o NAME.so; LONGHAUL_PLUGINS=. longhaul describe NAME" },
  kernel = { { { "kernels/cpu/%s.c", kernel } },
    "declare it in kernels/kernels.h and kernels.def, add its test case" },
  task = { { { "harness/train/%s.c", task }, { "harness/train/%s.h", task_header } },
    "enter lh_NAME_class in harness/train/task.c, make" },
}

local function create(_, rest)
  local kind, name = rest[1], rest[2]
  if not kinds[kind or ""] or not name then
    command.misuse("new takes model, plugin, kernel, task or experiment, and a NAME; `longhaul new --help`")
  end
  if not name:match("^%l[%l%d_-]*$") or (kind ~= "experiment" and name:find("-", 1, true)) then
    command.misuse(("'%s': a name is lower-case letters, digits and '_'"):format(name))
  end
  local files = kinds[kind][1]
  for _, file in ipairs(files) do
    if core.exists(file[1]:format(name)) then
      error(file[1]:format(name) .. " is there already", 0)
    end
  end
  for _, file in ipairs(files) do
    local path = file[1]:format(name)
    core.make_folder(path:match("^(.*)/") or ".")
    core.write_file(path, (file[2]:gsub("NAME", name):gsub("UPPER", name:upper())))
    print(path)
  end
  print("next: " .. kinds[kind][2]:gsub("NAME", name))
end

return {
  {
    name = "new", summary = "begin a model, plug-in, kernel, task or experiment from a skeleton",
      run = create,
    most = 2, usage = "new model|plugin|kernel|task|experiment NAME", options = {},
    description = "Writes a skeleton into its place under the current folder, never over a file.",
  },
}
