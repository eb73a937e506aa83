"""Makes spectra.json: what NumPy says about small matrices and a small GLU layer.

Run: python3 make_spectra.py > spectra.json   (NumPy 1.24; floats are written so that they read back exactly)
"""

import itertools
import json
import math
import sys

import numpy as np

rng = np.random.default_rng(20240501)


def descending(matrix):
    values, vectors = np.linalg.eigh(matrix)
    return values[::-1], vectors[:, ::-1].T


def decomposed(name, matrix):
    values, vectors = descending(matrix)
    return {"name": name, "matrix": matrix.tolist(), "values": values.tolist(), "vectors": vectors.tolist()}


def matrices():
    a = rng.normal(size=(24, 24))
    yield decomposed("random", (a + a.T) / 2)
    q, _ = np.linalg.qr(rng.normal(size=(9, 9)))
    graded = q @ np.diag(10.0 ** np.arange(4, -5, -1)) @ q.T
    yield decomposed("graded", (graded + graded.T) / 2)
    v = rng.normal(size=7)
    yield decomposed("rank one", -np.outer(v, v))
    i = np.arange(1, 13)
    yield decomposed("hilbert", 1.0 / (i[:, None] + i[None, :] - 1))


H, D, N, UNITS = 14, 10, 120, 3


def gate_sqs(l):
    sign = np.where(l < 0, -1.0, 1.0)
    return sign * (np.abs(l) - 0.01) / (1 + 0.5 * np.abs(l))


def gate_silu(l):
    return l / (1 + np.exp(-l))


def interaction(left, right, q):
    m = left.T @ np.diag(q) @ right
    return (m + m.T) / 2


def layer():
    f32 = lambda *shape: rng.normal(size=shape).astype(np.float32).astype(np.float64)
    left, right, bias_l, bias_r = f32(H, D), f32(H, D), f32(H), f32(H)
    head, x = f32(UNITS, H), f32(N, D)
    out = {"left": left, "right": right, "bias_left": bias_l, "bias_right": bias_r, "head": head, "x": x}

    qs = [interaction(left, right, u) for u in head]
    out["values"] = np.array([descending(q)[0] for q in qs])
    augmented = lambda m, b: np.concatenate([m, b[:, None]], axis=1)
    biased = [interaction(augmented(left, bias_l), augmented(right, bias_r), u) for u in head]
    out["values_biased"] = np.array([descending(q)[0] for q in biased])
    out["shared_values"] = np.linalg.svd(np.concatenate(qs, axis=0), compute_uv=False)

    l, r = x @ left.T, x @ right.T
    for name, gate in (("sqs", gate_sqs), ("silu", gate_silu)):
        g = gate(l)
        out[name + "_gain"] = (r * r * g * l).sum(0) / (r * r * l * l).sum(0)
        lines = []
        for h in range(H):  # weighted least squares: rows scaled by |r|
            scale = np.abs(r[:, h])
            a = np.stack([l[:, h] * scale, scale], axis=1)
            lines.append(np.linalg.lstsq(a, g[:, h] * scale, rcond=None)[0])
        out[name + "_affine_gain"], out[name + "_affine_shift"] = np.array(lines).T
        out[name + "_logits"] = (g * r) @ head.T

    # The plain form of the SQS layer against the layer itself, with labels that are decisions of a noisy layer.
    model, form = out["sqs_logits"], (l * r) @ head.T
    labels = (model + 2 * rng.normal(size=model.shape)).argmax(1)
    centred = lambda m: m - m.mean(0)
    out["labels"] = labels
    out["fidelity"] = {
        "correlation": float((centred(model) * centred(form)).sum()
                             / math.sqrt((centred(model) ** 2).sum() * (centred(form) ** 2).sum())),
        "r2": float(1 - ((model - form) ** 2).sum() / (centred(model) ** 2).sum()),
        "unit_correlation": [float(np.corrcoef(model[:, u], form[:, u])[0, 1]) for u in range(UNITS)],
        "agreement": float((model.argmax(1) == form.argmax(1)).mean()),
        "accuracy_model": float((model.argmax(1) == labels).mean()),
        "accuracy_form": float((form.argmax(1) == labels).mean()),
    }
    curve = []
    pairs = [np.linalg.eigh(q) for q in qs]
    for k in range(D + 1):
        logits = np.zeros((N, UNITS))
        for u, (values, vectors) in enumerate(pairs):
            top = np.argsort(-np.abs(values))[:k]
            logits[:, u] = ((x @ vectors[:, top]) ** 2) @ values[top]
        curve.append(float((logits.argmax(1) == labels).mean()))
    out["truncation"] = curve
    p = np.abs(out["values"][0]) / np.abs(out["values"][0]).sum()
    s = out["values"][0] ** 2
    out["entropy_rank"] = float(np.exp(-(p * np.log(p)).sum()))
    out["participation"] = float(s.sum() ** 2 / (s * s).sum())
    out["energy"] = np.cumsum(np.sort(s)[::-1]) / s.sum()
    return out


def angles():
    a, b = rng.normal(size=(4, 9)), rng.normal(size=(3, 9))
    qa, qb = np.linalg.qr(a.T)[0], np.linalg.qr(b.T)[0]
    return {"a": a, "b": b, "angles": np.arccos(np.linalg.svd(qa.T @ qb, compute_uv=False))}


def matching():
    weight = rng.uniform(size=(6, 8))
    best = max(itertools.permutations(range(8), 6), key=lambda p: sum(weight[i, c] for i, c in enumerate(p)))
    return {"weight": weight, "partner": list(best)}


def plain(value):
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


json.dump(plain({"matrices": list(matrices()), "layer": layer(), "angles": angles(), "matching": matching()}),
          sys.stdout, separators=(",", ":"))
sys.stdout.write("\n")
