#!/usr/bin/env python3
"""A GGUF file with a tensor of every type that glint widens, and what the `gguf` package (PyPI) widens each to.

  make_quantised.py FOLDER    writes quantised.gguf and quantised.safetensors (the same names, F32)

The package quantises F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0 and Q5_1 itself. It has no quantiser of the K types: their
blocks are random bytes with scales of a sensible size.
"""
import sys
from pathlib import Path

import gguf
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
import make_io  # noqa: E402

T = gguf.GGMLQuantizationType
ROWS = 2
# Where the f16 scales stand in a block.
SCALES = {T.Q2_K: [80, 82], T.Q3_K: [108], T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208]}


def random_blocks(rng, kind):
    _, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = rng.integers(0, 256, (ROWS, size), dtype=np.uint8)
    for at in SCALES[kind]:
        scale = rng.normal(0, 0.01, (ROWS, 1)).astype(np.float16)
        scale[0, 0] = 6e-8 if at == SCALES[kind][0] else scale[0, 0]  # a subnormal
        blocks[:, at:at + 2] = scale.view(np.uint8)
    return blocks


def main():
    folder = Path(sys.argv[1])
    rng = np.random.default_rng(5)
    writer = gguf.GGUFWriter(str(folder / "quantised.gguf"), "llama")
    writer.add_uint32("a.u32", 7)
    writer.add_int64("a.i64", -5)
    writer.add_float32("a.f32", 0.25)
    writer.add_bool("a.bool", True)
    writer.add_string("a.text", "gl\u00fcnt")
    writer.add_array("a.numbers", [1, -2, 3])
    writer.add_array("a.texts", ["one", "", "\u0434\u0432\u0430"])
    writer.add_array("a.reals", [i / 4 for i in range(100)])
    tensors = []
    for kind in [T.F32, T.F16, T.BF16, T.Q8_0, T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.Q2_K, T.Q3_K, T.Q4_K, T.Q5_K, T.Q6_K]:
        values = rng.normal(0, 1, (ROWS, 64)).astype(np.float32)
        values[0, :32] *= np.float32(1e-6)
        data = random_blocks(rng, kind) if kind in SCALES else gguf.quants.quantize(values, kind)
        wide = gguf.quants.dequantize(data, kind).astype(np.float32)
        name = kind.name.lower()
        if data.dtype == np.uint8:
            writer.add_tensor(name, data, raw_dtype=kind)
        else:
            writer.add_tensor(name, data)
        tensors.append((name, "F32", list(wide.shape), wide.tobytes()))
    writer.add_tensor("integers", np.arange(8, dtype=np.int32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    (folder / "quantised.safetensors").write_bytes(make_io.safetensors(tensors))


if __name__ == "__main__":
    main()
