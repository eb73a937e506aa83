"""Figures drawn with artists of matplotlib, from the numbers that they carry."""

from __future__ import annotations

import io
import math
import re
from typing import Any

import numpy as np

FOR, AGAINST = "#b2182b", "#2166ac"  # as in glint's own figures


def draw(figure: Any, ax: Any, pyplot: Any) -> None:
    """Lines, bars or images where the numbers of the figure are those; otherwise its picture."""
    data = figure.data
    for columns, artists in _KINDS:
        if columns <= set(data) and len(next(iter(data.values()))):
            artists(figure, data, ax)
            return
    ax.imshow(pyplot.imread(io.BytesIO(figure.png(2.0))))
    ax.set_axis_off()


def _words(figure: Any, ax: Any) -> None:
    """Title and words of the axes, which stand in the SVG."""
    title = re.search(r"<title>([^<]*)</title>", figure.svg)
    if title:
        ax.set_title(_plain(title[1]), fontsize="medium")
    for turned, name in re.findall(r'font-size="14" text-anchor="middle"( transform="rotate\([^"]*")?>([^<]+)</text>', figure.svg):
        (ax.set_ylabel if turned else ax.set_xlabel)(_plain(name))


def _plain(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&")


def _column(values: list[Any]) -> Any:
    return np.array([v if isinstance(v, (int, float)) else math.nan for v in values], dtype=float)


def _lines(figure: Any, data: dict[str, list[Any]], ax: Any) -> None:
    names = [str(s) for s in data["series"]]
    x, y = _column(data["x"]), _column(data["y"])
    band = (_column(data["lower"]), _column(data["upper"])) if {"lower", "upper"} <= set(data) else None
    for name in dict.fromkeys(names):
        here = np.array([n == name for n in names])
        alone = here.sum() == 1
        (line,) = ax.plot(x[here], y[here], label=name, marker="o" if alone else None, linewidth=1.5)
        if band is not None and np.isfinite(band[0][here]).any():
            ax.fill_between(x[here], band[0][here], band[1][here], color=line.get_color(), alpha=0.2, linewidth=0)
    if len(dict.fromkeys(names)) > 1:
        ax.legend(fontsize="small")
    _words(figure, ax)


def _bars(figure: Any, data: dict[str, list[Any]], ax: Any) -> None:
    values = _column(data["eigenvalue"])
    ax.bar(data["rank"], values, width=0.9, color=[FOR if v > 0 else AGAINST for v in values])
    ax.axhline(0, color="#666666", linewidth=0.8)
    _words(figure, ax)
    ax.set_xlabel("rank")
    ax.set_ylabel("eigenvalue")


def _images(figure: Any, data: dict[str, list[Any]], ax: Any) -> None:
    pixels = np.stack([_column(data[name]) for name in data if name.startswith("pixel_")], axis=1)
    height, width = _shape(figure.svg, pixels.shape[1])
    units = list(dict.fromkeys(data["unit"]))
    kinds = list(dict.fromkeys(zip(data["sign"], data["rank"])))
    ax.set_axis_off()
    for i, (unit, sign, rank) in enumerate(zip(data["unit"], data["sign"], data["rank"])):
        row, column = units.index(unit), kinds.index((sign, rank))
        box = [column / len(kinds), 1 - (row + 1) / len(units), 0.94 / len(kinds), 0.82 / len(units)]
        part = ax.inset_axes(box)
        largest = float(np.abs(pixels[i]).max()) or 1.0
        part.imshow(pixels[i].reshape(height, width), cmap="RdBu_r", vmin=-largest, vmax=largest)
        part.set_xticks([])
        part.set_yticks([])
        value = data["eigenvalue"][i]
        part.set_title(f"{unit}: {value:+.3g}" if isinstance(value, (int, float)) else f"{unit}: {sign}", fontsize="xx-small", pad=2)


def _shape(svg: str, count: int) -> tuple[int, int]:
    """Height and width of pictures of so many pixels: their frames in the figure have the same shape."""
    frame = re.search(r'<image [^>]*?width="([0-9.]+)" height="([0-9.]+)"', svg)
    ratio = float(frame[2]) / float(frame[1]) if frame else 1.0
    height = min((h for h in range(1, count + 1) if count % h == 0), key=lambda h: abs(h * h / count - ratio))
    return height, count // height


def _terms(figure: Any, data: dict[str, list[Any]], ax: Any) -> None:
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
    ax.set_xlabel("contribution to the logit")


_KINDS = (
    ({"series", "x", "y"}, _lines),
    ({"rank", "eigenvalue", "group"}, _bars),
    ({"unit", "sign", "rank", "pixel_0"}, _images),
    ({"class", "side", "contribution"}, _terms),
)
