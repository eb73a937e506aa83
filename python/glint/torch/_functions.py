"""`sqs`, `gate` and `glu`: on glint's fused loops where they can, in plain operations elsewhere."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import torch

from ..errors import UsageError
from ._rows import in_rows, row_of, shape_of
from ._specs import Spec, resolve, spec

# What PyTorch 2 has and 1.13 does not.
_compiler = getattr(torch, "compiler", None)
_compiling = getattr(_compiler, "is_compiling", None) or (lambda: False)
_transforms = getattr(getattr(torch._C, "_functorch", None), "peek_interpreter_stack", None) or (lambda: None)


_storage = getattr(torch.Tensor, "untyped_storage", torch.Tensor.storage)


def has_memory(t: torch.Tensor) -> bool:
    """False for the stand-ins that vmap, functionalisation and their like compute with: they have no address. A tensor whose storage
    was made smaller than itself is an error: PyTorch's own operations would read what is not there."""
    if t.numel() == 0:
        return True
    try:
        address, held = t.data_ptr(), _storage(t).nbytes()
    except RuntimeError:
        return False
    last = t.numel() - 1 if t.is_contiguous() else sum((n - 1) * stride for n, stride in zip(t.shape, t.stride()))
    if held < (t.storage_offset() + last + 1) * t.element_size():
        raise UsageError(
            f"a tensor of shape {tuple(t.shape)} in a storage of {held} bytes", "", "its memory", "torch.Tensor.untyped_storage().resize_ gives it back"
        )
    return bool(address != 0)


@lru_cache(maxsize=None)
def _triton() -> Any:
    """The kernels for GPUs, None where triton is not installed: imported when the first tensor on a GPU comes."""
    try:
        from . import _triton as kernels
    except ImportError:
        return None
    return kernels


_HALVES = (torch.float32, torch.bfloat16, torch.float16)


def _on_gpu(t: torch.Tensor) -> bool:
    """Whether the kernels for GPUs take it: CUDA, or ROCm, which PyTorch calls by the same name."""
    return t.device.type == "cuda" and t.dtype in _HALVES and _triton() is not None


def _fusable(t: torch.Tensor) -> bool:
    return (
        (type(t) is torch.Tensor or type(t) is torch.nn.Parameter)
        and (t.dtype is torch.float32 if t.device.type == "cpu" else _on_gpu(t))
        and t.layout is torch.strided
        and has_memory(t)
        and not t.is_neg()
        and in_rows(t)
    )


# Where PyTorch has the gate as one kernel of its own, it is faster on fewer elements than this: a function of Python in its
# graph costs more than their arithmetic.
_SHORT = 1 << 14


def _worth(t: torch.Tensor, s: Spec, glu: bool = True) -> bool:
    """On a GPU one pass instead of two is always worth it; a gate alone that PyTorch has is one pass as it is."""
    return not s.own or (t.numel() >= _SHORT if t.device.type == "cpu" else glu)


def _eager() -> bool:
    """Not while a graph is traced, under vmap and its like, or with forward-mode derivatives."""
    return not torch.jit.is_tracing() and _transforms() is None and torch.autograd.forward_ad._current_level < 0


def _new(like: torch.Tensor) -> torch.Tensor:
    return torch.empty(like.shape, dtype=like.dtype, device=like.device)


def _grads(y: torch.Tensor, inputs: list[torch.Tensor], needed: Any, dy: torch.Tensor) -> list[torch.Tensor | None]:
    """Gradients that can be differentiated again, from the plain operations that made y."""
    wanted = [t for t, need in zip(inputs, needed) if need]
    found = iter(torch.autograd.grad(y, wanted, dy, create_graph=True)) if wanted else iter(())
    return [next(found) if need else None for need in needed]


def _again(t: torch.Tensor) -> torch.Tensor:
    """The same tensor as a node of its own, so that a tensor that is both l and r gets two gradients."""
    return t.view_as(t) if t.requires_grad else t.detach().requires_grad_()


def _plain_backward(dy: torch.Tensor, *saved: torch.Tensor) -> bool:
    """Gradients of gradients, and many at once. (A gradient whose elements lie apart is copied instead.)"""
    return torch.is_grad_enabled() or not _eager() or not all(map(has_memory, (dy, *saved)))


# The loops by address, for tensors that _fusable has let through: an array that goes through DLPack costs more than a short
# loop over its elements.


def _places(*tensors: torch.Tensor) -> list[int]:
    found = []
    for t in tensors:
        found += [t.data_ptr(), row_of(t)]
    return found


def _settled(dy: torch.Tensor) -> torch.Tensor:
    """A gradient as numbers in rows: it may come as an expanded one, or with its sign yet to be changed."""
    dy = dy.resolve_neg() if dy.is_neg() else dy
    return dy if in_rows(dy) else dy.contiguous()


def _glu(s: Spec, l: torch.Tensor, r: torch.Tensor | None, y: torch.Tensor) -> None:
    """y = gate(l) r; without r, gate(l)."""
    if _on_gpu(y):
        _triton().glu(s, l, r, y)
    elif r is None:
        s.core._gate_at(l.data_ptr(), y.data_ptr(), l.numel(), torch.get_num_threads())
    else:
        s.core._glu_at(*_places(l, r, y), *shape_of(l), torch.get_num_threads())


def _glu_backward(s: Spec, l: torch.Tensor, r: torch.Tensor | None, dy: torch.Tensor, dl: torch.Tensor, dr: torch.Tensor | None) -> None:
    dy = _settled(dy)
    if _on_gpu(dl):
        _triton().glu_backward(s, l, r, dy, dl, dr)
    elif r is None or dr is None:
        s.core._gate_backward_at(l.data_ptr(), dy.contiguous().data_ptr(), dl.data_ptr(), l.numel(), torch.get_num_threads())
    else:
        s.core._glu_backward_at(*_places(l, r, dy, dl, dr), *shape_of(l), torch.get_num_threads())


class _GateFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: torch.Tensor, s: Spec) -> torch.Tensor:
        ctx.save_for_backward(h)
        ctx.s = s
        y = _new(h)
        _glu(s, h, None, y)
        return y

    @staticmethod
    def backward(ctx: Any, dy: torch.Tensor) -> Any:
        (h,) = ctx.saved_tensors
        if _plain_backward(dy, h):
            with torch.enable_grad():
                node = _again(h)
                return _grads(ctx.s.plain(node), [node], ctx.needs_input_grad[:1], dy)[0], None
        dh = _new(h)
        _glu_backward(ctx.s, h, None, dy, dh, None)
        return dh, None


class _GluFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, l: torch.Tensor, r: torch.Tensor, s: Spec, overwrite: bool) -> torch.Tensor:
        ctx.save_for_backward(l, r)
        ctx.s, ctx.overwrite = s, overwrite
        y = _new(l)
        _glu(s, l, r, y)
        return y

    @staticmethod
    def backward(ctx: Any, dy: torch.Tensor) -> Any:
        l, r = ctx.saved_tensors
        if _plain_backward(dy, l, r):
            with torch.enable_grad():
                left, right = _again(l), _again(r)
                y = ctx.s.plain(left) * right
                return (*_grads(y, [left, right], ctx.needs_input_grad[:2], dy), None, None)
        dl, dr = (l.detach(), r.detach()) if ctx.overwrite else (_new(l), _new(r))
        _glu_backward(ctx.s, l, r, dy, dl, dr)
        if ctx.overwrite:  # a second pass back is then an error, no wrong number
            torch.autograd.graph.increment_version(l)
            torch.autograd.graph.increment_version(r)
        return dl, dr, None, None


class _StackedFunction(torch.autograd.Function):
    """The same for z = [l | r] in one tensor: the gradient is one tensor too, and nobody has to join two."""

    @staticmethod
    def forward(ctx: Any, z: torch.Tensor, s: Spec) -> torch.Tensor:
        ctx.save_for_backward(z)
        ctx.s = s
        l, r = z.detach().chunk(2, dim=-1)
        y = _new(l)
        _glu(s, l, r, y)
        return y

    @staticmethod
    def backward(ctx: Any, dy: torch.Tensor) -> Any:
        (z,) = ctx.saved_tensors
        if _plain_backward(dy, z):
            with torch.enable_grad():
                node = _again(z)
                return _grads(_plain_stacked(node, ctx.s), [node], ctx.needs_input_grad[:1], dy)[0], None
        dz = _new(z)
        l, r = z.detach().chunk(2, dim=-1)
        dl, dr = dz.chunk(2, dim=-1)
        _glu_backward(ctx.s, l, r, dy, dl, dr)
        return dz, None


def _plain_stacked(z: torch.Tensor, s: Spec) -> torch.Tensor:
    l, r = z.chunk(2, dim=-1)
    return s.plain(l) * r


def gate(h: torch.Tensor, gate: Any = "sqs") -> torch.Tensor:
    """`gate(h)`, element by element: a name, `glint.gate(...)` or a module `Gate`.

    >>> gt.gate(torch.tensor([-1.0, 2.0]), "relu")
    tensor([0., 2.])
    """
    s = resolve(gate)
    if not _compiling() and _worth(h, s, False) and _eager() and _fusable(h):
        return _GateFunction.apply(h if h.is_contiguous() else h.contiguous(), s)
    return s.plain(h)


def sqs(h: torch.Tensor, c: float = 0.01, lam: float = 0.5, p: float = 1.0) -> torch.Tensor:
    """The Signed Quadratic Shrink, `sgn(h) (|h| - c) / (1 + (lam |h|)^p)^(1/p)`.

    Its slope at 0 is that of the right side, `1 + lam c` for p = 1.

    >>> h = torch.zeros(1, requires_grad=True)
    >>> gt.sqs(h).backward()
    >>> h.grad
    tensor([1.0050])
    """
    return gate(h, _options(c, lam, p))


def glu(l: torch.Tensor, r: torch.Tensor, gate: Any = "sqs", *, overwrite: bool = False) -> torch.Tensor:
    """`gate(l) * r`, one pass forward and one back.

    `overwrite` lets the pass back write the gradients over l and r, whose numbers are then gone: for results of a product that
    nobody else needs, and one `backward` alone. Where plain operations do the work it changes nothing.

    >>> gt.glu(torch.tensor([2.0]), torch.tensor([10.0]), "sqs")
    tensor([9.9500])
    """
    s = resolve(gate)
    if not _compiling() and _worth(l, s) and _eager() and _fusable(l) and _fusable(r) and _alike(l, r):
        leaf = any(t.is_leaf and t.requires_grad for t in (l, r)) or l.data_ptr() == r.data_ptr()
        return _GluFunction.apply(l, r, s, overwrite and not leaf)
    return s.plain(l) * r


def _alike(l: torch.Tensor, r: torch.Tensor) -> bool:
    return l.shape == r.shape and l.dtype is r.dtype and l.device == r.device


def stacked_glu(z: torch.Tensor, s: Spec) -> torch.Tensor:
    """`gate(l) * r` of z = [l | r], the halves of its last axis."""
    if not _compiling() and _worth(z, s) and _eager() and _fusable(z) and z.dim() > 0 and z.shape[-1] % 2 == 0:
        return _StackedFunction.apply(z, s)
    return _plain_stacked(z, s)


_sqs_specs: dict[tuple[float, float, float], Spec] = {}


def _options(c: float, lam: float, p: float) -> Spec:
    if _compiling():
        from ._plain import plain_gate

        return Spec("sqs", c, lam, p, plain_gate("sqs", ""), None, True)
    key = (c, lam, p)
    if key not in _sqs_specs:
        if len(_sqs_specs) > 64 or not all(map(math.isfinite, key)):
            return spec("sqs", c, lam, p)
        _sqs_specs[key] = spec("sqs", c, lam, p)
    return _sqs_specs[key]
