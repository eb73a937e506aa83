"""The gates of a GLU, `y = gate(l) * r`."""

from __future__ import annotations

import numbers

from . import _core
from ._core import Gate as Gate, gate_names
from .errors import UsageError
from .figures import Figure


def gate(name: str = "sqs", *, c: float = 0.01, lam: float = 0.5, p: float = 1.0) -> Gate:
    """A gate by its name: sqs, identity, relu, gelu, silu, gelu-tanh. Only sqs has options.

    It is called with arrays: float32 goes through the kernels that models are trained with, everything else
    through the formula in float64. `grad` is its slope, `glu(l, r)` the whole GLU.

    >>> import numpy as np
    >>> sqs = glint.gate("sqs", c=0.01, lam=0.5, p=1)
    >>> sqs(np.array([-2.0, 0.0, 2.0]))
    array([-0.995, -0.01 ,  0.995])
    >>> sqs.grad(0.0)
    1.005
    """
    if not isinstance(name, str):
        raise UsageError(f"a gate that is {type(name).__name__}", "gate=", "the name of a gate")
    for option, value in (("c", c), ("lam", lam), ("p", p)):
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise UsageError(f"{value!r} is no number", f"{option}=", "a number")
    return Gate(name, c=c, lam=lam, p=p)


def names() -> list[str]:
    """The names of all gates.

    >>> glint.gates.names()[:3]
    ['sqs', 'identity', 'relu']
    """
    return list(gate_names())


def figure(c: float = 0.5, lam: float = 0.5, p: float = 1.0) -> Figure:
    """The gates drawn: figure 1 of the paper.

    >>> glint.gates.figure()
    <glint figure 'gates', ...
    """
    return Figure(*_core.gates_figure(c, lam, p))


def _repr(self: Gate) -> str:
    options = f", c={self.c:g}, lam={self.lam:g}, p={self.p:g}" if self.has_options else ""
    return f"glint.gate({self.name!r}{options})"


Gate.__repr__ = _repr  # type: ignore[method-assign,assignment]
