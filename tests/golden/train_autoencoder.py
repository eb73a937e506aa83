"""Trains a small sparse autoencoder on what a GLU layer of a llama2.c model reads or writes, and saves it with SAELens.

    python3 tests/golden/train_autoencoder.py MODEL.bin TOKENIZER.bin STORIES.txt OUT --layer 3 --at output [--latents 256] [--tokens 60000]

A few minutes for stories260K. `glint spectrum MODEL.bin --layer 3 --sae OUT --latent 0` then reads a latent. Nothing in the tests needs what
this writes: it is for trying the readers on something that was trained.
"""
import argparse
import functools
import re
import sys

import numpy as np
import torch
from make_language_reading import encode, glu_inputs, read_model, read_tokenizer, silu
from sae_lens import saes


def activations(m, ids, scores, texts, layer, at, tokens):
    pieces = {i: p for p, i in ids.items()}
    # No piece goes beyond the next space, so words are encoded by themselves.
    word = functools.lru_cache(None)(lambda w: tuple(encode(w, ids, scores, pieces)))
    found, count = [], 0
    for text in texts:
        story = [1] + [t for w in re.findall(r" ([^ ]*)", " " + " ".join(text.split())) for t in word(w)]
        x = glu_inputs(m, story[:256])[layer - 1]
        if at == "output":
            u = x * m["glu_norm"][layer - 1]
            x = (silu(u @ m["gate"][layer - 1].T) * (u @ m["up"][layer - 1].T)) @ m["down"][layer - 1].T
        found.append(x)
        count += len(x)
        if count >= tokens:
            break
    return torch.tensor(np.concatenate(found), dtype=torch.float32)


def train(sae, x, steps, sparsity):
    optimizer = torch.optim.Adam(sae.parameters(), lr=2e-3)
    generator = torch.Generator().manual_seed(0)
    variance = x.var(0).sum()
    for step in range(steps):
        batch = x[torch.randint(len(x), (1024,), generator=generator)]
        z = sae.encode(batch)
        error = (sae.decode(z) - batch).pow(2).sum(-1).mean() / variance
        loss = error + sparsity * (z * sae.W_dec.norm(dim=-1)).sum(-1).mean() / variance.sqrt()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 500 == 0 or step == steps - 1:
            print(f"step {step}: unexplained {error.item():.3f}, active {(z > 0).float().sum(-1).mean().item():.1f}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("model", "tokenizer", "stories", "out"):
        parser.add_argument(name)
    parser.add_argument("--layer", type=int, default=1)
    parser.add_argument("--at", choices=["input", "output"], default="output")
    parser.add_argument("--latents", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=60000)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--sparsity", type=float, default=0.05)
    o = parser.parse_args()
    torch.manual_seed(0)
    m = read_model(o.model)
    ids, scores = read_tokenizer(o.tokenizer)
    with open(o.stories, encoding="utf-8") as file:
        texts = file.read(8 << 20).split("<|endoftext|>")
    x = activations(m, ids, scores, texts, o.layer, o.at, o.tokens)
    hook = f"blocks.{o.layer - 1}." + ("hook_mlp_out" if o.at == "output" else "ln2.hook_normalized")
    config = saes.StandardSAEConfig(d_in=x.shape[1], d_sae=o.latents, metadata=saes.sae.SAEMetadata(hook_name=hook, model_name="llama2.c"))
    sae = saes.StandardSAE(config)
    with torch.no_grad():
        sae.b_dec.copy_(x.mean(0))
        sae.W_enc.copy_(sae.W_dec.T)
    train(sae, x, o.steps, o.sparsity)
    with torch.no_grad():
        sae.fold_W_dec_norm()
    sae.save_model(o.out)
    print(f"{len(x)} tokens, saved to {o.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
