"""Readings: forms of runs and of layers from arrays, explanations, and how they display."""

from __future__ import annotations

import os

import numpy as np
import pytest

import glint


def test_a_class_read(run):
    form = run.read("3", form="scaled")
    assert form.name.startswith("3") and form.form == "scaled"
    assert form.values.shape == (32,) and form.vectors.shape == (32, 32)
    assert np.all(np.diff(form.values) <= 0)
    # Rows are orthonormal to the rounding of the solver: 32 products of doubles.
    np.testing.assert_allclose(form.vectors @ form.vectors.T, np.eye(32), atol=1e-12)
    assert form.pictures.shape == (8, 28, 28)
    assert form.fidelity["r2"] > 0 and form.fidelity["form"]["agreement"] > 0
    assert set(form.controls) == {"linear", "untrained"}
    assert form.energy()[-1] == pytest.approx(1) and form.rank["entropy"] > 1
    values, vectors = form.top(3)
    assert abs(values[0]) >= abs(values[1]) >= abs(values[2]) and vectors.shape == (3, 32)


def test_all_classes_and_differences(run):
    forms = run.read()
    assert len(forms) == 10 and forms["3"].name.startswith("3")
    assert {row["form"] for row in forms.fidelity} >= {"weights", "scaled", "calibrated", "control: linear map"}
    assert "features-scaled" in forms.figures and "<svg" in forms._repr_html_()
    assert len(forms.table()) == 10
    difference = run.read("3-5", form="weights")
    q = run.read("all", form="weights")

    def matrix(form):
        return form.vectors.T * form.values @ form.vectors

    # Q of a difference is the difference of the Qs: the same sums in double.
    np.testing.assert_allclose(matrix(difference), matrix(q["3"]) - matrix(q["5"]), atol=1e-10)


def test_bilinear_weights_are_the_model(other):
    forms = other.read(form="weights")
    assert forms.json["fidelity"]["weights"]["agreement"] == 1
    assert forms.json["fidelity"]["weights"]["r2"] == pytest.approx(1, abs=1e-9)


def test_a_vector_and_lower_layers(run):
    head = run.weights["head.weight"][3]
    by_vector = run.read(head, form="weights")
    # The vector goes through a float32 file: it is float32 already.
    np.testing.assert_allclose(by_vector.values, run.read("3", form="weights").values, atol=1e-9)


def test_figures_can_be_kept(run, tmp_path):
    form = run.read("3")
    assert "<svg" in form._repr_html_() and "R²" in form._repr_html_()
    assert form.save(tmp_path / "f.svg").read_text().startswith("<svg")
    png = form.save(tmp_path / "f.png")
    assert png.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    columns = form.data
    np.testing.assert_allclose(columns["eigenvalue"], form.values, rtol=1e-5)
    with pytest.raises(glint.UsageError):
        form.save(tmp_path / "f.gif")
    assert glint.gates.figure()._repr_svg_().startswith("<svg")


def test_explanations_add_up(run):
    ex = run.explain(7)
    assert "<svg" in ex._repr_html_() and ex.trust in repr(ex)
    for account in ex.accounts:
        parts = sum(account[k] for k in ("positive", "negative", "linear", "beside", "rest"))
        assert parts == pytest.approx(account["logit"], abs=1e-6)
    assert {t["side"] for t in ex.terms} <= {"for", "against"}
    test, _ = glint.data.load("glyphs").test
    own = run.explain(image=test[7])
    assert own["logits"] == pytest.approx(ex["logits"], abs=1e-6)
    assert len(next(iter(own.pictures.values()))) <= 8
    with pytest.raises(glint.UsageError):
        run.explain()
    with pytest.raises(glint.UsageError):
        run.explain(image=np.zeros((0, 3)))
    with pytest.raises(glint.UsageError):
        run.explain(10**9)


def test_ablation_changes_what_it_says(run, tmp_path):
    result = run.ablate("3", vectors=[1, 2], save=tmp_path / "without")
    assert [r["rank"] for r in result["all"]["removed"]] == [1, 2]
    changed = glint.load(tmp_path / "without")
    assert changed.evaluate()["loss"] == pytest.approx(result["all"]["after"]["loss"], rel=1e-6)
    assert result.table()[0]["what"] == "all"


def test_tokens_of_a_language_model(tales):
    form = tales.read("happy")
    near = form.near(3)
    assert len(near) and all(len(row["along"].split()) == 3 for row in near)
    assert all(len(row["along"].split()) == 12 for row in form.near(12))
    assert "<table>" in form._repr_html_()
    assert tales.read("happy - sad", k=4).values.shape == (4,)
    assert len(tales.read("happy,sad")) == 2
    scan = tales.scan()
    assert len(scan) > 100 and "participation_rank" in scan.columns


# Layers from arrays.


def arrays(seed, d=9, h=14, o=4):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=s).astype(np.float32) for s in ((h, d), (h, d), (o, h))]


def reference(L, R, P, u, gain):
    q = (P.astype(float).T @ u) * gain
    m = L.astype(float).T @ (q[:, None] * R.astype(float))
    return (m + m.T) / 2


@pytest.mark.parametrize("gate, gain", [("identity", 1.0), ("sqs", 1.0), ("silu", 0.5), ("relu", 0.5)])
def test_weights_form_is_its_definition(gate, gain):
    L, R, P = arrays(1)
    u = np.random.default_rng(2).normal(size=4)
    form = glint.GLU(L, R, P, gate=gate).read(out=u)
    q = reference(L, R, P, u, gain)
    # Both sum the same 14 products in double.
    np.testing.assert_allclose(form.vectors.T * form.values @ form.vectors, q, atol=1e-11)
    assert form.form == "weights" and form.fidelity == {}


def test_identity_is_exact_on_inputs_and_the_layer_is_its_formula():
    L, R, P = arrays(3)
    x = np.random.default_rng(4).normal(size=(50, 9)).astype(np.float32)
    b, c = np.random.default_rng(5).normal(size=(2, 14)).astype(np.float32)
    layer = glint.GLU(L, R, P, gate="identity", bias=(b, c))
    expected = ((x @ L.T + b) * (x @ R.T + c)) @ P.T
    np.testing.assert_allclose(layer(x), expected, rtol=1e-4, atol=1e-3)
    form = layer.read(out=[1, 0, 0, 0], inputs=x)
    assert form.fidelity["r2"] == pytest.approx(1, abs=1e-9)
    assert form.fidelity["r2_interval"] == pytest.approx([1, 1], abs=1e-9) and form.fidelity["inputs"] == 25
    assert form.vectors.shape == (10, 10)  # the last entry belongs to the bias
    np.testing.assert_allclose(form(x), layer(x)[:, 0], rtol=1e-4, atol=1e-3)


def test_a_norm_is_folded():
    L, R, P = arrays(6)
    g = np.random.default_rng(7).uniform(0.5, 2, 9).astype(np.float32)
    x = np.random.default_rng(8).normal(size=(30, 9)).astype(np.float32)
    layer = glint.GLU(L, R, P, gate="silu", norm=g, eps=1e-6)
    normed = x / np.sqrt((x.astype(float) ** 2).mean(axis=1, keepdims=True) + 1e-6) * g
    plain = glint.GLU(L, R, P, gate="silu")
    np.testing.assert_allclose(layer(x), plain(normed), rtol=1e-4, atol=1e-4)
    forms = layer.read(inputs=x, form="scaled", k=3)
    assert len(forms) == 4 and forms[0].values.shape == (3,) and forms.controls["linear"]
    with pytest.raises(glint.UsageError):  # without a norm SiLU has no scaled form
        plain.read(inputs=x, form="scaled")


@pytest.mark.parametrize("gate", ["identity", "silu"])
def test_a_layer_norm_is_folded(gate):
    L, R, P = arrays(16)
    rng = np.random.default_rng(17)
    g, b = rng.uniform(0.5, 2, 9).astype(np.float32), rng.normal(size=9).astype(np.float32)
    x = (3 + rng.normal(size=(30, 9))).astype(np.float32)
    centred = x.astype(float) - x.mean(axis=1, keepdims=True, dtype=float)
    normed = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
    plain = glint.GLU(L, R, P, gate=gate)
    for norm, read in ((("layer", g, b), normed * g + b), (("layer", g), normed * g), ("layer", normed)):
        layer = glint.GLU(L, R, P, gate=gate, norm=norm, eps=1e-5)
        # Sums of nine products of floats: a relative 1e-5 each.
        np.testing.assert_allclose(layer(x), plain(read), rtol=1e-4, atol=1e-4)
    # From the weights alone: L diag(g) (I - 11'/d), and so for R.
    form = glint.GLU(L, R, P, gate=gate, norm=("layer", g)).read(out=[1, 0, 0, 0])
    fold = np.diag(g.astype(float)) @ (np.eye(9) - 1 / 9)
    q = reference(L @ fold, R @ fold, P, np.eye(4)[0], 1.0 if gate == "identity" else 0.5)
    # The folded halves are kept as floats: 2^-24 of entries up to 10, 14 products of two.
    np.testing.assert_allclose(form.vectors.T * form.values @ form.vectors, q, atol=1e-3)
    np.testing.assert_allclose(q @ np.ones(9), 0, atol=1e-12)
    for wrong in ("batch", ("layer", g, b, b), ("layer", g[:3]), ("layer", g, b[:3])):
        with pytest.raises(glint.UsageError):
            glint.GLU(L, R, P, norm=wrong)(x)


def test_wide_layers_need_k_and_find_the_strongest():
    rng = np.random.default_rng(9)
    L, R = rng.normal(size=(2, 8, 1100)).astype(np.float32)
    layer = glint.GLU(L, R, gate="identity")
    u = rng.normal(size=8)
    with pytest.raises(glint.UsageError, match="1100"):
        layer.read(out=u)
    form = layer.read(out=u, k=5)
    q = np.linalg.eigvalsh(reference(L, R, np.eye(8, dtype=np.float32), u, 1.0))
    strongest = np.sort(q[np.argsort(-np.abs(q))[:5]])[::-1]
    np.testing.assert_allclose(form.values, strongest, rtol=1e-6)


def test_no_copy_of_float32_weights():
    L, R, P = arrays(10)
    stacked = np.concatenate([L, R])
    layer = glint.GLU(stacked[:14], stacked[14:], P)
    assert np.shares_memory(layer.L, stacked) and np.shares_memory(layer.R, stacked)
    assert np.shares_memory(layer.P, P)


@pytest.mark.parametrize(
    "call",
    [
        lambda L, R, P: glint.GLU(L, R[:3], P).read(out=np.ones(4)),
        lambda L, R, P: glint.GLU(L, R, P[:, :3]).read(out=np.ones(4)),
        lambda L, R, P: glint.GLU(L, R, P).read(out=np.ones(5)),
        lambda L, R, P: glint.GLU(L, R, P).read(out=np.ones((0, 4))),
        lambda L, R, P: glint.GLU(L, R, P).read(out=np.ones(4), inputs=np.ones((5, 3))),
        lambda L, R, P: glint.GLU(L, R, P).read(out=np.ones(4), inputs=np.ones((19, 9))),
        lambda L, R, P: glint.GLU(L, R, P).read(out=np.ones(4), form="scaled"),
        lambda L, R, P: glint.GLU(L, R, P).read(out=np.ones(4), form="nonsense"),
        lambda L, R, P: glint.GLU(L, R, P, bias=np.ones(3)).read(out=np.ones(4)),
        lambda L, R, P: glint.GLU(L, R, P, norm=np.ones(3)).read(out=np.ones(4)),
        lambda L, R, P: glint.GLU(None, R, P),
        lambda L, R, P: glint.GLU(L, R, P, gate="nonsense"),
        lambda L, R, P: glint.GLU(L, R, P)(np.ones((2, 3))),
        lambda L, R, P: glint.GLU(np.ones((0, 9)), np.ones((0, 9))).read(),
        lambda L, R, P: glint.GLU(L, R, P).read(out=np.ones(4), k=-1),
        lambda L, R, P: glint.GLU(L, R, P).read(out="3"),
    ],
)
def test_layers_that_do_not_fit_are_refused(call):
    with pytest.raises(glint.UsageError):
        call(*arrays(11))


def test_numbers_that_are_none_are_refused():
    L, R, P = arrays(12)
    L[0, 0] = np.inf
    with pytest.raises(ArithmeticError):
        glint.GLU(L, R, P).read(out=np.ones(4))
    L, R, P = arrays(12)
    with pytest.raises(glint.NumericError):
        glint.GLU(L, R, P).read(out=np.array([1, np.nan, 0, 0]))
    with pytest.raises(glint.NumericError):
        glint.GLU(L, R, P).read(out=np.ones(4), inputs=np.full((40, 9), np.inf))


def test_a_token_explained(tales):
    why = tales.explain(text="once upon a time there was a", layer="all")
    parts = why.parts
    # The sum of f32 parts: 1e-4 is what glint promises.
    assert sum(p["adds"] for p in parts) == pytest.approx(why.logit, abs=1e-4)
    assert len(parts) == 1 + 2 * tales.about["layers"]
    for layer in why["layers"]:
        terms = [t["adds"] for t in why.terms if t["layer"] == layer["layer"]]
        assert sum(terms) == pytest.approx(layer["share"], abs=1e-9)
    assert why["token"]["place"] == 1 and "expects" in why.verdict and why.expected[0]["place"] == 1
    assert "<svg" in why._repr_html_() and "R2" in why.trust[0] and "the same but for rounding" in repr(why)
    assert why.figure().data["name"][0] == "embedding"
    other = tales.explain(text="once upon a time", position=2, token="happy", against="sad", layer=1, form="local", show=2)
    assert other["position"] == 2 and other["layers"][0]["layer"] == 1
    assert abs(other["layers"][0]["rest"]) < 1e-4
    for wrong in ({}, {"text": "once", "position": 99}, {"text": "once", "token": "zyzzyva"}, {"text": "once", "layer": 99}):
        with pytest.raises(glint.UsageError):
            tales.explain(**wrong)


def test_an_image_model_reads_no_text(run):
    with pytest.raises(glint.UsageError):
        run.explain(text="once")
    with pytest.raises(glint.UsageError):
        run.read("3").passages("once")


def test_readings_write_nothing_that_nobody_asked_for(run, other, tales, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    quiet = dict(tokens=200, progress=False)
    tiny = glint.load(os.path.join(os.path.dirname(__file__), "..", "golden", "families", "tiny", "tiny.bin"))
    run.read("3"), tales.read("happy")  # their calibration is stored in the run once
    before = {model.path: sorted(os.walk(model.path)) for model in (run, tales)}
    for model, word in ((tiny, "a"), (tales, "happy")):
        model.read(word, **quiet), model.layers(word, **quiet), model.scan(**quiet), model.neurons(progress=False)
        model.explain(text="a cat" if model is tiny else "once upon a", progress=False)
        model.ablate(word, progress=False), model.read(word, **quiet).passages("a cat and a dog", n=1)
        glint.compare(model, model, token=word, progress=False), model.readability(token=word, progress=False), model.page(token=word, progress=False)
    run.read(), run.explain(0), run.ablate("3"), run.attack("3", images=20), run.page(images=20), run.readability(), glint.compare(run, other)
    assert os.listdir(tmp_path) == [] and before == {path: sorted(os.walk(path)) for path in before}


def test_passages(tales, tmp_path):
    form = tales.read("happy")
    found = form.passages(n=2)
    assert len(found) == 8 and found.json["text"]["tokens"] > 1000
    for response in found:
        for p in response.passages:
            strongest = p["tokens"][p["strongest"]]
            assert p["value"] == pytest.approx(response.value * strongest["shown"] ** 2, rel=1e-9)
            assert "".join(t["text"] for t in p["tokens"]) == p["text"]
    assert "background:rgb" in found._repr_html_() and len(found.table()) == 16
    text = "once upon a time a happy cat met a sad dog ."
    own = form.passages([text, text + " the end ."], n=1, vectors=[1, -1])
    assert [r.value for r in own] == [form.values[0], form.values[-1]] and own.json["text"]["stories"] == 2
    path = tmp_path / "stories.txt"
    path.write_text(text + "<|endoftext|>" + text + " the end .", encoding="utf-8")
    filed = form.passages(path, n=1, vectors=[1, -1])
    assert [r.passages for r in filed] == [r.passages for r in own]
    with pytest.raises(glint.UsageError):
        form.passages(text, vectors=[10**6])
    with pytest.raises(glint.UsageError):
        form.passages(text, vectors=[0])
    with pytest.raises(glint.Error):
        form.passages("")


def test_none_and_no_text_are_the_default(run, tales, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = sorted(os.walk(run.path))
    for files in (None, ""):
        run.read("3", files=files, progress=False)
    assert os.listdir(tmp_path) == [] and sorted(os.walk(run.path)) == before
    run.read("3", files="kept", progress=False)
    assert os.listdir(tmp_path / "kept")
    quick = dict(controls="none", progress=False)
    assert tales.read("happy", show=None, **quick).near(20).rows == tales.read("happy", **quick).near(20).rows


def test_energy_is_of_all_values(run):
    quick = dict(controls="none", progress=False)
    np.testing.assert_allclose(run.read("3", k=4, **quick).energy(), run.read("3", **quick).energy()[:4])
    L, R, P = arrays(13)
    layer, u = glint.GLU(L, R, P, gate="identity"), np.ones(4)
    assert layer.read(out=u).energy()[-1] == pytest.approx(1)
    with pytest.raises(glint.UsageError, match="squares"):
        layer.read(out=u, k=3).energy()


def test_whole_numbers_are_bytes(run):
    X, y = glint.data.load("glyphs").X[:40], glint.data.load("glyphs").y[:40]
    for kind in (np.int64, np.uint16, np.int32):
        np.testing.assert_array_equal(run.logits(X.astype(kind)), run.logits(X))
        assert glint.Images(X.astype(kind), y).X.dtype == np.uint8
        np.testing.assert_array_equal(glint.Images(X.astype(kind), y).X, glint.Images(X, y).X)
    np.testing.assert_array_equal(run.explain(image=X[0].astype(np.int64), progress=False).pixels, run.explain(image=X[0], progress=False).pixels)

