"""The kernels for GPUs in Triton's interpreter, beside the gates in double. TRITON_INTERPRET is read when triton is imported, so that
test_triton.py runs this file in a process of its own."""

import os

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
if os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("run by test_triton.py", allow_module_level=True)

import glint  # noqa: E402
import glint.torch as gt  # noqa: E402
from glint.torch import _functions, _specs, _triton  # noqa: E402

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore::RuntimeWarning")]

GATES = [glint.gate(name) for name in glint.gates.names()] + [
    glint.gate("sqs", c=0.3, lam=2, p=2.5),
    glint.gate("sqs", c=-0.2, lam=0, p=3),
    glint.gate("sqs", c=0, lam=1.5, p=0.5),
    glint.gate("sqs", c=0.1, lam=3, p=40),
]
every_gate = pytest.mark.parametrize("gate", GATES, ids=repr)
# One rounding of what is stored: half a unit. The interpreter cuts float32 to bfloat16 where a GPU rounds (test_triton.py), a whole one.
DTYPES = {torch.float32: 0.0, torch.bfloat16: 2.0**-7, torch.float16: 2.0**-11}
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def single(gate):
    """The gate with the options that the kernels see: in float32."""
    return glint.gate(gate.name, c=float(np.float32(gate.c)), lam=float(np.float32(gate.lam)), p=gate.p)


def double(function, h):
    return torch.from_numpy(function(h.double().numpy()))


def close(got, wanted, dtype, p=1.0, scale=1.0):
    """Relative 1e-6 in float32, and one rounding more in half precision. Where a value is a difference (slopes near their zeros, the far
    tail of GELU) the bound is absolute, 1e-7 of what is subtracted; a power t^p costs p units."""
    assert got.dtype is dtype and got.shape == wanted.shape
    top = 3e38 if dtype is not torch.float16 else 65504 * (1 - 2.0**-11)
    got, kept = got.double(), wanted.abs() < top
    bound = (1e-6 * max(1, p) + DTYPES[dtype]) * wanted.abs() + 2e-7 * max(1, p) * scale + (2.0**-25 if dtype is torch.float16 else 0)
    wrong = kept & ~((got - wanted).abs() <= bound)
    assert not wrong.any(), (got[wrong][:4], wanted[wrong][:4])
    assert (got[~kept].abs() >= top).all()


def points(dtype):
    h = torch.cat([torch.logspace(-30, 30, 301), torch.linspace(0, 30, 701), torch.tensor([0.0, float("inf")])])
    return torch.cat([h, -h]).to(dtype)


@every_gate
@every_dtype
def test_gate_alone(gate, dtype):
    h, s = points(dtype), _specs.of_core(gate)
    y, dh, exact = torch.empty_like(h), torch.empty_like(h), single(gate)
    _triton.glu(s, h, None, y)
    _triton.glu_backward(s, h, None, torch.ones_like(h), dh, None)
    close(y, double(exact, h), dtype, gate.p)
    far = h.abs() > 2.0**60
    slopes = double(exact.grad, h)
    assert ((dh[far].double() - slopes[far]).abs() < 1e-7).all()
    close(dh[~far], slopes[~far], dtype, gate.p, scale=float(slopes[~far][slopes[~far].isfinite()].abs().max()) if gate.p < 1 else 1.0)


@every_gate
def test_signs_of_0_and_what_is_no_number(gate):
    s = _specs.of_core(gate)
    h = torch.tensor([float("nan"), 0.0, -0.0])
    y, dh = torch.empty_like(h), torch.empty_like(h)
    _triton.glu(s, h, None, y)
    _triton.glu_backward(s, h, None, torch.ones_like(h), dh, None)
    assert y[0].isnan() and torch.equal(y[1:], torch.from_numpy(single(gate)(np.zeros(2))).float())
    np.testing.assert_allclose(dh[1:].numpy(), single(gate).grad(np.zeros(2)), rtol=1e-6)


SHAPES = [(1,), (7,), (5, 24), (2, 3, 33), (3, 1025), (0, 4), (4, 1)]


def gpu(monkeypatch):
    """Tensors are taken for those of a GPU."""
    monkeypatch.setattr(_functions, "_on_gpu", lambda t: t.dtype in DTYPES)
    monkeypatch.setattr(_functions, "_fusable", lambda t: _functions._on_gpu(t) and _functions.in_rows(t))
    monkeypatch.setattr(_functions, "_SHORT", 0)


@every_gate
@every_dtype
def test_glu_through_pytorch(gate, dtype, monkeypatch):
    """The whole way, as on a GPU: halves of one tensor with a gap between them, of any shape."""
    gpu(monkeypatch)
    torch.manual_seed(1)
    exact, s = single(gate), _specs.of_core(gate)
    calls = []
    for name in ("glu", "glu_backward"):
        monkeypatch.setattr(_triton, name, lambda *a, run=getattr(_triton, name), name=name: (calls.append(name), run(*a)))
    for shape in SHAPES:
        z = (2 * torch.randn(*shape[:-1], 2 * shape[-1] + 3)).to(dtype).requires_grad_()
        l, r = z[..., : shape[-1]], z[..., -shape[-1] :]
        dy = torch.randn(shape).to(dtype)
        calls.clear()
        y = gt.glu(l, r, s)
        (dz,) = torch.autograd.grad(y, z, dy)
        assert calls == ["glu", "glu_backward"]
        l64, r64, dy64 = l.detach().double(), r.detach().double(), dy.double()
        close(y.detach(), double(exact, l64) * r64, dtype, gate.p, r64.abs())
        close(dz[..., : shape[-1]], double(exact.grad, l64) * r64 * dy64, dtype, gate.p, (r64 * dy64).abs())
        close(dz[..., -shape[-1] :], double(exact, l64) * dy64, dtype, gate.p, dy64.abs())


@every_gate
def test_gradients_are_those_of_differences(gate):
    """The kernel's slope beside central differences of the exact value, away from 0, where ReLU has a kink and SQS jumps."""
    h = torch.linspace(0.05, 8, 160).repeat(2) * torch.tensor([1.0, -1.0]).repeat_interleave(160)
    dh, exact, step = torch.empty_like(h), single(gate), 1e-5
    _triton.glu_backward(_specs.of_core(gate), h, None, torch.ones_like(h), dh, None)
    x = h.double().numpy()
    differences = (exact(x + step) - exact(x - step)) / (2 * step)
    # step^2 times a third derivative, which for p = 40 is some p^2 = 1600, and the roundings of the values over the step.
    np.testing.assert_allclose(dh.numpy(), differences, rtol=1e-6 * max(1, gate.p), atol=1e-9 * max(1, gate.p) ** 2 + 2e-7)


def test_gradients_over_their_inputs(monkeypatch):
    gpu(monkeypatch)
    torch.manual_seed(0)
    z = torch.randn(6, 20, requires_grad=True)
    l, r = (z * 1).chunk(2, dim=-1)
    a, b = (t.detach().clone().requires_grad_() for t in (l, r))
    wanted = torch.autograd.grad(gt.glu(a, b).sum(), (a, b))
    y = gt.glu(l, r, overwrite=True)
    before = [t.data_ptr() for t in (l, r)]
    got = torch.autograd.grad(y.sum(), (l, r), retain_graph=True)
    assert [t.data_ptr() for t in got] == before and all(torch.equal(g, w) for g, w in zip(got, wanted))
    with pytest.raises(RuntimeError, match="modified"):
        torch.autograd.grad(y.sum(), (l, r))
    # What others hold is left alone.
    y = gt.glu(a, b, overwrite=True)
    copy = a.detach().clone()
    y.sum().backward()
    assert torch.equal(a, copy) and torch.equal(a.grad, wanted[0])


def test_checkpoints_and_second_derivatives(monkeypatch):
    from torch.utils.checkpoint import checkpoint

    gpu(monkeypatch)
    torch.manual_seed(0)
    l, r = (torch.randn(4, 10, requires_grad=True) for _ in range(2))
    wanted = torch.autograd.grad(gt.glu(l, r).square().sum(), (l, r))
    got = torch.autograd.grad(checkpoint(lambda a, b: gt.glu(a, b).square().sum(), l, r, use_reentrant=False), (l, r))
    assert all(torch.equal(a, b) for a, b in zip(got, wanted))
    (first,) = torch.autograd.grad(gt.glu(l, r, "silu").sum(), l, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), l)
    l64 = l.detach().double().requires_grad_()
    (first64,) = torch.autograd.grad((torch.nn.functional.silu(l64) * r.double()).sum(), l64, create_graph=True)
    assert torch.allclose(second.double(), torch.autograd.grad(first64.sum(), l64)[0], atol=1e-5)


def test_rows_that_are_2_to_the_31_elements_apart():
    """Memory that nobody touches costs nothing: two rows, one at either end of four gigabytes."""
    apart = 2**31 + 64
    try:
        base = torch.empty(apart + 16, dtype=torch.bfloat16)
    except RuntimeError:
        pytest.skip("no four gigabytes of addresses")
    l = base.as_strided((2, 16), (apart, 1))
    l.copy_(torch.linspace(-2, 2, 32).view(2, 16))
    y = torch.empty(2, 16, dtype=torch.bfloat16)
    _triton.glu(_specs.spec("sqs"), l, l, y)
    x = l.double()
    close(y, double(glint.gate("sqs"), x) * x, torch.bfloat16)


def test_scalars_that_come_as_doubles():
    """As from Inductor: what is computed does not change."""
    h, s = torch.linspace(-3, 3, 64), _specs.spec("sqs", c=0.1, lam=0.7)
    y, again = torch.empty_like(h), torch.empty_like(h)
    _triton.glu(s, h, None, y)
    more = _triton.constants(s, False, 64, False)
    _triton.forward[(1,)](h, h, again, 64, 64, 64, 64, np.float64(0.1), np.float64(0.7), **more)
    assert torch.equal(y, again)
