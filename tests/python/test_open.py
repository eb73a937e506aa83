"""A run is live: its files are read once, it can be closed, shared by threads, forked and pickled."""

from __future__ import annotations

import ctypes
import os
import pickle
import shutil
import struct
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import glint

TINY = Path(__file__).resolve().parents[1] / "golden" / "families" / "tiny"


class Opens:
    """How often each file of a folder is opened: inotify of Linux."""

    OPEN, CLOSE = 0x20, 0x18

    def __init__(self, folder):
        self.c = ctypes.CDLL(None, use_errno=True)
        self.file = self.c.inotify_init1(os.O_NONBLOCK)
        if self.c.inotify_add_watch(self.file, os.fsencode(folder), self.OPEN | self.CLOSE) < 0:
            pytest.skip("no inotify here")

    def counts(self):
        """Of the files since the last call, without folders."""
        try:
            raw = os.read(self.file, 1 << 20)
        except BlockingIOError:
            return {}
        counts, at = {}, 0
        while at < len(raw):
            _, mask, _, size = struct.unpack_from("iIII", raw, at)
            name = raw[at + 16 : at + 16 + size].rstrip(b"\0").decode()
            if name and mask & self.OPEN and not mask & 0x40000000:
                counts[name] = counts.get(name, 0) + 1
            at += 16 + size
        return counts


@pytest.fixture()
def copies(run, tales, tmp_path):
    """Folders of an image run, of stories and of a model of another program, as they are after a first reading."""
    run.read("3", progress=False), tales.read("happy", progress=False)
    folders = {"image": run.path, "stories": tales.path, "other": TINY}
    for name, folder in folders.items():
        shutil.copytree(folder, tmp_path / name)
    return {name: tmp_path / name for name in folders}


def questions(model):
    """What needs no data, as numbers and texts."""
    quick = dict(form="weights", controls="none", progress=False)
    if model.kind == "image":
        form = model.read("3", **quick)
        return [form.values, model.logits(np.eye(28, dtype=np.float32)[None]), form.figure().svg, model.weights["head.weight"], model.layer().L]
    form = model.read("the", layer=1, **quick)
    ids = model.tokens("the cat")
    found = form.passages("the cat and the dog", n=1, vectors=[1])
    story = model.generate("the", temperature=0, tokens=3, progress=False).texts
    near = form.near(3).rows + form.near(9).rows
    return [form.values, ids, model.text(ids), model.logits(ids), near, found.json["responses"], story, model.layer(1).L, form.figure().svg]


def same(first, second):
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b) if isinstance(a, np.ndarray) else None
        assert isinstance(a, np.ndarray) or a == b


@pytest.mark.parametrize("name", ["image", "stories", "other"])
def test_files_are_opened_once(copies, name):
    folder = copies[name]
    opens = Opens(folder)
    model = glint.load(folder / "tiny.bin" if name == "other" else folder)
    first = opens.counts()
    # What it is for is looked at by name and first bytes before it is opened; a checksum is read on its own.
    assert first and max(first.values()) <= 3, first
    before = questions(model)
    assert opens.counts() == {}
    shutil.rmtree(folder)
    same(before, questions(model))


def test_more_of_the_same_reading_opens_nothing(copies):
    tales = glint.load(copies["stories"])
    form = tales.read("happy", near=8, progress=False)
    opens = Opens(copies["stories"])
    assert all(len(row["along"].split()) == 9 for row in form.near(9))
    assert form.passages("once upon a time a happy cat", n=1) and form.figure().svg and form.plot
    assert opens.counts() == {}
    tales.read("happy", tokens=300, progress=False), tales.read("sad", tokens=300, progress=False)
    assert set(opens.counts()) <= {"calibration.safetensors"}


def test_other_data_are_other_numbers_of_the_same_model(run, tales, tmp_path):
    text = tmp_path / "stories.txt"
    text.write_text("once upon a time a happy cat met a sad dog . " * 40, encoding="utf-8")
    own, other, again = (tales.read("happy", data=d, progress=False) for d in (None, text, None))
    assert own.fidelity["r2"] == again.fidelity["r2"] != other.fidelity["r2"]
    test, labels = glint.data.load("glyphs").test
    some = glint.Images(test, labels, test_share=0.5)
    assert run.evaluate(some)["images"] == len(labels) // 2 and run.evaluate()["images"] == len(labels)


def test_a_closed_run_says_so(copies):
    model = glint.load(copies["image"])
    form = model.read("3", controls="none", progress=False)
    weights = model.weights["head.weight"]
    kept = weights.copy()
    model.close(), model.close()
    asked = [model.layer, model.evaluate, lambda: model.read("3"), lambda: model.logits(np.zeros((1, 28, 28))), lambda: model.weights, model.readability]
    asked += [lambda: glint.readability(model), lambda: glint.compare(model, model), lambda: model.save(copies["image"] / "copy"), lambda: model.metrics, model.__enter__]
    said = set()
    for ask in asked:
        with pytest.raises(glint.UsageError, match="closed") as e:
            ask()
        assert "glint.load(" in e.value.hint
        said.add(str(e.value))
    assert len(said) == 1 and model.closed and "<table>" in model._repr_html_()
    assert "sqs" in repr(model) and form.values.size and form.figure().svg
    np.testing.assert_array_equal(weights, kept)  # what was given out stays
    with glint.load(copies["other"] / "tiny.bin") as tiny:
        assert tiny.tokens("the")
    with pytest.raises(glint.UsageError, match="closed"):
        tiny.tokens("the")


def test_threads_take_turns(run, tales):
    image = np.random.default_rng(0).random((50, 28, 28), dtype=np.float32)
    expected, tokens = run.logits(image), tales.tokens("once upon a time")
    wrong = []

    def ask():
        for _ in range(20):
            if not np.array_equal(run.logits(image), expected) or tales.tokens("once upon a time") != tokens:
                wrong.append(1)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert not wrong


def test_a_fork_and_another_number_of_threads(run):
    image = np.random.default_rng(0).random((50, 28, 28), dtype=np.float32)
    expected = run.logits(image)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(run.logits(image), expected) else 1)
    assert os.waitpid(child, 0)[1] == 0
    before = glint.threads
    try:
        glint.threads = 1
        np.testing.assert_array_equal(run.logits(image), expected)
    finally:
        glint.threads = before
    np.testing.assert_array_equal(run.logits(image), expected)


def test_results_are_pickled(run, tales, other, tmp_path):
    quick = dict(progress=False)
    results = [run.read("3", **quick), run.read("3,5", form="weights", **quick), tales.read("happy", **quick), run.explain(7, **quick), run.evaluate()]
    results += [run.ablate("3", **quick), run.attack("3", images=20, **quick), run.page(images=20, **quick), run.readability(**quick), run.metrics]
    results += [glint.compare(run, other, show=2, **quick), tales.layers("happy", tokens=300, **quick), tales.neurons(**quick), tales.generate("once", tokens=3)]
    results += [tales.explain(text="once upon a"), tales.read("happy", **quick).passages("a happy cat", n=1), run.layer().read(), glint.model(run.path)]
    results += [glint.sweep("quick", gate=["sqs"], epochs=1, d_model=16, **quick), glint.runs(run.path), glint.gates.figure()]
    for result in results:
        again = pickle.loads(pickle.dumps(result))
        assert type(again) is type(result) and repr(again) == repr(result)
        if hasattr(result, "_repr_html_"):
            assert again._repr_html_() == result._repr_html_()
        if hasattr(result, "json"):
            assert again.json == result.json
    form = pickle.loads(pickle.dumps(results[2]))
    assert form.near(12).rows == results[2].near(12).rows
    x = np.random.default_rng(0).normal(size=(3, 32))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(results[16]))[0](x), results[16][0](x))


def test_the_number_of_threads_changes_while_threads_ask(run):
    image = np.random.default_rng(0).random((300, 28, 28), dtype=np.float32)
    expected, before, wrong = run.logits(image), glint.threads, []

    def ask():
        try:
            for _ in range(60):
                np.testing.assert_array_equal(run.logits(image), expected)
        except BaseException as e:
            wrong.append(e)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    [t.start() for t in threads]
    try:
        for count in (1, 2) * 200:
            glint.threads = count
            threads[0].join(0.002)
        [t.join() for t in threads]
    finally:
        glint.threads = before
    assert not wrong


def test_a_fork_leaves_the_temporary_run_of_its_parent(tmp_path):
    code = """
import os, sys
import glint
run = glint.train("quick", epochs=1, d_model=16, progress=False)
stories = glint.Tokens(["the cat sat on the mat and it was happy there"] * 50, tokenizer=300, progress=False)
child = os.fork()
if child == 0:
    folders = run.path, stories.folder
    del run, stories
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
assert os.path.exists(run.path) and os.path.exists(stories.folder)
print(run.path)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    assert not os.path.exists(said.stdout.strip())


def test_python_ends_while_a_daemon_thread_asks():
    code = """
import threading, time
import numpy as np
import glint
run = glint.train("quick", epochs=1, d_model=16, progress=False)
image = np.zeros((20000, 28, 28), dtype=np.float32)

def ask():
    while True:
        run.logits(image)

for _ in range(2):
    threading.Thread(target=ask, daemon=True).start()
time.sleep(0.3)
"""
    for _ in range(2):
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert said.returncode == 0, said.stderr


def test_another_current_folder(copies, tmp_path, monkeypatch):
    (tmp_path / "stories.txt").write_text("once upon a time a happy cat met a sad dog . " * 40, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    image, tales = glint.load("image"), glint.load("stories", data="stories.txt")
    assert "Run image:" in repr(image)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert len(image.metrics) and image.save("copy").kind == "image" and image.readability(progress=False)
    form = tales.read("happy", controls="none", progress=False)
    again = pickle.loads(pickle.dumps(form))
    assert again.near(9).rows == form.near(9).rows and again.fidelity == form.fidelity


def test_a_pickled_form_of_a_run_that_is_not_open(copies):
    with glint.load(copies["stories"]) as tales:
        form = tales.read("happy", controls="none", progress=False)
        near = form.near(30).rows
    again = pickle.loads(pickle.dumps(form))
    assert again.near(30).rows == near and len(again.passages("a happy cat", n=1))
    lost = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(form))))
    shutil.rmtree(copies["stories"])
    with pytest.raises(glint.BadFileError):
        lost.near(30)
    assert len(lost.near()) == len(near) and "<table>" in lost._repr_html_()
    brief = glint.train("tales", epochs=1, layers=1, d_model=16, heads=2, context=32, progress=False)
    lost = pickle.loads(pickle.dumps(brief.read("happy", form="weights", controls="none", progress=False)))
    for ask in (lambda: lost.near(30), lambda: lost.passages("a happy cat")):
        with pytest.raises(glint.UsageError, match="gone"):
            ask()
