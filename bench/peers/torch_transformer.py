"""The language model in PyTorch, written as a user would who wants speed: stacked projections, one batched product for the
scores of all heads with the mask added in it, in-place residuals, fused loss."""
import math

import torch
import torch.nn.functional as F

from torch_model import gate


def norm(x):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-8)


def matrix(rows, cols):
    return torch.nn.Parameter(torch.empty(rows, cols).uniform_(-1, 1) / cols ** 0.5)


class Block(torch.nn.Module):
    def __init__(self, d, hidden, heads, layers, gate_name):
        super().__init__()
        self.qkv, self.o = matrix(3 * d, d), matrix(d, d)
        self.w, self.p = matrix(2 * hidden, d), matrix(d, hidden)
        self.heads, self.scale, self.gate = heads, 1 / math.sqrt(2 * layers), gate(gate_name)

    def forward(self, x, cos, sin, mask):
        b, t, d = x.shape
        size = d // self.heads
        qkv = F.linear(norm(x), self.qkv).view(b, t, 3, self.heads, size).permute(2, 0, 3, 1, 4)
        qk = qkv[:2]
        left, right = qk.chunk(2, dim=-1)
        q, k = torch.cat((left * cos - right * sin, right * cos + left * sin), dim=-1).reshape(2, b * self.heads, t, size)
        v = qkv[2].reshape(b * self.heads, t, size)
        scores = torch.baddbmm(mask, q, k.transpose(1, 2), alpha=1 / math.sqrt(size))
        y = torch.bmm(torch.softmax(scores, dim=-1), v)
        y = y.view(b, self.heads, t, size).transpose(1, 2).reshape(b, t, d)
        x = torch.add(x, F.linear(y, self.o), alpha=self.scale)
        l, r = F.linear(norm(x), self.w).chunk(2, dim=-1)
        return x + F.linear(self.gate(l) * r, self.p)


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
        self.register_buffer("mask", torch.full((context, context), -math.inf).triu(1)[None])

    def forward(self, tokens):
        t = tokens.shape[1]
        x = F.embedding(tokens, self.wte)
        for block in self.blocks:
            x = block(x, self.cos[:t], self.sin[:t], self.mask[:, :t, :t])
        return F.linear(norm(x), self.head)


class Trainer:
    """Steps as glint's: micro-batches forward and backward, clipping, AdamW. Targets of padding are -100."""

    def __init__(self, batches, bf16=False, **shape):
        torch.manual_seed(0)
        self.model = Transformer(**shape)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1)
        self.batches, self.bf16 = batches, bf16
        self.tokens = sum(int((targets >= 0).sum()) for _, targets in batches)

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        for inputs, targets in self.batches:
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.bf16):
                logits = self.model(inputs)
            loss = F.cross_entropy(logits.float().view(-1, logits.shape[-1]), targets.view(-1), ignore_index=-100,
                                   reduction="sum")
            (loss / self.tokens).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
