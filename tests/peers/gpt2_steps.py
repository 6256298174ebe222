"""Training steps of GPT-2 in plain PyTorch, for comparison: reads what `longhaul export` wrote (options, first weights,
batches) and prints "name,value" lines as block_stack.py does.

    python3 tests/peers/gpt2_steps.py FOLDER [--device cuda --precision bf16]

Best practice: PyTorch's fused causal attention, torch.compile for the layers and the optimizer; in bf16 all activations,
with master weights and the loss in f32.
"""
import torch
import torch.nn.functional as F

import common
from exported import only
from optimizers import make_optimizer


class GPT2:
    def __init__(self, options, compute, eager):
        self.o, self.compute = options, compute
        parts = self.layer, self.head_loss
        self.run_layer, self.run_head = parts if eager else map(torch.compile, parts)

    def norm(self, p, x, name):
        return F.layer_norm(x, x.shape[-1:], p[name + ".gain"].to(x.dtype), p[name + ".bias"].to(x.dtype), 1e-5)

    def product(self, p, x, name):
        return x @ p[name].to(self.compute) + p[name + "_bias"].to(self.compute)

    def layer(self, p, x):
        joined = self.product(p, self.norm(p, x, "norm"), "attention.joined")
        q, k, v = (part.unflatten(-1, (self.o["heads"], -1)).transpose(1, 2) for part in joined.chunk(3, -1))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        x = x + self.product(p, attended, "attention.out")
        hidden = F.gelu(self.product(p, self.norm(p, x, "feed_forward.norm"), "feed_forward.in"), approximate="tanh")
        return x + self.product(p, hidden, "feed_forward.out")

    def head_loss(self, p, x, target, loss_weights):
        logits = self.norm(p, x, "norm") @ p["embedding.weight"].to(self.compute).t()
        return common.loss_of_logits(logits.to(loss_weights.dtype), target, loss_weights)

    def begin(self, params):
        self.params, self.own = params, common.by_layer(params, self.o["layers"])

    def loss(self, tokens, target, loss_weights, starts):
        """Each segment is a window of its own."""
        at = self.params["positions.weight"][:tokens.shape[1]]
        x = (F.embedding(tokens, self.params["embedding.weight"]) + at).to(self.compute)
        for own in self.own:
            x = self.run_layer(own, x)
        return self.run_head(self.params, x, target, loss_weights)


def gpt2_options(run):
    """The model's options, none of which this peer leaves unheeded."""
    if run.config["model"] != "gpt2":
        raise SystemExit(f"the peer has the model gpt2, the run has {run.config['model']}")
    only(run.model, dropout=0, rsa_kinds=[], window=0, overlap=0)
    return run.model


def main():
    options = common.arguments(__doc__.splitlines()[0]).parse_args()
    common.settle(options)
    run, device = common.Run(options.folder), options.device
    master = torch.float64 if options.precision == "f64" else torch.float32
    compute = torch.bfloat16 if options.precision == "bf16" else master
    params = {name: value.to(device, master).requires_grad_() for name, value in run.weights.items()}
    model = GPT2(gpt2_options(run), compute, options.eager)
    model.begin(params)
    update = make_optimizer(run.train, list(params.values()), options.eager)
    step = common.make_step(run, params, update, model.loss)
    common.train(step, run, options, lambda: [*params.values(), *update.kept])


main()
