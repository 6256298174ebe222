/* Checkpoints and weight files of a session, whose rows may be shared by several ranks. */
#include "harness/train/session_file.h"

#include "harness/engine/text.h"
#include "harness/train/session_inside.h"
#include "harness/train/train_step.h"

#include <stdlib.h>
#include <string.h>

/* The parts of a run in the order of the file, or NULL: parameters, moments, then this rank's rows
 * of what is carried. A state that is no ring has no count. */
static lh_snapshot_part *list_parts(const lh_session *session, int *count) {
    const int moments = lh_optimizer_moment_count(session->optimizer);
    const int states = lh_state_count(session->state);
    lh_snapshot_part *list = lh_allocate_zeroed((size_t)(1 + moments + states), sizeof *list);
    if (list == NULL) return NULL;
    *count = 0;
    list[(*count)++].tensor = lh_params_values(session->model->params);
    for (int i = 0; i < moments; ++i)
        list[(*count)++].tensor = lh_optimizer_moment(session->optimizer, i);
    for (int i = 0; i < states; ++i) {
        lh_tensor *tensor = lh_state_tensor(session->state, i);
        if (tensor != NULL)
            list[(*count)++] = (lh_snapshot_part){.tensor = tensor, .rows = session->share};
    }
    return list;
}

static void free_parts(lh_snapshot_part *list, int count) {
    for (int i = 0; list != NULL && i < count; ++i)
        free(list[i].whole);
    free(list);
}

/* Puts the rows of all ranks together. */
static lh_status gather(lh_communicator *ranks, lh_snapshot_part *part) {
    if (ranks == NULL || part->rows.all == 0) return LH_OK;
    const size_t bytes = lh_snapshot_part_bytes(part);
    part->whole = lh_allocate_zeroed(bytes + 1, 1);
    if (part->whole == NULL) return LH_EMEMORY;
    LH_TRY(lh_tensor_read(part->tensor, (char *)part->whole + lh_snapshot_part_offset(part),
                          lh_tensor_count(part->tensor)));
    return ranks->merge(ranks, part->whole, bytes);
}

/* Rank 0 writes; the others learn whether it could. */
static lh_status write_first(lh_communicator *ranks, const lh_snapshot *snapshot,
                             const char *path) {
    const lh_status status = lh_ranks_is_first(ranks) ? lh_snapshot_write(snapshot, path) : LH_OK;
    bool failed = status != LH_OK;
    LH_TRY(lh_ranks_any(ranks, &failed));
    if (status != LH_OK || !failed) return status;
    return lh_fail(LH_EIO, "%s: rank 0 could not write the checkpoint", path);
}

lh_status lh_session_save(lh_session *session, const char *path) {
    const lh_task *task = session->task;
    LH_TRY(lh_train_flush(session));
    session->record.peak_memory_bytes = lh_session_peak_memory(session);
    lh_snapshot snapshot = {.identity = session->identity, .record = session->record};
    snapshot.cursor_count = task->class->cursor_get(task->instance, snapshot.cursor);
    snapshot.part = list_parts(session, &snapshot.part_count);
    lh_status status = snapshot.part != NULL ? LH_OK : LH_EMEMORY;
    for (int i = 0; status == LH_OK && i < snapshot.part_count; ++i)
        status = gather(session->ranks, &snapshot.part[i]);
    if (status == LH_OK) status = write_first(session->ranks, &snapshot, path);
    free_parts(snapshot.part, snapshot.part_count);
    return status;
}

lh_status lh_session_restore(lh_session *session, const char *path) {
    lh_snapshot snapshot = {.identity = session->identity, .task = session->task};
    snapshot.part = list_parts(session, &snapshot.part_count);
    if (snapshot.part == NULL) return LH_EMEMORY;
    const lh_status status = lh_snapshot_read(&snapshot, path);
    free_parts(snapshot.part, snapshot.part_count);
    LH_TRY(status);
    session->record = snapshot.record;
    if (session->record.peak_memory_bytes > session->earlier_peak)
        session->earlier_peak = session->record.peak_memory_bytes;
    session->pending = 0;
    return LH_OK;
}

lh_status lh_session_load_weights(lh_session *session, const char *path, bool partly) {
    return lh_params_load(session->model->params, path, session->model->class->published_names,
                          session->model->options, partly);
}

enum { ABOUT = 8 };

/* What `eval`, `generate` and `forward` need beside the tensors; `format` is what others look for.
 * texts[] keeps what is to be freed. */
static lh_status describe(const lh_session *session, const char *vocabulary_digest,
                          lh_safetensors_text about[ABOUT], char *texts[3]) {
    const lh_task *task = session->task;
    LH_TRY(lh_options_spell(session->model->options, &texts[0]));
    LH_TRY(lh_options_spell(task->options, &texts[1]));
    texts[2] = lh_format("%lld", (long long)session->model->setup.vocabulary);
    if (texts[2] == NULL) return LH_EMEMORY;
    const lh_safetensors_text list[ABOUT] = {{"format", "pt"},
                                             {"longhaul.model", session->model->class->name},
                                             {"longhaul.model_options", texts[0]},
                                             {"longhaul.task", task->class->name},
                                             {"longhaul.task_options", texts[1]},
                                             {"longhaul.vocabulary", texts[2]},
                                             {NULL, NULL},
                                             {NULL, NULL}};
    memcpy(about, list, sizeof list);
    if (vocabulary_digest != NULL)
        about[ABOUT - 2] = (lh_safetensors_text){"longhaul.vocabulary_digest", vocabulary_digest};
    return LH_OK;
}

lh_status lh_session_save_weights(lh_session *session, const char *path, bool published,
                                  const char *vocabulary_digest) {
    const lh_tensor_name *names = session->model->class->published_names;
    if (published && names == NULL)
        return lh_fail(LH_EOPTION, "%s has no published names of its tensors",
                       session->model->class->name);
    lh_safetensors_text about[ABOUT];
    char *texts[3] = {NULL, NULL, NULL};
    lh_status status = describe(session, vocabulary_digest, about, texts);
    if (status == LH_OK)
        status = lh_params_save(session->model->params, path, published ? names : NULL, about);
    for (int i = 0; i < 3; ++i)
        free(texts[i]);
    return status;
}
