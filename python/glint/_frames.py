"""Tables: rows of dicts as columns, as HTML and as pandas frames."""

from __future__ import annotations

import html
import importlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .errors import UsageError


def pandas() -> Any:
    """pandas, or an error that says how to get it."""
    try:
        return importlib.import_module("pandas")
    except ImportError as e:
        raise UsageError("pandas is not installed", "frame()", "pandas", "pip install pandas, or `.columns`") from e


def cell(value: Any) -> str:
    """A value as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if math.isnan(value):
            return ""
        return f"{value:.4g}"
    if value is None:
        return ""
    return str(value)


def place_text(about: Mapping[str, Any]) -> str:
    """Which layer a result is of, as people count: "layer 3 of 6, expert 5"; "" where it does not say."""
    if "layer" not in about:
        return ""
    count = f" of {about['layers']}" if "layers" in about else ""
    return f"layer {about['layer']}{count}" + (f", expert {about['expert']}" if "expert" in about else "")


class Table(Sequence[dict[str, Any]]):
    """Rows with the same keys. Displays itself in a notebook; `.frame()` is a pandas DataFrame.

    >>> t = glint.Table([{"gate": "sqs", "loss": 0.5}, {"gate": "relu", "loss": 0.25}])
    >>> t.columns["loss"]
    [0.5, 0.25]
    >>> len(t), t[0]["gate"]
    (2, 'sqs')
    """

    def __init__(self, rows: Iterable[dict[str, Any]], caption: str = "") -> None:
        self.rows = list(rows)
        self.caption = caption
        self.keys: list[str] = []
        for row in self.rows:
            for key in row:
                if key not in self.keys:
                    self.keys.append(key)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The table by column."""
        return {key: [row.get(key) for row in self.rows] for key in self.keys}

    def frame(self) -> Any:
        """The table as a pandas DataFrame."""
        return pandas().DataFrame(self.columns)

    def __repr__(self) -> str:
        cells = [self.keys] + [[cell(row.get(k)) for k in self.keys] for row in self.rows]
        widths = [max(len(line[i]) for line in cells) for i in range(len(self.keys))]
        lines = ["  ".join(text.ljust(w) for text, w in zip(line, widths)).rstrip() for line in cells]
        return "\n".join(([self.caption] if self.caption else []) + lines)

    def _repr_html_(self) -> str:
        return table_html(self.keys, [[row.get(k) for k in self.keys] for row in self.rows], self.caption)


def table_html(keys: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = "") -> str:
    """An HTML table."""
    out = ["<table>"]
    if caption:
        out.append(f"<caption style='text-align:left'>{html.escape(caption)}</caption>")
    out.append("<thead><tr>" + "".join(f"<th>{html.escape(k)}</th>" for k in keys) + "</tr></thead><tbody>")
    for row in rows:
        out.append("<tr>" + "".join(f"<td>{html.escape(cell(v))}</td>" for v in row) + "</tr>")
    return "".join(out) + "</tbody></table>"
