"""Arrays that are not yet what C++ takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import UsageError


def floats(x: Any, name: str) -> np.ndarray[Any, Any]:
    """`x` as a contiguous array of float32 or float64; anything but float32 becomes float64."""
    try:
        array = np.asarray(x)
    except (TypeError, ValueError, RuntimeError, BufferError) as e:
        raise UsageError(f"cannot read {type(x).__name__} as an array: {e}", f"{name}=", "an array of numbers") from e
    if array.dtype.kind not in "biuf":
        raise UsageError(f"an array of {array.dtype}", f"{name}=", "an array of numbers")
    # asarray and not ascontiguousarray, which makes arrays without axes have one
    return np.asarray(array, dtype=np.float32 if array.dtype == np.float32 else np.float64, order="C")
