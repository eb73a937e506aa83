"""Figures on axes of matplotlib: artists with the numbers of the figure."""

from __future__ import annotations

import numpy as np
import pytest

import glint


@pytest.fixture()
def axes():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, ax = pyplot.subplots()
    yield ax
    figure.canvas.draw()  # what cannot be drawn fails here
    pyplot.close(figure)


def test_lines(axes):
    figure = glint.gates.figure()
    assert figure.plot(axes) is axes
    names = list(dict.fromkeys(figure.data["series"]))
    assert [line.get_label() for line in axes.lines] == names
    first = [y for s, y in zip(figure.data["series"], figure.data["y"]) if s == names[0]]
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), first)
    assert axes.get_xlabel() and not axes.images


def test_bars(axes, run):
    form = run.read("3")
    form.plot(axes)
    assert [p.get_height() for p in axes.patches] == list(form.values)
    assert axes.get_ylabel() == "eigenvalue" and "3" in axes.get_title()


def test_images(axes, run):
    forms = run.read("3,5", show=2)
    figure = forms.figure()
    figure.plot(axes)
    parts = axes.child_axes
    assert len(parts) == len(figure.data["unit"]) and all(p.images[0].get_array().shape == (28, 28) for p in parts)
    np.testing.assert_allclose(parts[0].images[0].get_array(), forms[0].pictures[0], rtol=1e-5, atol=1e-7)


def test_terms_and_what_has_no_numbers(axes, run):
    run.explain(7).figure().plot(axes)
    assert axes.patches and axes.get_xlabel()
    glint.Figure("own", '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"/>', "").plot(axes)
    assert axes.images


def test_the_description_says_what_the_svg_shows(axes, run, tales):
    figure = run.read("3").figure()
    assert figure.about["kind"] == "bars" and figure.about["title"] in figure.svg
    assert run.read("3,5").figure().about["size"] == (28, 28)
    points = tales.neurons(layer=1, progress=False).figure()
    points.plot(axes)
    assert axes.get_title() == points.about["title"] and axes.get_xlabel() == "cos(up, down)"
    assert {line.get_label() for line in axes.lines if line.get_linestyle() == "None"} == set(points.about["scattered"])
    assert glint.Figure("own", "<svg/>", "").about == {}
