"""Linear attention (Katharopoulos et al. 2020) in plain NumPy, in double precision, as the quadratic attention that it
replaces: every token keeps its key and value, and a query weighs all of them up to its own (eqs. 4 and 7 to 9 under a
causal mask). It shares nothing with longhaul but the names of the parameters. Its outputs are the fixtures in
tests/golden/linear_attention.csv:

    python3 tests/oracles/linear_attention.py > tests/golden/linear_attention.csv
"""
import numpy as np

from fixture import VOCABULARY, assert_equal, parameter, print_header, print_model, whole


def dense(x, name, out):
    return x @ parameter(name + ".weight", x.shape[-1], out) + parameter(name + ".bias", out)


def norm(x, name):
    centred = x - x.mean(-1, keepdims=True)
    unit = centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5)
    return parameter(name + ".gain", x.shape[-1]) * unit + parameter(name + ".bias", x.shape[-1])


def feature_map(x):
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


class LinearAttention:
    """Keys and values of all tokens so far in each layer."""

    def __init__(self, layers=2, width=8, heads=2, head_width=None, hidden=12, epsilon=1e-6):
        self.layers, self.width, self.heads, self.hidden, self.epsilon = layers, width, heads, hidden, epsilon
        self.head_width = head_width or width // heads
        self.keys, self.values = [[] for _ in range(layers)], [[] for _ in range(layers)]

    def attend(self, l, x):
        n, inner = f"layers.{l}.attention", self.heads * self.head_width
        q = feature_map(dense(x, n + ".query", inner)).reshape(self.heads, self.head_width)
        self.keys[l].append(feature_map(dense(x, n + ".key", inner)).reshape(self.heads, self.head_width))
        self.values[l].append(dense(x, n + ".value", inner).reshape(self.heads, self.head_width))
        weights = np.einsum("hd,thd->th", q, np.stack(self.keys[l]))
        mixed = np.einsum("th,thd->hd", weights / (weights.sum(0) + self.epsilon), np.stack(self.values[l]))
        return dense(mixed.reshape(inner), n + ".out", self.width)

    def token(self, x):
        for l in range(self.layers):
            n = f"layers.{l}"
            x = norm(x + self.attend(l, x), n + ".attention.norm")
            hidden = np.maximum(dense(x, n + ".feed_forward.in", self.hidden), 0)
            x = norm(x + dense(hidden, n + ".feed_forward.out", self.width), n + ".feed_forward.norm")
        return norm(x, "norm")

    def segment(self, tokens):
        return np.stack([self.token(x) for x in parameter("embedding.weight", VOCABULARY, self.width)[tokens]])


def main():
    assert_equal(whole(LinearAttention(), 3, 6), whole(LinearAttention()))  # where the stream is cut changes nothing
    print_header()
    for options in ({}, {"layers": 1, "heads": 4}, {"head_width": 3}, {"epsilon": 0.5}):
        print_model("linear_attention", LinearAttention, "dropout=0",
                    **{"layers": 2, "width": 8, "heads": 2, "hidden": 12, **options})


main()
