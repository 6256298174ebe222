"""What the PyTorch peers have in common: an exported run as tensors, the protocol of step times, peak memory."""
import argparse
import math
import time

import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile

import exported
from exported import mean_loss, quartiles, rate_at


def read(path):
    """The tensors of a safetensors file of F32, as longhaul writes them."""
    return {name: torch.from_numpy(array) for name, array in exported.read(path).items()}


class Run(exported.Run):
    """What `longhaul export` left in a folder, as tensors."""

    def __init__(self, folder):
        super().__init__(folder)
        self.weights = {name: torch.from_numpy(array) for name, array in self.weights.items()}
        self.parts = [torch.from_numpy(part) for part in (self.tokens, self.target, self.loss_weights, self.starts)]

    def batch(self, index, device, dtype):
        """tokens, target, weights, starts."""
        tokens, target, weights, starts = self.parts
        return [part[index].to(device, non_blocking=True) for part in (tokens, target, weights.to(dtype), starts)]


def timing_arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--precision", choices=("f64", "f32", "tf32", "bf16"), default="f32")
    parser.add_argument("--threads", type=int, default=0, help="0: as PyTorch likes")
    parser.add_argument("--warmup", type=int, default=1, help="steps before those that are timed")
    parser.add_argument("--eager", action="store_true", help="without torch.compile")
    return parser


def arguments(description):
    parser = timing_arguments(description)
    parser.add_argument("folder", help="what `longhaul export --out` wrote")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--following", type=int, default=0, help="steps after those, timed together, as in a run")
    return parser


def settle(options):
    """Threads and precision of the process; a graph for every shape of parameter."""
    torch._dynamo.config.recompile_limit = 64
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.backends.cuda.matmul.fp32_precision = "tf32" if options.precision == "tf32" else "ieee"


def synchronize(device):
    if device != "cpu":
        torch.cuda.synchronize()


def timed(step, device, indices):
    """Losses of these steps, and ms of each, waited for one by one as longhaul's own (harness/train/step_timer.c)."""
    losses, times = [], []
    for index in indices:
        start = time.perf_counter()
        losses.append(step(index))
        synchronize(device)
        times.append(1000 * (time.perf_counter() - start))
    return losses, times


def followed(step, device, indices):
    """Losses of these steps, and ms of each on average, none of them waited for but the last."""
    start = time.perf_counter()
    losses = [step(index) for index in indices]
    synchronize(device)
    return losses, 1000 * (time.perf_counter() - start) / max(len(losses), 1)


def peak_of_step(step, kept):
    """Most bytes that PyTorch's CPU allocator lends during a step, the tensors `kept` from before it included."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        loss = step()
    now = most = sum(tensor.nbytes for tensor in kept)
    for event in sorted(seen.profiler.kineto_results.events(), key=lambda event: event.start_ns()):
        if event.name() == "[memory]":
            now += event.nbytes()
            most = max(most, now)
    return most, loss


def by_layer(params, layers):
    """The parameters of each layer by their names in it."""
    prefixes = [f"layers.{i}." for i in range(layers)]
    return [{name[len(prefix):]: x for name, x in params.items() if name.startswith(prefix)} for prefix in prefixes]


def loss_of_logits(logits, target, loss_weights):
    """Mean loss over what is to be predicted."""
    nats = F.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="none")
    return (nats * loss_weights.flatten()).sum() / loss_weights.sum()


def make_step(run, params, update, loss_of):
    """A training step with the batch of an index; `loss_of` takes the parts of a batch (Run.batch)."""
    like = next(iter(params.values()))

    def step(index):
        loss = loss_of(*run.batch(index, like.device, like.dtype))
        loss.backward()
        update(index, rate_at(run.train, index))
        for value in params.values():
            value.grad = None
        return loss.detach()
    return step


def train(step, run, options, kept):
    """Takes a step with every exported batch: a warm-up, ones timed alone, ones timed in a row, and the last for the
    memory of a CPU. `kept` gives the tensors that live from step to step."""
    count, device = run.tokens.shape[0], options.device
    least = options.warmup + options.following + 2
    if count < least:
        raise SystemExit(f"a warm-up of {options.warmup} wants {least} batches or more, the run has {count}")
    alone = count - 1 - options.following
    losses, _ = timed(step, device, range(options.warmup))
    if device != "cpu":
        torch.cuda.reset_peak_memory_stats()
    more, times = timed(step, device, range(options.warmup, alone))
    rest, following = followed(step, device, range(alone, count - 1))
    if device == "cpu":
        peak, last = peak_of_step(lambda: step(count - 1), kept())
    else:
        last, peak = step(count - 1), torch.cuda.max_memory_allocated()
    losses = (torch.stack([*losses, *more, *rest, last]).double() / math.log(2)).tolist()
    in_a_row = {"following_step_ms": following} if rest else {}
    report(**quartiles(times), **in_a_row, peak_memory_bytes=peak,
           loss_bits=mean_loss(run, losses), losses=" ".join(f"{loss:.12g}" for loss in losses))


def report(**values):
    exported.report(**values, torch=torch.__version__)
