"""Training steps of models as the library `transformers` has them, for comparison: reads what `longhaul export` wrote
(options, first weights, batches) and prints "name,value" lines: step time and its quartiles, peak memory, the loss of
every step. Mamba-2 is its Mamba2ForCausalLM; Gated DeltaNet is its Qwen3NextForCausalLM with layers of that rule alone;
RMT is made of Transformer-XL's layers, as its release is, which the library had up to 4.35 (the others came later), and
so is the Compressive Transformer, which has no release: its memories move and learn here as its paper's algorithms say.

    python3 tests/peers/releases.py FOLDER [--precision f64]

The parameters are longhaul's, in its layout; at each step the network is called with what it wants made from them.
"""
import math
import types

import torch

import common
from exported import only
from masks import hidden_pairs
from optimizers import make_optimizer


class Carried:
    """What the network hands from segment to segment, in place of the library's cache, which keeps no gradients."""

    def __init__(self):
        self.convolved, self.memory = {}, {}

    def forget(self, starts):
        """Rows that start a document carry nothing."""
        self.starts = starts
        for parts in (self.convolved, self.memory):
            for layer, part in parts.items():
                parts[layer] = part * (1 - starts).to(part.dtype).view(-1, *[1] * (part.dim() - 1))

    def get_conv_state(self, layer, state_idx=0):
        return self.convolved.get(layer)

    def update_conv_state(self, inputs, layer, conv_kernel_size):
        before = self.convolved.get(layer, inputs.new_zeros(*inputs.shape[:-1], conv_kernel_size - 1))
        joined = torch.cat([before, inputs], -1)
        self.convolved[layer] = joined[..., 1 - conv_kernel_size:].detach()
        return joined

    def get_recurrent_state(self, layer, state_idx=0):
        return self.memory.get(layer)

    def update_recurrent_state(self, memory, layer_idx):
        self.memory[layer_idx] = memory.detach()

    def is_recording_past(self, layer):
        return False

    def get_seq_length(self):
        return 0


def mamba2(o):
    from transformers import Mamba2Config, Mamba2ForCausalLM
    inner = o["expand"] * o["width"]
    network = Mamba2ForCausalLM(Mamba2Config(
        vocab_size=o["vocabulary"], hidden_size=o["width"], num_hidden_layers=o["layers"], expand=o["expand"],
        num_heads=inner // o["head_width"], head_dim=o["head_width"], state_size=o["state"], n_groups=o["groups"],
        conv_kernel=o["kernel"], layer_norm_epsilon=o["epsilon"], tie_word_embeddings=o["tied"], chunk_size=32,
        pad_token_id=0))
    theirs = {"in": "mixer.in_proj.weight", "convolution": "mixer.conv1d.weight", "convolution_bias": "mixer.conv1d.bias",
              "step_bias": "mixer.dt_bias", "rate": "mixer.A_log", "skip": "mixer.D", "gated_norm.gain": "mixer.norm.weight",
              "out": "mixer.out_proj.weight", "norm.gain": "norm.weight"}

    def weights(p):
        yield "backbone.embeddings.weight", p["embedding.weight"]
        yield "backbone.norm_f.weight", p["norm.gain"]
        yield "lm_head.weight", p["embedding.weight" if o["tied"] else "head.weight"]
        for l, layer in enumerate(common.by_layer(p, o["layers"])):
            for name, value in layer.items():
                yield f"backbone.layers.{l}.{theirs[name]}", value.t() if name in ("in", "out") else value
    return network, weights, lambda carried: {"cache_params": carried}


def gated_deltanet(o):
    from transformers import Qwen3NextConfig, Qwen3NextForCausalLM
    only(o, negative_eigenvalues=False)
    heads, values, value_width = o["heads"], o["value_heads"] or o["heads"], int(o["expand"] * o["head_width"])
    hidden = o["hidden"] or -(-8 * o["width"] // (3 * 256)) * 256
    network = Qwen3NextForCausalLM(Qwen3NextConfig(
        vocab_size=o["vocabulary"], hidden_size=o["width"], num_hidden_layers=o["layers"], intermediate_size=hidden,
        layer_types=["linear_attention"] * o["layers"], mlp_only_layers=list(range(o["layers"])), num_experts=0,
        linear_num_key_heads=heads, linear_num_value_heads=values, linear_key_head_dim=o["head_width"],
        linear_value_head_dim=value_width, linear_conv_kernel_dim=o["kernel"], rms_norm_eps=o["epsilon"],
        tie_word_embeddings=o["tied"], use_cache=False))

    def by_head(*parts):
        """Matrices side by side: the columns of one head of keys, of all of them, after those of another."""
        return torch.cat([part.unflatten(1, (heads, -1)) for part in parts], 2).flatten(1).t()

    def layer(p):
        mixer, network = "linear_attn.", "mlp."
        yield "input_layernorm.weight", p["norm.gain"] - 1  # theirs are 1 + weight
        yield "post_attention_layernorm.weight", p["feed_forward.norm.gain"] - 1
        yield mixer + "in_proj_qkvz.weight", by_head(*(p[name] for name in ("query", "key", "value", "gate")))
        yield mixer + "in_proj_ba.weight", by_head(p["write"], p["step"])
        yield mixer + "conv1d.weight", torch.cat([p[name + "_convolution"] for name in ("query", "key", "value")])
        yield mixer + "dt_bias", p["step_bias"]
        yield mixer + "A_log", p["rate"]
        yield mixer + "norm.weight", p["memory_norm.gain"]
        yield mixer + "out_proj.weight", p["out"].t()
        for name, theirs in {"gate": "gate", "in": "up", "out": "down"}.items():
            yield f"{network}{theirs}_proj.weight", p["feed_forward." + name].t()

    def weights(p):
        yield "model.embed_tokens.weight", p["embedding.weight"]
        yield "model.norm.weight", p["norm.gain"] - 1
        yield "lm_head.weight", p["embedding.weight" if o["tied"] else "head.weight"]
        for l, own in enumerate(common.by_layer(p, o["layers"])):
            for name, value in layer(own):
                yield f"model.layers.{l}.{name}", value
    masks = {"linear_attention": None, "full_attention": None}
    return network, weights, lambda carried: {"past_key_values": carried, "attention_mask": masks}


class TransformerXL(torch.nn.Module):
    """What is made of its layers: embedding and head, and attention to what every layer keeps."""

    def __init__(self, o):
        from transformers.models.transfo_xl import modeling_transfo_xl as release
        super().__init__()
        head = o["head_width"] or o["width"] // o["heads"]
        self.o, self.positions = o, release.PositionalEmbedding(o["width"])
        self.embedding = torch.nn.Parameter(torch.zeros(o["vocabulary"], o["width"]))
        self.bias = torch.nn.Parameter(torch.zeros(o["vocabulary"]))
        self.layers = torch.nn.ModuleList(
            release.RelPartialLearnableDecoderLayer(o["heads"], o["width"], head, o["hidden"] or 4 * o["width"], 0.0,
                                                    layer_norm_epsilon=1e-5) for _ in range(o["layers"]))

    def embed(self, tokens):
        return (self.embedding[tokens] * math.sqrt(self.o["width"])).transpose(0, 1)

    def distances(self, count):
        return self.positions(torch.arange(count - 1, -1, -1.0))

    def logits(self, parts):
        return torch.cat(parts).transpose(0, 1) @ self.embedding.t() + self.bias


def xl_weights(o, p):
    """Of TransformerXL; theirs of a layer, ours as `p` has them."""
    halves = [*range(0, o["width"], 2), *range(1, o["width"], 2)]  # their sines stand before all cosines

    def layer(p, first):
        yield "dec_attn.qkv_net.weight", torch.cat([p["attention.query"], p["attention.key_value"]], 1).t()
        yield "dec_attn.o_net.weight", p["attention.out"].t()
        yield "dec_attn.r_net.weight", p["attention.relative.projection"][halves].t()
        for theirs, ours in (("dec_attn.r_w_bias", "content"), ("dec_attn.r_r_bias", "position")):
            yield theirs, first["attention.relative." + ours].view(o["heads"], -1)
        for theirs, ours in (("CoreNet.0", "in"), ("CoreNet.3", "out")):
            yield f"pos_ff.{theirs}.weight", p[f"feed_forward.{ours}.weight"].t()
            yield f"pos_ff.{theirs}.bias", p[f"feed_forward.{ours}.bias"]
        for theirs, ours in (("dec_attn", "attention"), ("pos_ff", "feed_forward")):
            yield theirs + ".layer_norm.weight", p[ours + ".norm.gain"]
            yield theirs + ".layer_norm.bias", p[ours + ".norm.bias"]

    yield "embedding", p["embedding.weight"]
    yield "bias", p["head.bias"]
    layers = common.by_layer(p, o["layers"])
    for l, own in enumerate(layers):
        for name, value in layer(own, layers[0]):
            yield f"layers.{l}.{name}", value


class RecurrentMemory(TransformerXL):
    """Blocks of tokens between memory tokens, which the last layer writes; gradients cross blocks, not segments."""

    def __init__(self, o):
        super().__init__(o)
        self.memory_tokens = torch.nn.Parameter(torch.zeros(o["memory_tokens"], o["width"]))

    def forward(self, tokens, carried):
        o, count, x = self.o, self.o["memory_tokens"], self.embed(tokens)
        first = self.memory_tokens.expand(tokens.shape[0], -1, -1)
        memory = torch.where(carried.starts.bool().view(-1, 1, 1), first, carried.memory.get("tokens", first))
        memory = memory.transpose(0, 1)
        none = x.new_zeros(x.shape[1], o["memory"], o["width"])
        cache = [carried.memory.get(l, none).transpose(0, 1) for l in range(o["layers"])]
        out = []
        for part in x.split(o["block"]):
            y = torch.cat([memory, part, memory])
            mask = hidden_pairs(len(y), o["memory"], count, o["memory_reads_cache"])
            distances = self.distances(o["memory"] + len(y))
            for l, layer in enumerate(self.layers):
                z = layer(y, distances, dec_attn_mask=mask, mems=cache[l] if o["memory"] else None)[0]
                cache[l], y = torch.cat([cache[l], y.detach()])[len(y):], z
            memory = y[-count:]
            out.append(y[count:-count])
        carried.memory = {l: kept.transpose(0, 1) for l, kept in enumerate(cache)}
        carried.memory["tokens"] = memory.detach().transpose(0, 1)
        return types.SimpleNamespace(logits=self.logits(out))


def rmt(o):
    only(o, shifted_positions=True, unroll=0, dropout=0)

    def weights(p):
        yield "memory_tokens", p["memory_tokens"]
        yield from xl_weights(o, p)
    return RecurrentMemory(o), weights, lambda carried: {"carried": carried}


class Compressive(TransformerXL):
    """Algorithms 1 and 2 of Rae et al. 2019, which has no release: the compression is a convolution of PyTorch's."""

    def __init__(self, o):
        super().__init__(o)
        rate, width = o["compression_rate"], o["width"]
        self.dilated = o["compression"] == "dilated"
        shape = {"dilation": o["block"] // rate} if self.dilated else {"stride": rate}
        self.convolutions = torch.nn.ModuleList(
            torch.nn.Conv1d(width, width, rate, **shape) for _ in range(o["layers"]))
        self.ways_back = torch.nn.ModuleList(
            torch.nn.Linear(width, rate * width)
            for _ in range(o["layers"] if o["compression_loss"] == "auto_encoding" else 0))

    def back(self, l, made):
        """To the memories, in their order."""
        taps = self.ways_back[l](made).unflatten(-1, (-1, self.o["width"]))
        return taps.permute(2, 0, 1, 3).flatten(0, 1) if self.dilated else taps.transpose(1, 2).flatten(0, 1)

    def content(self, l, queries, memories):
        """Attention of these queries to these memories by weights that do not learn from it."""
        weight = self.layers[l].dec_attn.qkv_net.weight.detach()
        q = (queries @ weight.t()).chunk(3, -1)[0]
        k, v = (memories @ weight.t()).chunk(3, -1)[1:]
        q, k, v = (part.unflatten(-1, (self.o["heads"], -1)).permute(1, 2, 0, 3) for part in (q, k, v))
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)

    def loss_of(self, l, x, old, made):
        if self.o["compression_loss"] == "task":
            return 0
        if self.o["compression_loss"] == "auto_encoding":
            return (old - self.back(l, made)).square().mean()
        x, old = x.detach(), old.detach()
        return (self.content(l, x, old) - self.content(l, x, made)).square().mean()

    def forward(self, tokens, carried):
        o, x, loss, out = self.o, self.embed(tokens), 0, []
        none = {kind: x.new_zeros(x.shape[1], o[kind], o["width"]) for kind in ("memory", "compressed_memory")}
        memory, compressed = ([carried.memory.get((kind, l), none[kind]).transpose(0, 1) for l in range(o["layers"])]
                              for kind in none)
        cached = o["memory"] + o["compressed_memory"]
        mask = torch.triu(torch.ones(o["block"], cached + o["block"]), 1 + cached).bool()[:, :, None]
        kept = (lambda part: part) if o["compression_loss"] == "task" else torch.Tensor.detach
        parts = x.split(o["block"])
        for y in parts:
            for l, layer in enumerate(self.layers):
                z = layer(y, self.distances(cached + o["block"]), dec_attn_mask=mask,
                          mems=torch.cat([compressed[l], memory[l]]))[0]
                stream = torch.cat([memory[l], kept(y)])
                old, memory[l] = stream[:o["block"]], stream[o["block"]:]
                made = self.convolutions[l](old.permute(1, 2, 0)).permute(2, 0, 1)
                loss = loss + self.loss_of(l, y, old, made) / len(parts)
                compressed[l] = torch.cat([compressed[l], kept(made)])[len(made):]
                y = z
            out.append(y)
        carried.memory = {(kind, l): part.detach().transpose(0, 1)
                          for kind, of_layers in (("memory", memory), ("compressed_memory", compressed))
                          for l, part in enumerate(of_layers)}
        return types.SimpleNamespace(logits=self.logits(out), auxiliary=loss)


def compressive(o):
    only(o, dropout=0, attention_dropout=0)
    rate, width = o["compression_rate"], o["width"]

    def weights(p):
        yield from xl_weights(o, p)
        for l, layer in enumerate(common.by_layer(p, o["layers"])):
            yield f"convolutions.{l}.weight", layer["compression.weight"].view(rate, width, width).permute(2, 1, 0)
            yield f"convolutions.{l}.bias", layer["compression.bias"]
            if "decompression.weight" in layer:
                yield f"ways_back.{l}.weight", layer["decompression.weight"].t()
                yield f"ways_back.{l}.bias", layer["decompression.bias"]
    return Compressive(o), weights, lambda carried: {"carried": carried}


# By name: the network, the names and values of its weights made from our parameters, and how it is told what is carried.
MODELS = {f.__name__: f for f in (mamba2, gated_deltanet, rmt, compressive)}


def all_in_double():
    """The library casts to float in places, whatever its weights are."""
    torch.float32, torch.Tensor.float = torch.float64, torch.Tensor.double


def main():
    parser = common.arguments(__doc__.splitlines()[0])
    options = parser.parse_args()
    common.settle(options)
    if options.precision == "f64":
        torch.set_default_dtype(torch.float64)
        all_in_double()
    run, dtype = common.Run(options.folder), torch.get_default_dtype()
    if run.config["model"] not in MODELS:
        raise SystemExit(f"the peer has the models {', '.join(MODELS)}, the run has {run.config['model']}")
    network, weights_of, words_of = MODELS[run.config["model"]](run.model)
    network.to(options.device, dtype).train()
    params = {name: value.to(options.device, dtype).requires_grad_() for name, value in run.weights.items()}
    update = make_optimizer(run.train, list(params.values()), options.eager)
    carried = Carried()

    def loss_of(tokens, target, loss_weights, starts):
        carried.forget(starts)
        out = torch.func.functional_call(network, dict(weights_of(params)), (tokens,), words_of(carried))
        loss, beside = common.loss_of_logits(out.logits, target, loss_weights), getattr(out, "auxiliary", None)
        if not torch.is_tensor(beside):
            return loss
        return loss + beside - beside.detach()  # what is told is the task's, what is learned from is both

    common.train(common.make_step(run, params, update, loss_of), run, options, lambda: [*params.values(), *update.kept])


main()
