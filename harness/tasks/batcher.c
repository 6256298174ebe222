/* Rows that read documents segment by segment, and the cursor from which they go on. */
#include "harness/tasks/batcher.h"

#include "datasets/generate/episode.h"
#include "harness/train/batch.h"

#include <stdlib.h>
#include <string.h>

/* A row between documents has `document` -1. */
typedef struct row_position {
    int64_t document, offset;
} row_position;

struct lh_batcher {
    lh_batcher_spec spec;
    lh_order order; /* of documents */
    row_position *row;
    int32_t *tokens, *target, *starts, *past, *past_count;
    real *weights;
};

/* ---- documents ---- */

static lh_status get_document(const lh_batcher *batcher, int64_t index, lh_document *out) {
    return batcher->spec.source.get(batcher->spec.source.context, index, out);
}

/* First position that a segment at `offset` of its document predicts from. */
static int64_t first_predictor(const lh_batcher *batcher, int64_t offset) {
    const int64_t overlap = offset > 0 ? batcher->spec.overlap : 0;
    const int64_t given = batcher->spec.given - offset;
    return given > overlap ? given : overlap;
}

/* What position `at` of a document predicts; LH_UNLABELLED where it predicts nothing. */
static int32_t target_at(const lh_document *document, int64_t at) {
    if (document->labels != NULL)
        return at < document->count ? document->labels[at] : LH_UNLABELLED;
    return at + 1 < document->count ? document->tokens[at + 1] : LH_UNLABELLED;
}

/* Whether a segment at `offset` would predict anything, or has tokens without labels. */
static bool has_segment(const lh_batcher *batcher, const lh_document *document, int64_t offset) {
    const int64_t first = offset + first_predictor(batcher, offset);
    return first + (document->labels == NULL ? 1 : 0) < document->count;
}

/* Moves the row to the next document that is worth reading; -1 at the end of a pass. Twice the
 * number of documents is sure to show each of them, wherever in an epoch the stream stands. */
static lh_status advance_row(lh_batcher *batcher, row_position *row, lh_document *document) {
    const int64_t count = batcher->spec.source.count;
    for (int64_t tried = 0; tried <= 2 * (count > 0 ? count : 1); ++tried) {
        row->document = lh_order_next(&batcher->order);
        row->offset = 0;
        if (row->document < 0) return LH_OK;
        LH_TRY(get_document(batcher, row->document, document));
        if (has_segment(batcher, document, 0)) return LH_OK;
    }
    return lh_fail(LH_EFORMAT, "data: every document is shorter than two tokens");
}

/* ---- segments ---- */

static void write_unused_row(lh_batcher *batcher, int64_t r) {
    const size_t length = (size_t)batcher->spec.length;
    const size_t first = (size_t)r * length;
    memset(batcher->tokens + first, 0, length * sizeof *batcher->tokens);
    memset(batcher->target + first, 0, length * sizeof *batcher->target);
    for (size_t t = 0; t < length; ++t)
        batcher->weights[first + t] = LH_R(0);
    batcher->starts[r] = 1;
    batcher->past_count[r] = 0;
}

/* Writes the segment at `offset` and returns how many tokens it predicts. */
static int64_t write_segment(lh_batcher *batcher, int64_t r, const lh_document *document,
                             int64_t offset) {
    const int64_t length = batcher->spec.length;
    const int64_t first = r * length;
    const int64_t begin = first_predictor(batcher, offset);
    const int64_t last_predictor = batcher->spec.predict_across ? length - 1 : length - 2;
    int64_t predicted = 0;
    for (int64_t t = 0; t < length; ++t) {
        const int64_t at = offset + t;
        const int32_t target = target_at(document, at);
        const bool predicts = t >= begin && t <= last_predictor && target != LH_UNLABELLED;
        batcher->tokens[first + t] = at < document->count ? document->tokens[at] : 0;
        batcher->target[first + t] = predicts ? target : 0;
        batcher->weights[first + t] = predicts ? LH_R(1) : LH_R(0);
        predicted += predicts;
    }
    batcher->starts[r] = offset == 0;
    batcher->past_count[r] = lh_copy_past(document->tokens, offset, length, batcher->past + first);
    return predicted;
}

static lh_status fill_row(lh_batcher *batcher, int64_t r, lh_host_batch *out, bool *filled) {
    row_position *row = &batcher->row[r];
    lh_document document = {0};
    if (row->document >= 0) LH_TRY(get_document(batcher, row->document, &document));
    if (row->document < 0 || !has_segment(batcher, &document, row->offset))
        LH_TRY(advance_row(batcher, row, &document));
    *filled = row->document >= 0;
    if (!*filled) {
        write_unused_row(batcher, r);
        return LH_OK;
    }
    const int64_t predicted = write_segment(batcher, r, &document, row->offset);
    const double share = (double)predicted / (double)document.count;
    out->predicted_bytes += share * document.bytes;
    out->predicted_words += share * document.words;
    out->predicted_unspelled += share * document.unspelled;
    row->offset += batcher->spec.length - batcher->spec.overlap;
    return LH_OK;
}

lh_status lh_batcher_next(lh_batcher *batcher, lh_host_batch *out) {
    *out = (lh_host_batch){.length = batcher->spec.length,
                           .tokens = batcher->tokens,
                           .target = batcher->target,
                           .weights = batcher->weights,
                           .past = batcher->past,
                           .past_count = batcher->past_count,
                           .starts = batcher->starts};
    bool any = false;
    for (int64_t r = 0; r < batcher->spec.rows; ++r) {
        bool filled = false;
        LH_TRY(fill_row(batcher, r, out, &filled));
        any = any || filled;
    }
    out->rows = any ? batcher->spec.rows : 0;
    return LH_OK;
}

/* ---- life ---- */

static lh_status check_spec(const lh_batcher_spec *spec) {
    if (spec->rows < 1 || spec->length < 1)
        return lh_fail(LH_ESHAPE, "data: batch %lld and segment %lld must be at least 1",
                       (long long)spec->rows, (long long)spec->length);
    if (2 + 2 * spec->rows > LH_CURSOR_WORDS)
        return lh_fail(LH_ESHAPE, "data: batch %lld is above the limit of %d",
                       (long long)spec->rows, (LH_CURSOR_WORDS - 2) / 2);
    if (spec->overlap < 0 || spec->overlap >= spec->length)
        return lh_fail(LH_ESHAPE, "data: overlap %lld must be below the segment of %lld",
                       (long long)spec->overlap, (long long)spec->length);
    if (spec->overlap > 0 && !spec->predict_across)
        return lh_fail(LH_EOPTION, "data: overlapping segments need predict_across");
    if (!spec->predict_across && spec->length < 2)
        return lh_fail(LH_ESHAPE, "data: without predict_across a segment of 1 predicts nothing");
    if (spec->given < 0)
        return lh_fail(LH_ESHAPE, "data: %lld given tokens", (long long)spec->given);
    if (spec->source.count == LH_WITHOUT_END && !spec->endless)
        return lh_fail(LH_ESHAPE, "data: a pass over documents without end");
    if (spec->source.count < LH_WITHOUT_END || spec->source.count > INT32_MAX)
        return lh_fail(LH_ESHAPE, "data: %lld documents", (long long)spec->source.count);
    if (spec->endless && spec->source.count == 0)
        return lh_fail(LH_EFORMAT, "data: the training split has no documents");
    return LH_OK;
}

static lh_status create_buffers(lh_batcher *batcher) {
    const size_t rows = (size_t)batcher->spec.rows;
    const size_t positions = rows * (size_t)batcher->spec.length;
    batcher->row = lh_allocate_zeroed(rows, sizeof *batcher->row);
    batcher->tokens = lh_allocate_zeroed(positions, sizeof *batcher->tokens);
    batcher->target = lh_allocate_zeroed(positions, sizeof *batcher->target);
    batcher->weights = lh_allocate_zeroed(positions, sizeof *batcher->weights);
    batcher->starts = lh_allocate_zeroed(rows, sizeof *batcher->starts);
    batcher->past = lh_allocate_zeroed(positions, sizeof *batcher->past);
    batcher->past_count = lh_allocate_zeroed(rows, sizeof *batcher->past_count);
    const bool complete = batcher->row && batcher->tokens && batcher->target && batcher->weights &&
                          batcher->starts && batcher->past && batcher->past_count;
    if (!complete) return LH_EMEMORY;
    const lh_batcher_spec *spec = &batcher->spec;
    return lh_order_open(&batcher->order, spec->source.count, spec->endless, spec->seed);
}

/* To the first document of the first epoch. */
static void rewind_all(lh_batcher *batcher) {
    lh_order_seek(&batcher->order, 0, 0);
    for (int64_t r = 0; r < batcher->spec.rows; ++r)
        batcher->row[r] = (row_position){.document = -1, .offset = 0};
}

lh_status lh_batcher_create(const lh_batcher_spec *spec, lh_batcher **out) {
    *out = NULL;
    LH_TRY(check_spec(spec));
    lh_batcher *batcher = lh_allocate_zeroed(1, sizeof *batcher);
    if (batcher == NULL) return LH_EMEMORY;
    batcher->spec = *spec;
    const lh_status status = create_buffers(batcher);
    if (status != LH_OK) {
        lh_batcher_destroy(batcher);
        return status;
    }
    rewind_all(batcher);
    *out = batcher;
    return LH_OK;
}

void lh_batcher_destroy(lh_batcher *batcher) {
    if (batcher == NULL) return;
    lh_order_close(&batcher->order);
    free(batcher->row);
    free(batcher->tokens);
    free(batcher->target);
    free(batcher->weights);
    free(batcher->starts);
    free(batcher->past);
    free(batcher->past_count);
    free(batcher);
}

/* ---- cursor ---- */

static int cursor_words(const lh_batcher *batcher) {
    return (int)(2 + 2 * batcher->spec.rows);
}

int lh_batcher_cursor_get(const lh_batcher *batcher, int64_t *words) {
    words[0] = batcher->order.epoch;
    words[1] = batcher->order.taken;
    for (int64_t r = 0; r < batcher->spec.rows; ++r) {
        words[2 + 2 * r] = batcher->row[r].document;
        words[3 + 2 * r] = batcher->row[r].offset;
    }
    return cursor_words(batcher);
}

static bool cursor_is_valid(const lh_batcher *batcher, const int64_t *words) {
    const int64_t documents = batcher->spec.source.count;
    const bool ends = documents != LH_WITHOUT_END;
    bool valid = lh_order_has(&batcher->order, words[0], words[1]);
    for (int64_t r = 0; r < batcher->spec.rows; ++r) {
        const int64_t document = words[2 + 2 * r], offset = words[3 + 2 * r];
        valid = valid && document >= -1 && document < (ends ? documents : words[1]) &&
                lh_is_count(offset);
    }
    return valid;
}

lh_status lh_batcher_cursor_set(lh_batcher *batcher, const int64_t *words, int count) {
    if (count != cursor_words(batcher))
        return lh_fail(LH_EFORMAT, "data: a position of %d numbers, expected %d", count,
                       cursor_words(batcher));
    if (!cursor_is_valid(batcher, words))
        return lh_fail(LH_EFORMAT, "data: a position outside the %lld documents",
                       (long long)batcher->spec.source.count);
    lh_order_seek(&batcher->order, words[0], words[1]);
    for (int64_t r = 0; r < batcher->spec.rows; ++r)
        batcher->row[r] = (row_position){.document = words[2 + 2 * r], .offset = words[3 + 2 * r]};
    return LH_OK;
}
