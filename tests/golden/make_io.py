#!/usr/bin/env python3
"""Files for tests/io, written by code that shares nothing with glint (Python's standard library only).

  make_io.py FOLDER          writes the golden files
  make_io.py --check FILE    reads a safetensors file and prints its content, one line a tensor
"""
import json
import struct
import sys
import zlib
from pathlib import Path

BACKGROUND = 100  # what transparent pixels show in the expected pictures


# safetensors -------------------------------------------------------------------------------------------------------

def bf16(x):
    return struct.unpack("<I", struct.pack("<f", x))[0] >> 16


def safetensors(tensors, metadata=None, pad=True):
    """tensors: list of (name, dtype, shape, bytes)."""
    header, offset = {}, 0
    if metadata:
        header["__metadata__"] = metadata
    for name, dtype, shape, data in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    if pad:
        text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(t[3] for t in tensors)


def sample_tensors():
    return [
        ("weight", "F32", [2, 3], struct.pack("<6f", 0.0, -1.5, 2.25, 1e-30, 3e38, -0.1)),
        ("double", "F64", [2, 1], struct.pack("<2d", 1 / 3, -1e10)),
        ("half", "F16", [2, 4], struct.pack("<8e", 0.0, -0.0, 1.0, -2.5, 65504.0, 6e-8, 6.1035e-5, 0.333)),
        ("brain", "BF16", [1, 3], struct.pack("<3H", bf16(1.0), bf16(-3.140625), bf16(1e20))),
        ("scalar", "I64", [], struct.pack("<q", -7)),
        ("none", "F32", [0, 5], b""),
        ("bytes", "U8", [3], b"\x00\x7f\xff"),
        ("flags", "BOOL", [2], b"\x01\x00"),
        ("n\u00e4me \"\\\u20ac\U0001f600\n", "I32", [1], struct.pack("<i", 123456)),
    ]


def read_safetensors(data):
    (n,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + n].decode("utf-8"))
    body = data[8 + n:]
    assert (8 + n) % 8 == 0, "data is not aligned"
    metadata = header.pop("__metadata__", {})
    size = {"F64": 8, "F32": 4, "BF16": 2, "I64": 8, "I32": 4, "U8": 1}
    code = {"F64": "d", "F32": "f", "BF16": "H", "I64": "q", "I32": "i", "U8": "B"}
    covered = 0
    for entry in sorted(header.values(), key=lambda e: e["data_offsets"]):
        begin, end = entry["data_offsets"]
        assert begin == covered and begin % size[entry["dtype"]] == 0, "hole, overlap or no alignment"
        covered = end
    assert covered == len(body), "data is not covered"
    lines = ["%s=%s" % (ascii(k), ascii(v)) for k, v in metadata.items()]
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        dtype = entry["dtype"]
        values = struct.unpack("<%d%s" % ((end - begin) // size[dtype], code[dtype]), body[begin:end])
        lines.append("%s %s %s %s" % (ascii(name), dtype, entry["shape"], list(values)))
    return lines


# npy ---------------------------------------------------------------------------------------------------------------

def npy(descr, shape, data, version=1):
    shape_text = "(%s,)" % shape[0] if len(shape) == 1 else "(%s)" % ", ".join(map(str, shape))
    text = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape_text)
    before = 10 if version == 1 else 12
    text += " " * (-(before + len(text) + 1) % 64) + "\n"
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text.encode("latin1") + data


# png ---------------------------------------------------------------------------------------------------------------

GRAY, RGB, PALETTE, GRAY_ALPHA, RGBA = 0, 2, 3, 4, 6
CHANNELS = {GRAY: 1, RGB: 3, PALETTE: 1, GRAY_ALPHA: 2, RGBA: 4}
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, kind, bits, pixel, interlaced=False, extra=b""):
    """pixel(x, y): tuple of samples."""
    def rows(xs, ys):
        out = b""
        for y in ys:
            samples = [s for x in xs for s in pixel(x, y)]
            text = "".join(format(s, "0%db" % bits) for s in samples)
            text += "0" * (-len(text) % 8)
            out += b"\0" + int(text, 2).to_bytes(len(text) // 8, "big")
        return out

    raw = b""
    if interlaced:
        for x0, y0, dx, dy in ADAM7:
            if x0 < width and y0 < height:
                raw += rows(range(x0, width, dx), range(y0, height, dy))
    else:
        raw = rows(range(width), range(height))
    head = struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, 1 if interlaced else 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + chunk(b"IDAT", zlib.compress(raw, 9)) +
            chunk(b"IEND", b""))


def luma(r, g, b):
    return (299 * r + 587 * g + 114 * b + 500) // 1000


def over(y, alpha):
    return (y * alpha + BACKGROUND * (255 - alpha) + 127) // 255


def to8(v):
    return (v * 255 + 32767) // 65535  # round to nearest


def pictures():
    """(name, png, expected gray rows)"""
    out = []

    def add(name, width, height, kind, bits, pixel, gray, interlaced=False, extra=b""):
        data = png(width, height, kind, bits, pixel, interlaced, extra)
        out.append((name, data, [[gray(*pixel(x, y)) for x in range(width)] for y in range(height)]))

    for bits in (1, 2, 4, 8):
        most = (1 << bits) - 1
        add("gray%d" % bits, 9, 5, GRAY, bits, lambda x, y: ((x * 3 + y * 7 + x * y) & most,),
            lambda v: v * 255 // most)
    add("gray16", 7, 4, GRAY, 16, lambda x, y: ((x * 9001 + y * 4099) & 65535,), to8)
    add("gray8_interlaced", 9, 11, GRAY, 8, lambda x, y: (x * 20 + y,), lambda v: v, True)
    add("gray1_interlaced", 3, 2, GRAY, 1, lambda x, y: ((x + y) & 1,), lambda v: v * 255, True)
    add("one_interlaced", 1, 1, GRAY, 8, lambda x, y: (77,), lambda v: v, True)
    add("gray_key", 6, 3, GRAY, 8, lambda x, y: (x * 10 + y,), lambda v: BACKGROUND if v == 20 else v,
        extra=chunk(b"tRNS", struct.pack(">H", 20)))
    add("rgb8", 6, 5, RGB, 8, lambda x, y: (x * 40, y * 50, (x * y * 9) & 255), luma)
    add("rgb16", 3, 3, RGB, 16, lambda x, y: (x * 257 * 100, y * 257 * 90, 257 * 30),
        lambda r, g, b: luma(r // 257, g // 257, b // 257))
    add("gray_alpha", 5, 5, GRAY_ALPHA, 8, lambda x, y: (x * 50, y * 60), over)
    rgba = lambda r, g, b, a: over(luma(r, g, b), a)
    add("rgba", 8, 4, RGBA, 8, lambda x, y: (x * 30, y * 60, 255 - x * 30, x * 36), rgba)
    add("rgba_interlaced", 10, 9, RGBA, 8, lambda x, y: (x * 20, y * 20, 200, (x * y * 3) & 255), rgba, True)
    palette = [(0, 0, 0), (255, 0, 0), (0, 255, 0), (10, 20, 200)]
    alphas = [255, 128, 0]
    add("palette", 7, 3, PALETTE, 2, lambda x, y: ((x + y) & 3,),
        lambda i: over(luma(*palette[i]), (alphas + [255])[i]),
        extra=chunk(b"PLTE", bytes(sum(palette, ()))) + chunk(b"tRNS", bytes(alphas)))
    return out


def main():
    if sys.argv[1] == "--check":
        print("\n".join(read_safetensors(Path(sys.argv[2]).read_bytes())))
        return
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    metadata = {"format": "pt", "\u00fcber": "\u2603"}
    (folder / "aligned.safetensors").write_bytes(safetensors(sample_tensors(), metadata))
    shifted = [("first", "U8", [1], b"\x2a")] + sample_tensors()
    (folder / "shifted.safetensors").write_bytes(safetensors(shifted, metadata, pad=False))
    (folder / "f4.npy").write_bytes(npy("<f4", [2, 3], struct.pack("<6f", 0, 1, -2, 0.5, 1e30, -0.25)))
    (folder / "f8_v2.npy").write_bytes(npy("<f8", [3], struct.pack("<3d", 1 / 3, -1e300, 5e-324), version=2))
    (folder / "i4.npy").write_bytes(npy("<i4", [2, 2], struct.pack("<4i", 1, -2, 2**31 - 1, -2**31)))
    for name, data, gray in pictures():
        (folder / (name + ".png")).write_bytes(data)
        shape = [len(gray), len(gray[0])]
        (folder / (name + ".npy")).write_bytes(npy("|u1", shape, bytes(sum(gray, []))))


if __name__ == "__main__":
    main()
