/* The plug-in interface of models. A model fills one lh_model_class; the harness never knows more.
 *
 * The host owns options, parameters, carried state and the loss; the model declares what it needs
 * and computes hidden states. In-tree models stand in models/models.def; a shared object outside
 * exports `const lh_plugin *lh_plugin_get(void)` and is found on $LONGHAUL_PLUGINS: plugin.h has
 * them all by name. How a model runs, with what it carries, is in state.h. */
#ifndef LH_ENGINE_MODEL_H
#define LH_ENGINE_MODEL_H

#include "harness/engine/options.h"
#include "harness/engine/params.h"
#include "harness/engine/tape.h"

/* Major: a change that breaks plug-ins. Minor: fields appended. */
#define LH_MODEL_ABI_MAJOR 5
#define LH_MODEL_ABI_MINOR 1

/* What the task tells the model before parameters are declared. */
typedef struct lh_model_setup {
    int64_t vocabulary;      /* rows of the token embedding; 0: the input is vectors */
    int64_t input_features;  /* width of input vectors */
    int64_t output_features; /* width of target vectors: of predictions or, where the targets are a
                                yes or no for each entry, the vocabulary */
    int64_t classes;         /* > 0: targets are below it, and not over the vocabulary */
    /* > 0: every batch has a source of tokens, and this many rows are in the source's embedding. */
    int64_t source_vocabulary;
    int64_t source_length; /* of the longest source */
    /* Forecasting. Of the input's features the last `time_features` are known of every step; the
     * others are zero in the last pred_len steps of a segment, whose values are predicted. */
    int64_t time_features;
    int64_t seq_len, label_len; /* steps observed; of them those that a decoder begins with */
    int64_t pred_len;           /* 0: all steps behind the observed ones */
    int64_t stride; /* steps that a batch row moves on from segment to segment; 0: without order */
    bool generates; /* segments are what was just read or drawn: a model that can keeps a cache */
    bool many_lengths;   /* segments are not all as long as those of training */
    int64_t past_length; /* > 0: batches tell so many tokens before each segment of a document */
} lh_model_setup;

/* What a model with a cache sees at once. */
typedef struct lh_window {
    int64_t tokens, overlap; /* the next window begins with the last `overlap` of them */
} lh_window;

/* One training or evaluation step's input. Optional tensors are NULL. */
typedef struct lh_batch {
    int64_t rows, length;
    /* i32 [rows][length], or real [rows][length][features], where a vector stands for a token: how
     * much of each of the embedding's first rows it is (lh_gather). */
    lh_tensor *tokens;
    lh_tensor *vectors;        /* real [rows][length][input_features] */
    lh_tensor *source_tokens;  /* i32  [rows][source_length], or like tokens: encoder input */
    lh_tensor *target;         /* i32  [rows][length] */
    lh_tensor *target_vectors; /* real [rows][target_length][output_features] */
    lh_tensor *weights;        /* real, in the targets' shape: 0 where nothing is predicted */
    lh_tensor *starts;         /* i32  [rows]: 1 where a document begins with this segment */
    int64_t position; /* tokens of the model's window that its cache holds already, in generation */
    lh_tensor *source_count; /* i32 [rows]: tokens of each source, before its padding */
    lh_tensor *encoded; /* what the encoder gave for these sources before: it need not run again */
    int64_t observed;   /* vectors that a window begins with, where they are not setup->seq_len */
} lh_batch;

typedef enum lh_state_kind {
    LH_STATE_REPLACE, /* the model hands over the next value each step */
    LH_STATE_RING     /* the model hands over rows to append; comes with an i32 count */
} lh_state_kind;

/* Carried state of one batch row. */
typedef struct lh_state_spec {
    char name[64];
    lh_state_kind kind;
    int rank;
    int64_t shape[LH_MAX_RANK - 1]; /* without the batch axis; a ring is [capacity][width] */
} lh_state_spec;

typedef struct lh_pass lh_pass;

enum { LH_CLUSTERS = 8 };

/* The words of a cluster of their own width: logits = hidden projection^T weight^T + bias. */
typedef struct lh_cluster {
    lh_tensor *weight;     /* [words][narrow] */
    lh_tensor *bias;       /* [words] */
    lh_tensor *projection; /* [narrow][width] */
} lh_cluster;

/* What forward gives: hidden states and how they become predictions. */
typedef struct lh_output {
    lh_tensor *hidden;      /* [rows][length][width], or predictions when head_weight is NULL */
    lh_tensor *head_weight; /* [vocabulary][width] */
    lh_tensor *head_bias;   /* optional [vocabulary] */
    double logit_scale;     /* logits = logit_scale * (hidden head_weight^T + head_bias) */
    /* Adaptive softmax (Grave et al. 2017): the entries from cutoff[i] to cutoff[i + 1] are cluster
     * i, predicted as one entry of the head and then within it. 0 clusters: a plain softmax. */
    int clusters;
    const int64_t *cutoff;     /* [clusters], ascending; borrowed */
    lh_tensor *cluster_weight; /* [clusters][width]: cluster i is column clusters - 1 - i */
    lh_tensor *cluster_bias;   /* [clusters] */
    lh_tensor *encoded;        /* of a model with an encoder: what it gave */
    /* [], optional, in training alone: a mean over the batch's rows that is minimised beside the
     * task's loss, which is reported without it. */
    lh_tensor *auxiliary_loss;
    /* Optional [narrow][width], of an adaptive softmax whose clusters have words of their own width
     * (Baevski and Auli 2019): head_weight [cutoff[0]][narrow], head_bias [cutoff[0]] and
     * cluster_weight [clusters][narrow] are for hidden head_projection^T, and cluster i is
     * cluster[i]. */
    lh_tensor *head_projection;
    lh_cluster cluster[LH_CLUSTERS];
} lh_output;

enum {
    LH_ABLE_CAUSAL = 1,         /* a future token changes no earlier output, bit for bit */
    LH_ABLE_CAUSAL_BY_MASK = 2, /* only up to which keys selection lets through */
    LH_ABLE_TOKENS = 4,
    LH_ABLE_VECTORS = 8, /* reads vectors, predicts vectors */
    LH_ABLE_STATE = 16,  /* carries state: a segment split changes nothing */
    LH_ABLE_SEQUENCE_TO_SEQUENCE = 32,
    LH_ABLE_STATE_TRUNCATED =
        64, /* carried state, but a split changes what is seen (XL's window = segment) */
    LH_ABLE_CACHE = 128,    /* where setup->generates, segments go on at batch->position */
    LH_IS_SEQUENTIAL = 256, /* computes one token of a segment after the other */
    LH_ABLE_WINDOWS = 512,  /* of vectors reads windows alone: steps observed, steps to predict */
    LH_NEEDS_ONE_LENGTH = 1024, /* its options fix how long all segments are */
    LH_NEEDS_HORIZON = 2048     /* maps observed steps to setup->pred_len steps behind them */
};

typedef struct lh_declare lh_declare;

/* Who is told named scalars. */
typedef struct lh_report {
    void (*tell)(void *context, const char *name, double value);
    void *context;
} lh_report;

typedef struct lh_model_class {
    const char *name;
    const char *summary; /* one line */
    const char *paper;   /* "Hutchins et al. 2022, arXiv:2203.07852" */
    /* Optional: what weights from elsewhere must agree with: what norms add, the order of what lies
     * joined. One line. */
    const char *layout;
    int version; /* bumped when results change; a CSV column */
    uint32_t abilities;
    const lh_option_table *options; /* bound to places in the instance; the last one is {0} */
    size_t instance_size;
    /* Declares parameters and state. The instance is zeroed, but for its options, which have their
     * values and may be completed. No tensor exists yet. */
    lh_status (*declare)(void *instance, const lh_model_setup *setup, lh_declare *declare);
    /* One segment. Reads lh_pass_state, hands over lh_pass_carry. */
    lh_status (*forward)(const void *instance, lh_pass *pass, lh_output *out);
    /* Forward floating-point operations of matrix products and attention per token, for segments of
     * this length: visible query-key pairs only, the output head included. */
    double (*flops_per_token)(const void *instance, int64_t length);
    /* Optional: checks that need the segment length ("window 64 does not divide segment 500"). */
    lh_status (*check)(const void *instance, int64_t length);
    /* Optional: releases what declare allocated inside the instance. */
    void (*destroy)(void *instance);
    /* Optional: named scalars for figures (gate values ...). Tells `report` each. */
    lh_status (*probe)(const void *instance, const lh_params *params, const lh_report *report);
    /* Optional: what published weight files call the parameters (engine/params.h). */
    const lh_tensor_name *published_names;
    /* With LH_ABLE_CACHE, after declare where setup->generates. */
    lh_window (*window)(const void *instance);
    /* Optional: options that the class got when runs of this version had been recorded, ended by
     * NULL (lh_options_is_unsaid). */
    const char *const *later_options;
    /* Optional: options of other models that this one cannot have; the last one is {0}. */
    const lh_refused *refused;
    /* Optional: whether LH_ABLE_STATE holds with these options; NULL: with all. Since ABI 5.1. */
    bool (*splits)(const void *instance);
} lh_model_class;

/* ---- for declare() ---- */

/* Indices for lh_pass_param / lh_pass_state; -1 after a failure, which sticks. */
int lh_declare_param(lh_declare *declare, lh_init init, int rank, const int64_t *shape,
                     const char *name, ...) LH_PRINTF(5, 6);
/* The parameter just declared is an embedding table / takes no weight decay. */
void lh_declare_embedding(lh_declare *declare);
void lh_declare_undecayed(lh_declare *declare);
/* The vector just declared is a matrix of so many rows in published files (LH_IN_ROWS). */
void lh_declare_rows(lh_declare *declare, int64_t rows);
/* The parameter just declared is a statistic, such as a running mean: it lies with the weights, but
 * the model sets it itself, in training (lh_pass_set_statistic). */
void lh_declare_statistic(lh_declare *declare);
/* The parameter just declared begins with these values; they live in the model's instance. */
void lh_declare_initial(lh_declare *declare, const double *values);
/* Parameters declared from here on, to the next of these calls, make a group that one region of
 * forward uses, which says so by lh_tape_need: such groups may rest in host memory (swap.h). */
void lh_declare_group(lh_declare *declare);
void lh_declare_no_group(lh_declare *declare);
/* State starts as zeros, and is zeroed for a batch row where a document begins (before forward). */
int lh_declare_state(lh_declare *declare, lh_state_kind kind, int rank, const int64_t *shape,
                     const char *name, ...) LH_PRINTF(5, 6);

/* ---- for forward() ---- */

lh_tape *lh_pass_tape(const lh_pass *pass);
const lh_batch *lh_pass_batch(const lh_pass *pass);
bool lh_pass_is_training(const lh_pass *pass);
/* The parameter that was declared as number `index`; its gradient is collected. A statistic is a
 * constant. */
lh_tensor *lh_pass_param(const lh_pass *pass, int index);
/* All parameters by index, on the tape, for regions that run again when the pass is gone. NULL
 * after LH_EMEMORY. */
lh_tensor *const *lh_pass_params(const lh_pass *pass);
/* Hands over the next value of a statistic (detached), made from the rows of this pass. It takes
 * effect after backward, where ranks average theirs. */
lh_status lh_pass_set_statistic(lh_pass *pass, int index, lh_tensor *value);
/* Constant tensor [rows][shape...]; rows that begin a document are zero (a ring's count is 0). */
lh_tensor *lh_pass_state(const lh_pass *pass, int index);
/* i32 [rows] of a ring. */
lh_tensor *lh_pass_ring_count(const lh_pass *pass, int index);
/* Hands over the next value (detached; REPLACE: [rows][shape...], slices allowed; RING:
 * [rows][length][width] to append). It takes effect after backward. */
lh_status lh_pass_carry(lh_pass *pass, int index, lh_tensor *value);

/* ---- models, for the host ---- */

typedef struct lh_model lh_model;

/* What stands between a task and a model that was not made for it (harness/train/adapter.h makes
 * them). All zeros: nothing does. */
typedef struct lh_adapter {
    uint32_t ways;                  /* which; 0: none */
    lh_model_setup inner;           /* what the model is told in place of the task's setup */
    int64_t width;                  /* > 0: tokens become vectors of this width */
    int embedding, head, head_bias; /* the adapter's own parameters */
    /* Declares its parameters, behind those of the model. */
    void (*declare)(struct lh_adapter *adapter, const lh_model_setup *setup, lh_declare *declare);
    /* One segment: calls lh_pass_run with the batch as the model reads it. */
    lh_status (*forward)(const lh_model *model, lh_pass *pass, lh_output *out);
    /* Forward FLOPs of a token of the task, all told. */
    double (*flops_per_token)(const lh_model *model, int64_t length);
} lh_adapter;

/* A class with options set, parameters and state declared. */
struct lh_model {
    const lh_model_class *class;
    lh_options *options; /* owns the texts and lists in the instance */
    void *instance;
    lh_params *params;
    lh_state_spec *states;
    int state_count;
    lh_model_setup setup; /* the task's */
    lh_adapter adapter;
};

/* Copies the options. Gives; destroy it. Allocates no tensor: call lh_params_allocate and
 * lh_params_initialize on ->params before forward. */
lh_status lh_model_create(const lh_model_class *class, const lh_options *options,
                          const lh_model_setup *setup, lh_model **out);
/* The same behind an adapter, which is copied. */
lh_status lh_model_create_adapted(const lh_model_class *class, const lh_options *options,
                                  const lh_model_setup *setup, const lh_adapter *adapter,
                                  lh_model **out);
void lh_model_destroy(lh_model *model);

/* Forward FLOPs per token, the head included; a training step costs three times as many. */
double lh_model_flops_per_token(const lh_model *model, int64_t length);
/* Whether it carries a state by which a split into segments changes nothing. */
bool lh_model_splits(const lh_model *model);

/* ---- plug-ins ---- */

#define LH_PLUGIN_MAGIC 0x4c48504cu

/* Classes of one kind. A shared object exports a function that gives them, of each kind that it
 * has: `const lh_plugin *lh_plugin_get(void)` for models, lh_plugin_get_tasks
 * (harness/train/task.h), lh_plugin_get_corpora (datasets/text/corpus_class.h). */
typedef struct lh_plugin {
    uint32_t magic;
    int abi_major, abi_minor; /* of the kind */
    size_t class_size;        /* sizeof(lh_model_class) and so on, of the plug-in's build */
    union {                   /* NULL-terminated */
        const lh_model_class *const *classes;
        const struct lh_task_class *const *tasks;
        const struct lh_corpus_class *const *corpora;
    };
} lh_plugin;

#endif
