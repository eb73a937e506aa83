"""Gates on arrays: values, no copies, and what is refused."""

from __future__ import annotations

import copy
import math
import pickle
import threading

import numpy as np
import pytest

import glint

ALL = glint.gates.names()


def sqs(h, c=0.01, lam=0.5, p=1.0):
    a = np.abs(h)
    return np.where(h < 0, -1.0, 1.0) * (a - c) / (1 + (lam * a) ** p) ** (1 / p)


def test_sqs_is_its_formula():
    h = np.linspace(-8, 8, 101)
    gate = glint.gate("sqs", c=0.02, lam=0.3, p=2)
    # Both are a dozen operations in double: within some 20 roundings.
    np.testing.assert_allclose(gate(h), sqs(h, 0.02, 0.3, 2), rtol=20 * 2.0**-53, atol=1e-15)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("n", [1, 8, 1000, 200_000])
def test_float32_is_the_reference_rounded(name, n):
    gate = glint.gate(name)
    h = np.random.default_rng(n).normal(0, 3, n).astype(np.float32)
    # The kernels are within 4 units in the last place of the formula (tests/kernels). Where a value or a slope
    # cancels the bound is absolute: |h| - c with c rounded to a float (2^-24 c), slopes of GELU near their zero.
    np.testing.assert_allclose(gate(h), gate(h.astype(float)), rtol=8 * 2.0**-24, atol=0.01 * 2.0**-24)
    np.testing.assert_allclose(gate.grad(h), gate.grad(h.astype(float)), rtol=16 * 2.0**-24, atol=1e-6)
    r = np.random.default_rng(1).normal(size=n).astype(np.float32)
    np.testing.assert_array_equal(gate.glu(h, r), gate(h) * r)


@pytest.mark.parametrize("name", ALL)
def test_backward_is_slope_and_value(name):
    gate = glint.gate(name)
    l, r, dy = np.random.default_rng(3).normal(size=(3, 7, 9))
    dl, dr = gate.glu_backward(l, r, dy)
    np.testing.assert_array_equal(dl, dy * r * gate.grad(l))
    np.testing.assert_array_equal(dr, dy * gate(l))


def test_halves_of_one_array_and_rows_with_gaps():
    gate = glint.gate("silu")
    z = np.random.default_rng(4).normal(size=(3, 50, 2 * 700)).astype(np.float32)
    l, r = z[..., :700], z[..., 700:]
    np.testing.assert_array_equal(gate.glu(l, r), gate(l) * r)
    out = np.zeros_like(z)
    dy = np.ones_like(l)
    gate.glu_backward(l, r, dy, dl=out[..., :700], dr=out[..., 700:])
    np.testing.assert_array_equal(out[..., 700:], gate(l))


def test_written_in_place_without_a_copy():
    gate = glint.gate("relu")
    x = np.arange(-4, 4, dtype=np.float32).reshape(2, 4)
    out = np.empty_like(x)
    before = out.__array_interface__["data"][0]
    back = gate(x, out=out)
    assert back is out and back.__array_interface__["data"][0] == before
    np.testing.assert_array_equal(out, np.maximum(x, 0))


def test_transposed_and_reversed_arrays_are_read_right():
    gate = glint.gate()
    x = np.random.default_rng(5).normal(size=(6, 5)).astype(np.float32)
    for view in (x.T, x[::-1], x[:, ::2], x[::2, 1:4], np.broadcast_to(x[:1], (6, 5))):
        np.testing.assert_array_equal(gate(view), gate(np.array(view)))
        np.testing.assert_array_equal(gate.glu(view, view), gate(np.array(view)) * view)


def test_what_else_is_read_as_numbers():
    gate = glint.gate("relu")
    assert gate(-1.0) == 0.0 and isinstance(gate(2.0), float)
    np.testing.assert_array_equal(gate([-1, 2]), [0, 2])
    np.testing.assert_array_equal(gate(np.array([-1, 2], dtype=np.float16)), [0, 2])
    assert gate(np.array(3.0)).shape == ()
    assert gate(np.empty((0, 4), dtype=np.float32)).shape == (0, 4)
    big_endian = np.array([-1.0, 2.0], dtype=">f4")
    np.testing.assert_array_equal(gate(big_endian), [0, 2])


def test_results_outlive_everything():
    y = glint.gate("relu")(np.arange(10, dtype=np.float32))
    view = y[3:]
    del y
    np.testing.assert_array_equal(view, np.arange(3, 10))


@pytest.mark.parametrize(
    "call",
    [
        lambda g: g("text"),
        lambda g: g(None),
        lambda g: g(np.array(["a"])),
        lambda g: g(np.zeros(3, dtype=complex)),
        lambda g: g.glu(np.zeros(3), np.zeros(4)),
        lambda g: g.glu(np.zeros(3), np.zeros(3, dtype=np.float32)),
        lambda g: g(np.zeros(3), out=np.zeros(4)),
        lambda g: g(np.zeros(3), out=np.zeros(3, dtype=np.float32)),
        lambda g: g(np.zeros(3), out="no"),
        lambda g: g(np.zeros((2, 3)), out=np.zeros((3, 2)).T),
    ],
)
def test_bad_arguments_are_value_errors(call):
    with pytest.raises(ValueError) as caught:
        call(glint.gate())
    assert isinstance(caught.value, glint.UsageError)
    assert caught.value.what and caught.value.where.endswith("=") and caught.value.expected


def test_overlap_and_read_only_outputs_are_refused():
    gate = glint.gate()
    x = np.zeros(10, dtype=np.float32)
    with pytest.raises(glint.UsageError, match="overlaps"):
        gate(x[:8], out=x[2:])
    frozen = np.zeros(10, dtype=np.float32)
    frozen.flags.writeable = False
    with pytest.raises(glint.UsageError):
        gate(x, out=frozen)
    gate(frozen)  # as an input it is welcome


def test_options_are_checked_and_named_as_in_python():
    with pytest.raises(glint.UsageError) as caught:
        glint.gate("sqs", lam=-1)
    assert caught.value.where == "lam="
    with pytest.raises(glint.UsageError):
        glint.gate("sqs", p=math.nan)
    with pytest.raises(TypeError):
        glint.gate("sqs", lamda=1)


def test_threads_can_be_set_and_results_stay():
    gate = glint.gate("gelu")
    x = np.random.default_rng(6).normal(size=300_000).astype(np.float32)
    expected = gate(x)
    before = glint.threads
    try:
        for count in (1, 3):
            glint.threads = count
            assert glint.threads == count
            np.testing.assert_array_equal(gate(x), expected)
        with pytest.raises(glint.UsageError):
            glint.threads = 5000
    finally:
        glint.threads = before


def test_several_python_threads_at_once():
    gate = glint.gate("silu")
    x = np.random.default_rng(7).normal(size=200_000).astype(np.float32)
    expected = gate(x)
    wrong = []

    def work():
        for _ in range(20):
            if not np.array_equal(gate(x), expected):
                wrong.append(1)

    all_threads = [threading.Thread(target=work) for _ in range(6)]
    for t in all_threads:
        t.start()
    for t in all_threads:
        t.join()
    assert not wrong


def test_display_and_equality_of_options():
    assert repr(glint.gate("sqs", lam=0.25)) == "glint.gate('sqs', c=0.01, lam=0.25, p=1)"
    assert repr(glint.gate("swiglu")) == "glint.gate('silu')"


class Foreign:
    """An array of another library: all that is known of it is DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_arrays_of_other_libraries_are_read_and_written_where_they_lie():
    gate = glint.gate("relu")
    x = np.arange(-4, 4, dtype=np.float32)
    np.testing.assert_array_equal(gate(Foreign(x)), np.maximum(x, 0))
    out = np.zeros_like(x)
    holder = Foreign(out)
    assert gate(Foreign(x), out=holder) is holder
    np.testing.assert_array_equal(out, np.maximum(x, 0))  # its own memory was written to
    layer = glint.GLU(Foreign(np.eye(3, dtype=np.float32)), np.eye(3, dtype=np.float32))
    assert layer.L.shape == (3, 3)
    weights = np.eye(3, dtype=np.float32)
    assert np.shares_memory(glint.GLU(Foreign(weights), weights).L, weights)


def test_gates_and_layers_are_values():
    gate = glint.gate("sqs", lam=0.25)
    for again in (pickle.loads(pickle.dumps(gate)), copy.deepcopy(gate), glint.gate("sqs", lam=0.25)):
        assert again == gate and hash(again) == hash(gate)
    assert gate != glint.gate("sqs") and gate != glint.gate("relu") and gate != "sqs"
    rng = np.random.default_rng(0)
    layer = glint.GLU(rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), gate=gate)
    x = rng.normal(size=(5, 3))
    for again in (pickle.loads(pickle.dumps(layer)), copy.deepcopy(layer)):
        np.testing.assert_array_equal(again(x), layer(x))
