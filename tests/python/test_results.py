"""What results show: tables, captions and figures."""

from __future__ import annotations

import numpy as np

import glint


def test_an_ablation_shows_the_change_that_was_predicted(run):
    changed = run.ablate("3", vectors=[1, 2], progress=False)
    table = changed.table()
    assert table[0]["r"] == changed["all"]["r"] and table[0]["slope"] == changed["all"]["slope"]
    assert table[4]["what"] == "3" and table[4]["r"] == changed["all"]["classes"][3]["r"]
    assert "predicted" in table.caption and "slope" in changed._repr_html_()


def test_a_comparison_shows_its_control_and_the_fidelity(run, other, tales):
    both = glint.compare(run, other, show=3, progress=False)
    row = both.table()[0]
    control = both["classes"][0]["control"]["both"]["best_matched"]
    assert row["control: first"] == control[0]["mean"] and row["class"] == "0"
    assert both["control"]["text"] in both.table().caption and "R²" in both.table().caption
    assert set(both.figures) == {"compare", "compare-matrix"} and both.figure().data
    assert both.figure().svg in both._repr_html_()
    same = glint.compare(tales, tales, token="happy", show=2, progress=False)
    # The first eigenvector is itself: |cos| is 1 to rounding.
    assert abs(same.table()[0]["first"] - 1) < 1e-9 and "token" in same.table().keys


def test_attacks_and_sweeps_have_figures(run, tmp_path):
    attack = run.attack("3", images=50, strengths=[0, 4], progress=False)
    assert attack.figure().svg.startswith("<svg") and attack.figure().data and attack.figure().svg in attack._repr_html_()
    sweep = glint.sweep("quick", gate=["sqs", "identity"], epochs=1, d_model=16, out=tmp_path, progress=False)
    assert sweep.figure().svg.startswith("<svg") and sweep.figure().data
    assert sweep.figure().svg in sweep._repr_html_()


def test_captions_read_well(float_run, run, tales):
    assert float_run.metrics.caption == "evaluations of the run in a temporary folder"
    assert run.path in run.metrics.caption
    assert run.read(np.ones(32), progress=False).name == "vector"
    assert tales.evaluate(text="once upon a time there was a cat.")["text"].startswith("a text, 1 story")


def test_only_names_of_glint_are_public():
    assert not hasattr(glint, "annotations")
