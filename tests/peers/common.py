"""What the PyTorch peers have in common: longhaul's files, the protocol of step times, peak memory, "name,value" lines."""
import argparse
import json
import math
import os
import struct
import time

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile


def read(path):
    """The tensors of a safetensors file of F32, as longhaul writes them."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        values = np.frombuffer(data[begin:end], dtype="<f4").reshape(entry["shape"])
        tensors[name] = torch.from_numpy(values.copy())
    return tensors


class Run:
    """What `longhaul export` left in a folder: options, first weights, batches."""

    def __init__(self, folder):
        with open(os.path.join(folder, "run.json")) as file:
            self.config = json.load(file)
        self.model = {**self.config["model_options"], "vocabulary": self.config["vocabulary"]}
        self.train = self.config["train_options"]
        self.weights = read(os.path.join(folder, "weights.safetensors"))
        parts = read(os.path.join(folder, "batches.safetensors"))
        self.tokens, self.target, self.starts = (parts[name].long() for name in ("tokens", "target", "starts"))
        self.loss_weights = parts["weights"]

    def batch(self, index, device, dtype):
        """tokens, target, weights, starts."""
        parts = self.tokens, self.target, self.loss_weights.to(dtype), self.starts
        return [part[index].to(device, non_blocking=True) for part in parts]


def only(options, **permitted):
    """Refuses options that the peer does not follow, rather than to compare different things."""
    for name, value in permitted.items():
        if options[name] != value:
            raise SystemExit(f"the peer has only {name}={value}, the run has {options[name]}")


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("folder", help="what `longhaul export --out` wrote")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", choices=("f64", "f32", "tf32", "bf16"), default="f32")
    parser.add_argument("--threads", type=int, default=0, help="0: as PyTorch likes")
    parser.add_argument("--warmup", type=int, default=1, help="steps before those that are timed")
    parser.add_argument("--eager", action="store_true", help="without torch.compile")
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


def train(step, run, options, kept):
    """Takes a step with every exported batch: a warm-up, timed ones, and the last for the memory of a CPU. `kept` gives
    the tensors that live from step to step."""
    count, device = run.tokens.shape[0], options.device
    if count < options.warmup + 2:
        raise SystemExit(f"a warm-up of {options.warmup} wants {options.warmup + 2} batches or more, the run has {count}")
    losses, _ = timed(step, device, range(options.warmup))
    if device != "cpu":
        torch.cuda.reset_peak_memory_stats()
    more, times = timed(step, device, range(options.warmup, count - 1))
    if device == "cpu":
        peak, last = peak_of_step(lambda: step(count - 1), kept())
    else:
        last, peak = step(count - 1), torch.cuda.max_memory_allocated()
    losses = torch.stack([*losses, *more, last]).double() / math.log(2)
    weights = run.loss_weights.double().sum((1, 2))
    q1, median, q3 = np.quantile(times, (0.25, 0.5, 0.75))
    report(step_time_ms=median, step_time_q1_ms=q1, step_time_q3_ms=q3, peak_memory_bytes=peak,
           loss_bits=float((losses.cpu() * weights).sum() / weights.sum()),
           losses=" ".join(f"{loss:.12g}" for loss in losses.tolist()))


def report(**values):
    for name, value in values.items():
        print(f"{name},{value:.10g}" if isinstance(value, float) else f"{name},{value}")
    print(f"torch,{torch.__version__}")
