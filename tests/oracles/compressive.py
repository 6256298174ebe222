"""Compressive Transformer (Rae et al. 2019, algorithms 1 and 2) in plain NumPy and double precision: block by block, a
query at a time, with memories that are lists. It shares nothing with longhaul but the names of the parameters. Its
outputs are the fixtures in tests/golden/compressive.csv, its losses those of tests/gradients/test_compressive.c:

    python3 tests/oracles/compressive.py > tests/golden/compressive.csv
    python3 tests/oracles/compressive.py --losses
"""
import math
import sys

import numpy as np

from fixture import TOKENS, VOCABULARY, assert_equal, parameter, print_header, print_model, whole
from recurrence import recurrence


def softmax(s):
    p = np.exp(s - s.max())
    return p / p.sum()


def norm(x, name):
    x = (x - x.mean()) / math.sqrt(x.var() + 1e-5)
    return x * parameter(name + ".gain", len(x)) + parameter(name + ".bias", len(x))


def dense(x, name, out):
    return x @ parameter(name + ".weight", x.shape[-1], out) + parameter(name + ".bias", out)


def sinusoid(distance, width):
    angles = [distance / 10000 ** (2 * (c // 2) / width) for c in range(width)]
    return np.array([math.sin(a) if c % 2 == 0 else math.cos(a) for c, a in enumerate(angles)])


class Compressive:
    def __init__(self, layers=2, width=8, heads=2, head_width=0, hidden=12, block=4, memory=4, compressed_memory=4,
                 compression_rate=2, compression="convolution", compression_loss="attention", rsa_kinds="0,0,0,0,0,0",
                 rsa_dilation="", rsa_cutoff=200):
        self.layers, self.width, self.heads, self.hidden = layers, width, heads, hidden
        self.head = head_width or width // heads
        self.block, self.rate, self.kind, self.loss_kind = block, compression_rate, compression, compression_loss
        self.m = [[np.zeros(width)] * memory for _ in range(layers)]
        self.cm = [[np.zeros(width)] * compressed_memory for _ in range(layers)]
        self.losses, self.rem = [], (rsa_kinds, rsa_dilation, rsa_cutoff)

    def heads_of(self, x, name):
        return (x @ parameter(name, self.width, self.heads * self.head)).reshape(self.heads, self.head)

    def keys_values(self, x, l):
        kv = x @ parameter(f"layers.{l}.attention.key_value", self.width, 2 * self.heads * self.head)
        return kv.reshape(2, self.heads, self.head)

    def mix(self, l, h, p):
        """(1 - g) softmax + g P, lags being those of places."""
        n = f"layers.{l}.recurrence."
        encoded, weight = recurrence(n, *self.rem)
        if h >= encoded:
            return p
        g = 1 / (1 + math.exp(-parameter(n + "mu", 1)[0]))
        return (1 - g) * p + g * np.array([weight(h, len(p) - 1 - j) for j in range(len(p))])

    def attention(self, l, x, seen):
        """Of x to `seen`, oldest first, whose last is x itself: Transformer-XL's scores."""
        n = f"layers.{l}.attention."
        shape = (self.heads, self.head)
        content = parameter("layers.0.attention.relative.content", self.heads * self.head).reshape(shape)
        position = parameter("layers.0.attention.relative.position", self.heads * self.head).reshape(shape)
        q = self.heads_of(x, n + "query")
        kv = [self.keys_values(s, l) for s in seen]
        out = np.zeros(shape)
        for h in range(self.heads):
            scores = []
            for j, (k, _) in enumerate(kv):
                r = self.heads_of(sinusoid(len(seen) - 1 - j, self.width), n + "relative.projection")
                scores.append(((q[h] + content[h]) @ k[h] + (q[h] + position[h]) @ r[h]) / math.sqrt(self.head))
            out[h] = self.mix(l, h, softmax(np.array(scores))) @ np.array([v[h] for _, v in kv])
        return out.reshape(-1) @ parameter(n + "out", self.heads * self.head, self.width)

    def taps(self, old, i):
        """The memories that the i-th compressed one is made of."""
        if self.kind == "dilated":
            return old[i::self.block // self.rate]
        return old[i * self.rate:(i + 1) * self.rate]

    def compress(self, l, old):
        made = []
        for i in range(self.block // self.rate):
            taps = self.taps(old, i)
            if self.kind == "mean":
                made.append(np.mean(taps, axis=0))
            elif self.kind == "max":
                made.append(np.max(taps, axis=0))
            else:
                made.append(dense(np.concatenate(taps), f"layers.{l}.compression", self.width))
        return made

    def content(self, l, h, memory):
        """softmax((hQ)(mK)^T)(mV) of algorithm 2, heads side by side."""
        q = self.heads_of(h, f"layers.{l}.attention.query")
        kv = [self.keys_values(m, l) for m in memory]
        out = np.zeros((self.heads, self.head))
        for i in range(self.heads):
            scores = np.array([q[i] @ k[i] for k, _ in kv]) / math.sqrt(self.head)
            out[i] = softmax(scores) @ np.array([v[i] for _, v in kv])
        return out.reshape(-1)

    def loss_of(self, l, xs, old, made):
        if self.loss_kind == "auto_encoding":
            back = [dense(c, f"layers.{l}.decompression", self.rate * self.width) for c in made]
            return np.mean([np.square(np.concatenate(self.taps(old, i)) - b) for i, b in enumerate(back)])
        return np.mean([np.square(self.content(l, x, old) - self.content(l, x, made)) for x in xs])

    def layer(self, l, xs):
        n = f"layers.{l}."
        before = self.cm[l] + self.m[l]
        ys = []
        for i, x in enumerate(xs):
            a = norm(x + self.attention(l, x, before + xs[:i + 1]), n + "attention.norm")
            hidden = np.maximum(dense(a, n + "feed_forward.in", self.hidden), 0)
            ys.append(norm(a + dense(hidden, n + "feed_forward.out", self.width), n + "feed_forward.norm"))
        stream = self.m[l] + xs
        old, self.m[l] = stream[:self.block], stream[self.block:]
        made = self.compress(l, old)
        self.loss += self.loss_of(l, xs, old, made)
        self.cm[l] = (self.cm[l] + made)[len(made):]
        return ys

    def segment(self, tokens):
        table = parameter("embedding.weight", VOCABULARY, self.width) * math.sqrt(self.width)
        out = []
        for at in range(0, len(tokens), self.block):
            xs, self.loss = [table[t] for t in tokens[at:at + self.block]], 0.0
            for l in range(self.layers):
                xs = self.layer(l, xs)
            self.losses.append(self.loss)
            out += xs
        return np.array(out)


CASES = ({}, dict(memory=8, compressed_memory=2, compression_rate=4, head_width=3),
         dict(memory=3, compression="dilated"), dict(block=8, memory=5, compressed_memory=7, compression="mean"),
         dict(compressed_memory=1, compression="max"), dict(block=2, memory=6, compression_loss="task"),
         dict(memory=6, compressed_memory=3, rsa_kinds="0,1,1,0,0,0", rsa_cutoff=9))

LOSSES = CASES[:3] + (dict(compression_loss="auto_encoding"), dict(memory=3, compression="dilated",
                                                                   compression_loss="auto_encoding"))


def main():
    base = dict(layers=2, width=8, heads=2, hidden=12)
    defaults = dict(block=4, memory=4, compressed_memory=4, compression_rate=2)
    assert_equal(whole(Compressive(**base)), whole(Compressive(**base), 4, 8))
    if sys.argv[1:] == ["--losses"]:
        for more in LOSSES:
            model = Compressive(**{**base, **defaults, **more})
            model.segment(TOKENS)
            print(more, [f"{loss:.17g}" for loss in model.losses])
        return
    print_header()
    for more in CASES:
        print_model("compressive", Compressive, "dropout=0", **{**base, **defaults, **more})


if __name__ == "__main__":
    main()
