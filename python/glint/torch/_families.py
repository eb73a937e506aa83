"""The GLU layers of other people's models: which tensor is L, which R, which P, and what the gate is.

Names are a guess, so nothing is believed: the parts are computed with, and must give what the module itself gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ..errors import UsageError
from ._modules import GLU
from ._specs import Spec, resolve, spec
from .. import _core


@dataclass(frozen=True)
class GluParts:
    """`P (gate(L x + b_l) * (R x + b_r)) + constant`: what `read` takes a module apart into.

    L and R are [hidden, d], P is [outputs, hidden] or None; they share the module's memory.
    """

    family: str
    L: torch.Tensor
    R: torch.Tensor
    P: torch.Tensor | None
    gate: Spec
    bias_l: torch.Tensor | None = None
    bias_r: torch.Tensor | None = None
    constant: torch.Tensor | None = None

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        left = nn.functional.linear(x, self.L, self.bias_l)
        y = self.gate.plain(left) * nn.functional.linear(x, self.R, self.bias_r)
        y = y if self.P is None else nn.functional.linear(y, self.P)
        return y if self.constant is None else y + self.constant


def _has(module: nn.Module, *names: str) -> bool:
    return all(getattr(module, name, None) is not None for name in names)


def _bias(linear: Any) -> torch.Tensor | None:
    bias = getattr(linear, "bias", None)
    return bias if isinstance(bias, torch.Tensor) else None


def _halves(t: torch.Tensor | None) -> tuple[Any, Any]:
    return (None, None) if t is None else t.chunk(2, dim=0)


Raw = dict[str, Any]


def _own(m: Any) -> Raw | None:
    if not isinstance(m, GLU):
        return None
    left, right = _halves(_bias(m.w))
    return {
        "L": m.L,
        "R": m.R,
        "P": m.P,
        "bias_l": left,
        "bias_r": right,
        "constant": None if m.p is None else _bias(m.p),
    }


def _three(gate: str, up: str, down: str) -> Callable[[Any], Raw | None]:
    def take(m: Any) -> Raw | None:
        if not _has(m, gate, up, down):
            return None
        g, u, d = getattr(m, gate), getattr(m, up), getattr(m, down)
        if not all(isinstance(getattr(part, "weight", None), torch.Tensor) for part in (g, u, d)):
            return None
        return {
            "L": g.weight,
            "R": u.weight,
            "P": d.weight,
            "bias_l": _bias(g),
            "bias_r": _bias(u),
            "constant": _bias(d),
        }

    return take


def _fused(m: Any) -> Raw | None:
    if not _has(m, "gate_up_proj", "down_proj"):
        return None
    both, down = m.gate_up_proj, m.down_proj
    if not all(isinstance(getattr(part, "weight", None), torch.Tensor) for part in (both, down)):
        return None
    l, r = both.weight.chunk(2, dim=0)
    left, right = _halves(_bias(both))
    return {"L": l, "R": r, "P": down.weight, "bias_l": left, "bias_r": right, "constant": _bias(down)}


def _lens(m: Any) -> Raw | None:
    """TransformerLens: matrices from the right, and b_in is added after the product, so that it is a constant."""
    if not _has(m, "W_gate", "W_in", "W_out"):
        return None
    constant = getattr(m, "b_out", None)
    if getattr(m, "b_in", None) is not None:
        through = m.b_in @ m.W_out
        constant = through if constant is None else through + constant
    return {"L": m.W_gate.T, "R": m.W_in.T, "P": m.W_out.T, "constant": constant}


_FAMILIES: list[tuple[str, Callable[[Any], Raw | None]]] = [
    ("glint.torch.GLU", _own),
    ("gate_proj, up_proj, down_proj", _three("gate_proj", "up_proj", "down_proj")),
    ("gate_up_proj, down_proj", _fused),
    ("W_gate, W_in, W_out", _lens),
    ("w1, w3, w2", _three("w1", "w3", "w2")),
]
_GATES = ("act_fn", "activation_fn", "act", "activation", "gate")


def _raw(module: nn.Module) -> tuple[str, Raw] | None:
    for family, take in _FAMILIES:
        raw = take(module)
        if raw is not None:
            return family, raw
    return None


def gate_of(function: Any) -> Spec | None:
    """The gate that a function computes, found by its values; None when glint has no such gate."""
    held = getattr(function, "spec", None)
    if isinstance(held, Spec):
        return held
    h = torch.linspace(-6, 6, 97, dtype=torch.float64)
    try:
        with torch.no_grad():
            got = function(h)
    except Exception:
        return None
    for name in _core.gate_names():
        s = spec(name)
        # Their constants may have been written with fewer digits; the nearest two gates differ by 5e-4.
        if isinstance(got, torch.Tensor) and got.shape == h.shape and (got - s.plain(h)).abs().max() < 1e-6:
            return s
    return None


def _gate(module: nn.Module, asked: Any) -> Spec:
    if asked is not None:
        return resolve(asked)
    for name in _GATES:
        function = getattr(module, name, None)
        if function is None or not callable(function):
            continue
        found = gate_of(function)
        if found is None:
            raise UsageError(
                f"`{name}` of {type(module).__name__} is none of glint's gates",
                "module=",
                "one of " + ", ".join(_core.gate_names()),
            )
        return found
    return resolve("silu")  # what such modules have where they do not say: checked like everything else


def _check(parts: GluParts, module: nn.Module) -> None:
    """Computes a few inputs both ways. Error when the module does something else than its parts say."""
    d = parts.L.shape[1]
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, 8, d, generator=generator).to(parts.L.device, parts.L.dtype)
    training = module.training
    module.eval()
    try:
        with torch.no_grad():
            wanted = module(x)
            wanted = wanted[0] if isinstance(wanted, tuple) else wanted
            got = parts(x)
    finally:
        module.train(training)
    # Sums of d and of the hidden units' products, rounded in the module's own dtype on two ways.
    bound = 64 * torch.finfo(parts.L.dtype).eps * (1 + wanted.abs().max().double())
    if got.shape != wanted.shape or not (got - wanted).abs().max().double() <= bound:
        raise UsageError(
            f"{type(module).__name__} computes something else than P (gate(L x) * (R x))",
            "module=",
            f"what {parts.family} say, with the gate {parts.gate.name}",
            'gate="gelu" where the module does not say its gate, or glint.GLU(L, R, P, gate=...) with your own arrays',
        )


def parts_of(module: nn.Module, gate: Any = None) -> GluParts:
    """The parts of a GLU module: of Hugging Face, TransformerLens, Meta's names, or our own.

    `gate` is only needed where the module does not say which it has and it is not SiLU. The module is run on a few
    random inputs, and must give what its parts give.

    >>> parts = gt.parts_of(gt.GLU(8, 16, 4, gate="silu"))
    >>> parts.L.shape, parts.P.shape, parts.gate.name
    (torch.Size([16, 8]), torch.Size([4, 16]), 'silu')
    """
    found = _raw(module)
    if found is None:
        raise UsageError(
            f"{type(module).__name__} is no GLU that glint knows",
            "module=",
            "a module with " + "; ".join(name for name, _ in _FAMILIES),
            "glint.GLU(L, R, P, gate=...) with your own arrays",
        )
    family, raw = found
    tensors = {k: v.detach() for k, v in raw.items() if v is not None}
    parts = GluParts(family=family, gate=_gate(module, gate), **{"P": None, **tensors})
    if not parts.L.is_floating_point() or parts.L.dim() != 2 or parts.L.shape != parts.R.shape:
        raise UsageError(
            f"weights of {parts.L.dtype}, {tuple(parts.L.shape)} and {tuple(parts.R.shape)}",
            "module=",
            "two float matrices of one shape",
        )
    _check(parts, module)
    return parts


def find_glus(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Every GLU in a model, by the name of its place, from the first layer to the last.

    >>> [name for name, _ in gt.find_glus(torch.nn.Sequential(torch.nn.Linear(4, 8), gt.GLU(8, 8)))]
    ['1']
    """
    for name, module in model.named_modules():
        if _raw(module) is not None:
            yield name, module
