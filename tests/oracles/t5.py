"""T5's encoder and decoder (Raffel et al. 2020) in plain NumPy, query by query, in double precision. It shares nothing with
longhaul but the names of the parameters. Its outputs are the fixtures in tests/golden/t5.csv:

    python3 tests/oracles/t5.py > tests/golden/t5.csv

With --transformers the outputs are first compared with those of Hugging Face's T5 in double (pip install torch transformers).
"""
import sys

import numpy as np

from fixture import SEGMENT, SEGMENTS, TOKENS, VOCABULARY, assert_equal, parameter, print_header, print_model

# Of the source's 24 tokens the last three are padding, which nobody sees.
PADDED = [(5 * i * i + 2 * i + 3) % VOCABULARY for i in range(24)]
SOURCE = PADDED[:21]


def norm(x, name):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * parameter(name + ".norm.gain", x.shape[-1])


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def bucket(distance, both_ways):
    """Of query - key; the logarithmic ones by comparing with their lower ends."""
    buckets, first = (16, 16 if distance < 0 else 0) if both_ways else (32, 0)
    n, exact = abs(distance), buckets // 2
    if n < exact:
        return first + n
    ends = [exact * (128 / exact) ** (k / exact) for k in range(exact)]
    return first + exact + sum(n > end * (1 - 1e-9) for end in ends) - 1


def lags(kind, dilation, index, name, i, j, both_ways):
    """Entry (i, j) of the dense matrix of a head: (index of its eta or nu) by its dilated power, 0 on the diagonal."""
    lag = abs(i - j) if both_ways else i - j
    t = lag // dilation
    if lag < 1 or lag % dilation or t > 200:
        return 0.0
    if kind == "regular":
        return np.tanh(parameter(name + ".eta", 2)[index]) ** t
    gamma, theta = 1 / (1 + np.exp(-parameter(name + ".nu", 1)[index])), parameter(name + ".theta", 1)[index]
    return gamma ** t * (np.cos if kind == "cosine" else np.sin)(t * theta)


# Both heads of a layer: kind, dilation, entry of eta or nu.
RSA = {"1,0,0,1,0,0": (("regular", 1, 0), ("regular", 3, 1)), "0,1,1,0,0,0": (("cosine", 1, 0), ("sine", 1, 0))}


class T5:
    def __init__(self, layers, heads, hidden, width=8, head_width=0, rsa_kinds=None, rsa_dilation=1,
                 rsa_padding=False):
        self.layers, self.width, self.heads, self.hidden = layers, width, heads, hidden
        self.head_width = head_width or width // heads
        self.rsa = RSA.get(rsa_kinds)
        self.source = PADDED if rsa_padding else SOURCE

    def recurrence(self, name, h, i, v, seen, both_ways):
        """What the gate lets through of P V for query i, and the gate."""
        if not self.rsa:
            return 0.0, 0.0
        gate = 1 / (1 + np.exp(-parameter(name + ".mu", 1)[0]))
        return gate * sum(lags(*self.rsa[h], name, i, j, both_ways) * v[j, h] for j in seen), gate

    def attention(self, x, name, source=None, stack=None):
        """Of the normed x to itself, or to `source`; `stack` names the biases."""
        inner = self.heads * self.head_width
        n = norm(x, name)
        keys = n if source is None else source
        q = (n @ parameter(name + ".query", self.width, inner)).reshape(len(x), self.heads, -1)
        k = (keys @ parameter(name + ".key", self.width, inner)).reshape(len(keys), self.heads, -1)
        v = (keys @ parameter(name + ".value", self.width, inner)).reshape(len(keys), self.heads, -1)
        bias = parameter(f"{stack}.bias", self.heads, 32)
        out = np.zeros((len(x), self.heads, self.head_width))
        for h in range(self.heads):
            for i in range(len(x)):
                seen = range(i + 1) if stack == "decoder" else range(len(SOURCE))
                encoded_keys = seen if stack == "decoder" else range(len(keys))
                scores = np.array([q[i, h] @ k[j, h] for j in seen])
                if stack:
                    scores += [bias[h, bucket(i - j, stack == "encoder")] for j in seen]
                out[i, h] = softmax(scores) @ v[list(seen), h]
                if stack:
                    encoded, gate = self.recurrence(name, h, i, v, encoded_keys, stack == "encoder")
                    out[i, h] = (1 - gate) * out[i, h] + encoded
        return out.reshape(len(x), inner) @ parameter(name + ".out", inner, self.width)

    def stack(self, name, tokens, source=None):
        x = parameter("embedding.weight", VOCABULARY, self.width)[tokens]
        for l in range(self.layers):
            n = f"{name}.layers.{l}"
            x = x + self.attention(x, n + ".attention", stack=name)
            if source is not None:
                x = x + self.attention(x, n + ".cross", source)
            n += ".feed_forward"
            y = np.maximum(norm(x, n) @ parameter(n + ".in", self.width, self.hidden), 0)
            x = x + y @ parameter(n + ".out", self.hidden, self.width)
        return norm(x, name)

    def segment(self, tokens):
        return self.stack("decoder", tokens, self.stack("encoder", self.source))


def check_with_transformers(model):
    import torch
    from transformers import T5Config, T5ForConditionalGeneration
    from transformers.models.t5.modeling_t5 import T5LayerNorm

    # Theirs goes to single precision in these two places.
    T5LayerNorm.forward = lambda self, x: self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
    torch.Tensor.float = lambda x: x

    config = T5Config(vocab_size=VOCABULARY, d_model=model.width, d_kv=model.head_width, d_ff=model.hidden,
                      num_layers=model.layers, num_heads=model.heads, dropout_rate=0.0, feed_forward_proj="relu",
                      tie_word_embeddings=True, decoder_start_token_id=0)
    theirs = T5ForConditionalGeneration(config).double().eval()
    kinds = {"SelfAttention": "attention", "EncDecAttention": "cross", "DenseReluDense": "feed_forward", "q": "query",
             "k": "key", "v": "value", "o": "out", "wi": "in", "wo": "out"}
    for name, weight in theirs.named_parameters():
        words = name.split(".")
        if name == "shared.weight":
            value = parameter("embedding.weight", *weight.shape)
        elif "relative_attention_bias" in name:
            value = parameter(words[0] + ".bias", model.heads, 32).T
        elif "final_layer_norm" in name:
            value = parameter(words[0] + ".norm.gain", *weight.shape)
        elif words[-2] == "layer_norm":
            sublayers = ["attention", "cross", "feed_forward"] if words[0] == "decoder" else ["attention", "feed_forward"]
            value = parameter(f"{words[0]}.layers.{words[2]}.{sublayers[int(words[4])]}.norm.gain", *weight.shape)
        else:
            value = parameter(f"{words[0]}.layers.{words[2]}.{kinds[words[5]]}.{kinds[words[6]]}", *weight.shape[::-1]).T
        weight.data = torch.tensor(np.array(value))
    padded = torch.tensor([SOURCE + [0, 0, 0]])
    mask = torch.tensor([[1] * len(SOURCE) + [0, 0, 0]])
    for s in range(SEGMENTS):
        tokens = TOKENS[s * SEGMENT:(s + 1) * SEGMENT]
        with torch.no_grad():
            out = theirs(input_ids=padded, attention_mask=mask, decoder_input_ids=torch.tensor([tokens]))
        logits = model.segment(tokens) @ parameter("embedding.weight", VOCABULARY, model.width).T * model.width ** -0.5
        assert_equal(out.logits[0].numpy(), logits)


def main():
    cases = ({"layers": 2, "heads": 2, "hidden": 12}, {"layers": 1, "heads": 2, "head_width": 3, "hidden": 10},
             {"layers": 3, "heads": 4, "hidden": 16},
             {"layers": 2, "heads": 2, "hidden": 12, "rsa_kinds": "1,0,0,1,0,0", "rsa_dilation": 3},
             {"layers": 1, "heads": 2, "hidden": 12, "rsa_kinds": "0,1,1,0,0,0"},
             {"layers": 2, "heads": 2, "hidden": 12, "rsa_kinds": "1,0,0,1,0,0", "rsa_dilation": 3, "rsa_padding": True})
    if "--transformers" in sys.argv:
        for options in cases[:3]:
            check_with_transformers(T5(**options))
    print_header()
    for options in cases:
        print_model("t5", T5, "dropout=0 width=8", **options)


main()
