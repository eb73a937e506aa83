"""The language model in PyTorch, one sequence at a time and straight from its formula: what transformer.safetensors is
made with."""
import torch

from torch_classifier import gate


def norm(x):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-8)


def turn(x, angle):
    """Rotary positions, half-split: x [t, heads, size], angle [t, size / 2]."""
    left, right = x.chunk(2, dim=-1)
    cos, sin = angle.cos()[:, None], angle.sin()[:, None]
    return torch.cat((left * cos - right * sin, right * cos + left * sin), dim=-1)


class Block(torch.nn.Module):
    def __init__(self, k):
        super().__init__()
        d, h = k["d_model"], k["d_hidden"]
        self.attn = torch.nn.Module()
        self.attn.qkv = torch.nn.Linear(d, 3 * d, bias=False)
        self.attn.o = torch.nn.Linear(d, d, bias=False)
        self.mlp = torch.nn.Module()
        self.mlp.w = torch.nn.Linear(d, 2 * h, bias=False)
        self.mlp.p = torch.nn.Linear(h, d, bias=False)


class Transformer(torch.nn.Module):
    """`config` has the keys of config.json."""

    def __init__(self, config):
        super().__init__()
        self.config = k = config
        self.transformer = torch.nn.Module()
        self.transformer.wte = torch.nn.Embedding(k["vocab"], k["d_model"])
        self.transformer.h = torch.nn.ModuleList(Block(k) for _ in range(k["layers"]))
        self.lm_head = torch.nn.Linear(k["d_model"], k["vocab"], bias=False)
        self.halves = []  # what the gates saw

    def forward(self, tokens):
        k, t = self.config, len(tokens)
        heads, size = k["heads"], k["d_model"] // k["heads"]
        x = self.transformer.wte(tokens)
        angle = torch.arange(t, dtype=x.dtype)[:, None] * 10000.0 ** (-2 * torch.arange(size // 2, dtype=x.dtype) / size)
        hidden = torch.ones(t, t, dtype=torch.bool).triu(1)
        for block in self.transformer.h:
            q, key, v = block.attn.qkv(norm(x)).view(t, 3, heads, size).unbind(1)
            scores = torch.einsum("ihc,jhc->hij", turn(q, angle), turn(key, angle)) / size ** 0.5
            p = torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)
            a = torch.einsum("hij,jhc->ihc", p, v).reshape(t, -1)
            x = x + block.attn.o(a) / (2 * k["layers"]) ** 0.5
            left, right = block.mlp.w(norm(x)).chunk(2, dim=-1)  # the gated half is the first
            self.halves.append(left.detach())
            x = x + block.mlp.p(gate(k["gate"], left, k.get("c"), k.get("lambda"), k.get("p")) * right)
        return self.lm_head(norm(x))
