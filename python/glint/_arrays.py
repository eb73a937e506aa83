"""Arrays that are not yet what C++ takes."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from typing import Any

import numpy as np

from .errors import UsageError


Array = np.ndarray[Any, Any]
_MOST = 2**31 - 1  # of what is counted


def array_of(x: Any, name: str, expected: str = "an array of numbers", read: Any = np.asarray) -> Array:
    """`x` as an array, or a UsageError that names the parameter."""
    try:
        array: Array = read(x)
    except (TypeError, ValueError, RuntimeError, BufferError) as e:
        raise UsageError(f"cannot read {type(x).__name__} as an array: {e}", f"{name}=", expected) from e
    return array


def count_of(value: Any, name: str, most: int | None = None) -> int:
    """A whole number from 0 on."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or not 0 <= value <= (_MOST if most is None else most):
        raise UsageError(f"{value!r} is no such number", f"{name}=", "a whole number from 0 " + (f"to {most}" if most else "on"))
    return int(value)


def path_of(path: Any, name: str) -> str:
    """A path as text."""
    try:
        return os.fsdecode(path)
    except TypeError as e:
        raise UsageError(f"{type(path).__name__} is no path", f"{name}=", "a path") from e


def standing(path: str) -> str:
    """A path that means the same when the current folder is another; what is no file stays as it was written."""
    return os.path.abspath(path) if path and os.path.exists(path) else path


class Scratch:
    """A temporary folder. It goes away with this object, but only in the process that made it: not in a fork."""

    def __init__(self, prefix: str = "glint-") -> None:
        self.name = tempfile.mkdtemp(prefix=prefix)
        self._end = weakref.finalize(self, _remove, self.name, os.getpid())

    def stay(self) -> None:
        """It does not go away any more."""
        self._end.detach()


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def as_bytes(array: Array, name: str) -> Array:
    """Pictures: whole numbers from 0 to 255 are bytes, whatever their type; others stay as they are."""
    if array.dtype.kind not in "iu" or array.dtype == np.uint8:
        return array
    if array.size and (array.min() < 0 or array.max() > 255):
        raise UsageError("pictures with whole numbers out of range", f"{name}=", "whole numbers from 0 to 255, or floats")
    return array.astype(np.uint8)


def floats(x: Any, name: str) -> Array:
    """`x` as a contiguous array of float32 or float64; anything but float32 becomes float64."""
    array = array_of(x, name)
    if array.dtype.kind not in "biuf":
        raise UsageError(f"an array of {array.dtype}", f"{name}=", "an array of numbers")
    # asarray and not ascontiguousarray, which makes arrays without axes have one
    return np.asarray(array, dtype=np.float32 if array.dtype == np.float32 else np.float64, order="C")
