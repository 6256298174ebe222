"""Transformer-XL as Dai et al. 2019 released it, with the recurrence encodings of Huang et al. 2023 as dense matrices,
fully learned matrices, or a block-recurrent layer, in plain NumPy and double precision, query by query. It shares
nothing with longhaul but the names of the parameters. Its outputs are the fixtures in tests/golden/dai_xl.csv:

    python3 tests/oracles/dai_xl.py > tests/golden/dai_xl.csv
"""
import math

import numpy as np

from fixture import VOCABULARY, parameter, print_header, print_model


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(s):
    p = np.exp(s - s.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True)


def norm(x, name):
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return x * parameter(name + ".gain", x.shape[-1]) + parameter(name + ".bias", x.shape[-1])


def dense(x, name, out):
    return x @ parameter(name + ".weight", x.shape[-1], out) + parameter(name + ".bias", out)


def sinusoid(position, width):
    angles = [position / 10000 ** (2 * (c // 2) / width) for c in range(width)]
    return np.array([math.sin(a) if c % 2 == 0 else math.cos(a) for c, a in enumerate(angles)])


def rem_heads(kinds, dilation):
    """(kind, index of its decay, index of its angle, dilation) of each head; a pair shares nu and theta."""
    heads, etas, nus, at = [], 0, 0, 0
    for dilated in (False, True):
        regular, cosine, sine = kinds[3:] if dilated else kinds[:3]
        for kind, count, first in (("regular", regular, etas), ("cosine", cosine, nus), ("sine", sine, nus)):
            for i in range(count):
                heads.append((kind, first + i, dilation[at] if dilated else 1))
                at += dilated
        etas, nus = etas + regular, nus + max(cosine, sine)
    return heads, etas, nus


class DaiXL:
    def __init__(self, layers=2, width=8, heads=2, head_width=0, hidden=12, memory=5, same_length=False,
                 longest_distance=0, rsa_kinds="", rsa_dilation="", rsa_gate=0, rsa_cutoff=200, rsa_matrix="lags",
                 segment=0, recurrent_layer=0, states=3, state_head_width=0,
                 block=0):
        self.layers, self.width, self.heads, self.hidden = layers, width, heads, hidden
        self.head = head_width or width // heads
        self.memory, self.same_length, self.longest = memory, same_length, longest_distance
        kinds = [int(k) for k in rsa_kinds.split(",")] if rsa_kinds else [0] * 6
        dilation = [int(d) for d in rsa_dilation.split(",")] if rsa_dilation else []
        self.rem, self.etas, self.nus = rem_heads(kinds, dilation)
        self.cutoff, self.matrix, self.rows = rsa_cutoff, rsa_matrix, segment
        self.recurrent = recurrent_layer - 1 if recurrent_layer > 0 else layers + recurrent_layer if recurrent_layer else -1
        self.count, self.state_head = states, state_head_width or self.head
        self.past = [np.zeros((memory, width)) for _ in range(layers)]
        self.state, self.size = None, block

    # ---- one attention of the published model ----

    def scores(self, n, l, q, keys, distances):
        first = 1 if self.recurrent == 0 else 0
        inner, shape = self.heads * self.head, (self.heads, self.head)
        shared = f"layers.{first}.attention.relative."
        content = parameter(shared + "content", inner).reshape(shape)
        position = parameter(shared + "position", inner).reshape(shape)
        project = parameter(n + "relative.projection", self.width, inner)
        clamp = self.longest or 10 ** 9
        r = np.stack([sinusoid(min(d, clamp), self.width) @ project for d in distances]).reshape(-1, *shape)
        both = np.einsum("hd,khd->hk", q + content, keys) + np.einsum("hd,khd->hk", q + position, r)
        return both / math.sqrt(self.head)

    def entry(self, l, head, lag):
        """P of a head at a lag (eqs. 2 and 3)."""
        n = f"layers.{l}.recurrence."
        kind, index, dilation = self.rem[head]
        if lag < 1 or lag % dilation or lag // dilation > self.cutoff:
            return 0.0
        if self.same_length and lag > self.memory - 1:
            return 0.0
        t = lag // dilation
        if kind == "regular":
            return math.tanh(parameter(n + "eta", self.etas)[index]) ** t
        gamma = sigmoid(parameter(n + "nu", self.nus)[index])
        theta = parameter(n + "theta", self.nus)[index]
        return gamma ** t * (math.cos(t * theta) if kind == "cosine" else math.sin(t * theta))

    def mix(self, l, i, probabilities, total):
        """(1 - g) softmax + g P for query i of the segment over `total` keys, the memory first."""
        n = f"layers.{l}.recurrence."
        for h in range(len(self.rem)):
            g = sigmoid(parameter(n + "mu", 1)[0])
            lags = [self.memory + i - j for j in range(total)]
            if self.matrix == "learned":
                matrix = parameter(n + "matrix", len(self.rem), self.rows, self.memory + self.rows)[h, i]
                row = np.array([matrix[j] if lag >= 1 else 0 for j, lag in enumerate(lags)])
            elif self.matrix == "toeplitz":
                by_lag = parameter(n + "matrix", self.memory + self.rows - 1, len(self.rem))[:, h]
                row = np.array([by_lag[lag - 1] if lag >= 1 else 0 for lag in lags])
            else:
                row = np.array([self.entry(l, h, lag) for lag in lags])
            probabilities[h] = (1 - g) * probabilities[h] + g * row
        return probabilities

    def attention(self, x, l):
        n, inner, total = f"layers.{l}.attention.", self.heads * self.head, self.memory + len(x)
        everything = np.concatenate([self.past[l], x])
        q = (x @ parameter(n + "query", self.width, inner)).reshape(-1, self.heads, self.head)
        kv = (everything @ parameter(n + "key_value", self.width, 2 * inner)).reshape(total, 2, self.heads, self.head)
        out = np.zeros((len(x), inner))
        for i in range(len(x)):
            low = i + 1 if self.same_length else 0
            seen = range(low, self.memory + i + 1)
            p = np.zeros((self.heads, total))
            distances = [self.memory + i - j for j in seen]
            p[:, low:self.memory + i + 1] = softmax(self.scores(n, l, q[i], kv[low:self.memory + i + 1, 0], distances))
            out[i] = np.einsum("hk,khd->hd", self.mix(l, i, p, total), kv[:, 1]).reshape(inner)
        self.past[l] = everything[len(everything) - self.memory:]
        return out @ parameter(n + "out", inner, self.width)

    def layer(self, x, l):
        n = f"layers.{l}."
        x = norm(x + self.attention(x, l), n + "attention.norm")
        hidden = np.maximum(dense(x, n + "feed_forward.in", self.hidden), 0)
        return norm(x + dense(hidden, n + "feed_forward.out", self.width), n + "feed_forward.norm")

    # ---- the block-recurrent layer ----

    def rotate(self, x):
        """x [time][heads][head]: pairs (i, half + i) of the first 32 channels turn with time."""
        half = min(32, x.shape[-1]) // 2
        y = x.copy()
        for t in range(len(x)):
            for i in range(half):
                angle = t * 10000 ** (-i / half)
                a, b = x[t, :, i], x[t, :, half + i]
                y[t, :, i] = a * math.cos(angle) - b * math.sin(angle)
                y[t, :, half + i] = b * math.cos(angle) + a * math.sin(angle)
        return y

    def block_attention(self, n, x, context, head, causal):
        inner = self.heads * head
        normed = x / np.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-8) * parameter(n + ".norm.gain", self.width)
        source = normed if context is None else context
        q = (normed @ parameter(n + ".query", self.width, inner)).reshape(-1, self.heads, head)
        kv = (source @ parameter(n + ".key_value", self.width, 2 * inner)).reshape(-1, 2, self.heads, head)
        k = kv[:, 0]
        if context is None:
            q, k = self.rotate(q), self.rotate(k)
        s = np.einsum("qhd,khd->hqk", q, k) / math.sqrt(head)
        if causal:
            s = np.where(np.tril(np.ones(s.shape[1:])) > 0, s, -np.inf)
        out = np.einsum("hqk,khd->qhd", softmax(s), kv[:, 1]).reshape(len(x), inner)
        return dense(out, n + ".out", self.width)

    def gate(self, n, x, state):
        z = np.tanh(dense(x, n + ".update", self.width))
        i = sigmoid(dense(x, n + ".input", self.width) - 1)
        f = sigmoid(dense(x, n + ".forget", self.width) + 1)
        return state * f + z * i

    def feed_forward(self, n, x):
        h = dense(x, n + "_in", 4 * self.width)
        h = h * 0.5 * (1 + np.vectorize(math.erf)(h / math.sqrt(2)))
        return dense(h, n + "_out", self.width)

    def blocks(self, x, l):
        size = self.size or len(x)
        return np.concatenate([self.block(x[at:at + size], l) for at in range(0, len(x), size)])

    def block(self, x, l):
        n = f"layers.{l}.recurrent."
        if self.state is None:
            self.state = parameter(n + "states", self.count, self.width)
        state = self.state
        token_self = self.block_attention(n + "token_self", x, None, self.head, True)
        token_cross = self.block_attention(n + "token_cross", x, state, self.head, False)
        state_self = self.block_attention(n + "state_self", state, None, self.state_head, False)
        state_cross = self.block_attention(n + "state_cross", state, x, self.state_head, False)
        project = parameter(n + "state_projection", 2 * self.width, self.width)
        state = self.gate(n + "attention_gate", np.concatenate([state_cross, state_self], -1) @ project, state)
        self.state = self.gate(n + "feed_forward_gate", self.feed_forward(n + "state", state), state)
        project = parameter(n + "token_projection", 2 * self.width, self.width)
        h = x + np.concatenate([token_cross, token_self], -1) @ project
        return h + self.feed_forward(n + "token", h)

    def segment(self, tokens):
        x = parameter("embedding.weight", VOCABULARY, self.width)[tokens] * math.sqrt(self.width)
        for l in range(self.layers):
            x = self.blocks(x, l) if l == self.recurrent else self.layer(x, l)
        return x


def main():
    print_header()
    base = dict(layers=2, width=8, heads=2, hidden=12, memory=5)
    for more in ({}, dict(head_width=3, longest_distance=4), dict(same_length=True),
                 dict(rsa_kinds="1,0,0,0,0,1", rsa_dilation="3", rsa_gate=1),
                 dict(rsa_kinds="0,1,1,0,0,0", rsa_cutoff=4),
                 dict(rsa_kinds="1,0,0,1,0,0", rsa_dilation="2", same_length=True),
                 dict(rsa_kinds="1,0,0,0,0,0", rsa_matrix="learned", segment=8),
                 dict(rsa_kinds="1,0,0,0,0,0", rsa_matrix="toeplitz", segment=9),
                 dict(recurrent_layer=-1, states=3, block=2), dict(recurrent_layer=1, states=4, state_head_width=6,
                                                          rsa_kinds="0,0,0,0,1,1", rsa_dilation="1,2")):
        print_model("dai_xl", DaiXL, "dropout=0", **base, **more)


if __name__ == "__main__":
    main()
