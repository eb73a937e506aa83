"""Readings: quadratic forms of a layer along directions, with how far each can be trusted."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import Array, array_of, count_of
from ._frames import Table, cell, place_text
from ._shown import Drawn, Several
from .errors import UsageError
from .figures import Figure
from .results import Passages

if TYPE_CHECKING:
    from .run import Away, Run


class Form(Drawn):
    """One direction read: eigenvalues, eigenvectors and their fidelity.

    `values` [k] descending, `vectors` [k, width] in rows, `groups` (equal for near-equal values), `linear` and
    `constant` are what the form has beside them.
    """

    def __init__(
        self, unit: dict[str, Any], about: dict[str, Any], whole: dict[str, Any], figure: Figure, run: Run | None = None, asked: Any = None
    ) -> None:
        self.name: str = unit["name"]
        self.values: Array = unit["values"]
        self.vectors: Array = unit["vectors"]
        self.groups: Array = unit["groups"]
        self.linear: Array = unit["linear"]
        self.constant: float = unit["constant"]
        self.linear_picture: Array | None = unit.get("linear_picture")
        self._positive: Array | None = unit.get("positive")
        self._negative: Array | None = unit.get("negative")
        self.about = about
        self.json = whole
        self.form: str = whole["form"]
        self._draw([figure])
        self._run: Run | Away | None = run  # what read it
        self._asked = asked  # of what data
        # The sum of squares of all values, also of those that were not kept; None where not all are known.
        whole_known = "entropy_rank" in about or len(self.values) == self.vectors.shape[-1]
        self._squares: float | None = unit.get("squares", float(np.sum(self.values**2)) if whole_known else None)
        self._ends: Array = unit.get("ends", self.vectors[:0])
        self._call: Callable[[Any], Array] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_run": self._run and self._run._away()}

    @property
    def fidelity(self) -> dict[str, Any]:
        """How well the form stands for this output: r2 of the whole, of the eigenvectors alone, and shares.

        For a run also the fidelity of the form over all outputs, as `form`; for a layer of arrays on how many `inputs`.
        """
        own = {k: self.about[k] for k in _OWN if k in self.about}
        whole = self.json.get("fidelity", {})
        if isinstance(whole.get(self.form), dict):
            own["form"] = whole[self.form]
        elif "inputs" in whole:
            own["inputs"] = whole["inputs"]
        return own

    @property
    def controls(self) -> dict[str, Any]:
        """What the fidelity has to be compared with: a linear map of the input, an untrained model."""
        return dict(self.json.get("controls", {}))

    @property
    def trust(self) -> str:
        """How far to trust the eigenvectors, in one sentence."""
        return str(self.json.get("trust", ""))

    @property
    def rank(self) -> dict[str, float] | None:
        """How many eigenvectors matter; None where not all eigenvalues are known."""
        if "entropy_rank" not in self.about:
            return None
        return {"entropy": self.about["entropy_rank"], "participation": self.about["participation_rank"]}

    def energy(self) -> Array:
        """Share of the sum of squares in the k values of the largest magnitude, from k = 1 on.

        Of all values, also where `k=` kept the strongest alone.

        >>> bool(run.read("3", progress=False).energy()[-1] > 0.999)  # of all eigenvectors: 1
        True
        """
        squares = np.sort(self.values**2)[::-1]
        if self._squares is None:
            raise UsageError("the sum of squares of all eigenvalues is not known", "energy()", "a form that was read without k=")
        return np.cumsum(squares) / self._squares if self._squares > 0 else np.ones_like(squares)

    @property
    def pictures(self) -> Array:
        """The strongest eigenvectors as pictures [n, height, width]: those above 0, then those below."""
        if self._positive is None or self._negative is None:
            raise UsageError("a layer from arrays has no pictures", "pictures", "a form of a run of an image model")
        return np.concatenate([self._positive, self._negative])

    def top(self, k: int) -> tuple[Array, Array]:
        """The k eigenvalues of the largest magnitude and their vectors.

        >>> values, vectors = run.read("3", progress=False).top(4)
        >>> values.shape, vectors.shape
        ((4,), (4, 32))
        """
        order = np.argsort(-np.abs(self.values), kind="stable")[: count_of(k, "k")]
        return self.values[order], self.vectors[order]

    def near(self, n: int = 8) -> Table:
        """Language models: the tokens along and against the strongest eigenvectors.

        >>> tales.read("happy", progress=False).near(3).columns.keys()
        dict_keys(['value', 'along', 'against'])
        """
        shown = self.about.get("vectors")
        if shown is None:
            raise UsageError("only language models have tokens", "near()", "a form of a language model")
        most = max((len(v["along"]) for v in shown), default=0)
        if count_of(n, "n") > most and self._run is not None:
            self._run = self._run._opened()
            shown = [dict(v, **sides) for v, sides in zip(shown, self._run._near(self._ends, n))] or shown
        return self._tokens(shown, n)

    def _tokens(self, shown: list[dict[str, Any]], n: int) -> Table:
        rows = []
        for vector in shown:
            row = {"value": vector["value"]}
            for side in ("along", "against"):
                row[side] = " ".join(t["token"].replace("\u2581", "·") for t in vector[side][:n])
            rows.append(row)
        return Table(rows, f"{self.name}: tokens near the strongest eigenvectors, {self.form} form")

    def passages(self, text: Any = None, n: int = 3, *, vectors: int | Iterable[int] | None = None, tokens: int | None = None) -> Passages:
        """Language models: the passages in which the eigenvectors are strongest, word by word.

        `text` is a text, a list of texts, or a path (`pathlib.Path`) of a file with stories; without it the data of the run
        are searched. `n` passages are kept for each eigenvector: those numbered `vectors` among `values`, from 1 on and from -1,
        the last, back; by default the four largest and the four smallest. `tokens` is how many tokens of the text are looked at, 0 for all.

        >>> tales = glint.train("tales", epochs=1, layers=1, d_model=16, heads=2, context=32, out=tmp / "tales", progress=False)
        >>> form = tales.read("happy")
        >>> found = form.passages("once upon a time a happy cat met a sad dog .", n=1, vectors=[1])
        >>> len(found), len(found[0].passages)
        (1, 1)
        """
        if self._run is None or self._run.kind != "language":
            raise UsageError("only language models read text", "passages()", "a form of a run of a language model")
        if vectors is None:
            above, below = np.flatnonzero(self.values > 0)[:4], np.flatnonzero(self.values < 0)[::-1][:4]
            chosen = np.concatenate([above, below])
        else:
            several = vectors if np.ndim(vectors) else [vectors]  # type: ignore[arg-type]
            asked = array_of(list(several), "vectors", "whole numbers")
            if asked.ndim != 1 or asked.dtype.kind not in "iu" or np.any((asked == 0) | (abs(asked) > len(self.values))):
                raise UsageError("there is no such eigenvector", "vectors=", f"numbers from 1 to {len(self.values)}, or from -1 back")
            chosen = np.where(asked > 0, asked - 1, asked + len(self.values))
        found = {"values": self.values[chosen].tolist(), "numbers": (chosen + 1).tolist(), "layer": self.json["layer"]}
        self._run = self._run._opened()
        return self._run._passages(self._asked, found, self.vectors[chosen], text, n, tokens)

    @property
    def pairs(self) -> Table:
        """Of a reading with `inputs`: the pairs of input latents that make the direction, the strongest first."""
        return Table(self.about.get("pairs", []), f"{self.name}: pairs of input latents, {self.form} form")

    def __call__(self, X: Any) -> Array:
        """The value of the form for inputs [n, d] of a layer from arrays."""
        if self._call is None:
            raise UsageError("a form of a run is not called", "X=", "a form of glint.GLU; run.logits(X) is the model")
        return self._call(X)

    def _trust(self) -> str:
        parts = [f"{_WORDS[k]} {cell(self.about[k])}" for k in _WORDS if k in self.about]
        place = place_text(self.json)
        return (place and place + ", ") + f"{self.form} form" + (": " + ", ".join(parts) if parts else ", from the weights alone")

    def __repr__(self) -> str:
        return f"<glint Form '{self.name}', {len(self.values)} eigenvalues, {self._trust()}>"

    def _repr_html_(self) -> str:
        near = self._tokens(self.about["vectors"], 8)._repr_html_() if "vectors" in self.about else ""
        return f"<div><p><b>{html.escape(self.name)}</b>, {html.escape(self._trust())}</p>{self._svg()}{near}</div>"


_OWN = ("r2", "r2_interval", "eigenvectors_r2", "eigenvectors_r2_interval", "linear_share", "quadratic_share", "even_share")
_WORDS = {"r2": "R²", "eigenvectors_r2": "of the eigenvectors alone", "linear_share": "linear share"}


class Forms(Several[Form]):
    """Several directions read at once. `forms["3"]` is one of them."""

    def __init__(self, forms: list[Form], whole: dict[str, Any], figures: list[Figure]) -> None:
        self._items, self.json = forms, whole
        self._draw(figures)
        self.form: str = whole["form"]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str):
            for form in self._items:
                if form.name == index or form.name.split(" ")[0] == index:
                    return form
            raise KeyError(index)
        return super().__getitem__(index)

    @property
    def fidelity(self) -> Table:
        """Every form of the model, how well it stands for it, and the controls."""
        rows = []
        for name, f in self.json.get("fidelity", {}).items():
            if isinstance(f, dict) and "r2" in f:
                rows.append({"form": name, **{k: v for k, v in f.items() if not isinstance(v, (list, dict))}})
        linear = self.controls.get("linear")
        if linear:
            rows.append({"form": "control: linear map", **{k: v for k, v in linear.items() if not isinstance(v, (list, dict))}})
        return Table(rows, "how far to trust the forms")

    @property
    def controls(self) -> dict[str, Any]:
        """What the fidelity has to be compared with."""
        return dict(self.json.get("controls", {}))

    def table(self) -> Table:
        """A row per direction.

        >>> run.read(progress=False).table().columns["name"][:3]
        ['0', '1', '2']
        """
        keys = ("r2", "eigenvectors_r2", "linear_share", "entropy_rank", "participation_rank")
        rows = []
        for form in self._items:
            row: dict[str, Any] = {"name": form.name}
            if len(form.values):
                row |= {"largest": float(form.values[0]), "smallest": float(form.values[-1])}
            rows.append(row | {k: form.about[k] for k in keys if k in form.about})
        return Table(rows, ", ".join(filter(None, (place_text(self.json), f"{self.form} form"))))

    def figure(self) -> Figure:
        """All eigenvectors as pictures where the model has them, otherwise the spectrum of the first.

        >>> run.read(progress=False).figure()
        <glint figure ...
        """
        for name, figure in self.figures.items():
            if name.startswith("features"):
                return figure
        return super().figure()

    def _repr_html_(self) -> str:
        fidelity = self.fidelity
        return f"<div>{fidelity._repr_html_() if len(fidelity) else ''}{self._svg()}</div>"


