"""Training steps of `slide` and of `brt` with recurrence fixed:skip in plain PyTorch, for comparison: reads what
`longhaul export` wrote (options, first weights, batches) and prints "name,value" lines: step time and its quartiles,
peak memory, the loss of every step.

    python3 tests/peers/block_stack.py FOLDER [--device cuda --precision bf16 --attention best]

Written from the paper (Hutchins et al. 2022) and best practice, not from longhaul: whole segments in parallel, fused
attention, torch.compile for each kind of layer and for the optimizer; in bf16 all activations, with master weights,
states, the norms' sums and the loss in f32. The window's attention is PyTorch's, over blocks of keys with their biases
as a mask (sdpa), or FlexAttention over the whole segment, which leaves out the tiles of keys that no query sees (flex);
best is the faster of the two on the device, as a first layer's passes there show.
"""
import math
import sys
import time

import torch
import torch.nn.functional as F
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.utils._pytree import tree_leaves

import common
from exported import block_stack_options, bucket
from optimizers import make_optimizer

EPSILON, BUCKETS = 1e-6, 32


def unit(x):
    squares = x.square().sum(-1, keepdim=True, dtype=torch.promote_types(x.dtype, torch.float32))
    return x * torch.rsqrt(squares + EPSILON).to(x.dtype)


class BlockStack:
    def __init__(self, options, device, compute, eager, attention="sdpa"):
        self.o, self.device, self.compute, self.eager = options, device, compute, eager
        self.attend_window = {"sdpa": self.attend_in_blocks, "flex": self.attend_whole}[attention]
        self.window, self.heads = options["window"], options["heads"]
        self.head_width = options["head_width"] or options["width"] // self.heads
        chosen = options.get("recurrent_layers", []) if options.get("recurrence", "none") != "none" else []
        self.recurrent = {options["layers"] + l if l < 0 else l - 1 for l in chosen}
        # A query of a block and the keys of its block and the one before.
        distance = torch.arange(self.window, 2 * self.window)[:, None] - torch.arange(2 * self.window)
        self.nearest = 0 if options["see_self"] else 1
        self.hidden = ((distance < self.nearest) | (distance >= self.nearest + self.window)).to(device)
        buckets = torch.tensor([bucket(max(0, d)) for d in range(-self.window, 2 * self.window)])
        # [window * 2 window][bucket]: reading and differentiating the bias are then products.
        self.one_hot = F.one_hot(buckets[distance + self.window].flatten(), BUCKETS).to(device, compute)
        # The same by distance alone, from 0 to the window.
        self.one_hot_distance = F.one_hot(buckets[self.window:2 * self.window + 1], BUCKETS).to(device, compute)
        self.block_masks = {}
        # One graph for all plain layers, one for recurrent ones: they differ in their parameters only.
        parts = self.layer, self.head_loss
        self.run_layer, self.run_head = parts if eager else map(torch.compile, parts)

    # ---- pieces; p: the parameters of a layer by their names in it ----

    def norm(self, p, x, name):
        return F.rms_norm(x, x.shape[-1:], p[name + ".gain"].to(x.dtype), EPSILON)

    def product(self, p, x, name):
        return x @ p[name].to(self.compute)

    def project(self, p, x, name):
        return self.product(p, x, name).unflatten(-1, (self.heads, self.head_width))

    def project_unit(self, p, x, name):
        y = self.project(p, x, name)
        return unit(y) if self.o["normalize"] else y

    def query(self, p, x, name, scale):
        """With the learned scale of their head, or 1 / sqrt(head width), already in them."""
        factor = p[scale].to(self.compute)[:, None] if self.o["normalize"] else self.head_width ** -0.5
        return self.project_unit(p, x, name) * factor

    def attend(self, q, k, v, mask=None):
        """[rows][length][heads][head width]."""
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=1.0).transpose(1, 2)

    # ---- the vertical direction: sliding window, section 3.1 ----

    def biases(self, p, one_hot):
        """[heads][...]: the position bias of what the rows of `one_hot` stand for."""
        table = p["attention.position_bias"]
        if self.o["normalize"]:
            table = table * p["attention.scale"][:, None]
        return table.to(self.compute) @ one_hot.t()

    def mask(self, p):
        """[1][heads][window][2 window]: position bias, -inf where a query does not look."""
        if not self.o["position_bias"]:
            return torch.zeros_like(self.hidden, dtype=self.compute).masked_fill(self.hidden, -math.inf)[None, None]
        values = self.biases(p, self.one_hot).view(1, self.heads, *self.hidden.shape)
        return values.masked_fill(self.hidden, -math.inf)

    def in_blocks(self, both):
        """[rows][window + length] -> [rows * blocks][2 window]: each block behind the one before it."""
        blocks = both.unflatten(1, (-1, self.window))
        return torch.cat([blocks[:, :-1], blocks[:, 1:]], 2).flatten(0, 1)

    def attend_in_blocks(self, p, u, k, v):
        q = self.query(p, u, "attention.query", "attention.scale")
        out = self.attend(q.reshape(-1, self.window, *q.shape[2:]), self.in_blocks(k), self.in_blocks(v), self.mask(p))
        return out.reshape(u.shape[0], u.shape[1], -1)

    def prepare(self, length):
        """What FlexAttention wants to know before a layer is compiled: which tiles of keys are seen at all."""
        def seen(row, head, i, j):
            distance = self.window + i - j
            return (distance >= self.nearest) & (distance < self.nearest + self.window)

        if length not in self.block_masks:
            self.block_masks[length] = create_block_mask(seen, None, None, length, self.window + length, self.device)

    def attend_whole(self, p, u, k, v):
        q, k, v = (x.transpose(1, 2) for x in (self.query(p, u, "attention.query", "attention.scale"), k, v))
        biased = None
        if self.o["position_bias"]:
            bias = self.biases(p, self.one_hot_distance)

            def biased(score, row, head, i, j):
                return score + bias[head, (self.window + i - j).clamp(0, self.window)]
        out = flex_attention(q, k, v, score_mod=biased, block_mask=self.block_masks[u.shape[1]], scale=1.0)
        return out.transpose(1, 2).flatten(2)

    def seconds_of_window(self, params, rows, length):
        """Of the attention of a first layer, both ways, on random numbers."""
        own = common.by_layer(params, self.o["layers"])[0]
        u = torch.randn(rows, length, self.o["width"], device=self.device).to(self.compute).requires_grad_()
        k, v = (torch.randn(rows, self.window + length, self.heads, self.head_width, device=self.device)
                .to(self.compute).requires_grad_() for _ in range(2))
        attend = self.attend_window if self.eager else torch.compile(self.attend_window)
        self.prepare(length)
        for index in range(8):
            if index == 3:
                common.synchronize(self.device)
                start = time.perf_counter()
            torch.autograd.grad(attend(own, u, k, v).sum(), (u, k, v))
        common.synchronize(self.device)
        return time.perf_counter() - start

    # ---- the horizontal direction, sections 3.2 to 3.6 ----

    def next_state(self, p, c, w, ks, vs, k, v):
        """The skip configuration with a fixed gate: no feed-forward network."""
        to_states = self.attend(self.query(p, w, "state.query_self", "state.scale_self"), ks, vs)
        to_tokens = self.attend(self.query(p, w, "state.query_token", "state.scale_token"), k, v)
        z = self.product(p, torch.cat([to_states.flatten(2), to_tokens.flatten(2)], -1), "state.attention_gate.z")
        keep = torch.sigmoid(p["state.attention_gate.bias"])
        return c * keep + z * (1 - keep)

    def recur(self, p, u, k, v, c):
        """Block by block: the tokens read the states, the states read the tokens of two blocks."""
        queries, read = self.query(p, u, "attention.query_state", "attention.scale_state"), []
        for at in range(0, u.shape[1], self.window):
            w = (self.norm(p, c, "state.norm") + p["state.ids"]).to(self.compute)
            ks, vs = self.project_unit(p, w, "state.key"), self.project(p, w, "state.value")
            read.append(self.attend(queries[:, at:at + self.window], ks, vs))
            both = slice(at, at + 2 * self.window)
            c = self.next_state(p, c, w, ks, vs, k[:, both], v[:, both])
        return torch.cat(read, 1).flatten(2), c

    # ---- the stack ----

    def layer(self, p, x, cache, c):
        """c: the states of a recurrent layer, else None."""
        u = self.norm(p, x, "attention.norm")
        k = torch.cat([cache[0], self.project_unit(p, u, "attention.key")], 1)
        v = torch.cat([cache[1], self.project(p, u, "attention.value")], 1)
        attended = self.attend_window(p, u, k, v)
        if c is not None:
            read, c = self.recur(p, u, k, v, c)
            attended = torch.cat([attended, read], -1)
        x = x + self.product(p, attended, "attention.out")
        hidden = F.relu(self.product(p, self.norm(p, x, "feed_forward.norm"), "feed_forward.in"))
        x = x + self.product(p, hidden, "feed_forward.out")
        return x, [part[:, -self.window:].detach().clone() for part in (k, v)], c

    def head_loss(self, p, x, target, loss_weights):
        """Mean loss over what is to be predicted."""
        logits = self.norm(p, x, "norm") @ p["embedding.weight"].to(self.compute).t()
        divisor = {"sqrt_vocabulary": self.o["vocabulary"], "sqrt_width": self.o["width"], "one": 1}
        logits = logits.to(loss_weights.dtype) * divisor[self.o["logit_divisor"]] ** -0.5
        return common.loss_of_logits(logits, target, loss_weights)

    def begin(self, params, rows):
        """What a segment hands to the next, before the first: keys and values by layer, states by recurrent layer."""
        self.params, self.own = params, common.by_layer(params, self.o["layers"])
        table = params["embedding.weight"]
        empty = table.new_zeros(rows, self.window, self.heads, self.head_width, dtype=self.compute)
        states = {i: self.own[i]["state.initial"].detach().expand(rows, -1, -1) for i in self.recurrent}
        return [[empty, empty] for _ in self.own], states

    def loss(self, tokens, target, loss_weights, starts, caches, states):
        """The loss, and what the next segment gets. A row that starts a document forgets what it carried."""
        if self.attend_window == self.attend_whole:
            self.prepare(tokens.shape[1])
        kept, starting = (1 - starts).to(self.compute)[:, None, None, None], starts.bool()[:, None, None]
        x = F.embedding(tokens, self.params["embedding.weight"]).to(self.compute)
        next_caches, next_states = [], {}
        for i, own in enumerate(self.own):
            c = torch.where(starting, own["state.initial"], states[i]) if i in self.recurrent else None
            x, cache, c = self.run_layer(own, x, [part * kept for part in caches[i]], c)
            next_caches.append(cache)
            if c is not None:
                next_states[i] = c.detach()
        return self.run_head(self.params, x, target, loss_weights), next_caches, next_states


def choose(asked, build, params, run, device):
    """The model with the attention that was asked for; of best the one that is faster, or works at all: FlexAttention has
    kernels for some devices only, and on a processor no backward pass."""
    if asked != "best":
        return build(asked)
    if device == "cpu":
        return build("sdpa")
    seconds = {}
    for attention in ("sdpa", "flex"):
        try:
            seconds[attention] = build(attention).seconds_of_window(params, *run.tokens.shape[1:3])
        except RuntimeError as error:
            print(f"{attention} does not work here: {error}", file=sys.stderr)
    return build(min(seconds, key=seconds.get))


def main():
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument("--attention", choices=("sdpa", "flex", "best"), default="sdpa", help="of the window")
    options = parser.parse_args()
    common.settle(options)
    run, device = common.Run(options.folder), options.device
    master = torch.float64 if options.precision == "f64" else torch.float32
    compute = torch.bfloat16 if options.precision == "bf16" else master
    params = {name: value.to(device, master).requires_grad_() for name, value in run.weights.items()}
    shape = block_stack_options(run)
    model = choose(options.attention, lambda attention: BlockStack(shape, device, compute, options.eager, attention),
                   params, run, device)
    update = make_optimizer(run.train, list(params.values()), options.eager)
    carried = model.begin(params, run.tokens.shape[1])

    def loss_of(*batch):
        nonlocal carried
        loss, *carried = model.loss(*batch, *carried)
        return loss

    common.train(common.make_step(run, params, update, loss_of), run, options, lambda: [*params.values(), *update.kept, *tree_leaves(carried)])


if __name__ == "__main__":
    main()
