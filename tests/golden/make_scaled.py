"""Makes scaled.json: the scaled form of small GLU layers, from its definition by NumPy.

Run: python3 make_scaled.py > scaled.json   (NumPy 2; floats are written so that they read back exactly)
"""

import json
import sys

import numpy as np

rng = np.random.default_rng(20261118)
H, D, N, CLASSES, RIDGE = 9, 7, 100, 4, 1e-3


def f32(*shape):
    return rng.normal(size=shape).astype(np.float32).astype(np.float64)


def sqs(c, lam, p):
    return lambda l: np.where(l < 0, -1.0, 1.0) * (np.abs(l) - c) / (1 + (lam * np.abs(l)) ** p) ** (1 / p)


def silu(l):
    return l / (1 + np.exp(-l))


def scaled(gate, slope, power, l, r, s, head):
    """Gains from the definition: one big least-squares problem whose rows are samples and classes."""
    f = 1 / (1 + np.outer(s, slope) ** power) ** (1 / power)  # [N, H]
    g = gate(l)
    single = (r * r * g * l * f).sum(0) / (r * r * l * l * f * f).sum(0)
    centred = head - head.mean(0)
    design = np.einsum("ch,nh->nch", centred, l * r * f).reshape(N * CLASSES, H)
    target = ((g * r) @ centred.T).reshape(N * CLASSES)
    # Rows that hold the gains near those of the single units.
    ridge = np.diag(np.sqrt(RIDGE * (design * design).sum(0)))
    gain = np.linalg.lstsq(np.concatenate([design, ridge]), np.concatenate([target, ridge @ single]), rcond=None)[0]
    return {"single": single, "gain": gain, "outputs": (l * r * f * gain) @ head.T}


def case(name, bias, params=None, normed=False):
    left, right, head, x = f32(H, D), f32(H, D), f32(CLASSES, H), f32(N, D)
    bias_l, bias_r = (f32(H), f32(H)) if bias else (np.zeros(H), np.zeros(H))
    x *= rng.uniform(0.2, 3, size=(N, 1)).astype(np.float32)
    if normed:
        x /= np.sqrt((x * x).mean(1, keepdims=True))
    x = x.astype(np.float32).astype(np.float64)
    l, r, s = x @ left.T + bias_l, x @ right.T + bias_r, np.linalg.norm(x, axis=1)
    out = {"gate": name, "normed": normed, "left": left, "right": right, "head": head, "x": x}
    if bias:
        out |= {"bias_left": bias_l, "bias_right": bias_r}
    slope, power = np.zeros(H), 1
    if params:
        out |= params
        gate, power = sqs(**params), params["p"]
        if not normed:
            square = (l * r) ** 2
            slope = params["lam"] * (square * np.abs(l)).mean(0) / (square.mean(0) * s.mean())
            out |= {"slope": slope, "size": np.median(s)}
    else:
        gate = silu
    out |= scaled(gate, slope, power, l, r, s, head)
    return out


def main():
    cases = [
        case("sqs", False, {"c": 0.01, "lam": 0.5, "p": 1}),
        case("sqs", True, {"c": 0.1, "lam": 0.7, "p": 2}),
        case("sqs", False, {"c": 0.01, "lam": 0.5, "p": 1}, normed=True),
        case("silu", False, normed=True),
    ]
    json.dump(cases, sys.stdout, default=lambda a: a.tolist() if hasattr(a, "tolist") else a)
    print()


main()
