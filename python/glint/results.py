"""What calls on runs give back: explanations, evaluations, effects, pages. All display themselves."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import Array
from ._frames import Table, cell, place_text
from ._requests import python_name
from ._shown import Several, Shown
from .errors import UsageError
from .figures import Figure, number

if TYPE_CHECKING:
    from .run import Run


class Result(Shown, Mapping[str, Any]):
    """The JSON of the program as a mapping, with a table to look at and perhaps figures."""

    title = ""
    _keep: object = None  # a temporary folder, which no pickle takes along

    def __init__(self, values: str | dict[str, Any], figures: Sequence[Any] = (), title: str = "") -> None:
        self.json: dict[str, Any] = json.loads(values) if isinstance(values, str) else values
        self._title = title or self.title
        self._draw(Figure(*figure) for figure in figures if figure is not None)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_keep"}

    def __getitem__(self, key: str) -> Any:
        return self.json[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.json)

    def __len__(self) -> int:
        return len(self.json)

    def table(self) -> Table:
        """The plain numbers."""
        rows = [
            {"": k.replace("_", " "), "value": v}
            for k, v in self.json.items()
            if isinstance(v, (int, float, str)) and k not in ("schema", "run", "linalg")
        ]
        return Table(rows, self._title)


class Explanation(Result):
    """One input explained: `.accounts` per class, `.terms` per eigenvector, `.pictures`, and how far to trust it."""

    def __init__(self, values: str, verdict: str, trust: str, classes: list[dict[str, Any]], figure: Any, pixels: Array) -> None:
        super().__init__(values, [figure], verdict)
        self.verdict, self.trust, self.classes, self.pixels = verdict, trust, classes, pixels

    @property
    def accounts(self) -> Table:
        """What adds up to the logit of each class."""
        keys = ("name", "logit", "positive", "negative", "linear", "beside", "rest")
        return Table([{k: c[k] for k in keys} for c in self.classes], self.verdict)

    @property
    def terms(self) -> Table:
        """The strongest eigenvectors for and against each class."""
        return Table([{"class": c["name"], **t} for c in self.classes for t in c["terms"]], self.trust)

    @property
    def pictures(self) -> dict[str, Array]:
        """By class: the eigenvectors of `terms` as pictures."""
        return {c["name"]: c["pictures"] for c in self.classes}

    def table(self) -> Table:
        return self.accounts

    def __repr__(self) -> str:
        return f"{self.verdict}\n{self.accounts!r}\n{self.trust}"

    def _repr_html_(self) -> str:
        body = self._svg() or self.accounts._repr_html_()
        return f"<div><p>The model {html.escape(self.verdict)}.</p>{body}<p>{html.escape(self.trust)}</p></div>"


class TokenExplanation(Result):
    """Why a language model expects a token: `.parts` of the logit, `.terms` per eigenvector, `.figure()`, `.trust`."""

    def __init__(self, values: str, verdict: str, check: str, path: str, trust: list[str], figure: Any) -> None:
        super().__init__(values, [figure], verdict)
        self.verdict, self.check, self.path, self.trust = verdict, check, path, trust

    @property
    def logit(self) -> float:
        """The logit, or the difference of two."""
        return float(self["parts"]["logit"])

    @property
    def parts(self) -> Table:
        """What adds up to the logit: the embedding, and the attention and the GLU of every layer."""
        p = self["parts"]
        rows = [{"part": "embedding", "adds": p["embedding"]}]
        for i, (attention, glu) in enumerate(zip(p["attention"], p["glu"])):
            rows += [{"part": f"layer {i + 1} attention", "adds": attention}, {"part": f"layer {i + 1} GLU", "adds": glu}]
        if p["constant"]:
            rows.append({"part": "biases", "adds": p["constant"]})
        return Table(rows, self.check)

    @property
    def expected(self) -> Table:
        """The tokens that the model expects most."""
        return Table([{**t, "token": t["token"].replace("\u2581", "·")} for t in self["expected"]], self.verdict)

    @property
    def terms(self) -> Table:
        """Of each layer that was taken apart: its strongest eigenvectors with their words, the linear part and the rest."""
        rows: list[dict[str, Any]] = []
        for layer in self["layers"]:
            others = layer["eigenvectors"]
            for t in layer["terms"]:
                side = t["against"] if t["projection"] < 0 else t["along"]
                words = " ".join(w["token"].replace("\u2581", "·") for w in side)
                rows.append(
                    {"layer": layer["layer"], "what": "eigenvector", "adds": t["contribution"], "eigenvalue": t["eigenvalue"], "v.x": t["projection"], "words": words}
                )
                others -= t["contribution"]
            rows.append({"layer": layer["layer"], "what": "other eigenvectors", "adds": others})
            for name in ("linear", "constant"):
                if layer[name]:
                    rows.append({"layer": layer["layer"], "what": "linear part" if name == "linear" else "bias", "adds": layer[name]})
            rows.append({"layer": layer["layer"], "what": "rest", "adds": layer["rest"]})
        return Table(rows, " ".join(self.trust))

    def table(self) -> Table:
        return self.parts

    def __repr__(self) -> str:
        return "\n".join([f"the model {self.verdict}", repr(self.parts), repr(self.terms)])

    def _repr_html_(self) -> str:
        return f"<div><p>The model {html.escape(self.verdict)}.</p>{self._svg()}</div>"


class Response:
    """What one eigenvector or hidden unit responds to: `.passages`, each with `text`, `tokens` and `value`."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.name: str = values["name"]
        self.value: float | None = values.get("value")
        self.mean: float = values["mean"]
        self.passages: list[dict[str, Any]] = values["passages"]
        self.along: list[dict[str, Any]] = values.get("along", [])
        self.against: list[dict[str, Any]] = values.get("against", [])

    def __repr__(self) -> str:
        return f"<glint Response '{self.name}', {len(self.passages)} passages>"


class Passages(Several[Response]):
    """Passages of a text, one `Response` per eigenvector: `found[0].passages[0]["text"]`. A notebook shows the words coloured."""

    def __init__(self, values: str, page: str) -> None:
        self.json: dict[str, Any] = json.loads(values)
        self._items = self.responses = [Response(r) for r in self.json["responses"]]
        self._page = page

    def table(self) -> Table:
        """A row per passage."""
        rows = []
        for r in self.responses:
            for p in r.passages:
                times = abs(p["value"]) / r.mean if r.mean else 0.0
                strongest = p["tokens"][p["strongest"]]["text"]
                rows.append(
                    {"what": r.name, "value": p["value"], "times the mean": times, "story": p["story"], "strongest": strongest, "text": p["text"]}
                )
        text = self.json["text"]
        return Table(rows, f"{place_text(self.json)}: passages of {text['tokens']} tokens of {text['name']}")

    def _repr_html_(self) -> str:
        return self._page


class Evaluation(Result):
    """Loss and accuracy; of image models also `.logits` and `.confusion`."""

    title = "evaluation"

    def __init__(self, values: str, logits: Array | None = None, confusion: Array | None = None) -> None:
        super().__init__(values)
        self.logits, self.confusion = logits, confusion


class Ablation(Result):
    """The model without some eigenvectors: did it change as the reading says?

    `r` and `slope` compare the true change of the output with the one that the form predicts: 1 is what it says.
    """

    def table(self) -> Table:
        """Before and after, over all inputs and per class, with the fit of the predicted change."""
        every = self["all"]
        rows = [{"what": "all", **_before_after(self["before"], every)}]
        rows += [{"what": c["name"], **_before_after(c["before"], c)} for c in every.get("classes", [])]
        removed = ", ".join(f"{r['direction']} #{r['rank']}" for r in every["removed"])
        return Table(rows, f"{place_text(self)}; removed: {removed}; {self['form']} form; r and slope: true change of the output over the predicted one")


def _before_after(before: dict[str, Any], effect: dict[str, Any]) -> dict[str, Any]:
    keys = [k for k in ("loss", "accuracy") if before.get(k) is not None]
    cells = {f"{k} {when}": row[k] for k in keys for when, row in (("before", before), ("after", effect["after"]))}
    return cells | {"r": effect["r"], "slope": effect["slope"]}


class Attack(Result):
    """Masks from eigenvectors: `.masks` [classes, away or towards, eigen or shuffled or random, height, width]."""

    def __init__(self, values: str, masks: Array, figures: Sequence[Any]) -> None:
        super().__init__(values, figures)
        self.masks = masks

    def table(self) -> Table:
        """A row per strength: how often the model is led away from a class, and towards it, with the controls."""
        rows = []
        for i, strength in enumerate(self["strengths"]):
            row: dict[str, Any] = {"strength": strength}
            for goal, kinds in self["all"].items():
                for kind, points in kinds.items():
                    row[f"{goal} {kind}"] = points[i]["success"]
            rows.append(row)
        return Table(rows, f"share of images that a mask leads away from or towards the class, {self['form']} form")


class Comparison(Result):
    """How alike the eigenvectors of two models are; `.matrices` has |cos| per class."""

    def __init__(self, values: str, matrices: list[Array], names: list[str], figures: Sequence[Any]) -> None:
        super().__init__(values, figures)
        self.matrices = dict(zip(names, matrices))

    def table(self) -> Table:
        """A row per class or token: |cos| of the best matches beside the control, and how far to trust the forms."""
        one, several = ("class", "classes") if "classes" in self else ("token", "tokens")
        rows = []
        for unit in self[several]:
            row = {one: unit["name"]}
            for beside, curves in (("", unit["by_rank"]), ("control: ", unit["control"])):
                best = [rank["mean"] for rank in curves["both"]["best_matched"]]
                row |= {f"{beside}first": best[0], f"{beside}mean": sum(best) / len(best)} if best else {}
            rows.append(row)
        trust = ", ".join(f"{place_text(m)} {m['form']} form R² {cell(m['r2'])}".strip() for pair in self["pairs"] for m in (pair["a"], pair["b"]))
        return Table(rows, f"|cos| of the best matches, 1 is the same direction; {trust}; control: {self['control']['text']}")


class Stories(Result):
    """Stories that a language model wrote: `.texts`."""

    @property
    def texts(self) -> list[str]:
        """The stories, each with its prompt."""
        return [s["text"] for s in self["stories"]]

    def __str__(self) -> str:
        return "\n\n".join(self.texts)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return "".join(f"<p style='max-width:40em'>{html.escape(t)}</p>" for t in self.texts)


class Model(Result):
    """What a model is, and what glint can do with it."""

    def table(self) -> Table:
        """What it is, a row each."""
        plain = {k: v for k, v in self.json.items() if isinstance(v, (int, float, str)) and k not in ("schema", "path", "family")}
        rows = [{"": k.replace("_", " "), "value": v} for k, v in {**plain, **self["model"]}.items() if isinstance(v, (int, float, str))]
        can = ", ".join(v["verb"] for v in self["verbs"] if v["can"])
        return Table([*rows, {"": "what glint can do", "value": can}], f"{self['family']} in {self['path']}")


class Layers(Result):
    """The same direction at every layer: `.table()` has R² per form, `["layers"]` every reading."""

    title = "how far each layer can be read"

    def table(self) -> Table:
        """A row per layer: R² of each form and of the controls, a linear map of the layer's input and the untrained model."""
        rows = []
        for layer in self["layers"]:
            row: dict[str, Any] = {"layer": layer["layer"]}
            row |= {name: form["r2"] for name, form in layer["fidelity"].items() if "r2" in form}
            linear = layer["controls"].get("linear")
            row |= {"linear map": linear["r2"]} if linear else {}
            untrained = layer["controls"].get("untrained", {}).get(layer["form"])
            rows.append(row | ({f"untrained, {layer['form']}": untrained["r2"]} if untrained else {}))
        return Table(rows, self._title)


class Neurons(Result):
    """Classes of the hidden units of a language model. `.cosines(layer)` has the numbers behind them."""

    title = "classes of hidden units"

    def table(self) -> Table:
        """A row per layer: how many hidden units are of each class, and the median of cos(up, down)."""
        rows = [{"layer": l["layer"], **l["counts"], "median cos(up, down)": l["median_cos_up_down"]} for l in self["of_layers"]]
        return Table(rows, self._title)

    def cosines(self, layer: int) -> dict[str, Array]:
        """Of a layer, from 1 on: cos(gate, up), cos(gate, down) and cos(up, down) of every hidden unit."""
        for one in self["of_layers"]:
            if one["layer"] == layer:
                return {name: np.array(one["cos_" + name]) for name in ("gate_up", "gate_down", "up_down")}
        raise UsageError(f"no neurons of layer {layer!r}", "layer=", "one of " + ", ".join(str(one["layer"]) for one in self["of_layers"]))


class Page(Result):
    """The explorer: one HTML file, whole in `.html`. A notebook shows it in a frame."""

    title = "explorer"

    def __init__(self, values: str | dict[str, Any], path: str) -> None:
        super().__init__(values)
        self.html = Path(path).read_text(encoding="utf-8")

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the page."""
        target = Path(path)
        target.write_text(self.html, encoding="utf-8")
        return target

    def _repr_html_(self) -> str:
        # srcdoc, because notebooks in editors and clouds cannot load a file by its address.
        return (
            "<iframe style='width:100%;height:720px;border:1px solid #ccc' "
            f"srcdoc=\"{html.escape(self.html, quote=True)}\"></iframe>"
        )


class Sweep(Result):
    """Settings with what each costs and how readable it is. `.answer` says which to choose."""

    def __init__(self, values: str, keep: object = None) -> None:
        super().__init__(values)
        stem = Path(self["out"], "figures", "pareto")
        svg, numbers = (stem.with_suffix(end).read_text(encoding="utf-8") for end in (".svg", ".csv"))
        self._draw([Figure(stem.name, svg, numbers)])
        self.answer: str = self["choice"]["answer"]
        self._keep = keep

    def table(self) -> Table:
        """A row per setting: what was swept, then mean and standard deviation of every measure over the seeds."""
        rows = []
        for setting in self["settings"]:
            row: dict[str, Any] = {python_name(k): number(v) for k, v in setting["options"].items()}
            for key, mean in setting["mean"].items():
                row[key] = mean
                if key in setting["sd"]:
                    row[key + "_sd"] = setting["sd"][key]
            rows.append(row)
        return Table(rows, self.answer)

    @property
    def runs(self) -> Table:
        """A row per run: setting, seed, directory and what was measured."""
        rows = []
        for setting in self["settings"]:
            options = {python_name(k): number(v) for k, v in setting["options"].items()}
            for run in setting["runs"]:
                rows.append(options | {"seed": run["seed"], "state": run["state"], "run": run["run"]} | run["values"])
        return Table(rows, "runs of the sweep")

    def page(self) -> Page:
        """The page of the sweep, in which every point opens its eigenvectors."""
        return Page({}, os.path.join(self["out"], "sweep.html"))


class Conversion(Result):
    """A model with another gate: `.run`, its losses, and how far its layers can be read, before and after."""

    def __init__(self, values: str, keep: object = None) -> None:
        super().__init__(values)
        self._keep = keep

    @property
    def run(self) -> Run:
        from .run import Run

        return Run(self["out"], None, self._keep)

    def table(self) -> Table:
        return Table(self["layers"], f"loss {self['loss_original']:.4f} of the original, {self['loss_converted']:.4f} converted")


class Reproduction(Result):
    """The report on the paper's claims: `.findings`, and its folder `["out"]`."""

    def __init__(self, values: str, keep: object = None) -> None:
        super().__init__(values)
        self._keep = keep

    @property
    def findings(self) -> Table:
        """A row per claim."""
        return Table(self["verdicts"], f"{self['decided']} claims decided")

    def table(self) -> Table:
        return self.findings
