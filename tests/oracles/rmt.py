"""Recurrent Memory Transformer (Bulatov et al. 2022) in plain NumPy and double precision: a dense mask over [cache;
memory; tokens; memory], as the release has it. It shares nothing with longhaul but the names of the parameters. Its
outputs are the fixtures in tests/golden/rmt.csv:

    python3 tests/oracles/rmt.py > tests/golden/rmt.csv
"""
import math

import numpy as np

from fixture import VOCABULARY, assert_equal, parameter, print_header, print_model, whole
from recurrence import recurrence


def norm(x, name):
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return x * parameter(name + ".gain", x.shape[-1]) + parameter(name + ".bias", x.shape[-1])


def dense(x, name, out):
    return x @ parameter(name + ".weight", x.shape[-1], out) + parameter(name + ".bias", out)


def sinusoid(distance, width):
    angles = [distance / 10000 ** (2 * (c // 2) / width) for c in range(width)]
    return np.array([math.sin(a) if c % 2 == 0 else math.cos(a) for c, a in enumerate(angles)])


class RMT:
    def __init__(self, layers=2, width=8, heads=2, head_width=0, hidden=12, block=4, memory_tokens=2, memory=0,
                 memory_reads_cache=False, shifted_positions=False, unroll=0, rsa_kinds="0,0,0,0,0,0",
                 rsa_dilation="", rsa_cutoff=200):
        self.layers, self.width, self.heads, self.hidden = layers, width, heads, hidden
        self.head = head_width or width // heads
        self.block, self.count, self.reads_cache = block, memory_tokens, memory_reads_cache
        self.shifted, self.rem = shifted_positions, (rsa_kinds, rsa_dilation, rsa_cutoff)
        self.cache = [np.zeros((memory, width)) for _ in range(layers)]
        self.memory = parameter("memory_tokens", memory_tokens, width)

    def mask(self, queries, cached):
        """seen[i, j]: the cache's keys first."""
        n = self.count
        seen = np.tril(np.ones((queries, cached + queries)), cached)
        seen[:n, cached:cached + n] = 1
        seen[-n:, -n:] = 1
        if not self.reads_cache:
            seen[:n, :cached] = 0
            seen[-n:, :cached] = 0
        return seen > 0

    def by_distance(self, q, r):
        """[heads][queries][keys]: keys behind a query have distance 0."""
        first = len(r) - len(q)
        return np.array([[(q[i] * r[max(first + i - j, 0)]).sum(-1) for j in range(len(r))]
                         for i in range(len(q))]).transpose(2, 0, 1)

    def by_shift(self, q, r):
        """The same as Transformer-XL's code has it: of every row what stands behind its places is the next row's."""
        products = np.einsum("qhd,khd->hqk", q, r[::-1])
        padded = np.concatenate([np.zeros((self.heads, len(q), 1)), products], -1)
        return padded.reshape(self.heads, len(r) + 1, len(q))[:, 1:].reshape(self.heads, len(q), len(r))

    def mix(self, p, l):
        """(1 - g) softmax + g P for the tokens, whose keys before them are in order."""
        n, first, cached = f"layers.{l}.recurrence.", self.count, p.shape[2] - p.shape[1]
        encoded, weight = recurrence(n, *self.rem)
        g = 1 / (1 + np.exp(-parameter(n + "mu", 1)[0]))
        for h in range(encoded):
            for i in range(first, p.shape[1] - first):
                p[h, i] = (1 - g) * p[h, i] + g * np.array([weight(h, cached + i - j) for j in range(p.shape[2])])
        return p

    def attention(self, x, l):
        n, inner, shape = f"layers.{l}.attention.", self.heads * self.head, (self.heads, self.head)
        content = parameter("layers.0.attention.relative.content", inner).reshape(shape)
        position = parameter("layers.0.attention.relative.position", inner).reshape(shape)
        cached = len(self.cache[l])
        everything = np.concatenate([self.cache[l], x])
        q = (x @ parameter(n + "query", self.width, inner)).reshape(-1, *shape)
        kv = (everything @ parameter(n + "key_value", self.width, 2 * inner)).reshape(-1, 2, *shape)
        project = parameter(n + "relative.projection", self.width, inner)
        r = np.array([(sinusoid(d, self.width) @ project).reshape(shape) for d in range(len(everything))])
        of_places = (self.by_shift if self.shifted else self.by_distance)(q + position, r)
        scores = np.einsum("qhd,khd->hqk", q + content, kv[:, 0]) + of_places
        scores = np.where(self.mask(len(x), cached), scores / math.sqrt(self.head), -np.inf)
        p = np.exp(scores - scores.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        out = np.einsum("hqk,khd->qhd", self.mix(p, l), kv[:, 1]).reshape(len(x), inner)
        return out @ parameter(n + "out", inner, self.width)

    def layer(self, x, l):
        n = f"layers.{l}."
        a = norm(x + self.attention(x, l), n + "attention.norm")
        self.cache[l] = np.concatenate([self.cache[l], x])[len(x):]
        hidden = np.maximum(dense(a, n + "feed_forward.in", self.hidden), 0)
        return norm(a + dense(hidden, n + "feed_forward.out", self.width), n + "feed_forward.norm")

    def segment(self, tokens):
        table = parameter("embedding.weight", VOCABULARY, self.width) * math.sqrt(self.width)
        out = []
        for at in range(0, len(tokens), self.block):
            x = np.concatenate([self.memory, table[tokens[at:at + self.block]], self.memory])
            for l in range(self.layers):
                x = self.layer(x, l)
            self.memory = x[-self.count:]
            out.append(x[self.count:-self.count])
        return np.concatenate(out)


def main():
    print_header()
    base = dict(layers=2, width=8, heads=2, hidden=12)
    assert_equal(whole(RMT(**base)), whole(RMT(**base), 4, 8))
    for more in (dict(block=4, memory_tokens=2), dict(block=8, memory_tokens=3, head_width=3),
                 dict(block=4, memory_tokens=1, memory=5), dict(block=2, memory_tokens=2, memory=9),
                 dict(block=4, memory_tokens=3, memory=7, memory_reads_cache=True, unroll=1),
                 dict(block=4, memory_tokens=4, shifted_positions=True),
                 dict(block=4, memory_tokens=3, memory=5, shifted_positions=True),
                 dict(block=2, memory_tokens=5, memory=7, memory_reads_cache=True, shifted_positions=True),
                 dict(block=4, memory_tokens=3, memory=5, rsa_kinds="1,0,0,0,1,0", rsa_dilation="2")):
        print_model("rmt", RMT, "dropout=0", **base, **more)


if __name__ == "__main__":
    main()
