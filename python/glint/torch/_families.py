"""The GLU layers of other people's models: which tensor is L, which R, which P, and what the gate is.

Names are a guess, so nothing is believed: the parts are computed with, and must give what the module itself gives.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
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
    raw = _bridge(m)
    if raw is None or raw["bias_r"] is None:
        return raw
    through = raw.pop("bias_r") @ m.W_out
    constant = raw["constant"]
    return {**raw, "constant": through if constant is None else through + constant}


def _bridge(m: Any) -> Raw | None:
    """TransformerLens from version 4 on, where the biases are those of the products."""
    if not _has(m, "W_gate", "W_in", "W_out") or m.W_gate.dim() != 2:  # the whole model has those of all layers
        return None
    return {
        "L": m.W_gate.T,
        "R": m.W_in.T,
        "P": m.W_out.T,
        "bias_l": getattr(m, "b_gate", None),
        "bias_r": getattr(m, "b_in", None),
        "constant": getattr(m, "b_out", None),
    }


_FAMILIES: list[tuple[str, Callable[[Any], Raw | None]]] = [
    ("glint.torch.GLU", _own),
    ("gate_proj, up_proj, down_proj", _three("gate_proj", "up_proj", "down_proj")),
    ("gate_up_proj, down_proj", _fused),
    ("W_gate, W_in, W_out", _lens),
    ("W_gate, W_in, W_out, b_gate", _bridge),
    ("w1, w3, w2", _three("w1", "w3", "w2")),
]
_GATES = ("act_fn", "activation_fn", "act", "activation", "gate")


def _raws(module: nn.Module) -> list[tuple[str, Raw]]:
    """Every way to understand the names of a module."""
    found = ((family, take(module)) for family, take in _FAMILIES)
    return [(family, raw) for family, raw in found if raw is not None]


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


def _gates(module: nn.Module, asked: Any) -> list[Spec]:
    """The gate that is asked for or that the module has; all of them where it does not say."""
    if asked is not None:
        return [resolve(asked)]
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
        return [found]
    return [spec(name) for name in _core.gate_names()]


def _fits(module: nn.Module, candidates: list[GluParts]) -> list[GluParts]:
    """Those that give what the module gives, on a few inputs that reach both sides of the gate."""
    one = candidates[0]
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, 8, one.L.shape[1], generator=generator).to(one.L.device, one.L.dtype)
    training = module.training
    module.eval()
    try:
        with torch.no_grad(), as_written():
            x = x * (2 / nn.functional.linear(x, one.L).float().std().clamp(min=1e-6)).to(x.dtype)
            wanted = module(x)
            wanted = wanted[0] if isinstance(wanted, tuple) else wanted
            errors = [_error(parts, x, wanted) for parts in candidates]
    finally:
        module.train(training)
    # Sums in float32 on two ways; in half precision what goes in and comes out is rounded, some four times.
    bound = max(64 * 2.0**-23, 4 * torch.finfo(one.L.dtype).eps) * float(wanted.abs().max())
    return [parts for parts, error in zip(candidates, errors) if error <= bound]


def _error(parts: GluParts, x: torch.Tensor, wanted: torch.Tensor) -> float:
    got = parts(x)
    return float((got - wanted).abs().max()) if got.shape == wanted.shape else float("inf")


def parts_of(module: nn.Module, gate: Any = None) -> GluParts:
    """The parts of a GLU module: of Hugging Face, TransformerLens, Meta's names, or our own.

    The module is run on a few random inputs, and must give what its parts give. `gate` is only needed where the
    module does not say which it has and several would do: in half precision two are hard to tell apart.

    >>> parts = gt.parts_of(gt.GLU(8, 16, 4, gate="silu"))
    >>> parts.L.shape, parts.P.shape, parts.gate.name
    (torch.Size([16, 8]), torch.Size([4, 16]), 'silu')
    """
    module = bare(module)
    raws = _raws(module)
    if not raws:
        raise UsageError(
            f"{type(module).__name__} is no GLU that glint knows",
            "module=",
            "a module with " + "; ".join(name for name, _ in _FAMILIES),
            "glint.GLU(L, R, P, gate=...) with your own arrays",
        )
    gates = _gates(module, gate)
    candidates = []
    for family, raw in raws:
        tensors = {k: whole(v).detach() for k, v in raw.items() if v is not None}
        l, r = tensors["L"], tensors["R"]
        if not l.is_floating_point() or l.dim() != 2 or l.shape != r.shape:
            raise UsageError(
                f"weights of {l.dtype}, {tuple(l.shape)} and {tuple(r.shape)}",
                "module=",
                "two float matrices of one shape",
                "inside `FSDP.summon_full_params(model)` the weights of FSDP are whole" if l.dim() == 1 else "",
            )
        candidates += [GluParts(family=family, gate=g, **{"P": None, **tensors}) for g in gates]
    found = _fits(module, candidates)
    if not found:
        raise UsageError(
            f"{type(module).__name__} computes something else than P (gate(L x) * (R x))",
            "module=",
            f"what {raws[0][0]} say, with the gate " + " or ".join(g.name for g in gates),
            "glint.GLU(L, R, P, gate=...) with your own arrays",
        )
    names = {parts.gate.name for parts in found}
    if len(names) > 1:
        raise UsageError(
            f"{type(module).__name__} does not say its gate, and {' and '.join(sorted(names))} fit",
            "gate=",
            "one of them",
        )
    return found[0]


def find_glus(model: nn.Module) -> list[tuple[str, nn.Module]]:
    """Every GLU in a model, by the name of its place, from the first layer to the last. One in a wrapper, as the bridge of
    TransformerLens and torch.compile have them, is listed once, by the outermost name: they are told apart by where their weights
    lie. The names are those of the model itself where a wrapper is around all of it.

    >>> [name for name, _ in gt.find_glus(torch.nn.Sequential(torch.nn.Linear(4, 8), gt.GLU(8, 8)))]
    ['1']
    """
    found: dict[Any, tuple[str, nn.Module]] = {}
    for name, module in bare(model).named_modules(remove_duplicate=False):
        for _, raw in _raws(module)[:1]:
            place = _address(raw["L"] if raw["P"] is None else raw["P"]) or name
            # What a bridge of TransformerLens keeps for itself comes first; its own name is the one that people use.
            if place not in found or "_original_component" in found[place][0] and "_original_component" not in name:
                found[place] = name, module
    return list(found.values())


def bare(module: nn.Module) -> nn.Module:
    """A module without torch.compile and DDP around it; one in FSDP stays in it, where its weights are."""
    while True:
        inner = module._modules.get("_orig_mod")
        if inner is None and type(module).__name__ == "DistributedDataParallel":
            inner = module._modules.get("module")
        if inner is None:
            return module
        module = inner


def as_written() -> Any:
    """Compiled modules run as they are written: a hook that leaves the model has no place in a graph."""
    stance = getattr(getattr(torch, "compiler", None), "set_stance", None)
    return contextlib.nullcontext() if stance is None else stance("force_eager")


def whole(t: torch.Tensor) -> torch.Tensor:
    """All of a tensor whose parts lie on several processes (fully_shard)."""
    full = getattr(t, "full_tensor", None)
    return t if full is None else full()


def gate_slot(module: nn.Module) -> str:
    """Where a GLU holds its gate."""
    for name in _GATES:
        if callable(getattr(module, name, None)):
            return name
    raise UsageError(f"{type(module).__name__} has its gate in its code", "model=", "GLUs that hold their gate as one of " + ", ".join(_GATES))


def _address(t: torch.Tensor) -> int:
    """0 where there is none, as on the device meta."""
    try:
        return t.data_ptr()
    except RuntimeError:
        return 0
