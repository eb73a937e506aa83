"""The JSON that results hold, against the golden of its schema: tests/golden/make_schemas.py has how these are made."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np

import pytest

import glint

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))
import make_schemas

HAPPY = {"near": 2, "show": 1, "tokens": 300, "progress": False}
TINY = "tiny/tiny.bin"


def load(path):
    return glint.load(path)


def passages():
    """Of the first axes of the layer's input: the same vectors everywhere."""
    found = {"values": [2.0, -0.5], "numbers": [1, 2], "layer": 1, "near": 2}
    return load("tales")._passages((None, {}), found, np.eye(2, 8), "once there was a cat . the cat ran", 1, None)


def layer():
    """Weights that are a function of their place, as tests/lab/schemas_test.cc has them."""
    left, right, projection, inputs = (
        np.sin(np.arange(h * w) + k).reshape(h, w).astype(np.float32) for k, (h, w) in enumerate(((4, 5), (4, 5), (3, 4), (32, 5)))
    )
    return glint.GLU(left, right, projection, gate="silu").read([1.0, 0.0, -1.0], inputs, names=["first - last"])


CALLS = {
    "model": lambda: glint.model("sqs"),
    "model-foreign": lambda: glint.model(TINY),
    "evaluate-images": lambda: load("sqs").evaluate(worst=2),
    "evaluate-text": lambda: load("tales").evaluate(),
    "evaluate-foreign": lambda: load(TINY).evaluate(text=Path("story.txt")),
    "generate": lambda: load("tales").generate("once", tokens=8, temperature=0, progress=False),
    "generate-foreign": lambda: load(TINY).generate("the", tokens=8, temperature=0, progress=False),
    "read": lambda: load("sqs").read("1,0-2", progress=False),
    "read-refined": lambda: load("sqs").read("1", refine=True, progress=False),
    "read-lower": lambda: load("deep").read("0", layer=1, via="2", progress=False),
    "read-language": lambda: load("tales").read("happy", **HAPPY),
    "read-latent": lambda: load("tales").read(
        layer=1, sae="latents.safetensors", latent=2, inputs="latents.safetensors", pairs=2, **HAPPY
    ),
    "read-from-layer": lambda: load("tales").read("happy", layer=1, from_layer=2, eigenvector="-1", **HAPPY),
    "read-foreign": lambda: load(TINY).read(layer=1, hidden=2, near=2, show=1, tokens=200, progress=False),
    "read-expert": lambda: load("mixtral").read(layer=2, expert=3, hidden=1, near=2, show=1, progress=False),
    "read-layers": lambda: load("tales").layers("happy", tokens=300, progress=False),
    "read-layers-image": lambda: load("deep").layers("1", progress=False),
    "explain": lambda: load("sqs").explain(3, progress=False),
    "explain-local": lambda: load("deep").explain(5, form="local", classes="0,1", progress=False),
    "explain-token": lambda: load("tales").explain(text="once", token="happy", against="friend", layer="all", show=1, near=2, progress=False),
    "explain-foreign": lambda: load(TINY).explain(text="the", show=1, near=2, progress=False),
    "ablate": lambda: load("sqs").ablate("1,2", vectors=[1, 2], progress=False),
    "ablate-language": lambda: load("tales").ablate("happy", top=1, layer=1, progress=False),
    "ablate-foreign": lambda: load(TINY).ablate("the", top=1, layer=1, progress=False),
    "attack": lambda: load("sqs").attack(images=20, strengths=[0, 1], show=2, progress=False),
    "compare": lambda: glint.compare("sqs", "identity", show=2, progress=False),
    "compare-control": lambda: glint.compare("sqs", "identity", control=["sqs", "deep"], form="auto", unit=1, show=2, progress=False),
    "compare-language": lambda: glint.compare("tales", TINY, token="the,t", show=2, progress=False),
    "neurons": lambda: load("tales").neurons(progress=False),
    "page": lambda: load("sqs").page(images=20, show=2, out="page.html", progress=False),
    "page-language": lambda: load("tales").page(out="page.html", progress=False),
    "page-readings": lambda: load("tales").page(layers="1", token="happy", out="page.html", progress=False),
    "export": lambda: load("sqs").export(npy="arrays", hf="folder"),
    "export-language": lambda: load("tales").export(npy="arrays-tales", hf="folder-tales"),
    "passages": passages,
    "layer": layer,
    "sweep": lambda: glint.sweep("digits.toml", gate=["sqs", "identity"], seeds=[0], out="sweep", progress=False),
    "reproduce": lambda: glint.reproduce("formulas", quick=True, out="reproduction", progress=False),
}


def plain(value):
    """Without the names of files, which Python leaves to those who ask for files."""
    if isinstance(value, list):
        return [plain(v) for v in value]
    files = ("spectra", "figure", "figures", "csv", "passages_page")
    return {k: plain(v) for k, v in value.items() if k not in files} if isinstance(value, dict) else value


def within(values, folder):
    """With paths from this folder on: Python knows runs by their whole path, the program as they were written."""
    return json.loads(json.dumps(values).replace(f"{folder}{os.sep}", ""))


@pytest.fixture(scope="module")
def models(tmp_path_factory, program):
    folder = tmp_path_factory.mktemp("schemas")
    make_schemas.make_folder(folder)
    make_schemas.make_corpus(program, folder)
    return folder


@pytest.mark.parametrize("name", CALLS)
def test_results_are_those_of_the_program(name, models, monkeypatch):
    monkeypatch.chdir(models)
    got = make_schemas.without_what_varies(within(CALLS[name]().json, models), name)
    if name in ("passages", "layer") and "GLINT_WRITE_SCHEMAS" in os.environ:
        make_schemas.write_golden(name, got)
    golden, got = plain(make_schemas.golden_of(name)), plain(got)
    assert list(make_schemas.differences(golden, got, name)) == []


def test_tables_have_the_numbers_of_the_program(models, monkeypatch):
    monkeypatch.chdir(models)
    for runs, name in ((("sqs", "deep"), "readability"), (("tales",), "readability-language")):
        golden = make_schemas.golden_of(name)["runs"]
        for run, row in zip(runs, golden):
            token = "happy,friend" if run == "tales" else ""
            got = make_schemas.without_what_varies(within(load(run).readability(token=token, progress=False).json, models), name)
            assert list(make_schemas.differences(row, got, name)) == []
    listed = {row["run"]: row for row in make_schemas.golden_of("runs")["runs"]}
    for row in glint.runs("sqs", "deep"):
        golden = listed[os.path.relpath(row["run"])]
        assert row["test_loss"] == pytest.approx(golden["test_loss"]) and row["state"] == golden["state"]
    tokens = load("tiny/tiny.bin").scan(layer=2, tokens=200, progress=False).rows
    golden = make_schemas.golden_of("scan")["tokens"]
    assert list(make_schemas.differences(golden, make_schemas.without_what_varies(tokens, "scan"), "scan")) == []


def test_a_difference_is_named():
    golden = {"schema": "s/1", "a": [1.0, 2e-9], "b": {"c": 0.5, "d": 3}, "e": "~"}
    same = {"schema": "s/1", "a": [1.000009, 1e-6], "b": {"c": 0.5000001, "d": 3}, "e": 7}
    assert list(make_schemas.differences(golden, same, "n")) == []
    wrong = {
        "n.b.c": {**same, "b": {"c": 0.50002, "d": 3}},
        "n.b.d": {**same, "b": {"c": 0.5, "d": 3.0}},
        "n.a[1]": {**same, "a": [1.0, 2e-5]},
        "n.a:": {**same, "a": [1.0]},
        "n.b: keys": {**same, "b": {"d": 3, "c": 0.5}},
        "n.schema": {**same, "schema": "s/2"},
    }
    for path, got in wrong.items():
        (difference,) = make_schemas.differences(golden, got, "n")
        assert difference.startswith(path), difference
