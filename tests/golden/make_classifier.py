#!/usr/bin/env python3
"""Writes classifier.safetensors, classifier.json and torch_model/ beside itself: the image model in PyTorch, in double
precision, from weights and inputs that a float holds exactly.

Logits, loss, gradients, and the weights after 1 and 3 steps of AdamW. Adam divides a gradient by its own size: where a
gradient is as small as its rounding error, the step has a random sign and no two programs agree. So the seed of a case is
the first for which every element of the weights is well conditioned (`conditioned`), and no gate is near its jump or kink
(`kink`). Then a float program that is right to a few roundings stays within 1e-5 of the largest weight."""
import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import torch  # noqa: E402

from torch_classifier import Classifier, write_safetensors  # noqa: E402

HERE = Path(__file__).resolve().parent
INPUTS, WIDTH, CLASSES, BATCH = 12, 8, 4, 6
LR, BETAS, EPS, DECAY = 1e-3, (0.9, 0.999), 1e-8, 0.1
ROUNDING = 16 * 2.0**-24  # error of a gradient, relative to the largest of its tensor
TOLERANCE = 1e-5          # of the tests, relative to the largest magnitude of a tensor


def config(gate, layers=1, bias=False, residual=False, norm="none", hidden=WIDTH, c=0.01, lam=0.5, p=1.0):
    return {"format": "glint-classifier", "inputs": INPUTS, "classes": CLASSES, "layers": layers, "d_model": WIDTH,
            "d_hidden": hidden, "gate": gate, "c": c, "lambda": lam, "p": p, "bias": bias, "residual": residual,
            "norm": norm}


def cases():
    for gate in ("sqs", "identity", "relu", "gelu", "silu"):
        for layers in (1, 2):
            for extras in (False, True):
                name = f"{gate}-{layers}" + ("-bias-residual" if extras else "")
                yield name, config(gate, layers, extras, extras), 0.0
    yield "rms-hidden", config("sqs", 2, norm="rms", hidden=10), 0.0
    yield "rms-residual", config("gelu", 2, bias=True, residual=True, norm="rms"), 0.0
    yield "clip", config("sqs", 2), 0.05
    yield "clip-above", config("silu", 1, bias=True), 100.0
    yield "sqs-p2", config("sqs", 1, c=-0.3, lam=1.5, p=2.5), 0.0


def draw(k, seed):
    """Model, inputs and labels; every number is a float's."""
    g = torch.Generator().manual_seed(seed)
    model = Classifier(k).double()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.empty(p.shape).uniform_(-0.9, 0.9, generator=g).double())
    x = (torch.randint(0, 256, (BATCH, INPUTS), generator=g).float() / 255).double()
    return model, x, torch.randint(0, CLASSES, (BATCH,), generator=g)


def conditioned(history, weight, betas=BETAS, tolerance=TOLERANCE):
    """Whether three steps turn gradients with an error of ROUNDING into weights within half of `tolerance`. With
    u = m / (sqrt(v) + eps), |du/dg_i| <= (a_i + |u| sqrt(b_i)) / sqrt(v), where a_i and b_i are the shares of g_i."""
    error = torch.zeros_like(weight)
    for t in range(1, len(history) + 1):
        c1, c2 = 1 - betas[0]**t, 1 - betas[1]**t
        a = [(1 - betas[0]) * betas[0]**(t - i) / c1 for i in range(1, t + 1)]
        b = [(1 - betas[1]) * betas[1]**(t - i) / c2 for i in range(1, t + 1)]
        m = sum(ai * g for ai, g in zip(a, history))
        s = sum(bi * g * g for bi, g in zip(b, history)).sqrt()
        delta = [ROUNDING * g.abs().max() for g in history[:t]]
        if t == 1:  # u = g / (|g| + eps): a wrong sign is all that can go wrong
            bad = (s > 0) & (s < 4 * delta[0])
            error += torch.where(bad, 2.0, 0.0)
            continue
        slope = sum((ai + (m / (s + EPS)).abs() * bi**0.5) * d for ai, bi, d in zip(a, b, delta))
        error += torch.where(s > 0, slope / (s + EPS), torch.zeros_like(s))
    return bool((LR * error <= 0.5 * tolerance * weight.abs().max()).all())


def kink(k, model):
    if k["gate"] not in ("sqs", "relu"):
        return False
    return any((h.abs() < 1e-4).any() for h in model.halves)


def run(name, k, clip):
    for seed in range(1, 2000):
        model, x, labels = draw(k, seed)
        params = list(model.parameters())
        start = torch.cat([p.detach().flatten() for p in params])
        optimizer = torch.optim.AdamW(
            [{"params": [p for p in params if p.dim() > 1], "weight_decay": DECAY},
             {"params": [p for p in params if p.dim() == 1], "weight_decay": 0.0}], lr=LR, betas=BETAS, eps=EPS)
        out, history, good = {"weights": start, "inputs": x, "labels": labels.double()}, [], True
        for step in range(1, 4):
            optimizer.zero_grad()
            logits = model(x)
            loss = torch.nn.functional.cross_entropy(logits, labels)
            loss.backward()
            good = good and not kink(k, model)
            if step == 1:
                out |= {"logits": logits.detach(), "loss": loss.detach().reshape(1),
                        "gradients": torch.cat([p.grad.flatten() for p in params])}
            if clip:
                norm = torch.nn.utils.clip_grad_norm_(params, clip)
                out.setdefault("norm", norm.reshape(1))
            history.append([p.grad.detach().clone() for p in params])
            optimizer.step()
            if step in (1, 3):
                out[f"after{step}"] = torch.cat([p.detach().flatten() for p in params])
        if good and all(conditioned([h[i] for h in history], p.detach()) for i, p in enumerate(params)):
            return seed, {f"{name}/{key}": value.float() for key, value in out.items()}
    raise SystemExit(f"{name}: no well conditioned seed")


def schedules():
    """Learning rates of the first step of every epoch, by CosineAnnealingLR."""
    found = []
    for base, epochs in ((1e-3, 20), (2e-3, 12), (0.5, 1), (3e-4, 7)):
        optimizer = torch.optim.AdamW([torch.zeros(1, requires_grad=True)], lr=base)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
        rates = []
        for _ in range(epochs):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step()
        found.append({"base": base, "epochs": epochs, "rates": rates})
    return found


def whole_model():
    """A model as PyTorch code would save it: config, weights, and the logits that belong to some inputs."""
    folder = HERE / "torch_model"
    folder.mkdir(exist_ok=True)
    k = config("silu", 2, bias=True, norm="rms", hidden=10)
    model, x, _ = draw(k, 7)
    logits = model(x).detach()
    write_safetensors(folder / "model.safetensors", {n: t.float() for n, t in model.state_dict().items()}, {"format": "pt"})
    k |= {"data": "torch", "image": {"height": 3, "width": 4}, "class_names": ["a", "b", "c", "d"]}
    (folder / "config.json").write_text(json.dumps(k, indent=2) + "\n")
    write_safetensors(folder / "logits.safetensors", {"inputs": x.float(), "logits": logits.float()})


def main():
    listed, tensors = [], {}
    for name, k, clip in cases():
        seed, found = run(name, k, clip)
        tensors |= found
        listed.append({"name": name, "config": k, "clip": clip, "seed": seed})
    optimizer = {"lr": LR, "beta1": BETAS[0], "beta2": BETAS[1], "eps": EPS, "weight_decay": DECAY}
    text = json.dumps({"torch": torch.__version__, "optimizer": optimizer, "cases": listed, "schedules": schedules()}, indent=1)
    (HERE / "classifier.json").write_text(text + "\n")
    write_safetensors(HERE / "classifier.safetensors", tensors)
    whole_model()
    print({c["name"]: c["seed"] for c in listed})


if __name__ == "__main__":
    main()
