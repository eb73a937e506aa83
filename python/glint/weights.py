"""The weights of a model by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from . import _core
from ._arrays import Array


class StoredWeights(Mapping[str, Array]):
    """The weights of a model of another program by the names of its file, each widened to float32 when it is asked for."""

    def __init__(self, file: _core.Weights | str) -> None:
        self._file = _core.open_weights(str(file)) if not isinstance(file, _core.Weights) else file
        self._about = {name: (tuple(shape), kind) for name, shape, kind in self._file.tensors()}

    def __getitem__(self, name: str) -> Array:
        if name not in self._about:
            raise KeyError(name)
        return np.asarray(self._file.read(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._about)

    def __len__(self) -> int:
        return len(self._about)

    def __repr__(self) -> str:
        return "\n".join(f"{name}  {shape}  {kind}" for name, (shape, kind) in self._about.items())


class Weights(dict[str, Array]):
    """The weights of a run by name, as PyTorch code calls them: read-only views of what the run holds."""

    def __repr__(self) -> str:
        return "\n".join(f"{name}  {array.shape}  {array.dtype}" for name, array in self.items())
