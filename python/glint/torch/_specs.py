"""Gates as the functions and modules of this package take them: by name, as `glint.gate(...)` or as a module."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from .. import _core
from ..errors import UsageError
from ._plain import ONE_KERNEL, Plain, plain_gate, plain_slope


@dataclass(frozen=True, eq=False)
class Spec:
    """A gate, resolved once: what it is called, its options, its plain function and its kernels."""

    name: str
    c: float
    lam: float
    p: float
    function: Plain = field(repr=False)
    core: Any = field(repr=False)
    has_options: bool = False
    own: bool = False  # PyTorch has it as one kernel
    kernels: dict[Any, Any] = field(default_factory=dict, repr=False)  # what _triton compiles for

    def plain(self, h: torch.Tensor) -> torch.Tensor:
        return self.function(h, self.c, self.lam, self.p)

    def slope(self, h: torch.Tensor) -> torch.Tensor:
        return plain_slope(self.core.slope_code, h, self.c, self.lam, self.p)

    def __reduce__(self) -> tuple[Any, ...]:
        return spec, (self.name, self.c, self.lam, self.p)

    def __deepcopy__(self, memo: Any) -> Spec:
        return self


def spec(name: str, c: float = 0.01, lam: float = 0.5, p: float = 1.0) -> Spec:
    """The gate of that name. An unknown name and options outside their domain are errors of `glint.gate`."""
    return of_core(_core.Gate(name, c=c, lam=lam, p=p))


def of_core(core: Any) -> Spec:
    plain = plain_gate(core.name, core.code)
    return Spec(core.name, core.c, core.lam, core.p, plain, core, core.has_options, core.name in ONE_KERNEL)


# By name, with the default options: filled here, because torch.compile looks them up while it traces.
_NAMED: dict[str, Spec] = {name: spec(name) for name in _core.gate_names()}


def resolve(gate: Any) -> Spec:
    """What `gate=` means: a name, a `glint.Gate`, a module of this package."""
    if isinstance(gate, str):
        found = _NAMED.get(gate)
        return spec(gate) if found is None else found
    if isinstance(gate, Spec):
        return gate
    held = getattr(gate, "spec", None)
    if isinstance(held, Spec):
        return held
    if isinstance(gate, _core.Gate):
        return of_core(gate)
    raise UsageError(
        f"{type(gate).__name__} is no gate",
        "gate=",
        "a name, glint.gate(...) or a module glint.torch.Gate",
        ", ".join(_NAMED),
    )
