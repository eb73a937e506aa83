"""What people write, as the library takes it: options, directions, texts and images."""

from __future__ import annotations

import copy
import difflib
import inspect
import json
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from . import _core
from ._arrays import Array, array_of, count_of, path_of, standing
from .data import Data, Tokens
from .errors import UsageError, called
from .gates import Gate

StrPath = str | os.PathLike[str]
Function = TypeVar("Function", bound=Callable[..., Any])

# What the library calls a parameter, and what it is called here: for errors.called.
MEMORY = {"memory": "data"}
SAMPLES = {"samples": "X", "rows": "X", "inputs": "X"}
OUT = {"unit": "out", "token": "out", "direction": "out", "vector": "out"}

_FIELDS: dict[str, list[dict[str, Any]]] = json.loads(_core.described())
_SOURCE = {"run", "data", "data_dir", "text", "tokenizer"}  # what a run is opened with


class Request:
    """A request of the library as a call here: its fields are the call's options, described in the library alone.

    `own` are fields that the call fills in by itself, `renamed` those that have another name here.
    """

    def __init__(self, name: str, own: str = "", errors: Mapping[str, str] = {}, **renamed: str) -> None:
        hidden = _SOURCE | {"figures"} | set(own.split()) - set(renamed)
        here = {field: name for name, field in renamed.items()}
        self.call, self.errors = name, {**MEMORY, **errors, **here}
        self.options = {here.get(f["name"], python_name(f["name"])): f for f in _FIELDS[name] if f["name"] not in hidden or f["name"] in here}

    def of(self, call: str) -> Request:
        """The same options of another call."""
        other = copy.copy(self)
        other.call = call
        return other

    def fields(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a call as fields of the library."""
        fields = {}
        for name, value in options.items():
            if name not in self.options:
                near = difflib.get_close_matches(name, self.options, 1)
                raise UsageError(f"there is no `{name}` here", f"{name}=", f"did you mean {near[0]}?" if near else ", ".join(self.options))
            field = self.options[name]
            nothing = value is None or (isinstance(value, str) and value == "" and not field["default"])  # as nobody said it
            if not nothing:
                fields[field["name"]] = option_word(value, name) if field["type"] == "text" else value
        return fields

    def value(self, options: Mapping[str, Any], name: str) -> Any:
        """An option of a call; None is its default."""
        given = options.get(name)
        return self.options[name]["default"] if given is None else given

    def called(self, **names: str) -> Any:
        """Errors of the library with the names of this call."""
        return called({**self.errors, **names})

    def __call__(self, function: Function) -> Function:
        """A decorator that puts the options where `**options` stands, for `help` and editors of notebooks."""
        signature = inspect.signature(function)
        given = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        options = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=f["default"]) for name, f in self.options.items()]
        function.__signature__ = signature.replace(parameters=given + options)  # type: ignore[attr-defined]
        lines = [f"{name}: {f['help']}" for name, f in self.options.items()]
        function.__doc__ = (function.__doc__ or "").rstrip() + "\n\n        " + "\n        ".join(lines) + "\n"
        return function


def option_word(value: Any, name: str) -> Any:
    """A text of the library: several whole numbers have commas between, "1,3"."""
    if isinstance(value, (str, os.PathLike)):
        return path_of(value, name)
    try:
        return whole_numbers(value, name)
    except UsageError as e:
        raise UsageError(e.what, e.where, "a text or whole numbers") from None


def data_of(data: Any) -> tuple[dict[str, Any], Any]:
    """Data as requests have them: by name, or those in memory."""
    if isinstance(data, Data):
        return {}, data._core
    return {} if data is None else {"data": data_word(data)}, None


def data_standing(data: Any) -> Any:
    """Data by a name that stays the same when the current folder is another: arrays as they are, files by their whole path."""
    if data is None or isinstance(data, Data):
        return data
    word = data_word(data)
    return word if word in _core.data_words() else standing(word)


def option_name(name: str) -> str:
    """The name of an option in the library: lam is lambda, d_model is d-model."""
    return "lambda" if name == "lam" else name.replace("_", "-")


def python_name(option: str) -> str:
    """The name of an option here: lambda is lam, d-model is d_model."""
    return "lam" if option == "lambda" else option.replace("-", "_")


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


def token_array(tokens: Any, name: str) -> Array:
    """Tokens as the library takes them."""
    array = array_of(tokens, name, "a text or whole numbers")
    if array.size == 0 and array.ndim == 1:
        array = array.astype(np.uint32)
    if array.ndim != 1 or array.dtype.kind not in "iu" or (array.size and (array.min() < 0 or array.max() >= 2**32)):
        raise UsageError(f"an array of {array.dtype} with {array.ndim} axes", f"{name}=", "a list of tokens")
    return np.ascontiguousarray(array, dtype=np.uint32)


def whole_numbers(values: Any, name: str) -> str:
    """One number or several as the library takes a list: "1,3"."""
    array = np.atleast_1d(array_of(values, name, "a whole number or several"))
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise UsageError(f"an array of {array.dtype} with {array.ndim} axes", f"{name}=", "a whole number or several")
    return ",".join(str(int(v)) for v in array)


def text_or_file(text: StrPath | None) -> dict[str, Any]:
    """A text in memory as `words`, or the file that it names."""
    if text is None:
        return {}
    words = isinstance(text, str) and not os.path.exists(text) and any(c.isspace() for c in text)
    return {"words": text} if words else {"text": path_of(text, "text")}


def direction(out: Any, kind: str, hidden: Any = None, latent: Any = None) -> tuple[dict[str, Any], bool]:
    """A direction as fields of a request, and whether it is a single one."""
    if (out is not None) + (hidden is not None) + (latent is not None) > 1:
        raise UsageError("two directions", "hidden=" if hidden is not None else "latent=", "one of `out`, `hidden` and `latent`")
    word = out
    if hidden is not None:
        word = f"hidden:{count_of(hidden, 'hidden')}"
    elif latent is not None:
        return {"direction": [f"latent:{option_word(latent, 'latent')}"]}, True
    elif isinstance(out, (int, np.integer)) and not isinstance(out, bool):
        word = str(int(out)) if kind == "image" else f"#{int(out)}"
    elif out is None:
        return {}, False
    if isinstance(word, str):
        return {"direction": [word]}, "," not in word and (kind != "image" or (".." not in word and word != "all"))
    vector = array_of(out, "out", "a class, a token or a vector", lambda x: np.ascontiguousarray(x, dtype=np.float64))
    if np.ndim(out) != 1:
        raise UsageError(f"a direction with {np.ndim(out)} axes", "out=", "a vector of the layer's output")
    return {"vector": vector[None]}, True


def picture(image: Any, size: tuple[int, int]) -> Array:
    """A picture in memory as bytes."""
    array = array_of(image, "image", "a PNG file or an array [height, width]")
    if size == (0, 0):
        raise UsageError("the samples of this model are no pictures", "image=", "index=, the number of a sample")
    if array.shape != size or array.dtype.kind not in "biuf":
        raise UsageError(f"an array of {array.dtype} with shape {array.shape}", "image=", f"numbers of shape {size}, as the model reads them")
    most = 1 if array.dtype.kind in "bf" else 255
    if not np.all((array >= 0) & (array <= most)):  # also false for what is no number
        raise UsageError("an image with numbers out of range", "image=", "whole numbers from 0 to 255, or floats from 0 to 1")
    return np.ascontiguousarray(np.round(array * (255 / most)), dtype=np.uint8)
