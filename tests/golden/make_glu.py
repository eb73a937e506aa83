"""Makes glu.json: one GLU layer forward and backward for every gate, in float64 with PyTorch's autograd.

    python3 tests/golden/make_glu.py

The inputs are floats, so that float kernels start from the same numbers. PyTorch is needed only here.
"""
import json
import math
import pathlib

import torch

torch.manual_seed(7)
BATCH, D, H = 5, 7, 6


def sqs(h, c, lam, p):
    size = h.abs()
    sign = torch.where(h < 0, -1.0, 1.0).double()
    return sign * (size - c) / (1 + (lam * size) ** p) ** (1 / p)


CASES = [
    ("sqs", {"c": 0.01, "lambda": 0.5, "p": 1.0}, lambda h: sqs(h, 0.01, 0.5, 1.0)),
    ("sqs", {"c": 0.5, "lambda": 0.5, "p": 2.0}, lambda h: sqs(h, 0.5, 0.5, 2.0)),
    ("identity", {}, lambda h: h),
    ("relu", {}, torch.relu),
    ("gelu", {}, torch.nn.functional.gelu),
    ("silu", {}, torch.nn.functional.silu),
    ("gelu-tanh", {}, lambda h: torch.nn.functional.gelu(h, approximate="tanh")),
]


def tensor(*shape, scale=1.0):
    return (torch.randn(*shape) * scale).float().double()


def nested(t):
    return t.detach().tolist()  # json writes the shortest form that reads back the same


def main():
    x, w, dy = tensor(BATCH, D), tensor(2 * H, D, scale=1 / math.sqrt(D)), tensor(BATCH, H)
    cases = []
    for name, params, gate in CASES:
        xi, wi = x.clone().requires_grad_(), w.clone().requires_grad_()
        z = xi @ wi.T
        y = gate(z[:, :H]) * z[:, H:]
        y.backward(dy)
        cases.append({"gate": name, "params": params, "y": nested(y), "dx": nested(xi.grad), "dw": nested(wi.grad)})
    out = {"made_with": "torch " + torch.__version__, "x": nested(x), "w": nested(w), "dy": nested(dy), "cases": cases}
    path = pathlib.Path(__file__).parent / "glu.json"
    path.write_text(json.dumps(out, indent=None, separators=(",", ":")).replace('{"gate"', '\n{"gate"') + "\n")


main()
