"""glint.torch's functions and modules: the fused loops beside plain operations, and where each of them is used."""

import copy
import os
import pickle
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

import glint  # noqa: E402
import glint.torch as gt  # noqa: E402
from glint.torch import _functions, _plain, _specs  # noqa: E402

pytestmark = pytest.mark.full

GATES = [glint.gate(name) for name in glint.gates.names()] + [
    glint.gate("sqs", c=0.3, lam=2, p=2.5),
    glint.gate("sqs", c=-0.2, lam=0, p=3),
    glint.gate("sqs", c=0, lam=1.5, p=0.5),
    glint.gate("sqs", c=0.1, lam=3, p=40),
]
GATE_IDS = [f"{g.name}-{g.c:g}-{g.lam:g}-{g.p:g}" if g.has_options else g.name for g in GATES]
every_gate = pytest.mark.parametrize("gate", GATES, ids=GATE_IDS)
needs_2 = pytest.mark.skipif(int(torch.__version__.split(".")[0]) < 2, reason="PyTorch 2")


def points(dtype=torch.float32):
    """Both tails, around 0 and where the shrink of lam = 0.5, 1.5, 2 and 3 turns over."""
    h = torch.logspace(-6, 2, 50, dtype=torch.float64)
    turns = torch.tensor([2.0, 2 / 3, 0.5, 1 / 3, 1.0, 20.0, 100.0], dtype=torch.float64)
    half = torch.cat([h, turns]).float().double()  # the same numbers in both dtypes
    return torch.cat([half, -half]).to(dtype)


def glu_tensors(shape=(5, 24), dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_() for _ in range(3)]


class Spy:
    """Stands before the kernels of a gate and notes the addresses of the inputs that they are given."""

    def __init__(self, core):
        self.core, self.calls = core, []

    def _gate_at(self, h, *more):
        self.calls.append(("value", [h]))
        return self.core._gate_at(h, *more)

    def _gate_backward_at(self, h, dy, *more):
        self.calls.append(("slope", [h, dy]))
        return self.core._gate_backward_at(h, dy, *more)

    def _glu_at(self, l, l_row, r, *more):
        self.calls.append(("forward", [l, r]))
        return self.core._glu_at(l, l_row, r, *more)

    def _glu_backward_at(self, l, l_row, r, r_row, dy, *more):
        self.calls.append(("back", [l, r, dy]))
        return self.core._glu_backward_at(l, l_row, r, r_row, dy, *more)


@pytest.fixture(autouse=True)
def fused_however_short(monkeypatch):
    monkeypatch.setattr(_functions, "_SHORT", 0)


def spied(name="sqs"):
    s = _specs.spec(name)
    spy = Spy(s.core)
    return _specs.Spec(s.name, s.c, s.lam, s.p, s.function, spy, s.has_options), spy


# ---- values and gradients --------------------------------------------------------------------------------------


# The kernels keep 1e-6 of a gate's value and of the largest slope (tests/kernels compares them with the reference);
# a product or two in float32 adds 2^-23.
def close(got, wanted, scale=1.0):
    assert got.dtype == torch.float32
    bound = 2e-6 * torch.maximum(wanted.abs(), torch.full_like(wanted, scale))
    assert torch.isfinite(got).all()
    assert ((got.double() - wanted).abs() <= bound).all()


@every_gate
def test_plain_is_the_reference(gate):
    h = points(torch.float64)
    s = _specs.of_core(gate)
    wanted = torch.from_numpy(gate(h.numpy()))
    # gelu of PyTorch is 1 + erf, which loses its lower tail: absolute there
    assert ((s.plain(h) - wanted).abs() <= 1e-12 * wanted.abs() + 1e-14).all()
    h.requires_grad_()
    (slope,) = torch.autograd.grad(s.plain(h).sum(), h)
    wanted = torch.from_numpy(gate.grad(h.detach().numpy()))
    assert ((slope - wanted).abs() <= 1e-9 * wanted.abs() + 1e-12).all()


@every_gate
def test_code_of_the_table_is_the_same_function(gate):
    """A gate that PyTorch does not have is made from its code: for those it has the two agree."""
    h = points(torch.float64).requires_grad_()
    made = _plain.from_code(gate.code)(h, gate.c, gate.lam, gate.p)
    own = _specs.of_core(gate).plain(h)
    assert ((made - own).abs() <= 1e-12 * own.abs() + 1e-14).all()
    if not (gate.name == "sqs" and gate.p < 1):  # its infinite slope at 0 is not among these points, though
        slopes = [torch.autograd.grad(y.sum(), h, retain_graph=True)[0] for y in (made, own)]
        assert torch.allclose(*slopes, rtol=1e-9, atol=1e-12)


@every_gate
def test_slope_code_of_the_table_is_the_slope(gate):
    h = points(torch.float64)
    wanted = torch.from_numpy(gate.grad(h.numpy()))
    assert torch.allclose(_specs.of_core(gate).slope(h), wanted, rtol=1e-9, atol=1e-12)


def test_gelu_within_2_units_in_the_last_place():
    h = torch.cat([-torch.logspace(-6, 1.11, 100_001), torch.randn(100_000), torch.linspace(-13, 13, 100_001)])
    exact = torch.from_numpy(glint.gate("gelu")(h.double().numpy()))
    _, exponent = torch.frexp(exact)
    unit = torch.ldexp(torch.ones_like(exact), exponent - 24)
    ulps = (gt.gate(h, "gelu").double() - exact).abs() / unit
    assert float(ulps[exact.abs() > 2.0**-126].max()) <= 2


@every_gate
def test_gate_in_float32(gate):
    h = points().requires_grad_()
    wanted_h = points(torch.float64).requires_grad_()
    y, wanted = gt.gate(h, gate), _specs.of_core(gate).plain(wanted_h)
    dy = torch.linspace(-2, 2, len(h))
    (dh,) = torch.autograd.grad(y, h, dy)
    (wanted_dh,) = torch.autograd.grad(wanted, wanted_h, dy.double())
    close(y.detach(), wanted.detach())
    close(dh, wanted_dh, scale=2 * float(wanted_dh.abs().max()) if gate.p < 1 else 2.0)


@every_gate
@pytest.mark.parametrize("shape", [(5, 24), (7,), (2, 3, 33), (300, 257), (0, 4), (1, 1)])
def test_glu_in_float32(gate, shape):
    l, r, dy = glu_tensors(shape)
    l64, r64 = (t.detach().double().requires_grad_() for t in (l, r))
    y = gt.glu(l, r, gate)
    wanted = _specs.of_core(gate).plain(l64) * r64
    got = torch.autograd.grad(y, (l, r), dy.detach())
    grads = torch.autograd.grad(wanted, (l64, r64), dy.detach().double())
    for a, b in zip((y.detach(), *got), (wanted.detach(), *grads)):
        close(a, b, scale=16.0)  # products of three normal numbers


@every_gate
def test_gradcheck(gate):
    s = _specs.of_core(gate)
    generator = torch.Generator().manual_seed(1)
    # away from 0, where ReLU has a kink and SQS jumps
    l = (torch.rand(6, generator=generator, dtype=torch.float64) + 0.2) * torch.tensor([1, -1, 1, -1, 1, -1.0]).double()
    r = torch.randn(6, generator=generator, dtype=torch.float64)
    l.requires_grad_(), r.requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: gt.glu(a, b, s), (l, r))
    assert torch.autograd.gradcheck(lambda a: gt.gate(a, s), (l,))
    assert torch.autograd.gradgradcheck(lambda a, b: gt.glu(a, b, s), (l, r))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_slope_at_0(dtype):
    for c, lam in [(0.01, 0.5), (0.25, 2.0), (-0.5, 0.5), (0.5, 0.0)]:
        h = torch.tensor([0.0, -0.0], dtype=dtype, requires_grad=True)
        y = gt.sqs(h, c, lam)
        y.sum().backward()
        assert torch.equal(y.detach(), torch.full((2,), -c, dtype=dtype))
        assert torch.allclose(h.grad, torch.full((2,), 1 + lam * c, dtype=dtype))


def test_sqs_without_shift_has_no_nan_at_0():
    h = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    gt.sqs(h, c=0, lam=0.5, p=0.5).sum().backward()
    assert torch.equal(h.grad, torch.ones(3, dtype=torch.float64))


@every_gate
def test_double_backward_of_the_fused_path(gate):
    s = _specs.of_core(gate)

    def second(dtype):
        l, r, dy = glu_tensors((4, 6), dtype)
        z = torch.cat([l, r], dim=-1).detach().requires_grad_()
        y = gt.glu(l, r, s) + _functions.stacked_glu(z, s) + gt.gate(l, s)
        first = torch.autograd.grad(y, (l, r, z), dy, create_graph=True)
        return torch.autograd.grad(sum(g.square().sum() for g in first), (l, r, z, dy))

    for got, wanted in zip(second(torch.float32), second(torch.float64)):
        assert torch.allclose(got.double(), wanted, rtol=1e-3, atol=1e-4 * float(1 + wanted.abs().max()))


def test_one_tensor_twice():
    x = torch.randn(6, requires_grad=True)
    for graph in (False, True):
        (got,) = torch.autograd.grad(gt.glu(x, x, "silu").sum(), x, create_graph=graph)
        (wanted,) = torch.autograd.grad((torch.nn.functional.silu(x) * x).sum(), x)
        assert torch.allclose(got, wanted, rtol=1e-5, atol=1e-6)


# ---- which path ------------------------------------------------------------------------------------------------


def test_no_copies():
    s, spy = spied()
    l, r, dy = glu_tensors((16, 8))
    gt.glu(l, r, s).backward(dy.detach())
    z = torch.randn(16, 16, requires_grad=True)
    halves = z.chunk(2, dim=-1)
    gt.glu(*halves, s).backward(dy.detach())
    _functions.stacked_glu(z, s).backward(dy.detach())
    gt.gate(l, s).backward(dy.detach())
    pair, half = [l.data_ptr(), r.data_ptr()], [z.data_ptr(), z.data_ptr() + 8 * 4]
    assert spy.calls == [
        ("forward", pair),
        ("back", [*pair, dy.data_ptr()]),
        ("forward", half),
        ("back", [*half, dy.data_ptr()]),
        ("forward", half),
        ("back", [*half, dy.data_ptr()]),
        ("value", pair[:1]),
        ("slope", [l.data_ptr(), dy.data_ptr()]),
    ]


def test_results_are_written_where_they_belong():
    """The loops write straight into PyTorch's memory: rows of any alignment, none of their neighbours."""
    base = torch.full((9, 40), 7.0)
    l, r = base[1:8, 3:14], base[1:8, 19:30]
    y = gt.glu(l, r, "identity")
    assert torch.equal(y, torch.full((7, 11), 49.0)) and torch.equal(base, torch.full((9, 40), 7.0))


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.double(),
        lambda t: t.bfloat16(),
        lambda t: t.half(),
        lambda t: t.to("meta"),
        lambda t: t.t(),
        lambda t: t[:, ::2],
    ],
    ids=["double", "bfloat16", "half", "meta", "transposed", "every second"],
)
def test_other_tensors_take_plain_operations(change):
    s, spy = spied()
    l, r = (change(torch.randn(4, 6)) for _ in range(2))
    y = gt.glu(l, r, s)
    assert not spy.calls and y.shape == l.shape and y.dtype == l.dtype and y.device == l.device


def test_shapes_that_broadcast():
    s, spy = spied("silu")
    l, r = torch.randn(4, 6), torch.randn(6)
    assert torch.allclose(gt.glu(l, r, s), torch.nn.functional.silu(l) * r) and not spy.calls


def test_gradients_without_memory_of_their_own():
    l, r, _ = glu_tensors((4, 6))
    gt.glu(l, r).sum().backward()  # the gradient is one number, seen everywhere
    ones = torch.autograd.grad(gt.glu(l, r), (l, r), torch.ones(4, 6))
    assert torch.equal(l.grad, ones[0]) and torch.equal(r.grad, ones[1])


@needs_2
def test_default_device_and_dtype_do_not_matter():
    l, r, _ = glu_tensors((4, 6))
    wanted = gt.glu(l, r)
    torch.set_default_dtype(torch.float64)
    try:
        with torch.device("meta"):
            got = gt.glu(l, r)
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.equal(got, wanted)


def test_inputs_that_changed_are_noticed():
    l, r, dy = glu_tensors()
    l2 = l * 1
    y = gt.glu(l2, r)
    l2.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward(dy)


def test_nan_and_infinity():
    h = torch.tensor([float("nan"), float("inf"), -float("inf")])
    y = gt.sqs(h)
    assert torch.isnan(y[0]) and y[1] == 2 and y[2] == -2


def test_bad_arguments():
    for call in (
        lambda: gt.glu(torch.ones(2), torch.ones(2), "relo"),
        lambda: gt.sqs(torch.ones(2), lam=-1.0),
        lambda: gt.SQS(p=0),
        lambda: gt.GLU(2, 2, gate=3),
    ):
        with pytest.raises(glint.UsageError):
            call()


# ---- compile, transforms, modes --------------------------------------------------------------------------------


@needs_2
@every_gate
def test_compile_without_graph_break(gate):
    s = _specs.of_core(gate)
    torch._dynamo.reset()

    @torch.compile(fullgraph=True, backend="aot_eager")
    def step(l, r):
        return gt.glu(l, r, s) + gt.gate(l, s)

    l, r, dy = glu_tensors()
    got = torch.autograd.grad(step(l, r), (l, r), dy)
    wanted = torch.autograd.grad(gt.glu(l, r, s) + gt.gate(l, s), (l, r), dy)
    for a, b in zip(got, wanted):
        assert torch.allclose(a, b, rtol=1e-4, atol=1e-5 * float(1 + b.abs().max()))


@needs_2
def test_compile_takes_names_and_options():
    torch._dynamo.reset()
    mlp, gate = gt.GLU(6, 8, 4, gate=gt.SQS(lam=0.25)), gt.SQS(lam=1)

    @torch.compile(fullgraph=True, backend="aot_eager")
    def model(x):
        return mlp(x), gt.glu(x, x, "silu"), gt.sqs(x, 0.02, 0.25, 2.0), gt.glu(x, x, gate)

    x = torch.randn(3, 6)
    wanted = mlp(x), gt.glu(x, x, "silu"), gt.sqs(x, 0.02, 0.25, 2.0), gt.glu(x, x, gate)
    for a, b in zip(model(x), wanted):
        assert torch.allclose(a, b, rtol=1e-5, atol=1e-6)


@needs_2
def test_inductor():
    torch._dynamo.reset()
    mlp = gt.GLU(6, 8, 4, gate="sqs")
    x = torch.cat([torch.randn(3, 6), torch.zeros(1, 6)]).requires_grad_()
    wanted = mlp(x)
    (wanted_dx,) = torch.autograd.grad(wanted.sum(), x)
    got = torch.compile(mlp, fullgraph=True)(x)
    (dx,) = torch.autograd.grad(got.sum(), x)
    assert torch.allclose(got, wanted, rtol=1e-5, atol=1e-6)
    assert torch.allclose(dx, wanted_dx, rtol=1e-5, atol=1e-6)  # with the slope at 0: the last row


@needs_2
def test_transforms():
    l, r, dy = (t.detach() for t in glu_tensors((5, 8)))
    y = gt.glu(l, r)
    assert torch.allclose(torch.func.vmap(gt.glu)(l, r), y, atol=1e-6)
    dl = torch.func.grad(lambda a: (gt.glu(a, r) * dy).sum())(l)
    left = l.clone().requires_grad_()
    (wanted,) = torch.autograd.grad(gt.glu(left, r), left, dy)
    assert torch.allclose(dl, wanted, atol=1e-5)
    _, tangent = torch.func.jvp(lambda a: gt.glu(a, r), (l,), (dy,))
    assert torch.allclose(tangent, wanted, atol=1e-5)  # both are dy r gate'(l)
    diagonal = torch.func.jacrev(gt.sqs)(l[0]).diagonal()
    assert torch.allclose(diagonal, torch.from_numpy(glint.gate("sqs").grad(l[0].numpy())), atol=1e-6)


def test_forward_mode():
    l, r, dy = (t.detach() for t in glu_tensors((5, 8)))
    with torch.autograd.forward_ad.dual_level():
        y = gt.glu(torch.autograd.forward_ad.make_dual(l, dy), r)
        tangent = torch.autograd.forward_ad.unpack_dual(y).tangent
    assert torch.allclose(tangent.double(), (dy * r).double() * torch.from_numpy(glint.gate("sqs").grad(l.numpy())), atol=1e-5)


def test_many_gradients_at_once():
    l, r, _ = glu_tensors((8,))
    y = gt.glu(l, r)
    rows, _ = torch.autograd.grad(y, (l, r), torch.eye(8), is_grads_batched=True, retain_graph=True)
    (one,) = torch.autograd.grad(y.sum(), l)
    assert torch.allclose(rows.diagonal(), one, atol=1e-6)


def test_jit_trace():
    traced = torch.jit.trace(lambda l, r: gt.glu(l, r, "sqs"), (torch.randn(3, 4), torch.randn(3, 4)))
    l, r = torch.randn(3, 4), torch.randn(3, 4)
    assert torch.allclose(traced(l, r), gt.glu(l, r), atol=1e-6)


# ---- modules ---------------------------------------------------------------------------------------------------


def test_glu_module():
    mlp = gt.GLU(6, 8, 4, gate="silu", bias=True)
    x = torch.randn(2, 3, 6)
    l, r = mlp.w(x).chunk(2, dim=-1)
    assert torch.allclose(mlp(x), mlp.p(torch.nn.functional.silu(l) * r), atol=1e-6)
    assert torch.equal(torch.cat([mlp.L, mlp.R]), mlp.w.weight) and mlp.P is mlp.p.weight
    assert gt.GLU(6, 8)(x).shape == (2, 3, 8) and gt.GLU(6, 8).P is None
    assert "SQS(c=0.01, lam=0.25, p=1)" in repr(gt.GLU(6, 8, gate=gt.SQS(lam=0.25)))


def test_modules_can_be_copied_and_stored():
    mlp = gt.GLU(6, 8, 4, gate=glint.gate("sqs", lam=0.125))
    x = torch.randn(3, 6)
    for other in (copy.deepcopy(mlp), pickle.loads(pickle.dumps(mlp))):
        assert other.gate.spec.lam == 0.125 and torch.equal(other(x), mlp(x))
    assert torch.allclose(mlp.double()(x.double()).float(), other(x), atol=1e-6)


def test_a_model_learns():
    torch.manual_seed(0)
    x = torch.randn(256, 8)
    target = (x[:, :1] * x[:, 1:2]).tanh()
    model = torch.nn.Sequential(gt.GLU(8, 16, 1, gate="sqs"))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(150):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 * losses[0]


# ---- threads and processes -------------------------------------------------------------------------------------


class _Dataset(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        return gt.sqs(torch.full((400, 400), float(i)))


def test_workers_of_a_data_loader():
    gt.sqs(torch.ones(400, 400))  # the parent has threads already when it forks
    loader = torch.utils.data.DataLoader(_Dataset(), batch_size=2, num_workers=2, timeout=60)
    means = [float(b[i].mean()) for b in loader for i in range(2)]
    assert means == pytest.approx([float(gt.sqs(torch.tensor([float(i)]))) for i in range(4)], abs=1e-6)


def test_the_number_of_threads_is_that_of_pytorch(monkeypatch):
    s, _ = spied()
    seen = []

    class Counter(Spy):
        def _glu_at(self, *more):
            seen.append(more[-1])
            return self.core._glu_at(*more)

    s = _specs.Spec(s.name, s.c, s.lam, s.p, s.function, Counter(s.core.core), True)
    before = torch.get_num_threads()
    big = torch.randn(512, 512)
    results = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(gt.glu(big, big, s))
    finally:
        torch.set_num_threads(before)
    assert seen == [1, 2, 3]
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])


def test_short_tensors_are_left_to_a_kernel_of_pytorch(monkeypatch):
    monkeypatch.undo()
    for name, fused in (("silu", [False, True]), ("sqs", [True, True])):
        for n, expected in zip((_functions._SHORT - 1, _functions._SHORT), fused):
            s, spy = spied(name)
            s = _specs.Spec(s.name, s.c, s.lam, s.p, s.function, spy, s.has_options, _specs.spec(name).own)
            l = torch.linspace(-3, 3, n, requires_grad=True)
            gt.glu(l, l, s)
            assert bool(spy.calls) == expected


def test_a_gradient_whose_sign_is_yet_to_change():
    l, r, dy = glu_tensors()
    wanted = torch.autograd.grad(gt.glu(l, r, "sqs"), (l, r), -dy.detach())
    lazy = torch.view_as_complex(torch.stack([torch.zeros_like(dy), dy.detach()], -1)).conj().imag
    assert lazy.is_neg()
    for a, b in zip(torch.autograd.grad(gt.glu(l, r, "sqs"), (l, r), lazy), wanted):
        assert torch.equal(a, b)


def in_another_process(code):
    """What it prints. A crash is then no crash of the tests."""
    program = "import torch, glint, glint.torch as gt\nn = 1 << 15\n" + code
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    back = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, env=environment)
    assert back.returncode == 0, back
    return back.stdout


@needs_2
def test_stand_ins_of_functionalisation_are_plain_operations():
    in_another_process("""
h = torch.linspace(-3, 3, n).view(16, -1)
for name in glint.gates.names():
    f = torch._to_functional_tensor(h)
    for call in (lambda x: gt.gate(x, name), lambda x: gt.glu(x, x, name)):
        got = call(f)
        torch._sync(got)
        # GELU of PyTorch is absolute to some 1e-6 in its lower tail, here times 3.
        assert torch.allclose(torch._from_functional_tensor(got), call(h), rtol=1e-5, atol=1e-5), name
try:
    glint.gate("sqs")(torch._to_functional_tensor(h))
    raise SystemExit("accepted")
except glint.UsageError as e:
    assert "without memory" in str(e), e
""")


@needs_2
def test_a_tensor_whose_memory_was_given_back_is_refused():
    in_another_process("""
def freed(size, first=0):
    t = torch.ones(first + 2 * n)[first:].view(16, -1)
    t.untyped_storage().resize_(size)
    return t

for t in (freed(0), freed(0, first=64), freed(64), freed(4 * 2 * n, first=64)):
    for call in (gt.sqs, lambda x: gt.glu(x, x), lambda x: gt.glu(torch.ones_like(x), x), lambda x: gt.GLU(2 * n // 16, 4).w(gt.glu(x, x, "silu"))):
        try:
            call(t)
            raise SystemExit("accepted")
        except glint.UsageError as e:
            assert "storage" in str(e), e
# Between forward and back.
h = torch.ones(16, n // 16, requires_grad=True)
l = h * 1
y = gt.sqs(l)
l.untyped_storage().resize_(0)
try:
    y.sum().backward()
    raise SystemExit("accepted")
except glint.UsageError as e:
    assert "storage" in str(e), e
assert gt.sqs(torch.ones(0, 4)).shape == (0, 4)
""")
