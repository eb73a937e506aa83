"""Data to train on and to look at: arrays, texts, and the sets that glint knows."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _core
from ._arrays import Array, Scratch, array_of, as_bytes, path_of
from ._frames import Table
from ._talk import Talk
from .errors import UsageError, called

def _samples(x: Any, name: str) -> Array:
    array = array_of(x, name)
    if array.dtype.kind not in "biuf" or array.ndim < 2:
        raise UsageError(f"an array of {array.dtype} with {array.ndim} axes", f"{name}=", "numbers, one sample per row")
    return array


def _labels(y: Any, count: int, name: str) -> Array:
    array = array_of(y, name, "whole numbers from 0 on")
    if array.dtype.kind == "b":
        array = array.astype(np.uint32)
    if array.ndim != 1 or array.dtype.kind not in "iu" or len(array) != count:
        raise UsageError(
            f"labels of shape {array.shape} and type {array.dtype}", f"{name}=", f"{count} whole numbers from 0 on"
        )
    if count and (array.min() < 0 or array.max() > 10**6):
        raise UsageError("a label is out of range", f"{name}=", "whole numbers from 0 on")
    return np.ascontiguousarray(array, dtype=np.uint32)


def _split(x: Array, y: Array, test: Any, share: float, seed: int) -> tuple[Array, Array, Any, Any]:
    """Training and test samples: `test` as given, or a share of the samples, chosen by the seed."""
    if test is not None:
        if not isinstance(test, (tuple, list)) or len(test) != 2:
            raise UsageError("test samples without labels", "test=", "(X, y)")
        return x, y, test[0], test[1]
    if not 0 < share < 1:
        raise UsageError(f"a share of {share}", "test_share=", "a number between 0 and 1")
    if len(x) < 2:
        raise UsageError("too few samples for a test set", "X=", "two or more")
    order = np.random.default_rng(seed).permutation(len(x))
    count = min(len(x) - 1, max(1, round(share * len(x))))
    picked, kept = np.sort(order[:count]), np.sort(order[count:])
    return x[kept], y[kept], x[picked], y[picked]


class Data:
    """Labelled samples in memory: the part that `Images` and `Vectors` share."""

    _shape = "[samples, ...]"
    _core: _core.Data

    @staticmethod
    def _read(samples: Array, name: str) -> Array:
        return samples

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        test: Any = None,
        test_share: float = 0.1,
        seed: int = 0,
        names: Sequence[str] | None = None,
        name: str = "arrays",
    ) -> None:
        x = _samples(X, "X")
        if x.ndim != self._shape.count(",") + 1:
            raise UsageError(f"an array of shape {x.shape}", "X=", self._shape)
        x = self._read(x, "X")
        height, width = x.shape[1:] if x.ndim == 3 else (0, 0)
        train_x, train_y, test_x, test_y = _split(x, _labels(y, len(x), "y"), test, test_share, seed)
        test_x = self._read(_samples(test_x, "test"), "test")
        if test_x.shape[1:] != x.shape[1:]:
            raise UsageError(f"test samples of shape {test_x.shape[1:]}", "test=", f"shape {x.shape[1:]}, as X")
        kind: Any = np.uint8 if x.dtype == np.uint8 and height else np.float32
        if kind == np.uint8 and test_x.dtype != np.uint8:
            raise UsageError(f"test samples of {test_x.dtype}", "test=", "uint8, as X")
        flat = [np.ascontiguousarray(a.reshape(len(a), -1), dtype=kind) for a in (train_x, test_x)]
        options: dict[str, Any] = {"name": name, "height": height, "width": width}
        if names is not None:
            options |= {"class_names": [str(n) for n in names], "classes": len(names)}
        part = "y" if names is None else "names"  # that says how many classes there are
        with called({"train": "X", "train.labels": "y", "test.labels": "test", "classes": part, "class_names": "names"}):
            self._core = _core.make_data(flat[0], train_y, flat[1], _labels(test_y, len(test_x), "test"), options)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.X, self.y, self.test, self.class_names, self.name)

    @property
    def name(self) -> str:
        """What the data are called in runs."""
        return str(self._core.name)

    @property
    def X(self) -> Array:
        """The training samples, read-only and without a copy."""
        return np.asarray(self._core.X)

    @property
    def y(self) -> Array:
        """The training labels."""
        return np.asarray(self._core.y)

    @property
    def test(self) -> tuple[Array, Array]:
        """The test samples and their labels."""
        return np.asarray(self._core.test_X), np.asarray(self._core.test_y)

    @property
    def class_names(self) -> list[str]:
        """The names of the classes."""
        return list(self._core.class_names)

    def __repr__(self) -> str:
        train, test = len(self.y), len(self.test[1])
        shape = "×".join(str(n) for n in self.X.shape[1:])
        return f"<glint {type(self).__name__} '{self.name}': {train} + {test} test samples of {shape}, {len(self.class_names)} classes>"


def _again(kind: type[Any], X: Array, y: Array, test: Any, names: list[str], name: str) -> Any:
    """The data of a pickle."""
    return kind(X, y, test=test, names=names, name=name)


class Images(Data):
    """Pictures with labels, `X` [n, height, width]: whole numbers from 0 to 255, or floats that are read as they are.

    Without `test=(X, y)` a share of the pictures becomes the test set.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 256, (40, 8, 8), dtype=np.uint8)
    >>> glint.Images(X, np.arange(40) % 2)
    <glint Images 'arrays': 36 + 4 test samples of 8×8, 2 classes>
    """

    _shape = "[samples, height, width]"
    _read = staticmethod(as_bytes)


class Vectors(Data):
    """Any features with labels, `X` [n, numbers], read as they are.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> glint.Vectors(X, X[:, 0] > 0, names=["left", "right"])
    <glint Vectors 'arrays': 45 + 5 test samples of 3, 2 classes>
    """

    _shape = "[samples, numbers]"


class Tokens:
    """Stories for a language model, with a tokenizer: the number of its pieces, or a SentencePiece model file.

    The stories are encoded into a folder that goes away with this object; `out` keeps it.

    >>> texts = ["the cat sat on the mat and it was happy there"] * 50
    >>> stories = glint.Tokens(texts, tokenizer=300)
    >>> stories
    <glint Tokens in ...
    """

    def __init__(
        self,
        texts: Iterable[str],
        tokenizer: int | str | os.PathLike[str] = 4096,
        *,
        valid: Iterable[str] | None = None,
        valid_share: float = 0.02,
        out: str | os.PathLike[str] | None = None,
        seed: int = 0,
        progress: bool | None = None,
    ) -> None:
        if isinstance(texts, str):
            raise UsageError("one text instead of several", "texts=", "a list of texts, one per story")
        self._temporary = Scratch()
        folder = Path(self._temporary.name)
        self.folder = path_of(out, "out") if out is not None else os.fspath(folder / "corpus")
        fields: dict[str, Any] = {"texts": [_write(texts, folder / "train.txt", "texts")], "out": self.folder}
        if valid is not None:
            fields["valid_texts"] = [_write(valid, folder / "valid.txt", "valid")]
        fields |= {"valid_share": valid_share, "seed": seed}
        if isinstance(tokenizer, int):
            fields["vocab"] = tokenizer
        else:
            fields["tokenizer"] = path_of(tokenizer, "tokenizer")
        with Talk(progress) as talk, called({"vocab": "tokenizer", "valid_texts": "valid", os.fspath(folder): "texts"}):
            self.about: dict[str, Any] = json.loads(_core.tokenize(fields, talk))

    def __repr__(self) -> str:
        return f"<glint Tokens in {self.folder}>"


_END = "<|endoftext|>"


def _write(texts: Iterable[str], path: Path, name: str) -> str:
    with path.open("w", encoding="utf-8") as file:
        for text in texts:
            if not isinstance(text, str):
                raise UsageError(f"a story that is {type(text).__name__}", f"{name}=", "texts")
            try:
                file.write(text.replace(_END, " ") + "\n" + _END + "\n")
            except UnicodeEncodeError as e:
                raise UsageError("a story that is no Unicode", f"{name}=", "texts") from e
    return os.fspath(path)


def load(name: str, data_dir: str | os.PathLike[str] = "") -> Data:
    """An image set that glint knows, as arrays: mnist, fashion-mnist, glyphs, or a folder of IDX files.

    >>> glyphs = glint.data.load("glyphs")
    >>> glyphs.X.shape, glyphs.X.dtype
    ((10000, 28, 28), dtype('uint8'))
    """
    with Talk(False) as talk:
        data = Images.__new__(Images)
        data._core = _core.load_data(str(name), path_of(data_dir, "data_dir"), talk)
        return data


def known(data_dir: str | os.PathLike[str] = "") -> Table:
    """The data sets that glint knows, and where they were found.

    >>> "glyphs" in glint.data.known().columns["name"]
    True
    """
    with Talk(False) as talk:
        about = json.loads(_core.describe_data({"data_dir": path_of(data_dir, "data_dir")}, talk))
    rows = [row for row in about.get("datasets", []) if isinstance(row, dict)]
    keys = ("name", "state", "summary", "origin", "train", "test")
    return Table([{k: row.get(k) for k in keys} for row in rows], "data sets")


def tokenize(
    texts: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    vocab: int = 4096,
    tokenizer: str | os.PathLike[str] | None = None,
    valid: Sequence[str | os.PathLike[str]] = (),
    valid_share: float = 0.02,
    seed: int = 0,
    force: bool = False,
    progress: bool | None = None,
) -> dict[str, Any]:
    """Text files to a corpus folder, which `glint.train(data=out)` takes.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "t.txt").write_text("the cat sat on the mat and was happy there\\n<|endoftext|>\\n" * 50)
    >>> glint.tokenize(folder / "t.txt", folder / "corpus", vocab=300)["train"]["stories"]
    49
    """
    files = [texts] if isinstance(texts, (str, os.PathLike)) else list(texts)
    fields = {"texts": files, "valid_texts": list(valid), "valid_share": valid_share, "out": out, "vocab": vocab}
    fields |= {"tokenizer": tokenizer, "seed": seed, "force": force}
    with Talk(progress) as talk:
        return dict(json.loads(_core.tokenize(fields, talk)))
