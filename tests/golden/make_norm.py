"""Makes norm.json: the RMS norm forward and backward in float64 with PyTorch's rms_norm and autograd.

    python3 tests/golden/make_norm.py

The inputs are floats, so that float kernels start from the same numbers. One row is so small that the eps under the
root matters. PyTorch is needed only here.
"""
import json
import pathlib

import torch

torch.manual_seed(11)
ROWS, D, EPS = 4, 7, 1e-8


def main():
    x, du = torch.randn(ROWS, D).float().double(), torch.randn(ROWS, D).float().double()
    x[1] = (x[1] * 1e-4).float().double()
    x[2] = x[2] * 1024
    x.requires_grad_()
    u = torch.nn.functional.rms_norm(x, (D,), eps=EPS)
    u.backward(du)
    out = {"made_with": "torch " + torch.__version__, "x": x.tolist(), "du": du.tolist(), "u": u.tolist(),
           "dx": x.grad.tolist()}
    path = pathlib.Path(__file__).parent / "norm.json"
    path.write_text(json.dumps(out, separators=(",", ":")).replace('],"', '],\n"') + "\n")


main()
