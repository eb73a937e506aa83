"""What people write, as the library takes it: options, directions, texts and images."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ._arrays import Array, array_of, path_of
from .data import Tokens
from .errors import UsageError
from .gates import Gate

StrPath = str | os.PathLike[str]

# What the library calls a parameter, and what it is called here: for errors.called.
MEMORY = {"memory": "data", "measured_tokens": "tokens"}
SAMPLES = {"samples": "X", "rows": "X", "inputs": "X"}
OUT = MEMORY | {"unit": "out", "token": "out", "direction": "out"}
READ = OUT | {"strongest": "k"}
ABLATE = OUT | {"remove": "vectors"}
EXPLAIN = MEMORY | {"unit": "classes", "prompt": "text", "show": "top"}
PASSAGES = MEMORY | {"count": "n", "passage_tokens": "tokens"}


def option_name(name: str) -> str:
    """The name of an option in the library: lam is lambda, d_model is d-model."""
    return "lambda" if name == "lam" else name.replace("_", "-")


def option_text(name: str, value: Any) -> str:
    """The value of an option as text."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (str, os.PathLike)):
        return path_of(value, name)
    raise UsageError(f"a value that is {type(value).__name__}", f"{name}=", "a number, a text, True or False")


def changes_of(options: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Options of Python as those of the library."""
    changes: list[tuple[str, str]] = []
    for name, value in options.items():
        if value is None:
            continue
        if isinstance(value, Gate):
            changes.append((option_name(name), value.name))
            if value.has_options:
                changes += [("c", repr(value.c)), ("lambda", repr(value.lam)), ("p", repr(value.p))]
        else:
            changes.append((option_name(name), option_text(name, value)))
    return changes


def data_word(data: Any) -> str:
    """Data that are not arrays as the library names them."""
    if isinstance(data, Tokens):
        return data.folder
    if isinstance(data, (str, os.PathLike)):
        return os.fspath(data)
    raise UsageError(
        f"data that are {type(data).__name__}", "data=", "a name, a folder, glint.Images, glint.Vectors or glint.Tokens"
    )


def path_or_none(path: StrPath | None, name: str) -> str | None:
    """A path as text."""
    return None if path is None else path_of(path, name)


def token_array(tokens: Any, name: str) -> Array:
    """Tokens as the library takes them."""
    array = array_of(tokens, name, "a text or whole numbers")
    if array.size == 0 and array.ndim == 1:
        array = array.astype(np.uint32)
    if array.ndim != 1 or array.dtype.kind not in "iu" or (array.size and (array.min() < 0 or array.max() >= 2**32)):
        raise UsageError(f"an array of {array.dtype} with {array.ndim} axes", f"{name}=", "a list of tokens")
    return np.ascontiguousarray(array, dtype=np.uint32)


def expert_word(expert: Any) -> str | None:
    """An expert of a mixture as the library names it: its number from 1 on, or "shared"."""
    if expert is None or isinstance(expert, str):
        return expert
    if isinstance(expert, bool) or not isinstance(expert, (int, np.integer)):
        raise UsageError(f"an expert that is {type(expert).__name__}", "expert=", 'a whole number from 1 on, or "shared"')
    return str(int(expert))


def whole_numbers(values: Any, name: str) -> str:
    """One number or several as the library takes a list: "1,3"."""
    array = np.atleast_1d(array_of(values, name, "a whole number or several"))
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise UsageError(f"an array of {array.dtype} with {array.ndim} axes", f"{name}=", "a whole number or several")
    return ",".join(str(int(v)) for v in array)


def text_file(text: StrPath, scratch: str) -> str:
    """A file with the text: `text` itself where it names one."""
    if not isinstance(text, str) or os.path.exists(text) or not any(c.isspace() for c in text):
        return path_of(text, "text")
    path = Path(scratch, "text.txt")
    try:
        path.write_text(text, encoding="utf-8")
    except UnicodeEncodeError as e:
        raise UsageError("a text that is no Unicode", "text=", "text") from e
    return os.fspath(path)


def direction(fields: dict[str, Any], out: Any, kind: str, scratch: str, hidden: Any = None) -> bool:
    """Puts a direction into a request; True when it is a single one."""
    if hidden is not None:
        if out is not None or isinstance(hidden, bool) or not isinstance(hidden, (int, np.integer)):
            raise UsageError("a hidden unit beside a direction, or one that is no number", "hidden=", "a whole number from 1 on, without `out`")
        fields["hidden"] = str(int(hidden))
        return True
    if out is None:
        return False
    if isinstance(out, (int, np.integer)) and not isinstance(out, bool):
        out = str(int(out)) if kind == "image" else f"#{int(out)}"
    if isinstance(out, str):
        if kind == "image":
            fields["unit"] = out
            return "," not in out and ".." not in out and out != "all"
        signs = " - " in out or " + " in out
        fields["direction" if signs else "token"] = out
        return "," not in out
    vector = array_of(out, "out", "a class, a token or a vector", lambda x: np.asarray(x, dtype=np.float64))
    if vector.ndim != 1:
        raise UsageError(f"a direction with {vector.ndim} axes", "out=", "a vector of the layer's output")
    path = Path(scratch, "vector")  # the name that the form will have
    with path.open("wb") as file:
        np.save(file, vector)
    fields["hidden"] = os.fspath(path)
    return True


def png(image: Any, size: tuple[int, int], path: Path) -> str:
    """Writes an array of this size as a grey PNG file."""
    array = array_of(image, "image", "a PNG file or an array [height, width]")
    if size == (0, 0):
        raise UsageError("the samples of this model are no pictures", "image=", "index=, the number of a sample")
    if array.shape != size or array.dtype.kind not in "biuf":
        raise UsageError(f"an array of {array.dtype} with shape {array.shape}", "image=", f"numbers of shape {size}, as the model reads them")
    most = 1 if array.dtype.kind in "bf" else 255
    if not np.all((array >= 0) & (array <= most)):  # also false for what is no number
        raise UsageError("an image with numbers out of range", "image=", "whole numbers from 0 to 255, or floats from 0 to 1")
    grey = np.round(array * (255 / most)).astype(np.uint8)

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = b"".join(b"\0" + row.tobytes() for row in grey)
    head = struct.pack(">IIBBBBB", grey.shape[1], grey.shape[0], 8, 0, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    )
    return os.fspath(path)
