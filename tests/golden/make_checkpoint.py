"""Makes checkpoint.safetensors: a checkpoint as every version of glint has written it, byte by byte.

    python3 tests/golden/make_checkpoint.py

A run of an earlier version must resume, so glint must read this file, and writes the same bytes. docs/formats.md describes
the format.
"""
import hashlib
import json
import pathlib
import struct

FLOATS = 48


def checkpoint(identity, step, loss, correct, samples, tensors):
    """tensors: (name, bytes of floats) with the weights first, then the state of the optimiser by name."""
    loss_bits = struct.unpack("<Q", struct.pack("<d", loss))[0]
    text = " ".join(str(v) for v in (identity, step, loss_bits, correct, samples))
    digest = hashlib.sha256(text.encode() + b"".join(data for _, data in tensors)).hexdigest()
    header = {"__metadata__": {"epoch_correct": str(correct), "epoch_loss_bits": str(loss_bits),
                               "epoch_samples": str(samples), "identity": identity, "sha256": digest, "step": str(step)}}
    begin = 0
    for name, data in tensors:
        header[name] = {"dtype": "F32", "shape": [1, len(data) // 4], "data_offsets": [begin, begin + len(data)]}
        begin += len(data)
    packed = json.dumps(header, separators=(",", ":")).encode()
    packed += b" " * (-len(packed) % 8)
    return struct.pack("<Q", len(packed)) + packed + b"".join(data for _, data in tensors)


def floats(first, step):
    return struct.pack("<%df" % FLOATS, *(first + step * i for i in range(FLOATS)))


def main():
    tensors = [("params", floats(-3, 0.125)), ("moment1", floats(0, -0.5)), ("moment2", floats(1, 0.25))]
    path = pathlib.Path(__file__).parent / "checkpoint.safetensors"
    path.write_bytes(checkpoint("id", 20, 2.75, 60, 140, tensors))


if __name__ == "__main__":
    main()
