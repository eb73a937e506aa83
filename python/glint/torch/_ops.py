"""`torch.ops.glint.gate` and `torch.ops.glint.glu`: the fused passes as operators of PyTorch, with fake tensors, gradients and vmap.

For graphs that should keep the GLU as one node (torch.export, backends of one's own). `gt.glu` itself does not go through them:
eager calls do not pay for the boundary, and under torch.compile plain operations are fused with what is around them.
"""

from __future__ import annotations

from typing import Any

import torch

from ._functions import _alike, _fusable, _glu, _glu_backward, _settled
from ._specs import Spec, spec

Three = tuple[torch.Tensor, torch.Tensor | None, torch.Tensor]


def _ready(t: torch.Tensor | None, like: torch.Tensor) -> bool:
    return t is None or (_fusable(t) and _alike(t, like))


def _forward(s: Spec, l: torch.Tensor, r: torch.Tensor | None) -> torch.Tensor:
    y = torch.empty(l.shape, dtype=l.dtype, device=l.device)
    if _fusable(l) and _ready(r, l):
        _glu(s, l if r is not None else l.contiguous(), r, y)
        return y
    return y.copy_(s.plain(l) if r is None else s.plain(l) * r)


def _backward(s: Spec, l: torch.Tensor, r: torch.Tensor | None, dy: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    dl = torch.empty(l.shape, dtype=l.dtype, device=l.device)
    dr = torch.empty(l.shape if r is not None else (0,), dtype=l.dtype, device=l.device)
    if _fusable(l) and _ready(r, l) and _ready(_settled(dy), l):
        _glu_backward(s, l if r is not None else l.contiguous(), r, dy, dl, None if r is None else dr)
        return dl, dr
    by = dy if r is None else dy * r
    dr = dr if r is None else (dy * s.plain(l)).to(l.dtype).contiguous()
    return (by * s.slope(l)).to(l.dtype).contiguous(), dr


def _define() -> None:
    op = torch.library.custom_op

    @op("glint::gate", mutates_args=())
    def gate(h: torch.Tensor, name: str, c: float, lam: float, p: float) -> torch.Tensor:
        return _forward(spec(name, c, lam, p), h, None)

    @op("glint::glu", mutates_args=())
    def glu(l: torch.Tensor, r: torch.Tensor, name: str, c: float, lam: float, p: float) -> torch.Tensor:
        return _forward(spec(name, c, lam, p), l, r)

    @op("glint::gate_backward", mutates_args=())
    def gate_backward(h: torch.Tensor, dy: torch.Tensor, name: str, c: float, lam: float, p: float) -> torch.Tensor:
        return _backward(spec(name, c, lam, p), h, None, dy)[0]

    @op("glint::glu_backward", mutates_args=())
    def glu_backward(
        l: torch.Tensor, r: torch.Tensor, dy: torch.Tensor, name: str, c: float, lam: float, p: float
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return _backward(spec(name, c, lam, p), l, r, dy)

    def one(h: torch.Tensor, *_: Any) -> torch.Tensor:
        return torch.empty(h.shape, dtype=h.dtype, device=h.device)

    def two(l: torch.Tensor, *_: Any) -> tuple[torch.Tensor, torch.Tensor]:
        return one(l), one(l)

    def keep(count: int) -> Any:
        def setup(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs[:count])
            ctx.options = inputs[count:]

        return setup

    def of_gate(ctx: Any, dy: torch.Tensor) -> Any:
        return gate_backward(ctx.saved_tensors[0], dy, *ctx.options), None, None, None, None

    def of_glu(ctx: Any, dy: torch.Tensor) -> Any:
        return (*glu_backward(*ctx.saved_tensors, dy, *ctx.options), None, None, None, None)

    gate.register_autograd(of_gate, setup_context=keep(1))
    glu.register_autograd(of_glu, setup_context=keep(2))
    for made, fake in ((gate, one), (gate_backward, one), (glu, one), (glu_backward, two)):
        made.register_fake(fake)
        made.register_vmap(_batched(made, 2 if fake is two else 1))


def _batched(made: Any, results: int) -> Any:
    """Elements do not depend on each other: under vmap all inputs get the axis of the batch in front."""

    def run(info: Any, axes: Any, *arguments: Any) -> Any:
        tensors = [
            t if not isinstance(t, torch.Tensor) else t.movedim(axis, 0) if axis is not None else t.expand(info.batch_size, *t.shape)
            for t, axis in zip(arguments, axes)
        ]
        return made(*tensors), 0 if results == 1 else (0, 0)

    return run


if hasattr(torch.library, "custom_op") and hasattr(torch.library, "register_vmap"):
    _define()
