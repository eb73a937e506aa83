"""The language model in PyTorch, written as a user would who wants speed: stacked projections, PyTorch's own causal
attention, fused norm, loss and AdamW. Compiled: a micro-batch without its optimiser is one graph, forward and backward."""
import math

import torch
import torch.nn.functional as F

from torch_gates import autocast, compiled_alone, gate
from torch_step import matrix

EPS = 1e-8


def norm(x):
    return F.rms_norm(x, x.shape[-1:], eps=EPS)


class Block(torch.nn.Module):
    def __init__(self, d, hidden, heads, layers, gate_name):
        super().__init__()
        self.qkv, self.o = matrix(3 * d, d), matrix(d, d)
        self.w, self.p = matrix(2 * hidden, d), matrix(d, hidden)
        self.heads, self.scale, self.gate = heads, 1 / math.sqrt(2 * layers), gate(gate_name)

    def turned(self, x, cos, sin):
        """Queries, keys and values of x [b, t, d], each [b, heads, t, size]; the first two with their positions."""
        b, t, d = x.shape
        q, k, v = F.linear(norm(x), self.qkv).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        turn = lambda left, right: torch.cat((left * cos - right * sin, right * cos + left * sin), dim=-1).to(v.dtype)  # noqa: E731
        return turn(*q.chunk(2, dim=-1)), turn(*k.chunk(2, dim=-1)), v

    def rest(self, x, y):
        """From what attention gave, y [b, heads, t, size], to the end of the block."""
        x = torch.add(x, F.linear(y.transpose(1, 2).reshape(x.shape), self.o), alpha=self.scale)
        left, right = F.linear(norm(x), self.w).chunk(2, dim=-1)
        return x + F.linear(self.gate(left) * right, self.p)

    def forward(self, x, cos, sin):
        return self.rest(x, F.scaled_dot_product_attention(*self.turned(x, cos, sin), is_causal=True))


class Transformer(torch.nn.Module):
    def __init__(self, vocab=4096, layers=4, d=128, hidden=128, heads=4, context=256, gate_name="sqs"):
        super().__init__()
        self.wte = torch.nn.Parameter(torch.randn(vocab, d))
        self.blocks = torch.nn.ModuleList(Block(d, hidden, heads, layers, gate_name) for _ in range(layers))
        self.head = matrix(vocab, d)
        half = d // heads // 2
        angle = torch.arange(context)[:, None] * 10000.0 ** (-torch.arange(half) / half)
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())

    def forward(self, tokens):
        t = tokens.shape[1]
        x = F.embedding(tokens, self.wte)
        for block in self.blocks:
            x = block(x, self.cos[:t], self.sin[:t])
        return F.linear(norm(x), self.head)


def batches(lengths, micro_batch, vocab=4096):
    """Rows padded to the longest of their micro-batch, which is filled with rows of about the same length."""
    torch.manual_seed(0)
    lengths = sorted(lengths)
    out = []
    for first in range(0, len(lengths), micro_batch):
        part = lengths[first:first + micro_batch]
        inputs = torch.zeros(len(part), part[-1], dtype=torch.long)
        targets = torch.full_like(inputs, -100)
        for i, n in enumerate(part):
            inputs[i, :n], targets[i, :n] = torch.randint(0, vocab, (2, n))
        out.append((inputs, targets))
    return out


class Trainer:
    """Steps as glint's: micro-batches forward and backward, clipping, AdamW. Targets of padding are -100."""

    def __init__(self, parts, precision="f32", compiled=False, **shape):
        torch.manual_seed(0)
        self.model = Transformer(**shape)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
        self.parts, self.precision = parts, precision
        self.tokens = sum(int((targets >= 0).sum()) for _, targets in parts)
        lengths = {inputs.shape[1] for inputs, _ in parts}
        self.loss = compiled_alone(self.loss_of, dynamic=len(lengths) > 1) if compiled else self.loss_of

    def loss_of(self, inputs, targets):
        with autocast(self.precision):
            logits = self.model(inputs)
        return F.cross_entropy(logits.float().view(-1, logits.shape[-1]), targets.view(-1), ignore_index=-100,
                               reduction="sum") / self.tokens

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        total = 0
        for inputs, targets in self.parts:
            loss = self.loss(inputs, targets)
            loss.backward()
            total += loss.detach()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return total


def make(case, precision, compiled):
    return Trainer(batches(case["lengths"], case["micro_batch"]), precision, compiled).step
