#!/usr/bin/env python3
"""A run of a small language model with random weights: make_language_run.py TOKENIZER DIR VOCAB. Weights are a function
of their place, so that the run is the same everywhere."""
import hashlib
import json
import os
import shutil
import struct
import sys


def numbers(count, scale, start):
    out, state = [], start
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2 ** 64
        out.append(((state >> 33) / 2 ** 31 * 2 - 1) * scale)
    return struct.pack("<%df" % count, *out)


def main():
    tokenizer, folder = sys.argv[1:3]
    vocab, d, h, layers = int(sys.argv[3]), 16, 8, 2
    os.makedirs(folder, exist_ok=True)
    shutil.copy(tokenizer, folder + "/tokenizer.model")
    digest = hashlib.sha256(open(tokenizer, "rb").read()).hexdigest()
    config = {"format": "glint-transformer", "vocab": vocab, "layers": layers, "d_model": d, "d_hidden": h, "heads": 2,
              "context": 64, "gate": "sqs", "c": 0.01, "lambda": 0.5, "p": 1.0, "data": "tales", "tokenizer_hash": digest}
    json.dump(config, open(folder + "/config.json", "w"))
    shapes = {"transformer.wte.weight": (vocab, d), "lm_head.weight": (vocab, d)}
    for i in range(layers):
        at = "transformer.h.%d." % i
        shapes.update({at + "attn.qkv.weight": (3 * d, d), at + "attn.o.weight": (d, d), at + "mlp.w.weight": (2 * h, d),
                       at + "mlp.p.weight": (d, h)})
    header, data = {}, b""
    for place, (name, (rows, cols)) in enumerate(shapes.items()):
        header[name] = {"dtype": "F32", "shape": [rows, cols], "data_offsets": [len(data), len(data) + 4 * rows * cols]}
        data += numbers(rows * cols, 1.0 if "wte" in name else cols ** -0.5, place)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    open(folder + "/model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data)


if __name__ == "__main__":
    main()
