"""Figures drawn with artists of matplotlib, from the numbers and the description that they carry."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np

FOR, AGAINST = "#b2182b", "#2166ac"  # as in glint's own figures


def draw(figure: Any, ax: Any, pyplot: Any) -> None:
    """Lines, bars or pictures where the description says that the numbers are those; otherwise the figure as a picture."""
    data, about = figure.data, figure.about
    artists = _KINDS.get(about.get("kind", "plain"))
    if artists is None or not any(data.values()):
        ax.imshow(pyplot.imread(io.BytesIO(figure.png(2.0))))
        ax.set_axis_off()
        return
    artists(data, ax, about)
    ax.set_title(about["title"], fontsize="medium")
    ax.set_xlabel(about["x"]["label"])
    ax.set_ylabel(about["y"]["label"])


def _column(values: list[Any]) -> Any:
    return np.array([v if isinstance(v, (int, float)) else math.nan for v in values], dtype=float)


def _lines(data: dict[str, list[Any]], ax: Any, about: dict[str, Any]) -> None:
    names = [str(s) for s in data["series"]]
    x, y = _column(data["x"]), _column(data["y"])
    band = (_column(data["lower"]), _column(data["upper"])) if {"lower", "upper"} <= set(data) else None
    for name in dict.fromkeys(names):
        here = np.array([n == name for n in names])
        joined = here.sum() > 1 and name not in about["scattered"]
        (line,) = ax.plot(x[here], y[here], "-" if joined else "o", label=name, linewidth=1.5)
        if band is not None and np.isfinite(band[0][here]).any():
            ax.fill_between(x[here], band[0][here], band[1][here], color=line.get_color(), alpha=0.2, linewidth=0)
    if len(dict.fromkeys(names)) > 1:
        ax.legend(fontsize="small")
    for axis, scaled in (("x", ax.set_xscale), ("y", ax.set_yscale)):
        if about[axis]["log"]:
            scaled("log")


def _bars(data: dict[str, list[Any]], ax: Any, about: dict[str, Any]) -> None:
    values = _column(data["eigenvalue"])
    ax.bar(data["rank"], values, width=0.9, color=[FOR if v > 0 else AGAINST for v in values])
    ax.axhline(0, color="#666666", linewidth=0.8)


def _pictures(data: dict[str, list[Any]], ax: Any, about: dict[str, Any]) -> None:
    pixels = np.stack([_column(data[name]) for name in data if name.startswith("pixel_")], axis=1)
    units = list(dict.fromkeys(data["unit"]))
    kinds = list(dict.fromkeys(zip(data["sign"], data["rank"])))
    ax.set_axis_off()
    for i, (unit, sign, rank) in enumerate(zip(data["unit"], data["sign"], data["rank"])):
        row, column = units.index(unit), kinds.index((sign, rank))
        box = [column / len(kinds), 1 - (row + 1) / len(units), 0.94 / len(kinds), 0.82 / len(units)]
        part = ax.inset_axes(box)
        largest = float(np.abs(pixels[i]).max()) or 1.0
        part.imshow(pixels[i].reshape(about["size"]), cmap="RdBu_r", vmin=-largest, vmax=largest)
        part.set_xticks([])
        part.set_yticks([])
        value = data["eigenvalue"][i]
        part.set_title(f"{unit}: {value:+.3g}" if isinstance(value, (int, float)) else f"{unit}: {sign}", fontsize="xx-small", pad=2)


def _terms(data: dict[str, list[Any]], ax: Any, about: dict[str, Any]) -> None:
    names, widths, colors = [], [], []
    for name, side, rank, share in zip(data["class"], data["side"], data["rank"], data["contribution"]):
        if side in ("for", "against") or side in ("linear part", "rest"):
            if isinstance(share, (int, float)):
                names.append(f"{name}: {side} {rank}".strip())
                widths.append(float(share))
                colors.append(FOR if share > 0 else AGAINST)
    places = np.arange(len(names))[::-1]
    ax.barh(places, widths, color=colors)
    ax.set_yticks(places, names, fontsize="x-small")
    ax.axvline(0, color="#666666", linewidth=0.8)


_KINDS = {"lines": _lines, "bars": _bars, "pictures": _pictures, "terms": _terms}
