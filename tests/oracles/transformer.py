"""The causal post-norm Transformer with absolute and with Transformer-XL's relative positions and with recurrence
encodings (Vaswani et al. 2017; Dai et al. 2019; Huang et al. 2023) in plain NumPy, query by query, in double precision.
It shares nothing with longhaul but the names of the parameters. Its outputs are the fixtures in tests/golden/transformer.csv:

    python3 tests/oracles/transformer.py > tests/golden/transformer.csv
"""
import numpy as np

from fixture import VOCABULARY, parameter, print_header, print_model
from recurrence import recurrence


def norm(x, name):
    width = x.shape[-1]
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return x * parameter(name + ".gain", width) + parameter(name + ".bias", width)


def dense(x, name, out):
    return x @ parameter(name + ".weight", x.shape[-1], out) + parameter(name + ".bias", out)


def sinusoid(position, width):
    """One position's vector, channel by channel."""
    out = np.zeros(width)
    for c in range(width):
        angle = position / 10000 ** (2 * (c // 2) / width)
        out[c] = np.sin(angle) if c % 2 == 0 else np.cos(angle)
    return out


class Transformer:
    def __init__(self, layers=2, width=8, heads=2, head_width=0, hidden=12, positions="sinusoidal",
                 longest_distance=1000, zero_memory=0, rsa_kinds="", rsa_dilation="", rsa_cutoff=200):
        self.layers, self.width, self.heads, self.hidden = layers, width, heads, hidden
        self.head = head_width or width // heads
        self.positions, self.longest, self.zeros = positions, longest_distance, zero_memory
        self.rsa = (rsa_kinds, rsa_dilation, rsa_cutoff)

    def scores(self, n, q, keys, distances):
        """Of one query q [heads][head] with keys [count][heads][head] at these distances: [heads][count]."""
        if self.positions != "relative":
            return np.einsum("hd,khd->hk", q, keys) / np.sqrt(self.head)
        shape = (self.heads, self.head)
        inner = self.heads * self.head
        content = parameter(n + "relative.content", inner).reshape(shape)
        position = parameter(n + "relative.position", inner).reshape(shape)
        project = parameter(n + "relative.projection", self.width, inner)
        r = np.stack([sinusoid(min(d, self.longest), self.width) @ project for d in distances]).reshape(-1, *shape)
        both = np.einsum("hd,khd->hk", q + content, keys) + np.einsum("hd,khd->hk", q + position, r)
        return both / np.sqrt(self.head)

    def attention(self, x, n):
        inner = self.heads * self.head
        joined = x @ parameter(n + "joined", self.width, 3 * inner)
        if self.positions != "relative":
            joined = joined + parameter(n + "joined_bias", 3 * inner)
        q, k, v = joined.reshape(len(x), 3, self.heads, self.head).transpose(1, 0, 2, 3)
        out = np.zeros((len(x), inner))
        for i in range(len(x)):
            # the keys that query i sees, those of zero states first
            unseen = np.zeros((max(self.zeros - i - 1, 0), self.heads, self.head))
            first = max(i - self.zeros + 1, 0) if self.zeros else 0
            keys, values = np.concatenate([unseen, k[first:i + 1]]), np.concatenate([unseen, v[first:i + 1]])
            s = self.scores(n, q[i], keys, range(len(keys) - 1, -1, -1))
            p = np.exp(s - s.max(-1, keepdims=True))
            p /= p.sum(-1, keepdims=True)
            if self.rsa[0]:
                prefix = n.replace("attention", "recurrence")
                encoded, weight = recurrence(prefix, *self.rsa)
                gate = 1 / (1 + np.exp(-parameter(prefix + "mu", 1)[0]))
                for h in range(encoded):
                    lags = [weight(h, lag) for lag in range(len(keys) - 1, -1, -1)]
                    p[h] = (1 - gate) * p[h] + gate * np.array(lags)
            out[i] = np.einsum("hk,khd->hd", p, values).reshape(inner)
        y = out @ parameter(n + "out", inner, self.width)
        return y if self.positions == "relative" else y + parameter(n + "out_bias", self.width)

    def layer(self, x, l):
        n = f"layers.{l}."
        x = norm(x + self.attention(x, n + "attention."), n + "attention.norm")
        hidden = np.maximum(dense(x, n + "feed_forward.in", self.hidden), 0)
        return norm(x + dense(hidden, n + "feed_forward.out", self.width), n + "feed_forward.norm")

    def segment(self, tokens):
        x = parameter("embedding.weight", VOCABULARY, self.width)[tokens]
        if self.positions == "relative":
            x = x @ parameter("embedding.projection", self.width, self.width)
        x = x * np.sqrt(self.width)
        if self.positions == "sinusoidal":
            x = x + np.stack([sinusoid(t, self.width) for t in range(len(tokens))])
        for l in range(self.layers):
            x = self.layer(x, l)
        return x


def main():
    print_header()
    base = dict(layers=2, width=8, heads=2, hidden=12)
    for more in ({}, dict(positions="none", head_width=3), dict(positions="relative"),
                 dict(positions="relative", longest_distance=3), dict(positions="relative", zero_memory=9),
                 dict(positions="relative", zero_memory=5, longest_distance=2),
                 dict(positions="none", rsa_kinds="1,0,0,1,0,0", rsa_dilation="2"),
                 dict(heads=4, rsa_kinds="1,1,1,0,0,0"),
                 dict(heads=4, positions="none", rsa_kinds="0,0,0,1,1,1", rsa_dilation="3,2,1", rsa_cutoff=2),
                 dict(heads=4, positions="relative", rsa_kinds="0,1,1,0,1,1", rsa_dilation="2,2", rsa_cutoff=3)):
        print_model("transformer", Transformer, "dropout=0", **{**base, **more})


if __name__ == "__main__":
    main()
