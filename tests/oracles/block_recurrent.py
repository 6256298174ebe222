"""A plain block-recurrent transformer in NumPy, written from the paper and the facts of its code, token by
token and head by head where that is clearest, in double precision. It shares nothing with longhaul but the names of
the parameters. Its outputs are the fixtures in tests/golden/block_recurrent.csv:

    python3 tests/oracles/block_recurrent.py > tests/golden/block_recurrent.csv

Every parameter element e of name n is 0.5 * sin(0.37 * e + 1.3 * (sum of n's bytes mod 97) + 0.1), gains and scales
1 + 0.2 * that, so that no weight file is needed.
"""
import numpy as np

VOCABULARY, WIDTH, HEADS, HEAD, WINDOW, HIDDEN, LAYERS = 11, 8, 2, 4, 4, 32, 3
SEGMENT, SEGMENTS = 8, 2


class Parameters:
    def get(self, name, *shape):
        e = np.arange(int(np.prod(shape)), dtype=float)
        value = 0.5 * np.sin(0.37 * e + 1.3 * (sum(name.encode()) % 97) + 0.1)
        if name.endswith("gain") or ".scale" in name:
            value = 1 + 0.2 * value
        return value.reshape(shape)


P = Parameters()


def rms(x, gain):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * gain


def unit(x):
    return x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6)


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


def gate(name, kind, layout, c, y):
    z = y @ P.get(name + ".z", y.shape[1], WIDTH)
    if layout == "single":
        z = np.tanh(z)
    if kind == "fixed":
        g = sigmoid(P.get(name + ".bias", WIDTH))
        return c * g + z * (1 - g)
    f = sigmoid(y @ P.get(name + ".forget", y.shape[1], WIDTH) + P.get(name + ".forget_bias", WIDTH) + 1)
    i = sigmoid(y @ P.get(name + ".input", y.shape[1], WIDTH) + P.get(name + ".input_bias", WIDTH) - 1)
    return c * f + z * i


class Model:
    def __init__(self, kind, layout, states, feedback):
        self.kind, self.layout, self.states, self.feedback = kind, layout, states, feedback
        self.recurrent = LAYERS - 3  # third from the top

    def start(self):
        zero = np.zeros((WINDOW, HEADS, HEAD))
        self.cache = [(zero, zero) for _ in range(LAYERS)]
        self.c = P.get(f"layers.{self.recurrent}.state.initial", self.states, WIDTH)

    def state_keys(self):
        n = f"layers.{self.recurrent}.state"
        w = rms(self.c, P.get(n + ".norm.gain", WIDTH)) + P.get(n + ".ids", self.states, WIDTH)
        square = (WIDTH, HEADS * HEAD)
        return w, unit(heads(w, P.get(n + ".key", *square))), heads(w, P.get(n + ".value", *square))

    def step(self, w, ks, vs, ke, ve):
        """The horizontal direction: next state from the states and the tokens of two blocks."""
        n = f"layers.{self.recurrent}.state"
        square = (WIDTH, HEADS * HEAD)
        a1 = attend(unit(heads(w, P.get(n + ".query_self", *square))), ks, vs, P.get(n + ".scale_self", HEADS))
        a2 = attend(unit(heads(w, P.get(n + ".query_token", *square))), ke, ve, P.get(n + ".scale_token", HEADS))
        h = np.concatenate([a1.reshape(self.states, -1), a2.reshape(self.states, -1)], 1)
        c = self.c
        if self.layout != "single":
            c = gate(n + ".attention_gate", self.kind, self.layout, c, h)
        if self.layout != "skip":
            y = h if self.layout == "single" else rms(c, P.get(n + ".feed_forward.norm.gain", WIDTH))
            hidden = np.maximum(0, y @ P.get(n + ".feed_forward.in", y.shape[1], HIDDEN))
            c = gate(n + ".feed_forward_gate", self.kind, self.layout, c, hidden)
        self.c = c

    def layer_block(self, l, x, fed_back):
        """One block of WINDOW tokens through layer l."""
        n = f"layers.{l}.attention"
        square = (WIDTH, HEADS * HEAD)
        u = rms(x, P.get(n + ".norm.gain", WIDTH))
        k, v = unit(heads(u, P.get(n + ".key", *square))), heads(u, P.get(n + ".value", *square))
        q = unit(heads(u, P.get(n + ".query", *square)))
        ke, ve = np.concatenate([self.cache[l][0], k]), np.concatenate([self.cache[l][1], v])
        own = attend(q, ke, ve, P.get(n + ".scale", HEADS), P.get(n + ".position_bias", HEADS, 32),
                     visible=lambda i, j: i + WINDOW - WINDOW <= j < i + WINDOW,
                     distance=lambda i, j: i + WINDOW - j)
        parts = [own.reshape(len(x), -1)]
        if l == self.recurrent or self.feedback:
            w, ks, vs = self.state_keys() if l == self.recurrent else fed_back
            read = attend(unit(heads(u, P.get(n + ".query_state", *square))), ks, vs, P.get(n + ".scale_state", HEADS))
            parts.append(read.reshape(len(x), -1))
            if l == self.recurrent:
                self.step(w, ks, vs, ke, ve)
        joined = np.concatenate(parts, 1)
        x = x + joined @ P.get(n + ".out", joined.shape[1], WIDTH)
        f = f"layers.{l}.feed_forward"
        y = rms(x, P.get(f + ".norm.gain", WIDTH))
        x = x + np.maximum(0, y @ P.get(f + ".in", WIDTH, HIDDEN)) @ P.get(f + ".out", HIDDEN, WIDTH)
        self.cache[l] = (k, v)
        return x

    def segment(self, tokens):
        x = P.get("embedding.weight", VOCABULARY, WIDTH)[tokens]
        out = []
        for b in range(0, len(tokens), WINDOW):
            block = x[b:b + WINDOW]
            fed_back = self.state_keys() if self.feedback else None
            for l in range(LAYERS):
                block = self.layer_block(l, block, fed_back)
            out.append(block)
        return rms(np.concatenate(out), P.get("norm.gain", WIDTH))


def main():
    print("options,segment,position,channel,hidden")
    tokens = [(7 * i * i + 3 * i + 1) % VOCABULARY for i in range(SEGMENT * SEGMENTS)]
    for kind in ("fixed", "lstm"):
        for layout in ("dual", "single", "skip"):
            for states, feedback in ((4, False), (3, True)):
                model = Model(kind, layout, states, feedback)
                model.start()
                text = f"recurrence={kind}:{layout} states={states} feedback={str(feedback).lower()}"
                for s in range(SEGMENTS):
                    hidden = model.segment(tokens[s * SEGMENT:(s + 1) * SEGMENT])
                    for position in (0, 3, 4, 7):
                        for channel in range(WIDTH):
                            print(f"{text},{s},{position},{channel},{hidden[position, channel]:.12g}")


main()
