"""Reformer (Kitaev et al. 2020) from its equations and the released code of September 2019, in NumPy: the fixture
tests/golden/reformer.csv:

    python3 tests/oracles/reformer.py > tests/golden/reformer.csv

LSH attention is written as the paper prints it, round by round with its own softmax, finite penalties and partition
functions; the kernels use one softmax over all rounds. Rotations come from an own Philox 4x32-10."""
import math

import numpy as np

import fixture
from fixture import parameter

MASK = 0xFFFFFFFF
SEED, STREAM, STEP = 1, 2, 0  # of the tests' forward passes


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & MASK, (p0 >> 32) ^ c[3] ^ k[1], p0 & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def words(op, count):
    mixed = SEED ^ (STREAM * 0x9E3779B97F4A7C15 & (1 << 64) - 1)
    key = (mixed & MASK, mixed >> 32)
    blocks = [philox((block, STEP >> 32, STEP & MASK, op), key) for block in range((count + 3) // 4)]
    return [word for block in blocks for word in block][:count]


def normals(op, count):
    u = [(word + 0.5) / 2 ** 32 for word in words(op, 2 * count)]
    return np.array([math.sqrt(-2 * math.log(a)) * math.cos(2 * math.pi * b) for a, b in zip(u[::2], u[1::2])])


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def unit_keys(q):
    """Root-mean-square normalised, and the scores divided by the root of the head's width."""
    return q / np.sqrt((q ** 2).mean(-1, keepdims=True) + 1e-6) / math.sqrt(q.shape[-1])


def hash_buckets(q, rotation, factors):
    """q [length][width], rotation [width][sum of factors / 2]: eq. of section 2, a digit for each factor."""
    bucket, place, at = np.zeros(len(q), int), 1, 0
    for factor in factors:
        y = q @ rotation[:, at:at + factor // 2]
        bucket += place * np.concatenate([y, -y], 1).argmax(1)
        place, at = place * factor, at + factor // 2
    return bucket


def lsh_attention(q, v, buckets, chunk):
    """buckets [rounds][length]; eqs. 14-18 for one head. Chunks of all rounds stand in one row, each looks at itself
    and the one before."""
    rounds, length = buckets.shape
    k = unit_keys(q)
    chunks, of = [], {}
    for r in range(rounds):
        order = sorted(range(length), key=lambda t: (buckets[r, t], t))
        for begin in range(0, length, chunk):
            for t in order[begin:begin + chunk]:
                of[r, t] = len(chunks)
            chunks.append([(r, t) for t in order[begin:begin + chunk]])

    def reached(r, i):
        """What the pair of chunks holds that is of i's bucket in this round."""
        here = of[r, i]
        both = chunks[here] + (chunks[here - 1] if len(chunks) > 1 else [])
        return [j for s, j in both if s == r and buckets[r, j] == buckets[r, i]]

    out = np.zeros_like(v)
    for i in range(length):
        lse, o = np.zeros(rounds), np.zeros((rounds, v.shape[1]))
        for r in range(rounds):
            scores, keys = [], reached(r, i)
            for j in keys:
                count = sum(j in reached(s, i) for s in range(rounds))
                mask = np.inf if j > i else 1e5 if j == i else 0.0
                scores.append(q[i] @ k[j] - math.log(count) - mask)
            scores = np.array(scores)
            lse[r] = scores.max() + math.log(np.exp(scores - scores.max()).sum())
            o[r] = np.exp(scores - lse[r]) @ v[keys]
        out[i] = softmax(lse) @ o
    return out


class Reformer:
    def __init__(self, width, layers=2, heads=2, hidden=12, positions=(16,), position_widths=(), attention="lsh",
                 residual="reversible", rounds=1, chunk=64, buckets=(), local_chunk=64):
        self.__dict__.update(locals())
        self.kinds = attention.split(",")
        self.plain = residual == "plain"

    def norm(self, x, name):
        n = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6)
        return n * parameter(name + "norm.gain", x.shape[-1]) + parameter(name + "norm.bias", x.shape[-1])

    def factors(self, length):
        """Two buckets a chunk; the tests stay below 128 of them."""
        return self.buckets or (2 * max(1, length // self.chunk),)

    def rotations(self, length, head_width):
        """[heads][head_width][rounds][columns], for one batch row; each layer is the next random op."""
        columns = sum(factor // 2 for factor in self.factors(length))
        shape = (self.heads, head_width, self.rounds, columns)
        self.op += 1
        return normals(self.op - 1, int(np.prod(shape))).reshape(shape)

    def attend(self, kind, name, x):
        length, w = len(x), self.width // self.heads
        shared = kind in ("shared", "shared_plain", "lsh")
        n = self.norm(x, name)
        split = lambda p: (n @ parameter(name + p, self.width, self.width)).reshape(length, self.heads, w)
        q, v = split("query_key" if shared else "query"), split("value")
        k = q if shared else split("key")
        rotations = self.rotations(length, w) if kind == "lsh" else None
        out = np.zeros((length, self.heads, w))
        for h in range(self.heads):
            if kind == "lsh":
                buckets = np.stack([hash_buckets(q[:, h], rotations[h, :, r], self.factors(length))
                                    for r in range(self.rounds)])
                out[:, h] = lsh_attention(q[:, h], v[:, h], buckets, self.chunk)
                continue
            scores = q[:, h] @ (unit_keys(q[:, h]) if kind == "shared" else k[:, h] / math.sqrt(w)).T
            for i in range(length):
                low = max(0, (i // self.local_chunk - 1) * self.local_chunk) if kind == "local" else 0
                s = scores[i, low:i + 1].copy()
                if kind == "shared":
                    s[-1] -= 1e5
                out[i, h] = softmax(s) @ v[low:i + 1, h]
        return out.reshape(length, self.width) @ parameter(name + "out", self.width, self.width)

    def feed_forward(self, name, x):
        h = self.norm(x, name) @ parameter(name + "in", self.width, self.hidden) + parameter(name + "in_bias",
                                                                                             self.hidden)
        return np.maximum(h, 0) @ parameter(name + "out", self.hidden, self.width) + parameter(name + "out_bias",
                                                                                               self.width)

    def place(self, x):
        tables, inner = [], int(np.prod(self.positions))
        for a, size in enumerate(self.positions):
            inner //= size
            table = parameter(f"positions.{a}.weight", size,
                              self.position_widths[a] if self.position_widths else self.width)
            tables.append(np.stack([table[p // inner % size] for p in range(len(x))]))
        return x + (np.concatenate(tables, 1) if self.position_widths else sum(tables))

    def segment(self, tokens):
        self.op = 0
        x = self.place(parameter("embedding.weight", fixture.VOCABULARY, self.width)[tokens])
        one = two = x
        for i in range(self.layers):
            kind, name = self.kinds[i % len(self.kinds)], f"layers.{i}."
            if self.plain:
                one = one + self.attend(kind, name + "attention.", one)
                one = one + self.feed_forward(name + "feed_forward.", one)
            else:
                one = one + self.attend(kind, name + "attention.", two)
                two = two + self.feed_forward(name + "feed_forward.", one)
        return self.norm(one if self.plain else np.concatenate([one, two], 1), "")


def create(**options):
    return Reformer(**options)


def print_case(**options):
    join = lambda value: ",".join(map(str, value)) if isinstance(value, tuple) else value
    base = "layers=2 heads=2 hidden=12 dropout=0"
    named = {"positions": (16,), **options}
    fixture.print_case("reformer", " ".join([base] + [f"{k}={join(v)}" for k, v in named.items()]),
                       create(**{**options, "positions": named["positions"]}))


if __name__ == "__main__":
    fixture.print_header()
    print_case(width=4, chunk=4)
    print_case(width=4, chunk=2, rounds=3)
    print_case(width=4, chunk=3, rounds=2, buckets=(2,))
    print_case(width=4, chunk=2, rounds=4, buckets=(2, 4), residual="two_streams")
    print_case(width=8, chunk=8, rounds=2, residual="plain")
    print_case(width=8, chunk=1, rounds=2, buckets=(2,), residual="plain")
    print_case(width=8, attention="shared,full", residual="plain")
    print_case(width=4, attention="local,shared_plain", local_chunk=3)
    print_case(width=4, attention="shared,lsh", chunk=4, positions=(2, 4), position_widths=(1, 3))
    print_case(width=8, attention="full", positions=(2, 2, 2), residual="plain")
