"""Arrays that are not yet what C++ takes."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .errors import UsageError


Array = np.ndarray[Any, Any]


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
    if not whole or value < 0 or (most is not None and value > most):
        raise UsageError(f"{value!r} is no such number", f"{name}=", "a whole number from 0 " + (f"to {most}" if most else "on"))
    return int(value)


def path_of(path: Any, name: str) -> str:
    """A path as text."""
    try:
        return os.fsdecode(path)
    except TypeError as e:
        raise UsageError(f"{type(path).__name__} is no path", f"{name}=", "a path") from e


def floats(x: Any, name: str) -> Array:
    """`x` as a contiguous array of float32 or float64; anything but float32 becomes float64."""
    array = array_of(x, name)
    if array.dtype.kind not in "biuf":
        raise UsageError(f"an array of {array.dtype}", f"{name}=", "an array of numbers")
    # asarray and not ascontiguousarray, which makes arrays without axes have one
    return np.asarray(array, dtype=np.float32 if array.dtype == np.float32 else np.float64, order="C")
