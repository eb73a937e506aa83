"""Figures: SVG that displays itself, with the numbers behind it."""

from __future__ import annotations

import csv
import importlib
import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import _core
from ._plots import draw
from .errors import UsageError


class Figure:
    """A picture with its numbers. A notebook shows it as SVG.

    >>> figure = glint.gates.figure()
    >>> sorted(figure.data)[:2]
    ['series', 'x']
    >>> figure.svg.startswith("<svg")
    True
    """

    def __init__(self, name: str, svg: str, numbers: str, about: Mapping[str, Any] | None = None) -> None:
        self.name, self.svg, self.csv, self.about = name, svg, numbers, dict(about or {})

    @property
    def data(self) -> dict[str, list[Any]]:
        """The numbers of the figure, by column."""
        rows = list(csv.reader(io.StringIO(self.csv)))
        if not rows:
            return {}
        head = rows[0]
        columns: dict[str, list[Any]] = {name: [] for name in head}
        for row in rows[1:]:
            for name, text in zip(head, row):
                columns[name].append(number(text))
        return columns

    def save(self, path: str | os.PathLike[str], scale: float = 1.5) -> Path:
        """Writes a .svg, .png or .csv file, by the ending of its name.

        >>> glint.gates.figure().save(tmp / "gates.svg").name
        'gates.svg'
        """
        target = Path(path)
        kind = target.suffix.lower()
        if kind == ".svg":
            target.write_text(self.svg, encoding="utf-8")
        elif kind == ".csv":
            target.write_text(self.csv, encoding="utf-8")
        elif kind == ".png":
            target.write_bytes(self.png(scale))
        else:
            raise UsageError(f"cannot write '{target.name}'", "path=", "a name that ends in .svg, .png or .csv")
        return target

    def png(self, scale: float = 1.5) -> bytes:
        """The figure as the bytes of a PNG file."""
        return bytes(_core.svg_to_png(self.svg, scale))

    def plot(self, ax: Any = None) -> Any:
        """Draws the figure on axes of matplotlib, new ones when there are none; gives the axes.

        Lines, bars and images are artists of their own, which can be changed; what has no such numbers is a picture.

        >>> ax = glint.gates.figure().plot()  # doctest: +SKIP
        """
        try:
            pyplot = importlib.import_module("matplotlib.pyplot")
        except ImportError as e:
            raise UsageError("matplotlib is not installed", "plot()", "matplotlib", "pip install matplotlib") from e
        if ax is None:
            ax = pyplot.subplots(figsize=(6, 4))[1]
        draw(self, ax, pyplot)
        return ax

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<glint figure '{self.name}', {len(self.svg) // 1024 + 1} kB of SVG>"


def number(text: str) -> Any:
    """A number where the text is one, otherwise the text."""
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() and "." not in text and "e" not in text.lower() else value
