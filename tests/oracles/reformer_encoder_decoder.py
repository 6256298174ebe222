"""The encoder-decoder of Kitaev et al. 2020 (section 5, the released ReversibleTransformer) in plain NumPy, query by
query, in double precision; it shares nothing with longhaul but the names of the parameters. The fixture
tests/golden/reformer_encoder_decoder.csv:

    python3 tests/oracles/reformer_encoder_decoder.py > tests/golden/reformer_encoder_decoder.csv
"""
import numpy as np

from fixture import VOCABULARY, assert_equal, parameter, print_header, print_model

# Of the source's 24 tokens the last three are padding, which nobody sees.
SOURCE = [(5 * i * i + 2 * i + 3) % VOCABULARY for i in range(24)][:21]


def norm(x, name):
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-6)
    return scaled * parameter(name + "norm.gain", x.shape[-1]) + parameter(name + "norm.bias", x.shape[-1])


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


class EncoderDecoder:
    def __init__(self, layers, heads, hidden, width=8, head_width=0, residual="reversible", positions=24, shared=True,
                 feed_forward_chunk=0):
        self.layers, self.heads, self.hidden, self.width = layers, heads, hidden, width
        self.head_width, self.plain = head_width or width // heads, residual == "plain"
        self.positions, self.shared = positions, shared

    def attention(self, x, name, source=None, causal=False):
        """Of the normed x to itself, or to what the encoder gave."""
        inner = self.heads * self.head_width
        n = norm(x, name)
        keys = n if source is None else source
        q, k, v = ((side @ parameter(name + kind, self.width, inner)).reshape(len(side), self.heads, -1)
                   for side, kind in ((n, "query"), (keys, "key"), (keys, "value")))
        out = np.zeros((len(x), self.heads, self.head_width))
        for h in range(self.heads):
            for i in range(len(x)):
                seen = i + 1 if causal else len(keys)
                out[i, h] = softmax(k[:seen, h] @ q[i, h] / np.sqrt(self.head_width)) @ v[:seen, h]
        return out.reshape(len(x), inner) @ parameter(name + "out", inner, self.width)

    def feed_forward(self, x, name):
        y = norm(x, name) @ parameter(name + "in", self.width, self.hidden) + parameter(name + "in_bias", self.hidden)
        return np.maximum(y, 0) @ parameter(name + "out", self.hidden, self.width) + parameter(name + "out_bias", self.width)

    def embed(self, tokens, name):
        table = "encoder" if self.shared else name
        return (parameter(table + ".embedding.weight", VOCABULARY, self.width)[tokens]
                + parameter(name + ".positions.weight", self.positions, self.width)[:len(tokens)])

    def encode(self, tokens):
        """y1 = x1 + Attention(x2), y2 = x2 + FeedForward(y1); the streams' mean."""
        a = b = self.embed(tokens, "encoder")
        for l in range(self.layers):
            name = f"encoder.layers.{l}."
            a = a + self.attention(a if self.plain else b, name + "attention.")
            b = (a if self.plain else b) + self.feed_forward(a, name + "feed_forward.")
            a = b if self.plain else a
        return norm((a + b) / 2, "encoder.")

    def decode(self, tokens, source):
        """a += Self(b), b += Cross(a), a += FeedForward(b); the streams leave with their roles swapped."""
        a = b = self.embed(tokens, "decoder")
        for l in range(self.layers):
            name = f"decoder.layers.{l}."
            if self.plain:
                a = a + self.attention(a, name + "attention.", causal=True)
                a = a + self.attention(a, name + "cross.", source)
                a = b = a + self.feed_forward(a, name + "feed_forward.")
            else:
                a = a + self.attention(b, name + "attention.", causal=True)
                b = b + self.attention(a, name + "cross.", source)
                a = a + self.feed_forward(b, name + "feed_forward.")
                a, b = b, a
        return norm((a + b) / 2, "decoder.")

    def segment(self, tokens):
        return self.decode(tokens, self.encode(SOURCE))


def main():
    # a future token changes nothing
    model = EncoderDecoder(2, 2, 12)
    assert_equal(model.segment([1, 2, 3])[:2], model.segment([1, 2, 9])[:2])
    print_header()
    for options in ({"layers": 2, "heads": 2, "hidden": 12}, {"layers": 3, "heads": 2, "hidden": 10, "head_width": 3},
                    {"layers": 1, "heads": 4, "hidden": 12, "residual": "two_streams"},
                    {"layers": 2, "heads": 2, "hidden": 12, "residual": "plain", "shared": False},
                    {"layers": 2, "heads": 2, "hidden": 12, "feed_forward_chunk": 3}):
        print_model("reformer_encoder_decoder", EncoderDecoder, "dropout=0 width=8 positions=24", **options)


main()
