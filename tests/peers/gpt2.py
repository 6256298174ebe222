"""GPT-2 in plain PyTorch, for comparison: reads the weights that longhaul saved under their published names, and prints
"name,value" lines: seconds for a pass over windows, seconds per generated token, the loss, the tokens drawn.

    python3 tests/peers/gpt2.py WEIGHTS.safetensors HEADS THREADS BATCH WINDOW PROMPT COUNT

Best practice on a CPU: fused attention, inference mode, key and value buffers that are filled in place.
"""
import sys
import time

import torch
import torch.nn.functional as F

from common import read


class GPT2:
    def __init__(self, tensors, heads):
        self.t, self.heads = tensors, heads
        self.layers = 1 + max(int(name.split(".")[1]) for name in tensors if name.startswith("h."))
        # [out][in], as PyTorch's products like them
        for name in list(tensors):
            if name.startswith("h.") and name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")):
                tensors[name] = tensors[name].t().contiguous()

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.t[name + ".weight"], self.t[name + ".bias"], 1e-5)

    def linear(self, x, name):
        return F.linear(x, self.t[name + ".weight"], self.t[name + ".bias"])

    def block(self, x, i, cache, first):
        rows, count, width = x.shape
        q, k, v = (part.view(rows, count, self.heads, -1).transpose(1, 2)
                   for part in self.linear(self.norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn").split(width, -1))
        if cache is not None:
            cache[i][0][:, :, first:first + count], cache[i][1][:, :, first:first + count] = k, v
            k, v = (buffer[:, :, :first + count] for buffer in cache[i])
        y = F.scaled_dot_product_attention(q, k, v, is_causal=count > 1)
        x = x + self.linear(y.transpose(1, 2).reshape(x.shape), f"h.{i}.attn.c_proj")
        hidden = F.gelu(self.linear(self.norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc"), approximate="tanh")
        return x + self.linear(hidden, f"h.{i}.mlp.c_proj")

    def hidden(self, tokens, cache=None, first=0):
        x = self.t["wte.weight"][tokens] + self.t["wpe.weight"][first:first + tokens.shape[1]]
        for i in range(self.layers):
            x = self.block(x, i, cache, first)
        return self.norm(x, "ln_f")

    def logits(self, x):
        return x @ self.t["wte.weight"].t()

    def loss(self, tokens):
        """Mean over all positions but the last, of predicting the next token."""
        logits = self.logits(self.hidden(tokens))[:, :-1]
        return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), tokens[:, 1:].reshape(-1).long())

    def generate(self, prompt, count):
        width = self.t["wpe.weight"].shape[1]
        shape = (1, self.heads, len(prompt) + count, width // self.heads)
        cache = [(torch.empty(shape), torch.empty(shape)) for _ in range(self.layers)]
        x = self.hidden(torch.tensor([prompt]), cache)
        drawn, times = [], []
        for at in range(len(prompt), len(prompt) + count):
            start = time.perf_counter()
            drawn.append(int(self.logits(x[:, -1]).argmax()))
            x = self.hidden(torch.tensor([drawn[-1:]]), cache, at)
            times.append(time.perf_counter() - start)
        return drawn, sorted(times)[len(times) // 2]


def main(path, heads, threads, batch, window, prompt, count):
    torch.set_num_threads(int(threads))
    batch, window, prompt, count = int(batch), int(window), int(prompt), int(count)
    with torch.inference_mode():
        model = GPT2(read(path), int(heads))
        vocabulary = model.t["wte.weight"].shape[0]
        tokens = torch.tensor([[(7 * i * i + 3 * i + 11 * r) % vocabulary for i in range(window)] for r in range(batch)])
        times = []
        for _ in range(5):
            start = time.perf_counter()
            loss = float(model.loss(tokens))
            times.append(time.perf_counter() - start)
        print(f"loss,{loss:.8g}\nforward_seconds,{sorted(times)[2]:.6g}")
        drawn, seconds = model.generate([(7 * i * i + 3 * i) % vocabulary for i in range(prompt)], count)
        print(f"token_seconds,{seconds:.6g}")
        print("tokens," + " ".join(map(str, drawn)))
        print(f"torch,{torch.__version__}")


main(*sys.argv[1:])
