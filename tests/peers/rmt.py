"""RMT's fixtures by Transformer-XL's layers as the library `transformers` had them up to 4.35, which are those of RMT's
release: over [memory; tokens; memory] with the release's mask, in double. Prints the largest difference of each
configuration of tests/golden/rmt.csv that has the release's positions:

    python3 tests/peers/rmt.py
"""
import csv
import math
import pathlib
import sys

import torch
from transformers.models.transfo_xl.modeling_transfo_xl import PositionalEmbedding, RelPartialLearnableDecoderLayer

tests = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(tests / "oracles"))
from fixture import SEGMENT, TOKENS, VOCABULARY, parameter  # noqa: E402
from masks import hidden_pairs  # noqa: E402


def tensor(name, *shape):
    return torch.from_numpy(parameter(name, *shape))


def layer_of(l, width, heads, head, hidden):
    n, a, inner = f"layers.{l}.", f"layers.{l}.attention.", heads * head
    content, position = (tensor(f"layers.0.attention.relative.{name}", inner).view(heads, head)
                         for name in ("content", "position"))
    layer = RelPartialLearnableDecoderLayer(heads, width, head, hidden, 0.0, r_w_bias=torch.nn.Parameter(content),
                                            r_r_bias=torch.nn.Parameter(position), layer_norm_epsilon=1e-5)
    halves = [*range(0, width, 2), *range(1, width, 2)]  # their sines stand before all cosines
    weights = {"dec_attn.qkv_net": torch.cat([tensor(a + "query", width, inner),
                                              tensor(a + "key_value", width, 2 * inner)], 1),
               "dec_attn.o_net": tensor(a + "out", inner, width),
               "dec_attn.r_net": tensor(a + "relative.projection", width, inner)[halves],
               "pos_ff.CoreNet.0": tensor(n + "feed_forward.in.weight", width, hidden),
               "pos_ff.CoreNet.3": tensor(n + "feed_forward.out.weight", hidden, width)}
    values = {name + ".weight": value.t() for name, value in weights.items()}
    values["pos_ff.CoreNet.0.bias"] = tensor(n + "feed_forward.in.bias", hidden)
    values["pos_ff.CoreNet.3.bias"] = tensor(n + "feed_forward.out.bias", width)
    for theirs, ours in (("dec_attn", "attention"), ("pos_ff", "feed_forward")):
        values[theirs + ".layer_norm.weight"] = tensor(f"{n}{ours}.norm.gain", width)
        values[theirs + ".layer_norm.bias"] = tensor(f"{n}{ours}.norm.bias", width)
    missing, unexpected = layer.load_state_dict(values, strict=False)
    assert not unexpected and set(missing) <= {"dec_attn.r_r_bias", "dec_attn.r_w_bias"}, (missing, unexpected)
    return layer.eval()


def run(layers, width, heads, hidden, block, memory_tokens, memory=0, head_width=0, memory_reads_cache=False, **_):
    net = [layer_of(l, width, heads, head_width or width // heads, hidden) for l in range(layers)]
    table = tensor("embedding.weight", VOCABULARY, width) * math.sqrt(width)
    cache, out = [torch.zeros(memory, 1, width) for _ in net], []
    tokens = tensor("memory_tokens", memory_tokens, width)
    for at in range(0, len(TOKENS), block):
        x = torch.cat([tokens, table[TOKENS[at:at + block]], tokens])[:, None]
        mask = hidden_pairs(len(x), memory, memory_tokens, memory_reads_cache)
        distances = PositionalEmbedding(width)(torch.arange(memory + len(x) - 1, -1, -1.0))
        for l, layer in enumerate(net):
            y = layer(x, distances, dec_attn_mask=mask, mems=cache[l] if memory else None)[0]
            cache[l], x = torch.cat([cache[l], x])[len(x):], y
        tokens = x[-memory_tokens:, 0]
        out.append(x[memory_tokens:-memory_tokens, 0])
    return torch.cat(out)


def options_of(text):
    pairs = (word.split("=") for word in text.split())
    return {name: value == "true" if value in ("true", "false") else int(value) for name, value in pairs}


@torch.no_grad()
def main():
    torch.set_default_dtype(torch.float64)
    torch.Tensor.float = torch.Tensor.double  # scores are cast, whatever the weights are
    rows = {}
    for row in csv.DictReader(open(tests / "golden" / "rmt.csv")):
        at = int(row["segment"]) * SEGMENT + int(row["position"])
        rows.setdefault(row["options"], []).append((at, int(row["channel"]), float(row["hidden"])))
    for text, wanted in rows.items():
        if "shifted_positions=true" not in text:
            continue
        got = run(**options_of(text)).numpy()
        apart = max(abs(got[at, channel] - value) for at, channel, value in wanted)
        print(f"{apart:.1e} {text}")
        if not apart < 1e-12:
            raise SystemExit("not the same")


main()
