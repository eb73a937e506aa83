"""The gates in plain operations of PyTorch: any device, any dtype, differentiable as often as one likes.

Autograd gives the slopes that glint defines, at 0 too: there `abs` of PyTorch has the slope 0, and SQS would have
the slope 0 where 1 + lam c is right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

Plain = Callable[[torch.Tensor, float, float, float], torch.Tensor]


def sign(h: torch.Tensor) -> torch.Tensor:
    """-1 below 0, else 1; a constant for autograd."""
    one = torch.ones((), dtype=h.dtype, device=h.device)
    return torch.where(h < 0, -one, one)


def absolute(h: torch.Tensor) -> torch.Tensor:
    """|h| whose slope at 0 is that of the right side."""
    return h * sign(h)


def shrink(t: torch.Tensor, p: float, smooth: bool = False) -> torch.Tensor:
    """(1 + t^p)^(1/p) for t >= 0, without overflow. `smooth` leaves out the infinite slope at 0 of p < 1."""
    if p == 1:
        return 1 + t
    one = torch.ones((), dtype=t.dtype, device=t.device)
    far = t > 1
    more = torch.where(far, t, one)
    less = torch.where(far, one, t) / more
    if smooth and p < 1:
        none = less == 0
        power = torch.where(none, 0 * one, torch.where(none, one, less) ** p)
    else:
        power = less**p
    return more * (1 + power) ** (1 / p)


def _sqs(h: torch.Tensor, c: float, lam: float, p: float) -> torch.Tensor:
    s = sign(h)
    shifted = h - c * s  # sgn(h) (|h| - c)
    if lam == 0:
        return shifted
    # With c = 0 the infinite slope of the shrink is multiplied by 0.
    return shifted / shrink(lam * (h * s), p, smooth=c == 0)


# PyTorch's own function where it has one: a single kernel on every device.
_OWN: dict[str, Plain] = {
    "sqs": _sqs,
    "identity": lambda h, c, lam, p: h,
    "relu": lambda h, c, lam, p: F.relu(h),
    "gelu": lambda h, c, lam, p: F.gelu(h),
    "silu": lambda h, c, lam, p: F.silu(h),
    "gelu-tanh": lambda h, c, lam, p: F.gelu(h, approximate="tanh"),
}

ONE_KERNEL = frozenset(_OWN) - {"sqs"}

# The words of the code in glint's table of gates.
_WORDS: dict[str, Any] = {
    "__builtins__": {},
    "abs": absolute,
    "erfc": torch.special.erfc,
    "exp": torch.exp,
    "power": lambda k, x, y: k * x**y if k != 0 else torch.zeros_like(x),
    "relu": torch.relu,
    "shrink": shrink,
    "sigmoid": torch.sigmoid,
    "sign": sign,
    "step": lambda x: (x > 0).to(x.dtype),
}


def from_code(code: str) -> Plain:
    """The function of a gate's code in the table."""
    function: Plain = eval(f"lambda h, c, lam, p: {code}", dict(_WORDS))
    return function


def plain_slope(code: str, h: torch.Tensor, c: float, lam: float, p: float) -> torch.Tensor:
    """The slope by its code in the table: without autograd, in float32 at least. Beyond 2^60 it is that at 2^60."""
    x = h.double() if h.dtype is torch.float64 else h.float()
    found = from_code(code)(x.clamp(-(2.0**60), 2.0**60), c, lam, p)
    return torch.as_tensor(found, dtype=x.dtype, device=x.device).expand(h.shape)


def plain_gate(name: str, code: str) -> Plain:
    """The gate `name` in plain operations; one that PyTorch does not have comes from its code in glint's table."""
    return _OWN.get(name) or from_code(code)
