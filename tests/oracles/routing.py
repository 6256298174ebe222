"""Routing Transformer (Roy et al. 2020, algorithm 1) in double precision, head by head, cluster by cluster and query by
query, with PyTorch for gradients alone. It shares nothing with longhaul but the names of the parameters. Its outputs are
the fixtures in tests/golden/routing.csv, its training steps, in which the centroids move, those in
tests/golden/routing_steps.csv:

    python3 tests/oracles/routing.py > tests/golden/routing.csv
    python3 tests/oracles/routing.py --steps > tests/golden/routing_steps.csv
"""
import math
import sys

import torch

from fixture import VOCABULARY, parameter, print_header, print_model

ROWS, LENGTH, STEPS, RATE = 2, 8, 5, 0.1


def layer_norm(x, epsilon):
    centred = x - x.mean()
    return centred / torch.sqrt((centred ** 2).mean() + epsilon)


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def nearest_tokens(scores, count):
    """Positions of the largest scores, rising."""
    by_score = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    return sorted(by_score[:count])


class Routing:
    def __init__(self, layers=2, width=8, heads=2, head_width=0, hidden=12, window=256, clusters=16, routing_window=0,
                 routing_layers=-1, routing_heads=0, longest_distance=512, overlap="sum", routing_scale=0,
                 centroid_decay=0.999):
        self.layers, self.width, self.heads, self.hidden, self.window = layers, width, heads, hidden, window
        self.head_width = head_width or width // heads
        self.routing_layers = layers if routing_layers < 0 else routing_layers
        self.routing_heads = routing_heads or (heads + 1) // 2
        self.clusters, self.routing_window, self.longest = clusters, routing_window, longest_distance
        self.overlap, self.decay = overlap, centroid_decay
        self.scale = routing_scale or math.sqrt(self.head_width)
        self.values = {}
        self.seen = {}  # unit queries of a step's tokens, by layer and head

    def get(self, name, *shape):
        if name not in self.values:
            value = torch.tensor(parameter(name, *shape))
            self.values[name] = value if name.endswith("centroids") else value.requires_grad_()
        return self.values[name]

    def norm(self, x, name):
        return self.get(name + ".gain", len(x)) * layer_norm(x, 1e-5) + self.get(name + ".bias", len(x))

    def attend(self, query, keys, values, positions, scale):
        """One query; `positions` has the vector of each key's distance."""
        scores = torch.stack([scale * query @ (k + p) for k, p in zip(keys, positions)])
        weights = torch.exp(scores - scores.max())
        return sum(w * v for w, v in zip(weights / weights.sum(), values))

    def local_head(self, n, q, k, v):
        table = self.get(n + ".positions", 2 * self.window, self.head_width)
        out = []
        for i in range(len(q)):
            first = max(0, (i // self.window - 1) * self.window)
            past = range(first, i + 1)
            out.append(self.attend(q[i], [k[j] for j in past], [v[j] for j in past], [table[i - j] for j in past],
                                   1 / math.sqrt(self.head_width)))
        return out

    def routed_head(self, n, h, q, v):
        table = self.get(n + ".routing_positions", self.longest + 1, self.head_width)
        centroids = self.get(n + ".centroids", self.routing_heads, self.clusters, self.head_width)[h]
        u = [layer_norm(x, 1e-6) / math.sqrt(self.head_width) for x in q]
        self.seen.setdefault((n, h), []).extend(x.detach() for x in u)
        top = min(self.routing_window or -(-len(u) // self.clusters), len(u))
        out, times = [torch.zeros(self.head_width, dtype=torch.double) for _ in u], [0] * len(u)
        for c in range(self.clusters):
            taken = nearest_tokens([float(centroids[c] @ x.detach()) for x in u], top)
            for place, i in enumerate(taken):
                past = taken[:place + 1]
                between = [min(place - p, self.longest) for p in range(place + 1)]
                out[i] = out[i] + self.attend(u[i], [u[j] for j in past], [v[j] for j in past],
                                              [table[b] for b in between], self.scale)
                times[i] += 1
        return [y / (t + 0.01) if self.overlap == "mean" else y for y, t in zip(out, times)]

    def attention(self, l, xs):
        n = f"layers.{l}.attention"
        routed = self.routing_heads if l >= self.layers - self.routing_layers else 0
        local, inner = self.heads - routed, self.heads * self.head_width
        query, value = (self.get(f"{n}.{part}", self.width, inner) for part in ("query", "value"))
        heads = []
        for h in range(self.heads):
            own = slice(h * self.head_width, (h + 1) * self.head_width)
            q, v = [x @ query[:, own] for x in xs], [x @ value[:, own] for x in xs]
            if h < local:
                key = self.get(n + ".key", self.width, local * self.head_width)
                heads.append(self.local_head(n, q, [x @ key[:, own] for x in xs], v))
            else:
                heads.append(self.routed_head(n, h - local, q, v))
        out = self.get(n + ".out", inner, self.width)
        return [torch.cat(parts) @ out for parts in zip(*heads)]

    def feed_forward(self, l, x):
        n = f"layers.{l}.feed_forward"
        gate, inside = (x @ self.get(f"{n}.{part}", self.width, self.hidden) for part in ("gate", "in"))
        return (gelu(gate) * inside) @ self.get(n + ".out", self.hidden, self.width)

    def hidden_states(self, tokens):
        table = self.get("embedding.weight", VOCABULARY, self.width)
        xs = [table[t] for t in tokens]
        for l in range(self.layers):
            n = f"layers.{l}"
            xs = [self.norm(x + y, n + ".attention.norm") for x, y in zip(xs, self.attention(l, xs))]
            xs = [self.norm(x + self.feed_forward(l, x), n + ".feed_forward.norm") for x in xs]
        return xs

    def segment(self, tokens):
        return [x.detach().numpy() for x in self.hidden_states(tokens)]

    # ---- training ----

    def loss(self, rows, targets):
        weight, bias = self.get("head.weight", VOCABULARY, self.width), self.get("head.bias", VOCABULARY)
        nats = []
        for tokens, wanted in zip(rows, targets):
            for x, target in zip(self.hidden_states(tokens), wanted):
                logits = weight @ x + bias
                nats.append(torch.logsumexp(logits, 0) - logits[target])
        return sum(nats) / len(nats)

    def move_centroids(self):
        for (n, h), units in self.seen.items():
            centroids = self.values[n + ".centroids"][h]
            members = [[] for _ in range(self.clusters)]
            for u in units:
                scores = [float(c @ u) for c in centroids]
                members[scores.index(max(scores))].append(u)
            for c, own in enumerate(members):
                if own:
                    centroids[c] = self.decay * centroids[c] + (1 - self.decay) * sum(own) / len(own)
        self.seen = {}

    def step(self, rows, targets):
        loss = self.loss(rows, targets)
        loss.backward()
        with torch.no_grad():
            for value in self.values.values():
                if value.grad is not None:
                    value -= RATE * value.grad
                    value.grad = None
            self.move_centroids()
        return float(loss.detach())


BASE = {"layers": 2, "width": 8, "heads": 2, "hidden": 12}


def print_hidden():
    print_header()
    for options in ({"window": 2, "clusters": 3}, {"clusters": 1, "window": 4},
                    {"window": 3, "clusters": 2, "routing_window": 5, "routing_layers": 1},
                    {"window": 4, "routing_layers": 0},
                    {"clusters": 3, "routing_window": 4, "routing_heads": 2, "longest_distance": 1, "overlap": "mean",
                     "head_width": 3, "routing_scale": 3},
                    {"heads": 4, "window": 2, "clusters": 9, "routing_heads": 3}):
        print_model("routing", Routing, "dropout=0", **{**BASE, **options})


def print_steps():
    """The loss of each step and what it leaves: every centroid, and the sum of squares of every other parameter."""
    print("options,step,name,element,value")
    rows = [[(7 * i * i + 3 * i + 5 * r + 1) % VOCABULARY for i in range(LENGTH)] for r in range(ROWS)]
    targets = [[(3 * i + 4 * r + 2) % VOCABULARY for i in range(LENGTH)] for r in range(ROWS)]
    for options in ({"window": 2, "clusters": 3, "centroid_decay": 0.5},
                    {"heads": 4, "window": 3, "clusters": 4, "routing_window": 3, "overlap": "mean"}):
        model = Routing(**{**BASE, **options})
        text = " ".join(["dropout=0"] + [f"{k}={v}" for k, v in {**BASE, **options}.items()])
        for step in range(STEPS):
            print(f"{text},{step},loss,0,{model.step(rows, targets):.17g}")
            for name, value in model.values.items():
                flat = value.detach().reshape(-1)
                kept = flat if name.endswith("centroids") else (flat ** 2).sum().reshape(1)
                for element, number in enumerate(kept):
                    print(f"{text},{step},{name},{element},{float(number):.17g}")


print_steps() if "--steps" in sys.argv else print_hidden()
