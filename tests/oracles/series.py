"""Informer (Zhou et al. 2021), LogSparse (Li et al. 2019) in plain NumPy, window by window, in double precision: the
equations one by one, attention as matrices. It shares nothing with longhaul but the names of the parameters and the
random numbers of Philox. Its outputs are the fixtures in tests/golden/series.csv:

    python3 tests/oracles/series.py > tests/golden/series.csv
"""
import math

import numpy as np

from fixture import SEGMENT, SEGMENTS, TOKENS, parameter, print_header, text

CHANNELS, TIMES, SEEN, LABEL, ASKED = 8, 2, 4, 2, 4


def philox(key, counter):
    """Philox 4x32-10 (Salmon et al. 2011) on four words."""
    c, k = list(counter), list(key)
    for _ in range(10):
        low, high = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(high >> 32) ^ c[1] ^ k[0], high & 0xFFFFFFFF, (low >> 32) ^ c[3] ^ k[1], low & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def random_word(op, index):
    """Element `index` of what op number `op` of a pass draws from: seed 1, step 0, the stream of dropout."""
    mixed = (1 ^ (2 * 0x9E3779B97F4A7C15)) & 0xFFFFFFFFFFFFFFFF
    return philox((mixed & 0xFFFFFFFF, mixed >> 32), (index // 4, 0, 0, op))[index % 4]


def linear(x, name, out):
    return x @ parameter(name + ".weight", x.shape[-1], out) + parameter(name + ".bias", out)


def norm(x, name):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    gain, bias = parameter(name + ".gain", x.shape[-1]), parameter(name + ".bias", x.shape[-1])
    return (x - mean) / np.sqrt(variance + 1e-5) * gain + bias


def gelu(x):
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def sinusoid(length, width):
    table = np.zeros((length, width))
    for t in range(length):
        for i in range(0, width, 2):
            angle = t / 10000 ** (i / width)
            table[t, i], table[t, i + 1] = math.sin(angle), math.cos(angle)
    return table


class Forecaster:
    def __init__(self, layers=2, decoder_layers=1, width=8, heads=2, hidden=12, sinusoids=True):
        self.layers, self.decoder_layers, self.width, self.heads, self.hidden = layers, decoder_layers, width, heads, hidden
        self.sinusoids, self.draws = sinusoids, 0

    def embed(self, x, name):
        """A circular convolution over three steps: cross-correlation, as PyTorch's Conv1d with padding 1."""
        kernel = parameter(name + ".value.weight", 3 * CHANNELS, self.width).reshape(3, CHANNELS, self.width)
        bias = parameter(name + ".value.bias", self.width)
        y = np.stack([bias + sum(x[(t + tap - 1) % len(x), :CHANNELS] @ kernel[tap] for tap in range(3))
                      for t in range(len(x))])
        y = y + linear(x[:, CHANNELS:], name + ".time", self.width)
        return y + sinusoid(len(x), self.width) if self.sinusoids else y

    def context(self, kind, q, k, v, masked):
        """One head's output."""
        scores = q @ k.T / math.sqrt(q.shape[1])
        visible = np.ones(scores.shape, bool)
        if masked:
            visible = np.tril(visible)
        if kind == "log":
            for i in range(len(q)):
                for j in range(len(k)):
                    apart = abs(i - j)
                    visible[i, j] &= apart <= self.local or apart in (1, 2, 4, 8, 16)
        return softmax(np.where(visible, scores, -np.inf)) @ v

    def prob(self, q, k, v, masked, op):
        """All heads of ProbSparse attention: [length][heads][head_width]."""
        length = len(q)
        count = min(self.factor * math.ceil(math.log(length)), length)
        samples = [[random_word(op, i * count + s) * length >> 32 for s in range(count)] for i in range(length)]
        out = np.zeros_like(q)
        for h in range(self.heads):
            measure = []
            for i in range(length):
                dots = [q[i, h] @ k[j, h] for j in samples[i]]
                measure.append(max(dots) - sum(dots) / length)
            chosen = np.argsort(-np.array(measure), kind="stable")[:count]
            out[:, h] = np.cumsum(v[:, h], 0) if masked else v[:, h].mean(0)
            full = self.context("full", q[:, h], k[:, h], v[:, h], masked)
            out[chosen, h] = full[chosen]
        return out

    def past(self, x, taps):
        """What a causal convolution of `taps` steps sees: [length][taps * width], the oldest first."""
        padded = np.concatenate([np.zeros((taps - 1, x.shape[1])), x])
        return np.concatenate([padded[tap:tap + len(x)] for tap in range(taps)], 1)

    def attention(self, x, source, name, kind, masked=False, mix=False, taps=1):
        def project(y, part):
            return linear(y, f"{name}.{part}", self.width).reshape(len(y), self.heads, -1)
        q, k, v = project(self.past(x, taps), "query"), project(self.past(source, taps), "key"), project(source, "value")
        if kind == "prob":
            out = self.prob(q, k, v, masked, self.draws)
            self.draws += 1
        else:
            out = np.stack([self.context(kind, q[:, h], k[:, h], v[:, h], masked) for h in range(self.heads)], 1)
        if mix:  # [heads][length][head_width] read as rows of heads * head_width
            out = out.transpose(1, 0, 2)
        return linear(out.reshape(len(x), self.width), name + ".out", self.width)

    def feed_forward(self, x, name):
        y = linear(gelu(linear(x, name + ".feed_forward.in", self.hidden)), name + ".feed_forward.out", self.width)
        return norm(x + y, name + ".norm")

    def window(self, x):
        """Predictions for the last ASKED steps of x [SEEN + ASKED][CHANNELS + TIMES]."""
        self.draws = 0
        y = self.embed(x[:SEEN], "encoder.embedding")
        for i in range(self.layers):
            n = f"encoder.layers.{i}"
            y = norm(y + self.attention(y, y, n + ".attention", self.kind, taps=self.taps), n + ".attention.norm")
            y = self.feed_forward(y, n)
        encoded = norm(y, "encoder.norm")
        y = self.embed(x[SEEN - LABEL:], "decoder.embedding")
        for i in range(self.decoder_layers):
            n = f"decoder.layers.{i}"
            own = self.attention(y, y, n + ".attention", self.kind, True, self.mix, self.taps)
            y = norm(y + own, n + ".attention.norm")
            y = norm(y + self.attention(y, encoded, n + ".cross", "full"), n + ".cross.norm")
            y = self.feed_forward(y, n)
        return linear(norm(y, "decoder.norm")[LABEL:], "projection", CHANNELS)


class Informer(Forecaster):
    def __init__(self, attention="prob", factor=5, mix=True, **options):
        super().__init__(**options)
        self.kind, self.factor, self.mix, self.taps = attention, factor, mix, 1


class LogSparse(Forecaster):
    def __init__(self, kernel=3, local=0, **options):
        super().__init__(**options)
        self.kind, self.mix, self.taps, self.local = "log", False, kernel, local


def vectors(tokens):
    """Tokens as windows: features are sines of them, the channels of the steps to predict are zeros."""
    x = np.array([[math.sin(1.3 * token + 0.7 * f) for f in range(CHANNELS + TIMES)] for token in tokens])
    x[SEEN:, :CHANNELS] = 0
    return x


def print_case(name, create, base, **options):
    model = create(**options)
    words = " ".join([base] + [f"{key}={text(value)}" for key, value in options.items()])
    for s in range(SEGMENTS):
        predictions = model.window(vectors(TOKENS[s * SEGMENT:(s + 1) * SEGMENT]))
        for position, row in enumerate(predictions):
            for channel, value in enumerate(row):
                print(f"{name},{words},{s},{position},{channel},{value:.17g}")


def main():
    print_header()
    base = "width=8 heads=2 hidden=12 dropout=0"
    print_case("informer", Informer, base, factor=1, decoder_layers=2)
    print_case("informer", Informer, base, factor=1, mix=False, sinusoids=False)
    print_case("informer", Informer, base, attention="full", layers=1)
    print_case("informer", Informer, base, factor=5)
    print_case("logsparse", LogSparse, base, kernel=3)
    print_case("logsparse", LogSparse, base, kernel=1, local=3, decoder_layers=2)
    print_case("logsparse", LogSparse, base, kernel=2, layers=1, sinusoids=False)


main()
