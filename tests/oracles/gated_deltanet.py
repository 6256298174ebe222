"""Gated DeltaNet (Yang, Kautz and Hatamizadeh 2024) in plain NumPy, in double precision, token by token: the recurrence
itself instead of its chunks. It shares nothing with longhaul but the names of the parameters. Its outputs are the
fixtures in tests/golden/gated_deltanet.csv:

    python3 tests/oracles/gated_deltanet.py > tests/golden/gated_deltanet.csv
"""
import numpy as np

from fixture import VOCABULARY, assert_equal, parameter, print_header, print_model, whole


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def rms(x, gain, epsilon):
    return gain * x / np.sqrt((x ** 2).mean(-1, keepdims=True) + epsilon)


def unit(x):
    return x / np.sqrt((x ** 2).sum(-1, keepdims=True) + 1e-6)


class GatedDeltaNet:
    """In each layer the inputs that the convolutions still read, and a matrix for each head of values."""

    def __init__(self, layers=2, width=8, heads=2, value_heads=0, head_width=4, expand=2, hidden=12, kernel=4,
                 negative_eigenvalues=False, epsilon=1e-6, tied=False):
        self.layers, self.width, self.heads, self.head_width = layers, width, heads, head_width
        self.value_heads, self.hidden, self.kernel, self.epsilon = value_heads or heads, hidden, kernel, epsilon
        self.value_width, self.most = int(expand * head_width), 2 if negative_eigenvalues else 1
        self.sizes = {"query": heads * head_width, "key": heads * head_width,
                      "value": self.value_heads * self.value_width}
        self.windows = [{name: np.zeros((kernel, size)) for name, size in self.sizes.items()} for _ in range(layers)]
        self.memory = np.zeros((layers, self.value_heads, self.value_width, head_width))

    def path(self, l, name, u):
        """silu of the convolution of one projection of u."""
        size, n = self.sizes[name], f"layers.{l}.{name}"
        window = self.windows[l][name]
        window[:-1] = window[1:].copy()
        window[-1] = u @ parameter(n, self.width, size)
        return silu((window.T * parameter(n + "_convolution", size, self.kernel)).sum(1))

    def mixer(self, l, u):
        n, heads, values = f"layers.{l}.", self.value_heads, self.sizes["value"]
        query = unit(self.path(l, "query", u).reshape(self.heads, -1)) / np.sqrt(self.head_width)
        key = unit(self.path(l, "key", u).reshape(self.heads, -1))
        value = self.path(l, "value", u).reshape(heads, -1)
        beta = self.most * sigmoid(u @ parameter(n + "write", self.width, heads))
        step = np.log1p(np.exp(u @ parameter(n + "step", self.width, heads) + parameter(n + "step_bias", heads)))
        decay = np.exp(-np.exp(parameter(n + "rate", heads)) * step)
        y = np.zeros_like(value)
        for h in range(heads):
            k, q = (x[h * self.heads // heads] for x in (key, query))
            # eq. 10 as it stands there: the state maps keys to values
            erased = self.memory[l, h] @ (np.eye(self.head_width) - beta[h] * np.outer(k, k))
            self.memory[l, h] = decay[h] * erased + beta[h] * np.outer(value[h], k)
            y[h] = self.memory[l, h] @ q
        normed = rms(y, parameter(n + "memory_norm.gain", self.value_width), self.epsilon).reshape(-1)
        gated = normed * silu(u @ parameter(n + "gate", self.width, values))
        return gated @ parameter(n + "out", values, self.width)

    def feed_forward(self, l, u):
        n = f"layers.{l}.feed_forward."
        hidden = silu(u @ parameter(n + "gate", self.width, self.hidden)) * (u @ parameter(n + "in", self.width, self.hidden))
        return hidden @ parameter(n + "out", self.hidden, self.width)

    def token(self, x):
        for l in range(self.layers):
            n = f"layers.{l}."
            x = x + self.mixer(l, rms(x, parameter(n + "norm.gain", self.width), self.epsilon))
            x = x + self.feed_forward(l, rms(x, parameter(n + "feed_forward.norm.gain", self.width), self.epsilon))
        return rms(x, parameter("norm.gain", self.width), self.epsilon)

    def segment(self, tokens):
        return np.stack([self.token(x) for x in parameter("embedding.weight", VOCABULARY, self.width)[tokens]])


CASES = ({}, {"value_heads": 4}, {"layers": 1, "kernel": 2, "head_width": 6, "expand": 1.5}, {"epsilon": 0.1, "tied": True},
         {"heads": 1, "value_heads": 3, "head_width": 3, "expand": 1, "negative_eigenvalues": True})


def main():
    assert_equal(whole(GatedDeltaNet(value_heads=4), 3, 6), whole(GatedDeltaNet(value_heads=4)))  # where the stream is cut
    print_header()
    for options in CASES:
        print_model("gated_deltanet", GatedDeltaNet, "initial_deviation=0.1",
                    **{"layers": 2, "width": 8, "heads": 2, "head_width": 4, "hidden": 12, **options})


main()
