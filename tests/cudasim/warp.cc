/* Exchanges within a warp: the lanes of a mask meet, and the last to come deals out the results. */
#include "tests/cudasim/simulator.h"

static int first_of_warp(void) {
    return running.current / WARP * WARP;
}

/* The lane that lane `self` reads; itself where CUDA says so. */
static int source_lane(const thread &t, int self) {
    const int first = self / t.width * t.width;
    switch (t.kind) {
    case CUDASIM_FROM_LANE:
        return first + (t.argument & (t.width - 1));
    case CUDASIM_FROM_BELOW:
        return self - t.argument < first ? self : self - t.argument;
    case CUDASIM_FROM_ABOVE:
        return self + t.argument >= first + t.width ? self : self + t.argument;
    case CUDASIM_FROM_XOR:
        return (self ^ t.argument) >= first + t.width ? self : self ^ t.argument;
    default:
        return self;
    }
}

/* Bit l: what lane l of the mask contributes to a vote of lane `self`. */
static uint64_t votes(const thread *lanes, int self) {
    uint64_t bits = 0;
    for (int l = 0; l < WARP; l++) {
        if (!(lanes[self].mask >> l & 1)) continue;
        const bool yes = lanes[self].kind == CUDASIM_BALLOT ? lanes[l].value != 0
                                                            : lanes[l].value == lanes[self].value;
        bits |= (uint64_t)yes << l;
    }
    return bits;
}

/* What a lane outside the mask would give is undefined: poison. */
static uint64_t outcome(const thread *lanes, int self) {
    if (lanes[self].kind == CUDASIM_BALLOT || lanes[self].kind == CUDASIM_MATCH)
        return votes(lanes, self);
    const int from = source_lane(lanes[self], self);
    return lanes[self].mask >> from & 1 ? lanes[from].value : UINT64_MAX;
}

static bool all_met(const thread *lanes, const thread &self, unsigned waiting) {
    if ((waiting & self.mask) != self.mask) return false;
    for (int l = 0; l < WARP; l++) {
        const thread &one = lanes[l];
        if (!(self.mask >> l & 1) || &one == &self) continue;
        const bool there = one.at == stand::warp && one.mask == self.mask &&
                           one.kind == self.kind && one.line == self.line &&
                           (one.file == self.file || strcmp(one.file, self.file) == 0);
        if (!there) return false;
    }
    return true;
}

static void deal(thread *lanes, unsigned mask) {
    const cudasim_exchange kind = lanes[running.current % WARP].kind;
    if (kind == CUDASIM_MULTIPLY) multiply_matrices(lanes);
    for (int l = 0; l < WARP; l++) {
        if (!(mask >> l & 1)) continue;
        if (kind == CUDASIM_ROWS || kind == CUDASIM_COLUMNS)
            find_matrices(lanes, l, kind == CUDASIM_COLUMNS);
        lanes[l].result = outcome(lanes, l);
    }
    for (int l = 0; l < WARP; l++)
        if (mask >> l & 1) lanes[l].at = stand::ready;
    running.waiting[running.current / WARP] &= ~mask;
    running.meetings[running.current / WARP]++;
}

uint64_t cudasim_warp(cudasim_exchange kind, unsigned mask, uint64_t value, int argument, int width,
                      const char *file, int line) {
    const int first = first_of_warp(), lane = running.current - first;
    const int present = running.count - first < WARP ? running.count - first : WARP;
    if (!(mask >> lane & 1))
        trap("lane %d is not in its own mask %#x at %s:%d", lane, mask, file, line);
    if (present < WARP && mask >> present != 0)
        trap("mask %#x names lanes that the block does not have, at %s:%d", mask, file, line);
    if (width <= 0 || width > WARP || (width & (width - 1)) != 0)
        trap("width %d of a shuffle at %s:%d", width, file, line);
    thread *lanes = &running.threads[(size_t)first];
    thread &self = lanes[lane];
    self.kind = kind;
    self.mask = mask;
    self.value = value;
    self.argument = argument;
    self.width = width;
    self.file = file;
    self.line = line;
    unsigned &waiting = running.waiting[running.current / WARP];
    waiting |= 1u << lane;
    const int warp = running.current / WARP;
    const int meeting = 2 + 2 * warp + running.meetings[warp] % 2;
    if (kind == CUDASIM_WAIT) race_arrive(meeting);
    if (!all_met(lanes, self, waiting)) {
        block_wait(stand::warp, file, line);
    } else {
        deal(lanes, mask);
    }
    if (kind == CUDASIM_WAIT) race_depart(meeting);
    return self.result;
}
