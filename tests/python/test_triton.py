"""The kernels for GPUs as far as no GPU is needed: their values in Triton's interpreter, what they are compiled to, and when they are
taken. What needs one is skipped without, and says so."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")

import glint  # noqa: E402
import glint.torch as gt  # noqa: E402
from glint.torch import _functions, _specs, _triton  # noqa: E402

pytestmark = pytest.mark.full
TABLE = Path(__file__).resolve().parents[1] / "golden" / "triton_bytes.json"
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU: not tested here")

GATES = [*map(glint.gate, glint.gates.names()), glint.gate("sqs", p=2.5)]
GATE_IDS = [g.name if g.p == 1 else f"{g.name}, p {g.p:g}" for g in GATES]
TYPES = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}


def test_values_in_the_interpreter():
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(Path(__file__).with_name("test_triton_values.py"))]
    back = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=1200)
    marks = "".join(line.split("[")[0].strip() for line in back.stdout.splitlines() if line.endswith("%]"))
    assert back.returncode == 0 and len(marks) > 80 and set(marks) == {"."}, back.stdout[-4000:] + back.stderr[-2000:]


def compiled(gate, kernel, glu, dtype, target, scalars="fp32", block=1024):
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    names = kernel.arg_names
    constants = _triton.constants(_specs.of_core(gate), glu, block, kernel is _triton.backward)
    pointers = {"l", "r", "y", "dy", "dl", "dr"}
    signature = {
        n: "constexpr" if n in constants else "*" + TYPES[dtype] if n in pointers else scalars if n in ("c", "lam") else "i64" for n in names
    }
    aligned = {(i,): [["tt.divisibility", 16]] for i, n in enumerate(names) if n not in constants and n not in ("c", "lam")}
    source = ASTSource(kernel, signature, constexprs={(names.index(n),): v for n, v in constants.items()}, attrs=aligned)
    where = GPUTarget("hip", target, 64) if isinstance(target, str) else GPUTarget("cuda", target, 32)
    return triton.compile(source, target=where, options={"enable_fp_fusion": True})


def moved(ptx, block=1024, threads=128):
    """Bytes per element that a kernel loads and stores."""
    found = {}
    for what in ("ld", "st"):
        wide = re.findall(rf"\b{what}\.global(?:\.v(\d))?\.b(\d+)", ptx)
        found[what] = sum(int(n or 1) * int(bits) // 8 for n, bits in wide) * threads / block
    return found["ld"], found["st"]


CASES = [("forward", True), ("forward", False), ("backward", True), ("backward", False)]
# Tensors that have to be read and written.
LEAST = {("forward", True): (2, 1), ("forward", False): (1, 1), ("backward", True): (3, 2), ("backward", False): (2, 1)}


def row_name(kernel, glu, dtype):
    return f"{kernel} of {'gate(l) r' if glu else 'gate(h)'}, {dtype}"


@pytest.mark.parametrize("gate", GATES, ids=GATE_IDS)
def test_bytes_of_every_kernel(gate):
    """No byte twice: what is counted in PTX is the least there is, and what the committed table says."""
    table = json.loads(TABLE.read_text())
    for name, glu in CASES:
        for dtype in TYPES:
            ptx = compiled(gate, getattr(_triton, name), glu, dtype, 90).asm["ptx"]
            size = torch.finfo(getattr(torch, dtype)).bits // 8
            loads, stores = LEAST[name, glu]
            if gate.name == "identity" and (name, glu) == ("backward", False):
                loads = 1  # its slope is 1 wherever it is
            assert moved(ptx) == (size * loads, size * stores), (name, glu, dtype)
            key = row_name(name, glu, dtype)
            assert list(moved(ptx)) == table[GATE_IDS[GATES.index(gate)]][key], key


@pytest.mark.parametrize("gate", GATES, ids=GATE_IDS)
@pytest.mark.parametrize("target", [80, 90, 100, "gfx942"], ids=lambda t: f"sm_{t}" if isinstance(t, int) else t)
def test_no_spills_and_no_doubles(gate, target, tmp_path):
    for kernel in (_triton.forward, _triton.backward):
        made = compiled(gate, kernel, True, "bfloat16", target)
        if isinstance(target, str):
            text = made.asm["amdgcn"]
            assert re.search(r"vgpr_spill_count:\s*0\b", text) and re.search(r"sgpr_spill_count:\s*0\b", text)
            assert re.search(r"private_segment_fixed_size:\s*0\b", text)
            assert made.asm["hsaco"] and not re.search(r"\bv_\w+_f64", text)
            continue
        assert not re.search(r"\.f64|\.local", made.asm["ptx"])
        assert re.search(r"cvt\.rn\.bf16", made.asm["ptx"]) or gate.name in ("identity", "relu")  # to the nearest
        cubin = tmp_path / "kernel.cubin"
        cubin.write_bytes(made.asm["cubin"])
        tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
        usage = subprocess.run([tool, "--dump-resource-usage", cubin], capture_output=True, text=True, check=True).stdout
        assert re.search(r"REG:\d+ STACK:0 .*LOCAL:0", usage), usage


def test_doubles_are_made_floats_at_once():
    """Scalars are doubles under Inductor: they are converted, and nothing is computed with them before."""
    ptx = compiled(glint.gate("sqs"), _triton.backward, True, "float32", 90, scalars="fp64").asm["ptx"]
    assert len(re.findall(r"cvt\.rn\.f32\.f64", ptx)) == 2
    assert not re.search(r"\b(add|sub|mul|fma|div|neg|abs|setp\.\w+)(\.\w+)*\.f64", ptx)


def test_offsets_have_64_bits():
    ptx = compiled(glint.gate("sqs"), _triton.forward, True, "float32", 90).asm["ptx"]
    assert not re.search(r"mul\.lo\.s32[^\n]*\n[^\n]*(cvt\.s64\.s32|mul\.wide)[^\n]*\n[^\n]*global", ptx)
    assert re.search(r"mul\.lo\.s64|mul\.wide", ptx)


def test_when_they_are_taken(monkeypatch):
    cpu = torch.ones(4)
    assert not _functions._on_gpu(cpu)

    class OnGpu:
        device = torch.device("cuda")

        def __init__(self, dtype):
            self.dtype = dtype

    for dtype, wanted in ((torch.float32, True), (torch.bfloat16, True), (torch.float16, True), (torch.float64, False)):
        assert _functions._on_gpu(OnGpu(dtype)) is wanted
    monkeypatch.setattr(_functions, "_triton", lambda: None)  # as where triton is not installed
    assert not _functions._on_gpu(OnGpu(torch.float32))


def test_glint_torch_does_not_import_triton():
    code = "import sys, torch, glint.torch as gt; gt.glu(torch.ones(3), torch.ones(3)); assert 'glint.torch._triton' not in sys.modules"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


# ---- torch.ops.glint -------------------------------------------------------------------------------------------

OPTIONS = ("sqs", 0.01, 0.5, 1.0)


def tensors(dtype=torch.float32, shape=(4, 6)):
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator).to(dtype).requires_grad_() for _ in range(2)]


@pytest.mark.parametrize("name", glint.gates.names())
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_operators(name, dtype):
    l, r = tensors(dtype)
    options = (name, *OPTIONS[1:])
    torch.library.opcheck(torch.ops.glint.glu, (l, r, *options))
    torch.library.opcheck(torch.ops.glint.gate, (l, *options))
    rounding = torch.finfo(dtype).eps
    wanted_y, y = gt.glu(l, r, name), torch.ops.glint.glu(l, r, *options)
    # The plain operations of half precision round after each of them, some four times.
    assert torch.allclose(y, wanted_y, rtol=4 * rounding, atol=4 * rounding)
    for got, wanted in zip(torch.autograd.grad(y.sum(), (l, r)), torch.autograd.grad(wanted_y.sum(), (l, r))):
        assert torch.allclose(got, wanted, rtol=8 * rounding, atol=8 * rounding)


def test_operators_under_compile_export_and_vmap():
    l, r = tensors()
    torch._dynamo.reset()
    step = torch.compile(lambda a, b: torch.ops.glint.glu(a, b, *OPTIONS) * 2, fullgraph=True, backend="aot_eager")
    got = torch.autograd.grad(step(l, r).sum(), (l, r))
    wanted = torch.autograd.grad(2 * gt.glu(l, r).sum(), (l, r))
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(got, wanted))

    class Model(torch.nn.Module):
        def forward(self, a, b):
            return torch.ops.glint.glu(a, b, *OPTIONS)

    graph = torch.export.export(Model(), (l, r))
    assert "glint.glu.default" in [str(n.target) for n in graph.graph.nodes]
    assert torch.equal(graph.module()(l, r), gt.glu(l, r))
    first = torch.func.vmap(lambda a, b: torch.ops.glint.glu(a, b, *OPTIONS), in_dims=(0, None))(l, r[0])
    assert torch.allclose(first, gt.glu(l, r[0].expand(4, 6)), atol=1e-6)
    each = torch.func.vmap(lambda a, b: torch.ops.glint.glu(a, b, *OPTIONS), in_dims=1)(l, r)
    assert torch.allclose(torch.autograd.grad(each.sum(), l)[0], wanted[0] / 2, atol=1e-6)
    exported = torch.export.export(gt.GLU(6, 8, 4), (l,))  # plain operations, which any backend knows
    assert not [n for n in exported.graph.nodes if "glint" in str(n.target)]


# ---- with a GPU ------------------------------------------------------------------------------------------------


@needs_gpu
@pytest.mark.parametrize("gate", GATES, ids=GATE_IDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_on_the_gpu_as_in_double(gate, dtype):
    s = _specs.of_core(gate)
    z = (2 * torch.randn(64, 2 * 1025, device="cuda")).to(dtype).requires_grad_()
    l, r = z.chunk(2, dim=-1)
    dy = torch.randn(64, 1025, device="cuda").to(dtype)
    (dz,) = torch.autograd.grad(gt.glu(l, r, s), z, dy)
    z64 = z.detach().double().requires_grad_()
    l64, r64 = z64.chunk(2, dim=-1)
    (wanted,) = torch.autograd.grad(s.plain(l64) * r64, z64, dy.double())
    bound = max(1e-5, torch.finfo(dtype).eps) * wanted.abs() + 1e-5
    assert ((dz.double() - wanted).abs() <= bound).all()


@needs_gpu
def test_on_the_gpu_under_compile():
    mlp = gt.GLU(64, 128, 64).cuda()
    x = torch.randn(8, 64, device="cuda")
    assert torch.allclose(torch.compile(mlp, fullgraph=True)(x), mlp(x), atol=1e-4)


def test_the_benchmark_of_appendix_c_runs_dry(tmp_path):
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(root / "bench" / "gpu" / "appendix_c.py")]
    out = tmp_path / "gpu-timing.json"
    back = subprocess.run([*command, "--dry", "--json", str(out)], capture_output=True, text=True, env=environment, timeout=600)
    assert back.returncode == 0 and "dry run" in back.stdout, back.stderr[-3000:]
    assert json.loads(out.read_text())["dry"] is True and not json.loads(out.read_text())["times"]
    if not torch.cuda.is_available():
        assert subprocess.run(command, capture_output=True, env=environment).returncode == 1
