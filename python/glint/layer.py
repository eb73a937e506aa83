"""One GLU layer from arrays: of any model, without a run and without a file."""

from __future__ import annotations

import json
from functools import partial
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core
from ._arrays import Array, array_of
from ._frames import place_text
from ._talk import Talk
from .errors import UsageError, called
from .figures import Figure
from .forms import Form, Forms
from .gates import Gate, gate as _gate

_NAMES = {"bias_left": "bias", "bias_right": "bias", "norm_weights": "norm", "norm_bias": "norm"}


def _array(x: Any, name: str, axes: int, kind: Any = np.float32) -> Any:
    """`x` as it is where C++ can read it in place, otherwise a copy."""
    if x is None:
        return None
    # DLPack first: a tensor of torch is then read where it lies.
    plain = isinstance(x, (np.ndarray, list, tuple)) or not hasattr(x, "__dlpack__")
    array = array_of(x, name, read=np.asarray if plain else np.from_dlpack)
    if array.dtype.kind not in "biuf" or array.ndim != axes:
        raise UsageError(f"an array of {array.dtype} with {array.ndim} axes", f"{name}=", f"numbers with {axes} axes")
    if array.dtype == kind and array.strides[-1] == array.itemsize and (axes == 1 or array.strides[0] >= array.shape[-1] * array.itemsize):
        return array
    return np.ascontiguousarray(array, dtype=kind)


def _norm(norm: Any) -> dict[str, Any]:
    """The norm before a layer as the library has it."""
    if norm is None or norm is False:
        return {"norm": False}
    kind, weights, bias = "rms", norm, None
    if norm is True or isinstance(norm, str):
        kind, weights = "rms" if norm is True else norm, None
    elif isinstance(norm, (tuple, list)) and len(norm) and isinstance(norm[0], str):
        if len(norm) > 3:
            raise UsageError(f"a norm of {len(norm)} parts", "norm=", '("layer", weights, bias)')
        kind, weights, bias = (*norm, None, None)[:3]
    if kind not in ("rms", "layer"):
        raise UsageError(f"unknown norm '{kind}'", "norm=", '"rms" or "layer"')
    return {
        "norm": True,
        "norm_centred": kind == "layer",
        "norm_weights": _array(weights, "norm", 1),
        "norm_bias": _array(bias, "norm", 1),
    }


class GLU:
    """A GLU layer `y = P (gate(L x) * (R x))` from its weights.

    `L` and `R` are [hidden, inputs], the gated half and the linear half; `P` is [outputs, hidden], or None where
    the hidden units are the output. `bias` is one vector for the gated half, or a pair.

    `norm` is a norm before the layer: the weights of an RMS norm, or True for one without weights;
    `("layer", weights, bias)` is a LayerNorm, whose weights and bias may be left out. Its inputs are then what goes
    into the norm, and eigenvectors are directions of the normed input.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> L, R, P = rng.normal(size=(12, 6)), rng.normal(size=(12, 6)), rng.normal(size=(3, 12))
    >>> layer = glint.GLU(L, R, P, gate="identity")
    >>> form = layer.read(out=[1, 0, 0])
    >>> x = rng.normal(size=(5, 6))
    >>> bool(np.allclose(form.values @ (form.vectors @ x.T) ** 2, layer(x)[:, 0], atol=1e-4))
    True
    """

    def __init__(
        self,
        L: Any,
        R: Any,
        P: Any = None,
        *,
        gate: str | Gate = "sqs",
        bias: Any = None,
        norm: Any = None,
        eps: float = 1e-6,
    ) -> None:
        self._place: dict[str, Any] = {}  # of a run: which of its layers this is
        left, right = bias if isinstance(bias, tuple) and len(bias) == 2 else (bias, None)
        self.gate: Gate = gate if isinstance(gate, Gate) else _gate(gate)
        self._fields: dict[str, Any] = {
            "L": _array(L, "L", 2),
            "R": _array(R, "R", 2),
            "P": _array(P, "P", 2),
            "bias_left": _array(left, "bias", 1),
            "bias_right": _array(right, "bias", 1),
            **_norm(norm),
            "eps": float(eps),
            "gate": self.gate,
        }
        for name in ("L", "R"):
            if self._fields[name] is None:
                raise UsageError(f"no {name}", f"{name}=", "[hidden, inputs]")
        with called(_NAMES):
            _core.check_layer(self._fields)

    @property
    def L(self) -> Array:
        """The gated half [hidden, inputs]."""
        return np.asarray(self._fields["L"])

    @property
    def R(self) -> Array:
        """The linear half [hidden, inputs]."""
        return np.asarray(self._fields["R"])

    @property
    def P(self) -> Array | None:
        """The projection [outputs, hidden]; None: there is none."""
        return None if self._fields["P"] is None else np.asarray(self._fields["P"])

    @property
    def outputs(self) -> int:
        """How many numbers an output has."""
        return len(self.L) if self.P is None else len(self.P)

    def __call__(self, X: Any) -> Array:
        """The layer itself for inputs [n, inputs]: outputs [n, outputs]."""
        x = _array(X, "X", 2)
        with Talk(False) as talk:
            return np.asarray(_core.layer_values(self._fields | {"inputs": x}, talk))

    def read(
        self,
        out: Any = None,
        inputs: Any = None,
        *,
        form: str = "auto",
        k: int | None = None,
        names: Sequence[str] | None = None,
        progress: bool | None = None,
    ) -> Any:
        """Output directions as quadratic forms of the input.

        `out` is one direction [outputs] (a `Form` comes back) or several [n, outputs] (`Forms`); without it every
        output. With `inputs` [n, inputs] the form is fitted on the first half of them and measured on the second;
        without them it is that of the weights. `k` asks for the strongest eigenpairs only, which beyond a width
        of 1024 is a must.
        """
        one = False
        if out is None:
            directions = np.eye(self.outputs)
        else:
            flat = np.ndim(out) == 1 if not hasattr(out, "ndim") else out.ndim == 1
            one = bool(flat)
            array = _array(out, "out", 1 if one else 2, np.float64)
            directions = array[None, :] if one else array
        fields = self._fields | {
            "out": directions,
            "inputs": _array(inputs, "inputs", 2),
            "form": form,
            "k": 0 if k is None else k,
            "names": None if names is None else [str(n) for n in names],
        }
        with Talk(progress) as talk:
            text, units, figures, line = _core.read_layer(fields, talk)
        whole = json.loads(text) | self._place
        drawn = [Figure(*f) for f in figures]
        forms = []
        for i, unit in enumerate(units):
            result = Form(unit, whole["units"][i], whole, drawn[i])
            result._call = partial(_form_values, self._fields | line, directions[i : i + 1])
            forms.append(result)
        return forms[0] if one else Forms(forms, whole, drawn)

    def __repr__(self) -> str:
        h, d = self.L.shape
        place = place_text(self._place)
        return f"<glint GLU {place and place + ', '}{self.gate.name}: {d} inputs, {h} hidden units, {self.outputs} outputs>"


def _form_values(fields: dict[str, Any], direction: Array, X: Any) -> Array:
    call = {name: None if isinstance(values, np.ndarray) and values.size == 0 else values for name, values in fields.items()}
    with Talk(False) as talk:
        return np.asarray(_core.form_values(call | {"out": direction, "inputs": _array(X, "X", 2)}, talk))[:, 0]
