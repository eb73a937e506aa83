#!/usr/bin/env python3
"""Writes transformer.safetensors and transformer.json beside itself: the language model in PyTorch, in double precision,
from weights that a float holds exactly, on sequences of different lengths.

Logits, losses, gradients of the mean loss over all tokens, and the weights after 1 and 3 steps of AdamW with clipping.
As for the image model (make_classifier.py), the seed of a case is the first that is well conditioned."""
import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import torch  # noqa: E402

from make_classifier import conditioned  # noqa: E402
from torch_classifier import write_safetensors  # noqa: E402
from torch_transformer import Transformer  # noqa: E402

HERE = Path(__file__).resolve().parent
LENGTHS = (9, 4, 1, 7)
LR, BETAS, EPS, DECAY, CLIP = 1e-3, (0.9, 0.95), 1e-8, 0.1, 1.0
TOLERANCE = 1e-4  # of the tests, relative to the largest magnitude of a tensor


def config(gate, heads=2, d=8, hidden=6, c=0.01, lam=0.5, p=1.0):
    return {"format": "glint-transformer", "vocab": 13, "layers": 2, "d_model": d, "d_hidden": hidden, "heads": heads,
            "context": 9, "gate": gate, "c": c, "lambda": lam, "p": p}


def cases():
    for gate in ("sqs", "identity", "relu", "gelu", "silu"):
        yield gate, config(gate)
    yield "one-head", config("sqs", heads=1, d=6, hidden=9)
    yield "sqs-p2", config("sqs", heads=4, c=-0.3, lam=1.5, p=2.5)


def draw(k, seed):
    """Model and sequences; every number is a float's."""
    g = torch.Generator().manual_seed(seed)
    model = Transformer(k).double()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.empty(p.shape).uniform_(-0.9, 0.9, generator=g).double())
    return model, [torch.randint(0, k["vocab"], (n + 1,), generator=g) for n in LENGTHS]


def run(name, k):
    for seed in range(1, 20000):
        model, rows = draw(k, seed)
        params = list(model.parameters())
        flat = lambda get: torch.cat([get(p).detach().flatten() for p in params])  # noqa: E731
        out = {"weights": flat(lambda p: p), "tokens": torch.cat(rows).double()}
        optimizer = torch.optim.AdamW(params, lr=LR, betas=BETAS, eps=EPS, weight_decay=DECAY)
        history, good = [], True
        for step in range(1, 4):
            optimizer.zero_grad()
            model.halves = []
            logits = torch.cat([model(row[:-1]) for row in rows])
            losses = torch.nn.functional.cross_entropy(logits, torch.cat([row[1:] for row in rows]), reduction="none")
            losses.mean().backward()
            if k["gate"] in ("sqs", "relu"):
                good = good and all((h.abs() >= 1e-4).all() for h in model.halves)
            if step == 1:
                out |= {"logits": logits.detach(), "losses": losses.detach(), "gradients": flat(lambda p: p.grad)}
            norm = torch.nn.utils.clip_grad_norm_(params, CLIP)
            out.setdefault("norm", norm.reshape(1))
            history.append([p.grad.detach().clone() for p in params])
            optimizer.step()
            if step in (1, 3):
                out[f"after{step}"] = flat(lambda p: p)
        if good and all(conditioned([h[i] for h in history], p.detach(), BETAS, TOLERANCE) for i, p in enumerate(params)):
            return seed, {f"{name}/{key}": value.float() for key, value in out.items()}
    raise SystemExit(f"{name}: no well conditioned seed")


def main():
    listed, tensors = [], {}
    for name, k in cases():
        seed, found = run(name, k)
        tensors |= found
        listed.append({"name": name, "config": k, "seed": seed})
    optimizer = {"lr": LR, "beta1": BETAS[0], "beta2": BETAS[1], "eps": EPS, "weight_decay": DECAY, "clip": CLIP}
    text = json.dumps({"torch": torch.__version__, "optimizer": optimizer, "lengths": LENGTHS, "cases": listed}, indent=1)
    (HERE / "transformer.json").write_text(text + "\n")
    write_safetensors(HERE / "transformer.safetensors", tensors)
    print({c["name"]: (c["seed"], tensors[c["name"] + "/norm"].item()) for c in listed})


if __name__ == "__main__":
    main()
