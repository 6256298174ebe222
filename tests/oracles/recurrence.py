"""Recurrence encoding matrices entry by entry (Huang et al., Encoding Recurrence into Transformers, section 3), for the
oracles of several models."""
import numpy as np

from fixture import parameter


def recurrence(n, kinds, dilations, cutoff):
    """For each encoded head the weight of a key by its lag; cyclical heads of a kind are paired."""
    k = [int(x) for x in kinds.split(",")]
    d = [1] * sum(k[:3]) + [int(x) for x in dilations.split(",") if x]
    pairs = max(k[1], k[2])
    heads = []
    for part in (0, 3):
        heads += [("regular", k[0] * (part > 0) + i) for i in range(k[part])]
        for kind, count in (("cos", k[part + 1]), ("sin", k[part + 2])):
            heads += [(kind, pairs * (part > 0) + i) for i in range(count)]
    eta = parameter(n + "eta", max(k[0] + k[3], 1))
    nu, theta = (parameter(n + name, max(pairs + max(k[4], k[5]), 1)) for name in ("nu", "theta"))

    def weight(head, lag):
        kind, index = heads[head]
        power, rest = divmod(lag, d[head])
        if lag < 1 or rest or power > cutoff:
            return 0.0
        if kind == "regular":
            return np.tanh(eta[index]) ** power
        wave = np.cos if kind == "cos" else np.sin
        return (1 / (1 + np.exp(-nu[index]))) ** power * wave(power * theta[index])
    return len(heads), weight
