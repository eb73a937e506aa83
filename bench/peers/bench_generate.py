#!/usr/bin/env python3
"""Stories of 255 tokens from the paper's language model, 1 and 32 side by side: glint and tuned PyTorch, both with a KV
cache, taking turns in one run. Sampling at temperature 0.8 is part of the time in both."""
import json
import math
import statistics
import subprocess
import sys
import time

import tuned
import turns


def glint_rows(program, precision, threads, repeats):
    command = [program, "bench", "generate", "--precision", precision, "--threads", str(threads), "--repeats", str(repeats),
               "--format", "json", "--quiet"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["rows"]


class Cached:
    """torch_transformer's model a token at a time: keys and values lie in buffers of the whole context."""

    def __init__(self, model, stories, context=256):
        import torch
        self.model, self.stories, self.context = model, stories, context
        first = model.blocks[0]
        size = first.o.shape[0] // first.heads
        self.cache = [torch.zeros(2, stories * first.heads, context, size) for _ in model.blocks]

    def step(self, tokens, t):
        import torch
        import torch.nn.functional as F
        from torch_transformer import norm
        b = self.stories
        x = F.embedding(tokens, self.model.wte)
        cos, sin = self.model.cos[t], self.model.sin[t]
        for block, cache in zip(self.model.blocks, self.cache):
            d, heads = x.shape[1], block.heads
            size = d // heads
            qkv = F.linear(norm(x), block.qkv).view(b, 3, heads, size)
            left, right = qkv[:, :2].chunk(2, dim=-1)
            qk = torch.cat((left * cos - right * sin, right * cos + left * sin), dim=-1)
            cache[0, :, t] = qk[:, 1].reshape(b * heads, size)
            cache[1, :, t] = qkv[:, 2].reshape(b * heads, size)
            q = qk[:, 0].reshape(b * heads, 1, size)
            scores = torch.bmm(q, cache[0, :, :t + 1].transpose(1, 2)) * (1 / math.sqrt(size))
            y = torch.bmm(torch.softmax(scores, dim=-1), cache[1, :, :t + 1]).view(b, d)
            x = torch.add(x, F.linear(y, block.o), alpha=block.scale)
            l, r = F.linear(norm(x), block.w).chunk(2, dim=-1)
            x = x + F.linear(block.gate(l) * r, block.p)
        return F.linear(norm(x), self.model.head)

    def generate(self):
        import torch
        tokens = torch.ones(self.stories, dtype=torch.long)
        for t in range(self.context - 1):
            tokens = torch.multinomial(torch.softmax(self.step(tokens, t) / 0.8, dim=-1), 1)[:, 0]
        return self.stories * (self.context - 1)


def check(model):
    """The cached steps give the logits of the whole pass."""
    import torch
    torch.manual_seed(1)
    tokens = torch.randint(0, 4096, (2, 40))
    cached = Cached(model, 2)
    whole = model(tokens)
    for t in range(40):
        error = (cached.step(tokens[:, t], t) - whole[:, t]).abs().max().item()
        assert error < 1e-4, (t, error)


def run(args, precision, threads):
    import torch
    from torch_transformer import Transformer
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    model = Transformer()
    ours, theirs = {}, {}
    with torch.inference_mode():
        check(model)
        for round_ in range(args.rounds):
            for row in glint_rows(args.program, precision, threads, args.repeats):
                ours.setdefault(row["stories"], []).append(row["tokens_per_second"])
            for stories in ours:
                cached = Cached(model, stories)
                cached.generate()
                for _ in range(args.repeats):
                    start = time.perf_counter()
                    tokens = cached.generate()
                    theirs.setdefault(stories, []).append(tokens / (time.perf_counter() - start))
            print("\r%s, %d threads: round %d of %d  " % (precision, threads, round_ + 1, args.rounds), end="", file=sys.stderr)
    print("\r" + " " * 60 + "\r", end="", file=sys.stderr)
    rows = []
    for stories in ours:
        row = {"stories": stories, "precision": precision, "threads": threads,
               "glint_tokens_s": statistics.median(ours[stories]), "torch_f32_tokens_s": statistics.median(theirs[stories])}
        row["ratio_f32"] = row["glint_tokens_s"] / row["torch_f32_tokens_s"]
        rows.append(row)
    return rows


def main():
    parser = turns.parser(__doc__, 5)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    tuned.reexec()
    result = {"machine": tuned.machine(), "rows": [], "skipped": []}
    for precision, threads, _, heading in turns.settings(args, result):
        rows = run(args, precision, threads)
        result["rows"] += rows
        print("%s (tokens a second; ratio = glint / PyTorch)" % heading)
        print("  ".join("%10s" % h for h in ("stories", "glint", "torch f32", "ratio")))
        for r in rows:
            print("  ".join(("%10d" % r["stories"], "%10.0f" % r["glint_tokens_s"], "%10.0f" % r["torch_f32_tokens_s"],
                             "%10.2f" % r["ratio_f32"])))
    turns.save(args, result)


if __name__ == "__main__":
    main()
