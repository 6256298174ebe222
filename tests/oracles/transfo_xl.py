"""Transformer-XL as the library `transformers` 4.35 has it, in double precision: log
probabilities of its TransfoXLLMHeadModel whose tensors, under their own names, have the values of fixture.py, rounded to
floats, as a weight file holds them. Its outputs are the fixtures in tests/golden/transfo_xl.csv:

    python3 tests/oracles/transfo_xl.py > tests/golden/transfo_xl.csv

A line "model" says longhaul's options of the case; "tensor" a tensor of its file, the name whose values it has (of tied
ones the first), and its shape; "value" segment, position, word and its log probability.
"""
import warnings

import torch
from transformers import TransfoXLConfig, TransfoXLLMHeadModel

from fixture import POSITIONS, SEGMENT, SEGMENTS, TOKENS, VOCABULARY, parameter

# The library masks scores in floats, whatever the model's precision.
torch.Tensor.float = lambda self: self
warnings.simplefilter("ignore")

CASES = [
    ("cutoffs=4,7 cluster_divisor=2 memory=11 same_length=true longest_distance=6 head_width=3 hidden=12",
     dict(cutoffs=[4, 7], div_val=2, mem_len=11, same_length=True, clamp_len=6, d_head=3, d_inner=12)),
    ("cutoffs=6 cluster_divisor=4 memory=5 hidden=10",
     dict(cutoffs=[6], div_val=4, mem_len=5, same_length=False, clamp_len=-1, d_head=4, d_inner=10)),
    ("cutoffs=4,7 memory=5 same_length=true hidden=12",
     dict(cutoffs=[4, 7], div_val=1, mem_len=5, same_length=True, clamp_len=0, d_head=4, d_inner=12)),
]


def fill(model):
    """Gives all tensors their values; returns [(name, name whose values it has, shape)]."""
    first, tensors = {}, []
    for name, value in model.state_dict().items():
        source = first.setdefault(value.data_ptr(), name)
        value.copy_(torch.tensor(parameter(source, *value.shape)).to(torch.float32).to(value.dtype))
        tensors.append((name, source, list(value.shape)))
    width = model.config.d_model
    model.transformer.pos_emb.inv_freq = 1 / 10000 ** (torch.arange(0, width, 2, dtype=torch.float64) / width)
    return tensors


def print_case(options, config):
    model = TransfoXLLMHeadModel(TransfoXLConfig(vocab_size=VOCABULARY, d_model=8, d_embed=8, n_layer=2, n_head=2,
                                                 dropout=0.0, **config)).double().eval()
    print(f'model,"layers=2 width=8 heads=2 dropout=0 share_biases=false {options}"')
    for name, source, shape in fill(model):
        print("tensor", name, source, *shape, sep=",")
    mems = None
    for s in range(SEGMENTS):
        with torch.no_grad():
            out = model(torch.tensor([TOKENS[s * SEGMENT:(s + 1) * SEGMENT]]), mems=mems)
        mems = out.mems
        for position in POSITIONS:
            for word, value in enumerate(out.prediction_scores[0, position].tolist()):
                print(f"value,{s},{position},{word},{value:.17g}")


def main():
    for options, config in CASES:
        print_case(options, config)


if __name__ == "__main__":
    main()
