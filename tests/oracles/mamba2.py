"""Mamba-2 (Dao and Gu 2024) in plain NumPy, in double precision, token by token: the recurrence itself instead of its
chunks. It shares nothing with longhaul but the names of the parameters. Its outputs are the fixtures in
tests/golden/mamba2.csv:

    python3 tests/oracles/mamba2.py > tests/golden/mamba2.csv
"""
import numpy as np

from fixture import VOCABULARY, assert_equal, parameter, print_header, print_model, whole


def silu(x):
    return x / (1 + np.exp(-x))


def unit(x, epsilon):
    return x / np.sqrt((x ** 2).mean(-1, keepdims=True) + epsilon)


class Mamba2:
    """In each layer the inputs that the convolution still reads, and a matrix for each head."""

    def __init__(self, layers=2, width=8, expand=2, state=6, head_width=4, groups=1, kernel=4, epsilon=1e-5, tied=True):
        self.layers, self.width, self.state, self.head_width = layers, width, state, head_width
        self.groups, self.kernel, self.epsilon, self.tied = groups, kernel, epsilon, tied
        self.inner = expand * width
        self.heads = self.inner // head_width
        self.convolved = self.inner + 2 * groups * state
        self.window = np.zeros((layers, kernel, self.convolved))
        self.memory = np.zeros((layers, self.heads, state, head_width))

    def mixer(self, l, u):
        n = f"layers.{l}."
        joined = u @ parameter(n + "in", self.width, self.inner + self.convolved + self.heads)
        z, new, dt = np.split(joined, [self.inner, self.inner + self.convolved])
        self.window[l] = np.concatenate([self.window[l][1:], new[None]])
        taps = parameter(n + "convolution", self.convolved, self.kernel)
        mixed = silu((self.window[l].T * taps).sum(1) + parameter(n + "convolution_bias", self.convolved))
        x, b, c = np.split(mixed, [self.inner, self.inner + self.groups * self.state])
        x = x.reshape(self.heads, self.head_width)
        dt = np.log1p(np.exp(dt + parameter(n + "step_bias", self.heads)))
        rate, skip = np.exp(parameter(n + "rate", self.heads)), parameter(n + "skip", self.heads)
        y = np.zeros_like(x)
        for h in range(self.heads):
            group = h * self.groups // self.heads
            key, query = (part.reshape(self.groups, self.state)[group] for part in (b, c))
            self.memory[l, h] = np.exp(-dt[h] * rate[h]) * self.memory[l, h] + np.outer(key, dt[h] * x[h])
            y[h] = query @ self.memory[l, h] + skip[h] * x[h]
        gated = (y.reshape(self.inner) * silu(z)).reshape(self.groups, -1)
        gain = parameter(n + "gated_norm.gain", self.inner)
        return (unit(gated, self.epsilon).reshape(self.inner) * gain) @ parameter(n + "out", self.inner, self.width)

    def token(self, x):
        for l in range(self.layers):
            x = x + self.mixer(l, unit(x, self.epsilon) * parameter(f"layers.{l}.norm.gain", self.width))
        return unit(x, self.epsilon) * parameter("norm.gain", self.width)

    def segment(self, tokens):
        return np.stack([self.token(x) for x in parameter("embedding.weight", VOCABULARY, self.width)[tokens]])


CASES = ({}, {"groups": 2}, {"layers": 1, "kernel": 2, "head_width": 8}, {"epsilon": 0.1, "tied": False},
         {"groups": 4, "state": 3, "expand": 3, "head_width": 2})


def main():
    assert_equal(whole(Mamba2(groups=2), 3, 6), whole(Mamba2(groups=2)))  # where the stream is cut changes nothing
    print_header()
    for options in CASES:
        print_model("mamba2", Mamba2, "step_max=0.2", **{"layers": 2, "width": 8, "state": 6, "head_width": 4, **options})


main()
