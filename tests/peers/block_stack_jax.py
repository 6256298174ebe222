"""Training steps of `slide` and of `brt` with recurrence fixed:skip in JAX, the language of the papers' own releases, for
comparison: reads what `longhaul export` wrote and prints "name,value" lines: step time and its quartiles, the loss of
every step.

    python3 tests/peers/block_stack_jax.py FOLDER [--threads 2]

Written from the paper (Hutchins et al. 2022), not from longhaul: one jitted function for a step, arguments donated,
the blocks of the recurrence in a scan. f32 alone: XLA's bf16 products are no faster on a CPU.
"""
import argparse
import math
import os
import time

from exported import Run, block_stack_options, bucket, mean_loss, only, quartiles, rate_at, report

EPSILON, BUCKETS, TINY, SMALLEST_SCALE = 1e-6, 32, 1e-30, 1e-3


class Stack:
    """The model as functions of a dictionary of parameters; shapes are fixed by the options."""

    def __init__(self, options, jax):
        self.o, self.jax, self.np = options, jax, jax.numpy
        np = jax.numpy
        self.window, self.heads = options["window"], options["heads"]
        self.head_width = options["head_width"] or options["width"] // self.heads
        chosen = options.get("recurrent_layers", []) if options.get("recurrence", "none") != "none" else []
        self.recurrent = {options["layers"] + l if l < 0 else l - 1 for l in chosen}
        distance = np.arange(self.window, 2 * self.window)[:, None] - np.arange(2 * self.window)
        nearest = 0 if options["see_self"] else 1
        self.hidden = (distance < nearest) | (distance >= nearest + self.window)
        buckets = np.array([bucket(max(0, d)) for d in range(-self.window, 2 * self.window)])
        self.one_hot = jax.nn.one_hot(buckets[distance + self.window].ravel(), BUCKETS)

    def norm(self, p, x, name):
        mean = self.np.square(x).mean(-1, keepdims=True)
        return x * self.jax.lax.rsqrt(mean + EPSILON) * p[name + ".gain"]

    def project(self, p, x, name):
        y = x @ p[name]
        return y.reshape(*y.shape[:-1], self.heads, self.head_width)

    def unit(self, p, x, name):
        y = self.project(p, x, name)
        squares = self.np.square(y).sum(-1, keepdims=True)
        return y * self.jax.lax.rsqrt(squares + EPSILON) if self.o["normalize"] else y

    def query(self, p, x, name, scale):
        factor = p[scale][:, None] if self.o["normalize"] else self.head_width ** -0.5
        return self.unit(p, x, name) * factor

    def attend(self, q, k, v, mask=None):
        """[rows][length][heads][head width]."""
        scores = self.np.einsum("rqhd,rkhd->rhqk", q, k)
        if mask is not None:
            scores = scores + mask
        return self.np.einsum("rhqk,rkhd->rqhd", self.jax.nn.softmax(scores, -1), v)

    def mask(self, p):
        if not self.o["position_bias"]:
            return self.np.where(self.hidden, -math.inf, 0.0)
        table = p["attention.position_bias"]
        if self.o["normalize"]:
            table = table * p["attention.scale"][:, None]
        values = (table @ self.one_hot.T).reshape(self.heads, *self.hidden.shape)
        return self.np.where(self.hidden, -math.inf, values)

    def in_blocks(self, both):
        blocks = both.reshape(both.shape[0], -1, self.window, *both.shape[2:])
        pairs = self.np.concatenate([blocks[:, :-1], blocks[:, 1:]], 2)
        return pairs.reshape(-1, *pairs.shape[2:])

    def attend_window(self, p, u, k, v):
        q = self.query(p, u, "attention.query", "attention.scale").reshape(-1, self.window, self.heads, self.head_width)
        return self.attend(q, self.in_blocks(k), self.in_blocks(v), self.mask(p)).reshape(*u.shape[:2], -1)

    def next_state(self, p, c, w, ks, vs, k, v):
        to_states = self.attend(self.query(p, w, "state.query_self", "state.scale_self"), ks, vs)
        to_tokens = self.attend(self.query(p, w, "state.query_token", "state.scale_token"), k, v)
        read = self.np.concatenate([part.reshape(*w.shape[:2], -1) for part in (to_states, to_tokens)], -1)
        keep = self.jax.nn.sigmoid(p["state.attention_gate.bias"])
        return c * keep + read @ p["state.attention_gate.z"] * (1 - keep)

    def recur(self, p, u, k, v, c):
        """A scan over blocks: tokens read the states, states read the tokens of two blocks."""
        queries = self.query(p, u, "attention.query_state", "attention.scale_state")
        blocks = u.shape[1] // self.window

        def block(c, at):
            w = self.norm(p, c, "state.norm") + p["state.ids"]
            ks, vs = self.unit(p, w, "state.key"), self.project(p, w, "state.value")
            begin = at * self.window
            cut = lambda x, size: self.jax.lax.dynamic_slice_in_dim(x, begin, size, 1)
            read = self.attend(cut(queries, self.window), ks, vs)
            return self.next_state(p, c, w, ks, vs, cut(k, 2 * self.window), cut(v, 2 * self.window)), read

        c, read = self.jax.lax.scan(block, c, self.np.arange(blocks))
        read = self.np.moveaxis(read, 0, 1).reshape(u.shape[0], u.shape[1], -1)
        return read, c

    def layer(self, p, x, cache, c):
        u = self.norm(p, x, "attention.norm")
        k = self.np.concatenate([cache[0], self.unit(p, u, "attention.key")], 1)
        v = self.np.concatenate([cache[1], self.project(p, u, "attention.value")], 1)
        attended = self.attend_window(p, u, k, v)
        if c is not None:
            read, c = self.recur(p, u, k, v, c)
            attended = self.np.concatenate([attended, read], -1)
        x = x + attended @ p["attention.out"]
        hidden = self.jax.nn.relu(self.norm(p, x, "feed_forward.norm") @ p["feed_forward.in"])
        cache = [self.jax.lax.stop_gradient(part[:, -self.window:]) for part in (k, v)]
        return x + hidden @ p["feed_forward.out"], cache, c

    def own(self, params, i):
        prefix = f"layers.{i}."
        return {name[len(prefix):]: x for name, x in params.items() if name.startswith(prefix)}

    def begin(self, params, rows):
        empty = self.np.zeros((rows, self.window, self.heads, self.head_width))
        first = {i: self.np.broadcast_to(params[f"layers.{i}.state.initial"],
                                         (rows, *params[f"layers.{i}.state.initial"].shape)) for i in self.recurrent}
        # every buffer its own: they are donated
        return [[empty + 0, empty + 0] for _ in range(self.o["layers"])], {i: x + 0 for i, x in first.items()}

    def loss(self, params, tokens, target, weights, starts, caches, states):
        np = self.np
        kept, starting = (1 - starts)[:, None, None, None], (starts > 0)[:, None, None]
        x = params["embedding.weight"][tokens]
        next_caches, next_states = [], {}
        for i in range(self.o["layers"]):
            p = self.own(params, i)
            c = np.where(starting, p["state.initial"], states[i]) if i in self.recurrent else None
            x, cache, c = self.layer(p, x, [part * kept for part in caches[i]], c)
            next_caches.append(cache)
            if c is not None:
                next_states[i] = self.jax.lax.stop_gradient(c)
        logits = self.norm(params, x, "norm") @ params["embedding.weight"].T
        divisor = {"sqrt_vocabulary": self.o["vocabulary"], "sqrt_width": self.o["width"], "one": 1}
        log = self.jax.nn.log_softmax(logits * divisor[self.o["logit_divisor"]] ** -0.5, -1)
        nats = -np.take_along_axis(log, target[..., None], -1)[..., 0]
        return (nats * weights).sum() / weights.sum(), (next_caches, next_states)


class Adafactor:
    """Shazeer and Stern 2018, as T5X has it."""

    def __init__(self, jax, options):
        only(options, optimizer="adafactor", clip=0, weight_decay=0)
        self.np, self.jax, self.o = jax.numpy, jax, options

    def moments(self, x):
        if x.ndim == 2 and min(x.shape) >= self.o["factor_minimum"]:
            return self.np.zeros((x.shape[0], 1)), self.np.zeros((1, x.shape[1]))
        return (self.np.zeros_like(x),)

    def begin(self, params):
        return {k: (self.moments(x), self.np.zeros_like(x)) for k, x in params.items()}

    def update_one(self, x, g, second, first, rate, beta2):
        mix = lambda old, new: old + (new - old) * (1 - beta2)
        squares, rsqrt = g * g + TINY, self.jax.lax.rsqrt
        if len(second) == 2:
            row, column = mix(second[0], squares.mean(1, keepdims=True)), mix(second[1], squares.mean(0, keepdims=True))
            second, y = (row, column), g * rsqrt(row / row.mean()) * rsqrt(column)
        else:
            second = (mix(second[0], squares),)
            y = g * rsqrt(second[0])
        y = y / self.np.maximum(self.np.sqrt((y * y).mean()) / self.o["update_clip"], 1.0)
        if self.o["parameter_scale"]:
            rate = rate * self.np.maximum(self.np.sqrt((x * x).mean()), SMALLEST_SCALE)
        first = first + (rate * y - first) * (1 - self.o["momentum"])
        return x - first, (second, first)

    def __call__(self, params, kept, grads, rate, step):
        beta2 = 1 - (step + 1.0) ** -self.o["second_moment_decay"]
        made = {k: self.update_one(x, grads[k], *kept[k], rate, beta2) for k, x in params.items()}
        return {k: x for k, (x, _) in made.items()}, {k: kept for k, (_, kept) in made.items()}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="what `longhaul export --out` wrote")
    parser.add_argument("--threads", type=int, default=0, help="0: as many as there are")
    parser.add_argument("--warmup", type=int, default=1, help="steps before those that are timed")
    return parser.parse_args()


def main():
    options = arguments()
    os.environ["JAX_PLATFORMS"] = "cpu"
    if options.threads:  # XLA makes as many as the process may run on
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:options.threads])
    import jax
    run = Run(options.folder)
    model, optimizer = Stack(block_stack_options(run), jax), Adafactor(jax, run.train)
    params = {name: jax.numpy.asarray(value) for name, value in run.weights.items()}
    kept, carried = optimizer.begin(params), model.begin(params, run.tokens.shape[1])

    def step(params, kept, carried, batch, rate, index):
        differentiate = jax.value_and_grad(model.loss, has_aux=True)
        (loss, carried), grads = differentiate(params, *batch, *carried)
        params, kept = optimizer(params, kept, grads, rate, index)
        return loss, params, kept, carried

    step, losses, times = jax.jit(step, donate_argnums=(0, 1, 2)), [], []
    for index in range(run.tokens.shape[0]):
        batch = run.tokens[index], run.target[index], run.loss_weights[index], run.starts[index]
        start = time.perf_counter()
        loss, params, kept, carried = step(params, kept, carried, batch, rate_at(run.train, index), float(index))
        jax.block_until_ready(params)
        times.append(1000 * (time.perf_counter() - start))
        losses.append(float(loss) / math.log(2))
    report(**quartiles(times[options.warmup:]), loss_bits=mean_loss(run, losses),
           losses=" ".join(f"{loss:.12g}" for loss in losses), jax=jax.__version__)


main()
