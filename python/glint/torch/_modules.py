"""`Gate`, `SQS` and `GLU` as modules."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ._functions import gate as apply_gate
from ._functions import stacked_glu
from ._specs import resolve, spec


class Gate(nn.Module):
    """A gate as a module, `forward(h) = gate(h)`: any of glint's table, by name or as `glint.gate(...)`.

    >>> gt.Gate("silu")
    Gate('silu')
    """

    def __init__(self, gate: Any = "sqs") -> None:
        super().__init__()
        self.spec = resolve(gate)

        self._register_state_dict_hook(_say_options)
        self.register_load_state_dict_pre_hook(_check_options)

    def forward(self, h: torch.Tensor) -> torch.Tensor:
        return apply_gate(h, self.spec)

    def extra_repr(self) -> str:
        s = self.spec
        return repr(s.name) + (f", c={s.c:g}, lam={s.lam:g}, p={s.p:g}" if s.has_options else "")


# The options of a gate are no numbers to be trained, and stand in the metadata of a state dict. Weights that were trained with others
# are refused as those of another shape are.


def _say_options(module: Gate, state: Any, prefix: str, metadata: dict[str, Any]) -> None:
    metadata["gate"] = module.spec.core.word


def _check_options(module: Gate, state: Any, prefix: str, metadata: dict[str, Any], strict: bool, _: Any, __: Any, errors: list[str]) -> None:
    trained, own = metadata.get("gate"), module.spec.core.word
    if strict and trained not in (None, own):
        errors.append(f"the gate {prefix[:-1] or 'itself'} is {own}, and the weights were trained with {trained}")


class SQS(Gate):
    """The paper's gate. `lam` is how strongly it shrinks: 0 is no shrink, and the layer is bilinear but for c.

    >>> gt.SQS(lam=0.1)
    SQS(c=0.01, lam=0.1, p=1)
    """

    def __init__(self, c: float = 0.01, lam: float = 0.5, p: float = 1.0) -> None:
        super().__init__(spec("sqs", c, lam, p))

    def extra_repr(self) -> str:
        return f"c={self.spec.c:g}, lam={self.spec.lam:g}, p={self.spec.p:g}"


class GLU(nn.Module):
    """`P (gate(L x) * (R x))`. `w` holds L above R in one matrix, `p` is P; without d_out there is no P.

    The names of its weights are those of the GLU of glint's language models, `w.weight` and `p.weight`.

    >>> glu = gt.GLU(8, 16, 8, gate=gt.SQS(lam=0.1))
    >>> glu(torch.ones(3, 8)).shape, sorted(glu.state_dict())
    (torch.Size([3, 8]), ['p.weight', 'w.weight'])
    """

    def __init__(
        self,
        d_in: int,
        d_hidden: int,
        d_out: int | None = None,
        gate: Any = "sqs",
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.gate = gate if isinstance(gate, Gate) else Gate(gate)
        self.w = nn.Linear(d_in, 2 * d_hidden, bias=bias, device=device, dtype=dtype)
        self.p = None if d_out is None else nn.Linear(d_hidden, d_out, bias=bias, device=device, dtype=dtype)

    @property
    def L(self) -> torch.Tensor:
        """The gated half of the weights, [d_hidden, d_in]; a view."""
        return self.w.weight.chunk(2, dim=0)[0]

    @property
    def R(self) -> torch.Tensor:
        """The linear half, [d_hidden, d_in]; a view."""
        return self.w.weight.chunk(2, dim=0)[1]

    @property
    def P(self) -> torch.Tensor | None:
        """The projection [d_out, d_hidden], or None."""
        return None if self.p is None else self.p.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = stacked_glu(self.w(x), self.gate.spec)
        return y if self.p is None else self.p(y)
