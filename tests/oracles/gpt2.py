"""GPT-2 (Radford et al. 2019) and its recurrent form (Yoshida et al. 2020) in plain NumPy, window by window, in double
precision. It shares nothing with longhaul but the names of the parameters. Its outputs are the fixtures in
tests/golden/gpt2.csv:

    python3 tests/oracles/gpt2.py > tests/golden/gpt2.csv
"""
import numpy as np

from fixture import VOCABULARY, assert_equal, parameter, print_header, print_model, whole


def norm(x, name):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    width = x.shape[-1]
    return (x - mean) / np.sqrt(variance + 1e-5) * parameter(name + "norm.gain", width) + parameter(
        name + "norm.bias", width)


def linear(x, name, out):
    return x @ parameter(name, x.shape[-1], out) + parameter(name + "_bias", out)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


class GPT2:
    def __init__(self, layers=2, width=8, heads=2, context=8, window=8, overlap=0):
        self.layers, self.width, self.heads, self.context = layers, width, heads, context
        self.size, self.overlap = window, overlap

    def attention(self, x, l, extra):
        """`extra`: vectors [n][width] that every query sees as keys and values, or None."""
        head, n = self.width // self.heads, f"layers.{l}."
        def joined(v):
            return linear(norm(v, n), n + "attention.joined", 3 * self.width).reshape(len(v), 3, self.heads, head)
        q, k, v = joined(x).transpose(1, 2, 0, 3)
        mask = np.tril(np.ones((len(x), len(x)), bool))
        if extra is not None:
            _, more_k, more_v = joined(extra).transpose(1, 2, 0, 3)
            k, v = np.concatenate([more_k, k], 1), np.concatenate([more_v, v], 1)
            mask = np.concatenate([np.ones((len(x), len(extra)), bool), mask], 1)
        out = np.zeros((len(x), self.heads, head))
        for h in range(self.heads):
            for i in range(len(x)):
                keys = mask[i]
                out[i, h] = softmax(k[h][keys] @ q[h, i] / np.sqrt(head)) @ v[h][keys]
        return linear(out.reshape(x.shape), n + "attention.out", self.width)

    def extra(self, layer):
        return None

    def window(self, tokens):
        """Outputs of all blocks; the last one after the final norm comes besides."""
        x = parameter("embedding.weight", VOCABULARY, self.width)[tokens]
        x = x + parameter("positions.weight", self.context, self.width)[:len(tokens)]
        outputs = []
        for l in range(self.layers):
            n = f"layers.{l}.feed_forward."
            x = x + self.attention(x, l, self.extra(l))
            x = x + linear(gelu(linear(norm(x, n), n + "in", 4 * self.width)), n + "out", self.width)
            outputs.append(x)
        return outputs, norm(x, "")

    def after(self, outputs, final):
        pass

    def segment(self, tokens):
        out, stride = [], self.size - self.overlap
        for first in range(0, max(1, len(tokens) - self.overlap), stride):
            outputs, final = self.window(tokens[first:first + self.size])
            self.after(outputs, final)
            out.append(final if first == 0 else final[self.overlap:])
        return np.concatenate(out)


class Recurrent(GPT2):
    def __init__(self, insertion=2, pooling="mean", embeddings=1, summary_layers=3, summary_hidden=5, final_norm=True,
                 **options):
        super().__init__(**options)
        self.insertion, self.pooling, self.embeddings, self.final_norm = insertion, pooling, embeddings, final_norm
        self.sizes = [self.width] + summary_layers * [summary_hidden] + [embeddings * self.width]
        self.previous = None

    def extra(self, layer):
        return self.previous if self.insertion in (0, layer + 1) else None

    def after(self, outputs, final):
        """Equation 1, with the mean that the text means, and the network."""
        if self.final_norm:
            outputs = outputs[:-1] + [final]
        mixed = np.tensordot(softmax(parameter("summary.layer_weights", self.layers)), np.stack(outputs), 1)
        if self.pooling == "mean":
            z = mixed.mean(0)
        elif self.pooling == "max":
            z = mixed.max(0)
        else:
            z = softmax(mixed @ parameter("summary.query", self.width) / np.sqrt(self.width)) @ mixed
        for i, size in enumerate(self.sizes[1:]):
            z = z @ parameter(f"summary.{i}.weight", len(z), size) + parameter(f"summary.{i}.bias", size)
            if i + 2 < len(self.sizes):
                z = np.maximum(z, 0)
        self.previous = z.reshape(self.embeddings, self.width)


def main():
    for create in (GPT2, Recurrent):  # where the stream is cut between windows changes nothing
        assert_equal(whole(create(window=4), 4, 8), whole(create(window=4)))
    print_header()
    base = "dropout=0 layers=2 width=8 heads=2 context=8"
    for options in ({}, {"window": 4}, {"window": 5, "overlap": 2}):
        print_model("gpt2", GPT2, base, **options)
    base += " summary_hidden=5"
    for options in ({"window": 4}, {"window": 5, "overlap": 2}, {"window": 2, "insertion": 0, "embeddings": 3},
                    {"window": 4, "pooling": "max"}, {"window": 4, "pooling": "attention", "insertion": 1},
                    {"window": 2, "summary_layers": 1, "final_norm": False}):
        print_model("gpt2_recurrent", Recurrent, base, **options)


main()
