"""PyTorch and JAX as fast as they go on this machine, so that a comparison with them means something.

The matrix products of PyTorch are MKL's. On processors that are not Intel's, MKL takes its SSE kernels: nine times slower
than the processor can. A library of one function, loaded first, has it take those that the processor has. glibc gives
large activations back to the system after every step unless told not to. All of this is read when the libraries load, so a
peer is a process of its own, started with `environment`."""
import os
import pathlib
import subprocess
import time

BUILD = pathlib.Path(__file__).resolve().parent.parent.parent / "build"
MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(4 << 30), "MALLOC_TRIM_THRESHOLD_": str(16 << 30), "MALLOC_TOP_PAD_": str(64 << 20)}


def cpu():
    """The fields of /proc/cpuinfo for the first processor."""
    with open("/proc/cpuinfo") as f:
        first = f.read().split("\n\n")[0]
    return {k.strip(): v.strip() for k, v in (line.split(":", 1) for line in first.splitlines() if ":" in line)}


def cpu_flags():
    return set(cpu().get("flags", "").split())


def has_bf16():
    return bool({"amx_bf16", "avx512_bf16"} & cpu_flags())


def mkl_preload():
    """The library that has MKL use all of a processor that is not Intel's; "" on Intel's."""
    if cpu().get("vendor_id") == "GenuineIntel":
        return ""
    library = BUILD / "peers" / "mkl_full.so"
    if not library.exists():
        library.parent.mkdir(parents=True, exist_ok=True)
        part = library.with_suffix(".%d" % os.getpid())
        subprocess.run(["g++", "-shared", "-fPIC", "-x", "c++", "-o", part, "-"], check=True, text=True,
                       input='extern "C" int mkl_serv_intel_cpu_true() { return 1; }\n')
        part.rename(library)
    return str(library)


def environment(peer, threads):
    """What a peer's process is started with. "installed" is PyTorch as it comes, but for the number of threads."""
    env = {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads), "NPROC": str(threads), "TORCHINDUCTOR_CACHE_DIR": str(BUILD / "peers" / "inductor")}
    if peer == "installed":
        return env
    if mkl_preload():
        env["LD_PRELOAD"] = mkl_preload()
    if peer == "jax" and threads == 1:
        env["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    return dict(env, JAX_PLATFORMS="cpu", **MALLOC)


def busy(seconds=2):
    """How many processors other programs keep busy, measured while this one sleeps."""
    def idle():
        with open("/proc/stat") as f:
            fields = [int(v) for v in f.readline().split()[1:]]
        return fields[3] + fields[4]

    before, start = idle(), time.monotonic()
    time.sleep(seconds)
    spent = (time.monotonic() - start) * os.sysconf("SC_CLK_TCK")
    return max(0.0, os.cpu_count() - (idle() - before) / spent)


def machine():
    """The processor, the flags that matter, the libraries' versions and their tuning, for the head of a report."""
    from importlib.metadata import PackageNotFoundError, version

    def installed(package):
        try:
            return version(package)
        except PackageNotFoundError:
            return None

    fields = cpu()
    model = "%s (family %s model %s)" % (fields.get("model name"), fields.get("cpu family"), fields.get("model"))
    flags = [f for f in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if f in cpu_flags()]
    tuning = ["malloc keeps its memory"]
    if mkl_preload():
        tuning.insert(0, "MKL takes all of the processor, which it otherwise does on Intel's alone")
    return {"cpu": model, "flags": flags, "cores": os.cpu_count(), "torch": installed("torch"), "jax": installed("jax"),
            "tuning": tuning, "busy": busy()}
