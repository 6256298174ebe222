"""longhaul's optimizers in plain PyTorch: Adafactor (Shazeer and Stern 2018, as T5X has it), the others from
torch.optim."""
import torch

from exported import only

TINY, SMALLEST_SCALE = 1e-30, 1e-3


def moments_of(x, minimum):
    """Second moments: of rows and columns of a matrix whose sides are both large enough, else of every element."""
    if x.dim() == 2 and min(x.shape) >= minimum:
        return [x.new_zeros(x.shape[0], 1), x.new_zeros(1, x.shape[1])]
    return [torch.zeros_like(x)]


class Adafactor:
    def __init__(self, options, params, eager):
        self.o, self.params = options, params
        self.second = [moments_of(x.detach(), options["factor_minimum"]) for x in params]
        self.first = [torch.zeros_like(x) for x in params]
        self.kept = [*self.first, *(part for parts in self.second for part in parts)]
        self.update = self.update_one if eager else torch.compile(self.update_one, dynamic=False)

    def update_one(self, x, g, second, first, rate, beta2):
        squares = g.square() + TINY
        if len(second) == 2:
            row, column = second
            row.lerp_(squares.mean(1, keepdim=True), 1 - beta2)
            column.lerp_(squares.mean(0, keepdim=True), 1 - beta2)
            y = g * torch.rsqrt(row / row.mean()) * torch.rsqrt(column)
        else:
            second[0].lerp_(squares, 1 - beta2)
            y = g * torch.rsqrt(second[0])
        y = y / (y.square().mean().sqrt() / self.o["update_clip"]).clamp(min=1.0)
        if self.o["parameter_scale"]:
            rate = rate * x.square().mean().sqrt().clamp(min=SMALLEST_SCALE)
        first.lerp_(rate * y, 1 - self.o["momentum"])
        x.sub_(first)

    @torch.no_grad()
    def __call__(self, step, rate):
        beta2 = 1 - (step + 1) ** -self.o["second_moment_decay"]
        x = self.params[0]
        rate, beta2 = x.new_tensor(rate), x.new_tensor(beta2)
        for x, second, first in zip(self.params, self.second, self.first):
            self.update(x, x.grad, second, first, rate, beta2)


class FromTorch:
    """One of torch.optim under the run's schedule."""

    def __init__(self, optimizer):
        self.optimizer = optimizer

    @property
    def kept(self):
        return [part for parts in self.optimizer.state.values() for part in parts.values()]

    def __call__(self, step, rate):
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()


def make_optimizer(options, params, eager):
    """Called with a step and its learning rate, it updates the parameters; `kept` is its state."""
    only(options, clip=0, weight_decay=0)
    if options["optimizer"] == "adafactor":
        return Adafactor(options, params, eager)
    if options["optimizer"] == "sgd":
        return FromTorch(torch.optim.SGD(params, momentum=options["momentum"]))
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[options["optimizer"]]
    return FromTorch(kind(params, betas=(options["beta1"], options["beta2"]), eps=options["epsilon"],
                          weight_decay=0, fused=True))
