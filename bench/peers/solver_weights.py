"""The layers that bench_solver.py decomposes: one as wide as that of an 8B model, whose weights are noise with a few strong
directions, as trained ones are, and the layers of stories15M."""
import json
import pathlib
import struct

import numpy as np

RANK, STRENGTH = 64, 0.15  # of the strong directions, beside noise of variance 1


def write_safetensors(path, tensors):
    """tensors: name -> (dtype, array)."""
    head, at = {}, 0
    for name, (dtype, a) in tensors.items():
        head[name] = {"dtype": dtype, "shape": list(a.shape), "data_offsets": [at, at + a.nbytes]}
        at += a.nbytes
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 64)
    part = pathlib.Path(str(path) + ".part")
    with open(part, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for _, a in tensors.values():
            a.tofile(f)
    part.rename(path)


def to_bf16(a):
    return ((a.view(np.uint32) + 0x8000) >> 16).astype(np.uint16)


def wide(folder, width, hidden):
    """Paths of the same layer in f32 and rounded to bf16, and of the weights of its hidden units. Made once."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {t: folder / ("layer-%d-%d-%s.safetensors" % (width, hidden, t)) for t in ("f32", "bf16")}
    q = folder / ("q-%d.npy" % hidden)
    if not all(p.exists() for p in paths.values()):
        random = np.random.default_rng(1)
        strong = random.standard_normal((RANK, width), dtype=np.float32)
        sizes = (STRENGTH * np.arange(1, RANK + 1) ** -0.5).astype(np.float32)
        halves = {}
        for name in ("gate", "up"):
            halves[name] = random.standard_normal((hidden, width), dtype=np.float32)
            halves[name] += (random.standard_normal((hidden, RANK), dtype=np.float32) * sizes) @ strong
            halves[name] *= np.float32(0.02)
        norm = (1 + 0.2 * random.standard_normal(width)).astype(np.float32)
        np.save(q, random.standard_normal(hidden) / np.sqrt(hidden))
        write_safetensors(paths["bf16"], {**{n: ("BF16", to_bf16(a)) for n, a in halves.items()}, "norm": ("F32", norm)})
        write_safetensors(paths["f32"], {**{n: ("F32", a) for n, a in halves.items()}, "norm": ("F32", norm)})
    return {t: str(p) for t, p in paths.items()}, str(q)


def llama2c(path, layer):
    """left, right, norm, down of a layer, the final norm and the head of a llama2.c file of version 0."""
    with open(path, "rb") as f:
        dim, hidden, layers, heads, kv, vocab, _ = struct.unpack("<7i", f.read(28))
        data = np.frombuffer(f.read(), dtype="<f4")
    at = [0]

    def take(*shape):
        n = int(np.prod(shape))
        at[0] += n
        return data[at[0] - n:at[0]].reshape(shape)

    head, keys = take(abs(vocab), dim), kv * dim // heads
    take(layers, dim), take(layers, dim, dim), take(layers, keys, dim), take(layers, keys, dim), take(layers, dim, dim)
    norm, left, down, right = take(layers, dim), take(layers, hidden, dim), take(layers, dim, hidden), take(layers, hidden, dim)
    return left[layer], right[layer], norm[layer], down[layer], take(dim), head


def layer(case):
    """left, right, norm and q of a case, as arrays; bf16 is not read here."""
    q = np.load(case["q"])
    if case["file"].endswith(".bin"):
        return llama2c(case["file"], case["layer"])[:3] + (q,)
    with open(case["file"], "rb") as f:
        n, = struct.unpack("<Q", f.read(8))
        head = json.loads(f.read(n))
    data = np.memmap(case["file"], dtype=np.uint8, mode="r", offset=8 + n)

    def tensor(name):
        begin, end = head[name]["data_offsets"]
        return data[begin:end].view("<f4").reshape(head[name]["shape"])

    return tensor("gate"), tensor("up"), np.array(tensor("norm")), q
