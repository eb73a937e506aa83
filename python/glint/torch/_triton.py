"""The fused gates for GPUs, in Triton: `gate(l) * r` and its gradients in one pass each, for every gate of glint's table.

What a gate computes is its code in the table, value and slope, made into a function of Triton: no gate is written here.
Everything inside is float32, whatever comes in and goes out. Offsets have 64 bits; scalars may come as doubles and are made
float32 first. Nobody needs to import this: `gt.glu` takes it for tensors on a GPU where triton is installed.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, untyped-decorator, import-untyped"
from __future__ import annotations

import linecache
from contextlib import nullcontext
from functools import lru_cache
from typing import Any

import torch
import triton
import triton.language as tl

from ._rows import row_of, shape_of
from ._specs import Spec

# The words of the code (glint/kernels/gates.h).


@triton.jit
def _abs(x):
    return tl.where(x < 0, -x, x)


@triton.jit
def _sign(x):
    return tl.where(x < 0, -1.0, 1.0)


@triton.jit
def _relu(x):
    return tl.where(x <= 0, 0.0, x)


@triton.jit
def _step(x):
    return tl.where(x > 0, 1.0, 0.0)


@triton.jit
def _exp(x):
    return tl.exp(x)


@triton.jit
def _sigmoid(x):
    return 1 / (1 + tl.exp(-x))


@triton.jit
def _erfc(x):
    a = _abs(x) * 1.4142135623730951
    a = tl.where(a > 20, 20.0, a)
    # The fraction of the struct Gelu, of relative error 6e-9.
    n = 5.000000030e-01 + a * (4.386936215e-01 + a * (1.835308018e-01 + a * (4.073298493e-02 + a * 4.131141489e-03)))
    d = 1.675272234e00 + a * (1.203730559e00 + a * (4.702512374e-01 + a * (1.021087632e-01 + a * 1.035511965e-02)))
    q = 2 * tl.exp(-0.5 * a * a) * n / (1 + a * d)
    return tl.where(x < 0, 2 - q, q)


@triton.jit
def _pow(x, y: tl.constexpr):
    if y == 1:
        return x
    elif y == 2:
        return x * x
    else:
        return tl.exp2(y * tl.log2(x))


@triton.jit
def _power(k, x, y: tl.constexpr):
    """k x^y, which is 0 where k is."""
    if y == 0:
        return k
    else:
        return tl.where(k == 0, 0.0, k * _pow(x, y))


@triton.jit
def _shrink(t, p: tl.constexpr):
    """(1 + t^p)^(1/p) for t >= 0, without overflow."""
    if p == 1:
        return 1 + t
    else:
        more = tl.where(t > 1, t, 1.0)
        return more * _pow(1 + _pow(tl.where(t > 1, 1.0, t) / more, p), 1 / p)


_WORDS = {
    "abs": _abs,
    "erfc": _erfc,
    "exp": _exp,
    "power": _power,
    "relu": _relu,
    "shrink": _shrink,
    "sigmoid": _sigmoid,
    "sign": _sign,
    "step": _step,
}


@lru_cache(maxsize=None)
def _function(name: str, code: str) -> Any:
    """A function of Triton that returns the code: Triton reads the source of its functions, which is kept where Python looks for
    the lines of files."""
    source = f"def {name}(h, c, lam, p):\n    return {code}\n"
    file = f"<glint.torch, {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space: dict[str, Any] = {"__name__": __name__, "tl": tl, **_WORDS}
    exec(compile(source, file, "exec"), space)
    return triton.jit(space[name])


# Beyond it a gate is its limit: constant, or h itself on the sides named UP and DOWN. The code would overflow there.
_FAR = tl.constexpr(2.0**60)


@triton.jit
def _inside(h):
    h = tl.where(h > _FAR, _FAR, h)
    return tl.where(h < -_FAR, -_FAR, h)


@triton.jit
def _outside(h, v, UP: tl.constexpr, DOWN: tl.constexpr):
    if UP:
        v = tl.where(h > _FAR, h, v)
    if DOWN:
        v = tl.where(h < -_FAR, h, v)
    return v


@triton.jit
def _where(cols, BLOCK: tl.constexpr):
    """Row, columns and which of them are there, of this program: every row is cut into blocks."""
    blocks = tl.cdiv(cols, BLOCK)
    row = (tl.program_id(0) // blocks).to(tl.int64)
    at = (tl.program_id(0) % blocks).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    return row, at, at < cols


@triton.jit
def forward(
    l, r, y, l_row, r_row, y_row, cols, c, lam,
    P: tl.constexpr, VALUE: tl.constexpr, UP: tl.constexpr, DOWN: tl.constexpr, GLU: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """y = gate(l) r, or gate(l)."""
    row, at, there = _where(cols, BLOCK)
    h = tl.load(l + row * l_row + at, mask=there, other=0).to(tl.float32)
    out = _outside(h, VALUE(_inside(h), tl.full((), c, tl.float32), tl.full((), lam, tl.float32), P), UP, DOWN)
    if GLU:
        out = out * tl.load(r + row * r_row + at, mask=there, other=0).to(tl.float32)
    tl.store(y + row * y_row + at, out.to(y.dtype.element_ty), mask=there)


@triton.jit
def backward(
    l, r, dy, dl, dr, l_row, r_row, dy_row, dl_row, dr_row, cols, c, lam,
    P: tl.constexpr, VALUE: tl.constexpr, SLOPE: tl.constexpr, UP: tl.constexpr, DOWN: tl.constexpr, GLU: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """dl = dy r gate'(l), dr = dy gate(l); or dl = dy gate'(l). dl may be l, and dr may be r."""
    row, at, there = _where(cols, BLOCK)
    h = tl.load(l + row * l_row + at, mask=there, other=0).to(tl.float32)
    d = tl.load(dy + row * dy_row + at, mask=there, other=0).to(tl.float32)
    near, c32, lam32 = _inside(h), tl.full((), c, tl.float32), tl.full((), lam, tl.float32)
    by = SLOPE(near, c32, lam32, P)
    if GLU:
        by = by * tl.load(r + row * r_row + at, mask=there, other=0).to(tl.float32)
        value = _outside(h, VALUE(near, c32, lam32, P), UP, DOWN)
        tl.store(dr + row * dr_row + at, (d * value).to(dr.dtype.element_ty), mask=there)
    tl.store(dl + row * dl_row + at, (d * by).to(dl.dtype.element_ty), mask=there)


def constants(s: Spec, glu: bool, block: int, slope: bool) -> dict[str, Any]:
    """What a kernel is compiled for."""
    word = s.name.replace("-", "_")
    found = {"P": float(s.p), "VALUE": _function(word + "_value", s.core.code), "GLU": glu, "BLOCK": block}
    if slope:
        found["SLOPE"] = _function(word + "_slope", s.core.slope_code)
    return {**found, "UP": s.core.grad(_FAR.value) > 0.5, "DOWN": s.core.grad(-_FAR.value) > 0.5}


def _launch(kernel: Any, s: Spec, glu: bool, tensors: list[torch.Tensor]) -> None:
    one = tensors[0]
    (rows, cols), steps = shape_of(one), [row_of(t) for t in tensors]
    if all(step == cols for step in steps):
        rows, cols = 1, rows * cols
    if rows * cols == 0:
        return
    key = (glu, min(1024, triton.next_power_of_2(cols)), kernel is backward)
    if key not in s.kernels:
        s.kernels[key] = constants(s, *key)
    with torch.cuda.device(one.device) if one.is_cuda else nullcontext():
        grid = (rows * triton.cdiv(cols, key[1]),)
        kernel[grid](*tensors, *steps, cols, float(s.c), float(s.lam), **s.kernels[key], **_FUSED)


# What rounds once is as good as what rounds twice.
_FUSED = {} if triton.knobs.runtime.interpret else {"enable_fp_fusion": True}


def glu(s: Spec, l: torch.Tensor, r: torch.Tensor | None, y: torch.Tensor) -> None:
    """y = gate(l) r; without r, gate(l)."""
    _launch(forward, s, r is not None, [l, l if r is None else r, y])


def glu_backward(s: Spec, l: torch.Tensor, r: torch.Tensor | None, dy: torch.Tensor, dl: torch.Tensor, dr: torch.Tensor | None) -> None:
    """The gradients, which may be written over l and r themselves."""
    _launch(backward, s, r is not None, [l, l if r is None else r, dy, dl, dl if dr is None else dr])
