"""The weights of a model by name."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from . import _core
from ._arrays import Array
from ._requests import StrPath
from .errors import UsageError


class StoredWeights(Mapping[str, Array]):
    """The weights of a model of another program by the names of its file, each widened to float32 when it is asked for."""

    def __init__(self, path: StrPath) -> None:
        self._file = _core.open_weights(os.fspath(path))
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


class Weights(Mapping[str, Array]):
    """The weights of a run by name, as PyTorch code calls them; read-only, straight from the file."""

    def __init__(self, path: Path) -> None:
        self._arrays: dict[str, Array] = {}
        raw = np.memmap(path, dtype=np.uint8, mode="r")
        if len(raw) < 8:
            raise UsageError("not a safetensors file", os.fspath(path))
        size = int(struct.unpack("<Q", raw[:8].tobytes())[0])
        if size > len(raw) - 8:
            raise UsageError("not a safetensors file", os.fspath(path))
        kinds = {"F32": np.float32, "F64": np.float64, "F16": np.float16, "U8": np.uint8, "U16": np.uint16, "U32": np.uint32}
        for name, about in json.loads(raw[8 : 8 + size].tobytes()).items():
            if name == "__metadata__" or about["dtype"] not in kinds:
                continue
            first, end = about["data_offsets"]
            part = raw[8 + size + first : 8 + size + end]
            self._arrays[name] = np.frombuffer(part, dtype=kinds[about["dtype"]]).reshape(about["shape"])

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        return "\n".join(f"{name}  {array.shape}  {array.dtype}" for name, array in self._arrays.items())
