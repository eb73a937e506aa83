"""`read` and `capture`: glint's readings for the GLU layers of PyTorch models."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from ..errors import UsageError
from ._families import as_written, bare, find_glus, parts_of, whole
from ._functions import has_memory


def _array(t: torch.Tensor | None) -> Any:
    """NumPy on the same memory where it is float32 on the CPU, a copy elsewhere."""
    if t is not None and t.device.type == "cpu" and not has_memory(t):
        raise UsageError(f"{type(t).__name__} of shape {tuple(t.shape)} without numbers", "module=", "a module whose weights are there")
    return None if t is None else t.detach().to("cpu", torch.float32).numpy()


def norm_weights(norm: Any, d: int) -> torch.Tensor:
    """The weights of an RMS norm, in double. They are measured, not looked up: Gemma's norms multiply by
    1 + weight, others by weight."""
    if isinstance(norm, torch.Tensor):
        return whole(norm).detach().double().cpu()
    exact = copy.deepcopy(bare(norm))
    for name, p in list(exact.named_parameters()):
        setattr(exact.get_submodule(name.rpartition(".")[0]), name.rpartition(".")[2], nn.Parameter(whole(p).detach()))
    exact.to("cpu", torch.float64)

    def run(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            y: torch.Tensor = exact(x).double()
        return y

    generator = torch.Generator().manual_seed(0)
    signs = torch.randint(0, 2, (1, d), generator=generator).double() * 2 - 1
    # Large, so that the norm's eps is nothing beside the mean square; and the size must not matter.
    big = run(signs * 64)
    same = {"rtol": 1e-5, "atol": 1e-6}
    if not torch.allclose(big, run(signs * 128), **same):
        raise UsageError(f"{type(norm).__name__} is no norm: its output grows with its input", "norm=", "an RMS norm")
    # x = 1 everywhere has the rms 1 and nothing but its mean.
    if not torch.allclose(run(torch.full((1, d), 64.0, dtype=torch.float64)), big * signs, **same):
        raise UsageError(
            f"{type(norm).__name__} takes the mean away or adds a bias",
            "norm=",
            "an RMS norm with weights",
            "read without norm=, in the space that the layer itself sees",
        )
    return (big * signs)[0]


def read(
    module: nn.Module,
    out: Any = None,
    inputs: Any = None,
    *,
    k: int | None = None,
    norm: Any = None,
    gate: Any = None,
    **options: Any,
) -> Any:
    """Reads an output direction of a GLU module as a quadratic form: `glint.GLU(L, R, P, ...).read(...)`.

    `module` is the MLP of a Hugging Face or TransformerLens model, one with Meta's names w1, w2, w3, or a `GLU`.
    `out` is a direction in its output, say a row of the unembedding; `inputs` is what the module saw, as `capture`
    collects it. `norm` is the RMS norm in front of it: its weights are folded into the layer, so that the
    eigenvectors live in the space before them, and the inputs are taken there too. `k` asks for the largest
    eigenvalues alone. Everything else is passed on.
    """
    from .. import GLU as Layer

    parts = parts_of(module, gate)
    d = parts.L.shape[1]
    weights = None
    x = None if inputs is None else _inputs(inputs, d)
    if norm is not None:
        g = norm_weights(norm, d)
        if g.shape != (d,):
            raise UsageError(f"{tuple(g.shape)} weights", "norm=", f"{d}, as many as the layer has inputs")
        weights = _array(g)
        if x is not None:
            x = torch.where(g != 0, x.double() / torch.where(g != 0, g, torch.ones_like(g)), torch.zeros_like(g)).float()
    bias = None
    if parts.bias_l is not None or parts.bias_r is not None:
        none = torch.zeros(parts.L.shape[0])
        left, right = (none if b is None else b for b in (parts.bias_l, parts.bias_r))
        bias = (_array(left), _array(right))
    layer = Layer(
        _array(parts.L), _array(parts.R), _array(parts.P), gate=parts.gate.core, bias=bias, norm=weights
    )
    if isinstance(out, torch.Tensor):
        out = out.detach().to("cpu", torch.float64).numpy()
    return layer.read(out=out, inputs=_array(x), k=k, **options)


def _inputs(inputs: Any, d: int) -> torch.Tensor:
    x = inputs if isinstance(inputs, torch.Tensor) else torch.as_tensor(inputs)
    x = x.detach().to("cpu", torch.float32)
    if x.dim() == 0 or x.shape[-1] != d:
        raise UsageError(f"inputs of shape {tuple(x.shape)}", "inputs=", f"[samples, {d}]")
    return x.reshape(-1, d)


class _Seen(Exception):
    """Raised by the hook: nothing after the layer needs to be computed."""


def layer_of(model: nn.Module, layer: Any) -> nn.Module:
    if isinstance(layer, nn.Module):
        return layer
    if isinstance(layer, str):
        try:
            return model.get_submodule(layer)
        except AttributeError as e:
            names = ", ".join(name for name, _ in find_glus(model)) or "none of its modules is a GLU"
            raise UsageError(f"no module '{layer}' in the model", "layer=", "the name of a module", names) from e
    glus = find_glus(model)
    if isinstance(layer, bool) or not isinstance(layer, int) or not -len(glus) <= layer < len(glus):
        raise UsageError(
            f"layer {layer!r}", "layer=", f"a module, its name, or a place in find_glus(model): from 0 to {len(glus) - 1}, or from -1 back"
        )
    return glus[layer][1]


def _sequences(data: Any, tokenizer: Any) -> Iterable[torch.Tensor]:
    """One tensor of tokens, or whatever the model takes, per sequence [1, ...]."""
    if isinstance(data, str):
        data = [data]
    if isinstance(data, torch.Tensor):
        yield from data.split(1) if data.dim() > 1 else [data[None]]
        return
    if hasattr(data, "keys") and "input_ids" in data:
        rows = _rows(data["input_ids"])
        masks = _rows(data["attention_mask"]) if "attention_mask" in data else [torch.ones_like(row) for row in rows]
        if [row.shape for row in rows] != [mask.shape for mask in masks]:
            raise UsageError("an attention mask of another shape than the tokens", "data=", "a number of the mask for every token")
        yield from (row[mask.bool()][None] for row, mask in zip(rows, masks))
        return
    if not isinstance(data, Iterable):
        raise UsageError(f"data that are {type(data).__name__}", "data=", "texts, rows of token ids, or a tensor of them")
    for item in data:
        if isinstance(item, str):
            if tokenizer is None:
                raise UsageError("texts without a tokenizer", "tokenizer=", "the model's tokenizer, or rows of token ids")
            encoded = tokenizer(item) if callable(tokenizer) else tokenizer.encode(item)
            item = encoded["input_ids"] if hasattr(encoded, "keys") else getattr(encoded, "ids", encoded)
        yield _row(item)[None]


def _row(ids: Any) -> torch.Tensor:
    try:
        row = torch.as_tensor(ids)
    except (TypeError, ValueError, RuntimeError) as e:
        raise UsageError(f"{type(ids).__name__} is no row of token ids: {e}", "data=", "texts, rows of token ids, or a tensor of them") from e
    if row.dim() == 0:
        raise UsageError("a number where a row of token ids should be", "data=", "a list of rows: [[1, 15, 7]]")
    return row


def _rows(ids: Any) -> list[torch.Tensor]:
    """The rows that a tokenizer gives, of any lengths; of a single text it gives the row itself."""
    one = ids.dim() == 1 if isinstance(ids, torch.Tensor) else len(ids) > 0 and not hasattr(ids[0], "__len__")
    return [_row(row) for row in ([ids] if one else ids)]


def capture(
    model: nn.Module,
    layer: Any,
    data: Any,
    *,
    tokenizer: Any = None,
    batch: int = 8,
    limit: int | None = None,
) -> torch.Tensor:
    """What a layer sees: its inputs on texts or token ids, float32 [samples, d] on the CPU, in the data's order.

    `layer` is a module of the model, its name, or its place in `find_glus(model)`: from 0 on as modules count, with -1
    as the last. `data` are
    texts (with `tokenizer`), rows of token ids, a tensor of them, or what a tokenizer of Hugging Face gives; other
    tensors go to the model as they are, one sample per entry. Nothing is padded: sequences of one length that follow
    each other go together, `batch` at a time. `limit` stops after so many samples. The model stops at the layer.

    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), gt.GLU(8, 8), torch.nn.Linear(8, 2))
    >>> gt.capture(model, -1, torch.ones(5, 4)).shape
    torch.Size([5, 8])
    """
    if tokenizer is None:
        tokenizer = getattr(model, "tokenizer", None)
    model = bare(model)
    module = layer_of(model, layer)
    seen: list[torch.Tensor] = []

    def hook(_: Any, arguments: Any) -> None:
        x = arguments[0]
        seen.append(x.detach().to("cpu", torch.float32).reshape(-1, x.shape[-1]).clone())
        raise _Seen

    where = next(iter(model.parameters()), torch.empty(0)).device
    training = model.training
    handle = module.register_forward_pre_hook(hook)
    model.eval()
    try:
        with torch.no_grad(), as_written():
            for rows in _batches(_sequences(data, tokenizer), max(1, batch)):
                before = len(seen)
                try:
                    model(rows.to(where))
                except _Seen:
                    pass
                if len(seen) == before:
                    raise UsageError("the model did not call the layer", "layer=", "a module that the model runs")
                if limit is not None and sum(len(s) for s in seen) >= limit:
                    break
    finally:
        handle.remove()
        model.train(training)
    if not seen:
        raise UsageError("no data", "data=", "a text or more")
    return torch.cat(seen)[:limit]


def _batches(rows: Iterable[torch.Tensor], batch: int) -> Iterable[torch.Tensor]:
    waiting: list[torch.Tensor] = []
    for row in rows:
        if row.shape[-1] == 0:
            continue
        if waiting and (len(waiting) == batch or waiting[0].shape != row.shape):
            yield torch.cat(waiting)
            waiting = []
        waiting.append(row)
    if waiting:
        yield torch.cat(waiting)
