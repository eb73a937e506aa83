"""PyTorch as fast as it goes on this machine, so that a comparison with it means something.

Debian's OpenBLAS does not know recent Intel cores and falls back to SSE kernels; Debian's PyTorch does not use AVX-512
unless told; glibc gives large activations back to the system after every step; two thread pools fight. `reexec` sets
what mends this and starts the script again, because all of it is read when the libraries load."""
import os
import sys

OPENMP_BLAS = "/usr/lib/x86_64-linux-gnu/openblas-openmp"


def cpu_flags():
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("flags"):
                return set(line.split(":")[1].split())
    return set()


def environment():
    env = {"MALLOC_MMAP_THRESHOLD_": str(4 << 30), "MALLOC_TRIM_THRESHOLD_": str(16 << 30),
           "MALLOC_TOP_PAD_": str(64 << 20)}
    if os.path.isdir(OPENMP_BLAS):
        env["LD_LIBRARY_PATH"] = OPENMP_BLAS
    if "avx512f" in cpu_flags():
        env["OPENBLAS_CORETYPE"] = "SkylakeX"
        env["ATEN_CPU_CAPABILITY"] = "avx512"
    return env


def reexec():
    """Starts this script again with the tuned environment, once."""
    if os.environ.get("GLINT_TUNED") == "1":
        return
    new = dict(os.environ, GLINT_TUNED="1", **environment())
    os.execve(sys.executable, [sys.executable] + sys.argv, new)


def has_bf16():
    return bool({"amx_bf16", "avx512_bf16"} & cpu_flags())


def machine():
    """The processor's own name, flags that matter, and the libraries' versions, for the head of a report."""
    import torch
    model = "unknown"
    with open("/proc/cpuinfo") as f:
        fields = {k.strip(): v.strip() for k, v in (l.split(":", 1) for l in f.read().split("\n\n")[0].splitlines() if ":" in l)}
    model = "%s (family %s model %s)" % (fields.get("model name"), fields.get("cpu family"), fields.get("model"))
    flags = [f for f in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if f in cpu_flags()]
    return {"cpu": model, "flags": flags, "cores": os.cpu_count(), "torch": torch.__version__,
            "tuning": environment()}
