"""What results have in common: figures, a table, and how a notebook shows them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from ._frames import Table
from .errors import UsageError
from .figures import Figure


class Drawn:
    """A result with figures: `.figure()` is the first, `.figures` has all by name."""

    figures: dict[str, Figure] = {}

    def _draw(self, figures: Iterable[Figure | None]) -> None:
        self.figures = {f.name: f for f in figures if f is not None}

    def figure(self) -> Figure:
        """The figure, or the first of several.

        >>> run.read("3", progress=False).figure()
        <glint figure ...
        """
        for figure in self.figures.values():
            return figure
        raise UsageError("there is nothing to draw", "figure()", "a result with a figure")

    @property
    def data(self) -> dict[str, list[Any]]:
        """The numbers of the figure, by column."""
        return self.figure().data

    def plot(self, ax: Any = None) -> Any:
        """The figure on axes of matplotlib.

        >>> ax = run.read("3", progress=False).plot()  # doctest: +SKIP
        """
        return self.figure().plot(ax)

    def save(self, path: str | os.PathLike[str]) -> Any:
        """Writes the figure: .svg, .png or .csv.

        >>> run.read("3", progress=False).save(tmp / "three.svg").name
        'three.svg'
        """
        return self.figure().save(path)

    def _svg(self) -> str:
        return self.figure().svg if self.figures else ""


class Shown(Drawn):
    """A result with a table, which a notebook shows above its figure."""

    def table(self) -> Table:
        """The result as a table."""
        raise NotImplementedError

    def frame(self) -> Any:
        """The table as a pandas DataFrame."""
        return self.table().frame()

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return f"<div>{self.table()._repr_html_()}{self._svg()}</div>"


Item = TypeVar("Item")


class Several(Shown, Sequence[Item]):
    """A result of several parts."""

    _items: Sequence[Item]

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)
