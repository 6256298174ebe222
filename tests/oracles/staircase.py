"""The staircase family in plain NumPy, written from the paper (Ju et al., Staircase Attention for Recurrent
Processing of Sequences) and the facts of its code, token by token and head by head, in double precision. It shares
nothing with longhaul but the names of the parameters. Before it prints anything it asserts the identities of the
paper's section 3.3 and those that the schedules promise. Its outputs are the fixtures in tests/golden/staircase.csv:

    python3 tests/oracles/staircase.py > tests/golden/staircase.csv
"""
import numpy as np

from fixture import TOKENS, VOCABULARY, assert_equal, parameter, print_header, print_model, whole
from recurrence import recurrence


def layer_norm(name, x):
    gain, bias = parameter(name + ".gain", x.shape[-1]), parameter(name + ".bias", x.shape[-1])
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * gain + bias


def softmax(row):
    e = np.exp(row - row.max())
    return e / e.sum()


class Core:
    """The transformer core that the whole family shares. Distances `first` .. `first + reach - 1` are seen."""

    def __init__(self, layers=2, width=8, heads=2, hidden=16, head_width=0, reach=1, first=0, share_kv=False,
                 post_norm=False, rsa_kinds="", rsa_dilation=""):
        self.layers, self.width, self.heads, self.hidden = layers, width, heads, hidden
        self.head_width = head_width or width // heads
        self.reach, self.first, self.share_kv, self.post_norm = reach, first, share_kv, post_norm
        self.rsa = (rsa_kinds, rsa_dilation, 200)

    def embed(self, tokens):
        return parameter("embedding.weight", VOCABULARY, self.width)[tokens]

    def output(self, x):
        return x if self.post_norm else layer_norm("norm", x)

    def source(self, l):
        """The layer whose keys and values, and the norm before them, layer l has."""
        return f"layers.{0 if self.share_kv else l}.attention"

    def normed(self, l, x):
        """What layer l makes queries, keys and values of."""
        return x if self.post_norm else layer_norm(self.source(l) + ".norm", x)

    def zeros(self, count):
        return np.zeros((count, self.width))

    def mixed(self, l, h, weight, lags):
        """Huang et al., eq. 4: (1 - g) softmax + g P for the heads with a recurrence encoding."""
        name = f"layers.{l}.recurrence."
        encoded, entry = recurrence(name, *self.rsa) if self.rsa[0] else (0, None)
        if h >= encoded:
            return weight
        gate = 1 / (1 + np.exp(-parameter(name + "mu", 1)[0]))
        return (1 - gate) * weight + gate * np.array([entry(h, lag) for lag in lags])

    def attention(self, l, x, context):
        """x are the last len(x) positions of context, and both are the layer's inputs."""
        inner = self.heads * self.head_width
        own, source = f"layers.{l}.attention", self.source(l)
        q = self.normed(l, x) @ parameter(own + ".query", self.width, inner)
        n = self.normed(l, context)
        k, v = n @ parameter(source + ".key", self.width, inner), n @ parameter(source + ".value", self.width, inner)
        positions = parameter("positions", self.reach, self.head_width)
        read = np.zeros((len(x), inner))
        for i in range(len(x)):
            at = len(context) - len(x) + i
            seen = [j for j in range(len(context)) if self.first <= at - j < self.first + self.reach]
            for h in range(self.heads):
                part = slice(h * self.head_width, (h + 1) * self.head_width)
                score = np.array([q[i, part] @ k[j, part] + q[i, part] @ positions[at - j - self.first] for j in seen])
                weight = self.mixed(l, h, softmax(score / np.sqrt(self.head_width)), [at - j for j in seen])
                read[i, part] = sum(w * v[j, part] for w, j in zip(weight, seen))
        return read @ parameter(own + ".out", inner, self.width)

    def feed_forward(self, l, x):
        n = f"layers.{l}.feed_forward"
        inside = x if self.post_norm else layer_norm(n + ".norm", x)
        inside = inside @ parameter(n + ".in", self.width, self.hidden)
        inside = np.maximum(0, inside + parameter(n + ".in_bias", self.hidden))
        return inside @ parameter(n + ".out", self.hidden, self.width) + parameter(n + ".out_bias", self.width)

    def layer(self, l, x, context):
        x = x + self.attention(l, x, context)
        if not self.post_norm:
            return x + self.feed_forward(l, x)
        x = layer_norm(f"layers.{l}.attention.norm", x)
        return layer_norm(f"layers.{l}.feed_forward.norm", x + self.feed_forward(l, x))


class TransformerXL:
    """Every layer keeps its own inputs; a token sees `span` positions before it and not itself."""

    def __init__(self, span, **core):
        self.core, self.span = Core(reach=span, first=1, **core), span
        self.applied = list(range(self.core.layers))  # the layer of each application
        self.start()

    def start(self):
        self.memory = [self.core.zeros(self.span) for _ in self.applied]

    def segment(self, tokens):
        x = self.core.embed(tokens)
        for a, l in enumerate(self.applied):
            context = np.concatenate([self.memory[a], x])
            self.memory[a] = context[-self.span:]
            x = self.core.layer(l, x, context)
        return self.core.output(x)


class Universal(TransformerXL):
    """One layer, applied `steps` times, with a memory for each application."""

    def __init__(self, span, steps, **core):
        super().__init__(span, layers=1, **core)
        self.applied = [0] * steps
        self.start()


class Staircase:
    """Chunk c is in the steps c .. c + steps - 1, each of which passes it through the whole core (equation 3)."""

    def __init__(self, forward_size, steps, cache, segment_chunks=0, **core):
        self.core = Core(reach=forward_size * steps, **core)
        self.size, self.steps, self.cache, self.segment_chunks = forward_size, steps, cache, segment_chunks
        self.record = {}  # (step, layer, chunk) to what a later segment sees of it there
        self.chunks = 0  # of the segments before

    def segment(self, tokens):
        first, end = self.chunks, self.chunks + len(tokens) // self.size
        embedded = self.core.embed(tokens)
        state = {c: embedded[(c - first) * self.size:(c - first + 1) * self.size] for c in range(first, end)}
        for step in range(first, end + self.steps - 1):
            oldest = step - self.steps + 1
            own = range(max(first, oldest), min(step, end - 1) + 1)
            x = np.concatenate([state[c] for c in own])
            for l in range(self.core.layers):
                before = [self.record.get((step, l, c), self.core.zeros(self.size)) for c in self.cached(oldest, first)]
                y = self.core.layer(l, x, np.concatenate(before + [x]))
                for i, c in enumerate(own):
                    self.record[step, l, c] = (x if self.cache == "inputs" else y)[i * self.size:(i + 1) * self.size]
                x = y
            for i, c in enumerate(own):
                state[c] = x[i * self.size:(i + 1) * self.size]
        self.chunks = end
        return self.core.output(np.concatenate([state[c] for c in range(first, end)]))

    def cached(self, oldest, first):
        """The chunks that a step sees of the stream before its segment. The released code keeps those of one segment
        alone, but zeros for all of them before a stream."""
        shrinks = self.segment_chunks > 0 and first > 0
        return range(max(oldest, first - self.segment_chunks) if shrinks else oldest, first)


class CachedStaircase:
    """A chunk is frozen after `computed_steps` passes and stays in sight for the rest (section 3.2.1)."""

    def __init__(self, forward_size, step_size, computed_steps, **core):
        self.core = Core(reach=step_size, **core)
        self.size, self.steps, self.computed = forward_size, step_size // forward_size, computed_steps
        self.frozen, self.chunks = {}, 0

    def segment(self, tokens):
        first, end = self.chunks, self.chunks + len(tokens) // self.size
        embedded = self.core.embed(tokens)
        state = {c: embedded[(c - first) * self.size:(c - first + 1) * self.size] for c in range(first, end)}
        for step in range(first, end + self.computed - 1):
            own = range(max(first, step - self.computed + 1), min(step, end - 1) + 1)
            cached = range(step - self.steps + 1, own[0])
            before = [self.frozen.get(c, self.core.zeros(self.size)) for c in cached]
            x = np.concatenate([state[c] for c in own])
            for l in range(self.core.layers):
                x = self.core.layer(l, x, np.concatenate(before + [x]))
            for i, c in enumerate(own):
                state[c] = x[i * self.size:(i + 1) * self.size]
            if step - self.computed + 1 >= first:
                self.frozen[step - self.computed + 1] = state[step - self.computed + 1]
        self.chunks = end
        return self.core.output(np.concatenate([state[c] for c in range(first, end)]))


class Feedback:
    """One token at a time; every layer sees one and the same vector of each of the `span` tokens before."""

    def __init__(self, span, memory="mix", see_self=False, carry="raw", **core):
        self.core = Core(reach=span + see_self, first=0 if see_self else 1, **core)
        self.memory, self.span, self.carry = memory, span, carry
        self.past = [np.zeros(self.core.width) for _ in range(span)]

    def token(self, x):
        through = [x]
        for l in range(self.core.layers):
            x = self.core.layer(l, x[None], np.stack(self.past + [x]))[0]
            through.append(x)
        if self.memory == "mix":
            weight = softmax(parameter("memory.weight", self.core.layers + 1))
            remembered = sum(w * state for w, state in zip(weight, through))
        else:
            remembered = x
        self.past = self.past[1:] + [remembered]
        return x

    def segment(self, tokens):
        out = np.stack([self.token(x) for x in self.core.embed(tokens)])
        if self.carry == "normed":  # what stays of a segment has gone through the first layer's norm
            kept = min(len(tokens), self.span)
            self.past = self.past[:-kept] + list(self.core.normed(0, np.stack(self.past[-kept:])))
        return self.core.output(out)


def assert_different(a, b):
    assert np.abs(a - b).max() > 1e-5, np.abs(a - b).max()


def plain_transformer(tokens, **options):
    """No memory, no schedule: full causal attention with self over these tokens."""
    core = Core(reach=len(tokens), **options)
    x = core.embed(tokens)
    for l in range(core.layers):
        x = core.layer(l, x, x)
    return core.output(x)


def check_relations():
    """Section 3.3."""
    for steps in (2, 4, 7, 20):
        cached = CachedStaircase(1, steps, 1, layers=3)
        assert_equal(whole(cached, 8), whole(Feedback(steps - 1, "top", True, layers=3), 8))
    chunked = [plain_transformer(TOKENS[at:at + 8]) for at in (0, 8)]
    assert_equal(whole(Staircase(8, 1, "inputs"), 8), np.concatenate(chunked))
    assert_equal(whole(Staircase(8, 1, "outputs")), np.concatenate(chunked))
    assert_equal(whole(CachedStaircase(8, 8, 1), 8), np.concatenate(chunked))
    assert_equal(whole(Universal(5, 1), 8), whole(TransformerXL(5, layers=1), 8))
    for size, steps in ((4, 2), (2, 3), (1, 4)):  # nothing is frozen early: the staircase itself, from a fresh start
        assert_equal(whole(CachedStaircase(size, size * steps, steps)), whole(Staircase(size, steps, "inputs")))


def check_segments():
    """Where a stream is cut changes nothing, but for the caches that are documented to differ."""
    for size, steps in ((1, 3), (2, 3), (4, 2), (2, 5)):
        joined = whole(Staircase(size, steps, "inputs"))
        for cut in ((8,), (4,), (12,), (4, 4, 4)):
            assert_equal(whole(Staircase(size, steps, "inputs"), *cut), joined)
        assert_different(whole(Staircase(size, steps, "outputs"), 8), joined)
        assert_equal(whole(CachedStaircase(size, size * steps, 1), 4, 8), whole(CachedStaircase(size, size * steps, 1)))
        cached = CachedStaircase(size, size * steps, 2)
        assert_different(whole(cached, 8), whole(CachedStaircase(size, size * steps, 2)))
    for steps, same in ((2, True), (3, True), (5, False)):  # segments that have all chunks in reach, or fewer
        fewer, plain = (Staircase(2, steps, "outputs", chunks) for chunks in (2, 0))
        (assert_equal if same else assert_different)(whole(fewer, 4, 4, 4), whole(plain, 4, 4, 4))
    for create in (lambda: TransformerXL(12), lambda: Universal(5, 3), lambda: Feedback(5)):
        assert_equal(whole(create(), 3, 6), whole(create()))


CORE = "width=8 heads=2 hidden=16 dropout=0"


def main():
    check_relations()
    check_segments()
    print_header()
    for options in (dict(span=4), dict(span=12), dict(span=5, layers=3, head_width=3)):
        print_model("transformer_xl", TransformerXL, CORE, **{"layers": 2, **options})
    for span, steps in ((4, 1), (5, 3)):
        print_model("universal", Universal, CORE, span=span, steps=steps)
    rsa = dict(rsa_kinds="1,0,0,0,0,1", rsa_dilation="2")
    print_model("transformer_xl", TransformerXL, CORE, layers=2, span=5, **rsa)
    print_model("staircase", Staircase, CORE, layers=2, forward_size=2, steps=3, cache="inputs", **rsa)
    for size, steps in ((8, 1), (4, 2), (2, 3), (2, 5), (4, 4)):
        for cache in ("inputs", "outputs") if steps > 1 else ("inputs",):
            print_model("staircase", Staircase, CORE, layers=2, forward_size=size, steps=steps, cache=cache)
    print_model("staircase", Staircase, CORE, layers=3, head_width=3, forward_size=4, steps=2, cache="inputs")
    for size, step_size, computed in ((4, 8, 1), (2, 8, 1), (4, 16, 1), (1, 4, 1), (2, 8, 2), (4, 8, 2), (1, 6, 3)):
        print_model("cached_staircase", CachedStaircase, CORE, layers=2, forward_size=size, step_size=step_size,
                    computed_steps=computed)
    for memory, see_self, share_kv in (("mix", False, False), ("mix", False, True), ("mix", True, True),
                                       ("top", False, False), ("top", True, False)):
        print_model("feedback", Feedback, CORE, layers=2, span=5, memory=memory, see_self=see_self, share_kv=share_kv)
    for span, share_kv in ((5, False), (12, True)):
        print_model("feedback", Feedback, CORE, layers=2, span=span, share_kv=share_kv, carry="normed")
    for size, steps, chunks in ((2, 7, 4), (4, 5, 2), (4, 4, 2)):
        print_model("staircase", Staircase, CORE, layers=2, forward_size=size, steps=steps, cache="outputs",
                    segment_chunks=chunks)
    print_model("transformer_xl", TransformerXL, CORE, layers=2, span=5, post_norm=True)
    print_model("staircase", Staircase, CORE, layers=2, forward_size=2, steps=3, cache="outputs", post_norm=True)
    print_model("feedback", Feedback, CORE, layers=2, span=5, share_kv=True, post_norm=True)
    print_model("cached_staircase", CachedStaircase, CORE, layers=2, forward_size=2, step_size=8, computed_steps=2,
                post_norm=True)


main()
