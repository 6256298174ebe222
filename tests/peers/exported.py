"""What `longhaul export` leaves in a folder, as NumPy arrays, and the schedules of its runs: all that every peer needs,
whatever library it is written in."""
import json
import math
import os
import struct

import numpy as np


def read(path):
    """The arrays of a safetensors file of F32, as longhaul writes them."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        arrays[name] = np.frombuffer(data[begin:end], dtype="<f4").reshape(entry["shape"]).copy()
    return arrays


class Run:
    """Options, first weights, batches."""

    def __init__(self, folder):
        with open(os.path.join(folder, "run.json")) as file:
            self.config = json.load(file)
        self.model = {**self.config["model_options"], "vocabulary": self.config["vocabulary"]}
        self.train = self.config["train_options"]
        self.weights = read(os.path.join(folder, "weights.safetensors"))
        parts = read(os.path.join(folder, "batches.safetensors"))
        self.tokens, self.target, self.starts = (parts[name].astype("int64") for name in ("tokens", "target", "starts"))
        self.loss_weights = parts["weights"]


def only(options, **permitted):
    """Refuses options that the peer does not follow, rather than to compare different things."""
    for name, value in permitted.items():
        if options[name] != value:
            raise SystemExit(f"the peer has only {name}={value}, the run has {options[name]}")


def block_stack_options(run):
    """The model's options, none of which the peers of block stacks leave unheeded."""
    if run.config["model"] not in ("slide", "xl", "brt"):
        raise SystemExit(f"the peer has the models slide, xl and brt, the run has {run.config['model']}")
    only(run.model, dropout=0)
    if run.model.get("recurrence", "none") != "none":
        only(run.model, recurrence="fixed:skip", feedback=False, gate_bias=False)
    return run.model


def rate_at(options, step):
    """Learning rate of a step, from 0."""
    warm = min(1.0, step / options["warmup"]) if options["warmup"] else 1.0
    if options["schedule"] == "constant":
        return options["rate"] * warm
    if options["schedule"] == "rsqrt":
        return options["rate"] * warm / math.sqrt(max(step, options["warmup"], 1))
    raise SystemExit(f"the peer has the schedules constant and rsqrt, the run has {options['schedule']}")


def bucket(distance, buckets=32, farthest=128):
    """Raffel et al. 2020, one direction: exact up to half of the buckets, then logarithmic up to `farthest`."""
    exact = buckets // 2
    if distance < exact:
        return distance
    octave = math.log(distance / exact + 1.19e-7) / math.log(farthest / exact)
    return min(buckets - 1, exact + int(octave * (buckets - exact)))


def mean_loss(run, losses):
    """Mean of the steps' losses, each by what it predicts."""
    weights = run.loss_weights.astype("float64").sum((1, 2))
    return float((np.asarray(losses) * weights).sum() / weights.sum())


def quartiles(times):
    q1, median, q3 = np.quantile(times, (0.25, 0.5, 0.75))
    return {"step_time_ms": median, "step_time_q1_ms": q1, "step_time_q3_ms": q3}


def report(**values):
    for name, value in values.items():
        print(f"{name},{value:.10g}" if isinstance(value, float) else f"{name},{value}")
