"""A plain block-recurrent transformer, its sliding-window baseline and the Memorizing Transformer in NumPy, written
from the papers and the facts of their code, token by token and head by head where that is clearest, in double
precision. It shares nothing with longhaul but the names of the parameters. Its outputs are the fixtures in
tests/golden/block_recurrent.csv:

    python3 tests/oracles/block_recurrent.py > tests/golden/block_recurrent.csv
"""
import numpy as np

from fixture import VOCABULARY, parameter, print_case, print_header, text

WIDTH, HEADS, HEAD, WINDOW, HIDDEN, LAYERS = 8, 2, 4, 4, 32, 3


def rms(x, gain):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * gain


def heads(x, weight):
    return (x @ weight).reshape(len(x), HEADS, HEAD)


def softmax(row):
    e = np.exp(row - row.max())
    return e / e.sum()


def bucket(distance):
    if distance < 16:
        return distance
    return min(31, 16 + int(np.log(distance / 16 + 1.19e-7) / np.log(128 / 16) * 16))


def attend(q, k, v, scale, bias=None, visible=None, distance=None):
    """out[i, h] = sum_j softmax_j(scale_h (q_ih . k_jh + bias)) v_jh, one query and head at a time."""
    out = np.zeros_like(q)
    for i in range(len(q)):
        keys = [j for j in range(len(k)) if visible is None or visible(i, j)]
        for h in range(HEADS):
            score = np.array([q[i, h] @ k[j, h] + (bias[h, bucket(distance(i, j))] if bias is not None else 0) for j in keys])
            weight = softmax(scale[h] * score)
            out[i, h] = sum(w * v[j, h] for w, j in zip(weight, keys))
    return out


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gate(name, kind, layout, c, y, tanh="code", bias=False):
    z = y @ parameter(name + ".z", y.shape[1], WIDTH)
    if bias:
        z = z + parameter(name + ".z_bias", WIDTH)
    if layout == "single" if tanh == "code" else kind == "lstm":  # the paper: eq. 4 has a tanh, eq. 1 has none
        z = np.tanh(z)
    if kind == "fixed":
        g = sigmoid(parameter(name + ".bias", WIDTH))
        return c * g + z * (1 - g)
    f = sigmoid(y @ parameter(name + ".forget", y.shape[1], WIDTH) + parameter(name + ".forget_bias", WIDTH) + 1)
    i = sigmoid(y @ parameter(name + ".input", y.shape[1], WIDTH) + parameter(name + ".input_bias", WIDTH) - 1)
    return c * f + z * i


class Model:
    def __init__(self, kind, layout, states, feedback, tanh="code", bias=False, normalize=True):
        self.kind, self.layout, self.states, self.feedback = kind, layout, states, feedback
        self.normalize = normalize
        self.rule = {"tanh": tanh, "bias": bias}
        self.recurrent = LAYERS - 3  # third from the top

    def unit(self, x):
        return x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6) if self.normalize else x

    def scale(self, name):
        """Of scores, by head: learned for queries and keys of unit length (Henry et al. 2020), else 1 / sqrt(d)."""
        return parameter(name, HEADS) if self.normalize else np.full(HEADS, HEAD ** -0.5)

    def bias(self, n):
        """To be scaled with the scores: the released code does so where the scale is learned, else adds it behind."""
        table = parameter(n + ".position_bias", HEADS, 32)
        return table if self.normalize else table / self.scale(n)[:, None]

    def start(self):
        zero = np.zeros((WINDOW, HEADS, HEAD))
        self.cache = [(zero, zero) for _ in range(LAYERS)]
        self.c = parameter(f"layers.{self.recurrent}.state.initial", self.states, WIDTH)

    def state_keys(self):
        n = f"layers.{self.recurrent}.state"
        w = rms(self.c, parameter(n + ".norm.gain", WIDTH)) + parameter(n + ".ids", self.states, WIDTH)
        square = (WIDTH, HEADS * HEAD)
        return w, self.unit(heads(w, parameter(n + ".key", *square))), heads(w, parameter(n + ".value", *square))

    def step(self, w, ks, vs, ke, ve):
        """The horizontal direction: next state from the states and the tokens of two blocks."""
        n = f"layers.{self.recurrent}.state"
        square = (WIDTH, HEADS * HEAD)
        a1 = attend(self.unit(heads(w, parameter(n + ".query_self", *square))), ks, vs, self.scale(n + ".scale_self"))
        a2 = attend(self.unit(heads(w, parameter(n + ".query_token", *square))), ke, ve, self.scale(n + ".scale_token"))
        h = np.concatenate([a1.reshape(self.states, -1), a2.reshape(self.states, -1)], 1)
        c = self.c
        if self.layout != "single":
            c = gate(n + ".attention_gate", self.kind, self.layout, c, h, **self.rule)
        if self.layout != "skip":
            y = h if self.layout == "single" else rms(c, parameter(n + ".feed_forward.norm.gain", WIDTH))
            hidden = np.maximum(0, y @ parameter(n + ".feed_forward.in", y.shape[1], HIDDEN))
            c = gate(n + ".feed_forward_gate", self.kind, self.layout, c, hidden, **self.rule)
        self.c = c

    def look_up(self, l, q, k, v, own):
        return own

    def layer_block(self, l, x, fed_back):
        """One block of WINDOW tokens through layer l."""
        n = f"layers.{l}.attention"
        square = (WIDTH, HEADS * HEAD)
        u = rms(x, parameter(n + ".norm.gain", WIDTH))
        k, v = self.unit(heads(u, parameter(n + ".key", *square))), heads(u, parameter(n + ".value", *square))
        q = self.unit(heads(u, parameter(n + ".query", *square)))
        ke, ve = np.concatenate([self.cache[l][0], k]), np.concatenate([self.cache[l][1], v])
        own = attend(q, ke, ve, self.scale(n + ".scale"), self.bias(n),
                     visible=lambda i, j: i + WINDOW - WINDOW <= j < i + WINDOW,
                     distance=lambda i, j: i + WINDOW - j)
        own = self.look_up(l, q, k, v, own)
        parts = [own.reshape(len(x), -1)]
        if l == self.recurrent or self.feedback:
            w, ks, vs = self.state_keys() if l == self.recurrent else fed_back
            read = attend(self.unit(heads(u, parameter(n + ".query_state", *square))), ks, vs, self.scale(n + ".scale_state"))
            parts.append(read.reshape(len(x), -1))
            if l == self.recurrent:
                self.step(w, ks, vs, ke, ve)
        joined = np.concatenate(parts, 1)
        x = x + joined @ parameter(n + ".out", joined.shape[1], WIDTH)
        f = f"layers.{l}.feed_forward"
        y = rms(x, parameter(f + ".norm.gain", WIDTH))
        x = x + np.maximum(0, y @ parameter(f + ".in", WIDTH, HIDDEN)) @ parameter(f + ".out", HIDDEN, WIDTH)
        self.cache[l] = (k, v)
        return x

    def segment(self, tokens):
        x = parameter("embedding.weight", VOCABULARY, WIDTH)[tokens]
        out = []
        for b in range(0, len(tokens), WINDOW):
            block = x[b:b + WINDOW]
            fed_back = self.state_keys() if self.feedback else None
            for l in range(LAYERS):
                block = self.layer_block(l, block, fed_back)
            out.append(block)
        return rms(np.concatenate(out), parameter("norm.gain", WIDTH))


class Plain(Model):
    """No recurrent states: the sliding-window model, and Transformer-XL where a segment is one block."""

    def __init__(self, normalize=True):
        super().__init__(None, None, 0, False, normalize=normalize)
        self.recurrent = None

    def start(self):
        zero = np.zeros((WINDOW, HEADS, HEAD))
        self.cache = [(zero, zero) for _ in range(LAYERS)]


class Memorizing(Plain):
    """Wu et al. 2022, section 3.2: one layer also attends to the `top` nearest of the `size` newest keys of earlier
    segments, and a gate per head mixes: local (1 - g) + memory g."""

    def __init__(self, layer, size, top, normalize=True):
        super().__init__(normalize)
        self.layer, self.size, self.top = layer, size, top
        self.memory, self.new = [], []

    def look_up(self, l, q, k, v, own):
        if l != self.layer:
            return own
        n = f"layers.{l}.attention"
        scale, g = self.scale(n + ".scale"), sigmoid(parameter(n + ".memory_gate", HEADS))
        self.new += list(zip(k, v))
        out = np.zeros_like(own)
        for i in range(len(q)):
            for h in range(HEADS):
                near = sorted(self.memory, key=lambda pair: -(q[i, h] @ pair[0][h]))[:self.top]
                found = np.zeros(HEAD)
                if near:
                    weight = softmax(scale[h] * np.array([q[i, h] @ pair[0][h] for pair in near]))
                    found = sum(w * pair[1][h] for w, pair in zip(weight, near))
                out[i, h] = (1 - g[h]) * own[i, h] + g[h] * found
        return out

    def segment(self, tokens):
        out = super().segment(tokens)
        self.memory = (self.memory + self.new)[-self.size:]
        self.new = []
        return out


def print_started(name, options, model):
    model.start()
    print_case(name, f"layers={LAYERS} width={WIDTH} heads={HEADS} hidden={HIDDEN} window={WINDOW} dropout=0" + options, model)


def main():
    print_header()
    for kind in ("fixed", "lstm"):
        for layout in ("dual", "single", "skip"):
            for states, feedback in ((4, False), (3, True)):
                options = f" recurrence={kind}:{layout} states={states} feedback={text(feedback)}"
                print_started("brt", options, Model(kind, layout, states, feedback))
    for kind, layout, bias in (("fixed", "single", True), ("lstm", "skip", False), ("lstm", "dual", True)):
        options = f" recurrence={kind}:{layout} states=4 gate_tanh=paper gate_bias={text(bias)}"
        print_started("brt", options, Model(kind, layout, 4, False, "paper", bias))
    print_started("brt", " recurrence=fixed:skip states=4 normalize=false",
                  Model("fixed", "skip", 4, False, normalize=False))
    print_started("slide", "", Plain())
    print_started("slide", " normalize=false", Plain(normalize=False))
    for layer, size, top in ((1, 6, 3), (2, 16, 8), (0, 3, 1)):
        print_started("memorizing", f" memory={size} top={top} memory_layer={layer + 1}", Memorizing(layer, size, top))
    print_started("memorizing", " memory=16 top=3 memory_layer=2 normalize=false", Memorizing(1, 16, 3, normalize=False))


main()
