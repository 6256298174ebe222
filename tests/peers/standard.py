"""Training steps of the models that a user finds ready made, for comparison: GPT-2, Reformer and Informer as the
library `transformers` has them, Transformer-XL in plain PyTorch after its paper (Dai et al. 2019; the library dropped
it). Prints "name,value" lines: step time and its quartiles, peak memory, parameters.

    python3 tests/peers/standard.py gpt2 layers=4 width=256 heads=4 rows=8 length=512 vocabulary=256 \
        [--precision bf16] [--eager] [--threads 2] [--warmup 2] [--steps 7]

Each in the strongest setting that its documentation names for a CPU: fused attention, fused AdamW, bf16 by autocast,
torch.compile unless --eager. Batches are drawn: what a step costs does not depend on what it reads.
"""
import math

import torch
import torch.nn.functional as F
from torch import nn

import common


# ---- Transformer-XL: relative positions, a memory of one span for each layer ----


def shifted(x):
    """[..., q, k + q] scores by distance -> [..., q, k]: row i moves i places."""
    *lead, queries, width = x.shape
    padded = F.pad(x, (1, 0)).reshape(*lead, width + 1, queries)
    return padded[..., 1:, :].reshape(*lead, queries, width)


class XLLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.head_width = heads, width // heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key_value = nn.Linear(width, width, False), nn.Linear(width, 2 * width, False)
        self.position, self.out = nn.Linear(width, width, False), nn.Linear(width, width, False)
        self.u, self.v = (nn.Parameter(torch.zeros(heads, self.head_width)) for _ in range(2))
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def split(self, x):
        return x.unflatten(-1, (self.heads, self.head_width)).transpose(1, 2)

    def forward(self, x, memory, positions, hidden):
        both = self.first(torch.cat([memory, x], 1))
        q = self.split(self.query(both[:, memory.shape[1]:]))
        k, v = map(self.split, self.key_value(both).chunk(2, -1))
        r = self.split(self.position(positions)[None])
        bias = shifted((q + self.v[:, None]) @ r.transpose(2, 3)) * self.head_width ** -0.5
        y = F.scaled_dot_product_attention(q + self.u[:, None], k, v, attn_mask=bias.masked_fill(hidden, -math.inf))
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.narrow(F.relu(self.wide(self.second(x))))


class TransformerXL(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.o = o
        self.embedding = nn.Embedding(o.vocabulary, o.width)
        self.layers = nn.ModuleList(XLLayer(o.width, o.heads) for _ in range(o.layers))
        self.norm = nn.LayerNorm(o.width)
        self.memory = [torch.zeros(o.rows, o.span, o.width) for _ in self.layers]

    def forward(self, tokens):
        length, span = tokens.shape[1], self.o.span
        distance = torch.arange(span + length - 1, -1, -1.0)[:, None]
        angle = distance / 10000 ** (torch.arange(0, self.o.width, 2) / self.o.width)
        positions = torch.cat([angle.sin(), angle.cos()], -1)
        at = span + torch.arange(length)[:, None] - torch.arange(span + length)
        hidden = (at < 0) | (at >= span)
        x = self.embedding(tokens)
        for i, layer in enumerate(self.layers):
            memory, self.memory[i] = self.memory[i], torch.cat([self.memory[i], x.detach()], 1)[:, -span:].float()
            x = layer(x, memory, positions, hidden)
        logits = (self.norm(x) @ self.embedding.weight.t()).float()
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())

    def begin(self):
        self.memory = [part.detach() for part in self.memory]


# ---- the library's models ----


def tokens_of(o):
    return torch.randint(0, o.vocabulary, (o.rows, o.length))


def gpt2(o):
    from transformers import GPT2Config, GPT2LMHeadModel
    model = GPT2LMHeadModel(GPT2Config(
        vocab_size=o.vocabulary, n_positions=o.window, n_embd=o.width, n_layer=o.layers, n_head=o.heads,
        attn_implementation="sdpa", use_cache=False, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0))
    tokens = tokens_of(o).view(-1, o.window)
    return model, lambda: model(input_ids=tokens, labels=tokens).loss


def reformer(o):
    from transformers import ReformerConfig, ReformerModelWithLMHead
    half = o.width // 2
    side = 2 ** (int(math.log2(o.length)) // 2)
    model = ReformerModelWithLMHead(ReformerConfig(
        vocab_size=o.vocabulary, hidden_size=o.width, num_attention_heads=o.heads,
        attention_head_size=o.width // o.heads, feed_forward_size=4 * o.width, attn_layers=["lsh"] * o.layers,
        num_hashes=o.rounds, lsh_attn_chunk_length=o.chunk, num_buckets=2 * o.length // o.chunk,
        axial_pos_shape=(side, o.length // side), axial_pos_embds_dim=(half, half), is_decoder=True,
        max_position_embeddings=o.length, use_cache=False, hidden_dropout_prob=0.0, lsh_attention_probs_dropout_prob=0.0))
    tokens = tokens_of(o)
    return model, lambda: model(input_ids=tokens, labels=tokens).loss


def transformer_xl(o):
    model, tokens = TransformerXL(o), tokens_of(o)

    def loss():
        model.begin()
        return model(tokens)
    return model, loss


def informer(o):
    """Values and time features of ETT: seven channels, four features, no lags but the last step."""
    from transformers import InformerConfig, InformerForPrediction
    model = InformerForPrediction(InformerConfig(
        input_size=o.channels, prediction_length=o.predicted, context_length=o.observed, lags_sequence=[1],
        num_time_features=4, scaling=None, d_model=o.width, encoder_layers=o.layers, decoder_layers=o.decoder_layers,
        encoder_attention_heads=o.heads, decoder_attention_heads=o.heads, encoder_ffn_dim=o.hidden,
        decoder_ffn_dim=o.hidden, attention_type="prob", sampling_factor=5, distil=True, dropout=0.0))
    past = o.observed + 1
    batch = {"past_values": torch.randn(o.rows, past, o.channels), "past_time_features": torch.randn(o.rows, past, 4),
             "past_observed_mask": torch.ones(o.rows, past, o.channels),
             "future_values": torch.randn(o.rows, o.predicted, o.channels),
             "future_time_features": torch.randn(o.rows, o.predicted, 4)}
    return model, lambda: model(**batch).loss


MODELS = {f.__name__: f for f in (gpt2, reformer, transformer_xl, informer)}


def main():
    parser = common.timing_arguments(__doc__.splitlines()[0])
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("shape", nargs="*", help="name=number")
    parser.add_argument("--steps", type=int, default=7, help="steps that are timed")
    options = parser.parse_args()
    common.settle(options)
    torch.manual_seed(1)
    shape = type("Shape", (), {name: int(value) for name, value in (pair.split("=") for pair in options.shape)})
    model, loss_of = MODELS[options.model](shape)
    model.train()
    if not options.eager:
        loss_of = torch.compile(loss_of)
    update = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step(_=None):
        with torch.autocast("cpu", torch.bfloat16, enabled=options.precision == "bf16"):
            loss = loss_of()
        loss.backward()
        update.step()
        update.zero_grad(set_to_none=True)
        return loss.detach()

    common.timed(step, "cpu", range(options.warmup))
    _, times = common.timed(step, "cpu", range(options.steps))
    moments = [part for state in update.state.values() for part in state.values() if torch.is_tensor(part)]
    peak, _ = common.peak_of_step(step, [*model.parameters(), *model.buffers(), *moments])
    common.report(**common.quartiles(times), peak_memory_bytes=peak,
                  parameters=sum(p.numel() for p in model.parameters()))


main()
