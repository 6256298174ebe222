"""Informer (Zhou et al. 2021), LogSparse (Li et al. 2019) and Transformer-XL (Dai et al. 2019) for time series, each also
with recurrence encoding (RSA, Huang et al. 2023, eqs. 2-4 and appendix D), in plain NumPy, window by window, in double
precision: the equations one by one, attention and recurrence as matrices. It shares nothing with longhaul but the names
of the parameters and the random numbers of Philox. Its outputs are the fixtures in tests/golden/series.csv:

    python3 tests/oracles/series.py > tests/golden/series.csv
"""
import math

import numpy as np

from fixture import SEGMENT, SEGMENTS, TOKENS, cell, parameter, print_header, text

CHANNELS, TIMES, SEEN, LABEL, ASKED, STRIDE = 8, 2, 4, 2, 4, 2


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


def encodings(name, kinds, dilation):
    """f(t) of every head with a recurrence encoding, in the order k1 .. k6: cosine and sine heads in pairs."""
    eta = parameter(name + ".eta", kinds[0] + kinds[3])
    pairs = [max(kinds[1:3]), max(kinds[4:6])]
    nu, theta = (parameter(f"{name}.{part}", sum(pairs)) for part in ("nu", "theta"))
    functions, dilations = [], list(dilation)
    for dilated in (0, 1):
        for kind in range(3):
            for i in range(kinds[3 * dilated + kind]):
                d = dilations.pop(0) if dilated else 1
                pair = i + dilated * pairs[0]
                decay = np.tanh(eta[i + dilated * kinds[0]]) if kind == 0 else 1 / (1 + np.exp(-nu[pair]))
                wave = [lambda t: 1, lambda t, a=pair: np.cos(t * theta[a]), lambda t, a=pair: np.sin(t * theta[a])][kind]
                functions.append(lambda lag, d=d, decay=decay, wave=wave: decay ** (lag // d) * wave(lag // d)
                                 if lag > 0 and lag % d == 0 else 0)
    return functions


def recurrence(name, kinds, dilation, out, v, query_times, key_times, masked):
    """(1 - g) out + g P v for the first heads; out and v are [length][heads][head_width]."""
    if not any(kinds):
        return out
    gate = 1 / (1 + np.exp(-parameter(name + ".mu", 1)[0]))
    out = out.copy()
    for h, f in enumerate(encodings(name, kinds, dilation)):
        lags = [[a - b if masked else abs(a - b) for b in key_times] for a in query_times]
        matrix = np.array([[f(lag) for lag in row] for row in lags])
        out[:, h] = (1 - gate) * out[:, h] + gate * matrix @ v[:, h]
    return out


class Forecaster:
    def __init__(self, layers=2, decoder_layers=1, width=8, heads=2, hidden=12, sinusoids=True,
                 rsa_kinds=(0,) * 6, rsa_dilation=()):
        self.kinds, self.dilation = rsa_kinds, rsa_dilation
        self.layers, self.decoder_layers, self.width, self.heads, self.hidden = layers, decoder_layers, width, heads, hidden
        self.sinusoids, self.draws, self.distil = sinusoids, 0, False

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
                    apart = abs(i - j) % self.restart if self.restart else abs(i - j)
                    visible[i, j] &= apart <= self.local or apart in (0, 1, 2, 4, 8, 16)
        return softmax(np.where(visible, scores, -np.inf)) @ v

    def prob(self, q, k, v, masked, op):
        """All heads of ProbSparse attention: [length][heads][head_width]."""
        length = len(q)
        count = max(1, min(self.factor * math.ceil(math.log(length)), length))
        samples = [[random_word(op, i * count + s) * length >> 32 for s in range(count)] for i in range(length)]
        out = np.zeros_like(q)
        self.chosen = np.zeros((length, self.heads), bool)
        for h in range(self.heads):
            measure = []
            for i in range(length):
                dots = [q[i, h] @ k[j, h] for j in samples[i]]
                measure.append(max(dots) - sum(dots) / length)
            chosen = np.argsort(-np.array(measure), kind="stable")[:count]
            self.chosen[np.ix_(chosen, [h])] = True
            out[:, h] = np.cumsum(v[:, h], 0) if masked else v[:, h].mean(0)
            full = self.context("full", q[:, h], k[:, h], v[:, h], masked)
            out[chosen, h] = full[chosen]
        return out

    def past(self, x, taps):
        """What a causal convolution of `taps` steps sees: [length][taps * width], the oldest first."""
        padded = np.concatenate([np.zeros((taps - 1, x.shape[1])), x])
        return np.concatenate([padded[tap:tap + len(x)] for tap in range(taps)], 1)

    def attention(self, x, source, name, kind, masked=False, mix=False, taps=1, start=0):
        """`start`: the time of x's first step, where the source's first is 0."""
        def project(y, part):
            return linear(y, f"{name}.{part}", self.width).reshape(len(y), self.heads, -1)
        q, k, v = project(self.past(x, taps), "query"), project(self.past(source, taps), "key"), project(source, "value")
        if kind == "prob":
            out = self.prob(q, k, v, masked, self.draws)
            self.draws += 1
        else:
            out = np.stack([self.context(kind, q[:, h], k[:, h], v[:, h], masked) for h in range(self.heads)], 1)
        times = range(start, start + len(x))
        mixed = recurrence(name, self.kinds, self.dilation, out, v, times, range(len(source)), masked)
        out = np.where(self.chosen[:, :, None], mixed, out) if kind == "prob" and not self.lazy else mixed
        if mix:  # [heads][length][head_width] read as rows of heads * head_width
            out = out.transpose(1, 0, 2)
        return linear(out.reshape(len(x), self.width), name + ".out", self.width)

    def distilled(self, x, name):
        """Zhou et al. 2021, eq. 5: convolution with circular padding, normalisation by running statistics, ELU, the
        maximum over three steps around every second one; no step beyond an end counts."""
        kernel = parameter(name + ".convolution.weight", 3 * self.width, self.width).reshape(3, self.width, self.width)
        bias = parameter(name + ".convolution.bias", self.width)
        y = np.stack([bias + sum(x[(t + tap - 1) % len(x)] @ kernel[tap] for tap in range(3)) for t in range(len(x))])
        gain, shift, mean, variance = (parameter(f"{name}.norm.{part}", self.width)
                                       for part in ("gain", "bias", "mean", "variance"))
        y = (y - mean) / np.sqrt(variance + 1e-5) * gain + shift
        y = np.where(y > 0, y, np.expm1(np.minimum(y, 0)))
        return np.stack([y[max(t - 1, 0):t + 2].max(0) for t in range(0, len(y), 2)])

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
            if self.distil and i < self.layers - 1:
                y = self.distilled(y, f"encoder.distilling.{i}")
        encoded = norm(y, "encoder.norm")
        y = self.embed(x[SEEN - LABEL:], "decoder.embedding")
        for i in range(self.decoder_layers):
            n = f"decoder.layers.{i}"
            own = self.attention(y, y, n + ".attention", self.kind, True, self.mix, self.taps)
            y = norm(y + own, n + ".attention.norm")
            read = self.attention(y, encoded, n + ".cross", "full", start=SEEN - LABEL)
            y = norm(y + read, n + ".cross.norm")
            y = self.feed_forward(y, n)
        return linear(norm(y, "decoder.norm")[LABEL:], "projection", CHANNELS)


class Informer(Forecaster):
    def __init__(self, attention="prob", factor=5, mix=True, distil=False, rsa_lazy=True, **options):
        super().__init__(**options)
        self.distil, self.lazy = distil, rsa_lazy
        self.kind, self.factor, self.mix, self.taps = attention, factor, mix, 1


class LogSparse(Forecaster):
    def __init__(self, kernel=3, local=0, restart=0, **options):
        super().__init__(**options)
        self.kind, self.mix, self.taps, self.local, self.restart = "log", False, kernel, local, restart


class XL(Forecaster):
    def __init__(self, layers=3, memory=SEEN, positions="relative", **options):
        super().__init__(layers=layers, sinusoids=False, **options)
        self.positions = positions
        self.memory = [np.zeros((memory, self.width)) for _ in range(layers)]

    def relative_scores(self, q, k, name, h, times, key_times):
        """((q + u) . k + (q + v) . r) / sqrt(head_width) with r of the distance, sine and cosine by turns; u and v of the
        first layer serve all."""
        head = self.width // self.heads
        def part(vector):
            return vector.reshape(-1, self.heads, head)[:, h]
        if self.positions == "none":
            return q @ k.T / math.sqrt(head)
        u, v = (part(parameter(f"layers.0.attention.relative.{x}", self.width)[None])[0] for x in ("content", "position"))
        projection = parameter(name + ".relative.projection", self.width, self.width)
        r = part(sinusoid(40, self.width) @ projection)
        scores = np.full((len(times), len(key_times)), -np.inf)
        for i, a in enumerate(times):
            for j, b in enumerate(key_times):
                if b <= a:
                    scores[i, j] = ((q[i] + u) @ k[j] + (q[i] + v) @ r[a - b]) / math.sqrt(head)
        return scores

    def window(self, x):
        y = self.embed(x, "embedding")
        times, head = range(len(x)), self.width // self.heads
        for i in range(self.layers):
            n, memory = f"layers.{i}.attention", self.memory[i]
            both = np.concatenate([memory, y])
            key_times = range(-len(memory), len(x))
            q = (y @ parameter(n + ".query", self.width, self.width)).reshape(-1, self.heads, head)
            joined = (both @ parameter(n + ".key_value", self.width, 2 * self.width)).reshape(-1, 2, self.heads, head)
            k, v = joined[:, 0], joined[:, 1]
            out = np.zeros_like(q)
            for h in range(self.heads):
                scores = self.relative_scores(q[:, h], k[:, h], n, h, times, key_times)
                visible = np.array([[b <= a for b in key_times] for a in times])
                out[:, h] = softmax(np.where(visible, scores, -np.inf)) @ v[:, h]
            out = recurrence(n, self.kinds, self.dilation, out, v, times, key_times, True)
            self.memory[i] = np.concatenate([memory, y[:STRIDE]])[-len(memory):]
            y = norm(y + out.reshape(len(x), self.width) @ parameter(n + ".out", self.width, self.width), n + ".norm")
            n = f"layers.{i}.feed_forward"
            y = norm(y + linear(np.maximum(linear(y, n + ".in", self.hidden), 0), n + ".out", self.width), n + ".norm")
        return linear(y[SEEN:], "projection", CHANNELS)


class Linear:
    """DLinear and NLinear (Zeng et al. 2023, section 4), channel by channel and step by step."""
    def __init__(self, kernel=25, decompose=True, subtract_last=False):
        self.kernel, self.decompose, self.subtract_last = kernel, decompose, subtract_last

    def average(self, series):
        half = (self.kernel - 1) // 2
        padded = [series[0]] * half + list(series) + [series[-1]] * half
        return np.array([sum(padded[t:t + self.kernel]) / self.kernel for t in range(len(series))])

    def channel(self, series):
        last = series[-1] if self.subtract_last else 0
        series = series - last
        if not self.decompose:
            return linear(series, "seasonal", ASKED) + last
        trend = self.average(series)
        return linear(series - trend, "seasonal", ASKED) + linear(trend, "trend", ASKED) + last

    def window(self, x):
        return np.stack([self.channel(x[:SEEN, c]) for c in range(CHANNELS)], axis=1)


class SeasonalNaive:
    def __init__(self, season=24):
        self.season = season

    def window(self, x):
        return np.array([x[SEEN - self.season + t % self.season, :CHANNELS] for t in range(ASKED)])


def vectors(tokens):
    """Tokens as windows: features are sines of them, the channels of the steps to predict are zeros."""
    x = np.array([[math.sin(1.3 * token + 0.7 * f) for f in range(CHANNELS + TIMES)] for token in tokens])
    x[SEEN:, :CHANNELS] = 0
    return x


def words_of(value):
    return ",".join(map(str, value)) if isinstance(value, tuple) else text(value)


def print_case(name, create, base, **options):
    model = create(**options)
    words = " ".join([base][:len(base)] + [f"{key}={words_of(value)}" for key, value in options.items()])
    for s in range(SEGMENTS):
        predictions = model.window(vectors(TOKENS[s * SEGMENT:(s + 1) * SEGMENT]))
        for position, row in enumerate(predictions):
            for channel, value in enumerate(row):
                print(f"{name},{cell(words)},{s},{position},{channel},{value:.17g}")


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
    print_case("informer", Informer, base, factor=1, decoder_layers=2, rsa_kinds=(0, 1, 1, 0, 0, 0), sinusoids=False)
    print_case("informer", Informer, base, factor=1, rsa_kinds=(1, 0, 0, 1, 0, 0), rsa_dilation=(2,))
    print_case("logsparse", LogSparse, base, rsa_kinds=(0, 0, 0, 0, 1, 1), rsa_dilation=(2, 3), sinusoids=False)
    print_case("informer", Informer, base, factor=1, rsa_lazy=False, rsa_kinds=(1, 0, 0, 1, 0, 0), rsa_dilation=(2,))
    print_case("logsparse", LogSparse, base, kernel=2, restart=3)
    print_case("informer", Informer, base, layers=3, distil=True)
    print_case("informer", Informer, base, layers=4, factor=1, attention="full", decoder_layers=2, distil=True)
    print_case("series_xl", XL, base)
    print_case("series_xl", XL, base, layers=2, memory=7)
    print_case("dlinear", Linear, "", kernel=3)
    print_case("dlinear", Linear, "", kernel=7, subtract_last=True)
    print_case("dlinear", Linear, "", decompose=False, subtract_last=True)
    print_case("seasonal_naive", SeasonalNaive, "", season=1)
    print_case("seasonal_naive", SeasonalNaive, "", season=3)
    print_case("series_xl", XL, base, positions="none", memory=3, rsa_kinds=(0, 1, 0, 0, 0, 1), rsa_dilation=(2,))


main()
